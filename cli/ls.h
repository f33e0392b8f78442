/* What the parts of "roast ls" share. */
#ifndef ROAST_CLI_LS_H
#define ROAST_CLI_LS_H

#include "cli.h"
#include "found.h"

/* What a list is sorted and filtered by: a figure by its number, or one of these. */
enum { LS_BY_NAME = FOUND_FIGURE_COUNT, LS_BY_WHEN, LS_KEYS };
/* LS_KEYS if there is none of that name. */
int ls_key(const char *name, size_t len);
/* Says what is wrong with a key, and which is near. */
cli_exit ls_fail_key(const char *name, size_t len);

typedef enum ls_test {
    LS_CONTAINS, /* a text or pattern in the name */
    LS_LESS,
    LS_LESS_EQUAL,
    LS_EQUAL,
    LS_NOT_EQUAL,
    LS_MORE_EQUAL,
    LS_MORE
} ls_test;

typedef struct ls_filter {
    int key;
    ls_test test;
    const char *text;
    double number;
} ls_filter;
/* "wall>60", "when>=2026-11", or a part of the name. CLI_OK, or what is wrong was told. */
cli_exit ls_parse_filter(const char *text, ls_filter *out);
/* What was not measured passes no test. */
bool ls_passes(const ls_filter *filter, const found_entry *entry);

/* The first that fits comes first: newest, largest, or by the alphabet; what has no value stands last. */
void ls_sort(found_list *list, int key, bool reverse);

/* ---- showing ---- */
roast_status ls_put_table(roast_sink *out, const found_list *list, bool color, unsigned width,
                          roast_error *err);
void ls_put_json(roast_sink *out, const found_list *list);
/* `safe`: for spreadsheets and terminals. */
void ls_put_csv(roast_sink *out, const found_list *list, bool safe);

#endif
