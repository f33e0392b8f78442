/* Shared by the files of this module. */
#ifndef ROAST_SQL_INTERNAL_H
#define ROAST_SQL_INTERNAL_H

#include <sqlite3.h>
#include <string.h>

#include "roast/sql.h"

enum { ROAST_SQL_TABLES = 17, ROAST_SQL_MAX_COLUMNS = 96 };

/* The rows of one table on their way into a database. */
typedef struct roast_sql_rows {
    const roast_run *run;
    const roast_metrics *metrics;
    const char *columns; /* of the table */
    const bool *wanted;  /* which of them are filled; the others stay NULL */
    sqlite3_stmt *insert;
    int column;          /* the next one */
    int code;            /* SQLite's first failure */
    roast_status status; /* every other failure */
    roast_error *err;
} roast_sql_rows;

typedef struct roast_sql_source {
    roast_sql_table table;
    void (*fill)(roast_sql_rows *to);
    bool keyed; /* many queries look for one value of the first column */
} roast_sql_source;

/* The most used first. */
extern const roast_sql_source roast_sql_sources[ROAST_SQL_TABLES];

/* The next of the names of columns, which is taken away from them; false at the end. */
static inline bool roast_sql_next_name(const char **names, roast_str *out) {
    *out = (roast_str){*names, strcspn(*names, " ")};
    *names += out->len + strspn(*names + out->len, " ");
    return out->len > 0;
}

#endif
