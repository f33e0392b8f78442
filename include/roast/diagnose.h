/* Findings: what held a run up, and what to change.
 *
 * A rule makes at most one finding of its kind, and none where the data cannot support it. */
#ifndef ROAST_DIAGNOSE_H
#define ROAST_DIAGNOSE_H

#include "roast/base.h"
#include "roast/budget.h"
#include "roast/metrics.h"
#include "roast/run.h"
#include "roast/sink.h"

/* One row a kind: name, why it matters. The order is the wire order: append only. */
#define ROAST_FINDING_KINDS(X)                                                                     \
    X(chunks_too_small, "Every chunk pays for opening its file and for being scheduled, however "  \
                        "few events it has.")                                                      \
    X(chunks_too_large, "With few chunks a thread, some are still busy when the others have "      \
                        "nothing left to do.")                                                     \
    X(before_process_dominates, "Opening files and building events does not analyse anything.")    \
    X(io_bound, "A core that waits for data is paid for and does nothing.")                        \
    X(metadata_bound, "The description of a tree is read again by every chunk; it is no data.")    \
    X(decompression_bound, "Unpacking the files takes the CPU time that the analysis could use.")  \
    X(gil_contention, "Threads that hold Python's lock run one after the other, however many "     \
                      "cores there are.")                                                          \
    X(straggler_worker, "A slow worker holds its chunks longer, and often the end of the run.")    \
    X(straggler_host, "A slow machine holds up every worker on it.")                               \
    X(straggler_file, "A file that takes much longer than the others holds up the end of the "     \
                      "run.")                                                                      \
    X(long_tail, "At the end most workers were idle while a few finished.")                        \
    X(too_few_workers, "The run was never short of work: more workers would have ended it "        \
                       "sooner at the same cost.")                                                 \
    X(too_many_workers, "Workers without work or without a core of their own are paid for and "    \
                        "bring nothing.")                                                          \
    X(memory_pressure, "A worker near its limit is paused, and then killed with all its results.") \
    X(spilling, "Results that do not fit in memory go to disk and come back.")                     \
    X(unused_branches, "What is read and never looked at costs as much as what is needed.")        \
    X(reread_branches, "What is read twice costs twice.")                                          \
    X(preload, "Many small reads, one after the other, each wait for an answer.")                  \
    X(reduction_bound, "While outputs are merged, few cores have something to do.")                \
    X(lost_work, "What failed or died with its worker was paid for and had to be done again.")     \
    X(serialization_heavy, "Packing and unpacking results is no analysis.")                        \
    X(slow_section, "This part of process() is where a change pays most.")                         \
    X(measurement, "What was not measured cannot be explained.")

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
    roast_str evidence;         /* what was seen: the numbers, in words */
    roast_str advice;           /* what to change */
    double saving_core_seconds; /* at most; 0 where it is not core time that would be saved */
    double confidence;          /* 0 to 1 */
} roast_finding;

#define ROAST_MAX_FINDINGS     1024u /* of a packed buffer; a diagnosis makes one a kind at most */
#define ROAST_MAX_FINDING_TEXT 4096u

typedef struct roast_findings roast_findings;

/* `metrics` must be those of this very run, `budget` as well, or NULL where there is none: rules that need
 * it make no finding then. A budget that most of the chunks are not in (nobody knows where they ran) counts as
 * none. Nothing is borrowed afterwards. */
roast_status roast_diagnose(const roast_run *run, const roast_metrics *metrics,
                            const roast_budget *budget, roast_findings **out, roast_error *err);
/* The same; computes the budget itself, and the metrics where they are NULL. */
roast_status roast_diagnose_run(const roast_run *run, const roast_metrics *metrics,
                                roast_findings **out, roast_error *err);

roast_status roast_findings_new(roast_findings **out, roast_error *err);
void roast_findings_free(roast_findings *findings);
/* Puts one where it belongs; the texts are copied, a longer one than ROAST_MAX_FINDING_TEXT is cut.
 * ROAST_EINVAL: a kind, severity or number that cannot be. */
roast_status roast_findings_add(roast_findings *findings, const roast_finding *finding,
                                roast_error *err);
/* The worst first: by severity, then by what they would save, then by kind. */
uint32_t roast_findings_count(const roast_findings *findings);
/* Borrowed; NULL beyond the end. */
const roast_finding *roast_findings_at(const roast_findings *findings, uint32_t index);

/* The budget that they were found with, the whole of it; NULL where there was none. Borrowed. */
const roast_budget_row *roast_findings_budget(const roast_findings *findings);
/* Copied, but for its name; NULL: none. */
void roast_findings_set_budget(roast_findings *findings, const roast_budget_row *total);

/* ---- packed: what was found, to be kept beside the run ---- */
/* docs/format/findings.md; versioned and checksummed. */
roast_status roast_findings_encode(const roast_findings *findings, roast_sink *sink,
                                   roast_error *err);
/* Checks everything first: ROAST_ECORRUPT with the byte position, ROAST_EVERSION for a newer version. */
roast_status roast_findings_decode(const void *data, size_t len, roast_findings **out,
                                   roast_error *err);
/* Whether they were made by the rules and thresholds of this very version. */
bool roast_findings_is_current(const roast_findings *findings);

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
