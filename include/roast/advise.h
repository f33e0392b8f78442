/* Advice: settings for the next run of the same analysis, each with the finding that it comes from and the wall time
 * that is predicted for it.
 *
 * Only what a Runner, its fileset or its executor takes as it is. A finding that asks for something else (other files,
 * another process()) gives no advice here. */
#ifndef ROAST_ADVISE_H
#define ROAST_ADVISE_H

#include "roast/base.h"
#include "roast/diagnose.h"
#include "roast/metrics.h"
#include "roast/run.h"

/* One row per setting, in no order of worth: name, what it is. */
#define ROAST_ADVICE_SETTINGS(X)                                                                   \
    X(chunksize, "events of a chunk, an argument of Runner")                                       \
    X(preload, "all branches that the fileset is to preload, by dataset")                          \
    X(workers, "workers, and the threads of each")                                                 \
    X(exclude_files, "files to take out of the fileset, by dataset")                               \
    X(first_files, "files to list first in the fileset, by dataset, the longest first")
typedef enum roast_advice_setting {
#define X(name, what) ROAST_ADVICE_##name,
    ROAST_ADVICE_SETTINGS(X)
#undef X
        ROAST_ADVICE_SETTING_COUNT
} roast_advice_setting;
/* "chunksize"; "unknown" for a number that is no setting. */
const char *roast_advice_setting_name(roast_advice_setting setting);

/* Who takes the number of workers. */
typedef enum roast_advice_executor {
    ROAST_ADVISED_OTHER,   /* not known how it takes workers */
    ROAST_ADVISED_SERIAL,  /* has one thread, and no other setting */
    ROAST_ADVISED_FUTURES, /* FuturesExecutor(workers=...) */
    ROAST_ADVISED_DASK,    /* the cluster: n_workers, threads_per_worker */
} roast_advice_executor;

/* Wall times in seconds. */
typedef struct roast_advice_prediction {
    bool known;
    double wall, low, high; /* the interval is NaN if there are too few chunks for one */
    double recorded;        /* of this run; NaN: not known */
    roast_str reason;       /* in words, if it is not known */
} roast_advice_prediction;

/* A branch or file of a dataset; the dataset is absent if it is not known. */
typedef struct roast_advice_name {
    roast_str dataset, name;
} roast_advice_name;

typedef struct roast_advice_item {
    roast_advice_setting setting;
    roast_finding_kind kind; /* of the finding */
    roast_str title;         /* likewise */
    double saving_core_seconds;
    uint64_t chunksize;             /* events; else 0 */
    uint32_t workers, threads;      /* threads: of each worker; else 0 */
    const roast_advice_name *names; /* of branches or files, those of a dataset together */
    uint32_t n_names;
    roast_advice_prediction prediction; /* of this change alone */
} roast_advice_item;

typedef struct roast_advice roast_advice;

/* `metrics` must be those of this very run. Nothing is borrowed afterwards. Makes the diagnosis again, and plays the
 * run again for each prediction. */
roast_status roast_advise_run(const roast_run *run, const roast_metrics *metrics,
                              roast_advice **out, roast_error *err);
void roast_advice_free(roast_advice *advice);

/* In the order of the findings, the worst first; at most one item per setting. */
const roast_advice_item *roast_advice_items(const roast_advice *advice, uint32_t *count);
/* The item of a setting; NULL: none. */
const roast_advice_item *roast_advice_find(const roast_advice *advice,
                                           roast_advice_setting setting);
/* Of all items together. */
const roast_advice_prediction *roast_advice_together(const roast_advice *advice);
roast_advice_executor roast_advice_get_executor(const roast_advice *advice);
/* The findings of the run, with or without advice. */
const roast_findings *roast_advice_findings(const roast_advice *advice);

#endif
