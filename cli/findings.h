/* The findings of a measurement. */
#ifndef ROAST_CLI_FINDINGS_H
#define ROAST_CLI_FINDINGS_H

#include "roast/diagnose.h"
#include "roast/store.h"

/* As they were saved; *out is NULL where they were not, or were found by other rules than ours: then all of
 * the run is needed. */
roast_status findings_saved(roast_store *store, roast_findings **out, roast_error *err);

#endif
