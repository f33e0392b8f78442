/* The tables of findings and of the budget. */
#include <math.h>
#include <stdio.h>

#include "render/summary.h"
#include "roast/format.h"

enum { MOST_FINDINGS = 5 };

/* ---- findings ---- */

/* Notes and the table of data quality already say what was not measured. */
static bool is_told_elsewhere(const roast_finding *finding) {
    return finding->kind == ROAST_FINDING_measurement && finding->severity == ROAST_SEVERITY_note;
}

uint32_t roast_summary_count_findings(const roast_findings *findings) {
    uint32_t count = 0;
    for (uint32_t i = 0; findings != NULL && i < roast_findings_count(findings); i++)
        count += !is_told_elsewhere(roast_findings_at(findings, i));
    return count;
}

static roast_value saving_of(const roast_finding *finding) {
    return finding->saving_core_seconds > 0 ? roast_value_real(finding->saving_core_seconds)
                                            : roast_value_none();
}

static roast_status add_finding(const roast_finding *finding, const roast_format_column *savings,
                                roast_grid *grid, roast_error *err) {
    const roast_grid_value confidence = {"confidence", roast_value_real(finding->confidence),
                                         "ratio"};
    ROAST_TRY(roast_grid_add_cell(grid, roast_str_of(roast_severity_name(finding->severity)), NULL,
                                  0, err));
    ROAST_TRY(roast_grid_add_cell(grid, finding->title, &confidence, 1, err));
    ROAST_TRY(roast_grid_add_cell(grid, finding->advice, NULL, 0, err));
    return roast_summary_add_in_column(grid, "saving_core_seconds", saving_of(finding), savings,
                                       err);
}

static roast_status add_findings(const roast_findings *findings, roast_grid *grid,
                                 roast_error *err) {
    const roast_finding *shown[MOST_FINDINGS];
    uint32_t count = 0;
    roast_format_column savings = {.unit = "s"};
    for (uint32_t i = 0; count < MOST_FINDINGS && i < roast_findings_count(findings); i++)
        if (!is_told_elsewhere(roast_findings_at(findings, i))) {
            shown[count] = roast_findings_at(findings, i);
            roast_format_column_add(&savings, saving_of(shown[count++]));
        }
    for (uint32_t i = 0; i < count; i++)
        ROAST_TRY(add_finding(shown[i], &savings, grid, err));
    return ROAST_OK;
}

roast_status roast_summary_fill_findings(const roast_summary_source *source, roast_grid *grid,
                                         roast_error *err) {
    char text[96];
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Severity"), ROAST_ALIGN_RIGHT, err));
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("What"), ROAST_ALIGN_LEFT, err));
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("What to Change"), ROAST_ALIGN_LEFT, err));
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Saves"), ROAST_ALIGN_NUMBER, err));
    uint32_t count = roast_summary_count_findings(source->findings);
    if (count == 0)
        return ROAST_OK;
    ROAST_TRY(add_findings(source->findings, grid, err));
    if (count > MOST_FINDINGS)
        snprintf(text, sizeof text,
                 "Saves: core time, at most; %u of %u findings, \"roast diagnose\" shows all",
                 (unsigned)MOST_FINDINGS, (unsigned)count);
    else
        snprintf(text, sizeof text,
                 "Saves: core time, at most; \"roast diagnose\" shows the evidence");
    return roast_grid_set_caption(grid, roast_str_of(text), err);
}

/* ---- the budget ---- */

/* Below this share of the available time a part is one of the "other parts" of the short form. */
static const double main_share = 0.01;

static roast_status add_part(roast_grid *grid, const char *label, const char *key, double seconds,
                             const roast_format_column *look, double available, roast_error *err) {
    roast_value share = roast_value_none();
    if (!isnan(seconds) && available > 0)
        share = roast_value_real(100 * seconds / available);
    ROAST_TRY(roast_grid_add_cell(grid, roast_str_of(label), NULL, 0, err));
    ROAST_TRY(roast_summary_add_in_column(grid, key, roast_summary_real(seconds), look, err));
    return roast_summary_add_value(grid, "share_percent", share, "%", err);
}

/* Parts of a smaller share than `least` are added up; with 0, all of them are shown, also those that are not known. */
static roast_status add_parts(const roast_budget_row *budget, double least, roast_grid *grid,
                              roast_error *err) {
    double others = 0;
    roast_format_column look = {.unit = "s"};
    roast_format_column_add(&look, roast_value_real(budget->available));
    for (int i = 0; i < ROAST_PART_COUNT; i++)
        if (fabs(budget->parts[i]) >= least * budget->available)
            roast_format_column_add(&look, roast_summary_real(budget->parts[i]));
        else if (!isnan(budget->parts[i]))
            others += budget->parts[i];
    ROAST_TRY(add_part(grid, "Available", "available_core_seconds", budget->available, &look,
                       budget->available, err));
    for (int i = 0; i < ROAST_PART_COUNT; i++) {
        double seconds = budget->parts[i];
        /* Processing tasks are shown split or as a whole, never both. */
        if (isnan(seconds) && i >= ROAST_PART_before_process && i <= ROAST_PART_processing &&
            (i == ROAST_PART_processing || !isnan(budget->parts[ROAST_PART_processing])))
            continue;
        /* What did not happen is left out; in the full table what is not known is shown. */
        if (seconds != 0 && (least == 0 || fabs(seconds) >= least * budget->available))
            ROAST_TRY(add_part(grid, roast_budget_part_label((roast_budget_part)i),
                               roast_budget_part_name((roast_budget_part)i), seconds, &look,
                               budget->available, err));
    }
    return others != 0
               ? add_part(grid, "Other Parts", "other_parts", others, &look, budget->available, err)
               : ROAST_OK;
}

/* Without records of chunks nobody knows when process() began. */
static roast_status tell_computing(const roast_summary_source *source,
                                   const roast_budget_row *budget, roast_grid *grid,
                                   roast_error *err) {
    roast_value records = roast_metrics_get(source->metrics, "num_successful_chunks");
    if (!(budget->parts[ROAST_PART_compute_cpu] > 0) || records.kind != ROAST_VALUE_NONE)
        return ROAST_OK;
    return roast_grid_set_caption(
        grid, roast_str_of("Computing: with opening files and building events"), err);
}

/* Reading is not all waiting: what is known of its parts. */
static roast_status tell_reading(const roast_budget_row *budget, roast_grid *grid,
                                 roast_error *err) {
    char text[200], cpu[32], others[32], waiting[32];
    if (isnan(budget->read_cpu) || isnan(budget->read_others) ||
        !(budget->parts[ROAST_PART_read] > 0))
        return ROAST_OK;
    roast_format_value(roast_value_real(budget->read_cpu), "s", cpu, sizeof cpu);
    roast_format_value(roast_value_real(budget->read_others), "s", others, sizeof others);
    roast_format_value(roast_value_real(budget->read_wait), "s", waiting, sizeof waiting);
    snprintf(text, sizeof text, "Reading: %s CPU, %s CPU of other threads, %s waiting", cpu, others,
             waiting);
    return roast_grid_set_caption(grid, roast_str_of(text), err);
}

static roast_status fill_budget(const roast_summary_source *source, double least, roast_grid *grid,
                                roast_error *err) {
    const roast_budget_row *budget =
        source->findings != NULL ? roast_findings_budget(source->findings) : NULL;
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Part"), ROAST_ALIGN_LEFT, err));
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Core Time"), ROAST_ALIGN_NUMBER, err));
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Share"), ROAST_ALIGN_NUMBER, err));
    if (budget == NULL)
        return ROAST_OK;
    ROAST_TRY(add_parts(budget, least, grid, err));
    return tell_computing(source, budget, grid, err);
}

roast_status roast_summary_fill_budget(const roast_summary_source *source, roast_grid *grid,
                                       roast_error *err) {
    const roast_budget_row *budget =
        source->findings != NULL ? roast_findings_budget(source->findings) : NULL;
    ROAST_TRY(fill_budget(source, 0, grid, err));
    return budget != NULL ? tell_reading(budget, grid, err) : ROAST_OK;
}

roast_status roast_summary_fill_main_parts(const roast_summary_source *source, roast_grid *grid,
                                           roast_error *err) {
    return fill_budget(source, main_share, grid, err);
}
