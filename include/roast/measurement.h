/* The small files and blobs of a measurement, made from its run; roast_store_save keeps them together with the run.
 *
 *   metrics.json        every metric, for people and small programs
 *   metadata.json       start, duration, outcome, origin and numbers of the run: all that a list of runs needs
 *   start_end_time.txt  "start,end", seconds since 1970
 *   config.json the user's own, if there is one
 *   blob "metrics" the metrics, packed, so that a summary need not read the run
 *   blob "findings"     the findings and the budget, packed */
#ifndef ROAST_MEASUREMENT_H
#define ROAST_MEASUREMENT_H

#include "roast/diagnose.h"
#include "roast/metrics.h"
#include "roast/run.h"
#include "roast/store.h"

/* The format in metadata.json. */
#define ROAST_MEASUREMENT_FORMAT "roastcoffea_measurement_v2"
/* The names of the blobs. */
#define ROAST_METRICS_BLOB  "metrics"
#define ROAST_FINDINGS_BLOB "findings"

typedef struct roast_measurement roast_measurement;

/* A metric of the user's own: its name, and its value as JSON. */
typedef struct roast_own_metric {
    roast_str name, json;
} roast_own_metric;

/* A run and what was computed from it; metrics or findings that are NULL are computed. `own` are members of
 * metrics.json after ours. */
typedef struct roast_measured {
    const roast_run *run;
    const roast_metrics *metrics;
    const roast_findings *findings;
    const roast_own_metric *own;
    size_t n_own;
} roast_measured;

/* Makes all of the above. `config` is JSON, or absent; metadata.json names `saved` as the time of saving. Nothing of
 * the run is borrowed. */
roast_status roast_measurement_new(const roast_measured *from, roast_str config, roast_utc saved,
                                   roast_measurement **out, roast_error *err);
void roast_measurement_free(roast_measurement *measurement);
/* Sets the files and blobs of `options`, borrowed from the measurement. */
void roast_measurement_fill(const roast_measurement *measurement, roast_store_options *options);
/* Makes all of it and saves it with the run in the directory `path`. Errors are those of roast_store_save. */
roast_status roast_measurement_save(const roast_run *run, const char *path, bool overwrite,
                                    roast_str config, roast_error *err);

/* A metadata.json whose checksum, its last member, is that of its bytes. Absent: it has none, or another one. */
roast_str roast_measurement_checked(roast_str metadata);
/* The datasets of a run as one text, the same for the same ones: "DYJets, TTbar", or, if the names are too long, their
 * number and a checksum of the names. Empty: not known. */
#define ROAST_DATASETS_TEXT 80u
roast_status roast_measurement_datasets(const roast_metrics *metrics, char out[ROAST_DATASETS_TEXT],
                                        roast_error *err);

/* The saved metrics and findings of a measurement. *out is NULL if they cannot be used: the measurement is not
 * finished, or has none, or they come from another version. With `any`, metrics of another version are returned
 * too. */
roast_status roast_measurement_saved_metrics(roast_store *store, bool any, roast_metrics **out,
                                             roast_error *err);
roast_status roast_measurement_saved_findings(roast_store *store, roast_findings **out,
                                              roast_error *err);

#endif
