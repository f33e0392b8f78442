/* A list of (name, Run). */
#ifndef ROAST_EXT_NAMED_RUNS_H
#define ROAST_EXT_NAMED_RUNS_H

#include "run/run.h"

/* Calls `take` for each; it returns 0, or -1 with an exception set. A TypeError if the list holds anything else. 0, or
 * -1 with an exception set. */
int ext_each_named_run(ext_state *state, PyObject *runs,
                       int (*take)(void *context, roast_str name, run_input *input), void *context);

#endif
