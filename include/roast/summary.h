/* The summary of a run: the tables that "roast show" and print_summary() show, made once.
 *
 * Everything in it comes from the metrics and, where there is a run, from its texts and notes: no
 * chunk is looked at. */
#ifndef ROAST_SUMMARY_H
#define ROAST_SUMMARY_H

#include "roast/base.h"
#include "roast/diagnose.h"
#include "roast/grid.h"
#include "roast/metrics.h"
#include "roast/run.h"
#include "roast/sink.h"

typedef struct roast_summary roast_summary;

/* `about` is the run whose texts (roast_run_meta) and notes are shown, or NULL; neither it nor the
 * metrics is needed afterwards. */
roast_status roast_summary_new(const roast_metrics *metrics, const roast_run *about,
                               roast_summary **out, roast_error *err);
/* Fills the tables "findings" and "budget", which are empty without it. What was found is copied. */
roast_status roast_summary_explain(roast_summary *summary, const roast_findings *findings,
                                   roast_error *err);
void roast_summary_free(roast_summary *summary);

/* All tables in their order, those without content too (roast_grid_has_content): they are not drawn. */
uint32_t roast_summary_count(const roast_summary *summary);
const roast_grid *roast_summary_at(const roast_summary *summary, uint32_t index);
/* NULL if there is none. */
const roast_grid *roast_summary_find(const roast_summary *summary, const char *id);

/* A note below the tables; one that is there already is not added again. */
roast_status roast_summary_add_note(roast_summary *summary, roast_str note, roast_error *err);
uint32_t roast_summary_note_count(const roast_summary *summary);
roast_str roast_summary_note(const roast_summary *summary, uint32_t index);

/* What the tables that are drawn have in common at this width. */
roast_grid_frame roast_summary_frame(const roast_summary *summary, unsigned width);
/* All of it as text: tables with content, a blank line between two, then the notes. */
void roast_summary_draw(const roast_summary *summary, unsigned width, bool color, roast_sink *sink);
/* All of it as JSON: {"tables": [...], "metrics": {...}, "notes": [...]}. */
void roast_summary_json(const roast_summary *summary, roast_sink *sink);

#endif
