/* WorkerSeries: see worker_series.c. */
#ifndef ROAST_EXT_WORKER_SERIES_H
#define ROAST_EXT_WORKER_SERIES_H

#include "records/part.h"
#include "roast/series.h"

/* The series of a WorkerSeries, borrowed; NULL without an exception: it is another type. */
const roast_series *ext_series_view(ext_state *state, PyObject *object);
/* The same, held until the caller releases it. */
ext_shared *ext_series_hold(ext_state *state, PyObject *object);
/* Takes the series over; it is freed on failure. NULL with an exception set. */
ext_shared *ext_series_share(roast_series *series);
/* A WorkerSeries that shares one, and copies it before it changes it. */
PyObject *ext_series_of(ext_state *state, ext_shared *shared);
/* A WorkerSeries that takes the series over; it is freed on failure. NULL with an exception set. */
PyObject *ext_series_new(ext_state *state, roast_series *series);

/* ---- ticks: no other code runs between the beginning and the last row ---- */

/* One worker at one tick. A value that is not there is NaN. */
typedef struct ext_row {
    PyObject *worker; /* a str */
    PyObject *host;   /* a str; NULL: not told */
    double value[ROAST_COLUMNS];
} ext_row;

/* Begins a tick of a WorkerSeries at a moment (None: now). 0 or -1 with an exception set. */
int ext_series_begin_tick(PyObject *series, PyObject *when, size_t workers);
/* Adds a row to it. 0 or -1 with an exception set. */
int ext_series_add_row(PyObject *series, const ext_row *row);

#endif
