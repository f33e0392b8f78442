/* ChunkLog, the list of chunks in a processor's output, and its items. */
#ifndef ROAST_EXT_CHUNK_LOG_H
#define ROAST_EXT_CHUNK_LOG_H

#include "state.h"
#include "roast/chunklog.h"
#include "roast/keys.h"

/* A packed log, shared: by ChunkLogs that are copies of each other (until one of them changes) and by
 * the items that were taken out of it. Counted under the GIL. */
typedef struct log_core {
    roast_chunklog *log;
    Py_ssize_t refs; /* everybody */
    Py_ssize_t
        owners; /* ChunkLogs and holders: with more than one, a change needs a copy of its own */
} log_core;
/* Takes ownership of the log, with one reference and no owner; NULL with an exception set (the log is freed). */
log_core *log_core_new(roast_chunklog *log);
void log_core_release(log_core *core);
/* While it is held, its log does not change: making a Python object may run user code, which may add to the
 * ChunkLog. let_go(NULL) is fine. */
log_core *log_core_hold(log_core *core);
void log_core_let_go(log_core *core);

typedef struct record_object {
    PyObject_HEAD
    log_core *core;
    uint64_t index;
    PyObject *overlay; /* dict of values that the user stored in the item later, or NULL */
} record_object;

/* An item of a log. NULL with an exception set. */
PyObject *ext_record_new(ext_state *state, log_core *core, uint64_t index);
/* Appends an item (a record, or any mapping) to a log. 0 or -1 with an exception set. */
int ext_append_item(ext_state *state, roast_chunklog *log, PyObject *item);
/* A plain dict of everything. NULL with an exception set. */
PyObject *ext_record_dict(ext_state *state, record_object *record);

/* A ChunkLog that takes ownership of `log`. NULL with an exception set (the log is freed). */
PyObject *ext_chunk_log_new(ext_state *state, roast_chunklog *log);
/* One that shares a packed log, and copies it before it changes it. */
PyObject *ext_chunk_log_of(ext_state *state, log_core *core);
/* The packed log of any sequence of chunks: a ChunkLog's own or a new one; held until the caller releases it. NULL
 * with an exception set. */
log_core *ext_packed_view(ext_state *state, PyObject *chunks);
/* Adds one log to a ChunkLog in place. 0 or -1 with an exception set. */
int ext_chunk_log_merge(ext_state *state, PyObject *chunk_log, const roast_chunklog *from);

/* ---- record_values.c ---- */
enum { EXT_KEY_ABSENT = -1 };
/* The number of keys, and the name of a key. */
int ext_record_key_count(void);
const char *ext_record_key_name(int key);
/* How the library makes the value of a key; NULL for a list, a mapping or a text that is put together. */
const roast_key *ext_record_plain_key(int key);
/* Which key it is; EXT_KEY_ABSENT: none of ours. */
int ext_record_key_of(PyObject *name);
/* The value of a key; *absent is set (and NULL returned, no exception) where this chunk has none. */
PyObject *ext_record_key_value(ext_state *state, const roast_chunklog *log, uint64_t index,
                               const roast_chunk *chunk, int key, bool *absent);
/* dict of the user's values in the chunk. */
PyObject *ext_record_customs(ext_state *state, const roast_chunklog *log, const roast_chunk *chunk,
                             roast_custom_scope scope);

/* The sizes of a file: the file_metadata of a chunk. NULL with an exception set. */
PyObject *ext_file_dict(const roast_chunklog *log, const roast_file *file);

/* ---- record_parse.c ---- */
/* Appends a plain mapping with the keys of a chunk; others are kept as custom values. `identity` is the
 * record that the mapping was made from, or NULL. */
int ext_append_mapping(ext_state *state, roast_chunklog *log, PyObject *mapping,
                       const roast_chunk *identity);

#endif
