/* Shared by the files of this module. */
#ifndef ROAST_STORE_SQL_INTERNAL_H
#define ROAST_STORE_SQL_INTERNAL_H

#include <sqlite3.h>

#include "roast/columns.h"
#include "roast/sql.h"

/* The tables of a run, for one connection. */
typedef struct roast_sql_tables {
    const roast_run *run;
    roast_columns *columns[ROAST_TABLES]; /* made when a query first asks for one */
} roast_sql_tables;

/* The names of the tables in the order in which people want them; NULL beyond the end. */
const char *roast_sql_table_name(unsigned index);
/* Registers all of them with the connection, which must be closed before `tables` is freed. Returns SQLite's code. */
int roast_sql_offer_tables(sqlite3 *handle, roast_sql_tables *tables);
void roast_sql_free_tables(roast_sql_tables *tables);

#endif
