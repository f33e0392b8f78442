/* ChunkRecord: one chunk of a log, as a mapping. */
#include "records/chunk_log.h"

#include "common/errors.h"
#include "common/values.h"

log_core *log_core_new(roast_chunklog *log) {
    log_core *core = roast_alloc(sizeof *core);
    if (core == NULL) {
        roast_chunklog_free(log);
        PyErr_NoMemory();
        return NULL;
    }
    *core = (log_core){log, 1, 0};
    return core;
}

void log_core_release(log_core *core) {
    if (core == NULL || --core->refs > 0)
        return;
    roast_chunklog_free(core->log);
    roast_free(core);
}

log_core *log_core_hold(log_core *core) {
    core->refs++;
    core->owners++;
    return core;
}

void log_core_let_go(log_core *core) {
    if (core == NULL)
        return;
    core->owners--;
    log_core_release(core);
}

PyObject *ext_record_new(ext_state *state, log_core *core, uint64_t index) {
    record_object *record = PyObject_GC_New(record_object, state->type_chunk_record);
    if (record == NULL)
        return NULL;
    core->refs++;
    record->core = core;
    record->index = index;
    record->overlay = NULL;
    PyObject_GC_Track(record);
    return (PyObject *)record;
}

static int read_chunk(record_object *record, roast_chunk *out) {
    roast_error err;
    return ext_raised(roast_chunklog_get(record->core->log, record->index, out, &err), &err);
}

/* ---- looking up ---- */

/* A value that the user stored, by its own name; NULL and no exception: there is none. */
static PyObject *custom_of(ext_state *state, record_object *record, const roast_chunk *chunk,
                           PyObject *name) {
    roast_tail_cursor cursor;
    roast_custom custom;
    Py_ssize_t len;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &len) : NULL;
    if (text == NULL) {
        PyErr_Clear(); /* lone surrogates: no key of ours has such a name */
        return NULL;
    }
    roast_chunk_customs(record->core->log, chunk, &cursor);
    while (roast_chunk_next_custom(&cursor, &custom))
        if (custom.scope == ROAST_SCOPE_CHUNK && custom.kind != ROAST_CUSTOM_LEFT_OUT &&
            roast_str_equal(custom.key, (roast_str){text, (size_t)len}))
            return ext_custom_value(state, &custom);
    return NULL;
}

/* NULL and no exception: there is no such key. */
static PyObject *look_up(record_object *record, PyObject *name) {
    ext_state *state = ext_state_of_final(Py_TYPE(record));
    if (record->overlay != NULL) {
        PyObject *value = PyDict_GetItemWithError(record->overlay, name);
        if (value != NULL || PyErr_Occurred())
            return Py_XNewRef(value);
    }
    log_core *core = log_core_hold(record->core);
    roast_chunk chunk;
    PyObject *value = NULL;
    if (read_chunk(record, &chunk) == 0) {
        int key = ext_record_key_of(name);
        bool absent = true;
        if (key != EXT_KEY_ABSENT)
            value = ext_record_key_value(state, core->log, record->index, &chunk, key, &absent);
        if (key == EXT_KEY_ABSENT || absent)
            value = custom_of(state, record, &chunk, name);
    }
    log_core_let_go(core);
    return value;
}

static PyObject *record_subscript(PyObject *op, PyObject *name) {
    PyObject *value = look_up((record_object *)op, name);
    if (value == NULL && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, name);
    return value;
}

static int record_contains(PyObject *op, PyObject *name) {
    PyObject *value = look_up((record_object *)op, name);
    if (value == NULL)
        return PyErr_Occurred() ? -1 : 0;
    Py_DECREF(value);
    return 1;
}

static int record_assign(PyObject *op, PyObject *name, PyObject *value) {
    record_object *record = (record_object *)op;
    if (value == NULL) {
        if (record->overlay == NULL || PyDict_DelItem(record->overlay, name) != 0) {
            if (ext_drop_exception() != 0)
                return -1;
            PyErr_Format(PyExc_TypeError,
                         "%R was measured and cannot be deleted; change dict(chunk) instead", name);
            return -1;
        }
        return 0;
    }
    if (record->overlay == NULL && (record->overlay = PyDict_New()) == NULL)
        return -1;
    return PyDict_SetItem(record->overlay, name, value);
}

/* Measured and stored values, from a log that is held. */
static PyObject *measured_dict(ext_state *state, record_object *record) {
    roast_chunk chunk;
    const roast_chunklog *log = record->core->log;
    PyObject *dict = read_chunk(record, &chunk) == 0 ? PyDict_New() : NULL;
    for (int key = 0; dict != NULL && key < ext_record_key_count(); key++) {
        bool absent;
        PyObject *value = ext_record_key_value(state, log, record->index, &chunk, key, &absent);
        if (absent)
            continue;
        if (value == NULL || PyDict_SetItemString(dict, ext_record_key_name(key), value) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    if (dict != NULL && chunk.n_customs > 0) {
        PyObject *customs = ext_record_customs(state, log, &chunk, ROAST_SCOPE_CHUNK);
        /* A user's value of the same name does not overwrite a measured one. */
        if (customs == NULL || PyDict_Merge(dict, customs, 0) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(customs);
    }
    return dict;
}

PyObject *ext_record_dict(ext_state *state, record_object *record) {
    log_core *core = log_core_hold(record->core);
    PyObject *dict = measured_dict(state, record);
    log_core_let_go(core);
    if (dict != NULL && record->overlay != NULL && PyDict_Update(dict, record->overlay) != 0)
        Py_CLEAR(dict);
    return dict;
}

/* ---- the mapping protocol, by way of the dict ---- */

static PyObject *as_dict(PyObject *op) {
    return ext_record_dict(ext_state_of_final(Py_TYPE(op)), (record_object *)op);
}

static PyObject *record_as_dict(PyObject *op, PyObject *unused) {
    (void)unused;
    return as_dict(op);
}

static Py_ssize_t record_length(PyObject *op) {
    PyObject *dict = as_dict(op);
    Py_ssize_t length = dict != NULL ? PyDict_Size(dict) : -1;
    Py_XDECREF(dict);
    return length;
}

static PyObject *record_iter(PyObject *op) {
    PyObject *dict = as_dict(op);
    PyObject *iterator = dict != NULL ? PyObject_GetIter(dict) : NULL;
    Py_XDECREF(dict);
    return iterator;
}

#define X(name)                                                                                    \
    static PyObject *record_##name(PyObject *op, PyObject *unused) {                               \
        (void)unused;                                                                              \
        PyObject *dict = as_dict(op);                                                              \
        PyObject *result = dict != NULL ? PyObject_CallMethod(dict, #name, NULL) : NULL;           \
        Py_XDECREF(dict);                                                                          \
        return result;                                                                             \
    }
X(keys)
X(values)
X(items)
#undef X

static PyObject *record_get(PyObject *op, PyObject *args) {
    PyObject *name, *fallback = Py_None;
    if (!PyArg_ParseTuple(args, "O|O:get", &name, &fallback))
        return NULL;
    PyObject *value = look_up((record_object *)op, name);
    if (value == NULL && !PyErr_Occurred())
        value = Py_NewRef(fallback);
    return value;
}

static PyObject *record_repr(PyObject *op) {
    PyObject *dict = as_dict(op);
    PyObject *text = dict != NULL ? PyUnicode_FromFormat("ChunkRecord(%R)", dict) : NULL;
    Py_XDECREF(dict);
    return text;
}

static PyObject *record_compare(PyObject *op, PyObject *other, int operation) {
    if (operation != Py_EQ && operation != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    if (op == other)
        return PyBool_FromLong(operation == Py_EQ);
    PyObject *mine = as_dict(op), *theirs = NULL, *result = NULL;
    if (Py_TYPE(other) == Py_TYPE(op)) {
        theirs = as_dict(other);
        /* The position in the log does not matter for equality. */
        if (mine != NULL && theirs != NULL &&
            (PyDict_DelItemString(mine, "chunk_id") != 0 ||
             PyDict_DelItemString(theirs, "chunk_id") != 0))
            PyErr_Clear(); /* a KeyError of a plain dict: it has none */
    } else {
        theirs = Py_NewRef(other);
    }
    if (mine != NULL && theirs != NULL)
        result = PyObject_RichCompare(mine, theirs, operation);
    Py_XDECREF(mine);
    Py_XDECREF(theirs);
    return result;
}

/* ---- appending to a log, pickling ---- */

/* A record that the user added values to: its own numbers, and these values as custom ones. */
static int append_with_overlay(ext_state *state, roast_chunklog *log, record_object *record) {
    roast_chunk chunk; /* of which only the identity is used: its texts may be freed by then */
    PyObject *dict = read_chunk(record, &chunk) == 0 ? ext_record_dict(state, record) : NULL;
    int result = dict != NULL ? ext_append_mapping(state, log, dict, &chunk) : -1;
    Py_XDECREF(dict);
    return result;
}

int ext_append_item(ext_state *state, roast_chunklog *log, PyObject *item) {
    if (Py_TYPE(item) != state->type_chunk_record)
        return ext_append_mapping(state, log, item, NULL);
    record_object *record = (record_object *)item;
    if (record->overlay != NULL && PyDict_GET_SIZE(record->overlay) > 0)
        return append_with_overlay(state, log, record);
    roast_error err;
    return ext_raised(roast_chunklog_merge_rows(log, record->core->log, record->index, 1, &err),
                      &err);
}

/* As the one item of a log of its own. */
static PyObject *record_reduce(PyObject *op, PyObject *unused) {
    (void)unused;
    ext_state *state = ext_state_of_final(Py_TYPE(op));
    roast_chunklog *log = NULL;
    roast_error err;
    if (roast_chunklog_new(&log, &err) != ROAST_OK)
        return ext_raise(&err);
    if (ext_append_item(state, log, op) != 0) {
        roast_chunklog_free(log);
        return NULL;
    }
    PyObject *alone = ext_chunk_log_new(state, log);
    PyObject *module = alone != NULL ? PyImport_ImportModule("operator") : NULL;
    PyObject *getitem = module != NULL ? PyObject_GetAttrString(module, "getitem") : NULL;
    PyObject *result = getitem != NULL ? Py_BuildValue("O(Oi)", getitem, alone, 0) : NULL;
    Py_XDECREF(getitem);
    Py_XDECREF(module);
    Py_XDECREF(alone);
    return result;
}

/* ---- the type ---- */

static int record_traverse(PyObject *op, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(((record_object *)op)->overlay);
    return 0;
}

static int record_clear(PyObject *op) {
    Py_CLEAR(((record_object *)op)->overlay);
    return 0;
}

static void record_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    record_clear(op);
    log_core_release(((record_object *)op)->core);
    PyObject_GC_Del(op);
    Py_DECREF(type);
}

static PyMethodDef record_methods[] = {
    {"as_dict", record_as_dict, METH_NOARGS,
     "as_dict($self)\n--\n\nA plain dict of all that is known of the chunk."},
    {"keys", record_keys, METH_NOARGS, NULL},
    {"values", record_values, METH_NOARGS, NULL},
    {"items", record_items, METH_NOARGS, NULL},
    {"get", record_get, METH_VARARGS, NULL},
    {"__reduce__", record_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot record_slots[] = {
    {Py_tp_doc, (void *)"One chunk of a ChunkLog: a mapping with the keys of the chunk metrics."},
    {Py_tp_dealloc, record_dealloc},
    {Py_tp_traverse, record_traverse},
    {Py_tp_clear, record_clear},
    {Py_mp_length, record_length},
    {Py_mp_subscript, record_subscript},
    {Py_mp_ass_subscript, record_assign},
    {Py_sq_contains, record_contains},
    {Py_tp_iter, record_iter},
    {Py_tp_repr, record_repr},
    {Py_tp_richcompare, record_compare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_methods, record_methods},
    {0, NULL},
};

PyType_Spec ext_spec_chunk_record = {"roastcoffea._core.ChunkRecord", sizeof(record_object), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                         Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_MAPPING |
                                         Py_TPFLAGS_IMMUTABLETYPE,
                                     record_slots};
