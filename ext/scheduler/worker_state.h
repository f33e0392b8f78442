/* Samples of Dask's workers: see worker_state.c. */
#ifndef ROAST_EXT_WORKER_STATE_H
#define ROAST_EXT_WORKER_STATE_H

#include "state.h"

/* sample_workers(series, workers, when=None) */
PyObject *ext_sample_workers(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
