/* The filters of the verbs that choose among measurements. */
#ifndef ROAST_CLI_FILTERS_H
#define ROAST_CLI_FILTERS_H

#include "cli.h"
#include "roast/found.h"

enum { FILTERS_MOST = 32 };

typedef struct filters {
    roast_found_filter items[FILTERS_MOST];
    size_t count;
} filters;

#define FILTER_TEXT                                                                                \
    "only matching ones: KEY and a value with >, >=, <, <=, = or != between them, or a part of "   \
    "the name, or a pattern for all of it (skim_*); may be given more than once"

/* Adds one. CLI_OK, or the error was reported. */
cli_exit filters_add(filters *into, const char *text);
/* Whether one of them is for that key. */
bool filters_have(const filters *all, int key);

#endif
