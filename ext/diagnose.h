/* The findings of a run, as Python objects. */
#ifndef ROAST_EXT_DIAGNOSE_H
#define ROAST_EXT_DIAGNOSE_H

#include "state.h"

#include "roast/run.h"

/* [{"kind", "severity", "title", "evidence", "advice", "saving_core_seconds", "confidence", "why"}, ...],
 * the worst first. */
PyObject *ext_diagnose(const roast_run *run);

#endif
