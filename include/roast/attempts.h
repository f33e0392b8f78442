/* Attempts: every try of every task of a run, as the scheduler saw it, and the workers that left.
 *
 * A row is packed: names are kept once, times as differences. Some 90 bytes per try. */
#ifndef ROAST_ATTEMPTS_H
#define ROAST_ATTEMPTS_H

#include "roast/base.h"
#include "roast/sink.h"

typedef struct roast_attempts roast_attempts;

/* What a task was for. One row each: name, words. The order is the wire order: append only. */
#define ROAST_ATTEMPT_KINDS(X)                                                                     \
    X(processing, "processing") /* calls process() */                                              \
    X(reduction, "reduction")   /* merges outputs */                                               \
    X(other, "other")           /* any other of this run: reading metadata, the user's own */      \
    X(foreign, "foreign")       /* of another client; its key is not kept */
typedef enum roast_attempt_kind {
#define X(name, words) ROAST_KIND_##name,
    ROAST_ATTEMPT_KINDS(X)
#undef X
        ROAST_KIND_COUNT
} roast_attempt_kind;
/* "processing"; "unknown" for any other number. */
const char *roast_attempt_kind_name(roast_attempt_kind kind);

/* How a try ended. The order is the wire order: append only. */
#define ROAST_OUTCOMES(X)                                                                          \
    X(done, "done")             /* its result was used, or could have been */                      \
    X(raised, "raised")         /* the task raised */                                              \
    X(lost, "lost")             /* with its worker, or cancelled */                                \
    X(recomputed, "recomputed") /* done, but its result was lost with a worker and made again */
typedef enum roast_outcome {
#define X(name, words) ROAST_OUTCOME_##name,
    ROAST_OUTCOMES(X)
#undef X
        ROAST_OUTCOME_COUNT
} roast_outcome;
const char *roast_outcome_name(roast_outcome outcome);

#define ROAST_NO_WORKER    UINT32_MAX
#define ROAST_NO_DEPARTURE UINT32_MAX
#define ROAST_NO_TIME      INT64_MIN

/* Limits for input: append cuts a longer text; anything beyond them in a packed buffer is ROAST_ELIMIT or damage. */
#define ROAST_MAX_KEY           4096u /* bytes of a key, a prefix, or a worker's name */
#define ROAST_MAX_ERROR_TYPE    256u
#define ROAST_MAX_ERROR_MESSAGE 4096u

/* One try. Moments are UTC microseconds since 1970 on the scheduler's clock, or ROAST_NO_TIME; durations are
 * microseconds; -1: not known. Strings are borrowed; those of a try that was read are valid until the next append. */
typedef struct roast_attempt {
    roast_attempt_kind kind; /* of its prefix; see roast_attempts_set_kind */
    roast_outcome outcome;
    roast_str prefix; /* "MyProcessor" */
    roast_str key;
    uint32_t worker;        /* number, see roast_attempts_worker; ROAST_NO_WORKER: not known */
    uint64_t thread;        /* the worker's number for it; 0: not known */
    int64_t ready_us;       /* it became runnable */
    int64_t sent_us;        /* it was sent to the worker */
    int64_t start_us;       /* the worker began to compute */
    int64_t stop_us;        /* the worker stopped computing */
    int64_t ended_us;       /* the scheduler learned the outcome */
    int64_t transfer_us;    /* to get its inputs from other workers */
    int64_t deserialize_us; /* to unpack it */
    int64_t disk_us;        /* to read its inputs back from disk */
    int64_t nbytes;         /* of the result */
    uint32_t departure;     /* of the worker it was lost with; ROAST_NO_DEPARTURE */
    roast_str error_type;   /* absent: not known, or there was none */
    roast_str error_message;
} roast_attempt;

/* A worker that left. */
typedef struct roast_departure {
    uint32_t worker;
    roast_utc when;
    bool expected;         /* it was told to leave, or announced it */
    uint32_t running;      /* tasks that were sent to it and had not ended */
    uint32_t lost_results; /* results of which it had the only copy */
} roast_departure;

/* ---- life ---- */
roast_status roast_attempts_new(roast_attempts **out, roast_error *err);
void roast_attempts_free(roast_attempts *attempts);
uint64_t roast_attempts_count(const roast_attempts *attempts);
/* Bytes of memory that it holds. */
size_t roast_attempts_memory(const roast_attempts *attempts);

/* ---- in ---- */
/* The number of a worker, given out at the first mention of its name (1 to ROAST_MAX_KEY bytes). */
roast_status roast_attempts_add_worker(roast_attempts *attempts, roast_str name, uint32_t *worker,
                                       roast_error *err);
/* Appends one try; on failure nothing is changed. No string may be borrowed from these attempts. `kind` matters
 * only if it is foreign: a new prefix is "other" until roast_attempts_set_kind. ROAST_EINVAL: an unknown outcome
 * or worker. */
roast_status roast_attempts_append(roast_attempts *attempts, const roast_attempt *attempt,
                                   roast_error *err);
/* Sets the kind (not foreign) of all tries with this prefix, present and future. */
roast_status roast_attempts_set_kind(roast_attempts *attempts, roast_str prefix,
                                     roast_attempt_kind kind, roast_error *err);
/* The only copy of the needed result of a task was lost: roast_attempts_settle makes its last "done" try
 * "recomputed". */
roast_status roast_attempts_lose_result(roast_attempts *attempts, roast_str key, roast_error *err);
/* One walk over all tries; cheap where nothing was lost. */
roast_status roast_attempts_settle(roast_attempts *attempts, roast_error *err);
roast_status roast_attempts_add_departure(roast_attempts *attempts,
                                          const roast_departure *departure, roast_error *err);
/* One more result of which the worker had the only copy, learned after it left. An unknown departure is ignored. */
void roast_attempts_add_lost_result(roast_attempts *attempts, uint32_t departure);
/* Forgets the departures from `count` on. No try may have been lost with one of them. */
void roast_attempts_truncate_departures(roast_attempts *attempts, uint32_t count);

/* ---- out ---- */
uint32_t roast_attempts_worker_count(const roast_attempts *attempts);
/* Borrowed until the next worker goes in; absent beyond the end. */
roast_str roast_attempts_worker(const roast_attempts *attempts, uint32_t worker);
uint32_t roast_attempts_departure_count(const roast_attempts *attempts);
/* worker is ROAST_NO_WORKER beyond the end. */
roast_departure roast_attempts_departure(const roast_attempts *attempts, uint32_t index);

typedef struct roast_attempt_cursor {
    const roast_attempts *attempts;
    uint64_t index;  /* of the next try */
    uint64_t offset; /* of its row */
    int64_t last_us; /* the last moment read */
} roast_attempt_cursor;
/* Walks in the order in which the tries were appended. The attempts must not change during the walk. */
void roast_attempt_cursor_init(roast_attempt_cursor *cursor, const roast_attempts *attempts);
/* false at the end. */
bool roast_attempt_cursor_next(roast_attempt_cursor *cursor, roast_attempt *out);

/* Wasted seconds: the computing time of a try whose outcome is not "done". If its start is not known, from when it
 * was sent; if its stop is not known, until its outcome was known: an upper bound. 0 for "done". NaN: not known. */
double roast_attempt_wasted_seconds(const roast_attempt *attempt);
/* Bytes of a wasted result; 0 for "done", -1: not known. */
int64_t roast_attempt_wasted_bytes(const roast_attempt *attempt);

/* ---- chunks ---- */
/* A new log with the rows of `log`. A chunk with a task key and without a worker gets the worker on which its task gave a
 * result. */
struct roast_chunklog;
roast_status roast_chunklog_name_workers(const struct roast_chunklog *log,
                                         const roast_attempts *attempts,
                                         struct roast_chunklog **out, roast_error *err);
/* A new log with the rows of `log`, on the clock of the tries. A chunk that does not know when its task began gets
 * before_process_ns from the try that it ran in. *out NULL: all of them know. */
roast_status roast_chunklog_start_tasks(const struct roast_chunklog *log,
                                        const roast_attempts *attempts, struct roast_chunklog **out,
                                        roast_error *err);

/* ---- packed ---- */
/* Versioned and checksummed like the chunk log (docs/format/attempts.md); decode checks everything first:
 * ROAST_ECORRUPT with the byte position, ROAST_EVERSION, ROAST_ELIMIT. Losses that roast_attempts_settle has not
 * processed yet are not encoded. */
roast_status roast_attempts_encode(const roast_attempts *attempts, roast_sink *sink,
                                   roast_error *err);
roast_status roast_attempts_decode(const void *data, size_t len, roast_attempts **out,
                                   roast_error *err);

#endif
