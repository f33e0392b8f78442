/* The list of tables of the summary, and helpers to fill them.
 *
 * A table is a row of ROAST_SUMMARY_TABLES: an id, a title, and a function that fills its grid. A table
 * of facts is a list of labels and keys (summary_facts.c), a table with one row for each thing is a list of columns
 * (summary_rows.c). Tables are shown in the order of the list. */
#ifndef ROAST_RENDER_SUMMARY_H
#define ROAST_RENDER_SUMMARY_H

#include "roast/format.h"
#include "roast/summary.h"

#define ROAST_SUMMARY_TABLES(X)                                                                    \
    X(findings, "Findings", roast_summary_fill_findings)                                           \
    X(budget, "Budget", roast_summary_fill_budget)                                                 \
    X(challenge, "200 Gbps Challenge", roast_summary_fill_challenge)                               \
    X(throughput, "Throughput Metrics", roast_summary_fill_throughput)                             \
    X(events, "Event Processing Metrics", roast_summary_fill_events)                               \
    X(resources, "Resource Utilization", roast_summary_fill_resources)                             \
    X(timing, "Timing Breakdown", roast_summary_fill_timing)                                       \
    X(fine, "Fine Metrics (from Dask Spans)", roast_summary_fill_fine)                             \
    X(chunks, "Chunk Metrics", roast_summary_fill_chunks)                                          \
    X(datasets, "Datasets", roast_summary_fill_datasets)                                           \
    X(time_sections, "Sections: Time", roast_summary_fill_time_sections)                           \
    X(memory_sections, "Sections: Memory", roast_summary_fill_memory_sections)                     \
    X(bytes_sections, "Sections: Bytes Read", roast_summary_fill_bytes_sections)                   \
    X(files, "Files", roast_summary_fill_files)                                                    \
    X(storages, "Storage", roast_summary_fill_storages)                                            \
    X(branches_by_bytes, "Branches by Bytes", roast_summary_fill_branches_by_bytes)                \
    X(branches_by_time, "Branches by Time", roast_summary_fill_branches_by_time)                   \
    X(tasks, "Tasks", roast_summary_fill_tasks)                                                    \
    X(workers, "Worker Health", roast_summary_fill_workers)                                        \
    X(quality, "Data Quality", roast_summary_fill_quality)                                         \
    X(provenance, "Provenance", roast_summary_fill_provenance)

/* "TaskVine" or "Parsl", if that ran the tasks; else NULL. */
const char *roast_summary_engine(const roast_run *about);

/* What a table is made from. */
typedef struct roast_summary_source {
    const roast_metrics *metrics;
    const roast_run *about;         /* may be NULL */
    const roast_findings *findings; /* may be NULL */
} roast_summary_source;

/* The grid has a title, and neither columns nor cells. */
#define X(id, title, fill)                                                                         \
    roast_status fill(const roast_summary_source *source, roast_grid *grid, roast_error *err);
ROAST_SUMMARY_TABLES(X)
#undef X

/* The table of that id; NULL if there is none. */
const roast_grid *roast_summary_find(const roast_summary *summary, const char *id);

/* ---- the short form ---- */

/* The facts of the first screen. */
roast_status roast_summary_fill_overview(const roast_summary_source *source, roast_grid *grid,
                                         roast_error *err);
/* The parts of the budget that matter, and the sum of the others. */
roast_status roast_summary_fill_main_parts(const roast_summary_source *source, roast_grid *grid,
                                           roast_error *err);
/* What a report shows in large print: six facts. */
roast_status roast_summary_fill_cards(const roast_summary_source *source, roast_grid *grid,
                                      roast_error *err);
/* "failed, 19 of 40 chunks"; "-" if it is not known. `run` may be NULL. */
void roast_headline_short(const roast_run *run, char out[ROAST_HEADLINE]);
/* Draws the first findings of the table of findings: severity, title, saving, and the beginning of the advice. `count`:
 * how many findings there are. */
void roast_summary_draw_findings(const roast_grid *findings, uint32_t count, unsigned width,
                                 bool color, roast_sink *sink);
/* What is missing, and the user can change that. */
roast_status roast_summary_fill_gaps(const roast_summary_source *source, roast_grid *grid,
                                     roast_error *err);
void roast_summary_draw_gaps(const roast_grid *gaps, unsigned width, roast_sink *sink);
/* Findings that are shown among the tables of a summary. */
uint32_t roast_summary_count_findings(const roast_findings *findings);

/* ---- for the tables ---- */

/* The columns of a table of facts, "Metric" and "Value". */
roast_status roast_summary_begin_facts(roast_grid *grid, roast_error *err);
/* A fact that is a text. */
roast_status roast_summary_add_fact(roast_grid *grid, const char *label, const char *text,
                                    const roast_grid_value *values, uint32_t n_values,
                                    roast_error *err);
/* A cell with one value: its text for people, its key and unit for programs. */
roast_status roast_summary_add_value(roast_grid *grid, const char *key, roast_value value,
                                     const char *unit, roast_error *err);
/* The same in a column whose values have one unit. */
roast_status roast_summary_add_in_column(roast_grid *grid, const char *key, roast_value value,
                                         const roast_format_column *column, roast_error *err);
/* NaN: not measured. */
roast_value roast_summary_real(double value);

#endif
