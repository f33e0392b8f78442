#include "reports.h"

#include "chunk_log.h"
#include "errors.h"

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
        if (list != NULL && PyList_Sort(list) != 0)
            PyErr_Clear(); /* of mixed types: then in no order */
        Py_XDECREF(more);
        Py_XDECREF(all);
        return list;
    }
    return Py_NewRef(new);
}

static int add_report(PyObject *sum, PyObject *report) {
    PyObject *items = PyMapping_Items(report);
    int result = items != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(items); i++) {
        PyObject *pair = PyList_GET_ITEM(items, i);
        PyObject *key = PyTuple_GET_ITEM(pair, 0), *value = PyTuple_GET_ITEM(pair, 1);
        PyObject *old = PyDict_GetItemWithError(sum, key);
        PyObject *both = NULL;
        if (old != NULL)
            both = joined(old, value);
        else if (!PyErr_Occurred())
            both = Py_NewRef(value);
        result = both != NULL ? PyDict_SetItem(sum, key, both) : -1;
        Py_XDECREF(both);
    }
    Py_XDECREF(items);
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
        sums->events += chunk.num_events;
        sums->bytes += chunk.bytes_read;
        sums->duration_ns += chunk.duration_ns;
    }
}

/* Takes a number off an entry, if there is one. Takes the reference. */
static int take_off(PyObject *report, const char *key, PyObject *number) {
    PyObject *old = number != NULL ? PyDict_GetItemString(report, key) : NULL;
    int result = number != NULL ? 0 : -1;
    if (old != NULL && PyNumber_Check(old)) {
        PyObject *less = PyNumber_Subtract(old, number);
        result = less != NULL ? PyDict_SetItemString(report, key, less) : -1;
        Py_XDECREF(less);
    }
    Py_XDECREF(number);
    return result;
}

static int take_replayed_off(ext_state *state, PyObject *report, PyObject *replayed) {
    roast_chunklog *owned;
    const roast_chunklog *log = ext_packed_view(state, replayed, &owned);
    if (log == NULL)
        return -1;
    replayed_sums sums = {0};
    add_replayed(log, &sums);
    roast_chunklog_free(owned);
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
    PyObject *list = PySequence_Fast(reports, "sum_reports: a list of reports is expected");
    PyObject *sum = list != NULL ? PyDict_New() : NULL;
    for (Py_ssize_t i = 0; sum != NULL && i < PySequence_Fast_GET_SIZE(list); i++)
        if (add_report(sum, PySequence_Fast_GET_ITEM(list, i)) != 0)
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
    out->tokens = n < SIZE_MAX / 2 / sizeof *out->tokens
                      ? roast_alloc((n + 1) * sizeof *out->tokens)
                      : NULL;
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
    roast_chunklog *owned, *parts[2] = {NULL, NULL};
    const roast_chunklog *log = ext_packed_view(state, chunks, &owned);
    roast_error err;
    if (log == NULL) {
        roast_free(runs.tokens);
        return NULL;
    }
    roast_status status = roast_chunklog_new(&parts[0], &err);
    if (status == ROAST_OK)
        status = roast_chunklog_new(&parts[1], &err);
    bool any = status == ROAST_OK && any_replayed(log, &runs);
    if (any)
        status = split(log, &runs, parts, &err);
    roast_free(runs.tokens);
    roast_chunklog_free(owned);
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
