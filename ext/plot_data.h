/* What plots show, computed by the library from arrays and series; see plot_data.c. */
#ifndef ROAST_EXT_PLOT_DATA_H
#define ROAST_EXT_PLOT_DATA_H

#include "state.h"

#include <stdbool.h>

/* Workers, branches and the like that are told apart. */
enum { EXT_MAX_OWNERS = 10000000 };

/* ---- plot_arrays.c ---- */

/* Numbers as doubles, NaN for those that are absent. Zeroed storage is an empty one. */
typedef struct ext_reals {
    double *values;
    size_t count;
} ext_reals;
/* Whole numbers of 32 bits; as above. */
typedef struct ext_codes {
    int32_t *values;
    size_t count;
} ext_codes;

/* From anything with a buffer of doubles or of whole numbers of 32 or 64 bits, or from a sequence of numbers
 * and None. `what` names it in the message. 0 or -1 with an exception set. */
int ext_reals_from(PyObject *object, const char *what, ext_reals *out);
/* From whole numbers; one that does not fit in 32 bits is -1. */
int ext_codes_from(PyObject *object, const char *what, ext_codes *out);
/* Makes absent what has a code (of an error, say); None or NULL: nothing. */
int ext_reals_skip(ext_reals *reals, PyObject *codes);
void ext_reals_reset(ext_reals *reals);
void ext_codes_reset(ext_codes *codes);
/* ValueError unless both are equal. */
int ext_same_length(size_t a, size_t b, const char *what);

/* Memoryviews that own a copy. NULL with an exception set. */
PyObject *ext_reals_view(const double *values, size_t count);
PyObject *ext_codes_view(const int32_t *values, size_t count);
PyObject *ext_counts_view(const uint64_t *values, size_t count);
/* None for NaN. */
PyObject *ext_real_or_none(double value);
/* Adds key -> value, taking the reference to the value. 0 or -1. */
int ext_put_item(PyObject *dict, const char *key, PyObject *value);
/* Zeroed storage for `count` items of a size, with MemoryError where there is none. */
void *ext_zeroed(size_t count, size_t size);

/* ---- plot_data.c, plot_data_time.c: functions of the module ---- */

PyObject *ext_plot_histogram(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_plot_pairs(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_plot_ranges(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_plot_sums(PyObject *module, PyObject *args);
PyObject *ext_plot_tasks(PyObject *module, PyObject *args, PyObject *kwargs);

PyObject *ext_plot_timeline(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_plot_worker_counts(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_plot_throughput(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_plot_gantt(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
