#include "reports.h"

#include "capped.h"
#include "chunk_log.h"
#include "convert_run.h"
#include "errors.h"
#include "pairs.h"

/* ---- adding reports up ---- */

/* Numbers add up, collections unite, of anything else the last word counts. */
static PyObject *joined(PyObject *old, PyObject *new) {
    if (PyNumber_Check(old) && PyNumber_Check(new) && !PyBool_Check(new))
        return PyNumber_Add(old, new);
    if ((PyList_Check(old) || PyAnySet_Check(old) || PyTuple_Check(old)) &&
        (PyList_Check(new) || PyAnySet_Check(new) || PyTuple_Check(new))) {
        PyObject *all = PySet_New(old);
        PyObject *more = all != NULL ? PyObject_CallMethod(all, "update", "O", new) : NULL;
        PyObject *list = more != NULL ? PySequence_List(all) : NULL;
        if (list != NULL && PyList_Sort(list) != 0 && ext_drop_exception() != 0)
            Py_CLEAR(list); /* of mixed types it is in no order */
        Py_XDECREF(more);
        Py_XDECREF(all);
        return list;
    }
    return Py_NewRef(new);
}

static int add_report(PyObject *sum, PyObject *report) {
    ext_pairs pairs;
    int result = ext_pairs_open(&pairs, report, "a report");
    while (result == 0 && ext_pairs_next(&pairs)) {
        PyObject *old = Py_XNewRef(PyDict_GetItemWithError(sum, pairs.key));
        PyObject *both = NULL;
        if (old != NULL)
            both = joined(old, pairs.value);
        else if (!PyErr_Occurred())
            both = Py_NewRef(pairs.value);
        result = both != NULL ? PyDict_SetItem(sum, pairs.key, both) : -1;
        Py_XDECREF(both);
        Py_XDECREF(old);
    }
    ext_pairs_close(&pairs);
    return result;
}

typedef struct replayed_sums {
    int64_t chunks, events, bytes, duration_ns;
} replayed_sums;

static void add_replayed(const roast_chunklog *log, replayed_sums *sums) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        sums->chunks++;
        sums->events = ext_capped_add(sums->events, chunk.num_events);
        sums->bytes = ext_capped_add(sums->bytes, chunk.bytes_read);
        sums->duration_ns = ext_capped_add(sums->duration_ns, chunk.duration_ns);
    }
}

/* Takes a number off an entry, if there is one. Takes the reference. */
static int take_off(PyObject *report, const char *key, PyObject *number) {
    PyObject *old = NULL;
    int result = number != NULL ? ext_entry(report, key, &old) : -1;
    if (old != NULL && PyNumber_Check(old)) {
        PyObject *less = PyNumber_Subtract(old, number);
        result = less != NULL ? PyDict_SetItemString(report, key, less) : -1;
        Py_XDECREF(less);
    }
    Py_XDECREF(old);
    Py_XDECREF(number);
    return result;
}

static int take_replayed_off(ext_state *state, PyObject *report, PyObject *replayed) {
    log_core *core = ext_packed_view(state, replayed);
    if (core == NULL)
        return -1;
    replayed_sums sums = {0};
    add_replayed(core->log, &sums);
    log_core_let_go(core);
    if (take_off(report, "chunks", PyLong_FromLongLong(sums.chunks)) != 0 ||
        take_off(report, "entries", PyLong_FromLongLong(sums.events)) != 0 ||
        take_off(report, "bytesread", PyLong_FromLongLong(sums.bytes)) != 0)
        return -1;
    return take_off(report, "processtime", PyFloat_FromDouble((double)sums.duration_ns / 1e9));
}

PyObject *ext_sum_reports(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"reports", "replayed", NULL};
    PyObject *reports, *replayed = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:sum_reports", keywords, &reports,
                                     &replayed))
        return NULL;
    PyObject *list = PySequence_Tuple(reports); /* of our own: adding runs code of theirs */
    PyObject *sum = list != NULL ? PyDict_New() : NULL;
    for (Py_ssize_t i = 0; sum != NULL && i < PyTuple_GET_SIZE(list); i++)
        if (add_report(sum, PyTuple_GET_ITEM(list, i)) != 0)
            Py_CLEAR(sum);
    Py_XDECREF(list);
    if (sum != NULL && replayed != Py_None &&
        take_replayed_off(ext_state_of_module(module), sum, replayed) != 0)
        Py_CLEAR(sum);
    return sum;
}

/* ---- what a checkpoint replayed ---- */

/* The runs whose chunks are no replays. */
typedef struct known_runs {
    uint64_t *tokens;
    size_t count;
} known_runs;

static int parse_runs(PyObject *topics, known_runs *out) {
    PyObject *list = PySequence_List(topics);
    size_t n = list != NULL ? (size_t)PyList_GET_SIZE(list) : 0;
    out->tokens =
        n < SIZE_MAX / 2 / sizeof *out->tokens ? roast_alloc((n + 1) * sizeof *out->tokens) : NULL;
    if (list != NULL && out->tokens == NULL)
        PyErr_NoMemory();
    for (; out->tokens != NULL && out->count < n; out->count++) {
        Py_ssize_t len = 0;
        const char *text =
            PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(list, (Py_ssize_t)out->count), &len);
        if (text == NULL)
            break;
        out->tokens[out->count] = roast_run_token((roast_str){text, (size_t)len});
    }
    Py_XDECREF(list);
    if (!PyErr_Occurred())
        return 0;
    roast_free(out->tokens);
    return -1;
}

/* A chunk that was made without a collector, or is told by hand, belongs to no run. */
static bool is_replayed(const roast_chunk *chunk, const known_runs *runs) {
    for (size_t i = 0; i < runs->count; i++)
        if (chunk->run == runs->tokens[i])
            return false;
    return chunk->run != 0;
}

/* Runs of rows of one kind go over together. */
static roast_status split(const roast_chunklog *log, const known_runs *runs,
                          roast_chunklog *parts[2], roast_error *err) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    uint64_t start = 0, at = 0;
    bool kind = false;
    roast_chunk_cursor_init(&cursor, log);
    for (; roast_chunk_cursor_next(&cursor, &chunk); at++) {
        bool replayed = is_replayed(&chunk, runs);
        if (at > start && replayed != kind) {
            ROAST_TRY(
                roast_chunklog_merge_slice(parts[kind], log, (int64_t)start, at - start, 1, err));
            start = at;
        }
        kind = replayed;
    }
    if (at == start)
        return ROAST_OK;
    return roast_chunklog_merge_slice(parts[kind], log, (int64_t)start, at - start, 1, err);
}

static bool any_replayed(const roast_chunklog *log, const known_runs *runs) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk))
        if (is_replayed(&chunk, runs))
            return true;
    return false;
}

PyObject *ext_split_replayed(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of_module(module);
    PyObject *chunks, *topics;
    known_runs runs = {NULL, 0};
    if (!PyArg_ParseTuple(args, "O!O:split_replayed", state->type_chunk_log, &chunks, &topics) ||
        parse_runs(topics, &runs) != 0)
        return NULL;
    roast_chunklog *parts[2] = {NULL, NULL};
    log_core *core = ext_packed_view(state, chunks);
    roast_error err;
    if (core == NULL) {
        roast_free(runs.tokens);
        return NULL;
    }
    const roast_chunklog *log = core->log;
    roast_status status = roast_chunklog_new(&parts[0], &err);
    if (status == ROAST_OK)
        status = roast_chunklog_new(&parts[1], &err);
    bool any = status == ROAST_OK && any_replayed(log, &runs);
    if (any)
        status = split(log, &runs, parts, &err);
    roast_free(runs.tokens);
    log_core_let_go(core);
    if (status != ROAST_OK) {
        roast_chunklog_free(parts[0]);
        roast_chunklog_free(parts[1]);
        return ext_raise(&err);
    }
    /* Nothing to take out, as a rule: then the log itself, with the items that the user may hold. */
    PyObject *fresh = any ? ext_chunk_log_new(state, parts[0]) : Py_NewRef(chunks);
    if (!any)
        roast_chunklog_free(parts[0]);
    PyObject *replayed = ext_chunk_log_new(state, parts[1]);
    if (fresh == NULL || replayed == NULL) {
        Py_XDECREF(fresh);
        Py_XDECREF(replayed);
        return NULL;
    }
    return Py_BuildValue("(NN)", fresh, replayed);
}
