/* Run: see run.c. */
#ifndef ROAST_EXT_RUN_H
#define ROAST_EXT_RUN_H

#include "state.h"
#include "roast/metrics.h"
#include "roast/run.h"

/* The run behind a Run, borrowed; NULL without an exception: it is something else. */
const roast_run *ext_run_view(ext_state *state, PyObject *object);
/* A Run that takes over a whole run, one that was loaded. NULL with an exception set (it is freed). */
PyObject *ext_run_new(ext_state *state, roast_run *run);
/* What was computed from the run when it was saved; the Run owns it from now on. */
void ext_run_take_metrics(PyObject *run, roast_metrics *metrics);
/* describe_host() -> {"host": ..., "cores": ...} */
PyObject *ext_describe_host(PyObject *module, PyObject *unused);

/* Adds each of a list of str to the notes. 0, or -1 with an exception set. */
int ext_add_notes(roast_run *run, PyObject *list);

#endif
