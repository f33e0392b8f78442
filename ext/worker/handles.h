/* Splits what was requested through a file handle among the chunks that it serves.
 *
 * uproot counts requests on the handle, from the moment when it was opened. A Runner opens the file for each chunk; a
 * loop over one open file makes several chunks. What was requested before the first of them, opening the file
 * included, belongs to the first; what was requested after a chunk belongs to the next one. */
#ifndef ROAST_EXT_HANDLES_H
#define ROAST_EXT_HANDLES_H

#include "state.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ext_requests {
    int64_t bytes, count; /* -1: not known */
} ext_requests;

struct ext_file_handle;

/* One chunk of a handle. Zeroed it is ready, and nothing was begun. */
typedef struct ext_handle_use {
    struct ext_file_handle *handle; /* NULL: not begun, or one that cannot be watched */
    uint64_t overlaps;
    ext_requests before, first;
} ext_handle_use;

/* The requests so far. `source` may be NULL. */
ext_requests ext_requests_of(ext_state *state, PyObject *source);
/* Begins a chunk; `now` is what ext_requests_of() has told. Returns the requests before process() that belong to it. No
 * reference to the source is kept. */
ext_requests ext_handle_begin(ext_handle_use *use, PyObject *source, ext_requests now);
/* Ends it. Returns all requests of the chunk: not known if chunks of other threads requested through the same handle
 * meanwhile. */
ext_requests ext_handle_end(ext_handle_use *use, PyObject *source, ext_requests now);
/* Ends one that may not have been ended. */
void ext_handle_drop(ext_handle_use *use);

#endif
