/* Shared by the files of "roast ls". */
#ifndef ROAST_CLI_LS_H
#define ROAST_CLI_LS_H

#include "cli.h"
#include "roast/found.h"

/* The columns that were asked for, after the name; count 0: those that have room. */
typedef struct ls_columns {
    int keys[ROAST_FOUND_KEYS];
    size_t count;
} ls_columns;
roast_status ls_put_table(roast_sink *out, const roast_found_list *list, const ls_columns *wanted,
                          bool color, unsigned width, roast_error *err);
/* `safe`: for spreadsheets and terminals. */
void ls_put_csv(roast_sink *out, const roast_found_list *list, bool safe);

#endif
