/* Small steps on users' objects that never raise: anything missing or failing is NULL or false. Exceptions that
 * must reach the user, such as KeyboardInterrupt, are kept: see errors.h. */
#ifndef ROAST_EXT_QUIET_H
#define ROAST_EXT_QUIET_H

#include "common/errors.h"

/* A new reference. object may be NULL. */
static inline PyObject *ext_quiet_attr(PyObject *object, PyObject *name) {
    PyObject *value = NULL;
    if (object != NULL && ext_optional_attr(object, name, &value) < 0)
        ext_pass_over("an attribute could not be read");
    return value;
}

/* An attribute of ours on a user's object, from the instance's dict or from its type. __getattr__ is not asked: one
 * that has a default for every name would switch on the measurement. A new reference. object may be NULL. */
static inline PyObject *ext_own_attr(PyObject *object, PyObject *name) {
    if (object == NULL || Py_TYPE(object)->tp_getattro == PyObject_GenericGetAttr)
        return ext_quiet_attr(object, name);
    PyObject *value = PyObject_GenericGetAttr(object, name);
    if (value == NULL)
        ext_pass_over("an attribute could not be read");
    return value;
}

/* A new reference. mapping may be NULL, and need not be a mapping. */
static inline PyObject *ext_quiet_item(PyObject *mapping, PyObject *key) {
    PyObject *value = NULL;
    if (mapping == NULL)
        return NULL;
    if (PyDict_CheckExact(mapping))
        value = Py_XNewRef(PyDict_GetItemWithError(mapping, key));
    else if (PyMapping_Check(mapping))
        value = PyObject_GetItem(mapping, key);
    if (value == NULL)
        ext_pass_over("an item could not be read");
    return value;
}

/* Takes the reference; NULL is no number. */
static inline bool ext_quiet_int(PyObject *object, int64_t *out) {
    if (object == NULL)
        return false;
    PyObject *number = PyNumber_Index(object);
    Py_DECREF(object);
    long long value = number != NULL ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    if (value == -1 && PyErr_Occurred()) {
        ext_pass_over("a number could not be read");
        return false;
    }
    *out = value;
    return true;
}

static inline bool ext_quiet_attr_int(PyObject *object, PyObject *name, int64_t *out) {
    return ext_quiet_int(ext_quiet_attr(object, name), out);
}

/* The text of a str, valid as long as the str lives. object may be NULL. */
static inline bool ext_quiet_text(PyObject *object, roast_str *out) {
    Py_ssize_t len;
    const char *text =
        object != NULL && PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &len) : NULL;
    if (text == NULL) {
        ext_pass_over("a text could not be read"); /* lone surrogates, which no encoding has */
        return false;
    }
    *out = (roast_str){text, (size_t)len};
    return true;
}

/* A str of Python's own type with the same text: hashing and comparing it runs no user code. Takes the reference;
 * NULL if it is no str. */
static inline PyObject *ext_quiet_exact(PyObject *object) {
    if (object == NULL || PyUnicode_CheckExact(object))
        return object;
    PyObject *exact = PyUnicode_Check(object) ? PyUnicode_FromObject(object) : NULL;
    Py_DECREF(object);
    if (exact == NULL)
        ext_pass_over("a text could not be read");
    return exact;
}

#endif
