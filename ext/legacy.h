/* Measurements of roastcoffea 0.1.x: see legacy.c. */
#ifndef ROAST_EXT_LEGACY_H
#define ROAST_EXT_LEGACY_H

#include "state.h"

/* load_legacy(path) -> (Run, metrics, config, (t0, t1)) */
PyObject *ext_load_legacy(PyObject *module, PyObject *path);

#endif
