/* The worker series as the tracking_data that users know: a dict of dicts of lists. */
#ifndef ROAST_EXT_TRACKING_DATA_H
#define ROAST_EXT_TRACKING_DATA_H

#include "compat.h"
#include "roast/series.h"

/* {"worker_counts": {datetime: n}, "worker_memory": {worker: [(datetime, value), ...]}, ...}. NULL with
 * an exception set. */
PyObject *ext_tracking_dict(const roast_series *series);

/* From such a dict, or from its JSON form with lists of {"timestamp": ..., ...}. Keys that are no series
 * are passed over. Where samples were taken at other moments than the workers were counted, *counts is a
 * series of the counted moments alone, and in *series the count is the last one known; otherwise it is
 * NULL. 0 or -1 with an exception set. */
int ext_tracking_series(PyObject *tracking, roast_series **series, roast_series **counts);

/* ROAST_COLUMNS where no column has that name. */
roast_series_column ext_column_of(PyObject *name);
/* A number, or NaN for None. `what` and `of` name it in the message. 0 or -1 with an exception set. */
int ext_sample_number(PyObject *value, const char *what, PyObject *of, double *out);

#endif
