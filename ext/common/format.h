/* format_value(), format_column(): numbers as people read them. */
#ifndef ROAST_EXT_FORMAT_H
#define ROAST_EXT_FORMAT_H

#include "common/compat.h"

/* format_value(value, unit) -> "25.1 ms"; "-" for None. */
PyObject *ext_format_value(PyObject *module, PyObject *args);
/* format_column(values, unit) -> the texts of a column, all in one unit. */
PyObject *ext_format_column(PyObject *module, PyObject *args);

#endif
