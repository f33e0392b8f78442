/* CurrentChunk: what processor._roastcoffea_current_chunk is while process() runs.
 *
 * The attribute belongs to the processor, which several threads may share; so this object represents "the chunk
 * that the calling thread has open" and delegates to the dict of that chunk. In a thread without an open chunk it is an
 * empty mapping that ignores changes; the chunk of another thread counts them. */
#include "worker/current_chunk.h"

#include "common/quiet.h"

typedef struct current_object {
    PyObject_HEAD
    PyObject *processor; /* only compared; NULL: none of its calls goes on any more */
    Py_ssize_t users;    /* calls of process(), over all threads */
} current_object;

/* The dict of the calling thread's chunk; a new reference. */
static PyObject *resolve(PyObject *op) {
    ext_state *state = ext_state_of_final(Py_TYPE(op));
    PyObject *processor = ((current_object *)op)->processor;
    open_chunk *chunk = processor != NULL ? open_chunk_here() : NULL;
    if (chunk == NULL)
        return PyDict_New();
    return Py_XNewRef(open_chunk_mapping(state, chunk));
}

PyObject *ext_current_chunk_attach(ext_state *state, PyObject *processor) {
    PyObject *there = ext_own_attr(processor, state->str_current_chunk);
    if (there != NULL && Py_TYPE(there) == state->type_current_chunk &&
        ((current_object *)there)->processor == processor) {
        ((current_object *)there)->users++;
        return there;
    }
    Py_XDECREF(there);
    current_object *current = PyObject_New(current_object, state->type_current_chunk);
    if (current == NULL) {
        ext_count_fault("no memory for the current chunk", NULL);
        return NULL;
    }
    current->processor = processor;
    current->users = 1;
    /* A processor that refuses attributes (slots, frozen): sections still work, by thread. */
    if (PyObject_SetAttr(processor, state->str_current_chunk, (PyObject *)current) != 0)
        ext_pass_over("the current chunk could not be put onto the processor");
    return (PyObject *)current;
}

void ext_current_chunk_detach(ext_state *state, PyObject *processor, PyObject *op) {
    current_object *current = (current_object *)op;
    if (current != NULL && --current->users == 0) {
        current->processor = NULL;
        PyObject *there = ext_own_attr(processor, state->str_current_chunk);
        /* Somebody may have put something else there meanwhile: that stays. */
        if (there == op && PyObject_SetAttr(processor, state->str_current_chunk, NULL) != 0)
            ext_pass_over("the current chunk could not be taken off the processor");
        Py_XDECREF(there);
    }
    Py_XDECREF(op);
}

/* The body of a slot that asks the dict of the calling thread's chunk. */
#define ASK_DICT(type, failed, call)                                                               \
    PyObject *dict = resolve(op);                                                                  \
    type answer = dict != NULL ? (call) : (failed);                                                \
    Py_XDECREF(dict);                                                                              \
    return answer;

static Py_ssize_t current_length(PyObject *op) {
    ASK_DICT(Py_ssize_t, -1, PyDict_Size(dict))
}

static PyObject *current_get(PyObject *op, PyObject *key) {
    ASK_DICT(PyObject *, NULL, PyObject_GetItem(dict, key))
}

static int current_set(PyObject *op, PyObject *key, PyObject *value) {
    if (open_chunk_here() == NULL)
        open_chunk_miss(((current_object *)op)->processor);
    ASK_DICT(int, -1, value != NULL ? PyDict_SetItem(dict, key, value) : PyDict_DelItem(dict, key))
}

static int current_contains(PyObject *op, PyObject *key) {
    ASK_DICT(int, -1, PyDict_Contains(dict, key))
}

static PyObject *current_iter(PyObject *op) {
    ASK_DICT(PyObject *, NULL, PyObject_GetIter(dict))
}

static PyObject *current_repr(PyObject *op) {
    ASK_DICT(PyObject *, NULL, PyObject_Repr(dict))
}

static PyObject *current_compare(PyObject *op, PyObject *other, int operation) {
    if (operation != Py_EQ && operation != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *mine = resolve(op), *theirs = NULL, *result = NULL;
    if (mine != NULL && Py_TYPE(other) == Py_TYPE(op))
        theirs = resolve(other);
    else
        theirs = Py_NewRef(other);
    if (mine != NULL && theirs != NULL)
        result = PyObject_RichCompare(mine, theirs, operation);
    Py_XDECREF(mine);
    Py_XDECREF(theirs);
    return result;
}

/* keys, items, get, update, setdefault, pop, ...: the dict's own. */
static PyObject *current_getattr(PyObject *op, PyObject *name) {
    PyObject *own = PyObject_GenericGetAttr(op, name);
    if (own != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return own;
    PyErr_Clear(); /* the AttributeError */
    ASK_DICT(PyObject *, NULL, PyObject_GetAttr(dict, name))
}

/* A copy of the processor (or its pickle) gets a snapshot: a plain dict. */
static PyObject *current_reduce(PyObject *op, PyObject *unused) {
    (void)unused;
    PyObject *dict = resolve(op);
    return dict == NULL ? NULL : Py_BuildValue("(O(N))", &PyDict_Type, dict);
}

static void current_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    PyObject_Free(op);
    Py_DECREF(type);
}

static PyMethodDef current_methods[] = {
    {"__reduce__", current_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot current_slots[] = {
    {Py_tp_doc, (void *)"The chunk that the calling thread is processing, as a mapping."},
    {Py_tp_dealloc, current_dealloc},
    {Py_mp_length, current_length},
    {Py_mp_subscript, current_get},
    {Py_mp_ass_subscript, current_set},
    {Py_sq_contains, current_contains},
    {Py_tp_iter, current_iter},
    {Py_tp_repr, current_repr},
    {Py_tp_richcompare, current_compare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_getattro, current_getattr},
    {Py_tp_methods, current_methods},
    {0, NULL},
};

PyType_Spec ext_spec_current_chunk = {"roastcoffea._core.CurrentChunk", sizeof(current_object), 0,
                                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                                          Py_TPFLAGS_MAPPING | Py_TPFLAGS_IMMUTABLETYPE,
                                      current_slots};
