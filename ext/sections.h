/* track_time, track_memory, track_bytes, BaseInstrumentationContext: see sections.c. */
#ifndef ROAST_EXT_SECTIONS_H
#define ROAST_EXT_SECTIONS_H

#include "state.h"

/* What a type spec cannot say: the fast way to make a section. After the types are made. */
void ext_sections_ready(ext_state *state);
/* Gives back the memory that is kept for sections to come. */
void ext_sections_free_spares(ext_state *state);
/* get_process_memory() -> MB */
PyObject *ext_process_memory(PyObject *module, PyObject *unused);

#endif
