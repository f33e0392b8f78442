/* Finds the measurements below a folder and reads their small parts: for the verbs that list many. */
#ifndef ROAST_CLI_FOUND_H
#define ROAST_CLI_FOUND_H

#include "roast/metrics.h"
#include "roast/store.h"

/* One row per figure of a list: name, key of the metric, heading. */
#define FOUND_FIGURES(X)                                                                           \
    X(wall, "wall_time", "Wall")                                                                   \
    X(events, "total_events", "Events")                                                            \
    X(gbps, "data_rate_gbps", "Data rate")                                                         \
    X(khz, "event_rate_wall_khz", "Event rate")                                                    \
    X(workers, "avg_workers", "Workers")                                                           \
    X(efficiency, "core_efficiency", "Core eff.")

enum {
#define X(name, key, heading) FOUND_##name,
    FOUND_FIGURES(X)
#undef X
        FOUND_FIGURE_COUNT
};

typedef struct found_figure {
    const char *name, *key, *heading;
} found_figure;
extern const found_figure found_figures[FOUND_FIGURE_COUNT];

typedef struct found_entry {
    char *path;       /* as one would give it to a verb */
    const char *name; /* inside path: below the folder that was searched */
    roast_store_kind kind;
    roast_store_state state;
    bool have_when;
    roast_utc when; /* its start; of a 0.1.x measurement, when it was saved */
    roast_value figures[FOUND_FIGURE_COUNT];
    roast_end outcome; /* how the run ended */
    char *fault;       /* what is wrong with it; NULL: nothing */
} found_entry;

/* Zeroed storage is an empty list. */
typedef struct found_list {
    found_entry *entries;
    size_t count, capacity;
} found_list;

/* Adds the measurements in `folder` (or the folder itself), `depth` folders deep, in the order of their names. One
 * that lies inside another one is not looked for; links to folders and folders with a dot are not followed. */
roast_status found_search(found_list *list, const char *folder, int64_t depth, roast_error *err);
/* Reads the small parts of one. Its error is kept in `fault`; only ROAST_ENOMEM is returned. */
roast_status found_read(found_entry *entry, roast_error *err);
void found_reset(found_list *list);

/* "2026-11-15 23:05:52", UTC; the length. */
enum { FOUND_TIME_SIZE = 32 };
size_t found_time(roast_utc when, char out[FOUND_TIME_SIZE]);
/* "0.1.x", "live", "unfinished", or "" for a finished one of ours. */
const char *found_state(const found_entry *entry);
/* "done", "failed", "interrupted"; NULL: it is not known. */
const char *found_outcome(const found_entry *entry);

#endif
