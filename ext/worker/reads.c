#include "worker/reads.h"

#include "common/errors.h"
#include "common/quiet.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

typedef struct reader_object {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    ext_state *state;
    PyObject *real;     /* the method behind it */
    PyObject *previous; /* the mapping's own attribute of that name; NULL: none */
    PyObject *mapping;  /* these four until it is taken off */
    PyObject *source;
    PyObject *log;
    PyObject *preloaded;
    bool open;
    unsigned long *threads; /* that are in a call */
    size_t n_threads, threads_capacity;
    unsigned long owner; /* the thread of process() */
    int64_t cpu_ns;      /* of the owner in reads; -1: not known */
    uint64_t overlaps;   /* calls that began while another one was under way */
    PyObject *places;    /* dict: name of a column to its place in `reads` */
    roast_read *reads;
    uint32_t count, capacity;
} reader_object;

/* ---- the notes ---- */

static bool grow(reader_object *self) {
    uint32_t capacity = self->capacity == 0 ? 32 : self->capacity * 2;
    roast_read *reads = roast_realloc(self->reads, capacity * sizeof *reads);
    if (reads == NULL)
        return false;
    self->reads = reads;
    self->capacity = capacity;
    return true;
}

/* The read of a column. `name` is an exact str, so that no code of the user's runs in here. NULL: memory is short, or
 * the name has no text. */
static roast_read *read_of(reader_object *self, PyObject *name) {
    PyObject *place = PyDict_GetItemWithError(self->places, name);
    roast_str text;
    if (place != NULL)
        return &self->reads[PyLong_AsSize_t(place)];
    if ((self->count == self->capacity && (self->count >= ROAST_MAX_BRANCHES || !grow(self))) ||
        !ext_quiet_text(name, &text))
        return NULL;
    place = PyLong_FromUnsignedLong(self->count);
    int failed = place != NULL ? PyDict_SetItem(self->places, name, place) : -1;
    Py_XDECREF(place);
    if (failed != 0)
        return NULL;
    self->reads[self->count] = (roast_read){.branch = text};
    return &self->reads[self->count++];
}

/* One unknown value makes the sum unknown. */
static void add_known(int64_t *sum, int64_t value) {
    *sum = *sum < 0 || value < 0 ? -1 : roast_add_capped(*sum, value);
}

/* ---- which column, how many bytes ---- */

/* The column's own name, without the branches around it: of a TBranch, of an RField, of a column of Parquet. */
static PyObject *own_name(ext_state *state, PyObject *handle) {
    PyObject *name = ext_quiet_attr(handle, state->str_plain_name);
    return ext_quiet_exact(name != NULL ? name : ext_quiet_attr(handle, state->str_column));
}

static bool ends_with(PyObject *whole, PyObject *end) {
    roast_str text, tail;
    if (!ext_quiet_text(whole, &text) || !ext_quiet_text(end, &tail) || tail.len > text.len ||
        memcmp(text.data + text.len - tail.len, tail.data, tail.len) != 0)
        return false;
    return text.len == tail.len || strchr("/.", text.data[text.len - tail.len - 1]) != NULL;
}

/* Coffea has just logged the access, with the whole name. If another thread has logged one since, the column's own
 * name decides. */
static PyObject *column_name(const reader_object *self, PyObject *own) {
    if (self->log == NULL || !PyList_Check(self->log))
        return Py_XNewRef(own);
    /* Held: the reader may be taken off meanwhile, by another thread or by code that is asked here. */
    PyObject *log = Py_NewRef(self->log), *found = NULL;
    for (Py_ssize_t back = 1; found == NULL && back <= 8 && back <= PyList_GET_SIZE(log); back++) {
        PyObject *access = Py_NewRef(PyList_GET_ITEM(log, PyList_GET_SIZE(log) - back));
        PyObject *name = ext_quiet_exact(ext_quiet_attr(access, self->state->str_branch));
        Py_DECREF(access);
        if (name != NULL && (own == NULL || ends_with(name, own)))
            found = name;
        else
            Py_XDECREF(name);
    }
    Py_DECREF(log);
    return found != NULL ? found : Py_XNewRef(own);
}

static int64_t requested_bytes(const reader_object *self) {
    int64_t bytes;
    PyObject *source = Py_XNewRef(self->source); /* held, as above */
    bool known = ext_quiet_attr_int(source, self->state->str_num_requested_bytes, &bytes);
    Py_XDECREF(source);
    return known ? bytes : -1;
}

/* ---- the threads that are in a call ---- */

/* Where a thread is in the list; n_threads: nowhere. */
static size_t place_of(const reader_object *self, unsigned long thread) {
    size_t at = 0;
    while (at < self->n_threads && self->threads[at] != thread)
        at++;
    return at;
}

static bool enter(reader_object *self, unsigned long thread) {
    if (self->n_threads == self->threads_capacity) {
        size_t capacity = self->threads_capacity == 0 ? 4 : self->threads_capacity * 2;
        unsigned long *threads = roast_realloc(self->threads, capacity * sizeof *threads);
        if (threads == NULL)
            return false;
        self->threads = threads;
        self->threads_capacity = capacity;
    }
    self->threads[self->n_threads++] = thread;
    return true;
}

static void leave(reader_object *self, unsigned long thread) {
    size_t at = place_of(self, thread);
    if (at < self->n_threads)
        self->threads[at] = self->threads[--self->n_threads];
}

/* ---- the call ---- */

typedef struct column_call {
    unsigned long thread;
    PyObject *name;
    bool preloaded; /* it was read before process() */
    bool alone;
    uint64_t overlaps;
    int64_t bytes;
    roast_mono start;
    bool timed;        /* of the owner: the CPU time of a chunk is that of one thread */
    int64_t cpu_start; /* -1: not known */
} column_call;

static void begin_call(reader_object *self, PyObject *handle, column_call *call) {
    PyObject *own = own_name(self->state, handle);
    call->name = column_name(self, own);
    if (own != NULL && self->preloaded != NULL) {
        PyObject *preloaded = Py_NewRef(self->preloaded);
        call->preloaded = PyDict_Contains(preloaded, own) == 1;
        ext_pass_over("the preloaded columns could not be read");
        Py_DECREF(preloaded);
    }
    Py_XDECREF(own);
    call->alone = self->n_threads == 1;
    if (!call->alone)
        self->overlaps++;
    call->overlaps = self->overlaps;
    call->bytes = requested_bytes(self);
    call->timed = call->thread == self->owner;
    call->start = roast_mono_now();
    if (call->timed)
        call->cpu_start = roast_thread_cpu_now();
}

static void end_timing(reader_object *self, const column_call *call) {
    int64_t now = roast_thread_cpu_now();
    add_known(&self->cpu_ns, call->cpu_start >= 0 && now >= 0 ? now - call->cpu_start : -1);
}

static void end_call(reader_object *self, PyObject *result, column_call *call) {
    if (call->timed)
        end_timing(self, call);
    int64_t took = roast_mono_since(call->start, roast_mono_now());
    leave(self, call->thread);
    PyObject *exception = result == NULL ? ext_take_exception() : NULL;
    roast_read *read = NULL;
    if (self->open && call->name != NULL) {
        int64_t after = requested_bytes(self), bytes = -1, array = -1;
        /* Bytes that two threads request at once are attributed to neither. */
        if (!call->preloaded && call->alone && call->overlaps == self->overlaps &&
            call->bytes >= 0 && after >= call->bytes)
            bytes = after - call->bytes;
        if (!call->preloaded && !ext_quiet_attr_int(result, self->state->str_nbytes, &array))
            array = -1;
        /* Asked once more: it may have been taken off meanwhile, and its notes been read. */
        read = self->open ? read_of(self, call->name) : NULL;
        if (read != NULL) {
            read->count++;
            read->time_ns += took;
            add_known(&read->bytes, bytes);
            add_known(&read->uncompressed_bytes, array);
        }
    }
    if (self->open && read == NULL)
        ext_count_fault("a read could not be noted", NULL);
    Py_XDECREF(call->name);
    ext_restore_exception(exception);
}

static PyObject *reader_vectorcall(PyObject *op, PyObject *const *args, size_t nargsf,
                                   PyObject *kwnames) {
    reader_object *self = (reader_object *)op;
    PyObject *handle = PyVectorcall_NARGS(nargsf) > 0 ? args[0] : NULL;
    unsigned long thread = PyThread_get_thread_ident();
    /* None: the file has no such column. A method that calls itself is one read. */
    if (!self->open || handle == Py_None || handle == NULL ||
        place_of(self, thread) < self->n_threads)
        return PyObject_Vectorcall(self->real, args, nargsf, kwnames);
    if (!enter(self, thread)) {
        ext_count_fault("a read could not be noted", NULL);
        return PyObject_Vectorcall(self->real, args, nargsf, kwnames);
    }
    column_call call = {.thread = thread};
    Py_INCREF(op);
    begin_call(self, handle, &call);
    PyObject *result =
        ext_must_stop() ? NULL : PyObject_Vectorcall(self->real, args, nargsf, kwnames);
    end_call(self, result, &call);
    Py_DECREF(op);
    return ext_let_pass(result);
}

/* ---- on and off ---- */

static PyObject *reader_new(ext_state *state, PyObject *mapping, PyObject *source) {
    reader_object *self = PyObject_GC_New(reader_object, state->type_column_reader);
    if (self == NULL)
        return NULL;
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    self->vectorcall = reader_vectorcall;
    self->state = state;
    self->owner = PyThread_get_thread_ident();
    self->mapping = Py_NewRef(mapping);
    self->source = Py_XNewRef(source);
    PyObject_GC_Track(self);
    self->places = PyDict_New();
    self->real = ext_quiet_attr(mapping, state->str_extract_column);
    self->log = ext_quiet_attr(mapping, state->str_mapping_log);
    self->preloaded = ext_quiet_attr(mapping, state->str_preloaded_arrays);
    if (self->preloaded != NULL && !PyDict_Check(self->preloaded))
        Py_CLEAR(self->preloaded);
    return (PyObject *)self;
}

PyObject *ext_reads_attach(ext_state *state, PyObject *mapping, PyObject *source) {
    PyObject *dict = ext_quiet_attr(mapping, state->str_dict);
    if (dict == NULL || !PyDict_Check(dict)) {
        Py_XDECREF(dict);
        return NULL;
    }
    PyObject *op = reader_new(state, mapping, source);
    reader_object *self = (reader_object *)op;
    if (self != NULL && self->places != NULL && self->real != NULL &&
        PyCallable_Check(self->real)) {
        self->previous = ext_quiet_item(dict, state->str_extract_column);
        self->open = PyObject_SetAttr(mapping, state->str_extract_column, op) == 0;
    }
    ext_pass_over("the reads of a file cannot be noted");
    Py_DECREF(dict);
    if (self != NULL && !self->open)
        Py_CLEAR(op);
    return op;
}

/* The previous attribute; a reader that is switched off is not restored. */
static PyObject *what_was_there(const reader_object *self) {
    PyObject *previous = self->previous;
    while (previous != NULL && Py_IS_TYPE(previous, self->state->type_column_reader) &&
           !((reader_object *)previous)->open)
        previous = ((reader_object *)previous)->previous;
    return previous;
}

static void let_go(reader_object *self) {
    Py_CLEAR(self->previous);
    Py_CLEAR(self->mapping);
    Py_CLEAR(self->source);
    Py_CLEAR(self->log);
    Py_CLEAR(self->preloaded);
}

void ext_reads_detach(PyObject *op) {
    reader_object *self = (reader_object *)op;
    if (self == NULL || !self->open)
        return;
    self->open = false;
    PyObject *name = self->state->str_extract_column;
    PyObject *dict = ext_quiet_attr(self->mapping, self->state->str_dict);
    PyObject *there = ext_quiet_item(dict, name);
    /* Somebody may have put something else there meanwhile: that stays. */
    if (there == op && PyObject_SetAttr(self->mapping, name, what_was_there(self)) != 0)
        ext_count_fault("a reader could not be taken off", NULL);
    Py_XDECREF(there);
    Py_XDECREF(dict);
    let_go(self);
}

void ext_reads_put(PyObject *op, roast_chunk *out) {
    const reader_object *self = (const reader_object *)op;
    out->has_reads = true;
    out->n_reads = self->count;
    out->reads = self->reads;
    if (self->cpu_ns < 0)
        return;
    out->read_cpu_ns = (self->cpu_ns + 500) / 1000 * 1000;
    out->have |= ROAST_CHUNK_HAS(read_cpu_ns);
}

/* ---- the object ---- */

static int reader_traverse(PyObject *op, visitproc visit, void *arg) {
    reader_object *self = (reader_object *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->real);
    Py_VISIT(self->previous);
    Py_VISIT(self->mapping);
    Py_VISIT(self->source);
    Py_VISIT(self->log);
    Py_VISIT(self->preloaded);
    return 0;
}

static int reader_clear(PyObject *op) {
    reader_object *self = (reader_object *)op;
    self->open = false;
    let_go(self);
    return 0;
}

static void reader_dealloc(PyObject *op) {
    reader_object *self = (reader_object *)op;
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    reader_clear(op);
    Py_CLEAR(self->real);
    Py_CLEAR(self->places);
    roast_free(self->reads);
    roast_free(self->threads);
    PyObject_GC_Del(op);
    Py_DECREF(type);
}

/* A copy that travels is the method itself. */
static PyObject *reader_reduce(PyObject *op, PyObject *unused) {
    (void)unused;
    return PyObject_CallMethod(((reader_object *)op)->real, "__reduce__", NULL);
}

/* It answers as the method would. */
static PyObject *reader_getattr(PyObject *op, PyObject *name) {
    PyObject *value = PyObject_GenericGetAttr(op, name);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear(); /* the AttributeError */
        value = PyObject_GetAttr(((reader_object *)op)->real, name);
    }
    return value;
}

static PyMethodDef reader_methods[] = {
    {"__reduce__", reader_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef reader_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(reader_object, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot reader_slots[] = {
    {Py_tp_doc, (void *)"Stands before a mapping's extract_column() while process() runs."},
    {Py_tp_dealloc, reader_dealloc},
    {Py_tp_traverse, reader_traverse},
    {Py_tp_clear, reader_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getattro, reader_getattr},
    {Py_tp_methods, reader_methods},
    {Py_tp_members, reader_members},
    {0, NULL},
};

PyType_Spec ext_spec_column_reader = {
    "roastcoffea._core.ColumnReader", sizeof(reader_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    reader_slots};
