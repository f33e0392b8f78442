/* format_value(): numbers as people read them. */
#ifndef ROAST_EXT_FORMAT_H
#define ROAST_EXT_FORMAT_H

#include "common/compat.h"

/* format_value(value, unit) -> "25.1 ms"; "-" for None. */
PyObject *ext_format_value(PyObject *module, PyObject *args);

#endif
