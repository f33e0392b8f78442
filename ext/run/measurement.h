/* Measurements on disk: see measurement.c. */
#ifndef ROAST_EXT_MEASUREMENT_H
#define ROAST_EXT_MEASUREMENT_H

#include "state.h"

/* save_measurement(run, path, *, overwrite=True, config=None, extras=None, notes=None, own=None) */
PyObject *ext_save_measurement(PyObject *module, PyObject *args, PyObject *kwargs);
/* load_measurement(path) -> (Run, {name: bytes}, state) */
PyObject *ext_load_measurement(PyObject *module, PyObject *path);
/* load_news(path, after) -> (Run, state, after) */
PyObject *ext_load_news(PyObject *module, PyObject *args);
/* load_legacy(path) -> (Run, metrics, config, (t0, t1)); metrics and config are the bytes of the files, or None */
PyObject *ext_load_legacy(PyObject *module, PyObject *path);
/* measurement_kind(path) -> "ours", "legacy" or None */
PyObject *ext_measurement_kind(PyObject *module, PyObject *path);
/* new_measurement_name(folder, t) -> str */
PyObject *ext_new_measurement_name(PyObject *module, PyObject *args);

#endif
