/* track_time, track_memory, track_bytes and record_metric().
 *
 * A value goes to the mapping that somebody put into processor._roastcoffea_current_chunk, or to the chunk that this
 * thread has open, whichever object is named: process() may call that of another processor. Without a chunk or a mapping,
 * the value is dropped; if another thread has a chunk open for the processor, that chunk counts it. A fault of ours in
 * here is counted and never reaches the user. */
#include "worker/sections.h"

#include "common/errors.h"
#include "worker/events.h"
#include "worker/open_chunk.h"
#include "common/quiet.h"

#include <stddef.h>

/* ---- the target of a section's value ---- */

typedef struct target {
    open_chunk *chunk; /* or */
    PyObject *foreign; /* a mapping of other code; owned */
} target;

static target find_target(ext_state *state, PyObject *processor) {
    target found = {open_chunk_here(), NULL};
    PyObject *current =
        processor != Py_None ? ext_own_attr(processor, state->str_current_chunk) : NULL;
    if (current != NULL && Py_TYPE(current) != state->type_current_chunk &&
        ext_is_mutable_mapping(current))
        return (target){NULL, current};
    Py_XDECREF(current);
    if (found.chunk == NULL)
        open_chunk_miss(processor);
    return found;
}

/* ---- the three trackers: one object, three ways to read a number ---- */

/* One use of a tracker, between enter and exit. */
typedef struct section_use {
    target to;
    uint64_t serial;           /* of the chunk */
    int32_t index;             /* of the section in the chunk; -1: not kept */
    bool readable;             /* the number at entry could be read */
    int64_t first;             /* the number at entry */
    struct section_use *outer; /* the same object, entered before: on the heap */
} section_use;

typedef struct section_object {
    PyObject_HEAD
    ext_state *state;
    PyObject *processor, *name, *events;
    roast_section_kind kind;
    int depth; /* how often it is entered right now */
    section_use use;
} section_object;

static bool read_number(section_object *self, int64_t *out) {
    if (self->kind == ROAST_SECTION_TIME) {
        *out = roast_mono_now().ns;
        return true;
    }
    if (self->kind == ROAST_SECTION_BYTES)
        return ext_events_bytes_read(self->state, self->events, out);
    roast_reading reading = {0};
    roast_probe_read(ROAST_READ_STATM, &reading);
    *out = (int64_t)reading.rss_bytes;
    return (reading.have & ROAST_HAVE(rss_bytes)) != 0;
}

/* Begins one use more; false if it is not kept. */
static bool push_use(section_object *self) {
    section_use *outer = NULL;
    if (self->depth++ > 0) {
        outer = roast_alloc(sizeof *outer);
        if (outer == NULL) {
            /* Counted in depth, so that the exits match; the outer use just goes on. */
            ext_count_fault("no memory for a section inside itself", NULL);
            return false;
        }
        *outer = self->use;
    }
    self->use = (section_use){.outer = outer, .index = -1};
    return true;
}

/* Takes the innermost use out: its target is the caller's. */
static section_use pop_use(section_object *self) {
    section_use use = self->use, *outer = use.outer;
    self->use = outer != NULL ? *outer : (section_use){.index = -1};
    roast_free(outer);
    self->depth--;
    return use;
}

static PyObject *section_enter(PyObject *op, PyObject *unused) {
    (void)unused;
    section_object *self = (section_object *)op;
    /* Into a use of its own: looking for these may run code that enters or leaves the section itself. */
    section_use use = {.index = -1, .to = find_target(self->state, self->processor)};
    open_chunk *chunk = use.to.chunk;
    bool wanted = chunk != NULL || use.to.foreign != NULL;
    if (wanted && self->kind != ROAST_SECTION_TIME)
        use.readable = read_number(self, &use.first);
    if (ext_must_stop()) {
        Py_XDECREF(use.to.foreign);
        return ext_let_pass(NULL);
    }
    if (!push_use(self)) {
        Py_XDECREF(use.to.foreign);
        return Py_NewRef(op);
    }
    use.outer = self->use.outer;
    if (wanted && self->kind == ROAST_SECTION_TIME)
        use.readable = read_number(self, &use.first);
    if (chunk != NULL) {
        bool timed = self->kind == ROAST_SECTION_TIME;
        int64_t now = timed ? use.first : roast_mono_now().ns;
        use.serial = chunk->serial;
        if (use.readable)
            use.index = open_chunk_enter(chunk, self->name, self->kind, now - chunk->start.ns,
                                         timed ? 0 : use.first);
    }
    self->use = use;
    return Py_NewRef(op);
}

static void record(section_object *self, const section_use *use, int64_t value) {
    PyObject *part = open_section_part(self->state, self->kind);
    double public_value = open_section_public_value(self->kind, value);
    if (use->to.foreign != NULL) {
        if (ext_add_to_mapping(use->to.foreign, part, self->name, public_value) != 0)
            ext_count_fault("a section could not be written into the mapping that is in its place",
                            NULL);
        return;
    }
    open_chunk *chunk = open_chunk_if_alive(use->to.chunk, use->serial);
    if (chunk == NULL || use->index < 0)
        return;
    open_chunk_exit(chunk, use->index, value);
    if (chunk->mapping != NULL &&
        ext_add_to_mapping(chunk->mapping, part, self->name, public_value) != 0)
        ext_count_fault("a section could not be added to the current chunk", NULL);
}

static PyObject *section_exit(PyObject *op, PyObject *const *args, Py_ssize_t nargs) {
    (void)args;
    (void)nargs;
    section_object *self = (section_object *)op;
    if (self->depth == 0)
        Py_RETURN_FALSE;
    /* First: what follows may run code that enters or leaves the section itself. */
    section_use use = pop_use(self);
    int64_t last = 0;
    if (use.readable && (use.to.chunk != NULL || use.to.foreign != NULL) &&
        read_number(self, &last))
        record(self, &use, roast_sub_capped(last, use.first));
    else if (use.index >= 0 && open_chunk_if_alive(use.to.chunk, use.serial) != NULL)
        open_chunk_exit(use.to.chunk, use.index, 0);
    Py_XDECREF(use.to.foreign);
    return ext_let_pass(Py_NewRef(Py_False));
}

/* ---- making and unmaking ---- */

enum { PROCESSOR, EVENTS, NAME, PARAMETERS };

/* Parameters by position, or by the names that the three dialects use. */
static int bind_arguments(const char *type, bool with_events, PyObject *const *args,
                          Py_ssize_t nargs, PyObject *kwnames, PyObject *bound[PARAMETERS]) {
    static const char *const names[PARAMETERS][2] = {
        {"processor", "processor_self"}, {"events", "events"}, {"name", "section_name"}};
    Py_ssize_t taken = 0, n_keywords = kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0;
    for (int i = 0; i < PARAMETERS; i++) {
        bound[i] = NULL;
        if (i == EVENTS && !with_events)
            continue;
        if (taken < nargs)
            bound[i] = args[taken++];
        for (Py_ssize_t k = 0; k < n_keywords && bound[i] == NULL; k++) {
            PyObject *keyword = PyTuple_GET_ITEM(kwnames, k);
            if (PyUnicode_CompareWithASCIIString(keyword, names[i][0]) == 0 ||
                PyUnicode_CompareWithASCIIString(keyword, names[i][1]) == 0) {
                bound[i] = args[nargs + k];
                taken++;
            }
        }
        if (bound[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() is missing the argument '%s'", type, names[i][0]);
            return -1;
        }
    }
    if (taken == nargs + n_keywords)
        return 0;
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected or repeated argument", type);
    return -1;
}

static PyObject *make_section(PyTypeObject *type, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames) {
    ext_state *state = ext_state_of_final(type);
    roast_section_kind kind = type == state->type_time_section     ? ROAST_SECTION_TIME
                              : type == state->type_memory_section ? ROAST_SECTION_MEMORY
                                                                   : ROAST_SECTION_BYTES;
    PyObject *bound[PARAMETERS];
    if (kwnames == NULL && nargs == 2 && kind != ROAST_SECTION_BYTES) {
        bound[PROCESSOR] = args[0];
        bound[EVENTS] = NULL;
        bound[NAME] = args[1];
    } else if (bind_arguments(strrchr(type->tp_name, '.') + 1, kind == ROAST_SECTION_BYTES, args,
                              nargs, kwnames, bound) != 0) {
        return NULL;
    }
    PyObject *name = bound[NAME];
    name = PyUnicode_CheckExact(name) ? Py_NewRef(name) : PyObject_Str(name);
    if (name != NULL && !PyUnicode_CheckExact(name)) /* its hash may run code of the user's */
        Py_SETREF(name, PyUnicode_FromObject(name));
    if (name == NULL)
        return NULL;
    section_object *self = PyObject_GC_New(section_object, type);
    if (self == NULL) {
        Py_DECREF(name);
        return NULL;
    }
    self->state = state;
    self->processor = Py_NewRef(bound[PROCESSOR]);
    self->events = Py_XNewRef(bound[EVENTS]);
    self->name = name;
    self->kind = kind;
    self->depth = 0;
    self->use = (section_use){.index = -1};
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static PyObject *section_vectorcall(PyObject *type, PyObject *const *args, size_t nargsf,
                                    PyObject *kwnames) {
    return make_section((PyTypeObject *)type, args, PyVectorcall_NARGS(nargsf), kwnames);
}

/* Only reached through type.__new__, which no hot path uses. */
static PyObject *section_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "call the type itself to pass arguments by name");
        return NULL;
    }
    return make_section(type, &PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args), NULL);
}

static int section_traverse(PyObject *op, visitproc visit, void *arg) {
    section_object *self = (section_object *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->processor);
    Py_VISIT(self->events);
    Py_VISIT(self->use.to.foreign);
    for (section_use *use = self->use.outer; use != NULL; use = use->outer)
        Py_VISIT(use->to.foreign);
    return 0;
}

static int section_clear(PyObject *op) {
    section_object *self = (section_object *)op;
    Py_CLEAR(self->processor);
    Py_CLEAR(self->events);
    Py_CLEAR(self->use.to.foreign);
    return 0;
}

static void section_dealloc(PyObject *op) {
    section_object *self = (section_object *)op;
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    section_clear(op);
    while (self->use.outer != NULL) {
        section_use *outer = self->use.outer;
        self->use.outer = outer->outer;
        Py_XDECREF(outer->to.foreign);
        roast_free(outer);
    }
    Py_XDECREF(self->name);
    PyObject_GC_Del(op);
    Py_DECREF(type);
}

static PyMethodDef section_methods[] = {
    {"__enter__", section_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))section_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

#define SECTION_SPEC(id, name, text)                                                               \
    static PyType_Slot id##_slots[] = {                                                            \
        {Py_tp_doc, (void *)text},                                                                 \
        {Py_tp_new, section_new},                                                                  \
        {Py_tp_dealloc, section_dealloc},                                                          \
        {Py_tp_traverse, section_traverse},                                                        \
        {Py_tp_clear, section_clear},                                                              \
        {Py_tp_methods, section_methods},                                                          \
        {0, NULL},                                                                                 \
    };                                                                                             \
    PyType_Spec ext_spec_##id = {                                                                  \
        "roastcoffea._core." name, sizeof(section_object), 0,                                      \
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, id##_slots}

SECTION_SPEC(
    time_section, "track_time",
    "track_time(processor, name)\n--\n\n"
    "Context manager: the time spent in a part of process(), under `name`. Where process() "
    "is a function, pass its events or None as the processor.");
SECTION_SPEC(memory_section, "track_memory",
             "track_memory(processor, name)\n--\n\n"
             "Context manager: the change of resident memory over a part of process().");
SECTION_SPEC(bytes_section, "track_bytes",
             "track_bytes(processor, events, name)\n--\n\n"
             "Context manager: the bytes requested from the file over a part of process().");

void ext_sections_ready(ext_state *state) {
    state->type_time_section->tp_vectorcall = section_vectorcall;
    state->type_memory_section->tp_vectorcall = section_vectorcall;
    state->type_bytes_section->tp_vectorcall = section_vectorcall;
}

/* ---- values of the user's own trackers ---- */

/* In somebody else's mapping the value goes under "custom_metrics", where a chunk shows it too. */
static int record_metric(ext_state *state, PyObject *processor, PyObject *name, PyObject *value) {
    target to = find_target(state, processor);
    PyObject *mapping = NULL;
    if (to.chunk == NULL && to.foreign == NULL)
        return 0;
    if (to.chunk != NULL)
        mapping = Py_XNewRef(open_chunk_mapping(state, to.chunk));
    else
        mapping = ext_part_of(to.foreign, state->str_custom_metrics);
    int result = mapping != NULL ? PyObject_SetItem(mapping, name, value) : -1;
    Py_XDECREF(mapping);
    Py_XDECREF(to.foreign);
    return result;
}

PyObject *ext_record_metric(PyObject *module, PyObject *args) {
    PyObject *processor, *name, *value;
    if (!PyArg_ParseTuple(args, "OOO:record_metric", &processor, &name, &value))
        return NULL;
    if (record_metric(ext_state_of_module(module), processor, name, value) != 0)
        ext_count_fault("record_metric", NULL);
    return ext_let_pass(Py_NewRef(Py_None));
}

PyObject *ext_process_memory(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    roast_reading reading = {0};
    roast_probe_read(ROAST_READ_STATM | ROAST_READ_PEAK, &reading);
    /* Without /proc only the peak is known; it is better than nothing. */
    if (!(reading.have & ROAST_HAVE(rss_bytes)))
        reading.rss_bytes = reading.peak_rss_bytes;
    if (!(reading.have & (ROAST_HAVE(rss_bytes) | ROAST_HAVE(peak_rss_bytes)))) {
        PyErr_SetString(PyExc_OSError, "the memory of this process cannot be read");
        return NULL;
    }
    return PyFloat_FromDouble((double)reading.rss_bytes * 1e-6);
}
