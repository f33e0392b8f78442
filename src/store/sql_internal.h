/* What the files of the module share. */
#ifndef ROAST_STORE_SQL_INTERNAL_H
#define ROAST_STORE_SQL_INTERNAL_H

#include "base/arena.h"
#include "roast/sql.h"
#include "store/db.h"

/* Rows that the caller added. */
typedef struct roast_sql_rows {
    struct roast_sql_rows *next;
    const char *name, *columns;
    uint32_t n_columns;
    roast_sql_cell *cells; /* row by row */
    size_t capacity;       /* cells */
    uint64_t rows;
} roast_sql_rows;

/* The series, read when somebody asks for it. */
typedef struct roast_sql_samples {
    roast_store *store;
    roast_series *series;
    char columns[512]; /* their names, separated by one blank */
} roast_sql_samples;

/* Make a table of the connection. */
int roast_sql_offer_rows(sqlite3 *handle, roast_sql_rows *rows);
int roast_sql_offer_samples(sqlite3 *handle, roast_sql_samples *samples);
/* And take it away. */
void roast_sql_withdraw(sqlite3 *handle, const char *name);

#endif
