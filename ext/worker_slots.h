/* Where a class with __slots__, as Dask's WorkerState is one, keeps its attributes.
 *
 * A slot is read at its place in the object: no look-up, and no line of memory that belongs to anything
 * but this worker. With thousands of workers nothing of them is in a cache when its turn comes, and what a
 * sample costs is how many lines it has to wait for one behind the other. */
#ifndef ROAST_EXT_WORKER_SLOTS_H
#define ROAST_EXT_WORKER_SLOTS_H

#include <stdbool.h>

#include "state.h"

#define WORKER_SLOTS(X)                                                                            \
    X(address)                                                                                     \
    X(metrics)                                                                                     \
    X(memory_limit)                                                                                \
    X(processing)                                                                                  \
    X(nthreads)                                                                                    \
    X(nbytes)                                                                                      \
    X(executing)                                                                                   \
    X(last_seen)                                                                                   \
    X(occupancy_cache)                                                                             \
    X(task_prefix_count)                                                                           \
    X(network_occ)                                                                                 \
    X(scheduler_ref)

typedef enum worker_slot {
#define X(name) WORKER_SLOT_##name,
    WORKER_SLOTS(X)
#undef X
        WORKER_SLOT_COUNT
} worker_slot;

typedef struct worker_slots {
    PyTypeObject *type; /* owned: a worker may get another class meanwhile; NULL: of none */
    Py_ssize_t offset[WORKER_SLOT_COUNT]; /* 0: an attribute of another kind */
} worker_slots;

/* Finds the slots in the class of `worker`; zeroed before the first time. Never fails: what is no slot is read as an
 * attribute. */
void worker_slots_find(worker_slots *slots, const ext_state *state, PyObject *worker);

/* Whether the attribute can be had by worker_slot_get. */
static inline bool worker_slot_known(const worker_slots *slots, PyObject *worker,
                                     worker_slot slot) {
    return Py_TYPE(worker) == slots->type && slots->offset[slot] > 0;
}

/* Borrowed; NULL if it was never set. */
static inline PyObject *worker_slot_get(const worker_slots *slots, PyObject *worker,
                                        worker_slot slot) {
    return *(PyObject **)(void *)((char *)worker + slots->offset[slot]);
}

/* Asks for the memory of `count` workers, so that it is on its way for all of them at once. Metrics that were
 * `seen` before are not looked into. */
void worker_slots_prefetch(const worker_slots *slots, const ext_state *state,
                           PyObject *const *workers, const PyObject *const *seen, Py_ssize_t count);

#endif
