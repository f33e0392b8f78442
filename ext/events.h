/* What can be learned from the events that Coffea hands over, and from the task that runs.
 *
 * Any of it may be missing. Nothing here raises: what could not be read is left out, and a surprise is
 * counted as a fault. */
#ifndef ROAST_EXT_EVENTS_H
#define ROAST_EXT_EVENTS_H

#include "state.h"
#include "roast/chunklog.h"

/* What must live until the chunk is in the log: the objects that its strings point into, and what stands
 * on the events while process() runs. Zeroed it is ready. */
typedef struct ext_holder {
    PyObject *object[16];
    int count;
    roast_str *branches;
    Py_ssize_t accessed_before; /* entries of the access log when process() began */
    PyObject *reader;
} ext_holder;
void ext_holder_release(ext_holder *holder);
/* Takes the reference and lends its text; the absent string if it is no str (or `object` is NULL). */
roast_str ext_hold_text(ext_holder *holder, PyObject *object);

/* Bytes requested so far from the file behind the events. */
bool ext_events_bytes_read(ext_state *state, PyObject *events, int64_t *out);

/* Before process(): task start, task key, worker, bytes that were read to get here. From now on the reads
 * are noted. */
void ext_events_before(ext_state *state, PyObject *events, roast_utc now, ext_holder *holder,
                       roast_chunk *out);
/* After process(): size, dataset, file, entries, bytes, branches, reads. */
void ext_events_after(ext_state *state, PyObject *events, ext_holder *holder, roast_chunk *out);
/* Adds the sizes of the chunk's file to its log, the first time that this process tells the run of it. */
void ext_events_put_file(ext_state *state, PyObject *processor, const roast_chunk *chunk,
                         roast_chunklog *log);

#endif
