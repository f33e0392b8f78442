/* A comparison as a whole: its life, its lists, and the gate. */
#include <stdio.h>
#include <stdlib.h>

#include "analyse/compare/internal.h"

static const char where[] = "comparison";

static roast_status no_memory(roast_status status, roast_error *err) {
    return status == ROAST_OK
               ? ROAST_OK
               : roast_error_set(err, status, where, -1,
                                 status == ROAST_ENOMEM ? "no memory for a comparison of runs"
                                                        : "the chunks of a run cannot be read");
}

/* ---- names ---- */

const char *roast_likelihood_name(roast_likelihood verdict) {
    static const char *const names[] = {"unknown", "chance", "more", "less"};
    return (unsigned)verdict < ROAST_LIKELIHOOD_COUNT ? names[verdict] : "unknown";
}

const char *roast_change_kind_name(roast_change_kind kind) {
    static const char *const names[] = {
#define X(name) #name,
        ROAST_CHANGE_KINDS(X)
#undef X
    };
    return (unsigned)kind < ROAST_CHANGE_KIND_COUNT ? names[kind] : "unknown";
}

const char *roast_finding_change_name(roast_finding_change change) {
    static const char *const names[] = {"new", "gone", "worse"};
    return (unsigned)change < ROAST_FINDING_CHANGES ? names[change] : "unknown";
}

/* ---- life ---- */

roast_status roast_comparison_new(roast_comparison **out, roast_error *err) {
    roast_comparison *comparison = roast_alloc_zero(sizeof *comparison);
    if (comparison == NULL)
        return no_memory(ROAST_ENOMEM, err);
    /* Only the numbers of the names are used. */
    for (int by = 0; by < ROAST_SPLIT_COUNT; by++)
        comparison->names[by] = ROAST_GROUPS(char);
    comparison->sections = comparison->branches = ROAST_GROUPS(char);
    *out = comparison;
    return ROAST_OK;
}

static void free_side(roast_compared_side *side) {
    roast_free(side->chunks);
    roast_free(side->uses);
    roast_free(side->runs);
    roast_free(side->findings);
    roast_free(side->branches);
}

void roast_comparison_free(roast_comparison *comparison) {
    if (comparison == NULL)
        return;
    for (int i = 0; i < ROAST_SIDES; i++)
        free_side(&comparison->sides[i]);
    for (int by = 0; by < ROAST_SPLIT_COUNT; by++)
        roast_groups_reset(&comparison->names[by]);
    roast_groups_reset(&comparison->sections);
    roast_groups_reset(&comparison->branches);
    roast_intern_reset(&comparison->pieces);
    roast_free(comparison->shared);
    roast_free(comparison->figures.items);
    roast_free(comparison->budget.items);
    roast_free(comparison->causes.items);
    roast_free(comparison->conditions);
    roast_free(comparison->findings);
    roast_arena_reset(&comparison->arena);
    roast_free(comparison);
}

roast_status roast_comparison_add(roast_comparison *comparison, unsigned side, roast_str name,
                                  const roast_run *run, const roast_metrics *metrics,
                                  const roast_findings *findings, roast_error *err) {
    if (comparison->finished)
        return roast_error_set(err, ROAST_ESTATE, where, -1, "the comparison has ended");
    if (side >= ROAST_SIDES)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "there is no side %u", side);
    roast_status status = roast_comparison_take_run(comparison, side, name, run, metrics, findings);
    if (status == ROAST_OK)
        status = roast_comparison_take_chunks(comparison, side, roast_run_chunks_view(run));
    return no_memory(status, err);
}

roast_status roast_comparison_add_chunks(roast_comparison *comparison, unsigned side,
                                         const roast_chunklog *log, roast_error *err) {
    if (comparison->finished || side >= ROAST_SIDES || comparison->sides[side].n_runs == 0)
        return roast_error_set(err, ROAST_ESTATE, where, -1, "there is no run to add chunks to");
    return no_memory(roast_comparison_take_chunks(comparison, side, log), err);
}

roast_status roast_comparison_finish(roast_comparison *comparison, roast_error *err) {
    if (comparison->finished)
        return ROAST_OK;
    for (int i = 0; i < ROAST_SIDES; i++)
        if (comparison->sides[i].n_runs == 0)
            return roast_error_set(err, ROAST_ESTATE, where, -1, "side %c has no run", 'A' + i);
    comparison->finished = true;
    roast_status status = roast_comparison_pair(comparison);
    if (status == ROAST_OK)
        status = roast_comparison_find_causes(comparison);
    if (status == ROAST_OK)
        status = roast_comparison_compare_runs(comparison);
    return no_memory(status, err);
}

roast_status roast_changes_add(roast_changes *changes, const roast_change *change) {
    void *items = changes->items;
    ROAST_TRY(roast_array_reserve(&items, &changes->capacity, sizeof *changes->items,
                                  changes->count + 1));
    changes->items = items;
    changes->items[changes->count++] = *change;
    return ROAST_OK;
}

/* ---- lists ---- */

const roast_condition *roast_comparison_conditions(const roast_comparison *comparison,
                                                   uint32_t *count) {
    *count = (uint32_t)comparison->n_conditions;
    return comparison->conditions;
}

bool roast_comparison_is_paired(const roast_comparison *comparison, uint64_t *count) {
    *count = comparison->compared;
    return comparison->paired;
}

static const roast_change *list_of(const roast_changes *changes, uint32_t *count) {
    *count = (uint32_t)changes->count;
    return changes->items;
}

const roast_change *roast_comparison_figures(const roast_comparison *comparison, uint32_t *count) {
    return list_of(&comparison->figures, count);
}

const roast_change *roast_comparison_budget(const roast_comparison *comparison, uint32_t *count) {
    return list_of(&comparison->budget, count);
}

const roast_change *roast_comparison_causes(const roast_comparison *comparison, uint32_t *count) {
    return list_of(&comparison->causes, count);
}

const roast_change *roast_comparison_cost(const roast_comparison *comparison) {
    return &comparison->cost;
}

const roast_changed_finding *roast_comparison_findings(const roast_comparison *comparison,
                                                       uint32_t *count) {
    *count = (uint32_t)comparison->n_findings;
    return comparison->findings;
}

uint32_t roast_comparison_run_count(const roast_comparison *comparison, unsigned side) {
    return side < ROAST_SIDES ? (uint32_t)comparison->sides[side].n_runs : 0;
}

roast_str roast_comparison_run_name(const roast_comparison *comparison, unsigned side,
                                    uint32_t index) {
    return index < roast_comparison_run_count(comparison, side)
               ? comparison->sides[side].runs[index].name
               : (roast_str){NULL, 0};
}
