/* How a run ended, between Python and the engine. */
#ifndef ROAST_EXT_ENDING_H
#define ROAST_EXT_ENDING_H

#include "common/compat.h"
#include "roast/run.h"

/* Takes the mapping of Run(ending=...); NULL or None: nothing. 0, or -1 with an exception set: TypeError or ValueError
 * that names the entry. */
int ext_take_ending(roast_run *run, PyObject *ending);
/* The same mapping of a run, without what is not known; None if nobody saw it end. */
PyObject *ext_ending_dict(const roast_run *run);

#endif
