/* The worker series: what each worker of a cluster did over time.
 *
 * A tick is one look at all workers; each worker has a row of columns a tick, kept as differences
 * to its row before. Joins and leaves are kept as exact events beside the samples, so that a worker
 * that lived between two ticks is not missed. */
#ifndef ROAST_SERIES_H
#define ROAST_SERIES_H

#include "roast/base.h"
#include "roast/sink.h"

typedef struct roast_series roast_series;

/* One row a column: name, key in tracking_data, key of a value in JSON, steps per unit (how finely
 * it is kept), unit. The order is the wire order: append only. */
#define ROAST_SERIES_COLUMNS(X)                                                                    \
    X(memory, "worker_memory", "memory_bytes", 1, "bytes")                                         \
    X(memory_limit, "worker_memory_limit", "memory_limit_bytes", 1, "bytes")                       \
    X(active_tasks, "worker_active_tasks", "active_tasks", 1, "1")                                 \
    X(cores, "worker_cores", "cores", 1, "1")                                                      \
    X(nbytes, "worker_nbytes", "nbytes", 1, "bytes")                                               \
    X(occupancy, "worker_occupancy", "occupancy", 1000, "s")                                       \
    X(executing, "worker_executing", "executing", 1, "1")                                          \
    X(last_seen, "worker_last_seen", "last_seen", 1000, "s")                                       \
    X(cpu, "worker_cpu", "cpu", 10, "%")                                                           \
    X(spilled_bytes, "worker_spilled_bytes", "spilled_bytes", 1, "bytes")                          \
    X(net_read_bps, "worker_net_read_bps", "net_read_bps", 0.01, "bytes/s")                        \
    X(net_write_bps, "worker_net_write_bps", "net_write_bps", 0.01, "bytes/s")                     \
    X(disk_read_bps, "worker_disk_read_bps", "disk_read_bps", 0.01, "bytes/s")                     \
    X(disk_write_bps, "worker_disk_write_bps", "disk_write_bps", 0.01, "bytes/s")

typedef enum roast_series_column {
#define X(name, key, json, steps, unit) ROAST_COLUMN_##name,
    ROAST_SERIES_COLUMNS(X)
#undef X
        ROAST_COLUMNS
} roast_series_column;

typedef struct roast_series_column_info {
    const char *name;
    const char *key;
    const char *json_key;
    double steps_per_unit; /* 1 and below: whole numbers; 0.01: in hundreds */
    const char *unit;
} roast_series_column_info;
const roast_series_column_info *roast_series_column_at(roast_series_column column);

#define ROAST_MAX_WORKERS     1000000u
#define ROAST_MAX_WORKER_NAME 4096u

/* One worker at one tick. A value that is not there is NaN. */
typedef struct roast_sample {
    uint32_t worker;
    roast_utc when;
    double value[ROAST_COLUMNS];
} roast_sample;

typedef enum roast_worker_event_kind {
    ROAST_WORKER_JOINED,
    ROAST_WORKER_LEFT
} roast_worker_event_kind;
typedef struct roast_worker_event {
    uint32_t worker;
    roast_worker_event_kind kind;
    roast_utc when;
    int32_t threads; /* of the worker; 0: not known */
} roast_worker_event;

roast_status roast_series_new(roast_series **out, roast_error *err);
void roast_series_free(roast_series *series);
size_t roast_series_memory(const roast_series *series);

/* The number of a worker, given out at the first mention of its name (1 to
 * ROAST_MAX_WORKER_NAME bytes). Names and hosts that come out are borrowed until the next one goes
 * in. */
roast_status roast_series_worker(roast_series *series, roast_str name, uint32_t *worker,
                                 roast_error *err);
uint32_t roast_series_worker_count(const roast_series *series);
roast_str roast_series_worker_name(const roast_series *series, uint32_t worker);
/* The host a worker runs on, so that host-wide values are counted once; absent where not known. */
roast_status roast_series_set_host(roast_series *series, uint32_t worker, roast_str host,
                                   roast_error *err);
roast_str roast_series_worker_host(const roast_series *series, uint32_t worker);

/* Begins a tick: n_workers is how many there are now. Times must not go back (ROAST_EINVAL). */
roast_status roast_series_tick(roast_series *series, roast_utc when, uint32_t n_workers,
                               roast_error *err);
/* A worker's row in the tick that was begun last, at most once a tick (ROAST_ESTATE). Values are
 * kept rounded to the steps of their column; one that is infinite or beyond 2^63 steps is kept as
 * absent. */
roast_status roast_series_append(roast_series *series, uint32_t worker,
                                 const double value[ROAST_COLUMNS], roast_error *err);
roast_status roast_series_event(roast_series *series, uint32_t worker, roast_worker_event_kind kind,
                                roast_utc when, int32_t threads, roast_error *err);

uint64_t roast_series_tick_count(const roast_series *series);
roast_utc roast_series_tick_time(const roast_series *series, uint64_t tick);
uint32_t roast_series_tick_workers(const roast_series *series, uint64_t tick);
uint64_t roast_series_sample_count(const roast_series *series);
uint64_t roast_series_event_count(const roast_series *series);
roast_worker_event roast_series_event_at(const roast_series *series, uint64_t index);

/* Puts the ticks, samples and events of a piece behind those of a series, from the given ones on;
 * workers are told by their names. On failure some of it may be there. */
roast_status roast_series_extend(roast_series *series, const roast_series *piece,
                                 uint64_t from_tick, uint64_t from_event, roast_error *err);

/* A worker's row as it is kept: what the next one is the difference to. Zeroed storage stands before
 * the first row. */
typedef struct roast_series_state {
    int64_t steps[ROAST_COLUMNS];
    uint64_t tick;    /* the first one that the next row may belong to */
    uint32_t missing; /* a bit a column */
} roast_series_state;

/* Walks one worker's samples in order of time. */
typedef struct roast_series_cursor {
    const roast_series *series;
    uint32_t worker;
    uint32_t wanted; /* a bit a column */
    uint64_t offset;
    roast_series_state row;
    double value[ROAST_COLUMNS]; /* of the row's steps: most rows change few of them */
} roast_series_cursor;
void roast_series_cursor_init(roast_series_cursor *cursor, const roast_series *series,
                              uint32_t worker);
/* For those who look at some columns only: the others are NaN, and cost no conversion. */
void roast_series_cursor_init_for(roast_series_cursor *cursor, const roast_series *series,
                                  uint32_t worker, uint32_t wanted);
bool roast_series_cursor_next(roast_series_cursor *cursor, roast_sample *out);
/* The same for those who look at the values where they are, in the cursor. */
bool roast_series_cursor_step(roast_series_cursor *cursor, roast_utc *when);
/* Goes over the samples that follow tick by tick with the values of the last one: how many they are, and
 * when the last of them was taken. On a large cluster most samples are such. */
uint64_t roast_series_cursor_skip_same(roast_series_cursor *cursor, roast_utc *last);

/* Versioned and checksummed like the chunk log; decode checks everything first. */
roast_status roast_series_encode(const roast_series *series, roast_sink *sink, roast_error *err);
roast_status roast_series_decode(const void *data, size_t len, roast_series **out,
                                 roast_error *err);

#endif
