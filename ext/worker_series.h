/* WorkerSeries: see worker_series.c. */
#ifndef ROAST_EXT_WORKER_SERIES_H
#define ROAST_EXT_WORKER_SERIES_H

#include "state.h"
#include "roast/series.h"

/* The series behind a WorkerSeries, borrowed; NULL without an exception: it is something else. */
const roast_series *ext_series_view(ext_state *state, PyObject *object);
/* A WorkerSeries that takes the series over; it is freed on failure. NULL with an exception set. */
PyObject *ext_series_new(ext_state *state, roast_series *series);

#endif
