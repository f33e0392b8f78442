/* The steps to a diagnosis; shared by the files of this module. Times are seconds. */
#ifndef ROAST_ANALYSE_DIAGNOSE_INTERNAL_H
#define ROAST_ANALYSE_DIAGNOSE_INTERNAL_H

#include "metrics/formulas.h"
#include "roast/attempts.h"
#include "roast/diagnose.h"

#define ROAST_NOBODY UINT32_MAX

/* roast_limit.warning_share */
typedef struct roast_thresholds {
#define ROAST_THRESHOLD(name, value, reason) double name;
#include "analyse/diagnose/thresholds.def"
#undef ROAST_THRESHOLD
} roast_thresholds;
extern const roast_thresholds roast_limit;

/* ---- facts from the chunks ---- */

/* One chunk without an error; NaN: not known. */
typedef struct roast_fact {
    double start; /* of process(), since the origin */
    float before, duration, cpu, queue;
    float switches; /* times that the thread went to sleep by itself */
    float events;
    float preloaded, accessed; /* bytes */
    union {
        struct {
            uint32_t dataset, worker, host, file, storage; /* ROAST_NOBODY: not known */
        };
        uint32_t group[ROAST_SPLIT_COUNT];
    };
} roast_fact;
_Static_assert(ROAST_BY_dataset == 0 && ROAST_BY_worker == 1 && ROAST_BY_host == 2 &&
                   ROAST_BY_file == 3 && ROAST_BY_storage == 4,
               "the groups of a fact are in the order of the splits");

/* A worker, host, dataset or file that chunks name. */
typedef struct roast_fact_group {
    uint64_t chunks;
    double cost, events; /* of chunks that tell them */
    double last_end;
    double rss_peak;     /* bytes, the most; 0: not known */
    roast_line line;     /* cost over events */
    double fixed, slope; /* s a chunk, s an event: the model of a dataset */
    double sum_duration; /* of chunks that tell their events */
} roast_fact_group;

static inline roast_fact_group *roast_fact_group_at(const roast_groups *groups, uint32_t id) {
    return roast_groups_item(groups, id);
}

typedef struct roast_fact_section {
    double self, certain, possible; /* s: in it; of these surely, or at most, not on the CPU */
} roast_fact_section;

/* A section of the chunk at hand. */
typedef struct roast_fact_open {
    int64_t own;    /* ns */
    roast_str name; /* NULL: not one of time */
} roast_fact_open;

typedef struct roast_facts {
    roast_fact *facts;
    size_t capacity, count;
    union { /* an item: roast_fact_group */
        struct {
            roast_groups datasets, workers, hosts, files, storages;
        };
        roast_groups by[ROAST_SPLIT_COUNT];
    };
    uint64_t failed;        /* chunks with an error */
    double failed_duration; /* s */
    double duration, before, cost;
    uint64_t with_before;
    double median_before, median_cost;
    double untold_before; /* s a chunk: by the budget, where the chunks do not tell it */
    /* Of the chunks that tell their CPU time. */
    double timed, cpu, queue, read_wait, rest, io_wait;
    bool has_queue;
    double read;        /* in process() */
    double read_busy;   /* of it, neither waiting for data nor for a core */
    double read_others; /* of it, the thread waited and threads without a chunk computed */
    double reads;       /* how many, without those of preloaded columns */
    uint64_t with_reads;
    double reread;          /* s: of a branch that the same chunk had read before */
    double reread_branches; /* how many such reads */
    double storage_bytes, os_bytes;
    roast_stats rss_before, rss_growth; /* bytes; growth: peak less before, an event */
    double origin;                      /* when the first task began: seconds since 1970 */
    double last_end;                    /* of the last chunk, since then */
    roast_groups sections;              /* an item: roast_fact_section */
    roast_fact_open *open;
    size_t open_capacity;
} roast_facts;

/* Facts from the tries of the tasks, in one walk over them. */
typedef struct roast_tries {
    uint64_t raised, lost, recomputed; /* of all but foreign tasks */
    roast_str error;                   /* type of the last one that raised */
    uint64_t results;                  /* of processing, with their size */
    double result_bytes;
    double last_reduction; /* when it stopped, seconds since 1970; NaN: there was none */
} roast_tries;
/* attempts may be NULL. */
roast_tries roast_tries_sum(const roast_attempts *attempts);

/* Chunks of one log, fewer than UINT32_MAX / 4; then finish. */
roast_status roast_facts_add(roast_facts *facts, const roast_chunklog *log,
                             const roast_chunk *chunk);
roast_status roast_facts_finish(roast_facts *facts);
void roast_facts_reset(roast_facts *facts);
/* The number of a group, given out at its first mention; ROAST_NOBODY for an absent name. */
roast_status roast_facts_group(roast_facts *facts, roast_budget_split by, roast_str name,
                               uint32_t *id);

/* Which chunks belong to which group: those of group g are order[first[g]] to order[first[g + 1] - 1]. */
typedef struct roast_fact_order {
    uint32_t *order;
    uint32_t *first; /* count + 1 */
} roast_fact_order;
roast_status roast_facts_order(const roast_facts *facts, roast_budget_split by,
                               roast_fact_order *out);
void roast_fact_order_reset(roast_fact_order *order);

static inline double roast_fact_cost(const roast_fact *fact) {
    return (fact->before > 0 ? (double)fact->before : 0) + (double)fact->duration;
}

/* ---- the diagnosis ---- */

#define ROAST_SLOW_FILES 20u /* are looked at; each takes a walk over all chunks */

typedef struct roast_diagnosis {
    const roast_run *run;
    const roast_metrics *metrics;
    const roast_budget *budget; /* NULL: there is none */
    roast_findings *findings;
    roast_facts facts;
    roast_tries tries;
    double wall;      /* s; NaN: not known */
    double available; /* core-s; of the chunks, where nothing else is known */
    double threads;   /* on average; NaN: not known */
    double span;      /* from the first chunk's start to the last one's end */
    double after;     /* from the last chunk's end to the end of the run; NaN: not known */
    bool made[ROAST_FINDING_KIND_COUNT];
    /* What a rule would set in the next run, as a number; 0: nothing. Threads of all workers together for the kinds
     * about workers, else the events of a chunk. */
    double remedy[ROAST_FINDING_KIND_COUNT];
    bool crowded; /* too_many_workers is about threads that waited for a core */
    uint32_t slow_files[ROAST_SLOW_FILES]; /* of straggler_file, the slowest first */
    uint32_t n_slow_files;
    double straggled; /* s: what chunks took longer on slow hosts and workers */
    /* The model of the chunks' cost. */
    bool has_model;
    double fixed;                   /* s a chunk */
    double slope;                   /* s an event */
    double fixed_least, fixed_most; /* what else it may be; the cost of the average chunk stays */
    bool fitted;                    /* from chunks of different sizes */
    double overhead;                /* s a chunk, of the fixed cost: outside of the task */
} roast_diagnosis;

/* A text that is composed; a long one is cut. */
typedef struct roast_words {
    char text[1024];
    size_t len;
} roast_words;
void roast_say(roast_words *words, const char *format, ...) ROAST_PRINTF(2, 3);
/* The same behind a semicolon, unless it is the first of the words. */
void roast_say_next(roast_words *words, const char *format, ...) ROAST_PRINTF(2, 3);
/* Numbers as people read them; each call gives another of some buffers. */
const char *roast_say_time(double seconds);                  /* "41 s", "3.2 min" */
const char *roast_say_bytes(double bytes);                   /* "1.5 GB" */
const char *roast_say_count(double count);                   /* "1,234" */
const char *roast_say_code(double count);                    /* "120_000": as Python is written */
const char *roast_say_percent(double share);                 /* "96%" */
const char *roast_say_times(double ratio);                   /* "2.1" */
const char *roast_say_many(double count, const char *thing); /* "1 worker", "1,200 workers" */
const char *roast_say_name(roast_str name); /* one line; a long one is cut at its end, "…" */
const char *roast_say_file(roast_str path); /* of a long path, the last part */
/* " Its path is ...", if roast_say_file left a part of it out. */
void roast_say_path(roast_words *words, roast_str path);

/* The finding of a rule; its severity follows from the saving, and is at least `least`. */
typedef struct roast_verdict {
    roast_finding_kind kind;
    double saving;
    double confidence;
    roast_severity least, most;
    roast_words title, evidence, advice;
} roast_verdict;
/* A verdict without words; severity from note to critical. */
void roast_verdict_init(roast_verdict *verdict, roast_finding_kind kind, double saving,
                        double confidence);
roast_status roast_diagnosis_add(roast_diagnosis *d, roast_verdict *verdict);
/* Whether so many core-seconds are worth a finding. */
bool roast_diagnosis_matters(const roast_diagnosis *d, double saving);
/* A part of the budget; 0 where it is not known. */
double roast_diagnosis_part(const roast_diagnosis *d, roast_budget_part part);
/* Idle core-seconds from the start of the last chunk to the end of the chunks. */
double roast_diagnosis_tail(const roast_diagnosis *d);
double roast_diagnosis_metric(const roast_diagnosis *d, const char *key);
/* How users write the settings of Coffea's executor for the engine of the run. */
typedef struct roast_executor_words {
    const char *engine;   /* how its name begins */
    const char *merging;  /* how many outputs are merged at a time */
    const char *unpacked; /* outputs without compression; NULL: the executor always compresses */
    bool python_per_task; /* each task starts a Python */
} roast_executor_words;
const roast_executor_words *roast_diagnosis_executor(const roast_diagnosis *d);
/* The events of the longest file and of the largest chunk that fits in a worker's memory: infinite if that is not
 * known, 0 if none would fit. */
double roast_diagnosis_longest_file(const roast_diagnosis *d);
double roast_diagnosis_most_events(const roast_diagnosis *d);
/* A round number of events, not above this one. */
double roast_round_events(double events);

/* Calls `then` when the rules have been asked, while the facts are there; `then` may be NULL. */
roast_status roast_diagnose_then(const roast_run *run, const roast_metrics *metrics,
                                 roast_status (*then)(const roast_diagnosis *d, void *context),
                                 void *context, roast_findings **out, roast_error *err);

/* ---- storage.c ---- */
/* Storages that are slower than the others for the same datasets. `excess` of each chunk: log of its `cost` over what is
 * expected of a chunk of its dataset and size, NaN: nothing is. What a slow storage explains is subtracted, whether or
 * not it is worth a finding: no worker, host or file is blamed for it. */
roast_status roast_straggler_storages(roast_diagnosis *d, double (*cost)(const roast_fact *fact),
                                      const char *where, double *excess);

/* ---- the rules, in this order: some make no finding if an earlier one has explained the same ---- */
roast_status roast_rules_stragglers(roast_diagnosis *d); /* storage, host, worker, file */
roast_status roast_rules_sizes(roast_diagnosis *d);      /* chunks, before process(), metadata */
roast_status roast_rules_balance(roast_diagnosis *d);    /* tail, workers */
roast_status roast_rules_threads(roast_diagnosis *d);    /* Python's lock */
roast_status roast_rules_reading(roast_diagnosis *d);    /* I/O, decompression, branches */
roast_status roast_rules_sections(roast_diagnosis *d);
roast_status roast_rules_parts(roast_diagnosis *d);   /* large parts of the budget */
roast_status roast_rules_results(roast_diagnosis *d); /* reduction, serialization */
roast_status roast_rules_memory(roast_diagnosis *d);  /* pressure, spilling */
roast_status roast_rules_losses(roast_diagnosis *d);
roast_status roast_rules_skipped(roast_diagnosis *d);
roast_status roast_rules_measurement(roast_diagnosis *d);

/* Whether the file that it names could not be opened or read; NULL is none. */
bool roast_is_error_of_file(const roast_run_error *error);
/* Core-seconds that were lost with workers whose memory was full. */
roast_status roast_lost_to_memory(const roast_diagnosis *d, double *seconds, uint32_t *workers);

/* ---- findings ---- */
roast_status roast_findings_new(roast_findings **out, roast_error *err);
/* Inserts one in its place; the texts are copied, a longer one than ROAST_MAX_FINDING_TEXT is cut.
 * ROAST_EINVAL: a kind, severity or number that cannot be. */
roast_status roast_findings_add(roast_findings *findings, const roast_finding *finding,
                                roast_error *err);
/* Copied, but for its name; NULL: none. */
void roast_findings_set_budget(roast_findings *findings, const roast_budget_row *total);
/* Whether these rules made them; set by the diagnosis. */
void roast_findings_set_current(roast_findings *findings, bool current);

/* ---- thresholds ---- */
typedef struct roast_threshold {
    const char *name;
    double value;
    const char *reason;
} roast_threshold;
uint32_t roast_threshold_count(void);
/* NULL beyond the end. */
const roast_threshold *roast_threshold_at(uint32_t index);

#endif
