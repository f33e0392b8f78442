#include "run/reports.h"

#include "records/chunk_log.h"
#include "common/errors.h"
#include "common/values.h"

/* ---- replayed chunks ---- */

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

/* A chunk that was made without a collector, or added by hand, belongs to no run. */
static bool is_replayed(const roast_chunk *chunk, const known_runs *runs) {
    for (size_t i = 0; i < runs->count; i++)
        if (chunk->run == runs->tokens[i])
            return false;
    return chunk->run != 0;
}

/* Consecutive rows of one kind are copied together. */
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
            ROAST_TRY(roast_chunklog_merge_rows(parts[kind], log, start, at - start, err));
            start = at;
        }
        kind = replayed;
    }
    if (at == start)
        return ROAST_OK;
    return roast_chunklog_merge_rows(parts[kind], log, start, at - start, err);
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
    /* Usually nothing is replayed: then the log itself, with the items that the user may hold. */
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
