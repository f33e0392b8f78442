/* ChunkLog: a list of chunks that stays packed until its items are read.
 *
 * While it is packed, the list part is empty or holds one ChunkRecord per chunk ("spread out"); the packed log is
 * the truth. An operation that a packed log does not have (insert, sort, del, ...) first turns it into an ordinary
 * list of its items ("loose"); it is packed again when it is pickled. */
#include "records/chunk_log.h"

#include "common/errors.h"
#include "common/values.h"

#include "roast/proc.h"

typedef struct log_object {
    PyListObject list;
    log_core *core; /* NULL: loose */
    bool stays;     /* it is pickled as an empty list */
} log_object;

static bool is_log(ext_state *state, PyObject *object) {
    return Py_TYPE(object) == state->type_chunk_log;
}

static ext_state *state_of(PyObject *op) {
    return ext_state_of_final(Py_TYPE(op));
}

/* ---- making ---- */

static log_object *new_log(ext_state *state, log_core *core) {
    /* An empty list is all zero. */
    log_object *log = (log_object *)state->type_chunk_log->tp_alloc(state->type_chunk_log, 0);
    if (log == NULL)
        return NULL;
    log->core = core != NULL ? log_core_hold(core) : NULL;
    return log;
}

PyObject *ext_chunk_log_of(ext_state *state, log_core *core) {
    return (PyObject *)new_log(state, core);
}

PyObject *ext_chunk_log_new(ext_state *state, roast_chunklog *log) {
    log_core *core = log_core_new(log);
    if (core == NULL)
        return NULL;
    PyObject *self = (PyObject *)new_log(state, core);
    log_core_release(core);
    return self;
}

/* A log from its packed form. NULL with an exception set. */
static roast_chunklog *unpack(PyObject *data) {
    roast_chunklog *log = NULL;
    roast_error err;
    Py_buffer view;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0)
        return NULL;
    roast_status status = roast_chunklog_decode(view.buf, (size_t)view.len, &log, &err);
    PyBuffer_Release(&view);
    return status == ROAST_OK ? log : (roast_chunklog *)ext_raise(&err);
}

static PyObject *log_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)args;
    (void)kwargs;
    return (PyObject *)new_log(ext_state_of_final(type), NULL);
}

static void drop_core(log_object *self) {
    log_core *core = self->core;
    self->core = NULL;
    log_core_let_go(core);
}

/* ---- packed, spread out, loose ---- */

/* Fills the list part with one item per chunk. */
static int spread_out(PyObject *op) {
    log_object *self = (log_object *)op;
    if (self->core == NULL)
        return 0;
    ext_state *state = state_of(op);
    int result = 0;
    /* A new object may set off a collection, and that may change the log. */
    while (result == 0 && self->core != NULL &&
           (uint64_t)PyList_GET_SIZE(op) < roast_chunklog_count(self->core->log)) {
        Py_ssize_t at = PyList_GET_SIZE(op);
        log_core *core = self->core;
        core->refs++;
        PyObject *item = ext_record_new(state, core, (uint64_t)at);
        if (item == NULL)
            result = -1;
        else if (self->core == core && PyList_GET_SIZE(op) == at)
            result = PyList_Append(op, item);
        Py_XDECREF(item);
        log_core_release(core);
    }
    return result;
}

static int make_loose(PyObject *op) {
    if (spread_out(op) != 0)
        return -1;
    drop_core((log_object *)op);
    return 0;
}

/* A packed log that is not shared. */
static int make_own(log_object *self) {
    if (self->core->owners == 1)
        return 0;
    roast_chunklog *copy;
    roast_error err;
    if (ext_raised(roast_chunklog_copy(self->core->log, &copy, &err), &err) != 0)
        return -1;
    log_core *core = log_core_new(copy);
    if (core == NULL)
        return -1;
    core->owners = 1;
    drop_core(self);
    self->core = core;
    return 0;
}

/* Whether the items differ from the packed log: a value was stored in one, or list's own methods changed them. */
static bool has_overlays(PyObject *op) {
    ext_state *state = state_of(op);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(op); i++) {
        PyObject *item = PyList_GET_ITEM(op, i);
        if (Py_TYPE(item) != state->type_chunk_record || ((record_object *)item)->overlay != NULL)
            return true;
    }
    return false;
}

static bool is_plain_packed(PyObject *op) {
    return ((log_object *)op)->core != NULL && !has_overlays(op);
}

/* How many items from `first` on are consecutive rows of one packed log. */
static Py_ssize_t run_of_rows(ext_state *state, PyObject *list, Py_ssize_t first) {
    Py_ssize_t n = PyList_GET_SIZE(list), i = first;
    record_object *start = (record_object *)PyList_GET_ITEM(list, first);
    for (; i < n; i++) {
        record_object *record = (record_object *)PyList_GET_ITEM(list, i);
        if (Py_TYPE(record) != state->type_chunk_record || record->core != start->core ||
            record->overlay != NULL || record->index != start->index + (uint64_t)(i - first))
            break;
    }
    return i - first;
}

/* A packed copy of a list of records and mappings. */
static roast_chunklog *pack_list(ext_state *state, PyObject *list) {
    roast_chunklog *log = NULL;
    roast_error err;
    if (roast_chunklog_new(&log, &err) != ROAST_OK)
        return (roast_chunklog *)ext_raise(&err);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list);) {
        Py_ssize_t run = run_of_rows(state, list, i);
        int failed = 0;
        if (run > 1) {
            record_object *record = (record_object *)PyList_GET_ITEM(list, i);
            failed = ext_raised(roast_chunklog_merge_rows(log, record->core->log, record->index,
                                                          (uint64_t)run, &err),
                                &err);
            i += run;
        } else {
            PyObject *item = Py_NewRef(PyList_GET_ITEM(list, i++));
            failed = ext_append_item(state, log, item);
            Py_DECREF(item);
        }
        if (failed) {
            roast_chunklog_free(log);
            return NULL;
        }
    }
    return log;
}

log_core *ext_packed_view(ext_state *state, PyObject *chunks) {
    if (is_log(state, chunks) && is_plain_packed(chunks))
        return log_core_hold(((log_object *)chunks)->core);
    PyObject *list = PySequence_List(chunks); /* of our own: reading an item may change theirs */
    roast_chunklog *log = list != NULL ? pack_list(state, list) : NULL;
    Py_XDECREF(list);
    log_core *core = log != NULL ? log_core_new(log) : NULL;
    if (core != NULL)
        core->owners = 1;
    return core;
}

int ext_chunk_log_merge(ext_state *state, PyObject *op, const roast_chunklog *from) {
    (void)state;
    log_object *self = (log_object *)op;
    roast_error err;
    if (make_own(self) != 0)
        return -1;
    if (ext_raised(roast_chunklog_merge(self->core->log, from, false, NULL, &err), &err) != 0)
        return -1;
    /* Items that were handed out stay; the new ones follow when somebody looks. */
    return 0;
}

/* ---- adding ---- */

/* Two logs that are packed: a new one, without touching a Python object. */
static PyObject *add_packed(ext_state *state, log_object *a, log_object *b) {
    roast_chunklog *sum;
    roast_error err;
    if (roast_chunklog_new(&sum, &err) != ROAST_OK)
        return ext_raise(&err);
    /* Not a copy of the first: a log that is merged into has spare capacity for the next steps of a reduction. */
    if (roast_chunklog_merge(sum, a->core->log, false, NULL, &err) != ROAST_OK ||
        roast_chunklog_merge(sum, b->core->log, false, NULL, &err) != ROAST_OK) {
        roast_chunklog_free(sum);
        return ext_raise(&err);
    }
    return ext_chunk_log_new(state, sum);
}

/* A loose log with the items of both. */
static PyObject *add_loose(ext_state *state, PyObject *a, PyObject *b) {
    PyObject *sum = (PyObject *)new_log(state, NULL);
    if (sum == NULL)
        return NULL;
    for (int side = 0; side < 2; side++) {
        PyObject *from = side == 0 ? a : b;
        if (is_log(state, from) && spread_out(from) != 0) {
            Py_DECREF(sum);
            return NULL;
        }
        Py_ssize_t end = PyList_GET_SIZE(sum);
        PyObject *items = PyList_GetSlice(from, 0, PyList_GET_SIZE(from));
        int failed = items == NULL || PyList_SetSlice(sum, end, end, items) != 0;
        Py_XDECREF(items);
        if (failed) {
            Py_DECREF(sum);
            return NULL;
        }
    }
    return sum;
}

static PyObject *log_add(PyObject *a, PyObject *b) {
    PyTypeObject *type =
        Py_TYPE(a)->tp_as_number != NULL && Py_TYPE(a)->tp_as_number->nb_add == log_add
            ? Py_TYPE(a)
            : Py_TYPE(b);
    ext_state *state = ext_state_of_final(type);
    if (!PyList_Check(a) || !PyList_Check(b)) {
        PyErr_Format(PyExc_TypeError, "a ChunkLog and %s cannot be added",
                     Py_TYPE(PyList_Check(a) ? b : a)->tp_name);
        return NULL;
    }
    if (!is_log(state, a)) {
        /* The list itself does list + log and list += log, once the items exist. */
        if (spread_out(b) != 0)
            return NULL;
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (is_log(state, b) && is_plain_packed(a) && is_plain_packed(b))
        return add_packed(state, (log_object *)a, (log_object *)b);
    return add_loose(state, a, b);
}

static int extend_loose(PyObject *op, PyObject *items) {
    PyObject *list = PySequence_List(items); /* also where it is the log itself */
    if (list == NULL || make_loose(op) != 0) {
        Py_XDECREF(list);
        return -1;
    }
    Py_ssize_t end = PyList_GET_SIZE(op);
    int result = PyList_SetSlice(op, end, end, list);
    Py_DECREF(list);
    return result;
}

static int extend(PyObject *op, PyObject *items) {
    ext_state *state = state_of(op);
    if (is_log(state, items) && ((log_object *)op)->core != NULL && is_plain_packed(items))
        return ext_chunk_log_merge(state, op, ((log_object *)items)->core->log);
    return extend_loose(op, items);
}

static PyObject *log_inplace_add(PyObject *op, PyObject *items) {
    return extend(op, items) == 0 ? Py_NewRef(op) : NULL;
}

static PyObject *log_extend(PyObject *op, PyObject *items) {
    if (extend(op, items) != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *log_append(PyObject *op, PyObject *item) {
    if (make_loose(op) != 0 || PyList_Append(op, item) != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- looking ---- */

static Py_ssize_t log_length(PyObject *op) {
    log_object *self = (log_object *)op;
    return self->core != NULL ? (Py_ssize_t)roast_chunklog_count(self->core->log)
                              : PyList_GET_SIZE(op);
}

static PyObject *log_item(PyObject *op, Py_ssize_t index) {
    if (index < 0 || index >= log_length(op)) {
        PyErr_SetString(PyExc_IndexError, "chunk log index out of range");
        return NULL;
    }
    if (spread_out(op) != 0)
        return NULL;
    return PyList_Type.tp_as_sequence->sq_item(op, index); /* checks the index once more */
}

static PyObject *log_subscript(PyObject *op, PyObject *key) {
    if (spread_out(op) != 0)
        return NULL;
    PyObject *found = PyList_Type.tp_as_mapping->mp_subscript(op, key);
    if (found == NULL || !PyList_CheckExact(found))
        return found;
    PyObject *part = (PyObject *)new_log(state_of(op), NULL);
    if (part != NULL && PyList_SetSlice(part, 0, 0, found) != 0)
        Py_CLEAR(part);
    Py_DECREF(found);
    return part;
}

static PyObject *log_iter(PyObject *op) {
    return spread_out(op) == 0 ? PyList_Type.tp_iter(op) : NULL;
}

static int log_contains(PyObject *op, PyObject *item) {
    return spread_out(op) == 0 ? PyList_Type.tp_as_sequence->sq_contains(op, item) : -1;
}

static PyObject *log_repr(PyObject *op) {
    return spread_out(op) == 0 ? PyList_Type.tp_repr(op) : NULL;
}

static PyObject *log_compare(PyObject *a, PyObject *b, int operation) {
    ext_state *state = state_of(a);
    if (spread_out(a) != 0 || (is_log(state, b) && spread_out(b) != 0))
        return NULL;
    return PyList_Type.tp_richcompare(a, b, operation);
}

/* ---- changing: as an ordinary list ---- */

static int log_assign(PyObject *op, PyObject *key, PyObject *value) {
    return make_loose(op) == 0 ? PyList_Type.tp_as_mapping->mp_ass_subscript(op, key, value) : -1;
}

static int log_assign_item(PyObject *op, Py_ssize_t index, PyObject *value) {
    return make_loose(op) == 0 ? PyList_Type.tp_as_sequence->sq_ass_item(op, index, value) : -1;
}

static PyObject *log_repeat(PyObject *op, Py_ssize_t n) {
    return spread_out(op) == 0 ? PyList_Type.tp_as_sequence->sq_repeat(op, n) : NULL;
}

static PyObject *log_inplace_repeat(PyObject *op, Py_ssize_t n) {
    return make_loose(op) == 0 ? PyList_Type.tp_as_sequence->sq_inplace_repeat(op, n) : NULL;
}

/* Calls list.<name> after the items are made; loose if the method changes the list. */
static PyObject *call_list_method(PyObject *op, const char *name, bool changes, PyObject *args,
                                  PyObject *kwargs) {
    if ((changes ? make_loose(op) : spread_out(op)) != 0)
        return NULL;
    PyObject *method = PyObject_GetAttrString((PyObject *)&PyList_Type, name), *result = NULL;
    PyObject *self = PyTuple_Pack(1, op);
    PyObject *all = self != NULL ? PySequence_Concat(self, args) : NULL;
    if (method != NULL && all != NULL)
        result = PyObject_Call(method, all, kwargs);
    Py_XDECREF(method);
    Py_XDECREF(self);
    Py_XDECREF(all);
    return result;
}

#define LIST_METHODS(X)                                                                            \
    X(insert, true)                                                                                \
    X(pop, true)                                                                                   \
    X(remove, true)                                                                                \
    X(clear, true)                                                                                 \
    X(sort, true)                                                                                  \
    X(reverse, true)                                                                               \
    X(index, false)                                                                                \
    X(count, false)                                                                                \
    X(__reversed__, false)

#define X(name, changes)                                                                           \
    static PyObject *log_##name(PyObject *op, PyObject *args, PyObject *kwargs) {                  \
        return call_list_method(op, #name, changes, args, kwargs);                                 \
    }
LIST_METHODS(X)
#undef X

/* ---- copying and pickling ---- */

static PyObject *packed_bytes(const roast_chunklog *log) {
    roast_sink *sink;
    roast_error err;
    if (roast_sink_new_memory(&sink, &err) != ROAST_OK)
        return ext_raise(&err);
    (void)roast_chunklog_encode(log, sink, NULL); /* a failure sticks to the sink */
    return ext_sink_bytes(sink);
}

/* The first record of this process, which is packed with its output: when that was is known only now. NULL: any other, or
 * no memory. */
static roast_chunklog *with_packing(const roast_chunklog *log) {
    static const uint64_t wanted =
        ROAST_CHUNK_HAS(loaded_ns) | ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns);
    roast_chunklog *made = NULL;
    roast_chunk chunk;
    if (roast_chunklog_count(log) != 1 || roast_chunklog_get(log, 0, &chunk, NULL) != ROAST_OK ||
        (chunk.have & wanted) != wanted || (chunk.have & ROAST_CHUNK_HAS(packed_ns)) != 0 ||
        chunk.token != roast_process_token())
        return NULL;
    int64_t since = (roast_utc_now().ns - chunk.start_us * 1000 - chunk.duration_ns) / 1000 * 1000;
    if (since >= 0)
        (void)roast_chunklog_with_numbers(log, ROAST_CHUNK_INDEX_packed_ns, &since, &made, NULL);
    return made;
}

static PyObject *log_copy(PyObject *op, PyObject *unused) {
    (void)unused;
    ext_state *state = state_of(op);
    log_core *core = ext_packed_view(state, op);
    PyObject *copy = core != NULL ? ext_chunk_log_of(state, core) : NULL;
    log_core_let_go(core);
    return copy;
}

static PyObject *log_reduce(PyObject *op, PyObject *unused) {
    (void)unused;
    PyObject *list_type = (PyObject *)&PyList_Type;
    if (((log_object *)op)->stays)
        return Py_BuildValue("O([])", list_type);
    log_core *core = ext_packed_view(state_of(op), op);
    if (core == NULL) {
        /* Items that are no chunks at all: an ordinary list, then. */
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return NULL;
        PyErr_Clear(); /* the TypeError */
        PyObject *items = PySequence_List(op);
        return items == NULL ? NULL : Py_BuildValue("O(N)", list_type, items);
    }
    roast_chunklog *more = with_packing(core->log);
    PyObject *data = packed_bytes(more != NULL ? more : core->log);
    roast_chunklog_free(more);
    log_core_let_go(core);
    return data == NULL ? NULL : Py_BuildValue("O(N)", Py_TYPE(op), data);
}

static PyObject *log_stay_here(PyObject *op, PyObject *unused) {
    (void)unused;
    ((log_object *)op)->stays = true;
    return Py_NewRef(op);
}

static PyObject *log_to_bytes(PyObject *op, PyObject *unused) {
    (void)unused;
    log_core *core = ext_packed_view(state_of(op), op);
    PyObject *data = core != NULL ? packed_bytes(core->log) : NULL;
    log_core_let_go(core);
    return data;
}

static PyObject *log_from_bytes(PyObject *type, PyObject *data) {
    roast_chunklog *log = unpack(data);
    return log != NULL ? ext_chunk_log_new(ext_state_of_final((PyTypeObject *)type), log) : NULL;
}

static PyObject *log_merge_unique(PyObject *op, PyObject *chunks) {
    ext_state *state = state_of(op);
    log_object *self = (log_object *)op;
    log_core *from = ext_packed_view(state, chunks);
    if (from == NULL)
        return NULL;
    roast_merge_result result = {0, 0};
    roast_error err;
    bool merged = self->core != NULL; /* checked after the reading, which may have changed it */
    if (!merged)
        PyErr_SetString(PyExc_TypeError, "merge_unique() needs a log that was not changed by hand");
    merged = merged && make_own(self) == 0 &&
             ext_raised(roast_chunklog_merge(self->core->log, from->log, true, &result, &err),
                        &err) == 0;
    log_core_let_go(from);
    return merged ? Py_BuildValue("(KK)", (unsigned long long)result.added,
                                  (unsigned long long)result.duplicates)
                  : NULL;
}

static PyObject *log_nbytes(PyObject *op, PyObject *unused) {
    (void)unused;
    log_object *self = (log_object *)op;
    size_t size = (size_t)Py_TYPE(op)->tp_basicsize +
                  (size_t)((PyListObject *)op)->allocated * sizeof(PyObject *);
    if (self->core != NULL)
        size += roast_chunklog_memory(self->core->log);
    return PyLong_FromSize_t(size);
}

/* ---- the type ---- */

static int log_init(PyObject *op, PyObject *args, PyObject *kwargs) {
    PyObject *items = NULL;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "ChunkLog() takes no keyword arguments");
        return -1;
    }
    if (!PyArg_UnpackTuple(args, "ChunkLog", 0, 1, &items))
        return -1;
    roast_chunklog *packed = NULL;
    if (items != NULL && PyBytes_CheckExact(items)) {
        packed = unpack(items);
    } else {
        PyObject *list = items != NULL ? PySequence_List(items) : PyList_New(0);
        packed = list != NULL ? pack_list(state_of(op), list) : NULL;
        Py_XDECREF(list);
    }
    log_core *core = packed != NULL ? log_core_new(packed) : NULL;
    if (core == NULL)
        return -1;
    core->owners = 1;
    if (PyList_SetSlice(op, 0, PyList_GET_SIZE(op), NULL) != 0) {
        log_core_release(core);
        return -1;
    }
    drop_core((log_object *)op);
    ((log_object *)op)->core = core;
    return 0;
}

static int log_traverse(PyObject *op, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(op));
    return PyList_Type.tp_traverse(op, visit, arg);
}

static int log_clear_gc(PyObject *op) {
    drop_core((log_object *)op);
    return PyList_Type.tp_clear(op);
}

static void log_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    drop_core((log_object *)op);
    PyList_Type.tp_dealloc(op);
    Py_DECREF(type);
}

static PyMethodDef log_methods[] = {
    {"append", log_append, METH_O, NULL},
    {"extend", log_extend, METH_O, NULL},
    {"copy", log_copy, METH_NOARGS, NULL},
    {"__copy__", log_copy, METH_NOARGS, NULL},
    {"__deepcopy__", log_copy, METH_O, NULL},
    {"__reduce__", log_reduce, METH_NOARGS, NULL},
    {"__reduce_ex__", log_reduce, METH_O, NULL}, /* the same for all protocols */
    {"__sizeof__", log_nbytes, METH_NOARGS, NULL},
    {"stay_here", log_stay_here, METH_NOARGS,
     "stay_here($self)\n--\n\nFrom now on it is pickled as an empty list."},
    {"to_bytes", log_to_bytes, METH_NOARGS,
     "to_bytes($self)\n--\n\n"
     "The packed form: versioned and checksummed, see docs/format/chunk-log.md."},
    {"from_bytes", log_from_bytes, METH_O | METH_CLASS,
     "from_bytes($type, data, /)\n--\n\n"
     "A log from its packed form; ValueError says what is wrong with it."},
    {"merge_unique", log_merge_unique, METH_O,
     "merge_unique($self, chunks, /)\n--\n\n"
     "Adds the chunks that are not in the log yet, by identity; returns (added, duplicates)."},
#define X(name, changes)                                                                           \
    {#name, (PyCFunction)(void (*)(void))log_##name, METH_VARARGS | METH_KEYWORDS, NULL},
    LIST_METHODS(X)
#undef X
        {NULL, NULL, 0, NULL},
};

static PyType_Slot log_slots[] = {
    {Py_tp_doc,
     (void *)"ChunkLog(chunks=(), /)\n--\n\n"
             "A list of chunks that is packed until its items are read, and in a pickle. "
             "`chunks` may also be the bytes of a packed log."},
    {Py_tp_new, log_new},
    {Py_tp_init, log_init},
    {Py_tp_dealloc, log_dealloc},
    {Py_tp_traverse, log_traverse},
    {Py_tp_clear, log_clear_gc},
    {Py_tp_methods, log_methods},
    {Py_tp_iter, log_iter},
    {Py_tp_repr, log_repr},
    {Py_tp_richcompare, log_compare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_nb_add, log_add},
    {Py_nb_inplace_add, log_inplace_add},
    {Py_sq_concat, log_add},
    {Py_sq_inplace_concat, log_inplace_add},
    {Py_sq_length, log_length},
    {Py_sq_item, log_item},
    {Py_sq_ass_item, log_assign_item},
    {Py_sq_contains, log_contains},
    {Py_sq_repeat, log_repeat},
    {Py_sq_inplace_repeat, log_inplace_repeat},
    {Py_mp_length, log_length},
    {Py_mp_subscript, log_subscript},
    {Py_mp_ass_subscript, log_assign},
    {0, NULL},
};

PyType_Spec ext_spec_chunk_log = {
    "roastcoffea.ChunkLog", sizeof(log_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, log_slots};
