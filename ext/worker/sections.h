/* track_time, track_memory, track_bytes and record_metric(): see sections.c. */
#ifndef ROAST_EXT_SECTIONS_H
#define ROAST_EXT_SECTIONS_H

#include "state.h"

/* Sets the fast constructor of sections, which a type spec cannot contain. Called after the types are made. */
void ext_sections_ready(ext_state *state);
/* record_metric(processor, name, value): a value of the user's own, into the chunk that this thread processes. A fault
 * is counted. */
PyObject *ext_record_metric(PyObject *module, PyObject *args);
/* get_process_memory() -> MB */
PyObject *ext_process_memory(PyObject *module, PyObject *unused);

#endif
