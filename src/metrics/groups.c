#include "metrics/groups.h"

void roast_groups_reset(roast_groups *groups) {
    roast_intern_reset(&groups->names);
    roast_free(groups->items);
    *groups = (roast_groups){.size = groups->size};
}

roast_status roast_groups_reserve(roast_groups *groups, size_t items) {
    void *memory = groups->items;
    ROAST_TRY(roast_array_reserve(&memory, &groups->capacity, groups->size, items));
    groups->items = memory;
    return ROAST_OK;
}

roast_status roast_groups_find(roast_groups *groups, roast_str name, uint32_t *id) {
    uint32_t known = groups->names.count;
    if (name.data == NULL)
        name = roast_str_of("");
    ROAST_TRY(roast_groups_reserve(groups, (size_t)known + 1));
    ROAST_TRY(roast_intern_add(&groups->names, name, id));
    if (*id == known)
        memset(roast_groups_item(groups, known), 0, groups->size);
    return ROAST_OK;
}
