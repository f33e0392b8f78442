/* Tables of the engine as Python objects; see summary.c. */
#ifndef ROAST_EXT_TABLES_H
#define ROAST_EXT_TABLES_H

#include "state.h"
#include "roast/grid.h"
#include "roast/sink.h"

/* {"id": ..., "title": ..., "columns": [...], "rows": [[...]], ..., "shown": ...}; NULL with an exception set. */
PyObject *ext_table_dict(const roast_grid *grid, bool shown);

/* The same of a table that was just made, which is freed; NULL with an exception set if `status` says that it was not. */
PyObject *ext_table_taken(roast_status status, roast_grid *grid, const roast_error *err);

typedef roast_status (*ext_draw)(const void *of, unsigned width, bool color, roast_sink *sink,
                                 roast_error *err);
/* draw(width=80, color=False) -> str */
PyObject *ext_drawn(const void *of, ext_draw draw, PyObject *args, PyObject *kwargs);

#endif
