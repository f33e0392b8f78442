/* Samples of Dask's workers: see worker_state.c; the counters of a machine: see process_tree.c. */
#ifndef ROAST_EXT_WORKER_STATE_H
#define ROAST_EXT_WORKER_STATE_H

#include "state.h"

/* sample_workers(series, workers, when=None) */
PyObject *ext_sample_workers(PyObject *module, PyObject *args, PyObject *kwargs);

/* machine_cpu(text=None, /) -> (seconds, seconds) */
PyObject *ext_machine_cpu(PyObject *module, PyObject *args);

#endif
