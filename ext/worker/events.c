#include "worker/events.h"

#include "common/errors.h"
#include "common/quiet.h"
#include "worker/reads.h"
#include "common/values.h"
#include "roast/proc.h"

#include <stdlib.h>
#include <string.h>

void ext_holder_release(ext_holder *holder) {
    ext_handle_drop(&holder->handle);
    ext_reads_detach(holder->reader);
    Py_CLEAR(holder->reader);
    while (holder->count > 0)
        Py_DECREF(holder->object[--holder->count]);
    Py_CLEAR(holder->about_file);
    roast_free(holder->branches);
    holder->branches = NULL;
}

/* Takes the reference; false: the holder is full. */
static bool hold(ext_holder *holder, PyObject *object) {
    if (holder->count == (int)(sizeof holder->object / sizeof *holder->object)) {
        Py_DECREF(object);
        return false;
    }
    holder->object[holder->count++] = object;
    return true;
}

roast_str ext_hold_text(ext_holder *holder, PyObject *object) {
    roast_str text;
    PyObject *held = object != NULL && PyUnicode_Check(object) ? ext_utf8(object, &text) : NULL;
    Py_XDECREF(object);
    if (held == NULL)
        ext_pass_over("a text could not be read");
    return held != NULL && hold(holder, held) ? text : (roast_str){NULL, 0};
}

/* The same for a name, which need not be a str: Coffea takes a year as a dataset, or a path as a file. */
static roast_str hold_name(ext_holder *holder, PyObject *object) {
    if (object != NULL && object != Py_None && !PyUnicode_Check(object)) {
        Py_SETREF(object, PyObject_Str(object));
        if (object == NULL)
            ext_count_fault("a name could not be read", NULL);
    }
    return ext_hold_text(holder, object);
}

#define SET_FIELD(chunk, field, object)                                                            \
    do {                                                                                           \
        if (ext_quiet_int(object, &(chunk)->field))                                                \
            (chunk)->have |= ROAST_CHUNK_HAS(field);                                               \
    } while (0)

/* ---- the file ---- */

static PyObject *factory_of(ext_state *state, PyObject *events) {
    PyObject *attrs = ext_quiet_attr(events, state->str_attrs);
    PyObject *factory = ext_quiet_item(attrs, state->str_events_factory);
    Py_XDECREF(attrs);
    return factory;
}

/* uproot counts on the source: of the file, or of the file behind a directory. */
static PyObject *source_of(ext_state *state, PyObject *factory) {
    PyObject *handle = ext_quiet_attr(factory, state->str_file_handle);
    PyObject *source = ext_quiet_attr(handle, state->str_source);
    if (source == NULL) {
        PyObject *file = ext_quiet_attr(handle, state->str_file);
        source = ext_quiet_attr(file, state->str_source);
        Py_XDECREF(file);
    }
    Py_XDECREF(handle);
    return source;
}

bool ext_events_bytes_read(ext_state *state, PyObject *events, int64_t *out) {
    PyObject *factory = factory_of(state, events);
    PyObject *source = source_of(state, factory);
    bool known = ext_quiet_attr_int(source, state->str_num_requested_bytes, out);
    Py_XDECREF(source);
    Py_XDECREF(factory);
    return known;
}

/* ---- before process() ---- */

/* file_sizes.preloaded_bytes(factory, mapping); -1: not known. */
static int64_t preloaded_bytes(ext_state *state, PyObject *factory, PyObject *mapping) {
    int64_t bytes = -1;
    PyObject *ask = ext_import_preloaded_bytes(state);
    PyObject *found =
        ask != NULL ? PyObject_CallFunctionObjArgs(ask, factory, mapping, NULL) : NULL;
    ext_pass_over("the preloaded columns could not be read");
    return ext_quiet_int(found, &bytes) ? bytes : -1;
}

/* The bytes requested before process(), without preloading; absent if that is not known. */
static void put_metadata_bytes(ext_state *state, PyObject *factory, PyObject *mapping,
                               int64_t bytes, roast_chunk *out) {
    if (bytes < 0)
        return;
    PyObject *preloaded = ext_quiet_attr(mapping, state->str_preloaded_arrays);
    if (preloaded != NULL && preloaded != Py_None) {
        int64_t read = preloaded_bytes(state, factory, mapping);
        bytes = read < 0 ? -1 : roast_sub_capped(bytes, read);
    }
    Py_XDECREF(preloaded);
    if (bytes >= 0) {
        out->metadata_bytes = bytes;
        out->have |= ROAST_CHUNK_HAS(metadata_bytes);
    }
}

static Py_ssize_t accessed_so_far(ext_state *state, PyObject *factory) {
    PyObject *log = ext_quiet_attr(factory, state->str_access_log);
    Py_ssize_t n = log != NULL && log != Py_None ? PyObject_Size(log) : 0;
    ext_pass_over("the access log could not be read");
    Py_XDECREF(log);
    return n > 0 ? n : 0;
}

/* ---- the task ---- */

/* Whether the system's clock was set since the last chunk of this process: then the engine may have read the start of
 * the task before that. */
static bool clock_was_set(roast_utc now) {
    static int64_t ahead_ns; /* of our own monotonic clock; under the GIL */
    int64_t before = ahead_ns;
    ahead_ns = now.ns - roast_utc_now().ns;
    return llabs(ahead_ns - before) > 100000000;
}

/* How long ago the task started, by the clock that the engine reads too. */
static void put_wait(PyObject *started, roast_utc now, roast_chunk *out) {
    double seconds = PyFloat_AsDouble(started);
    if (seconds == -1.0 && PyErr_Occurred()) {
        ext_pass_over("the start of a task could not be read");
        return;
    }
    double waited = (double)now.ns - seconds * 1e9;
    if (clock_was_set(now) || !(seconds > 0 && waited >= 0 && waited < 9e18))
        return;
    /* A double tells microseconds. */
    out->before_process_ns = ((int64_t)waited + 500) / 1000 * 1000;
    out->have |= ROAST_CHUNK_HAS(before_process_ns);
}

/* roastcoffea.worker.tasks.current() */
static void read_task(ext_state *state, roast_utc now, ext_holder *holder, roast_chunk *out) {
    PyObject *current = ext_import_current_task(state);
    PyObject *task = current != NULL ? PyObject_CallNoArgs(current) : NULL;
    if (task != NULL && task != Py_None) {
        PyObject *started = ext_quiet_attr(task, state->str_started);
        if (started != NULL && started != Py_None)
            put_wait(started, now, out);
        Py_XDECREF(started);
        out->task_key = ext_hold_text(holder, ext_quiet_attr(task, state->str_key));
        out->worker = ext_hold_text(holder, ext_quiet_attr(task, state->str_worker));
    }
    Py_XDECREF(task);
    ext_pass_over("the task could not be read");
}

/* roastcoffea.worker.facility.batch_job(), asked once a process: a forked one is another. */
static void put_batch_job(ext_state *state, ext_holder *holder, roast_chunk *out) {
    uint64_t process = roast_process_token();
    if (state->job_process != process) {
        PyObject *ask = ext_import_batch_job(state);
        Py_XSETREF(state->own_job, ask != NULL ? PyObject_CallNoArgs(ask) : NULL);
        state->job_process = process;
        ext_pass_over("the batch job could not be read");
    }
    out->batch_job = ext_hold_text(holder, Py_XNewRef(state->own_job));
}

void ext_events_before(ext_state *state, PyObject *events, roast_utc now, ext_holder *holder,
                       roast_chunk *out) {
    read_task(state, now, holder, out);
    put_batch_job(state, holder, out);
    PyObject *factory = factory_of(state, events);
    if (factory == NULL)
        return;
    PyObject *mapping = ext_quiet_attr(factory, state->str_mapping);
    PyObject *source = source_of(state, factory);
    ext_requests before = ext_handle_begin(&holder->handle, source, ext_requests_of(state, source));
    put_metadata_bytes(state, factory, mapping, before.bytes, out);
    holder->accessed_before = accessed_so_far(state, factory);
    if (mapping != NULL)
        holder->reader = ext_reads_attach(state, mapping, source);
    Py_XDECREF(source);
    Py_XDECREF(mapping);
    Py_DECREF(factory);
}

/* ---- after process() ---- */

/* The access log as a tuple; NULL: there is none, or it does not show what process() accessed. */
static PyObject *taken_log(ext_state *state, PyObject *factory) {
    PyObject *mapping = ext_quiet_attr(factory, state->str_mapping);
    PyObject *lazy = ext_quiet_attr(mapping, state->str_virtual_mode);
    PyObject *log = ext_quiet_attr(factory, state->str_access_log), *list = NULL;
    /* In eager mode all columns are in memory before process(), used or not. */
    if (log != NULL && log != Py_None && lazy != Py_False)
        list = PySequence_Tuple(log);
    ext_pass_over("the access log could not be read");
    Py_XDECREF(log);
    Py_XDECREF(lazy);
    Py_XDECREF(mapping);
    return list;
}

/* Each branch once, in the order of its first access: the keys of a dict. NULL with an exception set. */
static PyObject *branches_of(ext_state *state, PyObject *log, Py_ssize_t first) {
    PyObject *once = PyDict_New(), *list = NULL;
    Py_ssize_t last = PyTuple_GET_SIZE(log);
    int failed = once == NULL ? -1 : 0;
    for (Py_ssize_t i = first; failed == 0 && i < last; i++) {
        PyObject *branch = ext_quiet_attr(PyTuple_GET_ITEM(log, i), state->str_branch);
        PyObject *name = ext_quiet_exact(branch);
        roast_str text;
        if (ext_quiet_text(name, &text) && PyDict_GET_SIZE(once) < (Py_ssize_t)ROAST_MAX_BRANCHES)
            failed = PyDict_SetItem(once, name, Py_None);
        Py_XDECREF(name);
    }
    if (failed == 0)
        list = PyDict_Keys(once);
    Py_XDECREF(once);
    return list;
}

/* The branches that process() accessed, as a list; NULL: not known. */
static PyObject *read_access_log(ext_state *state, PyObject *factory, ext_holder *holder,
                                 roast_chunk *out) {
    PyObject *log = taken_log(state, factory);
    if (log == NULL)
        return NULL;
    bool emptied = holder->accessed_before > PyTuple_GET_SIZE(log); /* by somebody */
    PyObject *names = branches_of(state, log, emptied ? 0 : holder->accessed_before);
    Py_DECREF(log);
    Py_ssize_t n = names != NULL ? PyList_GET_SIZE(names) : 0;
    holder->branches = names != NULL ? roast_alloc((size_t)(n + 1) * sizeof(roast_str)) : NULL;
    if (holder->branches == NULL || !hold(holder, Py_NewRef(names))) {
        ext_count_fault("no memory for the accessed branches", NULL);
        Py_XDECREF(names);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        ext_quiet_text(PyList_GET_ITEM(names, i), &holder->branches[i]);
    out->has_branches = true;
    out->n_branches = (uint32_t)n;
    out->branches = holder->branches;
    return names;
}

/* file_sizes.describe(...); NULL, without an exception: nothing is known of the file. */
static PyObject *describe_file(ext_state *state, PyObject *factory, PyObject *branches,
                               PyObject *topic, const roast_chunk *chunk) {
    PyObject *describe = ext_import_describe_file(state);
    PyObject *mapping = ext_quiet_attr(factory, state->str_mapping), *about = NULL;
    /* The output of a chunk that raised may be lost. */
    if (describe != NULL && mapping != NULL)
        about = PyObject_CallFunction(
            describe, "OO(NNN)OOO", factory, mapping, ext_text(chunk->file), ext_text(chunk->uuid),
            ext_text(chunk->treename), branches != NULL ? branches : Py_None,
            topic != NULL && PyUnicode_CheckExact(topic) ? topic : Py_None,
            chunk->error_type.data == NULL ? Py_True : Py_False);
    ext_pass_over("the sizes of a file could not be read");
    Py_XDECREF(mapping);
    if (about != NULL && !(PyTuple_Check(about) && PyTuple_GET_SIZE(about) == 3)) /* None */
        Py_CLEAR(about);
    return about;
}

static void put_sizes(ext_state *state, PyObject *factory, PyObject *branches, ext_holder *holder,
                      PyObject *topic, roast_chunk *out) {
    PyObject *about =
        out->file.data != NULL ? describe_file(state, factory, branches, topic, out) : NULL;
    int64_t bytes = -1, uncompressed = -1;
    if (about == NULL)
        return;
    ext_quiet_int(Py_NewRef(PyTuple_GET_ITEM(about, 0)), &bytes);
    ext_quiet_int(Py_NewRef(PyTuple_GET_ITEM(about, 1)), &uncompressed);
    holder->about_file = Py_NewRef(PyTuple_GET_ITEM(about, 2));
    Py_DECREF(about);
    if (bytes >= 0) {
        out->accessed_bytes = bytes;
        out->have |= ROAST_CHUNK_HAS(accessed_bytes);
    }
    if (uncompressed >= 0) {
        out->accessed_uncompressed_bytes = uncompressed;
        out->have |= ROAST_CHUNK_HAS(accessed_uncompressed_bytes);
    }
}

static void put_events(ext_state *state, PyObject *events, ext_holder *holder, roast_chunk *out) {
    Py_ssize_t size = PyObject_Size(events);
    if (size >= 0) {
        out->num_events = size;
        out->have |= ROAST_CHUNK_HAS(num_events);
    }
    ext_pass_over("the number of events could not be read");
    PyObject *metadata = ext_quiet_attr(events, state->str_metadata);
    out->dataset = hold_name(holder, ext_quiet_item(metadata, state->str_dataset));
    out->file = hold_name(holder, ext_quiet_item(metadata, state->str_filename));
    out->treename = hold_name(holder, ext_quiet_item(metadata, state->str_treename));
    out->uuid = ext_hold_text(holder, ext_quiet_item(metadata, state->str_fileuuid));
    SET_FIELD(out, entry_start, ext_quiet_item(metadata, state->str_entrystart));
    SET_FIELD(out, entry_stop, ext_quiet_item(metadata, state->str_entrystop));
    Py_XDECREF(metadata);
}

static void put_requests(ext_requests of_chunk, roast_chunk *out) {
    if (of_chunk.bytes >= 0) {
        out->bytes_read = of_chunk.bytes;
        out->have |= ROAST_CHUNK_HAS(bytes_read);
    }
    if (of_chunk.count >= 0) {
        out->read_requests = of_chunk.count;
        out->have |= ROAST_CHUNK_HAS(read_requests);
    }
}

void ext_events_after(ext_state *state, PyObject *events, PyObject *topic, ext_holder *holder,
                      roast_chunk *out) {
    if (holder->reader != NULL) {
        ext_reads_detach(holder->reader);
        ext_reads_put(holder->reader, out);
    }
    if (events == NULL)
        return;
    put_events(state, events, holder, out);
    PyObject *factory = factory_of(state, events);
    if (factory == NULL)
        return;
    PyObject *source = source_of(state, factory);
    put_requests(ext_handle_end(&holder->handle, source, ext_requests_of(state, source)), out);
    Py_XDECREF(source);
    PyObject *branches = read_access_log(state, factory, holder, out);
    put_sizes(state, factory, branches, holder, topic, out);
    Py_XDECREF(branches);
    Py_DECREF(factory);
}

/* The sizes of the branches, from two arrays of file_sizes.py. NULL: no memory. */
static roast_branch_size *sizes_of(PyObject *names, const Py_buffer *bytes,
                                   const Py_buffer *uncompressed) {
    Py_ssize_t n = PyTuple_GET_SIZE(names), size = sizeof(int64_t);
    if (bytes->len < n * size || uncompressed->len < n * size)
        return NULL;
    roast_branch_size *sizes = roast_alloc((size_t)(n + 1) * sizeof *sizes);
    for (Py_ssize_t i = 0; sizes != NULL && i < n; i++) {
        sizes[i] =
            (roast_branch_size){.bytes = ((const int64_t *)bytes->buf)[i],
                                .uncompressed_bytes = ((const int64_t *)uncompressed->buf)[i]};
        if (!ext_quiet_text(PyTuple_GET_ITEM(names, i), &sizes[i].name))
            sizes[i].name = (roast_str){"?", 1};
    }
    return sizes;
}

void ext_events_put_file(const ext_holder *holder, const roast_chunk *chunk, roast_chunklog *log) {
    PyObject *names;
    Py_buffer bytes, uncompressed;
    long long tree_bytes, tree_uncompressed;
    roast_error err = {0};
    if (holder->about_file == NULL || holder->about_file == Py_None)
        return;
    if (!PyArg_ParseTuple(holder->about_file, "O!y*y*LL", &PyTuple_Type, &names, &bytes,
                          &uncompressed, &tree_bytes, &tree_uncompressed)) {
        ext_count_fault("the sizes of a file could not be recorded", NULL);
        return;
    }
    roast_branch_size *sizes = sizes_of(names, &bytes, &uncompressed);
    roast_file file = {.name = chunk->file,
                       .uuid = chunk->uuid,
                       .treename = chunk->treename,
                       .total_branches = PyTuple_GET_SIZE(names),
                       .tree_bytes = tree_bytes,
                       .tree_uncompressed_bytes = tree_uncompressed,
                       .n_branches = (uint32_t)PyTuple_GET_SIZE(names),
                       .branches = sizes};
    if (sizes == NULL || roast_chunklog_add_file(log, &file, &err) != ROAST_OK)
        ext_count_fault("the sizes of a file could not be recorded", &err);
    roast_free(sizes);
    PyBuffer_Release(&bytes);
    PyBuffer_Release(&uncompressed);
}
