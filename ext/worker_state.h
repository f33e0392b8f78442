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

/* What a worker told with a heartbeat. */
typedef struct worker_report {
    double memory, cpu, spilled_bytes;
    double net_read_bps, net_write_bps, disk_read_bps, disk_write_bps;
} worker_report;

/* What is remembered of the worker that was at one place of the list at the last tick. Mostly it is the
 * same one at the next tick: then nothing is looked up, and memory is read in the order in which it lies.
 * A heartbeat brings a new dict of metrics, and in a cluster of 10,000 one comes every 51 s: until then the
 * last report holds. Zeroed it knows nothing. */
typedef struct worker_memo {
    PyObject *address;
    uint32_t number; /* in the series */
    /* Only compared: the dict may be gone, and another one at its place. So the time of the heartbeat is
     * compared as well. NULL: no report is known. */
    const PyObject *metrics;
    double last_seen;
    worker_report report;
} worker_memo;

/* The workers that are read next, at most WORKER_GROUP: to be told before each such group, while they are
 * alive. `memos` has one for each of them, or is NULL. */
enum { WORKER_GROUP = 32 };
void worker_reader_prepare(worker_reader *reader, PyObject *const *workers,
                           const worker_memo *memos, Py_ssize_t count);
void worker_reader_release(worker_reader *reader);

/* Reads all columns of one worker. What is missing is NaN; nothing is raised. `memo`: of this worker, or
 * NULL; its report is brought up to date. */
void worker_reader_row(worker_reader *reader, PyObject *worker, worker_memo *memo,
                       double value[ROAST_COLUMNS]);
/* Whether this very object is its address; it is not looked into. false also where that is not told. */
bool worker_reader_is_at(const worker_reader *reader, PyObject *worker, PyObject *address);
/* The machine it runs on, a new reference to a str; NULL without an exception: not known. */
PyObject *worker_reader_host(const worker_reader *reader, PyObject *worker);

#endif
