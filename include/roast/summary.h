/* The summary of a run: the tables that "roast show" and print_summary() show.
 *
 * It is made from the metrics, the findings, and the texts and notes of the run. It reads no chunk. */
#ifndef ROAST_SUMMARY_H
#define ROAST_SUMMARY_H

#include "roast/base.h"
#include "roast/budget.h"
#include "roast/diagnose.h"
#include "roast/grid.h"
#include "roast/metrics.h"
#include "roast/run.h"
#include "roast/sink.h"

/* The lines above everything that shows a run; each is empty if there is nothing to say. */
#define ROAST_HEADLINE 1024u
typedef struct roast_headline {
    char outcome[ROAST_HEADLINE]; /* "Failed: 19 of 40 chunks done; OSError: ..." */
    char warning[ROAST_HEADLINE]; /* "Warning: events of 2 files are missing in the result: ..." */
} roast_headline;
/* `run` may be NULL. */
void roast_headline_init(roast_headline *headline, const roast_run *run);
/* Draws the lines that are not empty, wrapped to `width` columns, and a blank line below them. */
void roast_headline_draw(const roast_headline *headline, unsigned width, roast_sink *sink);

typedef struct roast_summary roast_summary;

/* `about` is the run whose texts (roast_run_meta) and notes are shown, or NULL. Without findings (NULL) the tables
 * "findings" and "budget" are empty. Nothing of the three is needed afterwards. */
roast_status roast_summary_new(const roast_metrics *metrics, const roast_run *about,
                               const roast_findings *findings, roast_summary **out,
                               roast_error *err);
void roast_summary_free(roast_summary *summary);

/* All tables in their order. Those without content (roast_grid_has_content) are among them, but are not drawn. */
uint32_t roast_summary_count(const roast_summary *summary);
const roast_grid *roast_summary_at(const roast_summary *summary, uint32_t index);

/* Whether a table is one of the full form: it has content, and is not the one of the 200 Gbps challenge of a run that
 * is further away from that than a factor of 1,000. */
bool roast_summary_shows(const roast_summary *summary, uint32_t index);
/* The facts of the short form. Borrowed. */
const roast_grid *roast_summary_overview(const roast_summary *summary);
/* The facts that a report shows in large print, as labels and values: wall time, outcome, event rate, data rate,
 * efficiency, peak memory. Borrowed. */
const roast_grid *roast_summary_cards(const roast_summary *summary);

const roast_headline *roast_summary_headline(const roast_summary *summary);

/* Adds a note below the tables, unless the same note is there already. */
roast_status roast_summary_add_note(roast_summary *summary, roast_str note, roast_error *err);
uint32_t roast_summary_note_count(const roast_summary *summary);
roast_str roast_summary_note(const roast_summary *summary, uint32_t index);

/* Draws the headline and one screen: overview, the first findings, the main parts of the budget, how to see more.
 * `full`: the headline, the tables that are shown, with a blank line between two, then the notes. */
void roast_summary_draw(const roast_summary *summary, bool full, unsigned width, bool color,
                        roast_sink *sink);
/* Draws the table of that id as it looks among the others, also one that is not shown. false: there is none. */
bool roast_summary_draw_table(const roast_summary *summary, const char *id, unsigned width,
                              bool color, roast_sink *sink);
/* The same as JSON: {"headline": "...", "tables": [...], "metrics": {...}, "notes": [...]}. */
void roast_summary_json(const roast_summary *summary, roast_sink *sink);

/* The budget split into rows, as a table: the core time of each, the parts with the most of it, and the rest; the 20 rows
 * with the most core time. The grid is the caller's. */
roast_status roast_budget_grid(const roast_budget *budget, roast_budget_split split,
                               roast_grid **out, roast_error *err);

#endif
