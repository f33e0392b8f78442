/* The budget and the failures of a run, as Python objects. */
#ifndef ROAST_EXT_BUDGET_H
#define ROAST_EXT_BUDGET_H

#include "run/convert_run.h"

/* {"available_core_seconds": ..., "parts": {...}, ...}, or, split by `by`, {name: such a dict}. None if the
 * available time is not known. `by` may be NULL. */
PyObject *ext_budget_dict(const roast_run *run, PyObject *by);
/* The dict of the whole, from the findings: not computed again where these were saved. */
PyObject *ext_budget_total(run_input *input);
/* [{"worker", "when", "expected", "running", "memory_fraction", "cause"}, ...] */
PyObject *ext_lost_workers(const roast_run *run);
/* [(dataset, file, treename, start, stop), ...]; None where something is not known. */
/* `more`: a list of such tuples, of pieces that failed according to the caller. */
PyObject *ext_failed_pieces(const roast_run *run, PyObject *more);
/* [key, ...] */
PyObject *ext_failed_tasks(const roast_run *run);
/* parse_work_item(text, /): such a tuple, or None. */
PyObject *ext_parse_work_item(PyObject *module, PyObject *text);

#endif
