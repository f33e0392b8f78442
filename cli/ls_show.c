/* The list for spreadsheets. */
#include "ls.h"

#include "roast/export.h"

static void put_csv_entry(roast_csv_row *row, const roast_found_entry *entry) {
    char when[ROAST_FOUND_TIME];
    roast_csv_put_text(row, roast_str_of(entry->path));
    roast_csv_put_text(row, roast_str_of(entry->name));
    roast_csv_put_text(row, roast_str_of(roast_found_text(entry, ROAST_FOUND_BY_state)));
    roast_csv_put_text(row, entry->have_when && roast_found_time(entry->when, when) > 0
                                ? roast_str_of(when)
                                : (roast_str){NULL, 0});
    roast_csv_put_text(row, roast_str_of(roast_found_outcome(entry)));
    for (int i = 0; i < ROAST_FOUND_FIGURE_COUNT; i++) {
        roast_value value = entry->figures[i];
        if (value.kind == ROAST_VALUE_INT)
            roast_csv_put_int(row, value.integer);
        else
            roast_csv_put_real(row, roast_value_number(value));
    }
    roast_csv_put_text(row, roast_str_of(entry->facts[ROAST_FACT_executor]));
    roast_csv_put_text(row, roast_str_of(entry->config));
    roast_csv_put_text(row, roast_str_of(entry->fault));
    roast_csv_end_row(row);
}

void ls_put_csv(roast_sink *out, const roast_found_list *list, bool safe) {
    static const char *const first[] = {"path", "name", "state", "when", "outcome"};
    static const char *const last[] = {"executor", "config", "error"};
    roast_csv_row row = {.sink = out, .safe = safe};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        roast_csv_put_text(&row, roast_str_of(first[i]));
    for (int i = 0; i < ROAST_FOUND_FIGURE_COUNT; i++)
        roast_csv_put_text(&row, roast_str_of(roast_found_figures[i].key));
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        roast_csv_put_text(&row, roast_str_of(last[i]));
    roast_csv_end_row(&row);
    for (size_t i = 0; i < list->count; i++)
        put_csv_entry(&row, &list->entries[i]);
}
