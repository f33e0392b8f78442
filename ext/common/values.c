#include "common/values.h"

#include "common/errors.h"
#include "common/pairs.h"

#include <math.h>

PyObject *ext_text_or_null(roast_str text) {
    return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "replace");
}

PyObject *ext_sink_bytes(roast_sink *sink) {
    roast_error err;
    PyObject *data = NULL;
    if (ext_raised(roast_sink_finish(sink, &err), &err) == 0) {
        roast_str bytes = roast_sink_memory(sink);
        data = PyBytes_FromStringAndSize(bytes.data, (Py_ssize_t)bytes.len);
    }
    roast_sink_free(sink);
    return data;
}

PyObject *ext_sink_text(roast_sink *sink) {
    roast_error err;
    PyObject *text = ext_raised(roast_sink_finish(sink, &err), &err) == 0
                         ? ext_text_or_null(roast_sink_memory(sink))
                         : NULL;
    roast_sink_free(sink);
    return text;
}

PyObject *ext_written(const void *of, void (*write)(const void *of, roast_sink *sink)) {
    roast_sink *sink;
    roast_error err;
    if (ext_raised(roast_sink_new_memory(&sink, &err), &err) != 0)
        return NULL;
    write(of, sink);
    return ext_sink_text(sink);
}

PyObject *ext_text(roast_str text) {
    return text.data == NULL ? Py_NewRef(Py_None) : ext_text_or_null(text);
}

bool ext_to_steps(double value, double per, int64_t *out) {
    double steps = nearbyint(value * per);
    if (!(steps >= -0x1p63 && steps < 0x1p63))
        return false;
    *out = (int64_t)steps;
    return true;
}

PyObject *ext_utf8(PyObject *text, roast_str *out) {
    Py_ssize_t len = 0;
    const char *data = PyUnicode_AsUTF8AndSize(text, &len);
    PyObject *held = data != NULL ? Py_NewRef(text) : NULL;
    if (data == NULL && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        PyErr_Clear(); /* this one */
        held = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
        if (held != NULL) {
            data = PyBytes_AS_STRING(held);
            len = PyBytes_GET_SIZE(held);
        }
    }
    *out = (roast_str){data, (size_t)len};
    return held;
}

PyObject *ext_text_of(PyObject *object, const char *what, roast_str *out) {
    if (PyUnicode_Check(object))
        return ext_utf8(object, out);
    PyErr_Format(PyExc_TypeError, "%s: a str is expected, not %s", what, Py_TYPE(object)->tp_name);
    return NULL;
}

/* ---- keeping ---- */

void ext_customs_release(ext_customs *customs) {
    roast_free(customs->items);
    Py_XDECREF(customs->keep);
    *customs = (ext_customs){0};
}

/* Keeps the object that a text points into alive with the list. Takes the reference. */
static int hold(ext_customs *customs, PyObject *object) {
    if (customs->keep == NULL)
        customs->keep = PyList_New(0);
    int result =
        object != NULL && customs->keep != NULL ? PyList_Append(customs->keep, object) : -1;
    Py_XDECREF(object);
    return result;
}

/* A text of the user, uncut. Takes the reference. */
static int hold_text(ext_customs *customs, PyObject *text, roast_str *out) {
    PyObject *held = text != NULL ? ext_utf8(text, out) : NULL;
    Py_XDECREF(text);
    return hold(customs, held);
}

static int put_key(ext_customs *customs, PyObject *key, roast_custom *out) {
    enum { SHOWN = 60 };
    PyObject *text = PyUnicode_Check(key) ? Py_NewRef(key) : PyObject_Str(key);
    if (hold_text(customs, text, &out->key) != 0)
        return -1;
    if (out->key.len <= ROAST_MAX_TEXT)
        return 0;
    out->key.len = 0;
    if (PyUnicode_Check(key) &&
        hold_text(customs, PyUnicode_Substring(key, 0, SHOWN), &out->key) != 0)
        return -1;
    PyErr_SetString(PyExc_ValueError, "its name is longer than 64 kB");
    return -1;
}

/* A value that is neither a number nor a text, by the encoder of the package. */
static int put_object(ext_state *state, ext_customs *customs, PyObject *value, roast_custom *out) {
    PyObject *dump = ext_import_dump_value(state);
    PyObject *json =
        dump != NULL ? PyObject_CallFunction(dump, "OI", value, ROAST_MAX_VALUE) : NULL;
    if (json == NULL)
        return -1;
    if (!PyBytes_CheckExact(json)) {
        Py_DECREF(json);
        PyErr_SetString(PyExc_TypeError, "the encoder gave no bytes");
        return -1;
    }
    out->kind = ROAST_CUSTOM_JSON;
    out->text = (roast_str){PyBytes_AS_STRING(json), (size_t)PyBytes_GET_SIZE(json)};
    return hold(customs, json);
}

/* true: the value is a number that fits. */
static bool put_number(PyObject *value, roast_custom *out) {
    if (PyFloat_Check(value)) {
        out->kind = ROAST_CUSTOM_REAL;
        out->real = PyFloat_AS_DOUBLE(value);
        return true;
    }
    int overflow = 0;
    long long integer = PyLong_Check(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : 0;
    if (!PyLong_Check(value) || overflow != 0)
        return false;
    out->kind = ROAST_CUSTOM_INT;
    out->integer = integer;
    return true;
}

static int put_value(ext_state *state, ext_customs *customs, PyObject *value, roast_custom *out) {
    if (value == Py_None) {
        out->kind = ROAST_CUSTOM_NULL;
        return 0;
    }
    if (PyBool_Check(value)) {
        out->kind = ROAST_CUSTOM_BOOL;
        out->integer = value == Py_True;
        return 0;
    }
    if (put_number(value, out))
        return 0;
    /* A text with lone surrogates has no UTF-8, but JSON has it. */
    if (PyUnicode_CheckExact(value) && PyUnicode_AsUTF8AndSize(value, NULL) != NULL) {
        out->kind = ROAST_CUSTOM_TEXT;
        return hold_text(customs, Py_NewRef(value), &out->text);
    }
    PyErr_Clear(); /* the UnicodeEncodeError, if any */
    return put_object(state, customs, value, out);
}

static int check_room(const ext_customs *customs, const roast_custom *custom) {
    if (custom->text.len > ROAST_MAX_VALUE)
        PyErr_SetString(PyExc_ValueError, "it is longer than 1 MiB");
    else if (customs->bytes + custom->text.len > ROAST_MAX_VALUES)
        PyErr_SetString(PyExc_ValueError, "the values of the chunk are longer than 16 MiB");
    return PyErr_Occurred() ? -1 : 0;
}

/* The reason is the exception that is set. -1: it is not a failure of the value, and stays set. */
static int leave_out(ext_customs *customs, roast_custom *out) {
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyObject *exception = ext_take_exception();
    PyObject *reason =
        Py_TYPE(exception) == (PyTypeObject *)PyExc_ValueError
            ? PyUnicode_FromFormat("%.200S", exception)
            : PyUnicode_FromFormat("%.100s: %.200S", Py_TYPE(exception)->tp_name, exception);
    if (reason == NULL && ext_drop_exception() == 0) /* an exception without a readable text */
        reason = PyUnicode_FromString(Py_TYPE(exception)->tp_name);
    Py_DECREF(exception);
    if (out->key.data == NULL)
        out->key = roast_str_of("?");
    out->kind = ROAST_CUSTOM_LEFT_OUT;
    return hold_text(customs, reason, &out->text);
}

static int reserve(ext_customs *customs) {
    if (customs->count < customs->capacity)
        return 0;
    size_t capacity = customs->capacity == 0 ? 8 : customs->capacity * 2;
    roast_custom *items = roast_realloc(customs->items, capacity * sizeof *items);
    if (items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    customs->items = items;
    customs->capacity = capacity;
    return 0;
}

int ext_customs_add(ext_state *state, ext_customs *customs, roast_custom_scope scope, PyObject *key,
                    PyObject *value) {
    roast_custom custom = {.scope = scope};
    if (customs->count == ROAST_MAX_CUSTOMS)
        return 0; /* the last one says it */
    if (reserve(customs) != 0)
        return -1;
    /* Methods of the value may drop the last reference to both. */
    Py_INCREF(key);
    Py_INCREF(value);
    int result = put_key(customs, key, &custom);
    if (result == 0 && customs->count == ROAST_MAX_CUSTOMS - 1) {
        PyErr_Format(PyExc_ValueError,
                     "a chunk keeps %u values, this and the ones behind it are more",
                     ROAST_MAX_CUSTOMS - 1);
        result = -1;
    }
    if (result == 0)
        result = put_value(state, customs, value, &custom);
    if (result == 0)
        result = check_room(customs, &custom);
    if (result != 0)
        result = leave_out(customs, &custom);
    Py_DECREF(key);
    Py_DECREF(value);
    if (result != 0)
        return -1;
    if (custom.kind != ROAST_CUSTOM_LEFT_OUT)
        customs->bytes += custom.text.len;
    customs->items[customs->count++] = custom;
    return 0;
}

/* ---- reading ---- */

static PyObject *load_json(ext_state *state, const roast_custom *custom) {
    PyObject *text = ext_text_or_null(custom->text);
    PyObject *load = ext_import_load_value(state);
    PyObject *value = text != NULL && load != NULL ? PyObject_CallOneArg(load, text) : NULL;
    Py_XDECREF(text);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyObject *error = ext_take_exception(), *key = ext_text_or_null(custom->key);
        if (key != NULL)
            PyErr_Format(PyExc_ValueError, "the value '%U' of a chunk is damaged: %S", key, error);
        Py_DECREF(error);
        Py_XDECREF(key);
    }
    return value;
}

PyObject *ext_custom_value(ext_state *state, const roast_custom *custom) {
    switch (custom->kind) {
    case ROAST_CUSTOM_BOOL:
        return PyBool_FromLong(custom->integer != 0);
    case ROAST_CUSTOM_INT:
        return PyLong_FromLongLong(custom->integer);
    case ROAST_CUSTOM_REAL:
        return PyFloat_FromDouble(custom->real);
    case ROAST_CUSTOM_TEXT:
        return ext_text_or_null(custom->text);
    case ROAST_CUSTOM_JSON:
        return load_json(state, custom);
    case ROAST_CUSTOM_NULL:
    case ROAST_CUSTOM_LEFT_OUT:
    case ROAST_CUSTOM_KINDS:
        break;
    }
    Py_RETURN_NONE;
}

bool ext_is_none(PyObject *object) {
    return object == NULL || object == Py_None;
}

int ext_entry(PyObject *mapping, const char *key, PyObject **out) {
    *out = PyMapping_GetItemString(mapping, key);
    if (*out == NULL && !PyErr_ExceptionMatches(PyExc_LookupError))
        return -1;
    PyErr_Clear(); /* the LookupError, if any */
    if (*out == Py_None)
        Py_CLEAR(*out);
    return 0;
}

int ext_check_mapping(PyObject *object, const char *what) {
    int has_keys = ext_has_keys(object);
    if (has_keys == 0)
        PyErr_Format(PyExc_TypeError, "%s: a mapping is expected, not %s", what,
                     Py_TYPE(object)->tp_name);
    return has_keys > 0 ? 0 : -1;
}

int ext_real(PyObject *value, const char *what, double *out) {
    *out = PyFloat_AsDouble(value);
    if (*out != -1.0 || !PyErr_Occurred())
        return 0;
    if (PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s: a number is expected, not %s", what,
                     Py_TYPE(value)->tp_name);
    return -1;
}

PyObject *ext_real_or_none(double value) {
    return isnan(value) ? Py_NewRef(Py_None) : PyFloat_FromDouble(value);
}

int ext_put(PyObject *dict, const char *key, PyObject *value) {
    int result = value != NULL ? PyDict_SetItemString(dict, key, value) : -1;
    Py_XDECREF(value);
    return result;
}

int ext_put_pair(PyObject *dict, PyObject *key, PyObject *value) {
    int result = key != NULL && value != NULL ? PyDict_SetItem(dict, key, value) : -1;
    Py_XDECREF(key);
    Py_XDECREF(value);
    return result;
}

PyObject *ext_list(const void *source, uint64_t count,
                   PyObject *(*make)(const void *source, uint32_t index)) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        PyObject *item = make(source, i);
        if (item == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return list;
}
