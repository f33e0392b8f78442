/* The attribute _roastcoffea_current_chunk of a processor: see current_chunk.c. */
#ifndef ROAST_EXT_CURRENT_CHUNK_H
#define ROAST_EXT_CURRENT_CHUNK_H

#include "worker/open_chunk.h"

/* Sets it for one more open chunk: a new reference, or NULL. Neither raises. */
PyObject *ext_current_chunk_attach(ext_state *state, PyObject *processor);
/* Removes it with the last open chunk. Takes the reference; NULL is fine. */
void ext_current_chunk_detach(ext_state *state, PyObject *processor, PyObject *current);

#endif
