/* Table: see table.c. */
#ifndef ROAST_EXT_TABLE_H
#define ROAST_EXT_TABLE_H

#include "state.h"
#include "roast/columns.h"

/* Takes the columns over; they are freed on failure. NULL with an exception set. */
PyObject *ext_table_new(ext_state *state, roast_columns *columns);

#endif
