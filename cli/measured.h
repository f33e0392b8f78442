/* A measurement that a verb reads, ours or of 0.1.x. */
#ifndef ROAST_CLI_MEASURED_H
#define ROAST_CLI_MEASURED_H

#include "roast/diagnose.h"
#include "roast/metrics.h"
#include "roast/run.h"
#include "roast/store.h"

/* What a verb needs; the whole run is read only if it is needed. */
enum { NEED_RUN = 1, NEED_METRICS = 2, NEED_FINDINGS = 4 };

/* Zeroed storage is closed. */
typedef struct measured {
    roast_store *store;     /* NULL: of 0.1.x */
    roast_run *run;         /* all of it, or NULL */
    const roast_run *about; /* what is small of it: clock, texts, notes */
    roast_metrics *metrics;
    roast_findings *findings;
    const char *state; /* what is to be said of it; NULL: it is finished */
} measured;

/* Metrics and findings are those that were saved, where this version computes the same; else they are computed. */
roast_status measured_open(measured *it, const char *path, unsigned needs, roast_error *err);
void measured_close(measured *it);

#endif
