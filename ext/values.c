#include "values.h"

#include "errors.h"

#include <math.h>

PyObject *ext_text_or_null(roast_str text) {
    return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "replace");
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

void ext_customs_release(ext_customs *customs) {
    roast_free(customs->items);
    Py_XDECREF(customs->keep);
    *customs = (ext_customs){0};
}

/* Keeps the object alive with the list, and lends its bytes. Takes the reference. */
static int keep_bytes(ext_customs *customs, PyObject *object, roast_str *out) {
    if (object == NULL)
        return -1;
    Py_ssize_t len = 0;
    const char *data = NULL;
    int result = -1;
    if (PyUnicode_Check(object))
        data = PyUnicode_AsUTF8AndSize(object, &len);
    else if (PyBytes_Check(object)) {
        data = PyBytes_AS_STRING(object);
        len = PyBytes_GET_SIZE(object);
    }
    if (customs->keep == NULL)
        customs->keep = PyList_New(0);
    if (data != NULL && customs->keep != NULL && PyList_Append(customs->keep, object) == 0) {
        *out = (roast_str){data, (size_t)len};
        result = 0;
    }
    Py_DECREF(object);
    return result;
}

/* A number of another library (numpy's, for instance) as Python's own; NULL: it is none, or an exception must
 * pass. */
static PyObject *plain_number(PyObject *value) {
    PyObject *plain = NULL;
    /* An array of one element would turn into a number too, but it is an array. */
    if (Py_TYPE(value)->tp_as_sequence != NULL && Py_TYPE(value)->tp_as_sequence->sq_length != NULL)
        return NULL;
    if (PyIndex_Check(value))
        plain = PyNumber_Index(value);
    else if (Py_TYPE(value)->tp_as_number != NULL && Py_TYPE(value)->tp_as_number->nb_float != NULL)
        plain = PyNumber_Float(value);
    if (plain == NULL)
        ext_drop_exception();
    return plain;
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

static int put_object(ext_state *state, ext_customs *customs, PyObject *value, roast_custom *out) {
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value) || PyDict_CheckExact(value) ||
        PyLong_CheckExact(value)) {
        PyObject *text = PyObject_CallOneArg(state->json_dumps, value);
        /* JSON turns tuples into lists and keys into texts: only what comes back the same is kept so. */
        PyObject *back = text != NULL ? PyObject_CallOneArg(state->json_loads, text) : NULL;
        int same = back != NULL ? PyObject_RichCompareBool(back, value, Py_EQ) : 0;
        Py_XDECREF(back);
        if (ext_drop_exception() != 0) {
            Py_XDECREF(text);
            return -1;
        }
        if (same == 1 && PyUnicode_GET_LENGTH(text) <= ROAST_MAX_TEXT) {
            out->kind = ROAST_CUSTOM_JSON;
            return keep_bytes(customs, text, &out->text);
        }
        Py_XDECREF(text);
    }
    PyObject *pickled = PyObject_CallOneArg(state->pickle_dumps, value);
    if (pickled != NULL && PyBytes_Check(pickled) && PyBytes_GET_SIZE(pickled) <= ROAST_MAX_TEXT) {
        out->kind = ROAST_CUSTOM_PICKLE;
        return keep_bytes(customs, pickled, &out->text);
    }
    Py_XDECREF(pickled);
    if (ext_drop_exception() != 0)
        return -1;
    out->kind = ROAST_CUSTOM_TEXT;
    return keep_bytes(customs, PyObject_Repr(value), &out->text);
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
    if (PyUnicode_Check(value)) {
        out->kind = ROAST_CUSTOM_TEXT;
        return keep_bytes(customs, Py_NewRef(value), &out->text);
    }
    PyObject *number = PyLong_Check(value) || PyList_Check(value) ? NULL : plain_number(value);
    if (number == NULL && PyErr_Occurred())
        return -1;
    bool put = number != NULL && put_number(number, out);
    Py_XDECREF(number);
    return put ? 0 : put_object(state, customs, value, out);
}

int ext_customs_add(ext_state *state, ext_customs *customs, roast_custom_scope scope, PyObject *key,
                    PyObject *value) {
    if (customs->count == ROAST_MAX_CUSTOMS) {
        PyErr_SetString(PyExc_ValueError, "too many values of the user's own in one chunk");
        return -1;
    }
    if (customs->count == customs->capacity) {
        size_t capacity = customs->capacity == 0 ? 8 : customs->capacity * 2;
        roast_custom *items = roast_realloc(customs->items, capacity * sizeof *items);
        if (items == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        customs->items = items;
        customs->capacity = capacity;
    }
    roast_custom custom = {.scope = scope};
    PyObject *text = PyUnicode_Check(key) ? Py_NewRef(key) : PyObject_Str(key);
    if (keep_bytes(customs, text, &custom.key) != 0 ||
        put_value(state, customs, value, &custom) != 0)
        return -1;
    customs->items[customs->count++] = custom;
    return 0;
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
    case ROAST_CUSTOM_JSON: {
        PyObject *text = ext_text_or_null(custom->text);
        PyObject *value = text != NULL ? PyObject_CallOneArg(state->json_loads, text) : NULL;
        Py_XDECREF(text);
        return value;
    }
    case ROAST_CUSTOM_PICKLE: {
        PyObject *data = PyBytes_FromStringAndSize(custom->text.data, (Py_ssize_t)custom->text.len);
        PyObject *value = data != NULL ? PyObject_CallOneArg(state->pickle_loads, data) : NULL;
        Py_XDECREF(data);
        return value;
    }
    case ROAST_CUSTOM_NULL:
    case ROAST_CUSTOM_KINDS:
        break;
    }
    Py_RETURN_NONE;
}
