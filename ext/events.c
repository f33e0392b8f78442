#include "events.h"

#include "errors.h"

#include <math.h>

void ext_holder_release(ext_holder *holder) {
    while (holder->count > 0)
        Py_DECREF(holder->object[--holder->count]);
    roast_free(holder->branches);
    holder->branches = NULL;
}

roast_str ext_hold_text(ext_holder *holder, PyObject *object) {
    roast_str absent = {NULL, 0};
    if (object == NULL)
        return absent;
    Py_ssize_t len;
    const char *text = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &len) : NULL;
    const int room = (int)(sizeof holder->object / sizeof *holder->object);
    if (text == NULL || holder->count == room) {
        PyErr_Clear();
        Py_DECREF(object);
        return absent;
    }
    holder->object[holder->count++] = object;
    return (roast_str){text, (size_t)len};
}

/* ---- small steps that never raise ---- */

static PyObject *attribute(PyObject *object, PyObject *name) {
    PyObject *value = NULL;
    if (object != NULL && ext_optional_attr(object, name, &value) < 0)
        PyErr_Clear(); /* the user's property raised: the value is not to be had */
    return value;
}

static PyObject *item(PyObject *mapping, PyObject *key) {
    if (mapping == NULL)
        return NULL;
    if (PyDict_CheckExact(mapping)) {
        PyObject *value = PyDict_GetItemWithError(mapping, key);
        if (value == NULL)
            PyErr_Clear();
        return Py_XNewRef(value);
    }
    PyObject *value = PyMapping_Check(mapping) ? PyObject_GetItem(mapping, key) : NULL;
    if (value == NULL)
        PyErr_Clear();
    return value;
}

/* Takes the reference. */
static bool whole_number(PyObject *object, int64_t *out) {
    if (object == NULL)
        return false;
    PyObject *number = PyNumber_Index(object);
    Py_DECREF(object);
    long long value = number != NULL ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    *out = value;
    return true;
}

#define SET_FIELD(chunk, field, object)                                                            \
    do {                                                                                           \
        if (whole_number(object, &(chunk)->field))                                                 \
            (chunk)->have |= ROAST_CHUNK_HAS(field);                                               \
    } while (0)

/* ---- the file ---- */

static PyObject *factory_of(ext_state *state, PyObject *events) {
    PyObject *attrs = attribute(events, state->str_attrs);
    PyObject *factory = item(attrs, state->str_events_factory);
    Py_XDECREF(attrs);
    return factory;
}

/* uproot counts on the source: of the file, or of the file behind a directory. */
static PyObject *source_of(ext_state *state, PyObject *factory) {
    PyObject *handle = attribute(factory, state->str_file_handle);
    PyObject *source = attribute(handle, state->str_source);
    if (source == NULL) {
        PyObject *file = attribute(handle, state->str_file);
        source = attribute(file, state->str_source);
        Py_XDECREF(file);
    }
    Py_XDECREF(handle);
    return source;
}

bool ext_events_bytes_read(ext_state *state, PyObject *events, int64_t *out) {
    PyObject *factory = factory_of(state, events);
    PyObject *source = source_of(state, factory);
    bool known = whole_number(attribute(source, state->str_num_requested_bytes), out);
    Py_XDECREF(source);
    Py_XDECREF(factory);
    return known;
}

static bool have_seen(const roast_str *branches, uint32_t n, roast_str branch) {
    for (uint32_t i = n; i-- > 0;)
        if (roast_str_equal(branches[i], branch))
            return true;
    return false;
}

/* Each branch once, in the order of its first access. */
static void read_access_log(ext_state *state, PyObject *factory, ext_holder *holder,
                            roast_chunk *out) {
    PyObject *log = attribute(factory, state->str_access_log);
    if (log == NULL || log == Py_None) {
        Py_XDECREF(log);
        return;
    }
    PyObject *list = PySequence_Tuple(log);
    Py_DECREF(log);
    if (list == NULL) {
        PyErr_Clear();
        return;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(list);
    PyObject *names = PyTuple_New(n); /* keeps the names alive */
    holder->branches = roast_alloc((size_t)(n + 1) * sizeof *holder->branches);
    if (names == NULL || holder->branches == NULL) {
        ext_count_fault("no memory for the accessed branches", NULL);
        Py_XDECREF(names);
        Py_DECREF(list);
        return;
    }
    for (Py_ssize_t i = 0; i < n && out->n_branches < ROAST_MAX_BRANCHES; i++) {
        PyObject *name = attribute(PyTuple_GET_ITEM(list, i), state->str_branch);
        Py_ssize_t len;
        const char *text =
            name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &len) : NULL;
        if (text == NULL) {
            PyErr_Clear();
            Py_XDECREF(name);
            continue;
        }
        PyTuple_SET_ITEM(names, i, name);
        roast_str branch = {text, (size_t)len};
        if (!have_seen(holder->branches, out->n_branches, branch))
            holder->branches[out->n_branches++] = branch;
    }
    Py_DECREF(list);
    out->branches = holder->branches;
    out->has_branches = true;
    holder->object[holder->count++] = names;
}

/* ---- the task ---- */

static void read_task(ext_state *state, roast_utc now, ext_holder *holder, roast_chunk *out) {
    /* Only if Dask's worker is loaded anyway. */
    PyObject *module = PyImport_GetModule(state->str_distributed_worker);
    PyObject *task = attribute(module, state->str_thread_state);
    PyObject *start = attribute(task, state->str_start_time);
    if (start != NULL) {
        double seconds = PyFloat_AsDouble(start);
        if (seconds == -1.0 && PyErr_Occurred())
            PyErr_Clear();
        double waited = (double)now.ns - seconds * 1e9;
        if (seconds > 0 && waited >= 0 && waited < 9e18) {
            out->before_process_ns = (int64_t)waited;
            out->have |= ROAST_CHUNK_HAS(before_process_ns);
        }
        PyObject *key = attribute(task, state->str_key);
        if (key != NULL && !PyUnicode_Check(key))
            Py_SETREF(key, PyObject_Str(key)); /* keys may be tuples */
        PyErr_Clear();
        out->task_key = ext_hold_text(holder, key);
        PyObject *execution = attribute(task, state->str_execution_state);
        PyObject *worker = item(execution, state->str_worker);
        out->worker = ext_hold_text(holder, attribute(worker, state->str_address));
        Py_XDECREF(worker);
        Py_XDECREF(execution);
    }
    Py_XDECREF(start);
    Py_XDECREF(task);
    Py_XDECREF(module);
}

void ext_events_before(ext_state *state, PyObject *events, roast_utc now, ext_holder *holder,
                       roast_chunk *out) {
    read_task(state, now, holder, out);
    PyErr_Clear();
    if (events != NULL && ext_events_bytes_read(state, events, &out->metadata_bytes))
        out->have |= ROAST_CHUNK_HAS(metadata_bytes);
}

void ext_events_after(ext_state *state, PyObject *events, ext_holder *holder, roast_chunk *out) {
    if (events == NULL)
        return;
    Py_ssize_t size = PyObject_Size(events);
    if (size >= 0) {
        out->num_events = size;
        out->have |= ROAST_CHUNK_HAS(num_events);
    }
    PyErr_Clear();
    PyObject *metadata = attribute(events, state->str_metadata);
    out->dataset = ext_hold_text(holder, item(metadata, state->str_dataset));
    out->file = ext_hold_text(holder, item(metadata, state->str_filename));
    out->treename = ext_hold_text(holder, item(metadata, state->str_treename));
    out->uuid = ext_hold_text(holder, item(metadata, state->str_fileuuid));
    SET_FIELD(out, entry_start, item(metadata, state->str_entrystart));
    SET_FIELD(out, entry_stop, item(metadata, state->str_entrystop));
    Py_XDECREF(metadata);
    PyObject *factory = factory_of(state, events);
    if (factory != NULL) {
        PyObject *source = source_of(state, factory);
        SET_FIELD(out, bytes_read, attribute(source, state->str_num_requested_bytes));
        SET_FIELD(out, read_requests, attribute(source, state->str_num_requests));
        Py_XDECREF(source);
        read_access_log(state, factory, holder, out);
        Py_DECREF(factory);
    }
}
