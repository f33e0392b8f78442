/* The measurements below a folder, by the engine. */
#include "common/errors.h"
#include "common/values.h"
#include "show/runs.h"

#include "roast/found.h"

#include <math.h>

static roast_status list_runs(const char *folder, roast_sink *out, roast_error *err) {
    roast_found *found;
    ROAST_TRY(roast_found_new(&found, err));
    roast_status status = roast_found_search(found, folder, ROAST_FOUND_DEPTH, err);
    if (status == ROAST_OK)
        status = roast_found_read(found, &(roast_found_wanted){.config = true}, err);
    if (status == ROAST_OK) {
        roast_found_sort(found, ROAST_FOUND_BY_when, false, SIZE_MAX);
        roast_found_json(found, out);
    }
    roast_found_free(found);
    return status;
}

PyObject *ext_list_runs(PyObject *Py_UNUSED(module), PyObject *given) {
    PyObject *folder;
    roast_sink *sink;
    roast_error err;
    roast_status status;
    if (!PyUnicode_FSConverter(given, &folder))
        return NULL;
    if (ext_raised(roast_sink_new_memory(&sink, &err), &err) != 0) {
        Py_DECREF(folder);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = list_runs(PyBytes_AS_STRING(folder), sink, &err);
    Py_END_ALLOW_THREADS Py_DECREF(folder);
    if (status == ROAST_OK)
        return ext_sink_text(sink);
    roast_sink_free(sink);
    if (status == ROAST_ENOTFOUND)
        PyErr_SetString(PyExc_FileNotFoundError, err.message);
    else
        ext_raise(&err);
    return NULL;
}

/* ---- with a metric, for the trend ---- */

enum { MOST_FILTERS = 32, MOST_FOLDERS = 4096 };

/* The filters, whose texts live in `texts`. 0, or -1 with an exception set. */
static int take_filters(PyObject *texts, roast_found_filter *filters) {
    char hint[ROAST_FOUND_HINT];
    roast_error err;
    if (PyTuple_GET_SIZE(texts) > MOST_FILTERS) {
        PyErr_Format(PyExc_ValueError, "where: at most %d tests", MOST_FILTERS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(texts); i++) {
        PyObject *text = PyTuple_GET_ITEM(texts, i);
        const char *bytes = PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
        if (bytes == NULL) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_TypeError, "where: a test is a str");
            return -1;
        }
        if (roast_found_filter_parse(bytes, &filters[i], hint, &err) != ROAST_OK) {
            PyErr_Format(PyExc_ValueError, "where: %s; %s", err.message, hint);
            return -1;
        }
    }
    return 0;
}

static PyObject *text_or_none(const char *text) {
    return ext_text(text != NULL ? roast_str_of(text) : (roast_str){NULL, 0});
}

static PyObject *entry_dict(const roast_found_entry *entry) {
    PyObject *facts = PyDict_New();
    for (int i = 0; facts != NULL && i < ROAST_FACT_COUNT; i++)
        if (entry->facts[i] != NULL &&
            ext_put(facts, roast_found_fact_name(i), text_or_none(entry->facts[i])) != 0)
            Py_CLEAR(facts);
    if (facts == NULL)
        return NULL;
    bool events = entry->figures[ROAST_FOUND_events].kind != ROAST_VALUE_NONE;
    return Py_BuildValue(
        "{s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:O,s:N}", "name", text_or_none(entry->name), "when",
        entry->have_when ? PyLong_FromLongLong(entry->when.ns) : Py_NewRef(Py_None), "finished",
        PyBool_FromLong(entry->state == ROAST_STORE_FINISHED), "outcome",
        text_or_none(roast_found_outcome(entry)), "value",
        ext_real_or_none(roast_value_number(entry->extra)), "events",
        ext_real_or_none(events ? roast_value_number(entry->figures[ROAST_FOUND_events])
                                : (double)NAN),
        "processor", text_or_none(entry->processor), "datasets", text_or_none(entry->datasets),
        "readable", entry->fault == NULL ? Py_True : Py_False, "facts", facts);
}

static PyObject *entry_at(const void *entries, uint32_t index) {
    return entry_dict((const roast_found_entry *)entries + index);
}

typedef struct search {
    const char *const *folders;
    size_t n_folders;
    const char *metric;
    roast_found_filter filters[MOST_FILTERS];
    size_t n_filters;
    int64_t depth;
} search;

/* *all: how many there are, before the filters. */
static roast_status find(roast_found *found, const search *wanted, size_t *all, roast_error *err) {
    roast_found_wanted parts = {.metric = wanted->metric, .facts = true};
    for (size_t i = 0; i < wanted->n_filters; i++)
        parts.config |= wanted->filters[i].key == ROAST_FOUND_BY_config;
    ROAST_TRY(
        roast_found_search_all(found, wanted->folders, wanted->n_folders, wanted->depth, err));
    ROAST_TRY(roast_found_read(found, &parts, err));
    *all = roast_found_all(found).count;
    roast_found_keep(found, wanted->filters, wanted->n_filters);
    return ROAST_OK;
}

static PyObject *find_runs(const search *wanted) {
    roast_found *found;
    roast_error err;
    roast_status status;
    PyObject *result = NULL;
    size_t all = 0;
    if (ext_raised(roast_found_new(&found, &err), &err) != 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = find(found, wanted, &all, &err);
    Py_END_ALLOW_THREADS if (status == ROAST_OK) result = Py_BuildValue(
        "(nN)", (Py_ssize_t)all,
        ext_list(roast_found_all(found).entries, roast_found_all(found).count, entry_at));
    else if (status == ROAST_ENOTFOUND) PyErr_SetString(PyExc_FileNotFoundError, err.message);
    else ext_raise(&err);
    roast_found_free(found);
    return result;
}

PyObject *ext_find_runs(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *folders, *where;
    const char *places[MOST_FOLDERS];
    search wanted = {.folders = places};
    long long depth;
    if (!PyArg_ParseTuple(args, "O!sO!L:find_runs", &PyTuple_Type, &folders, &wanted.metric,
                          &PyTuple_Type, &where, &depth) ||
        take_filters(where, wanted.filters) != 0)
        return NULL;
    wanted.n_filters = (size_t)PyTuple_GET_SIZE(where);
    wanted.n_folders = (size_t)PyTuple_GET_SIZE(folders);
    wanted.depth = depth;
    if (wanted.n_folders > MOST_FOLDERS)
        return PyErr_Format(PyExc_ValueError, "at most %d folders", MOST_FOLDERS);
    for (size_t i = 0; i < wanted.n_folders; i++) {
        PyObject *folder = PyTuple_GET_ITEM(folders, (Py_ssize_t)i);
        if (!PyBytes_Check(folder))
            return PyErr_Format(PyExc_TypeError, "a folder is bytes");
        places[i] = PyBytes_AS_STRING(folder);
    }
    return find_runs(&wanted);
}
