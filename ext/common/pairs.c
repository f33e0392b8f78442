#include "common/pairs.h"

int ext_has_keys(PyObject *object) {
    if (PyDict_Check(object))
        return 1;
    PyObject *name = PyUnicode_FromString("keys"), *method = NULL;
    int found = name != NULL ? ext_optional_attr(object, name, &method) : -1;
    Py_XDECREF(name);
    Py_XDECREF(method);
    return found;
}

static PyObject *items_of(PyObject *mapping, const char *what) {
    if (PyDict_CheckExact(mapping))
        return PyDict_Items(mapping);
    int has_keys = ext_has_keys(mapping);
    if (has_keys > 0)
        return PyMapping_Items(mapping);
    if (has_keys == 0)
        PyErr_Format(PyExc_TypeError, "%s: a mapping is expected, not %s", what,
                     Py_TYPE(mapping)->tp_name);
    return NULL;
}

/* A tuple of two in place of the item; 0 or -1 with an exception set. */
static int check_pair(PyObject *items, Py_ssize_t index, const char *what) {
    PyObject *item = PyList_GET_ITEM(items, index);
    if (PyTuple_CheckExact(item) && PyTuple_GET_SIZE(item) == 2)
        return 0;
    PyObject *pair = PyTuple_Check(item) || PyList_Check(item) ? PySequence_Tuple(item) : NULL;
    if (pair != NULL && PyTuple_GET_SIZE(pair) == 2)
        return PyList_SetItem(items, index, pair); /* takes the reference */
    Py_XDECREF(pair);
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s: items() of a mapping gives pairs, not %s", what,
                     Py_TYPE(item)->tp_name);
    return -1;
}

int ext_pairs_open(ext_pairs *pairs, PyObject *mapping, const char *what) {
    *pairs = (ext_pairs){.items = items_of(mapping, what)};
    if (pairs->items == NULL)
        return -1;
    pairs->count = PyList_GET_SIZE(pairs->items);
    for (Py_ssize_t i = 0; i < pairs->count; i++)
        if (check_pair(pairs->items, i, what) != 0) {
            ext_pairs_close(pairs);
            return -1;
        }
    return 0;
}

bool ext_pairs_next(ext_pairs *pairs) {
    if (pairs->at == pairs->count)
        return false;
    PyObject *pair = PyList_GET_ITEM(pairs->items, pairs->at++);
    pairs->key = PyTuple_GET_ITEM(pair, 0);
    pairs->value = PyTuple_GET_ITEM(pair, 1);
    return true;
}

void ext_pairs_close(ext_pairs *pairs) {
    Py_XDECREF(pairs->items);
    *pairs = (ext_pairs){.items = NULL};
}
