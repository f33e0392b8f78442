/* format_value(): numbers as people read them. */
#include "common/format.h"

#include "roast/format.h"

PyObject *ext_format_value(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *object;
    const char *unit;
    if (!PyArg_ParseTuple(args, "Os:format_value", &object, &unit))
        return NULL;
    roast_value value = roast_value_none();
    if (PyLong_Check(object) && !PyBool_Check(object)) {
        int overflow;
        long long integer = PyLong_AsLongLongAndOverflow(object, &overflow);
        value =
            overflow == 0 ? roast_value_int(integer) : roast_value_real(PyLong_AsDouble(object));
    } else if (object != Py_None) {
        value = roast_value_real(PyFloat_AsDouble(object));
    }
    if (PyErr_Occurred())
        return NULL;
    char text[192];
    size_t len = roast_format_value(value, unit, text, sizeof text);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)(len < sizeof text ? len : sizeof text - 1),
                                "replace");
}
