/* Data for plots; see plot_data.c. */
#ifndef ROAST_EXT_PLOT_DATA_H
#define ROAST_EXT_PLOT_DATA_H

#include "state.h"

PyObject *ext_worker_ticks(PyObject *module, PyObject *run);
PyObject *ext_spread(PyObject *module, PyObject *args);
PyObject *ext_task_bars(PyObject *module, PyObject *args);

#endif
