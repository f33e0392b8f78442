/* WorkerSeries: see worker_series.c. */
#ifndef ROAST_EXT_WORKER_SERIES_H
#define ROAST_EXT_WORKER_SERIES_H

#include "shared.h"
#include "state.h"
#include "roast/series.h"

/* The series behind a WorkerSeries, borrowed; NULL without an exception: it is something else. */
const roast_series *ext_series_view(ext_state *state, PyObject *object);
/* The same, held until the caller lets it go. */
ext_shared *ext_series_hold(ext_state *state, PyObject *object);
/* Takes the series over; it is freed on failure. NULL with an exception set. */
ext_shared *ext_series_share(roast_series *series);
/* A WorkerSeries that looks at a shared one, and makes a copy of its own before it changes it. */
PyObject *ext_series_of(ext_state *state, ext_shared *shared);
/* A WorkerSeries that takes the series over; it is freed on failure. NULL with an exception set. */
PyObject *ext_series_new(ext_state *state, roast_series *series);

#endif
