/* The worker series as the tracking_data that users know: a dict of dicts of lists. */
#ifndef ROAST_EXT_TRACKING_DATA_H
#define ROAST_EXT_TRACKING_DATA_H

#include "common/compat.h"
#include "roast/series.h"

/* {"worker_counts": {datetime: n}, "worker_memory": {worker: [(datetime, value), ...]}, ...}. NULL with
 * an exception set. */
PyObject *ext_tracking_dict(const roast_series *series);

/* From such a dict, or from its JSON form with lists of {"timestamp": ..., ...}. Keys that are not series are
 * ignored. If the workers were counted at other moments than the samples, *counts is a series of the counted
 * moments alone, and *series has the last known count; otherwise *counts is NULL. 0 or -1 with an exception set. */
int ext_tracking_series(PyObject *tracking, roast_series **series, roast_series **counts);

/* ROAST_COLUMNS where no column has that name. */
roast_series_column ext_column_of(PyObject *name);
/* A number, or NaN for None. `what` and `of` name it in the message. 0 or -1 with an exception set. */
int ext_sample_number(PyObject *value, const char *what, PyObject *of, double *out);

#endif
