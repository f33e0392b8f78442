/* Run: see run.c. */
#ifndef ROAST_EXT_RUN_H
#define ROAST_EXT_RUN_H

#include "state.h"
#include "roast/run.h"

/* The run behind a Run, borrowed; NULL without an exception: it is something else. */
const roast_run *ext_run_view(ext_state *state, PyObject *object);

#endif
