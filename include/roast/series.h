/* The worker series: samples of each worker of a cluster over time.
 *
 * A tick is one sample of all workers. Each worker has one row per tick, kept as differences to its previous row:
 * most columns do not change. Joins and leaves are kept separately with their exact moments, so that a worker that
 * lived between two ticks is not missed. */
#ifndef ROAST_SERIES_H
#define ROAST_SERIES_H

#include "roast/base.h"
#include "roast/sink.h"

typedef struct roast_series roast_series;

/* One row per column: name, key in tracking_data, key of a value in JSON, steps per unit (how finely it is kept),
 * unit. The order is the wire order: append only. */
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

/* One worker at one tick. An absent value is NaN. */
typedef struct roast_sample {
    uint32_t worker;
    roast_utc when;
    double value[ROAST_COLUMNS];
} roast_sample;

typedef enum roast_worker_change_kind {
    ROAST_WORKER_JOINED,
    ROAST_WORKER_LEFT
} roast_worker_change_kind;
typedef struct roast_worker_change {
    uint32_t worker;
    roast_worker_change_kind kind;
    roast_utc when;
    int32_t threads; /* of the worker; 0: not known */
} roast_worker_change;

roast_status roast_series_new(roast_series **out, roast_error *err);
void roast_series_free(roast_series *series);
size_t roast_series_memory(const roast_series *series);

/* The number of a worker, given out at the first mention of its name (1 to ROAST_MAX_WORKER_NAME bytes). Returned
 * names and hosts are borrowed until the next one is added. */
roast_status roast_series_worker(roast_series *series, roast_str name, uint32_t *worker,
                                 roast_error *err);
uint32_t roast_series_worker_count(const roast_series *series);
roast_str roast_series_worker_name(const roast_series *series, uint32_t worker);
/* The host of a worker, so that host-wide values are counted once; absent if not known. */
roast_status roast_series_set_host(roast_series *series, uint32_t worker, roast_str host,
                                   roast_error *err);
roast_str roast_series_worker_host(const roast_series *series, uint32_t worker);

/* Begins a tick: n_workers is how many there are now. Times must not go back (ROAST_EINVAL). */
roast_status roast_series_tick(roast_series *series, roast_utc when, uint32_t n_workers,
                               roast_error *err);
/* A worker's row in the last tick, at most once per tick (ROAST_ESTATE). Values are rounded to the steps of their
 * column; one that is infinite or beyond 2^63 steps becomes absent. */
roast_status roast_series_append(roast_series *series, uint32_t worker,
                                 const double value[ROAST_COLUMNS], roast_error *err);
/* A sample of one worker, for an engine that does not sample all workers at once. Samples of one moment make one
 * tick, which counts the workers that have joined or were sampled before and have not left. A moment before the
 * last tick is ROAST_EINVAL. */
roast_status roast_series_sample(roast_series *series, uint32_t worker, roast_utc when,
                                 const double value[ROAST_COLUMNS], roast_error *err);
roast_status roast_series_change(roast_series *series, uint32_t worker,
                                 roast_worker_change_kind kind, roast_utc when, int32_t threads,
                                 roast_error *err);

uint64_t roast_series_tick_count(const roast_series *series);
roast_utc roast_series_tick_time(const roast_series *series, uint64_t tick);
uint32_t roast_series_tick_workers(const roast_series *series, uint64_t tick);
uint64_t roast_series_sample_count(const roast_series *series);
uint64_t roast_series_change_count(const roast_series *series);
roast_worker_change roast_series_change_at(const roast_series *series, uint64_t index);

/* Whether two series have the same ticks and rows, as tracking data shows them: workers by name, moments to the
 * microsecond. Joins, leaves and hosts are not compared. */
bool roast_series_same_samples(const roast_series *series, const roast_series *other);

/* Appends the ticks, samples, joins and leaves of another series; equal names mean the same worker. After a
 * failure a part may have been appended. */
roast_status roast_series_extend(roast_series *series, const roast_series *more, roast_error *err);

/* The last row of a worker, to which the next row is the difference. Zeroed storage is the state before the first
 * row. */
typedef struct roast_series_state {
    int64_t steps[ROAST_COLUMNS];
    uint64_t tick;    /* the first tick that the next row may belong to */
    uint32_t missing; /* one bit per column */
} roast_series_state;

/* Walks one worker's samples in order of time; the series may grow meanwhile. */
typedef struct roast_series_cursor {
    const roast_series *series;
    uint32_t worker;
    size_t offset;
    roast_series_state row;
    double value[ROAST_COLUMNS]; /* of the row's steps: most rows change few of them */
} roast_series_cursor;
void roast_series_cursor_init(roast_series_cursor *cursor, const roast_series *series,
                              uint32_t worker);
bool roast_series_cursor_next(roast_series_cursor *cursor, roast_sample *out);

/* Versioned and checksummed like the chunk log; decode checks everything first. */
roast_status roast_series_encode(const roast_series *series, roast_sink *sink, roast_error *err);
roast_status roast_series_decode(const void *data, size_t len, roast_series **out,
                                 roast_error *err);

#endif
