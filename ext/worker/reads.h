/* Records the reads of process(), column by column.
 *
 * Coffea reads a column by mapping.extract_column(). While process() runs, a ColumnReader replaces that method on
 * the mapping of the chunk. The reader calls the method, and notes how long the call took and how many bytes were
 * requested. Arguments, result and exception pass unchanged. */
#ifndef ROAST_EXT_READS_H
#define ROAST_EXT_READS_H

#include "state.h"
#include "roast/chunklog.h"

/* Puts a reader onto the mapping. NULL: it takes none, or has no such method. source, which counts the
 * requested bytes, may be NULL. Never raises. */
PyObject *ext_reads_attach(ext_state *state, PyObject *mapping, PyObject *source);
/* Takes it off. From now on it passes calls through and notes nothing. Never raises. */
void ext_reads_detach(PyObject *reader);
/* Puts the notes into a chunk; they are valid as long as the reader lives. */
void ext_reads_put(PyObject *reader, roast_chunk *out);

#endif
