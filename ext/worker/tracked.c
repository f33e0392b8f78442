/* track_metrics: the decorator of process().
 *
 * Switched off it is two attribute look-ups. Switched on it opens a chunk, calls process(), and leaves one record with
 * the channel or in the output, and one on the processor. A fault of ours is counted; the user's result or exception goes
 * through unchanged. */
#include "records/chunk_log.h"
#include "worker/current_chunk.h"
#include "common/errors.h"
#include "worker/events.h"
#include "worker/open_chunk.h"
#include "common/pairs.h"
#include "common/quiet.h"
#include "common/values.h"

#include <stddef.h>
#include <structmember.h>
#include <unistd.h>

typedef struct tracked_object {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    ext_state *state;
    PyObject *function;
    PyObject *dict;
} tracked_object;

/* ---- the record ---- */

static uint64_t next_chunk = 1; /* of this process; under the GIL */
static roast_mono loaded;       /* when a process() was first decorated here; 0: never. Likewise */

static roast_section *sections_of(const open_chunk *open) {
    roast_section *sections = roast_alloc((open->n_sections + 1) * sizeof *sections);
    for (size_t i = 0; sections != NULL && i < open->n_sections; i++) {
        const open_section *from = &open->sections[i];
        Py_ssize_t len = 0;
        const char *name = PyUnicode_AsUTF8AndSize(from->name, &len);
        if (name == NULL) {
            PyErr_Clear(); /* lone surrogates, which no encoding has; a str runs no other code */
            name = "?";
            len = 1;
        }
        sections[i] = (roast_section){.name = {name, (size_t)len},
                                      .kind = from->kind,
                                      .parent = from->parent,
                                      .count = (uint64_t)from->count,
                                      .start_ns = from->start_ns,
                                      .value = from->value,
                                      .before = from->before};
    }
    return sections;
}

/* The sum of a section's uses, as the dict shows it; false: no such section. */
static bool section_sum(const open_chunk *open, roast_section_kind kind, PyObject *name,
                        double *out) {
    bool found = false;
    *out = 0;
    for (size_t i = 0; i < open->n_sections; i++) {
        const open_section *section = &open->sections[i];
        if (section->kind != kind || !PyUnicode_Check(name) ||
            PyUnicode_Compare(section->name, name) != 0)
            continue;
        *out += open_section_public_value(kind, section->value);
        found = true;
    }
    return found;
}

/* Values that the user wrote into "timing", "memory" or "bytes". */
static int part_customs(ext_state *state, const open_chunk *open, PyObject *part,
                        roast_section_kind kind, roast_custom_scope scope, ext_customs *out) {
    ext_pairs pairs;
    if (!PyDict_Check(part))
        return ext_customs_add(state, out, ROAST_SCOPE_CHUNK, open_section_part(state, kind), part);
    int result = ext_pairs_open(&pairs, part, "the current chunk");
    while (result == 0 && ext_pairs_next(&pairs)) {
        double sum, seen = PyNumber_Check(pairs.value) ? PyFloat_AsDouble(pairs.value) : 0;
        ext_pass_over("a value of the current chunk could not be read");
        /* Sums of many uses differ in the last digits with the order of adding. */
        if (section_sum(open, kind, pairs.key, &sum) && seen - sum <= 1e-9 && sum - seen <= 1e-9)
            continue;
        result = ext_customs_add(state, out, scope, pairs.key, pairs.value);
    }
    ext_pairs_close(&pairs);
    return result;
}

static bool is_called(PyObject *key, PyObject *name) {
    return PyUnicode_Check(key) && PyUnicode_Compare(key, name) == 0;
}

static int collect_customs(ext_state *state, const open_chunk *open, ext_customs *out) {
    ext_pairs pairs;
    int result = ext_pairs_open(&pairs, open->mapping, "the current chunk");
    while (result == 0 && ext_pairs_next(&pairs)) {
        if (is_called(pairs.key, state->str_timing))
            result =
                part_customs(state, open, pairs.value, ROAST_SECTION_TIME, ROAST_SCOPE_TIMING, out);
        else if (is_called(pairs.key, state->str_memory))
            result = part_customs(state, open, pairs.value, ROAST_SECTION_MEMORY,
                                  ROAST_SCOPE_MEMORY, out);
        else if (is_called(pairs.key, state->str_bytes))
            result =
                part_customs(state, open, pairs.value, ROAST_SECTION_BYTES, ROAST_SCOPE_BYTES, out);
        else
            result = ext_customs_add(state, out, ROAST_SCOPE_CHUNK, pairs.key, pairs.value);
    }
    ext_pairs_close(&pairs);
    return result;
}

/* A str; NULL, without an exception, where the processor has none. */
static PyObject *topic_of(ext_state *state, PyObject *processor) {
    PyObject *topic = ext_own_attr(processor, state->str_topic);
    if (topic != NULL && !PyUnicode_Check(topic))
        Py_CLEAR(topic);
    return topic;
}

/* A log of this one chunk; NULL: a fault was counted. */
static PyObject *one_chunk_log(ext_state *state, open_chunk *open, const ext_holder *holder,
                               PyObject *topic, roast_chunk *chunk) {
    roast_str run;
    roast_chunklog *log = NULL;
    roast_error err = {0};
    ext_customs customs = {0};
    PyObject *result = NULL;
    if (open->mapping != NULL && collect_customs(state, open, &customs) != 0)
        ext_count_fault("a value of the current chunk could not be kept", NULL);
    chunk->faults = (int64_t)ext_take_new_faults();
    if (chunk->faults > 0)
        chunk->have |= ROAST_CHUNK_HAS(faults);
    chunk->token = roast_process_token();
    chunk->seq = next_chunk++;
    chunk->run = ext_quiet_text(topic, &run) ? roast_run_token(run) : 0;
    chunk->pid = getpid();
    chunk->host =
        (roast_str){PyBytes_AS_STRING(state->host), (size_t)PyBytes_GET_SIZE(state->host)};
    chunk->customs = customs.items;
    chunk->n_customs = customs.count;
    roast_section *sections = sections_of(open);
    chunk->sections = sections;
    chunk->n_sections = sections != NULL ? (uint32_t)open->n_sections : 0;
    if (sections != NULL && roast_chunklog_new(&log, &err) == ROAST_OK &&
        roast_chunklog_append(log, chunk, &err) == ROAST_OK) {
        ext_events_put_file(holder, chunk, log);
        result = ext_chunk_log_new(state, log);
        log = NULL;
    }
    if (result == NULL)
        ext_count_fault("a chunk could not be recorded", &err);
    roast_chunklog_free(log);
    roast_free(sections);
    ext_customs_release(&customs);
    return result;
}

/* ---- delivery ---- */

/* Hands a copy over to roastcoffea.worker.channel: so the record survives if the chunk raised, the output cannot take it along, or
 * the worker dies later. A new reference to the records that the output of this chunk has to take along, or NULL. */
static PyObject *hand_over(ext_state *state, PyObject *topic, PyObject *log, bool raised) {
    PyObject *done = NULL;
    PyObject *put = ext_import_put_record(state);
    PyObject *copy = put != NULL ? PyObject_CallMethodNoArgs(log, state->str_copy) : NULL;
    if (copy != NULL)
        done = PyObject_CallFunctionObjArgs(put, topic != NULL ? topic : Py_None, copy,
                                            raised ? Py_True : Py_False, NULL);
    Py_XDECREF(copy);
    if (done == NULL) {
        ext_count_fault("a chunk could not be sent apart from the output", NULL);
        return Py_NewRef(log);
    }
    if (!Py_IS_TYPE(done, state->type_chunk_log))
        Py_CLEAR(done); /* None */
    return done;
}

/* Whether Coffea merges such an output entry by entry, whatever the entries are. A class of the user's or of Coffea's
 * may merge in its own way, in which a list of ours has no place. */
static bool merges_entries(ext_state *state, PyObject *output) {
    return PyDict_CheckExact(output) || PyODict_CheckExact(output) ||
           (PyObject *)Py_TYPE(output) == ext_import_default_dict(state) ||
           (PyObject *)Py_TYPE(output) == ext_import_user_dict(state);
}

/* The output's list of chunks, if it has one; else the new one. */
static int put_into_output(ext_state *state, PyObject *output, PyObject *log) {
    PyObject *there = NULL, *both = NULL;
    if (!merges_entries(state, output))
        return PyErr_Occurred() ? -1 : 0;
    /* A default_factory would make the entry. */
    int found = PySequence_Contains(output, state->str_output_key);
    if (found > 0)
        found = ext_optional_item(output, state->str_output_key, &there);
    if (found < 0)
        return -1;
    if (there != NULL && PyList_Check(there)) {
        both = PyNumber_Add(there, log);
        if (both == NULL) {
            Py_DECREF(there);
            return -1;
        }
        log = both;
    }
    int result = PyObject_SetItem(output, state->str_output_key, log);
    Py_XDECREF(there);
    Py_XDECREF(both);
    return result;
}

/* processor._chunk_metrics: all that this very instance has seen. */
static int put_onto_processor(ext_state *state, PyObject *processor, PyObject *log) {
    PyObject *there = ext_own_attr(processor, state->str_chunk_metrics);
    int result;
    if (there != NULL && PyList_Check(there)) {
        PyObject *same = PyNumber_InPlaceAdd(there, log);
        result = same != NULL ? 0 : -1;
        Py_XDECREF(same);
    } else {
        PyObject *copy = PyObject_CallMethod(log, "copy", NULL);
        PyObject *kept = copy != NULL ? PyObject_CallMethod(copy, "stay_here", NULL) : NULL;
        result = kept != NULL ? PyObject_SetAttr(processor, state->str_chunk_metrics, kept) : -1;
        Py_XDECREF(kept);
        Py_XDECREF(copy);
        /* A processor that takes no attributes: the output still has the record. */
        if (result != 0 && (PyErr_ExceptionMatches(PyExc_AttributeError) ||
                            PyErr_ExceptionMatches(PyExc_TypeError))) {
            PyErr_Clear(); /* one of these two */
            result = 0;
        }
    }
    Py_XDECREF(there);
    return result;
}

static void put_exception(PyObject *exception, ext_holder *holder, roast_chunk *chunk) {
    /* A copy: the class may get another name before the record is made. */
    chunk->error_type = ext_hold_text(holder, PyUnicode_FromString(Py_TYPE(exception)->tp_name));
    if (chunk->error_type.data == NULL)
        chunk->error_type = roast_str_of("?");
    chunk->error_message = roast_str_of("");
    PyObject *text = PyObject_Str(exception);
    if (text == NULL)
        ext_pass_over("an exception has no text");
    roast_str message = ext_hold_text(holder, text);
    if (message.data != NULL)
        chunk->error_message = message;
}

/* ---- the call ---- */

typedef struct call {
    ext_state *state;
    PyObject *processor, *events;
    PyObject *current; /* the attribute on the processor meanwhile, or NULL */
    open_chunk *open;
    roast_mono entered;
    roast_chunk chunk;
    ext_holder holder;
} call;

/* Time spent on the previous chunk after its record was made. */
static _Thread_local int64_t unsaid_ns;
/* When process() last returned in this thread; 0: never. */
static _Thread_local roast_mono returned;

/* A task without a key is a whole call of an executor that takes its pieces in turn: a chunk begins when the last one of
 * its thread is over. */
static void limit_before(call *c) {
    int64_t since = (roast_mono_since(returned, c->entered) + 500) / 1000 * 1000;
    if (returned.ns != 0 && c->chunk.task_key.data == NULL &&
        (c->chunk.have & ROAST_CHUNK_HAS(before_process_ns)) && since < c->chunk.before_process_ns)
        c->chunk.before_process_ns = since > 0 ? since : 0;
}

/* Our own time in the thread so far: a record cannot contain the time of its own sending. */
static void put_measuring(call *c, roast_mono now) {
    int64_t in_process = c->chunk.duration_ns, since = roast_mono_since(c->entered, now);
    int64_t own = since - in_process + unsaid_ns;
    c->chunk.measuring_ns = own > 0 ? (own + 500) / 1000 * 1000 : 0;
    c->chunk.have |= ROAST_CHUNK_HAS(measuring_ns);
}

static void begin_call(call *c) {
    roast_utc entered = roast_system_now(); /* as Dask reads it */
    c->entered = roast_mono_now();
    c->open = open_chunk_begin(c->processor, c->events);
    if (c->open == NULL)
        return;
    c->current = ext_current_chunk_attach(c->state, c->processor);
    ext_events_before(c->state, c->events, entered, &c->holder, &c->chunk);
    limit_before(c);
    /* Where the task itself knows its start, the start of its process is long past. */
    if (next_chunk == 1 && loaded.ns != 0 &&
        (c->chunk.have & ROAST_CHUNK_HAS(before_process_ns)) == 0) {
        c->chunk.loaded_ns = (roast_mono_since(loaded, c->entered) + 500) / 1000 * 1000;
        c->chunk.have |= ROAST_CHUNK_HAS(loaded_ns);
    }
    open_chunk_start(c->open);
}

/* Removes everything again, as if it had not begun. The exception that is set stays. */
static void call_off(call *c) {
    if (c->open == NULL)
        return;
    PyObject *exception = ext_take_exception();
    open_chunk_end(c->open);
    ext_current_chunk_detach(c->state, c->processor, c->current);
    ext_holder_release(&c->holder);
    ext_restore_exception(exception);
}

/* Whatever fails in here, the result or the exception of process() does not change. */
static void end_call(call *c, PyObject *result) {
    if (c->open == NULL)
        return;
    open_chunk_measure(c->open, &c->chunk);
    returned = (roast_mono){c->open->start.ns + c->chunk.duration_ns};
    PyObject *exception = result == NULL ? ext_take_exception() : NULL;
    if (exception != NULL)
        put_exception(exception, &c->holder, &c->chunk);
    PyObject *topic = topic_of(c->state, c->processor);
    ext_events_after(c->state, c->events, topic, &c->holder, &c->chunk);
    roast_mono told = roast_mono_now();
    put_measuring(c, told);
    PyObject *log = one_chunk_log(c->state, c->open, &c->holder, topic, &c->chunk);
    open_chunk_end(c->open);
    ext_current_chunk_detach(c->state, c->processor, c->current);
    if (log != NULL) {
        PyObject *carried = hand_over(c->state, topic, log, exception != NULL);
        if (put_onto_processor(c->state, c->processor, log) != 0)
            ext_count_fault("the chunk could not be kept on the processor", NULL);
        if (result != NULL && carried != NULL && put_into_output(c->state, result, carried) != 0)
            ext_count_fault("the chunk could not be put into the output", NULL);
        Py_XDECREF(carried);
        Py_DECREF(log);
    }
    Py_XDECREF(topic);
    ext_holder_release(&c->holder);
    ext_restore_exception(exception);
    unsaid_ns = roast_mono_since(told, roast_mono_now());
}

/* Takes the reference. A flag whose truth value raises is not set. */
static bool is_set(PyObject *flag) {
    int truth = flag == Py_True;
    if (flag != NULL && flag != Py_True && flag != Py_False && flag != Py_None)
        truth = PyObject_IsTrue(flag);
    if (truth < 0)
        ext_pass_over("a flag could not be read");
    Py_XDECREF(flag);
    return truth > 0;
}

/* The object with the flag: of process(events) the function itself, if it is the processor; of process(self, events) its
 * first argument. Borrowed; NULL: not switched on. */
static PyObject *switched_on(tracked_object *self, PyObject *const *args, Py_ssize_t nargs) {
    PyObject *flag = self->state->str_collect;
    if (is_set(ext_own_attr((PyObject *)self, flag)))
        return (PyObject *)self;
    return nargs > 0 && is_set(ext_own_attr(args[0], flag)) ? args[0] : NULL;
}

/* The argument called events, or else the first one after self; NULL: there is none. */
static PyObject *events_of(ext_state *state, bool method, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames) {
    Py_ssize_t n_keywords = kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < n_keywords; i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(kwnames, i), state->str_events) == 0)
            return args[nargs + i];
    return nargs + n_keywords > method ? args[method] : NULL;
}

static PyObject *measured_call(tracked_object *self, PyObject *processor, PyObject *const *args,
                               size_t nargsf, PyObject *kwnames) {
    call c = {.state = self->state, .processor = processor};
    c.events = events_of(self->state, processor != (PyObject *)self, args,
                         PyVectorcall_NARGS(nargsf), kwnames);
    begin_call(&c);
    if (ext_must_stop()) {
        call_off(&c);
        return ext_let_pass(NULL);
    }
    PyObject *result = PyObject_Vectorcall(self->function, args, nargsf, kwnames);
    end_call(&c, result);
    return ext_let_pass(result);
}

/* process() inside process(): a part of the chunk that is open. */
static PyObject *inner_call(tracked_object *self, PyObject *processor, PyObject *const *args,
                            size_t nargsf, PyObject *kwnames) {
    PyObject *current = ext_current_chunk_attach(self->state, processor), *result = NULL;
    if (!ext_must_stop())
        result = PyObject_Vectorcall(self->function, args, nargsf, kwnames);
    PyObject *exception = ext_take_exception();
    ext_current_chunk_detach(self->state, processor, current);
    ext_restore_exception(exception);
    return ext_let_pass(result);
}

static PyObject *tracked_vectorcall(PyObject *op, PyObject *const *args, size_t nargsf,
                                    PyObject *kwnames) {
    tracked_object *self = (tracked_object *)op;
    PyObject *processor = switched_on(self, args, PyVectorcall_NARGS(nargsf));
    if (ext_must_stop())
        return ext_let_pass(NULL);
    if (processor == NULL)
        return PyObject_Vectorcall(self->function, args, nargsf, kwnames);
    return (open_chunk_here() != NULL ? inner_call : measured_call)(self, processor, args, nargsf,
                                                                    kwnames);
}

/* ---- the object: behaves like the function that it wraps ---- */

static PyObject *tracked_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"func", NULL};
    PyObject *function;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:track_metrics", keywords, &function))
        return NULL;
    if (!PyCallable_Check(function)) {
        PyErr_Format(PyExc_TypeError,
                     "track_metrics decorates process(): a function is expected, not %s",
                     Py_TYPE(function)->tp_name);
        return NULL;
    }
    tracked_object *self = PyObject_GC_New(tracked_object, type);
    if (self == NULL)
        return NULL;
    self->vectorcall = tracked_vectorcall;
    self->state = ext_state_of_final(type);
    self->function = Py_NewRef(function);
    self->dict = PyDict_New();
    if (loaded.ns == 0)
        loaded = roast_mono_now();
    PyObject_GC_Track(self);
    PyObject *update = ext_import_update_wrapper(self->state), *done = NULL;
    if (self->dict != NULL && update != NULL)
        done = PyObject_CallFunctionObjArgs(update, self, function, NULL);
    if (done == NULL)
        Py_CLEAR(self);
    Py_XDECREF(done);
    return (PyObject *)self;
}

static PyObject *tracked_get(PyObject *op, PyObject *instance, PyObject *owner) {
    (void)owner;
    if (instance == NULL || instance == Py_None)
        return Py_NewRef(op);
    return PyMethod_New(op, instance);
}

static PyObject *tracked_repr(PyObject *op) {
    return PyUnicode_FromFormat("<track_metrics of %R>", ((tracked_object *)op)->function);
}

/* Like a function: by name where another process can import it, by value otherwise. See decorator.py. */
static PyObject *tracked_reduce(PyObject *op, PyObject *unused) {
    (void)unused;
    PyObject *reduce = ext_import_reduce_tracked(((tracked_object *)op)->state);
    return reduce != NULL ? PyObject_CallOneArg(reduce, op) : NULL;
}

static int tracked_traverse(PyObject *op, visitproc visit, void *arg) {
    tracked_object *self = (tracked_object *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->function);
    Py_VISIT(self->dict);
    return 0;
}

static int tracked_clear(PyObject *op) {
    tracked_object *self = (tracked_object *)op;
    Py_CLEAR(self->function);
    Py_CLEAR(self->dict);
    return 0;
}

static void tracked_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    tracked_clear(op);
    PyObject_GC_Del(op);
    Py_DECREF(type);
}

static PyMethodDef tracked_methods[] = {
    {"__reduce__", tracked_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef tracked_members[] = {
    {"_function", T_OBJECT, offsetof(tracked_object, function), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(tracked_object, dict), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(tracked_object, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef tracked_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot tracked_slots[] = {
    {Py_tp_doc, (void *)"track_metrics(func)\n--\n\n"
                        "Decorator of process(): measures each chunk while a MetricsCollector is "
                        "open, and does nothing otherwise."},
    {Py_tp_new, tracked_new},
    {Py_tp_dealloc, tracked_dealloc},
    {Py_tp_traverse, tracked_traverse},
    {Py_tp_clear, tracked_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, tracked_get},
    {Py_tp_repr, tracked_repr},
    {Py_tp_methods, tracked_methods},
    {Py_tp_members, tracked_members},
    {Py_tp_getset, tracked_getset},
    {0, NULL},
};

PyType_Spec ext_spec_tracked = {"roastcoffea._core.track_metrics", sizeof(tracked_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                    Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                                    Py_TPFLAGS_IMMUTABLETYPE,
                                tracked_slots};
