/* A part of a run that packs into bytes, and the Python objects that share it: Attempts and WorkerSeries.
 *
 * A Run reads its parts as long as it lives, without the GIL while it is saved. So a shared part never changes: an
 * object copies its part before it changes it. Counted under the GIL. */
#ifndef ROAST_EXT_PART_H
#define ROAST_EXT_PART_H

#include "state.h"

#include "roast/base.h"
#include "roast/sink.h"

typedef struct ext_part_kind {
    roast_status (*create)(void **out, roast_error *err);
    roast_status (*encode)(const void *part, roast_sink *sink, roast_error *err);
    roast_status (*decode)(const void *data, size_t len, void **out, roast_error *err);
    void (*free)(void *part);
} ext_part_kind;

typedef struct ext_shared {
    void *part;
    const ext_part_kind *kind;
    Py_ssize_t refs;
} ext_shared;

/* Takes ownership of the part, with one reference; NULL with an exception set (the part is freed). */
ext_shared *ext_shared_new(void *part, const ext_part_kind *kind);
/* The same with a copy of the part. */
ext_shared *ext_shared_copy(const void *part, const ext_part_kind *kind);
ext_shared *ext_shared_hold(ext_shared *shared);
/* NULL is fine. */
void ext_shared_let_go(ext_shared *shared);

typedef struct ext_part {
    PyObject_HEAD
    ext_shared *shared;
    PyObject *told; /* a dict with the state of the builders, or NULL */
} ext_part;

static inline void *ext_part_get(PyObject *object) {
    return ((ext_part *)object)->shared->part;
}

/* An object of the type that shares a part. NULL with an exception set. */
PyObject *ext_part_looking_at(PyTypeObject *type, ext_shared *shared);
/* An object of the type that takes ownership of the part; it is freed on failure. */
PyObject *ext_part_owning(PyTypeObject *type, void *part, const ext_part_kind *kind);
/* Call it right before a change: copies a part that others hold. 0 or -1 with an exception set. */
int ext_part_make_own(PyObject *object);
/* Remembers key -> value; takes the reference to value. 0 or -1 with an exception set. */
int ext_part_remember(PyObject *object, PyObject *key, PyObject *value);
/* A list of read(part, i) for all i below count, made while the part is held: making Python objects may run other
 * code. NULL with an exception set. */
PyObject *ext_part_list(PyObject *object, uint64_t (*count)(const void *part),
                        PyObject *(*read)(const void *part, uint64_t index));

/* ---- arguments ---- */
/* The text of a str, borrowed from it; else a TypeError that names `what`. 0 or -1 with an exception set. */
int ext_part_text(PyObject *object, const char *what, roast_str *out);

/* ---- for the tables of the types ---- */
PyObject *ext_part_new(PyTypeObject *type, PyObject *args, PyObject *kwargs,
                       const ext_part_kind *kind);
void ext_part_dealloc(PyObject *object);
PyObject *ext_part_to_bytes(PyObject *object, PyObject *unused);
PyObject *ext_part_from_bytes(PyObject *type, PyObject *data, const ext_part_kind *kind);
PyObject *ext_part_reduce(PyObject *object, PyObject *unused);

#endif
