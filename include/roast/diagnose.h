/* Findings: what slowed a run down, and what to change.
 *
 * A rule makes at most one finding of its kind, and none if the data do not support it. */
#ifndef ROAST_DIAGNOSE_H
#define ROAST_DIAGNOSE_H

#include "roast/base.h"
#include "roast/budget.h"
#include "roast/metrics.h"
#include "roast/run.h"
#include "roast/sink.h"

/* One row per kind: name, why it matters. The order is the wire order: append only. */
#define ROAST_FINDING_KINDS(X)                                                                     \
    X(chunks_too_small, "Opening the file and scheduling the task cost every chunk the same, "     \
                        "however few events it has.")                                              \
    X(chunks_too_large, "With few chunks per thread, some threads are still busy when the others " \
                        "have nothing left to do.")                                                \
    X(before_process_dominates, "Opening files and building events does not analyse anything.")    \
    X(io_bound, "A core that waits for data does nothing.")                                        \
    X(metadata_bound, "Every chunk reads the description of its tree again; that is not data.")    \
    X(decompression_bound, "Unpacking the files takes CPU time that the analysis could use.")      \
    X(gil_contention, "Threads that need Python's lock run one after the other, however many "     \
                      "cores there are.")                                                          \
    X(straggler_worker, "A slow worker delays its chunks, and often the end of the run.")          \
    X(straggler_host, "A slow machine delays every worker on it.")                                 \
    X(straggler_file, "A file that takes much longer than the others delays the end of the run.")  \
    X(straggler_storage, "A slow storage delays every worker that reads files from it.")           \
    X(long_tail, "At the end most workers were idle while a few finished.")                        \
    X(too_few_workers, "The run was never short of work: more workers would have ended it "        \
                       "sooner at the same cost.")                                                 \
    X(too_many_workers, "Workers without work or without a core of their own bring nothing.")      \
    X(memory_pressure, "A worker near its limit is paused, and then killed with all its results.") \
    X(spilling, "Results that do not fit in memory are written to disk and read back.")            \
    X(unused_branches, "Data that is read and never used costs as much as data that is needed.")   \
    X(reread_branches, "Data that is read twice costs twice.")                                     \
    X(preload, "Many small reads, one after the other, each wait for an answer.")                  \
    X(reduction_bound, "While outputs are merged, few cores have work.")                           \
    X(lost_work, "Work that failed or was lost with its worker has to be done again.")             \
    X(serialization_heavy, "Packing and unpacking results analyses nothing.")                      \
    X(slow_section, "A change in this part of process() pays most.")                               \
    X(measurement, "Without complete data, the findings may be incomplete.")                       \
    X(ramp_up, "Workers that are there and have nothing to do yet cost as much as busy ones.")     \
    X(worker_overhead, "Moving, unpacking and storing what tasks need analyses nothing.")          \
    X(skipped_files, "A result without some of its events is wrong, and nothing else says so.")    \
    X(preprocessing_bound,                                                                         \
      "Opening every file to count its events is not analysis, and can be done once.")             \
    X(client_bound, "While the program works alone, all workers are paid and wait.")               \
    X(cold_start, "Starting Python and importing Coffea analyses nothing, and is paid again by "   \
                  "each new process.")

typedef enum roast_finding_kind {
#define X(name, why) ROAST_FINDING_##name,
    ROAST_FINDING_KINDS(X)
#undef X
        ROAST_FINDING_KIND_COUNT
} roast_finding_kind;
/* "io_bound"; "unknown" for a number that is no kind. */
const char *roast_finding_kind_name(roast_finding_kind kind);
/* Why it matters, in a sentence; "" for a number that is no kind. */
const char *roast_finding_kind_why(roast_finding_kind kind);

/* From harmless to severe. */
#define ROAST_SEVERITIES(X) X(note) X(warning) X(critical)
typedef enum roast_severity {
#define X(name) ROAST_SEVERITY_##name,
    ROAST_SEVERITIES(X)
#undef X
        ROAST_SEVERITY_COUNT
} roast_severity;
const char *roast_severity_name(roast_severity severity);

typedef struct roast_finding {
    roast_finding_kind kind;
    roast_severity severity;
    roast_str title;            /* one line */
    roast_str evidence;         /* the numbers, in words */
    roast_str advice;           /* what to change */
    double saving_core_seconds; /* at most; 0 if the finding is not about core time */
    double confidence;          /* 0 to 1 */
} roast_finding;

#define ROAST_MAX_FINDINGS     1024u /* in a packed buffer; a diagnosis makes at most one per kind */
#define ROAST_MAX_FINDING_TEXT 4096u

typedef struct roast_findings roast_findings;

/* `metrics` must be those of this very run. Computes the budget. Rules that need a budget make no finding if there is
 * none, or if most of the chunks are not in it (their worker is not known). Nothing is borrowed afterwards. */
roast_status roast_diagnose_run(const roast_run *run, const roast_metrics *metrics,
                                roast_findings **out, roast_error *err);

void roast_findings_free(roast_findings *findings);
/* The worst first: by severity, then by saving, then by kind. */
uint32_t roast_findings_count(const roast_findings *findings);
/* Borrowed; NULL beyond the end. */
const roast_finding *roast_findings_at(const roast_findings *findings, uint32_t index);

/* The whole budget of the run, as the rules saw it; NULL if there was none. Borrowed. */
const roast_budget_row *roast_findings_budget(const roast_findings *findings);

/* ---- packed: docs/format/findings.md; versioned and checksummed ---- */
roast_status roast_findings_encode(const roast_findings *findings, roast_sink *sink,
                                   roast_error *err);
/* Checks everything first: ROAST_ECORRUPT with the byte position, ROAST_EVERSION for a newer version. */
roast_status roast_findings_decode(const void *data, size_t len, roast_findings **out,
                                   roast_error *err);
/* Whether the rules and thresholds of this version made them. */
bool roast_findings_is_current(const roast_findings *findings);

#endif
