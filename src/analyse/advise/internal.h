/* Shared by the files of the advice. */
#ifndef ROAST_ANALYSE_ADVISE_INTERNAL_H
#define ROAST_ANALYSE_ADVISE_INTERNAL_H

#include "analyse/diagnose/internal.h"
#include "base/arena.h"
#include "roast/advise.h"

struct roast_advice {
    roast_arena arena; /* of all names and texts */
    roast_advice_item items[ROAST_ADVICE_SETTING_COUNT];
    /* Why the replay cannot tell what the item brings; NULL: it can. */
    const char *untold[ROAST_ADVICE_SETTING_COUNT];
    uint32_t count;
    roast_advice_prediction together;
    roast_advice_executor executor;
    roast_findings *findings;
};

/* ---- names of branches and files ---- */

/* Borrowed from the run. Zeroed storage is empty. */
typedef struct roast_advised_names {
    roast_groups datasets; /* in the order of their first mention */
    struct roast_advised_entry *entries;
    size_t count, capacity;
} roast_advised_names;
void roast_advised_names_reset(roast_advised_names *names);
/* Copies the item's names into the arena, those of a dataset together, else in their order. */
roast_status roast_advised_names_take(roast_advised_names *names, roast_arena *arena,
                                      roast_advice_item *item);

/* The branches to preload: those that were, and were used, and of those that nearly every chunk of the dataset reads
 * all (preload) or the ones that a chunk reads again (reread_branches). */
roast_status roast_advised_branches(const roast_diagnosis *d, roast_finding_kind kind,
                                    roast_advised_names *names);
/* The slow files, or those with the longest chunks (long_tail): the longest first. */
roast_status roast_advised_first_files(const roast_diagnosis *d, roast_finding_kind kind,
                                       roast_advised_names *names);
/* The files that were left out, or the one whose error ended the run (lost_work). */
roast_status roast_advised_bad_files(const roast_diagnosis *d, roast_finding_kind kind,
                                     roast_advised_names *names);

/* ---- predictions ---- */

/* Plays the run with each item, and with all of them. */
roast_status roast_advice_predict(roast_advice *advice, const roast_run *run, roast_error *err);

#endif
