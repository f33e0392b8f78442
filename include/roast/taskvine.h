/* The log of a TaskVine manager ("transactions"), read as it grows: tries of tasks, workers, transfers.
 *
 * The log is text that another program wrote. A line that cannot be read is counted and left out; nothing in it is
 * an error. Only a lack of memory is. docs/taskvine.md says what the lines mean and what they cannot tell. */
#ifndef ROAST_TASKVINE_H
#define ROAST_TASKVINE_H

#include "roast/attempts.h"
#include "roast/run.h"
#include "roast/series.h"

typedef struct roast_taskvine roast_taskvine;

/* Ways of a file. One row each: name, words. */
#define ROAST_TASKVINE_WAYS(X)                                                                     \
    X(manager, "from the manager to workers")                                                      \
    X(peer, "from worker to worker")                                                               \
    X(output, "from workers to the manager")
typedef enum roast_taskvine_way {
#define X(name, words) ROAST_WAY_##name,
    ROAST_TASKVINE_WAYS(X)
#undef X
        ROAST_WAY_COUNT
} roast_taskvine_way;
/* "manager"; "unknown" for any other number. */
const char *roast_taskvine_way_name(roast_taskvine_way way);
const char *roast_taskvine_way_words(roast_taskvine_way way);

typedef struct roast_taskvine_transfers {
    uint64_t count;
    int64_t bytes;
    int64_t us; /* summed over the transfers, which may overlap */
} roast_taskvine_transfers;

/* Measurements of TaskVine's resource monitor, summed over the tries of a kind. */
typedef struct roast_taskvine_measured {
    uint64_t tries;     /* with a measurement */
    double cpu_s;       /* all their processes */
    double wall_s;      /* from start to end */
    double read_bytes;  /* in steps of 2^20 a try */
    double write_bytes; /* the same */
    double memory;      /* bytes: the largest peak of one try */
} roast_taskvine_measured;

typedef struct roast_taskvine_facts {
    uint64_t lines;      /* without those of the header */
    uint64_t unreadable; /* of them */
    bool begun, ended;   /* the manager's first and last line are there */
    bool cut;         /* the last line has no end; it is not read. Set by roast_taskvine_finish */
    int64_t first_us; /* the first event of a task or worker; ROAST_NO_TIME: there was none */
    int64_t last_us;  /* the end of the last try; ROAST_NO_TIME: none has ended */
    int64_t phases_us[ROAST_PHASE_COUNT]
                     [2]; /* from the first task of a phase to the end of its last; NO_TIME */
    uint64_t recovered;   /* results that were lost with a worker and made again */
    uint64_t exhausted;   /* tries that took more memory or disk than they were allowed */
    uint64_t cancelled;   /* tries that the program cancelled */
    uint64_t unexplained; /* workers whose connection ended, nobody knows why */
    uint64_t open;        /* tries without an end. Set by roast_taskvine_finish */
    uint64_t libraries;   /* tasks that serve function calls: they are no tries */
    uint64_t processed;   /* processing tasks that are done; one that was made again counts once */
    uint64_t raised;      /* tries that raised */
    double
        task_memory; /* bytes: memory of a worker per core, of the one with the least; 0: not known */
    roast_taskvine_transfers transfers[ROAST_WAY_COUNT];
    roast_taskvine_measured measured[ROAST_KIND_COUNT];
} roast_taskvine_facts;

/* ---- life ---- */
roast_status roast_taskvine_new(roast_taskvine **out, roast_error *err);
/* What ended before a moment (us since 1970) is not of the run: no try, transfer, or departure of a worker. To be called
 * before anything is fed. */
void roast_taskvine_begin_at(roast_taskvine *log, int64_t from_us);
void roast_taskvine_free(roast_taskvine *log);
/* Bytes of memory that it holds. */
size_t roast_taskvine_memory(const roast_taskvine *log);

/* ---- in ---- */
/* The next bytes of the log, in pieces of any size: the beginning of a line waits for its end. ROAST_ENOMEM: from then
 * on the log can only be freed. ROAST_ESTATE: it is finished. */
roast_status roast_taskvine_feed(roast_taskvine *log, const void *bytes, size_t len,
                                 roast_error *err);
/* Feeds the regular file `path` from byte *offset to its present end, to which *offset is set. ROAST_EIO with os_errno. */
roast_status roast_taskvine_feed_file(roast_taskvine *log, const char *path, int64_t *offset,
                                      roast_error *err);
/* Why a task raised, which the log does not tell: for its tries that are read from now on. */
roast_status roast_taskvine_explain(roast_taskvine *log, int64_t task, roast_str type,
                                    roast_str message, roast_error *err);
/* There will be no more. Tries without an end were lost; their time ends with the last line. */
roast_status roast_taskvine_finish(roast_taskvine *log, roast_error *err);

/* ---- out ---- */
const roast_taskvine_facts *roast_taskvine_get_facts(const roast_taskvine *log);
/* Tries so far; their key is the number of the task, their prefix its category. NULL after _take_attempts. */
const roast_attempts *roast_taskvine_attempts(const roast_taskvine *log);
/* Joins, leaves, cores and limits of memory so far. NULL after _take_series. */
const roast_series *roast_taskvine_series(const roast_taskvine *log);
/* They become the caller's: ROAST_ESTATE unless it is finished, and the second time. */
roast_status roast_taskvine_take_attempts(roast_taskvine *log, roast_attempts **out,
                                          roast_error *err);
roast_status roast_taskvine_take_series(roast_taskvine *log, roast_series **out, roast_error *err);
/* Microseconds that the clock of a worker (by its number in the attempts) is behind the manager's. 0: no difference can be
 * seen, or there is no such worker. */
int64_t roast_taskvine_clock_offset(const roast_taskvine *log, uint32_t worker);
/* Measurements in the form of any engine's figures: those of the resource monitor, summed over the tries of a kind, the
 * transfers, the memory for a task, and the most that one used. false: it was not measured. */
enum { ROAST_TASKVINE_FIGURES = 4 * ROAST_KIND_COUNT + 3 * ROAST_WAY_COUNT + 2 };
bool roast_taskvine_figure(const roast_taskvine *log, uint32_t index, roast_span_value *out);
/* Cores of a worker (by its number in the attempts) that is connected now; -1: it is not there, or they are not known. */
int32_t roast_taskvine_worker_cores(const roast_taskvine *log, uint32_t worker);
/* What could not be measured, and what is special about the run, in words. None before it is finished. */
uint32_t roast_taskvine_note_count(const roast_taskvine *log);
roast_str roast_taskvine_note(const roast_taskvine *log, uint32_t index);

/* Fills a run with all that the finished log tells, from its first event to the end of its last try. Takes attempts and
 * series. ROAST_ECORRUPT: it has no line of TaskVine's. */
roast_status roast_taskvine_fill(roast_taskvine *log, roast_run *run, roast_error *err);

#endif
