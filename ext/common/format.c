/* format_value(), format_column(): numbers as people read them. */
#include "common/format.h"

#include "roast/format.h"

static int value_of(PyObject *object, roast_value *out) {
    *out = roast_value_none();
    if (PyLong_Check(object) && !PyBool_Check(object)) {
        int overflow;
        long long integer = PyLong_AsLongLongAndOverflow(object, &overflow);
        *out = overflow == 0 ? roast_value_int(integer) : roast_value_real(PyLong_AsDouble(object));
    } else if (object != Py_None) {
        *out = roast_value_real(PyFloat_AsDouble(object));
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *text_of(const char *text, size_t len, size_t size) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)(len < size ? len : size - 1), "replace");
}

PyObject *ext_format_value(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *object;
    const char *unit;
    roast_value value;
    char text[192];
    if (!PyArg_ParseTuple(args, "Os:format_value", &object, &unit) || value_of(object, &value) != 0)
        return NULL;
    return text_of(text, roast_format_value(value, unit, text, sizeof text), sizeof text);
}

static int add_to_column(PyObject *values, roast_format_column *column) {
    roast_value value;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); i++) {
        if (value_of(PyTuple_GET_ITEM(values, i), &value) != 0)
            return -1;
        roast_format_column_add(column, value);
    }
    return 0;
}

static int append_texts(PyObject *values, const roast_format_column *column, PyObject *texts) {
    roast_value value;
    char text[192];
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); i++) {
        if (value_of(PyTuple_GET_ITEM(values, i), &value) != 0)
            return -1;
        size_t len = roast_format_in_column(column, value, text, sizeof text);
        PyObject *one = text_of(text, len, sizeof text);
        int failed = one == NULL || PyList_Append(texts, one) != 0;
        Py_XDECREF(one);
        if (failed)
            return -1;
    }
    return 0;
}

PyObject *ext_format_column(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *given;
    roast_format_column column = {.unit = NULL};
    if (!PyArg_ParseTuple(args, "Os:format_column", &given, &column.unit))
        return NULL;
    PyObject *values = PySequence_Tuple(given), *texts = PyList_New(0);
    if (values == NULL || texts == NULL || add_to_column(values, &column) != 0 ||
        append_texts(values, &column, texts) != 0)
        Py_CLEAR(texts);
    Py_XDECREF(values);
    return texts;
}
