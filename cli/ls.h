/* Shared by the files of "roast ls". */
#ifndef ROAST_CLI_LS_H
#define ROAST_CLI_LS_H

#include "cli.h"
#include "found.h"

/* What a list is sorted and filtered by: a figure by its number, or one of these. */
enum { LS_BY_NAME = FOUND_FIGURE_COUNT, LS_BY_WHEN, LS_BY_OUTCOME, LS_KEYS };
/* LS_KEYS if there is none of that name. */
int ls_key(const char *name, size_t len);
/* Says what is wrong with a key, and which is near. */
cli_exit ls_fail_key(const char *name, size_t len);

/* A test of one value against that of the filter: the outcomes that pass, or a search in the name. */
enum { LS_LESS = 1, LS_EQUAL = 2, LS_MORE = 4, LS_CONTAINS = 8 };

typedef struct ls_filter {
    int key;
    unsigned test;
    const char *text;
    double number;
} ls_filter;
/* "wall>60", "when>=2026-11", or a part of the name. CLI_OK, or the error was reported. */
cli_exit ls_parse_filter(const char *text, ls_filter *out);
/* A value that was not measured passes no test. */
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
