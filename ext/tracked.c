/* track_metrics: the decorator of process().
 *
 * Switched off it is one attribute look-up. Switched on it opens a chunk, calls process(), and leaves one
 * record in the output and one on the processor. A fault of ours is counted; the user's result or
 * exception goes through unchanged. */
#include "chunk_log.h"
#include "current_chunk.h"
#include "errors.h"
#include "events.h"
#include "open_chunk.h"
#include "outbox.h"
#include "pairs.h"
#include "quiet.h"
#include "values.h"

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

/* What the user wrote into "timing", "memory" or "bytes" by hand. */
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

/* Asked for once; `token` is another one in a forked child. Under the GIL. */
static int64_t own_process_number(uint64_t token) {
    static uint64_t known_in;
    static int64_t number;
    if (known_in != token) {
        number = getpid();
        known_in = token;
    }
    return number;
}

/* A log of this one chunk; NULL: a fault was counted. */
static PyObject *one_chunk_log(ext_state *state, open_chunk *open, roast_chunk *chunk) {
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
    chunk->run = ext_outbox_run(state, open->processor);
    chunk->pid = own_process_number(chunk->token);
    chunk->host =
        (roast_str){PyBytes_AS_STRING(state->host), (size_t)PyBytes_GET_SIZE(state->host)};
    chunk->customs = customs.items;
    chunk->n_customs = customs.count;
    roast_section *sections = sections_of(open);
    chunk->sections = sections;
    chunk->n_sections = sections != NULL ? (uint32_t)open->n_sections : 0;
    if (sections != NULL && roast_chunklog_new(&log, &err) == ROAST_OK &&
        roast_chunklog_append(log, chunk, &err) == ROAST_OK) {
        ext_events_put_file(state, open->processor, chunk, log);
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

/* ---- where it goes ---- */

/* The output's list of chunks, if it has one; else the new one. */
static int put_into_output(ext_state *state, PyObject *output, PyObject *log) {
    int is_mapping = PyDict_Check(output);
    if (!is_mapping)
        is_mapping = PyObject_IsInstance(output, state->mutable_mapping);
    if (is_mapping <= 0)
        return is_mapping;
    PyObject *there = NULL, *both = NULL;
    if (PyDict_Check(output)) {
        there = Py_XNewRef(PyDict_GetItemWithError(output, state->str_output_key));
        if (there == NULL && PyErr_Occurred())
            return -1;
    } else if (ext_optional_item(output, state->str_output_key, &there) < 0) {
        return -1;
    }
    if (there != NULL && PyList_Check(there)) {
        both = PyNumber_Add(there, log);
        if (both == NULL) {
            Py_DECREF(there);
            return -1;
        }
        log = both;
    }
    int result = PyDict_CheckExact(output) ? PyDict_SetItem(output, state->str_output_key, log)
                                           : PyObject_SetItem(output, state->str_output_key, log);
    Py_XDECREF(there);
    Py_XDECREF(both);
    return result;
}

/* processor._chunk_metrics: all that this very instance has seen. */
static int put_onto_processor(ext_state *state, PyObject *processor, PyObject *log) {
    PyObject *there = NULL;
    if (ext_optional_attr(processor, state->str_chunk_metrics, &there) < 0)
        return -1;
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
        /* A processor that takes no attributes: the output has the record all the same. */
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
    PyObject *current; /* what stands on the processor meanwhile, or NULL */
    open_chunk *open;
    roast_mono entered;
    roast_chunk chunk;
    ext_holder holder;
} call;

/* What was left to do for the chunk before when its record was already made. */
static _Thread_local int64_t unsaid_ns;

/* Our own part of the thread's time, as far as it is over: a record cannot tell how long it takes to send. */
static void put_measuring(call *c, roast_mono now) {
    int64_t in_process = c->chunk.duration_ns, since = roast_mono_since(c->entered, now);
    int64_t own = since - in_process + unsaid_ns;
    c->chunk.measuring_ns = own > 0 ? (own + 500) / 1000 * 1000 : 0;
    c->chunk.have |= ROAST_CHUNK_HAS(measuring_ns);
}

static void begin_call(call *c) {
    roast_utc entered = roast_system_now(); /* as Dask reads it */
    c->entered = roast_mono_now();
    c->open = open_chunk_begin(c->processor);
    if (c->open == NULL)
        return;
    c->current = ext_current_chunk_attach(c->state, c->processor);
    ext_events_before(c->state, c->events, entered, &c->holder, &c->chunk);
    open_chunk_start(c->open);
}

/* Takes everything off again, as if it had not begun. The exception that is set stays. */
static void call_off(call *c) {
    if (c->open == NULL)
        return;
    PyObject *exception = ext_take_exception();
    open_chunk_end(c->open);
    ext_current_chunk_detach(c->state, c->processor, c->current);
    ext_holder_release(&c->holder);
    ext_restore_exception(exception);
}

/* Whatever goes wrong in here, the result or the exception of process() stays as it is. */
static void end_call(call *c, PyObject *result) {
    if (c->open == NULL)
        return;
    open_chunk_measure(c->open, &c->chunk);
    PyObject *exception = result == NULL ? ext_take_exception() : NULL;
    if (exception != NULL)
        put_exception(exception, &c->holder, &c->chunk);
    ext_events_after(c->state, c->events, &c->holder, &c->chunk);
    roast_mono told = roast_mono_now();
    put_measuring(c, told);
    PyObject *log = one_chunk_log(c->state, c->open, &c->chunk);
    open_chunk_end(c->open);
    ext_current_chunk_detach(c->state, c->processor, c->current);
    if (log != NULL) {
        ext_outbox_put(c->state, c->processor, log, exception != NULL);
        if (put_onto_processor(c->state, c->processor, log) != 0)
            ext_count_fault("the chunk could not be kept on the processor", NULL);
        if (result != NULL && put_into_output(c->state, result, log) != 0)
            ext_count_fault("the chunk could not be put into the output", NULL);
        Py_DECREF(log);
    }
    ext_holder_release(&c->holder);
    ext_restore_exception(exception);
    unsaid_ns = roast_mono_since(told, roast_mono_now());
}

/* process(events): a plain function; process(self, events): a method. */
static void bind_call(tracked_object *self, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *kwnames, call *c) {
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(kwnames, i), self->state->str_events) == 0)
            c->events = args[nargs + i];
    bool method = nargs >= 2 || (nargs == 1 && c->events != NULL);
    c->processor = method ? args[0] : (PyObject *)self;
    if (c->events == NULL && nargs > 0)
        c->events = args[method ? 1 : 0];
}

/* Takes the reference. A flag whose truth cannot be had is not set. */
static bool is_set(PyObject *flag) {
    int truth = flag == Py_True;
    if (flag != NULL && flag != Py_True && flag != Py_False && flag != Py_None)
        truth = PyObject_IsTrue(flag);
    if (truth < 0)
        ext_pass_over("a flag could not be read");
    Py_XDECREF(flag);
    return truth > 0;
}

static PyObject *tracked_vectorcall(PyObject *op, PyObject *const *args, size_t nargsf,
                                    PyObject *kwnames) {
    tracked_object *self = (tracked_object *)op;
    ext_state *state = self->state;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    PyObject *processor = nargs > 0 && (nargs > 1 || kwnames != NULL) ? args[0] : op;
    bool on = is_set(ext_quiet_attr(processor, state->str_collect));
    call c = {.state = state};
    if (on) {
        bind_call(self, args, nargs, kwnames, &c);
        begin_call(&c);
    }
    if (ext_must_stop()) {
        call_off(&c);
        return ext_let_pass(NULL);
    }
    PyObject *result = PyObject_Vectorcall(self->function, args, nargsf, kwnames);
    if (!on)
        return result;
    end_call(&c, result);
    return ext_let_pass(result);
}

/* ---- the object: behaves like the function that it wraps ---- */

static int copy_attribute(tracked_object *self, PyObject *name) {
    PyObject *value = NULL;
    if (ext_optional_attr(self->function, name, &value) < 0)
        return -1;
    int result = value != NULL ? PyDict_SetItem(self->dict, name, value) : 0;
    Py_XDECREF(value);
    return result;
}

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
    PyObject_GC_Track(self);
    PyObject *inner = NULL;
    if (self->dict == NULL || ext_optional_attr(function, self->state->str_dict, &inner) < 0 ||
        (inner != NULL && PyDict_Check(inner) && PyDict_Update(self->dict, inner) != 0) ||
        copy_attribute(self, self->state->str_module) != 0 ||
        copy_attribute(self, self->state->str_name) != 0 ||
        copy_attribute(self, self->state->str_qualname) != 0 ||
        copy_attribute(self, self->state->str_doc) != 0 ||
        PyDict_SetItem(self->dict, self->state->str_wrapped, function) != 0) {
        Py_XDECREF(inner);
        Py_DECREF(self);
        return NULL;
    }
    Py_XDECREF(inner);
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

/* An entry of its __dict__, which other code may replace meanwhile: a new reference; NULL if there is none. */
static PyObject *own_entry(const tracked_object *self, PyObject *name) {
    PyObject *dict = Py_NewRef(self->dict);
    PyObject *value = ext_quiet_item(dict, name);
    Py_DECREF(dict);
    return value;
}

/* What `qualname` leads to from a module, whose reference it takes; NULL, without an exception, if nothing. */
static PyObject *walk_from(PyObject *object, PyObject *qualname) {
    PyObject *dot = PyUnicode_FromString(".");
    PyObject *parts = object != NULL && dot != NULL ? PyUnicode_Split(qualname, dot, -1) : NULL;
    Py_XDECREF(dot);
    if (parts == NULL)
        Py_CLEAR(object);
    for (Py_ssize_t i = 0; object != NULL && i < PyList_GET_SIZE(parts); i++) {
        PyObject *next = ext_quiet_attr(object, PyList_GET_ITEM(parts, i));
        Py_SETREF(object, next);
    }
    ext_pass_over("a name could not be looked up");
    Py_XDECREF(parts);
    return object;
}

typedef enum { NOT_THERE, ITSELF_THERE, ORIGINAL_THERE } by_name;

/* Whether `module.qualname` leads to this very object, or to the one that it is a copy of. */
static by_name look_up(tracked_object *self, PyObject *module_name, PyObject *qualname) {
    PyObject *found = walk_from(PyImport_GetModule(module_name), qualname);
    by_name result = NOT_THERE;
    if (found == (PyObject *)self)
        result = ITSELF_THERE;
    else if (found != NULL && Py_TYPE(found) == Py_TYPE(self) &&
             ((tracked_object *)found)->function == self->function)
        result = ORIGINAL_THERE;
    Py_XDECREF(found);
    return result;
}

/* track_metrics._copy(module, qualname): of the one that stands there. Another process switches the copy on:
 * the one of the module would stay on, as nobody there switches it off. */
static PyObject *tracked_copy(PyObject *type, PyObject *args) {
    PyObject *module_name, *qualname;
    if (!PyArg_ParseTuple(args, "UU:_copy", &module_name, &qualname))
        return NULL;
    PyObject *module = PyImport_Import(module_name);
    if (module == NULL)
        return NULL;
    PyObject *found = walk_from(module, qualname), *copy = NULL;
    if (found != NULL && Py_TYPE(found) == (PyTypeObject *)type)
        copy = PyObject_CallOneArg(type, ((tracked_object *)found)->function);
    else
        PyErr_Format(PyExc_AttributeError, "%U.%U is no function with @track_metrics", module_name,
                     qualname);
    Py_XDECREF(found);
    return ext_let_pass(copy);
}

/* What a collector has set on a function. NULL with an exception set. */
static PyObject *switches_of(const tracked_object *self) {
    PyObject *names[] = {self->state->str_collect, self->state->str_topic};
    PyObject *switches = PyDict_New();
    for (size_t i = 0; switches != NULL && i < sizeof names / sizeof *names; i++) {
        PyObject *value = own_entry(self, names[i]);
        if (value != NULL && PyDict_SetItem(switches, names[i], value) != 0)
            Py_CLEAR(switches);
        Py_XDECREF(value);
    }
    return switches;
}

static PyObject *reduce_to_copy(tracked_object *self, PyObject *module, PyObject *qualname) {
    PyObject *make = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "_copy");
    PyObject *switches = make != NULL ? switches_of(self) : NULL;
    if (switches == NULL) {
        Py_XDECREF(make);
        return NULL;
    }
    return Py_BuildValue("(N(OO)N)", make, module, qualname, switches);
}

/* cloudpickle.register_pickle_by_value(module) was called for it. */
static bool is_sent_by_value(PyObject *module_name) {
    PyObject *name = PyUnicode_FromString("cloudpickle");
    PyObject *cloudpickle = name != NULL ? PyImport_GetModule(name) : NULL;
    PyObject *registry =
        cloudpickle != NULL
            ? PyObject_CallMethod(cloudpickle, "list_registry_pickle_by_value", NULL)
            : NULL;
    int found = registry != NULL ? PySequence_Contains(registry, module_name) : 0;
    ext_pass_over("cloudpickle could not be asked");
    Py_XDECREF(name);
    Py_XDECREF(cloudpickle);
    Py_XDECREF(registry);
    return found == 1;
}

static PyObject *reduce_by_value(tracked_object *self) {
    PyObject *dict = Py_NewRef(self->dict), *state = PyDict_Copy(dict);
    Py_DECREF(dict);
    if (state == NULL || PyDict_DelItem(state, self->state->str_wrapped) != 0) {
        Py_XDECREF(state);
        return NULL;
    }
    return Py_BuildValue("(O(O)N)", Py_TYPE(self), self->function, state);
}

/* Like a function: by name where another process can import it, by value otherwise. What __main__ holds
 * is never importable elsewhere. By name alone, what a collector has set on it would not arrive. */
static PyObject *tracked_reduce(PyObject *op, PyObject *unused) {
    (void)unused;
    tracked_object *self = (tracked_object *)op;
    PyObject *module = own_entry(self, self->state->str_module), *result = NULL;
    PyObject *qualname = own_entry(self, self->state->str_qualname);
    by_name found = NOT_THERE;
    if (module != NULL && qualname != NULL && PyUnicode_Check(module) &&
        PyUnicode_Check(qualname) && PyUnicode_Compare(module, self->state->str_main) != 0 &&
        !is_sent_by_value(module))
        found = look_up(self, module, qualname);
    if (found == ITSELF_THERE && !is_set(own_entry(self, self->state->str_collect)))
        result = Py_NewRef(qualname);
    else if (found != NOT_THERE)
        result = reduce_to_copy(self, module, qualname);
    else
        result = reduce_by_value(self);
    Py_XDECREF(module);
    Py_XDECREF(qualname);
    return ext_let_pass(result);
}

static PyObject *tracked_setstate(PyObject *op, PyObject *state) {
    PyObject *dict = Py_NewRef(((tracked_object *)op)->dict);
    int result = PyDict_Check(state) ? PyDict_Update(dict, state) : 0;
    Py_DECREF(dict);
    if (result != 0)
        return NULL;
    Py_RETURN_NONE;
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
    {"__setstate__", tracked_setstate, METH_O, NULL},
    {"_copy", tracked_copy, METH_VARARGS | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef tracked_members[] = {
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
