/* The measurements below a folder; see runs.c. */
#ifndef ROAST_EXT_RUNS_H
#define ROAST_EXT_RUNS_H

#include "state.h"

PyObject *ext_list_runs(PyObject *module, PyObject *folder);
/* find_runs(folders, metric, where, depth, /) -> (number, list of dicts) */
PyObject *ext_find_runs(PyObject *module, PyObject *args);

#endif
