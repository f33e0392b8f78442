/* What leaves for other programs: JSON, CSV, OpenMetrics text, a trace.
 *
 * A writer is begun with what is small of a run, is then given the chunks, files and samples one by
 * one, and is ended; it keeps nothing of them, so that its memory does not grow with the run.
 * Failures of the output stick to the sink; what a writer itself can meet is ROAST_ENOMEM. A run
 * (`head`) and a sink are borrowed until the writer is freed.
 *
 * A chunk is either one of a log (`log` tells which) or one whose branches, sections, reads and
 * customs are arrays (`log` NULL), as the reader of a measurement gives it; likewise a file. */
#ifndef ROAST_EXPORT_H
#define ROAST_EXPORT_H

#include "roast/attempts.h"
#include "roast/columns.h"
#include "roast/json.h"
#include "roast/lanes.h"
#include "roast/metrics.h"
#include "roast/run.h"
#include "roast/sink.h"

/* ---- JSON, in the shape of get_metrics() ---- */

/* The metrics of a run in one small object: every number under all its names, the tables `per_dataset`,
 * `sections`, `file_read_metrics`, `branch_read_metrics` and `worker_health`, the lists `compression_ratios`
 * and `bytes_read_percent_per_file`, and of the head `meta` and `notes`. What was not measured is absent. */
roast_status roast_json_metrics(const roast_metrics *metrics, const roast_run *head,
                                roast_sink *sink, roast_error *err);

/* The same and all that was measured: `file_metadata`, `tracking_data`, `raw_chunk_metrics`,
 * `raw_section_metrics`, `raw_span_metrics` (a tuple that is a key in Python is written as its str()).
 * First the files, then the series, then the chunks (ROAST_ESTATE in any other order); each of them may
 * be left out. Not in it: `chunk_info`, which says what the chunks say, and a chunk's `file_metadata`,
 * which stands there once for each file. */
typedef struct roast_json_run roast_json_run;
roast_status roast_json_run_new(const roast_metrics *metrics, const roast_run *head,
                                roast_sink *sink, roast_json_run **out, roast_error *err);
void roast_json_run_free(roast_json_run *writer);
/* A file that comes again is not written again. */
roast_status roast_json_run_file(roast_json_run *writer, const roast_chunklog *log,
                                 const roast_file *file, roast_error *err);
/* The whole series, once: its lists are by column and worker. */
roast_status roast_json_run_series(roast_json_run *writer, const roast_series *series,
                                   roast_error *err);
roast_status roast_json_run_chunk(roast_json_run *writer, const roast_chunklog *log,
                                  const roast_chunk *chunk, roast_error *err);
/* What is left of the head, and the end of the document. */
roast_status roast_json_run_end(roast_json_run *writer, roast_error *err);

/* ---- CSV (RFC 4180) ---- */

/* One record, field by field. Zeroed storage with its sink set is an empty one. */
typedef struct roast_csv_row {
    roast_sink *sink;
    bool begun;
    bool safe; /* for spreadsheets and terminals, see roast_csv_set_safe */
} roast_csv_row;
/* An absent text is an empty field, an empty one is "". What is not UTF-8 becomes U+FFFD. */
void roast_csv_put_text(roast_csv_row *row, roast_str text);
void roast_csv_put_int(roast_csv_row *row, int64_t value);
/* The shortest digits that read back as the same number; NaN is an empty field. */
void roast_csv_put_real(roast_csv_row *row, double value);
/* An empty field. */
void roast_csv_put_absent(roast_csv_row *row);
void roast_csv_end_row(roast_csv_row *row);

/* One table of a run, with the columns of roast/columns.h. Files come before the chunks. */
typedef struct roast_csv roast_csv;
/* Writes the headings. ROAST_EINVAL for a number that is no table. */
roast_status roast_csv_new(roast_table table, roast_sink *sink, roast_csv **out, roast_error *err);
void roast_csv_free(roast_csv *csv);
/* From now on a text that a spreadsheet would run (it begins with =, +, - or @) has a ' in front, and what is not
 * safe to show in a terminal is written as \x1b and the like. Numbers stay as they are. */
void roast_csv_set_safe(roast_csv *csv);
/* The chunks need to know of their files' sizes. */
roast_status roast_csv_file(roast_csv *csv, const roast_file *file, roast_error *err);
/* What the table shows of a chunk: one row, a row a section or read, or nothing. */
roast_status roast_csv_chunk(roast_csv *csv, const roast_chunklog *log, const roast_chunk *chunk,
                             roast_error *err);
/* The sections of a record that stands beside the chunks. */
roast_status roast_csv_beside(roast_csv *csv, const roast_chunklog *log, const roast_chunk *record,
                              roast_error *err);
/* All samples of a series or of a piece of one, worker by worker. */
void roast_csv_series(roast_csv *csv, const roast_series *series);
/* A table of a whole run, headings and all. */
roast_status roast_csv_run(roast_table table, const roast_run *run, roast_sink *sink,
                           roast_error *err);

/* ---- OpenMetrics text ---- */

/* Every metric as a gauge: roastcoffea_<key>{run}; of the tables roastcoffea_dataset_<key>{run,dataset},
 * roastcoffea_section_<key>{run,section,type}, roastcoffea_file_<key>{run,file},
 * roastcoffea_branch_<key>{run,branch} and roastcoffea_worker_<key>{run,worker,host}. Type, help and, where
 * the name ends with it, the unit are the catalogue's. `run` is the name of the run. What was not measured
 * is absent.
 *
 * With `series` (NULL: without) also what the workers did over time, roastcoffea_tracked_<key>{run,worker},
 * each value with its moment. */
void roast_openmetrics_write(const roast_metrics *metrics, const roast_run *head, roast_str run,
                             const roast_series *series, roast_sink *sink);

/* ---- a trace in Chrome's format, which Perfetto opens ---- */

/* A process for each worker, a lane for each of its threads: tasks, in them what was before process(), the
 * chunk with its sections, and what was after; counters of memory, CPU and, over all chunks, events and
 * bytes a second and how many were open. Times are microseconds since the run began. Inside a lane slices
 * lie apart or within each other; a section that was added up from several uses is drawn from the first
 * use on, no longer than the next one allows. */
typedef struct roast_trace roast_trace;
roast_status roast_trace_new(const roast_run *head, const roast_lanes *lanes, roast_sink *sink,
                             roast_trace **out, roast_error *err);
void roast_trace_free(roast_trace *trace);
/* A chunk without a place is left out. */
roast_status roast_trace_chunk(roast_trace *trace, const roast_chunklog *log,
                               const roast_chunk *chunk, const roast_place *place,
                               roast_error *err);
/* A try that is no chunk's. */
roast_status roast_trace_attempt(roast_trace *trace, const roast_attempt *attempt,
                                 const roast_place *place, roast_error *err);
/* A series or a piece of one. */
roast_status roast_trace_series(roast_trace *trace, const roast_series *series, roast_error *err);
roast_status roast_trace_end(roast_trace *trace, roast_error *err);

#endif
