/* What is compared of whole runs: conditions, metrics, budget, findings. */
#include <stdio.h>
#include <stdlib.h>

#include "analyse/compare/internal.h"
#include "metrics/format.h"
#include "roast/format.h"

/* The figures of the whole that are compared: key, label, and whether more is better. */
#define FIGURES(X)                                                                                 \
    X(wall_time, "Wall Time", -1)                                                                  \
    X(total_events, "Events", 0)                                                                   \
    X(num_chunks, "Chunks", 0)                                                                     \
    X(num_failed_chunks, "Failed Chunks", -1)                                                      \
    X(event_rate_wall_khz, "Event Rate", 1)                                                        \
    X(event_rate_core_khz, "Event Rate per Core", 1)                                               \
    X(data_rate_gbps, "Data Rate", 0) /* reading the same bytes again raises it */                 \
    X(useful_rate_gbps, "Useful Data Rate", 1)                                                     \
    X(total_bytes_read_coffea, "Bytes Read", -1)                                                   \
    X(files_accessed_bytes, "Bytes of Branches Used", 0)                                           \
    X(core_efficiency, "Core Efficiency", 1)                                                       \
    X(cpu_efficiency_fine, "CPU Efficiency", 1)                                                    \
    X(avg_workers, "Workers", 0)                                                                   \
    X(total_cores, "Cores", 0)                                                                     \
    X(peak_memory_bytes, "Peak Memory", -1)

/* ---- taking a run ---- */

static roast_status take_conditions(roast_comparison *comparison, const roast_run *run,
                                    roast_compared_run *out) {
    static const char *const keys[] = {
#define X(key, label) #key,
        ROAST_CONDITIONS(X)
#undef X
    };
    for (int i = 0; i < ROAST_CONDITION_COUNT; i++)
        ROAST_TRY(roast_arena_str(&comparison->arena, roast_run_meta(run, roast_str_of(keys[i])),
                                  &out->conditions[i]));
    return ROAST_OK;
}

/* Only the last run of a side stands for its findings: those of earlier ones may be mended. */
static roast_status take_findings(roast_comparison *comparison, roast_compared_side *side,
                                  const roast_findings *findings) {
    void *kept = side->findings;
    uint32_t count = roast_findings_count(findings);
    ROAST_TRY(roast_array_reserve(&kept, &side->findings_capacity, sizeof *side->findings,
                                  (size_t)count + 1));
    side->findings = kept;
    side->n_findings = 0;
    for (uint32_t i = 0; i < count; i++) {
        const roast_finding *from = roast_findings_at(findings, i);
        roast_changed_finding *to = &side->findings[i];
        *to = (roast_changed_finding){.kind = from->kind,
                                      .severity = from->severity,
                                      .saving_core_seconds = from->saving_core_seconds};
        ROAST_TRY(roast_arena_str(&comparison->arena, from->title, &to->title));
        side->n_findings++;
    }
    return ROAST_OK;
}

roast_status roast_comparison_take_run(roast_comparison *comparison, unsigned side, roast_str name,
                                       const roast_run *run, const roast_metrics *metrics,
                                       const roast_findings *findings) {
    roast_compared_side *to = &comparison->sides[side];
    void *runs = to->runs;
    ROAST_TRY(roast_array_reserve(&runs, &to->runs_capacity, sizeof *to->runs, to->n_runs + 1));
    to->runs = runs;
    roast_compared_run *out = &to->runs[to->n_runs];
    *out = (roast_compared_run){0};
    ROAST_TRY(roast_arena_str(&comparison->arena, name, &out->name));
    ROAST_TRY(take_conditions(comparison, run, out));
    out->outcome = roast_end_name(roast_ending_outcome(roast_run_ending_view(run)));
    for (uint32_t i = 0; i < ROAST_M_COUNT; i++)
        out->values[i] = roast_value_number(roast_metrics_at(metrics, i));
    const roast_budget_row *budget = roast_findings_budget(findings);
    out->has_budget = budget != NULL;
    if (budget != NULL)
        out->budget = *budget;
    ROAST_TRY(take_findings(comparison, to, findings));
    to->n_runs++;
    return ROAST_OK;
}

/* ---- conditions ---- */

static roast_status add_condition(roast_comparison *comparison, const char *what, roast_str a,
                                  roast_str b, const char *follows) {
    void *conditions = comparison->conditions;
    ROAST_TRY(roast_array_reserve(&conditions, &comparison->conditions_capacity,
                                  sizeof *comparison->conditions, comparison->n_conditions + 1));
    comparison->conditions = conditions;
    roast_condition *out = &comparison->conditions[comparison->n_conditions];
    *out = (roast_condition){.what = roast_str_of(what)};
    ROAST_TRY(roast_arena_str(&comparison->arena, a, &out->a));
    ROAST_TRY(roast_arena_str(&comparison->arena, b, &out->b));
    if (follows != NULL)
        ROAST_TRY(roast_arena_str(&comparison->arena, roast_str_of(follows), &out->follows));
    comparison->n_conditions++;
    return ROAST_OK;
}

/* The text of a side: that of its first run, and a mark if the others differ. */
static roast_str text_of_side(const roast_compared_side *side, int condition, char *out,
                              size_t size) {
    roast_str text = side->runs[0].conditions[condition];
    for (size_t i = 1; i < side->n_runs; i++)
        if (!roast_str_equal(text, side->runs[i].conditions[condition])) {
            snprintf(out, size, "%.*s, and others", (int)text.len,
                     text.data != NULL ? text.data : "");
            return roast_str_of(out);
        }
    return text;
}

static const char *follows_from(int condition) {
    switch (condition) {
    case ROAST_CONDITION_chunksize:
        return "the chunks are not the same: compared by dataset and event";
    case ROAST_CONDITION_processor:
        return "other code ran: differences may come from what it computes";
    case ROAST_CONDITION_host:
    case ROAST_CONDITION_cores:
        return "another machine: differences may come from it alone";
    case ROAST_CONDITION_executor:
    case ROAST_CONDITION_backend:
        return "what one engine tells, the other may not: see what is missing";
    default:
        return NULL;
    }
}

enum { SHORT_REVISION = 12 };

static roast_status compare_texts(roast_comparison *comparison) {
    static const char *const labels[] = {
#define X(key, label) label,
        ROAST_CONDITIONS(X)
#undef X
    };
    const roast_compared_side *a = &comparison->sides[0], *b = &comparison->sides[1];
    for (int i = 0; i < ROAST_CONDITION_COUNT; i++) {
        char texts[ROAST_SIDES][256];
        roast_str text_a = text_of_side(a, i, texts[0], sizeof texts[0]);
        roast_str text_b = text_of_side(b, i, texts[1], sizeof texts[1]);
        const char *follows =
            i == ROAST_CONDITION_chunksize && comparison->paired ? NULL : follows_from(i);
        if (text_a.data == NULL || text_b.data == NULL || roast_str_equal(text_a, text_b))
            continue;
        if (i == ROAST_CONDITION_git_revision) { /* as git itself shortens it */
            text_a.len = text_a.len < SHORT_REVISION ? text_a.len : SHORT_REVISION;
            text_b.len = text_b.len < SHORT_REVISION ? text_b.len : SHORT_REVISION;
        }
        ROAST_TRY(add_condition(comparison, labels[i], text_a, text_b, follows));
    }
    return ROAST_OK;
}

/* NaN: no run of the side tells it. */
static double mean_of(const roast_compared_side *side, uint32_t metric) {
    double sum = 0, known = 0;
    for (size_t i = 0; i < side->n_runs; i++)
        if (!isnan(side->runs[i].values[metric])) {
            sum += side->runs[i].values[metric];
            known++;
        }
    return known > 0 ? sum / known : NAN;
}

static roast_status compare_numbers(roast_comparison *comparison, uint32_t metric,
                                    const char *label, double least, const char *follows) {
    double a = mean_of(&comparison->sides[0], metric), b = mean_of(&comparison->sides[1], metric);
    char texts[ROAST_SIDES][64];
    if (isnan(a) || isnan(b) || fabs(a - b) <= least * fmax(a, b))
        return ROAST_OK;
    roast_format_value(roast_value_rounded(a), "1", texts[0], sizeof texts[0]);
    roast_format_value(roast_value_rounded(b), "1", texts[1], sizeof texts[1]);
    if (least > 0) { /* a mean over time, which is hardly ever whole */
        roast_format_value(roast_value_real(a), "1", texts[0], sizeof texts[0]);
        roast_format_value(roast_value_real(b), "1", texts[1], sizeof texts[1]);
    }
    return add_condition(comparison, label, roast_str_of(texts[0]), roast_str_of(texts[1]),
                         follows);
}

static roast_status compare_outcomes(roast_comparison *comparison) {
    const char *outcomes[ROAST_SIDES] = {"done", "done"};
    for (int i = 0; i < ROAST_SIDES; i++)
        for (size_t at = 0; at < comparison->sides[i].n_runs; at++) {
            const char *outcome = comparison->sides[i].runs[at].outcome;
            if (outcome != NULL && strcmp(outcome, "done") != 0)
                outcomes[i] = outcome;
        }
    if (strcmp(outcomes[0], "done") == 0 && strcmp(outcomes[1], "done") == 0)
        return ROAST_OK;
    return add_condition(comparison, "Outcome", roast_str_of(outcomes[0]),
                         roast_str_of(outcomes[1]),
                         "a run that did not finish: only chunks that were done are compared, and "
                         "its totals are not those of the whole work");
}

static roast_status compare_datasets(roast_comparison *comparison) {
    uint32_t shared = 0, count = roast_groups_count(&comparison->names[ROAST_BY_dataset]);
    uint32_t numbers[ROAST_SIDES] = {0, 0};
    uint8_t *seen = roast_alloc_zero((size_t)count + 1);
    char texts[ROAST_SIDES][64], follows[160];
    if (seen == NULL)
        return ROAST_ENOMEM;
    for (unsigned i = 0; i < ROAST_SIDES; i++)
        for (size_t at = 0; at < comparison->sides[i].n_chunks; at++) {
            uint32_t id = comparison->sides[i].chunks[at].names[ROAST_BY_dataset];
            if (id != ROAST_NO_GROUP && !(seen[id] & 1u << i)) {
                seen[id] |= (uint8_t)(1u << i);
                numbers[i]++;
            }
        }
    roast_free(seen);
    for (uint32_t id = 0; id < count; id++)
        shared += comparison->shared[id];
    if (shared == count || numbers[0] == 0 || numbers[1] == 0)
        return ROAST_OK;
    for (int i = 0; i < ROAST_SIDES; i++)
        snprintf(texts[i], sizeof texts[i], "%u", numbers[i]);
    snprintf(follows, sizeof follows,
             shared > 0 ? "both have %u of %u datasets: the chunks of only these are compared"
                        : "no dataset is in both: no chunk can be compared",
             shared, count);
    return add_condition(comparison, "Datasets", roast_str_of(texts[0]), roast_str_of(texts[1]),
                         follows);
}

static roast_status compare_conditions(roast_comparison *comparison) {
    ROAST_TRY(compare_outcomes(comparison));
    ROAST_TRY(compare_datasets(comparison));
    ROAST_TRY(compare_numbers(comparison, ROAST_M_total_events, "Events", 0,
                              "totals and the wall time are of different work: compare rates"));
    ROAST_TRY(compare_numbers(comparison, ROAST_M_avg_workers, "Workers", 0.05,
                              "wall time and rates depend on the workers; rates per core do not"));
    return compare_texts(comparison);
}

/* ---- figures of the whole ---- */

static roast_status add_figure(roast_comparison *comparison, uint32_t metric, const char *label,
                               int better) {
    const roast_metric_info *info = roast_catalogue_at(metric);
    double *logs[ROAST_SIDES] = {NULL, NULL};
    size_t counts[ROAST_SIDES] = {0, 0};
    roast_change row = {.kind = ROAST_CHANGE_metric,
                        .name = roast_str_of(info->key),
                        .label = roast_str_of(label),
                        .unit = info->unit,
                        .a = mean_of(&comparison->sides[0], metric),
                        .b = mean_of(&comparison->sides[1], metric),
                        .low = NAN,
                        .high = NAN,
                        .share = NAN,
                        .better = better};
    if (isnan(row.a) && isnan(row.b))
        return ROAST_OK;
    row.ratio = row.a > 0 && !isnan(row.b) ? row.b / row.a : NAN;
    for (int i = 0; i < ROAST_SIDES; i++) {
        const roast_compared_side *side = &comparison->sides[i];
        logs[i] = roast_alloc((side->n_runs + 1) * sizeof **logs);
        for (size_t at = 0; logs[i] != NULL && at < side->n_runs; at++)
            if (side->runs[at].values[metric] > 0)
                logs[i][counts[i]++] = log(side->runs[at].values[metric]);
    }
    bool enough = logs[0] != NULL && logs[1] != NULL;
    if (enough && counts[0] > 1 && counts[1] > 1) {
        roast_interval found =
            roast_welch_interval(logs[0], counts[0], logs[1], counts[1], ROAST_ALPHA);
        row.ratio = exp(found.at);
        row.low = exp(found.low);
        row.high = exp(found.high);
    }
    roast_free(logs[0]);
    roast_free(logs[1]);
    roast_change_judge(&row);
    return enough ? roast_changes_add(&comparison->figures, &row) : ROAST_ENOMEM;
}

/* Means over the chunks that have the cost; per event if chunks are not in pairs. */
static double mean_cost(const roast_comparison *comparison, int side, int cost) {
    const roast_compared_side *from = &comparison->sides[side];
    double sum = 0, number = 0;
    for (size_t i = 0; i < from->n_chunks; i++) {
        const roast_compared_chunk *chunk = &from->chunks[i];
        uint32_t dataset = chunk->names[ROAST_BY_dataset];
        double one = comparison->paired ? 1 : (double)chunk->events;
        if (isnan(chunk->costs[cost]) || !(one > 0) ||
            (dataset != ROAST_NO_GROUP && !comparison->shared[dataset]))
            continue;
        sum += (double)chunk->costs[cost];
        number += one;
    }
    return number > 0 ? sum / number : NAN;
}

static roast_status add_costs(roast_comparison *comparison) {
    static const char *const names[] = {
#define X(name, label) #name,
        ROAST_COSTS(X)
#undef X
    };
    static const char *const labels[] = {
#define X(name, label) label,
        ROAST_COSTS(X)
#undef X
    };
    for (int cost = 0; cost < ROAST_COST_COUNT; cost++) {
        const roast_cost_column columns[ROAST_SIDES] = {{&comparison->sides[0], cost, NULL, 0},
                                                        {&comparison->sides[1], cost, NULL, 0}};
        roast_change row = {.kind = ROAST_CHANGE_cost,
                            .name = roast_str_of(names[cost]),
                            .label = roast_str_of(labels[cost]),
                            .unit = "s",
                            .a = mean_cost(comparison, ROAST_SIDE_A, cost),
                            .b = mean_cost(comparison, ROAST_SIDE_B, cost),
                            .share = NAN,
                            .better = -1};
        if (isnan(row.a) && isnan(row.b))
            continue;
        ROAST_TRY(roast_comparison_ratio(comparison, columns, ROAST_NO_GROUP, ROAST_ALPHA, &row));
        ROAST_TRY(roast_changes_add(&comparison->figures, &row));
    }
    return ROAST_OK;
}

/* ---- budget ---- */

static double mean_part(const roast_compared_side *side, int part) {
    double sum = 0, known = 0;
    for (size_t i = 0; i < side->n_runs; i++) {
        double value = part < 0 ? side->runs[i].budget.available : side->runs[i].budget.parts[part];
        if (side->runs[i].has_budget && !isnan(value)) {
            sum += value;
            known++;
        }
    }
    return known > 0 ? sum / known : NAN;
}

static roast_status compare_budgets(roast_comparison *comparison) {
    const roast_compared_side *a = &comparison->sides[0], *b = &comparison->sides[1];
    double events_a = mean_of(a, ROAST_M_total_events), events_b = mean_of(b, ROAST_M_total_events);
    bool per_event = events_a > 0 && events_b > 0 && events_a != events_b;
    double change = NAN;
    for (int part = -1; part < ROAST_PART_COUNT; part++) {
        roast_change row = {.kind = ROAST_CHANGE_part,
                            .unit = "s",
                            .a = mean_part(a, part) / (per_event ? events_a : 1),
                            .b = mean_part(b, part) / (per_event ? events_b : 1),
                            .low = NAN,
                            .high = NAN,
                            .better = part == ROAST_PART_compute_cpu ? 0 : -1};
        const char *name = part < 0 ? "available" : roast_budget_part_name((roast_budget_part)part);
        const char *label =
            part < 0 ? "Available" : roast_budget_part_label((roast_budget_part)part);
        row.name = roast_str_of(name);
        row.label = roast_str_of(label);
        if (isnan(row.a) && isnan(row.b))
            continue;
        row.ratio = row.a > 0 && !isnan(row.b) ? row.b / row.a : NAN;
        if (part < 0)
            change = row.b - row.a;
        row.share = (row.b - row.a) / change;
        ROAST_TRY(roast_changes_add(&comparison->budget, &row));
    }
    return ROAST_OK;
}

/* ---- findings ---- */

static const roast_changed_finding *same_kind(const roast_compared_side *side,
                                              roast_finding_kind kind) {
    for (size_t i = 0; i < side->n_findings; i++)
        if (side->findings[i].kind == kind)
            return &side->findings[i];
    return NULL;
}

static bool is_worse(const roast_changed_finding *now, const roast_changed_finding *before) {
    return now->severity > before->severity ||
           now->saving_core_seconds > 1.5 * before->saving_core_seconds;
}

static roast_status compare_findings(roast_comparison *comparison) {
    const roast_compared_side *a = &comparison->sides[0], *b = &comparison->sides[1];
    void *findings = comparison->findings;
    ROAST_TRY(roast_array_reserve(&findings, &comparison->findings_capacity,
                                  sizeof *comparison->findings, a->n_findings + b->n_findings + 1));
    comparison->findings = findings;
    for (size_t i = 0; i < b->n_findings; i++) {
        const roast_changed_finding *before = same_kind(a, b->findings[i].kind);
        if (before != NULL && !is_worse(&b->findings[i], before))
            continue;
        roast_changed_finding *out = &comparison->findings[comparison->n_findings++];
        *out = b->findings[i];
        out->change = before == NULL ? ROAST_FINDING_new : ROAST_FINDING_worse;
    }
    for (size_t i = 0; i < a->n_findings; i++)
        if (same_kind(b, a->findings[i].kind) == NULL) {
            roast_changed_finding *out = &comparison->findings[comparison->n_findings++];
            *out = a->findings[i];
            out->change = ROAST_FINDING_gone;
        }
    return ROAST_OK;
}

roast_status roast_comparison_compare_runs(roast_comparison *comparison) {
    ROAST_TRY(compare_conditions(comparison));
    ROAST_TRY(add_costs(comparison));
#define X(key, label, better) ROAST_TRY(add_figure(comparison, ROAST_M_##key, label, better));
    FIGURES(X)
#undef X
    ROAST_TRY(compare_budgets(comparison));
    return compare_findings(comparison);
}
