#include "records/part.h"

#include "common/values.h"
#include "common/errors.h"

/* ---- shared parts ---- */

ext_shared *ext_shared_new(void *part, const ext_part_kind *kind) {
    ext_shared *shared = roast_alloc(sizeof *shared);
    if (shared == NULL) {
        kind->free(part);
        PyErr_NoMemory();
        return NULL;
    }
    *shared = (ext_shared){part, kind, 1};
    return shared;
}

ext_shared *ext_shared_hold(ext_shared *shared) {
    shared->refs++;
    return shared;
}

void ext_shared_let_go(ext_shared *shared) {
    if (shared == NULL || --shared->refs > 0)
        return;
    shared->kind->free(shared->part);
    roast_free(shared);
}

/* ---- objects ---- */

PyObject *ext_part_looking_at(PyTypeObject *type, ext_shared *shared) {
    ext_part *self = (ext_part *)type->tp_alloc(type, 0);
    if (self != NULL)
        self->shared = ext_shared_hold(shared);
    return (PyObject *)self;
}

PyObject *ext_part_owning(PyTypeObject *type, void *part, const ext_part_kind *kind) {
    ext_shared *shared = ext_shared_new(part, kind);
    PyObject *self = shared != NULL ? ext_part_looking_at(type, shared) : NULL;
    ext_shared_let_go(shared);
    return self;
}

PyObject *ext_part_new(PyTypeObject *type, PyObject *args, PyObject *kwargs,
                       const ext_part_kind *kind) {
    static char *keywords[] = {NULL};
    void *part = NULL;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "", keywords))
        return NULL;
    return kind->create(&part, &err) == ROAST_OK ? ext_part_owning(type, part, kind)
                                                 : ext_raise(&err);
}

void ext_part_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    ext_shared_let_go(((ext_part *)object)->shared);
    Py_XDECREF(((ext_part *)object)->told);
    type->tp_free(object);
    Py_DECREF(type);
}

int ext_part_remember(PyObject *object, PyObject *key, PyObject *value) {
    ext_part *self = (ext_part *)object;
    if (value != NULL && self->told == NULL)
        self->told = PyDict_New();
    int result = value != NULL && self->told != NULL ? PyDict_SetItem(self->told, key, value) : -1;
    Py_XDECREF(value);
    return result;
}

PyObject *ext_part_list(PyObject *object, uint64_t (*count)(const void *part),
                        PyObject *(*read)(const void *part, uint64_t index)) {
    ext_shared *shared = ext_shared_hold(((ext_part *)object)->shared);
    PyObject *list = PyList_New(0);
    for (uint64_t i = 0; list != NULL && i < count(shared->part); i++) {
        PyObject *item = read(shared->part, i);
        if (item == NULL || PyList_Append(list, item) != 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    ext_shared_let_go(shared);
    return list;
}

int ext_part_text(PyObject *object, const char *what, roast_str *out) {
    Py_ssize_t len = 0;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: a str is expected, not %s", what,
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    out->data = PyUnicode_AsUTF8AndSize(object, &len);
    out->len = (size_t)len;
    return out->data != NULL ? 0 : -1;
}

/* ---- bytes ---- */

/* The packed form. NULL with an exception set. */
static roast_sink *pack(const void *part, const ext_part_kind *kind) {
    roast_sink *sink = NULL;
    roast_error err;
    if (roast_sink_new_memory(&sink, &err) == ROAST_OK &&
        kind->encode(part, sink, &err) == ROAST_OK)
        return sink;
    roast_sink_free(sink);
    return (roast_sink *)ext_raise(&err);
}

ext_shared *ext_shared_copy(const void *part, const ext_part_kind *kind) {
    void *copy = NULL;
    roast_error err;
    roast_sink *sink = pack(part, kind);
    if (sink == NULL)
        return NULL;
    roast_str bytes = roast_sink_memory(sink);
    roast_status status = kind->decode(bytes.data, bytes.len, &copy, &err);
    roast_sink_free(sink);
    return status == ROAST_OK ? ext_shared_new(copy, kind) : (ext_shared *)ext_raise(&err);
}

int ext_part_make_own(PyObject *object) {
    ext_part *self = (ext_part *)object;
    if (self->shared->refs == 1)
        return 0;
    ext_shared *copy = ext_shared_copy(self->shared->part, self->shared->kind);
    if (copy == NULL)
        return -1;
    ext_shared_let_go(self->shared);
    self->shared = copy;
    return 0;
}

PyObject *ext_part_to_bytes(PyObject *object, PyObject *unused) {
    (void)unused;
    const ext_shared *shared = ((ext_part *)object)->shared;
    roast_sink *sink = pack(shared->part, shared->kind);
    return sink != NULL ? ext_sink_bytes(sink) : NULL;
}

PyObject *ext_part_from_bytes(PyObject *type, PyObject *data, const ext_part_kind *kind) {
    Py_buffer view;
    void *part = NULL;
    roast_error err;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0)
        return NULL;
    roast_status status = kind->decode(view.buf, (size_t)view.len, &part, &err);
    PyBuffer_Release(&view);
    return status == ROAST_OK ? ext_part_owning((PyTypeObject *)type, part, kind) : ext_raise(&err);
}

PyObject *ext_part_reduce(PyObject *object, PyObject *unused) {
    PyObject *data = ext_part_to_bytes(object, unused);
    PyObject *unpack =
        data != NULL ? PyObject_GetAttrString((PyObject *)Py_TYPE(object), "from_bytes") : NULL;
    if (unpack == NULL) {
        Py_XDECREF(data);
        return NULL;
    }
    return Py_BuildValue("(N(N))", unpack, data);
}
