/* Tables of the engine as Python objects; see summary.c. */
#ifndef ROAST_EXT_TABLES_H
#define ROAST_EXT_TABLES_H

#include "state.h"
#include "roast/grid.h"

/* {"id": ..., "title": ..., "columns": [...], "rows": [[...]], ..., "shown": ...}; NULL with an exception set. */
PyObject *ext_table_dict(const roast_grid *grid, bool shown);

#endif
