/* Measurements that roastcoffea 0.1.x wrote: a directory with metrics.json (everything), start_end_time.txt, and
 * perhaps metadata.json and config.json. They are read, never written or changed.
 *
 * ROAST_ENOTFOUND names the missing directory or file, ROAST_ECORRUPT the file and the fault, with line and column
 * if it is not JSON. ROAST_ELIMIT: a file is beyond ROAST_LEGACY_MAX_FILE. */
#ifndef ROAST_LEGACY_H
#define ROAST_LEGACY_H

#include "roast/base.h"
#include "roast/run.h"
#include "roast/sink.h"

#define ROAST_LEGACY_MAX_FILE (INT64_C(4) << 30) /* bytes */

/* The run, as far as 0.1.x saved it: clock, report, worker series, chunks with their sections, spans, files. In
 * addition
 *   - times without a zone, which 0.1.x wrote in its local time, become UTC by the workers' heartbeats; without any
 *     they are taken for the local time of this machine;
 *   - the clock, which 0.1.x read from one without a date, is moved to where workers or chunks were first seen;
 *   - memory that 0.1.x gave in units of 2^20 bytes as "MB" is kept in bytes;
 *   - figures as 0.1.x had computed them, and values of the user's own, stand in the meta "recorded_metrics", the
 *     config in "config", as JSON.
 * The run's notes name guesses and omissions. */
roast_status roast_legacy_load(const char *path, roast_run **out, roast_error *err);

/* One row per figure: name, its possible keys. */
#define ROAST_LEGACY_FIGURES(X)                                                                    \
    X(wall_time, "wall_time elapsed_time_seconds")                                                 \
    X(total_events, "total_events")                                                                \
    X(data_rate_gbps, "data_rate_gbps overall_rate_gbps")                                          \
    X(event_rate_wall_khz, "event_rate_wall_khz event_rate_elapsed_khz")                           \
    X(avg_workers, "avg_workers time_avg_workers")                                                 \
    X(core_efficiency, "core_efficiency cpu_efficiency")

/* The figures for a list of measurements; NaN: missing. */
typedef struct roast_legacy_head {
    bool have_saved;
    roast_utc
        saved; /* when it was written; without a zone taken for the local time of this machine */
#define X(name, keys) double name;
    ROAST_LEGACY_FIGURES(X)
#undef X
} roast_legacy_head;
/* Reads only the beginning of metrics.json, which has the figures. Of the rest only the last character is checked. */
roast_status roast_legacy_peek(const char *path, roast_legacy_head *out, roast_error *err);

/* Writes the config.json of a measurement, ours or of 0.1.x, as one line: "chunk=500, site=desy". Nothing if it has
 * none. */
roast_status roast_legacy_config(const char *path, roast_sink *out, roast_error *err);

/* ---- in two steps, for callers that also need the texts ---- */

/* The contents of the files; `metadata` and `config` may be absent. */
typedef struct roast_legacy_texts {
    roast_str metrics, times, metadata, config;
    const char *folder; /* for messages; may be NULL */
} roast_legacy_texts;
roast_status roast_legacy_decode(const roast_legacy_texts *texts, roast_run **out,
                                 roast_error *err);
/* Parses "t0,t1", in seconds; false: malformed. */
bool roast_legacy_times(roast_str text, double *start, double *end);

/* The files of a directory in memory. */
typedef struct roast_legacy_files roast_legacy_files;
roast_status roast_legacy_files_read(const char *path, roast_legacy_files **out, roast_error *err);
void roast_legacy_files_free(roast_legacy_files *files);
/* Borrowed from `files`. */
roast_legacy_texts roast_legacy_files_texts(const roast_legacy_files *files);

#endif
