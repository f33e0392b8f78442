/* WorkerSeries: see worker_series.c. */
#ifndef ROAST_EXT_WORKER_SERIES_H
#define ROAST_EXT_WORKER_SERIES_H

#include "state.h"
#include "roast/series.h"

/* The series behind a WorkerSeries, borrowed; NULL without an exception: it is something else. */
const roast_series *ext_series_view(ext_state *state, PyObject *object);

#endif
