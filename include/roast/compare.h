/* Two sides of one or several runs each: what differs, by how much, and whether it is more than chance.
 *
 * Chunks are compared in pairs if both sides have the same pieces of work, and by dataset and event otherwise. A ratio
 * is B over A. Its interval holds the true ratio with 95 %; a ratio whose interval holds 1 may be chance. */
#ifndef ROAST_COMPARE_H
#define ROAST_COMPARE_H

#include "roast/base.h"
#include "roast/budget.h"
#include "roast/diagnose.h"
#include "roast/metrics.h"
#include "roast/run.h"

enum { ROAST_SIDE_A, ROAST_SIDE_B, ROAST_SIDES };

typedef struct roast_comparison roast_comparison;

roast_status roast_comparison_new(roast_comparison **out, roast_error *err);
void roast_comparison_free(roast_comparison *comparison);
/* Adds a run to a side. `metrics` and `findings` must be those of this very run. Nothing is borrowed afterwards.
 * ROAST_ESTATE after the end. */
roast_status roast_comparison_add(roast_comparison *comparison, unsigned side, roast_str name,
                                  const roast_run *run, const roast_metrics *metrics,
                                  const roast_findings *findings, roast_error *err);
/* More chunks of the run that was added last to the side: for a run whose chunks come in several logs. ROAST_ESTATE if
 * there is none, and after the end. */
roast_status roast_comparison_add_chunks(roast_comparison *comparison, unsigned side,
                                         const roast_chunklog *log, roast_error *err);
/* Computes everything below. ROAST_ESTATE if a side has no run. */
roast_status roast_comparison_finish(roast_comparison *comparison, roast_error *err);

/* The runs of a side. */
uint32_t roast_comparison_run_count(const roast_comparison *comparison, unsigned side);
/* Absent beyond the end. */
roast_str roast_comparison_run_name(const roast_comparison *comparison, unsigned side,
                                    uint32_t index);

/* ---- can they be compared? ---- */

/* What differs: "Chunk Size", "5,000", "25,000", and what follows from it, which may be absent. */
typedef struct roast_condition {
    roast_str what, a, b, follows;
} roast_condition;
const roast_condition *roast_comparison_conditions(const roast_comparison *comparison,
                                                   uint32_t *count);
/* Whether chunks are compared in pairs; how many pairs, or chunks of B, there are. */
bool roast_comparison_is_paired(const roast_comparison *comparison, uint64_t *count);

/* ---- changes ---- */

typedef enum roast_likelihood {
    ROAST_LIKELIHOOD_unknown, /* there is no interval */
    ROAST_LIKELIHOOD_chance,  /* the interval holds 1 */
    ROAST_LIKELIHOOD_more,
    ROAST_LIKELIHOOD_less,
    ROAST_LIKELIHOOD_COUNT
} roast_likelihood;
/* "unknown", "chance", "more", "less". */
const char *roast_likelihood_name(roast_likelihood verdict);

/* Where the figures of a change come from. */
#define ROAST_CHANGE_KINDS(X)                                                                      \
    X(metric)  /* of the whole run; with several runs, the mean of a side */                       \
    X(cost)    /* of a chunk: seconds per chunk in pairs, and per event otherwise */               \
    X(part)    /* of the budget, in core-seconds; per event if the sides have other events */      \
    X(dataset) /* from here on: seconds of chunks in B, and what A would have taken for them */    \
    X(file)                                                                                        \
    X(worker)                                                                                      \
    X(host)                                                                                        \
    X(section) /* without the sections inside it */                                                \
    X(branch)  /* reading it */                                                                    \
    X(phase)   /* before process() */
typedef enum roast_change_kind {
#define X(name) ROAST_CHANGE_##name,
    ROAST_CHANGE_KINDS(X)
#undef X
        ROAST_CHANGE_KIND_COUNT
} roast_change_kind;
const char *roast_change_kind_name(roast_change_kind kind);

typedef struct roast_change {
    roast_change_kind kind;
    roast_str name;    /* key of the metric, part, or name of the dataset, ... */
    roast_str label;   /* for people */
    roast_str dataset; /* of a section or phase; absent: of all datasets */
    const char *unit;
    double a, b;             /* NaN: not measured */
    double ratio, low, high; /* NaN: not known */
    double share;            /* of the change of the time of all chunks; NaN: not known */
    roast_likelihood verdict;
    int better; /* 1 if more is better, -1 if less is, 0 if neither */
} roast_change;

/* The lists: figures of the whole, the parts of the budget, and what contributed to the change of the time of all
 * chunks, largest contribution first. */
const roast_change *roast_comparison_figures(const roast_comparison *comparison, uint32_t *count);
const roast_change *roast_comparison_budget(const roast_comparison *comparison, uint32_t *count);
const roast_change *roast_comparison_causes(const roast_comparison *comparison, uint32_t *count);
/* The time of all chunks, before and in process(): the one figure that says whether B is better. */
const roast_change *roast_comparison_cost(const roast_comparison *comparison);

/* ---- findings ---- */

typedef enum roast_finding_change {
    ROAST_FINDING_new, /* only B has it */
    ROAST_FINDING_gone,
    ROAST_FINDING_worse, /* a higher severity, or a saving that is larger by half */
    ROAST_FINDING_CHANGES
} roast_finding_change;
const char *roast_finding_change_name(roast_finding_change change);
typedef struct roast_changed_finding {
    roast_finding_change change;
    roast_finding_kind kind;
    roast_severity severity;
    roast_str title;
    double saving_core_seconds;
} roast_changed_finding;
const roast_changed_finding *roast_comparison_findings(const roast_comparison *comparison,
                                                       uint32_t *count);

/* ---- a gate ---- */

/* Whether a change is not acceptable: "wall_time>5%", "event_rate_core_khz<-3%", "section:selection>10%",
 * "finding:spilling". Without `strict` only changes that are more than chance count; a figure without an interval
 * then does not fail. `why` gets a sentence either way. ROAST_EINVAL: the text is no such condition, or names
 * nothing that was measured. */
#define ROAST_GATE_TEXT 512u
roast_status roast_comparison_gate(const roast_comparison *comparison, roast_str condition,
                                   bool strict, bool *failed, char why[ROAST_GATE_TEXT],
                                   roast_error *err);

#endif
