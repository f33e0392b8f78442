#include "run/ending.h"

#include "common/errors.h"
#include "common/values.h"

/* ---- from Python ---- */

/* Texts are borrowed from objects that `keep`, a list, holds. */
static int take_text(PyObject *from, const char *key, PyObject *keep, roast_str *out) {
    PyObject *value;
    *out = (roast_str){NULL, 0};
    if (ext_entry(from, key, &value) != 0)
        return -1;
    if (value == NULL)
        return 0;
    PyObject *held = ext_text_of(value, key, out);
    int result = held != NULL ? PyList_Append(keep, held) : -1;
    Py_XDECREF(held);
    Py_DECREF(value);
    return result;
}

/* -1 where there is none. */
static int take_count(PyObject *from, const char *key, int64_t *out) {
    PyObject *value;
    *out = -1;
    if (ext_entry(from, key, &value) != 0)
        return -1;
    if (value == NULL)
        return 0;
    long long number = PyLong_AsLongLong(value);
    Py_DECREF(value);
    if (number == -1 && PyErr_Occurred())
        return -1;
    *out = number < 0 ? -1 : number;
    return 0;
}

static int take_error(roast_ending *ending, PyObject *from, PyObject *keep) {
    roast_run_error error;
    roast_error err;
    if (ext_check_mapping(from, "error") != 0)
        return -1;
#define X(name)                                                                                    \
    if (take_text(from, #name, keep, &error.name) != 0)                                            \
        return -1;
    ROAST_RUN_ERROR_TEXTS(X)
#undef X
    if (take_count(from, "entry_start", &error.entry_start) != 0 ||
        take_count(from, "entry_stop", &error.entry_stop) != 0)
        return -1;
    return ext_raised(roast_ending_set_error(ending, &error, &err), &err);
}

static int take_skipped(roast_ending *ending, PyObject *from, PyObject *keep) {
    roast_skipped_file skipped;
    roast_error err;
    if (ext_check_mapping(from, "skipped_files") != 0 ||
        take_text(from, "dataset", keep, &skipped.dataset) != 0 ||
        take_text(from, "file", keep, &skipped.file) != 0 ||
        take_text(from, "reason", keep, &skipped.reason) != 0)
        return -1;
    return ext_raised(roast_ending_add_skipped(ending, &skipped, &err), &err);
}

static int take_all_skipped(roast_ending *ending, PyObject *files, PyObject *keep) {
    PyObject *list = PySequence_List(files);
    int result = list != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(list); i++)
        result = take_skipped(ending, PyList_GET_ITEM(list, i), keep);
    Py_XDECREF(list);
    return result;
}

static int fill(roast_ending *ending, PyObject *from, PyObject *keep) {
    roast_ending_pieces pieces;
    PyObject *error = NULL, *files = NULL;
    int result = take_count(from, "pieces", &pieces.all) == 0 &&
                         take_count(from, "pieces_done", &pieces.done) == 0 &&
                         take_count(from, "pieces_failed", &pieces.failed) == 0 &&
                         ext_entry(from, "error", &error) == 0 &&
                         ext_entry(from, "skipped_files", &files) == 0
                     ? 0
                     : -1;
    if (result == 0)
        roast_ending_set_pieces(ending, pieces);
    if (result == 0 && error != NULL)
        result = take_error(ending, error, keep);
    if (result == 0 && files != NULL)
        result = take_all_skipped(ending, files, keep);
    Py_XDECREF(error);
    Py_XDECREF(files);
    return result;
}

static int outcome_of(PyObject *from, PyObject *keep, roast_end *out) {
    roast_str name;
    if (take_text(from, "outcome", keep, &name) != 0)
        return -1;
    *out = roast_end_find(name);
    if (*out != ROAST_END_unknown || name.data == NULL)
        return 0;
    PyErr_SetString(PyExc_ValueError, "outcome: 'done', 'failed' or 'interrupted' is expected");
    return -1;
}

int ext_take_ending(roast_run *run, PyObject *from) {
    roast_ending *ending = NULL;
    roast_end outcome;
    roast_error err;
    if (ext_is_none(from))
        return 0;
    PyObject *keep = PyList_New(0);
    int result = keep != NULL && ext_check_mapping(from, "ending") == 0 &&
                         outcome_of(from, keep, &outcome) == 0 &&
                         ext_raised(roast_ending_new(outcome, &ending, &err), &err) == 0
                     ? fill(ending, from, keep)
                     : -1;
    Py_XDECREF(keep);
    if (result == 0)
        roast_run_take_ending(run, ending);
    else
        roast_ending_free(ending);
    return result;
}

/* ---- to Python ---- */

static int put_text(PyObject *dict, const char *key, roast_str text) {
    return text.data != NULL ? ext_put(dict, key, ext_text(text)) : 0;
}

static int put_count(PyObject *dict, const char *key, int64_t count) {
    return count >= 0 ? ext_put(dict, key, PyLong_FromLongLong(count)) : 0;
}

static PyObject *error_dict(const roast_run_error *error) {
    PyObject *dict = PyDict_New();
    int result = dict != NULL ? 0 : -1;
#define X(name)                                                                                    \
    if (result == 0)                                                                               \
        result = put_text(dict, #name, error->name);
    ROAST_RUN_ERROR_TEXTS(X)
#undef X
    if (result == 0 && put_count(dict, "entry_start", error->entry_start) == 0 &&
        put_count(dict, "entry_stop", error->entry_stop) == 0)
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

static PyObject *skipped_at(const void *ending, uint32_t index) {
    roast_skipped_file skipped = roast_ending_skipped(ending, index);
    return Py_BuildValue("{s:N,s:N,s:N}", "dataset", ext_text(skipped.dataset), "file",
                         ext_text(skipped.file), "reason", ext_text(skipped.reason));
}

PyObject *ext_ending_dict(const roast_run *run) {
    const roast_ending *ending = roast_run_ending_view(run);
    if (ending == NULL)
        Py_RETURN_NONE;
    const roast_run_error *error = roast_ending_error(ending);
    roast_ending_pieces pieces = roast_ending_get_pieces(ending);
    const char *outcome = roast_end_name(roast_ending_outcome(ending));
    PyObject *dict = PyDict_New();
    if (dict != NULL &&
        ((outcome != NULL && ext_put(dict, "outcome", PyUnicode_FromString(outcome)) != 0) ||
         (error != NULL && ext_put(dict, "error", error_dict(error)) != 0) ||
         put_count(dict, "pieces", pieces.all) != 0 ||
         put_count(dict, "pieces_done", pieces.done) != 0 ||
         put_count(dict, "pieces_failed", pieces.failed) != 0 ||
         ext_put(dict, "skipped_files",
                 ext_list(ending, roast_ending_skipped_count(ending), skipped_at)) != 0))
        Py_CLEAR(dict);
    return dict;
}
