/* Measurements of roastcoffea 0.1.x: the Run, and the metrics as 0.1.x had them.
 *
 * The engine checks the files and makes the Run. The metrics are what Python's own json makes of metrics.json, so
 * that each value is to the bit what 0.1.x saved; here the types come back that JSON has not: datetimes in
 * tracking_data, and tuples that are keys. */
#include "legacy.h"

#include "errors.h"
#include "pairs.h"
#include "run.h"

#include "roast/legacy.h"

#include <datetime.h>
#include <errno.h>

static PyObject *raise_legacy(const roast_error *err) {
    if (err->status != ROAST_ENOTFOUND)
        return ext_raise(err);
    PyObject *args =
        Py_BuildValue("(is)", err->os_errno != 0 ? err->os_errno : ENOENT, err->message);
    if (args != NULL)
        PyErr_SetObject(PyExc_FileNotFoundError, args);
    Py_XDECREF(args);
    return NULL;
}

/* ---- JSON ---- */

static PyObject *parse_json(ext_state *state, roast_str text, const char *file) {
    PyObject *string = PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "strict");
    PyObject *value = string != NULL ? PyObject_CallOneArg(state->json_loads, string) : NULL;
    Py_XDECREF(string);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_RecursionError))
        PyErr_Format(PyExc_ValueError, "%s: too many containers inside each other", file);
    return value;
}

/* ---- keys that were tuples ---- */

/* Python's own reader of literals. */
static PyObject *literal_reader(void) {
    PyObject *module = PyImport_ImportModule("ast");
    PyObject *reader = module != NULL ? PyObject_GetAttrString(module, "literal_eval") : NULL;
    Py_XDECREF(module);
    return reader;
}

static bool looks_like_a_tuple(PyObject *key) {
    Py_ssize_t len = PyUnicode_GET_LENGTH(key);
    return len >= 2 && PyUnicode_READ_CHAR(key, 0) == '(' &&
           PyUnicode_READ_CHAR(key, len - 1) == ')';
}

/* Whether `key` is what str() makes of `value`. */
static bool is_text_of(PyObject *value, PyObject *key) {
    PyObject *text = PyObject_Str(value);
    bool same = text != NULL && PyUnicode_Compare(text, key) == 0;
    Py_XDECREF(text);
    return same;
}

/* The tuple whose str() the key is, or the key itself; a new reference. */
static PyObject *restored_key(PyObject *reader, PyObject *key) {
    if (!PyUnicode_Check(key) || !looks_like_a_tuple(key))
        return Py_NewRef(key);
    PyObject *value = PyObject_CallOneArg(reader, key);
    if (value != NULL && PyTuple_Check(value) && PyObject_Hash(value) != -1 &&
        is_text_of(value, key))
        return value;
    /* Not a literal, or too long a one, or one that is no key: a text like any other. */
    Py_XDECREF(value);
    return ext_drop_exception() == 0 ? Py_NewRef(key) : NULL;
}

static PyObject *restored(PyObject *reader, PyObject *value);

static PyObject *restored_dict(PyObject *reader, PyObject *dict) {
    ext_pairs pairs;
    PyObject *out = ext_pairs_open(&pairs, dict, "metrics") == 0 ? PyDict_New() : NULL;
    while (out != NULL && ext_pairs_next(&pairs)) {
        PyObject *name = restored_key(reader, pairs.key);
        PyObject *item = name != NULL ? restored(reader, pairs.value) : NULL;
        if (item == NULL || PyDict_SetItem(out, name, item) != 0)
            Py_CLEAR(out);
        Py_XDECREF(name);
        Py_XDECREF(item);
    }
    ext_pairs_close(&pairs);
    return out;
}

/* The value with its keys restored; a new reference. Lists are changed where they are. */
static PyObject *restored(PyObject *reader, PyObject *value) {
    if (PyDict_CheckExact(value))
        return restored_dict(reader, value);
    if (!PyList_CheckExact(value))
        return Py_NewRef(value);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++) {
        PyObject *item = restored(reader, PyList_GET_ITEM(value, i));
        if (item == NULL || PyList_SetItem(value, i, item) != 0)
            return NULL;
    }
    return Py_NewRef(value);
}

/* ---- times of the workers ---- */

static PyObject *datetime_of(PyObject *text) {
    return PyObject_CallMethod((PyObject *)PyDateTimeAPI->DateTimeType, "fromisoformat", "O", text);
}

/* {text: n} -> {datetime: n}; other forms stay as they are. */
static PyObject *restored_counts(PyObject *counts) {
    if (!PyDict_Check(counts))
        return Py_NewRef(counts);
    ext_pairs pairs;
    PyObject *out = ext_pairs_open(&pairs, counts, "worker_counts") == 0 ? PyDict_New() : NULL;
    while (out != NULL && ext_pairs_next(&pairs)) {
        PyObject *when = datetime_of(pairs.key);
        if (when == NULL || PyDict_SetItem(out, when, pairs.value) != 0)
            Py_CLEAR(out);
        Py_XDECREF(when);
    }
    ext_pairs_close(&pairs);
    return out;
}

/* [text, value] -> (datetime, value), in place; false with an exception set. */
static bool restore_points(PyObject *list) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *point = PyList_GET_ITEM(list, i);
        if (!PyList_Check(point) || PyList_GET_SIZE(point) != 2)
            continue;
        PyObject *when = datetime_of(PyList_GET_ITEM(point, 0));
        PyObject *pair = when != NULL ? PyTuple_Pack(2, when, PyList_GET_ITEM(point, 1)) : NULL;
        Py_XDECREF(when);
        if (pair == NULL || PyList_SetItem(list, i, pair) != 0)
            return false;
    }
    return true;
}

static bool is_series(PyObject *key) {
    for (int column = 0; PyUnicode_Check(key) && column < ROAST_COLUMNS; column++)
        if (PyUnicode_CompareWithASCIIString(key, roast_series_column_at(column)->key) == 0)
            return true;
    return false;
}

static bool restore_column(PyObject *workers) {
    ext_pairs pairs;
    if (!PyDict_Check(workers))
        return true;
    bool done = ext_pairs_open(&pairs, workers, "tracking_data") == 0;
    while (done && ext_pairs_next(&pairs))
        done = !PyList_Check(pairs.value) || restore_points(pairs.value);
    ext_pairs_close(&pairs);
    return done;
}

/* false with an exception set. */
static bool restore_tracking(PyObject *metrics) {
    PyObject *tracking = PyDict_GetItemString(metrics, "tracking_data");
    ext_pairs pairs;
    if (tracking == NULL || !PyDict_Check(tracking))
        return true;
    bool restored_all = ext_pairs_open(&pairs, tracking, "tracking_data") == 0;
    while (restored_all && ext_pairs_next(&pairs))
        restored_all = !is_series(pairs.key) || restore_column(pairs.value);
    ext_pairs_close(&pairs);
    if (!restored_all)
        return false;
    PyObject *counts = PyDict_GetItemString(tracking, "worker_counts");
    if (counts == NULL)
        return true;
    PyObject *with_times = restored_counts(counts);
    bool done =
        with_times != NULL && PyDict_SetItemString(tracking, "worker_counts", with_times) == 0;
    Py_XDECREF(with_times);
    return done;
}

static PyObject *metrics_of(ext_state *state, roast_str text) {
    if (PyDateTimeAPI == NULL)
        PyDateTime_IMPORT;
    PyObject *reader = PyDateTimeAPI != NULL ? literal_reader() : NULL;
    PyObject *raw = reader != NULL ? parse_json(state, text, "metrics.json") : NULL;
    PyObject *metrics = raw != NULL ? restored(reader, raw) : NULL;
    Py_XDECREF(reader);
    Py_XDECREF(raw);
    if (metrics != NULL && !restore_tracking(metrics))
        Py_CLEAR(metrics);
    return metrics;
}

/* ---- all of it ---- */

/* Takes the run over. */
static PyObject *answer(ext_state *state, roast_run *run, const roast_legacy_texts *texts) {
    double start, end;
    PyObject *object = ext_run_new(state, run), *config = NULL;
    PyObject *metrics = object != NULL ? metrics_of(state, texts->metrics) : NULL;
    if (metrics != NULL)
        config = texts->config.data != NULL ? parse_json(state, texts->config, "config.json")
                                            : Py_NewRef(Py_None);
    if (config == NULL || !roast_legacy_times(texts->times, &start, &end)) {
        Py_XDECREF(object);
        Py_XDECREF(metrics);
        Py_XDECREF(config);
        return NULL;
    }
    return Py_BuildValue("(NNN(dd))", object, metrics, config, start, end);
}

PyObject *ext_load_legacy(PyObject *module, PyObject *path) {
    PyObject *name;
    roast_legacy_files *files = NULL;
    roast_legacy_texts texts = {.folder = NULL};
    roast_run *run = NULL;
    roast_error err;
    roast_status status;
    if (!PyUnicode_FSConverter(path, &name))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = roast_legacy_files_read(PyBytes_AS_STRING(name), &files, &err);
    if (status == ROAST_OK) {
        texts = roast_legacy_files_texts(files);
        status = roast_legacy_decode(&texts, &run, &err);
    }
    Py_END_ALLOW_THREADS Py_DECREF(name);
    PyObject *result =
        status == ROAST_OK ? answer(ext_state_of_module(module), run, &texts) : raise_legacy(&err);
    roast_legacy_files_free(files);
    return result;
}
