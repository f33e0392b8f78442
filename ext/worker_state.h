/* Rows of the worker series from the objects that Dask's scheduler keeps of its workers. */
#ifndef ROAST_EXT_WORKER_STATE_H
#define ROAST_EXT_WORKER_STATE_H

#include "state.h"
#include "worker_slots.h"
#include "roast/series.h"

/* What is shared by the workers of one tick. Zeroed but for `state` it is ready; release it. */
typedef struct worker_reader {
    ext_state *state;
    bool distrust; /* our way to the occupancy once differed from the scheduler's own */
    bool compared; /* in this tick */
    PyObject *scheduler_ref;
    PyObject *scheduler;
    PyObject *prefixes;  /* the scheduler's dict of task prefixes */
    PyObject *durations; /* {prefix name: seconds} as far as they were asked for */
    double bandwidth;
    worker_slots slots;
} worker_reader;
/* The workers that are read next, some dozen: to be told before each such group, while they are alive. */
void worker_reader_prepare(worker_reader *reader, PyObject *const *workers, Py_ssize_t count);
void worker_reader_release(worker_reader *reader);

/* Reads all columns of one worker. What is missing is NaN; nothing is raised. */
void worker_reader_row(worker_reader *reader, PyObject *worker, double value[ROAST_COLUMNS]);
/* Whether this very object is its address; it is not looked into. false also where that is not told. */
bool worker_reader_is_at(const worker_reader *reader, PyObject *worker, PyObject *address);
/* The machine it runs on, a new reference to a str; NULL without an exception: not known. */
PyObject *worker_reader_host(const worker_reader *reader, PyObject *worker);

#endif
