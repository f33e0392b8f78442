/* Tables that Python fills, drawn by the engine: they look like those of the engine itself. */
#ifndef ROAST_EXT_GRID_H
#define ROAST_EXT_GRID_H

#include "common/compat.h"

/* draw_table(title, columns, rows, caption, width, color, /) -> str; a column is (heading, align). */
PyObject *ext_draw_table(PyObject *module, PyObject *args);
/* wrap_text(text, indent, width, /) -> str */
PyObject *ext_wrap_text(PyObject *module, PyObject *args);

#endif
