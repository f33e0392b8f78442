/* The clock of a run, and the clocks of its workers. */
#ifndef ROAST_EXT_CLOCKS_H
#define ROAST_EXT_CLOCKS_H

#include "state.h"

/* now() -> float: seconds since 1970, on the clock of this process */
PyObject *ext_now(PyObject *module, PyObject *unused);
/* hold_clock(): the first one sets the clock of this process; until as many release_clock() it stays */
PyObject *ext_hold_clock(PyObject *module, PyObject *unused);
PyObject *ext_release_clock(PyObject *module, PyObject *unused);
/* shift_clocks(chunks, {worker: seconds that its clock is behind}) -> ChunkLog */
PyObject *ext_shift_clocks(PyObject *module, PyObject *args);
/* name_workers(chunks, attempts) -> ChunkLog */
PyObject *ext_name_workers(PyObject *module, PyObject *args);
/* start_tasks(chunks, attempts) -> ChunkLog */
PyObject *ext_start_tasks(PyObject *module, PyObject *args);
/* batch_jobs(chunks) -> list of str, each once */
PyObject *ext_batch_jobs(PyObject *module, PyObject *args);

#endif
