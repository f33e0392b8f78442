/* The measurements below some folders: finding them, reading their small parts, choosing among them.
 *
 * A finished measurement of this version is read from its metadata.json alone; others are read from run.sqlite, or
 * from metrics.json of 0.1.x, which is slower. */
#ifndef ROAST_FOUND_H
#define ROAST_FOUND_H

#include "roast/metrics.h"
#include "roast/sink.h"
#include "roast/store.h"

/* One row per figure of a list: name, key of the metric, heading. */
#define ROAST_FOUND_FIGURES(X)                                                                     \
    X(wall, "wall_time", "Wall")                                                                   \
    X(events, "total_events", "Events")                                                            \
    X(gbps, "data_rate_gbps", "Data rate")                                                         \
    X(useful, "useful_rate_gbps", "Useful rate")                                                   \
    X(khz, "event_rate_wall_khz", "Event rate")                                                    \
    X(workers, "avg_workers", "Workers")                                                           \
    X(efficiency, "core_efficiency", "Core eff.")                                                  \
    X(chunksize, "chunksize", "Chunk size") /* from the texts of the run */

/* What is known of a run and may be the cause of a change: key of its text in the run. `workers` is the metric
 * peak_workers. */
#define ROAST_FOUND_FACTS(X)                                                                       \
    X(git_revision)                                                                                \
    X(chunksize)                                                                                   \
    X(executor)                                                                                    \
    X(workers)                                                                                     \
    X(schema)                                                                                      \
    X(format)                                                                                      \
    X(files)                                                                                       \
    X(reducer)                                                                                     \
    X(engine)                                                                                      \
    X(python_version)                                                                              \
    X(coffea_version)                                                                              \
    X(dask_version)                                                                                \
    X(distributed_version)                                                                         \
    X(uproot_version)                                                                              \
    X(awkward_version)                                                                             \
    X(numpy_version)                                                                               \
    X(roastcoffea_version)                                                                         \
    X(architecture)                                                                                \
    X(kernel)                                                                                      \
    X(host)
enum {
#define X(name) ROAST_FACT_##name,
    ROAST_FOUND_FACTS(X)
#undef X
        ROAST_FACT_COUNT
};
/* "git_revision"; NULL beyond the end. */
const char *roast_found_fact_name(int fact);

/* What a list is sorted and filtered by: a figure, or one of the texts after them. */
#define ROAST_FOUND_TEXTS(X) X(name) X(when) X(outcome) X(executor) X(config) X(state) X(processor)

enum {
#define X(name, key, heading) ROAST_FOUND_##name,
    ROAST_FOUND_FIGURES(X)
#undef X
        ROAST_FOUND_FIGURE_COUNT,
    ROAST_FOUND_BEFORE_TEXTS = ROAST_FOUND_FIGURE_COUNT - 1,
#define X(name) ROAST_FOUND_BY_##name,
    ROAST_FOUND_TEXTS(X)
#undef X
        ROAST_FOUND_KEYS
};

typedef struct roast_found_figure {
    const char *name, *key, *heading;
} roast_found_figure;
extern const roast_found_figure roast_found_figures[ROAST_FOUND_FIGURE_COUNT];

typedef struct roast_found_entry {
    const char *path; /* as one would give it to a verb */
    const char *name; /* inside path: below the folder that was searched */
    roast_store_kind kind;
    roast_store_state state;
    bool have_when;
    roast_utc when; /* its start; of a 0.1.x measurement, when it was saved */
    roast_value figures[ROAST_FOUND_FIGURE_COUNT];
    roast_value extra;     /* the value of the metric that was asked for */
    roast_end outcome;     /* how the run ended */
    const char *processor; /* NULL: not known, as the following */
    const char *datasets;  /* as roast_measurement_datasets gives them */
    const char *facts[ROAST_FACT_COUNT];
    const char *config; /* one line; NULL also if it was not asked for */
    const char *fault;  /* what is wrong with it; NULL: nothing */
} roast_found_entry;

/* What is read of each, besides figures, outcome and executor. */
typedef struct roast_found_wanted {
    bool config;        /* from a file of its own */
    const char *metric; /* the key of a number of the catalogue, for `extra`; NULL: none */
    bool facts; /* processor, datasets and facts of 0.1.x measurements too, which takes long */
} roast_found_wanted;

typedef struct roast_found roast_found;
roast_status roast_found_new(roast_found **out, roast_error *err);
void roast_found_free(roast_found *found);
/* Adds the measurements in `folder` (or the folder itself), `depth` folders deep, in the order of their names. One
 * that lies inside another one is not looked for; links to folders and folders with a dot are not followed. */
#define ROAST_FOUND_DEPTH 16
roast_status roast_found_search(roast_found *found, const char *folder, int64_t depth,
                                roast_error *err);
/* The same for several folders, where names are paths: several folders may have measurements of one name. Without any,
 * the working folder. */
roast_status roast_found_search_all(roast_found *found, const char *const *folders,
                                    size_t n_folders, int64_t depth, roast_error *err);
/* Reads the small parts of all. What is wrong with one is its `fault`; only ROAST_ENOMEM is returned, and the errors of
 * an unknown metric. */
roast_status roast_found_read(roast_found *found, const roast_found_wanted *wanted,
                              roast_error *err);
/* Borrowed until the list changes. */
typedef struct roast_found_list {
    roast_found_entry *entries;
    size_t count;
} roast_found_list;
roast_found_list roast_found_all(roast_found *found);

/* "2026-11-15 23:05:52", UTC; the length. */
enum { ROAST_FOUND_TIME = 32 };
size_t roast_found_time(roast_utc when, char out[ROAST_FOUND_TIME]);
/* "0.1.x", "live", "unfinished", or "" for a finished one of ours. */
const char *roast_found_state(const roast_found_entry *entry);
/* "done", "failed", "interrupted"; NULL: it is not known. */
const char *roast_found_outcome(const roast_found_entry *entry);
/* The text of a key that is one, but for the time; NULL: it is not known. */
const char *roast_found_text(const roast_found_entry *entry, int key);

/* ---- choosing ---- */

/* "wall", "name". */
const char *roast_found_key_name(int key);
/* ROAST_FOUND_KEYS if there is none of that name. */
int roast_found_key(roast_str name);
/* What to do about a name that is no key: "did you mean ...", or all of them. */
#define ROAST_FOUND_HINT 192u
void roast_found_key_hint(roast_str name, char out[ROAST_FOUND_HINT]);

/* A test of one value against that of the filter: the outcomes that pass, or a search in the name. */
enum { ROAST_TEST_LESS = 1, ROAST_TEST_EQUAL = 2, ROAST_TEST_MORE = 4, ROAST_TEST_CONTAINS = 8 };

typedef struct roast_found_filter {
    int key;
    unsigned test;
    const char *text; /* borrowed */
    double number;
} roast_found_filter;
/* "wall>60", "when>=2026-11", or a part of the name. ROAST_EINVAL with the advice in `hint`. */
roast_status roast_found_filter_parse(const char *text, roast_found_filter *out,
                                      char hint[ROAST_FOUND_HINT], roast_error *err);
/* Forgets those that do not pass all filters; the order is lost. A value that was not measured passes no test. */
void roast_found_keep(roast_found *found, const roast_found_filter *filters, size_t n_filters);
/* The first that fits comes first: newest, largest, or by the alphabet; what has no value stands last. Then only the
 * first `limit` are kept. */
void roast_found_sort(roast_found *found, int key, bool reverse, size_t limit);

/* All of them as JSON: a list of objects, with the keys of the catalogue. */
void roast_found_json(roast_found *found, roast_sink *out);

#endif
