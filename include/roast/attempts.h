/* Attempts: every try of every task of a run, as the scheduler saw it, and the workers that left.
 *
 * A row is packed: prefix, worker and thread are kept once, times as differences, hexadecimal
 * digits of a key as bytes. Some 50 bytes a try. */
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
    X(foreign, "foreign")       /* of somebody else who shares the workers; its key is not kept */
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
    X(lost, "lost")             /* with its worker, or it was called off */                        \
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

/* Limits on what comes from outside: a longer text is cut on append, anything beyond them in a
 * packed buffer is ROAST_ELIMIT or damage. */
#define ROAST_MAX_KEY           4096u /* bytes of a key, a prefix, or a worker's name */
#define ROAST_MAX_ERROR_TYPE    256u
#define ROAST_MAX_ERROR_MESSAGE 4096u

/* One try. Points in time are UTC microseconds since 1970 on the scheduler's clock, or
 * ROAST_NO_TIME; lengths of time are microseconds; -1: not known. Strings are borrowed: on reading
 * until the next append. */
typedef struct roast_attempt {
    roast_attempt_kind kind; /* of its prefix; see roast_attempts_set_kind */
    roast_outcome outcome;
    roast_str prefix; /* "MyProcessor" */
    /* The key as given; or what is before its end, where that is '-' and 32 hex digits (key_hash), or
     * '-' and a number (key_number). roast_attempt_key puts them together. */
    roast_str key;
    roast_str key_hash;     /* the digits as 16 bytes */
    int64_t key_number;     /* -1: there is none */
    uint32_t worker;        /* number, see roast_attempts_worker; ROAST_NO_WORKER: not known */
    uint64_t thread;        /* as the worker names it; 0: not known */
    int64_t ready_us;       /* it could have run: it was queued, or sent at once */
    int64_t sent_us;        /* it was sent to the worker */
    int64_t start_us;       /* the worker began to compute */
    int64_t stop_us;        /* it ended to compute */
    int64_t ended_us;       /* the scheduler knew the outcome; always there */
    int64_t transfer_us;    /* its inputs came from other workers */
    int64_t deserialize_us; /* it was unpacked */
    int64_t disk_us;        /* its inputs came back from disk */
    int64_t nbytes;         /* of the result */
    uint32_t departure;     /* of the worker it was lost with; ROAST_NO_DEPARTURE */
    roast_str error_type;   /* absent: not known, or there was none */
    roast_str error_message;
} roast_attempt;

/* A worker that left. */
typedef struct roast_departure {
    uint32_t worker;
    roast_utc when;
    bool expected;         /* it was told to, or had said so */
    uint32_t running;      /* tasks that it had, sent and not ended */
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
/* Appends one try. On failure nothing is changed. On input key is the whole key (key_hash
 * and key_number are ignored), and `kind` is ignored but for foreign: a prefix that is new is "other" until
 * roast_attempts_set_kind. ROAST_EINVAL: ended_us, an outcome or a worker that is not there. */
roast_status roast_attempts_append(roast_attempts *attempts, const roast_attempt *attempt,
                                   roast_error *err);
/* All tries with this prefix are of this kind (not foreign); those that still come as well. */
roast_status roast_attempts_set_kind(roast_attempts *attempts, roast_str prefix,
                                     roast_attempt_kind kind, roast_error *err);
/* The only copy of the result of `key` (the whole one) is gone and is needed: its last try that was
 * done becomes "recomputed" with roast_attempts_settle. */
roast_status roast_attempts_lose_result(roast_attempts *attempts, roast_str key, roast_error *err);
/* One walk over all tries; cheap where nothing was lost. */
roast_status roast_attempts_settle(roast_attempts *attempts, roast_error *err);
roast_status roast_attempts_add_departure(roast_attempts *attempts,
                                          const roast_departure *departure, roast_error *err);

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
    int64_t last_us; /* ended_us of the row before */
} roast_attempt_cursor;
/* Walks in the order in which the scheduler saw the ends. The attempts must not change meanwhile. */
void roast_attempt_cursor_init(roast_attempt_cursor *cursor, const roast_attempts *attempts);
/* false at the end. */
bool roast_attempt_cursor_next(roast_attempt_cursor *cursor, roast_attempt *out);

/* The whole key, as snprintf would write it; the length without the terminator. Empty if there is
 * none. */
size_t roast_attempt_key(const roast_attempt *attempt, char *out, size_t size);
/* Seconds that came to nothing: of a try that was not done its computing, or, where nobody has told
 * that, the time from when it was sent until its end was known (an upper bound). 0 for one that was
 * done. NaN: not known. */
double roast_attempt_wasted_seconds(const roast_attempt *attempt);
/* Bytes of a result that came to nothing; 0 for one that was done, -1: not known. */
int64_t roast_attempt_wasted_bytes(const roast_attempt *attempt);

/* ---- packed ---- */
/* Versioned and checksummed like the chunk log (docs/format/attempts.md); decode checks everything
 * first: ROAST_ECORRUPT with the byte position, ROAST_EVERSION, ROAST_ELIMIT. What waits for
 * roast_attempts_settle is not part of it. */
roast_status roast_attempts_encode(const roast_attempts *attempts, roast_sink *sink,
                                   roast_error *err);
roast_status roast_attempts_decode(const void *data, size_t len, roast_attempts **out,
                                   roast_error *err);

#endif
