#include "filters.h"

cli_exit filters_add(filters *into, const char *text) {
    char hint[ROAST_FOUND_HINT];
    roast_error err;
    if (into->count == FILTERS_MOST)
        return cli_fail(CLI_USAGE, NULL, "more than %d filters", FILTERS_MOST);
    if (roast_found_filter_parse(text, &into->items[into->count], hint, &err) != ROAST_OK)
        return cli_fail(CLI_USAGE, hint, "%s", err.message);
    into->count++;
    return CLI_OK;
}

bool filters_have(const filters *all, int key) {
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].key == key)
            return true;
    return false;
}
