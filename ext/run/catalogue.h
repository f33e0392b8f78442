/* catalogue(): what every key means, for Python. */
#ifndef ROAST_EXT_CATALOGUE_H
#define ROAST_EXT_CATALOGUE_H

#include "common/compat.h"

/* catalogue() -> [{"key", "aliases", "type", "scope", "unit", "group", "label", "formula", "caveat"}] */
PyObject *ext_catalogue(PyObject *module, PyObject *unused);

#endif
