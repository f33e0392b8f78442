/* What process() reads, column by column.
 *
 * Coffea materialises a column by mapping.extract_column(). For the time of process() a ColumnReader stands
 * under that name on the very mapping of the chunk: it calls the method behind it, and notes how long that
 * took and how many bytes were requested. Arguments, result and exception pass unchanged. */
#ifndef ROAST_EXT_READS_H
#define ROAST_EXT_READS_H

#include "state.h"
#include "roast/chunklog.h"

/* Puts a reader onto the mapping. NULL: it takes none, or has no such method. source, which counts the
 * requested bytes, may be NULL. Never raises. */
PyObject *ext_reads_attach(ext_state *state, PyObject *mapping, PyObject *source);
/* Takes it off. From now on it passes calls through and notes nothing. Never raises. */
void ext_reads_detach(PyObject *reader);
/* What it has noted, for a chunk that may borrow it as long as the reader lives. */
void ext_reads_put(PyObject *reader, roast_chunk *out);

#endif
