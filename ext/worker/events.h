/* Reads facts from Coffea's events, and from the running task.
 *
 * Any of them may be missing. Nothing here raises: facts that could not be read are left out, and unexpected
 * failures are counted as faults. */
#ifndef ROAST_EXT_EVENTS_H
#define ROAST_EXT_EVENTS_H

#include "state.h"
#include "worker/handles.h"
#include "roast/chunklog.h"

/* Objects that must live until the chunk is in the log: those that its strings point into, and the reader on the
 * events while process() runs. Zeroed it is ready. */
typedef struct ext_holder {
    PyObject *object[16];
    int count;
    roast_str *branches;
    Py_ssize_t accessed_before; /* entries of the access log when process() began */
    PyObject *reader;
    ext_handle_use handle;
    PyObject *about_file; /* sizes of the file to be recorded; NULL or None: nothing */
} ext_holder;
void ext_holder_release(ext_holder *holder);
/* Takes the reference. The text of the object, valid as long as the holder; the absent string if it is no str (or
 * `object` is NULL). */
roast_str ext_hold_text(ext_holder *holder, PyObject *object);

/* Bytes requested so far from the file behind the events. */
bool ext_events_bytes_read(ext_state *state, PyObject *events, int64_t *out);

/* Before process(): task start, task key, worker, bytes that were read to get here. From now on the reads
 * are noted. */
void ext_events_before(ext_state *state, PyObject *events, roast_utc now, ext_holder *holder,
                       roast_chunk *out);
/* After process(): size, dataset, file, entries, bytes, branches, reads. `topic` names the run, and may be NULL. */
void ext_events_after(ext_state *state, PyObject *events, PyObject *topic, ext_holder *holder,
                      roast_chunk *out);
/* Adds the sizes of the chunk's file to its log, once per process and run. */
void ext_events_put_file(const ext_holder *holder, const roast_chunk *chunk, roast_chunklog *log);

#endif
