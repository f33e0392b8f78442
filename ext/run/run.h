/* Run: see run.c. */
#ifndef ROAST_EXT_RUN_H
#define ROAST_EXT_RUN_H

#include "run/convert_run.h"

/* The run of a Run, borrowed; NULL without an exception: it is another type. */
const roast_run *ext_run_view(ext_state *state, PyObject *object);
/* The same with what was computed from the run. */
run_input *ext_run_input(ext_state *state, PyObject *object);
/* A Run that takes over a whole run, one that was loaded. NULL with an exception set (it is freed). */
PyObject *ext_run_new(ext_state *state, roast_run *run);
/* describe_host() -> {"host": ..., "cores": ...} */
PyObject *ext_describe_host(PyObject *module, PyObject *unused);

/* Adds each of a list of str to the notes. 0, or -1 with an exception set. */
int ext_add_notes(roast_run *run, PyObject *list);

/* time_left(run, first) -> s, or None; see progress.c */
PyObject *ext_time_left(PyObject *module, PyObject *args);

#endif
