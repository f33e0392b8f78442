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

static roast_status add_finding(const roast_finding *finding, roast_grid *grid, roast_error *err) {
    roast_value saving = roast_value_real(finding->saving_core_seconds);
    if (!(finding->saving_core_seconds > 0))
        saving = roast_value_none();
    const roast_grid_value confidence = {"confidence", roast_value_real(finding->confidence),
                                         "ratio"};
    ROAST_TRY(roast_grid_add_cell(grid, roast_str_of(roast_severity_name(finding->severity)), NULL,
                                  0, err));
    ROAST_TRY(roast_grid_add_cell(grid, finding->title, &confidence, 1, err));
    ROAST_TRY(roast_grid_add_cell(grid, finding->advice, NULL, 0, err));
    return roast_summary_add_value(grid, "saving_core_seconds", saving, "s", err);
}

roast_status roast_summary_fill_findings(const roast_summary_source *source, roast_grid *grid,
                                         roast_error *err) {
    char text[96];
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Severity"), ROAST_ALIGN_RIGHT, err));
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("What"), ROAST_ALIGN_LEFT, err));
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("What to Change"), ROAST_ALIGN_LEFT, err));
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Saves"), ROAST_ALIGN_NUMBER, err));
    if (source->findings == NULL)
        return ROAST_OK;
    uint32_t count = 0, shown = 0;
    for (uint32_t i = 0; i < roast_findings_count(source->findings); i++) {
        const roast_finding *finding = roast_findings_at(source->findings, i);
        if (is_told_elsewhere(finding))
            continue;
        if (count++ >= MOST_FINDINGS)
            continue;
        shown++;
        ROAST_TRY(add_finding(finding, grid, err));
    }
    if (count == 0)
        return ROAST_OK;
    if (shown < count)
        snprintf(text, sizeof text, "%u of %u findings; \"roast diagnose\" shows all, and why",
                 (unsigned)shown, (unsigned)count);
    else
        snprintf(text, sizeof text, "\"roast diagnose\" shows the evidence, and why it matters");
    return roast_grid_set_caption(grid, roast_str_of(text), err);
}

/* ---- the budget ---- */

static roast_status add_part(roast_grid *grid, const char *label, const char *key, double seconds,
                             double available, roast_error *err) {
    roast_value share = roast_value_none();
    if (!isnan(seconds) && available > 0)
        share = roast_value_real(100 * seconds / available);
    ROAST_TRY(roast_grid_add_cell(grid, roast_str_of(label), NULL, 0, err));
    ROAST_TRY(roast_summary_add_value(grid, key, roast_summary_real(seconds), "s", err));
    return roast_summary_add_value(grid, "share_percent", share, "%", err);
}

roast_status roast_summary_fill_budget(const roast_summary_source *source, roast_grid *grid,
                                       roast_error *err) {
    const roast_budget_row *budget =
        source->findings != NULL ? roast_findings_budget(source->findings) : NULL;
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Part"), ROAST_ALIGN_LEFT, err));
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Core Time"), ROAST_ALIGN_NUMBER, err));
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Share"), ROAST_ALIGN_NUMBER, err));
    if (budget == NULL)
        return ROAST_OK;
    ROAST_TRY(add_part(grid, "Available", "available_core_seconds", budget->available,
                       budget->available, err));
    for (int i = 0; i < ROAST_PART_COUNT; i++) {
        roast_budget_part part = (roast_budget_part)i;
        if (budget->parts[part] == 0) /* what did not happen; what is not known is shown */
            continue;
        ROAST_TRY(add_part(grid, roast_budget_part_label(part), roast_budget_part_name(part),
                           budget->parts[part], budget->available, err));
    }
    return ROAST_OK;
}
