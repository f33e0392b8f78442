/* The Arrow C data and C stream interfaces, and the export of a table through them.
 *
 * The structs are the published ABI (Apache Arrow, "The Arrow C data interface" and "The Arrow C stream
 * interface"): layout and names must not change. Exported data shares the memory of the columns. A consumer may
 * move the structs, take children out, and release from any thread, without the GIL and after everything else is
 * freed: no callback touches Python. */
#ifndef ROAST_EXT_ARROW_H
#define ROAST_EXT_ARROW_H

#include "common/compat.h"
#include "roast/columns.h"

#include <stdint.h>

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_NULLABLE 2 /* the one that is used here */

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif

/* A capsule "arrow_schema": a struct with one field per column. NULL with an exception set. */
PyObject *ext_arrow_schema(const roast_columns *columns);
/* A capsule "arrow_array_stream" of one record batch. `requested` is None or a capsule "arrow_schema"; the columns
 * keep their own types, as the interface allows, but another number of columns is a ValueError. NULL with an
 * exception set. */
PyObject *ext_arrow_stream(roast_columns *columns, PyObject *requested);

#endif
