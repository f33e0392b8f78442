/* Questions in SQL to a measurement: its tables and views, the packed worker series as table `samples`, and
 * tables that the caller adds. Nothing can be written, attached or loaded. */
#ifndef ROAST_SQL_H
#define ROAST_SQL_H

#include "roast/base.h"
#include "roast/store.h"

typedef struct roast_sql roast_sql;

typedef enum roast_sql_kind {
    ROAST_SQL_NULL,
    ROAST_SQL_INT,
    ROAST_SQL_REAL,
    ROAST_SQL_TEXT,
    ROAST_SQL_BLOB
} roast_sql_kind;

typedef struct roast_sql_cell {
    roast_sql_kind kind;
    int64_t integer;
    double real;
    roast_str text; /* of a text or a blob */
} roast_sql_cell;
roast_sql_cell roast_sql_int(int64_t integer);
/* NaN is NULL. */
roast_sql_cell roast_sql_real(double real);
/* The absent string is NULL. */
roast_sql_cell roast_sql_text(roast_str text);

/* The store is borrowed and must not be used otherwise until roast_sql_free. */
roast_status roast_sql_new(roast_store *store, roast_sql **out, roast_error *err);
void roast_sql_free(roast_sql *sql);

/* A table of the caller's: names of its columns, separated by one blank; then its rows, cell by cell, all
 * of them copied. Names are letters, digits and '_'. */
roast_status roast_sql_add_table(roast_sql *sql, const char *name, const char *columns,
                                 roast_error *err);
/* One row of the table that was added last: a cell a column. */
roast_status roast_sql_add_row(roast_sql *sql, const roast_sql_cell *cells, roast_error *err);

/* A query that takes longer than that ends with ROAST_ELIMIT; 0: no limit. */
void roast_sql_set_time_limit(roast_sql *sql, double seconds);

/* Begins one question; what was asked before is over. ROAST_EINVAL: it is no SQL, names what is not there
 * (the message tells the nearest that is), wants more than to read, or is more than one statement;
 * err->position is the byte where that is, or -1. */
roast_status roast_sql_ask(roast_sql *sql, roast_str query, roast_error *err);
uint32_t roast_sql_column_count(const roast_sql *sql);
/* Borrowed until the next question; NULL beyond the end. */
const char *roast_sql_column(const roast_sql *sql, uint32_t column);
/* *there is false behind the last row. */
roast_status roast_sql_next(roast_sql *sql, bool *there, roast_error *err);
/* A cell of the row; its text is borrowed until the next one. NULL beyond the end. */
roast_sql_cell roast_sql_cell_at(const roast_sql *sql, uint32_t column);

/* What can be asked for, in the order in which people want it: first the friendly ones, then the tables as
 * they are stored. `columns` are separated by one blank; borrowed until roast_sql_free. */
typedef struct roast_sql_table {
    const char *name;
    const char *columns;
    bool stored; /* as it is stored: numbers of other tables, packed values */
} roast_sql_table;
/* NULL beyond the end. */
const roast_sql_table *roast_sql_table_at(const roast_sql *sql, uint32_t index);

#endif
