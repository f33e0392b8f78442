#include "events.h"

#include "errors.h"
#include "file_cache.h"
#include "file_sizes.h"
#include "quiet.h"
#include "reads.h"
#include "values.h"

#include <stdlib.h>
#include <string.h>

void ext_holder_release(ext_holder *holder) {
    ext_reads_detach(holder->reader);
    Py_CLEAR(holder->reader);
    while (holder->count > 0)
        Py_DECREF(holder->object[--holder->count]);
    roast_free(holder->branches);
    holder->branches = NULL;
}

/* Takes the reference; false: there is no room. */
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

/* The key under which the mapping keeps the tree: its root, and the partition "uuid/path/first-last"
 * without the range. */
static PyObject *tree_key(ext_state *state, PyObject *factory, PyObject *mapping) {
    PyObject *partition = ext_quiet_attr(factory, state->str_partition_key), *key = NULL;
    PyObject *root = PyObject_CallMethodNoArgs(mapping, state->str_key_root);
    roast_str text;
    if (root != NULL && PyUnicode_Check(root) && ext_quiet_text(partition, &text)) {
        while (text.len > 0 && text.data[text.len - 1] != '/')
            text.len--;
        PyObject *file =
            text.len > 0 ? PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len - 1, NULL) : NULL;
        key = file != NULL ? PyUnicode_Concat(root, file) : NULL;
        Py_XDECREF(file);
    }
    ext_pass_over("the key of a tree could not be read");
    Py_XDECREF(root);
    Py_XDECREF(partition);
    return key;
}

/* The tree that the mapping holds open; NULL: it would have to be opened. */
static PyObject *tree_of(ext_state *state, PyObject *factory, PyObject *mapping) {
    PyObject *cache = ext_quiet_attr(mapping, state->str_mapping_cache);
    PyObject *key = cache != NULL ? tree_key(state, factory, mapping) : NULL;
    PyObject *tree = key != NULL ? ext_quiet_item(cache, key) : NULL;
    Py_XDECREF(key);
    Py_XDECREF(cache);
    return tree;
}

/* ---- before process() ---- */

/* The bytes requested up to here, less what preloading took; absent where that cannot be told. */
static void put_metadata_bytes(ext_state *state, PyObject *factory, PyObject *mapping,
                               PyObject *source, roast_chunk *out) {
    int64_t bytes, first, last;
    if (!ext_quiet_attr_int(source, state->str_num_requested_bytes, &bytes))
        return;
    PyObject *preloaded = ext_quiet_attr(mapping, state->str_preloaded_arrays);
    if (preloaded != NULL && preloaded != Py_None) {
        PyObject *tree = tree_of(state, factory, mapping);
        int64_t read = -1;
        if (tree != NULL && PyDict_Check(preloaded) &&
            ext_quiet_attr_int(mapping, state->str_mapping_start, &first) &&
            ext_quiet_attr_int(mapping, state->str_mapping_stop, &last))
            read = ext_preloaded_bytes(state, tree, preloaded, first, last);
        bytes = read < 0 || bytes < read ? -1 : bytes - read;
        Py_XDECREF(tree);
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

/* Whether the system's clock was set since the last chunk of this process: then Dask's start of the task may be
 * on another clock than ours. */
static bool clock_was_set(roast_utc now) {
    static int64_t ahead_ns; /* of our own clock, which nobody sets; under the GIL */
    int64_t before = ahead_ns;
    ahead_ns = now.ns - roast_utc_now().ns;
    return llabs(ahead_ns - before) > 100000000;
}

static void read_task(ext_state *state, roast_utc now, ext_holder *holder, roast_chunk *out) {
    /* Only if Dask's worker is loaded anyway. */
    PyObject *module = PyImport_GetModule(state->str_distributed_worker);
    PyObject *task = ext_quiet_attr(module, state->str_thread_state);
    PyObject *start = ext_quiet_attr(task, state->str_start_time);
    if (start != NULL) {
        double seconds = PyFloat_AsDouble(start);
        if (seconds == -1.0 && PyErr_Occurred())
            ext_pass_over("the start of a task could not be read");
        double waited = (double)now.ns - seconds * 1e9;
        if (!clock_was_set(now) && seconds > 0 && waited >= 0 && waited < 9e18) {
            /* Dask's clock tells microseconds. */
            out->before_process_ns = ((int64_t)waited + 500) / 1000 * 1000;
            out->have |= ROAST_CHUNK_HAS(before_process_ns);
        }
        PyObject *key = ext_quiet_attr(task, state->str_key);
        if (key != NULL && !PyUnicode_Check(key))
            Py_SETREF(key, PyObject_Str(key)); /* keys may be tuples */
        ext_pass_over("the key of a task could not be read");
        out->task_key = ext_hold_text(holder, key);
        PyObject *execution = ext_quiet_attr(task, state->str_execution_state);
        PyObject *worker = ext_quiet_item(execution, state->str_worker);
        out->worker = ext_hold_text(holder, ext_quiet_attr(worker, state->str_address));
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
    ext_pass_over("the task could not be read");
    PyObject *factory = factory_of(state, events);
    if (factory == NULL)
        return;
    PyObject *mapping = ext_quiet_attr(factory, state->str_mapping);
    PyObject *source = source_of(state, factory);
    put_metadata_bytes(state, factory, mapping, source, out);
    holder->accessed_before = accessed_so_far(state, factory);
    if (mapping != NULL)
        holder->reader = ext_reads_attach(state, mapping, source);
    Py_XDECREF(source);
    Py_XDECREF(mapping);
    Py_DECREF(factory);
}

/* ---- after process() ---- */

/* A set of branches by name, over the array that holds them. */
typedef struct branch_set {
    roast_str *branches;
    uint32_t *slots; /* index + 1, at most half full */
    uint32_t mask, count;
} branch_set;

static void branch_set_add(branch_set *set, roast_str branch) {
    uint32_t slot = (uint32_t)ext_hash_text(0, branch) & set->mask;
    for (; set->slots[slot] != 0; slot = (slot + 1) & set->mask)
        if (roast_str_equal(set->branches[set->slots[slot] - 1], branch))
            return;
    set->branches[set->count++] = branch;
    set->slots[slot] = set->count;
}

/* Each branch once, in the order of its first access. `names` keeps the texts alive. */
static void collect_branches(ext_state *state, PyObject *log, Py_ssize_t first, PyObject *names,
                             branch_set *set) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = ext_quiet_attr(PyTuple_GET_ITEM(log, first + i), state->str_branch);
        roast_str branch;
        if (ext_quiet_text(name, &branch)) {
            PyTuple_SET_ITEM(names, i, name);
            branch_set_add(set, branch);
        } else {
            Py_XDECREF(name);
        }
    }
}

/* The access log as a tuple; NULL: there is none, or it cannot tell what process() accessed. */
static PyObject *taken_log(ext_state *state, PyObject *factory) {
    PyObject *mapping = ext_quiet_attr(factory, state->str_mapping);
    PyObject *lazy = ext_quiet_attr(mapping, state->str_virtual_mode);
    PyObject *log = ext_quiet_attr(factory, state->str_access_log), *list = NULL;
    /* In eager mode all columns are in memory before process(), whether it looks at them or not. */
    if (log != NULL && log != Py_None && lazy != Py_False)
        list = PySequence_Tuple(log);
    ext_pass_over("the access log could not be read");
    Py_XDECREF(log);
    Py_XDECREF(lazy);
    Py_XDECREF(mapping);
    return list;
}

static void read_access_log(ext_state *state, PyObject *factory, ext_holder *holder,
                            roast_chunk *out) {
    PyObject *log = taken_log(state, factory);
    if (log == NULL)
        return;
    Py_ssize_t first = holder->accessed_before, n = PyTuple_GET_SIZE(log);
    if (first > n)
        first = 0; /* somebody emptied it */
    n = n - first > (Py_ssize_t)ROAST_MAX_BRANCHES ? (Py_ssize_t)ROAST_MAX_BRANCHES : n - first;
    uint32_t n_slots = 16;
    while (n_slots < 2 * (size_t)n)
        n_slots *= 2;
    branch_set set = {.mask = n_slots - 1};
    PyObject *names = PyTuple_New(n);
    if (names != NULL)
        PyObject_GC_UnTrack(names); /* it has gaps while other code runs */
    set.branches = holder->branches = roast_alloc((size_t)(n + 1) * sizeof *set.branches);
    set.slots = roast_alloc_zero(n_slots * sizeof *set.slots);
    if (names != NULL && set.branches != NULL && set.slots != NULL) {
        collect_branches(state, log, first, names, &set);
        out->has_branches = hold(holder, names);
        out->n_branches = out->has_branches ? set.count : 0;
        out->branches = set.branches;
    } else {
        Py_XDECREF(names);
        ext_count_fault("no memory for the accessed branches", NULL);
    }
    roast_free(set.slots);
    Py_DECREF(log);
}

/* Sees to it that the cache knows the chunk's file; false: nothing is to be had of it. */
static bool look_up_file(ext_state *state, PyObject *factory, const roast_chunk *chunk) {
    PyObject *mapping = ext_quiet_attr(factory, state->str_mapping);
    PyObject *tree = mapping != NULL ? tree_of(state, factory, mapping) : NULL;
    bool known = false;
    if (tree != NULL && chunk->file.data != NULL) {
        uint64_t fingerprint = ext_sizes_fingerprint(state, tree);
        ext_sizes sizes = EXT_SIZES_UNKNOWN;
        known = ext_file_find(chunk, fingerprint) != NULL;
        if (!known && ext_sizes_read(state, tree, &sizes)) {
            known = ext_file_put(chunk, fingerprint, &sizes) != NULL;
            if (!known)
                ext_count_fault("no memory for the sizes of a file", NULL);
        }
        ext_sizes_release(&sizes);
    }
    Py_XDECREF(tree);
    Py_XDECREF(mapping);
    ext_pass_over("the sizes of a file could not be read");
    return known;
}

static void put_sizes(ext_state *state, PyObject *factory, roast_chunk *out) {
    const ext_file *file = look_up_file(state, factory, out) ? ext_file_any(out) : NULL;
    if (file == NULL || !out->has_branches)
        return;
    int64_t bytes, uncompressed;
    ext_file_sum(file, out->branches, out->n_branches, &bytes, &uncompressed);
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
    out->dataset = ext_hold_text(holder, ext_quiet_item(metadata, state->str_dataset));
    out->file = ext_hold_text(holder, ext_quiet_item(metadata, state->str_filename));
    out->treename = ext_hold_text(holder, ext_quiet_item(metadata, state->str_treename));
    out->uuid = ext_hold_text(holder, ext_quiet_item(metadata, state->str_fileuuid));
    SET_FIELD(out, entry_start, ext_quiet_item(metadata, state->str_entrystart));
    SET_FIELD(out, entry_stop, ext_quiet_item(metadata, state->str_entrystop));
    Py_XDECREF(metadata);
}

void ext_events_after(ext_state *state, PyObject *events, ext_holder *holder, roast_chunk *out) {
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
    SET_FIELD(out, bytes_read, ext_quiet_attr(source, state->str_num_requested_bytes));
    SET_FIELD(out, read_requests, ext_quiet_attr(source, state->str_num_requests));
    Py_XDECREF(source);
    read_access_log(state, factory, holder, out);
    put_sizes(state, factory, out);
    Py_DECREF(factory);
}

/* Each collector puts a topic of its own onto the processor. */
static uint64_t run_of(ext_state *state, PyObject *processor) {
    PyObject *topic = ext_quiet_attr(processor, state->str_topic);
    roast_str text = {NULL, 0};
    ext_quiet_text(topic, &text);
    uint64_t run = ext_hash_text(0, text);
    Py_XDECREF(topic);
    return run;
}

void ext_events_put_file(ext_state *state, PyObject *processor, const roast_chunk *chunk,
                         roast_chunklog *log) {
    if (ext_file_any(chunk) == NULL)
        return;
    uint64_t run = run_of(state, processor);
    ext_file *file = ext_file_any(chunk); /* looking at the processor may run anybody's code */
    if (file == NULL || ext_file_is_told(file, run))
        return;
    roast_error err = {0};
    if (ext_file_add_to(file, log, &err) != ROAST_OK)
        ext_count_fault("the sizes of a file could not be recorded", &err);
    else if (chunk->error_type.data == NULL) /* the output of a chunk that raised may be lost */
        ext_file_set_told(file, run);
}
