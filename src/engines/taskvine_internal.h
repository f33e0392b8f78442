/* How the log of TaskVine is read; shared by the files of this module. */
#ifndef ROAST_ENGINES_TASKVINE_INTERNAL_H
#define ROAST_ENGINES_TASKVINE_INTERNAL_H

#include "base/buffer.h"
#include "base/intern.h"
#include "engines/taskvine_fields.h"
#include "roast/taskvine.h"

#define ROAST_NO_TASK UINT32_MAX
#define ROAST_NO_NAME UINT32_MAX

/* Values by key, of which only the newest are kept: some 65,536 at least. For entries of the log that follow each other
 * closely. */
typedef struct roast_recent {
    roast_intern keys[2]; /* 0 fills up; 1 is older, and dropped when 0 is full */
    void *values[2];
    size_t capacity[2];
    size_t size; /* bytes of a value; 0: there are none */
} roast_recent;

void roast_recent_reset(roast_recent *recent);
size_t roast_recent_memory(const roast_recent *recent);
/* The value of a key, zeroed at first; NULL if memory is short. Valid until the next call. */
void *roast_recent_add(roast_recent *recent, uint64_t key);
/* NULL: it is not there. */
void *roast_recent_find(const roast_recent *recent, uint64_t key);

/* A task, from its first line on. */
typedef struct roast_vine_task {
    int64_t ready_us, sent_us;
    uint32_t category;   /* ROAST_NO_NAME: the log does not say */
    uint32_t worker;     /* that it was sent to; ROAST_NO_WORKER: to none */
    uint32_t next, last; /* tasks of the same worker */
    uint32_t departures; /* of workers, when it became ready */
    bool library;
    bool lost; /* its result was lost, and made again by another task */
} roast_vine_task;

/* Files of one task or transfer that a worker put into its cache. */
typedef struct roast_vine_cached {
    int64_t bytes;
    uint64_t file; /* a temporary one that can be lost, as a hash; 0: none */
    uint64_t peer; /* how many of the files were counted as coming from another worker */
    int64_t peer_bytes, peer_us;
} roast_vine_cached;

typedef struct roast_vine_worker {
    uint32_t series;      /* its number there */
    uint32_t address;     /* ROAST_NO_NAME: the log does not say */
    uint32_t first_task;  /* of those that it has; ROAST_NO_TASK */
    uint32_t tasks;       /* how many */
    int32_t cores;        /* 0: not known */
    bool present;         /* it joined and has not left */
    int64_t connected_us; /* ROAST_NO_TIME: there was no such line */
    /* What has to be added to its clock: between these two, if the clock was not set. */
    int64_t least_us, most_us;
} roast_vine_worker;

struct roast_taskvine {
    roast_taskvine_facts facts;
    bool finished;
    bool skipping;     /* the rest of a line that is too long */
    roast_buffer line; /* the beginning of a line that has no end yet */
    int64_t now_us;    /* of the line */
    int64_t from_us;   /* the run began; ROAST_NO_TIME: with the log */
    roast_attempts *attempts;
    roast_series *series;
    roast_intern categories;
    uint8_t *kinds; /* of the categories */
    size_t kinds_capacity;
    roast_vine_worker *workers; /* by their number in the attempts */
    size_t workers_capacity;
    uint32_t worker_count;
    roast_intern task_ids;
    roast_vine_task *tasks;
    size_t tasks_capacity;
    roast_intern files;   /* temporary results */
    uint32_t *file_tasks; /* that made them last; ROAST_NO_TASK */
    size_t files_capacity;
    roast_recent sent;         /* files that the manager sent to a worker */
    roast_recent cached;       /* roast_vine_cached by worker and start */
    roast_intern explained;    /* tasks */
    roast_intern explanations; /* texts: type and message of the i-th task, 2 i and 2 i + 1 */
    uint32_t *explanation_ids;
    size_t explanations_capacity;
    roast_intern notes;
    roast_intern addresses; /* of workers, as the manager sees them */
};

/* ---- lines: after TASK, WORKER, LIBRARY ----
 * ROAST_ENOMEM, or another failure: the line cannot be read. */
roast_status roast_vine_task_line(roast_taskvine *log, roast_fields *fields);
roast_status roast_vine_library_line(roast_taskvine *log, roast_fields *fields);
roast_status roast_vine_worker_line(roast_taskvine *log, roast_fields *fields);

/* Whether the line is of the time before the run. */
static inline bool roast_vine_is_before(const roast_taskvine *log) {
    return log->from_us != ROAST_NO_TIME && log->now_us < log->from_us;
}

/* ---- tasks ---- */
/* The number of a worker; a new one is added. */
roast_status roast_vine_worker_of(roast_taskvine *log, roast_str name, uint32_t *worker);
/* The try of a task that was sent ends without a result. */
roast_status roast_vine_lose(roast_taskvine *log, uint32_t task, uint32_t departure);
/* All that have not ended. */
roast_status roast_vine_lose_all(roast_taskvine *log);

/* ---- clocks ---- */
/* An event took place on the worker between two moments of the manager (ROAST_NO_TIME: no bound). */
void roast_vine_clock_seen(roast_vine_worker *worker, int64_t on_worker, int64_t after,
                           int64_t before);
/* A moment of a worker's clock on the manager's; ROAST_NO_TIME stays. */
int64_t roast_vine_on_manager(const roast_vine_worker *worker, int64_t moment);

/* ---- files ---- */
/* The files that a worker has in its cache since `start_us` are the result of a task that has ended. *bytes: their size; -1:
 * there are none. */
roast_status roast_vine_result(roast_taskvine *log, uint32_t task, uint32_t worker,
                               int64_t start_us, int64_t *bytes);
roast_status roast_vine_transfer_line(roast_taskvine *log, uint32_t worker, roast_fields *fields);
roast_status roast_vine_cache_line(roast_taskvine *log, uint32_t worker, roast_fields *fields);

/* ---- at the end ---- */
/* For a run without chunks, which tell their hosts: the addresses of the workers in place of names. */
roast_status roast_vine_name_hosts(roast_taskvine *log);
roast_status roast_vine_add_notes(roast_taskvine *log);

#endif
