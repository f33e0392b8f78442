/* SQL queries on a run: its tables are listed in docs/format/measurement.md. A query cannot change, attach or load
 * anything. */
#ifndef ROAST_SQL_H
#define ROAST_SQL_H

#include "roast/metrics.h"
#include "roast/run.h"

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

/* The metrics are those of the run. Both are borrowed and must not change until roast_sql_free. */
roast_status roast_sql_new(const roast_run *run, const roast_metrics *metrics, roast_sql **out,
                           roast_error *err);
void roast_sql_free(roast_sql *sql);

/* Writes all tables into a new SQLite database, for programs that read SQLite themselves. ROAST_EIO: a file of
 * that name exists, or it cannot be written; then no file is left. */
roast_status roast_sql_save(const roast_run *run, const roast_metrics *metrics, const char *path,
                            roast_error *err);

/* A query that takes longer ends with ROAST_ELIMIT; 0: no limit. */
void roast_sql_set_time_limit(roast_sql *sql, double seconds);

/* Begins one query and ends the previous one. ROAST_EINVAL: it is not SQL, uses an unknown name (the message
 * suggests the nearest known one), does more than read, or is more than one statement; err->position is the byte
 * of the fault, or -1. */
roast_status roast_sql_ask(roast_sql *sql, roast_str query, roast_error *err);
uint32_t roast_sql_column_count(const roast_sql *sql);
/* Borrowed until the next query; NULL beyond the end. */
const char *roast_sql_column(const roast_sql *sql, uint32_t column);
/* *there is false after the last row. */
roast_status roast_sql_next(roast_sql *sql, bool *there, roast_error *err);
/* A cell of the row; its text is borrowed until the next row. NULL beyond the end. */
roast_sql_cell roast_sql_cell_at(const roast_sql *sql, uint32_t column);

/* The tables, the most used first. `columns` are separated by one blank. */
typedef struct roast_sql_table {
    const char *name;
    const char *columns;
} roast_sql_table;
/* NULL beyond the end. */
const roast_sql_table *roast_sql_table_at(uint32_t index);

#endif
