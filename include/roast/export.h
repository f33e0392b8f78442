/* Exports for other programs: JSON, CSV, text for Prometheus, a trace.
 *
 * Each function writes a whole run. Failures of the output stick to the sink; a writer itself fails with
 * ROAST_ENOMEM alone. Nothing of the run is kept. */
#ifndef ROAST_EXPORT_H
#define ROAST_EXPORT_H

#include "roast/attempts.h"
#include "roast/columns.h"
#include "roast/diagnose.h"
#include "roast/json.h"
#include "roast/metrics.h"
#include "roast/run.h"
#include "roast/sink.h"
#include "roast/tally.h"

/* ---- JSON, in the form of get_metrics() ---- */

/* Contains every number under all its names, the tables `per_dataset`, `sections`, `file_read_metrics`,
 * `branch_read_metrics`, `worker_health` and `task_metrics`, the lists `compression_ratios` and
 * `bytes_read_percent_per_file`, `meta` and `notes` of the run, and the raw data: `file_metadata`, `tracking_data`,
 * `raw_chunk_metrics`, `raw_section_metrics`, `raw_span_metrics`. What was not measured is absent. A key that is a
 * tuple in Python is written as its str(). `chunk_info` is left out, since the chunks contain it. `file_metadata` is
 * written once for each file, not in every chunk. */
roast_status roast_json_run(const roast_metrics *metrics, const roast_run *run, roast_sink *sink,
                            roast_error *err);

/* ---- CSV (RFC 4180) ---- */

/* One record, field by field. Zeroed storage with its sink set is an empty one. */
typedef struct roast_csv_row {
    roast_sink *sink;
    bool begun;
    /* For spreadsheets and terminals: a text that a spreadsheet would run (it begins with =, +, - or @) gets a '
     * in front, and control characters are written as \x1b and the like. Numbers do not change. */
    bool safe;
} roast_csv_row;
/* An absent text is an empty field, an empty text is "". Bytes that are not UTF-8 become U+FFFD. */
void roast_csv_put_text(roast_csv_row *row, roast_str text);
void roast_csv_put_int(roast_csv_row *row, int64_t value);
/* The shortest digits that read back as the same number; NaN is an empty field. */
void roast_csv_put_real(roast_csv_row *row, double value);
void roast_csv_end_row(roast_csv_row *row);

/* One table of a run: headings and rows, with the columns of roast/columns.h and the errors of roast_columns_new. */
roast_status roast_csv_table(const roast_run *run, roast_table table, bool safe, roast_sink *sink,
                             roast_error *err);

/* ---- text for Prometheus ---- */

/* Each label is a time series wherever the text goes. Unless more is asked for, the run and its datasets are labels:
 * ROAST_TALLY_DATASETS of them, the others together as ROAST_TALLY_OTHERS. */
typedef enum roast_exposition {
    ROAST_OPENMETRICS = 0,
    ROAST_PROMETHEUS = 1, /* alone: Prometheus' text format 0.0.4, which node_exporter reads */
    ROAST_OPENMETRICS_TABLES =
        2, /* all datasets, sections, storage, files, branches, workers and tasks */
    /* The workers over time, roast_tracked_<name>{run,worker}, each value with its time. */
    ROAST_OPENMETRICS_SAMPLES = 4
} roast_exposition;

/* Every metric as a gauge: roast_<name>{run}, roast_dataset_<name>{run,dataset}; of the tables
 * roast_section_<name>{run,section,type}, roast_file_<name>{run,file}, roast_branch_<name>{run,branch} and
 * roast_worker_<name>{run,worker,host}. A name is the key of the catalogue with its base unit as the last word
 * (seconds, bytes, bytes_per_second, hertz, ratio), and the value is in that unit; the help names the key. `name` is the
 * name of the run. A value that was not measured is absent. With findings (may be NULL) also
 * roast_budget_core_seconds{run,part} and roast_finding_saving_core_seconds{run,kind,severity}. */
void roast_openmetrics_write(const roast_metrics *metrics, const roast_findings *findings,
                             const roast_run *run, roast_str name, roast_exposition form,
                             roast_sink *sink);

/* The rows "live" of the catalogue that have one number for a run. */
#define ROAST_LIVE_GAUGES(X)                                                                       \
    X(run_open) X(run_start_time) X(workers) X(threads) X(tasks) X(memory) X(memory_limit)

/* Those that have one number for a worker. */
#define ROAST_LIVE_WORKER_GAUGES(X) X(threads) X(tasks) X(memory) X(memory_limit)

typedef struct roast_live_worker {
    roast_str name;
#define X(id) double id; /* NaN: not known */
    ROAST_LIVE_WORKER_GAUGES(X)
#undef X
} roast_live_worker;

/* What is known of a run that goes on. */
typedef struct roast_live_run {
    roast_str name;
    const roast_tally *tally; /* NULL: no chunk is known */
#define X(id) double id;      /* NaN: not known */
    ROAST_LIVE_GAUGES(X)
#undef X
    const roast_live_worker *each; /* the workers one by one, if that was asked for */
    size_t n_each;
} roast_live_run;
/* These runs in the form ROAST_PROMETHEUS. No two of them have the same name. */
void roast_prometheus_live(const roast_live_run *runs, size_t count, roast_sink *sink);

/* ---- a trace in Chrome's format, which Perfetto opens ---- */

/* Each worker is a process with a lane for each of its threads. A lane shows tasks; inside a task, the time before
 * process(), the chunk with its sections, and the time after process(). Counters: memory and CPU of each worker;
 * events per second, bytes per second and open chunks of the run. Times are microseconds since the start of the
 * run. Slices of a lane are disjoint or nested. A section with several uses is drawn from its first use on, and
 * ends where the next section begins. */
roast_status roast_trace_write(const roast_run *run, roast_sink *sink, roast_error *err);

#endif
