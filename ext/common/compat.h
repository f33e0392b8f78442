/* What differs between Python 3.11, 3.12 and 3.13. */
#ifndef ROAST_EXT_COMPAT_H
#define ROAST_EXT_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* *out = the attribute (a new reference) and 1; NULL and 0 if there is none; -1 with an exception set. An
 * absent attribute costs no exception: raising and dropping one takes longer than all of a section. */
static inline int ext_optional_attr(PyObject *object, PyObject *name, PyObject **out) {
#if PY_VERSION_HEX >= 0x030d0000
    return PyObject_GetOptionalAttr(object, name, out);
#else
    return _PyObject_LookupAttr(object, name, out);
#endif
}

/* The same for an item of any mapping. */
static inline int ext_optional_item(PyObject *mapping, PyObject *key, PyObject **out) {
    *out = PyObject_GetItem(mapping, key);
    if (*out != NULL)
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_KeyError))
        return -1;
    PyErr_Clear(); /* the KeyError */
    return 0;
}

/* What a weak reference refers to, borrowed; NULL: it is gone. */
static inline PyObject *ext_weak_target(PyObject *weak) {
#if PY_VERSION_HEX >= 0x030d0000
    PyObject *target = NULL;
    if (PyWeakref_GetRef(weak, &target) == 1)
        Py_DECREF(target); /* somebody else holds it */
    return target;
#else
    PyObject *target = PyWeakref_GET_OBJECT(weak);
    return target != Py_None ? target : NULL;
#endif
}

/* Can values be stored under names? A list can be assigned to as well, but it is no mapping. */
static inline int ext_is_mutable_mapping(PyObject *object) {
    PyMappingMethods *methods = Py_TYPE(object)->tp_as_mapping;
    return PyDict_Check(object) ||
           (methods != NULL && methods->mp_ass_subscript != NULL && !PyList_Check(object));
}

/* Fetches and clears the exception that is set. */
static inline PyObject *ext_take_exception(void) {
#if PY_VERSION_HEX >= 0x030c0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (type == NULL)
        return NULL;
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL)
        PyException_SetTraceback(value, traceback);
    Py_DECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}

/* Puts it back as it was; steals the reference. */
static inline void ext_restore_exception(PyObject *exception) {
#if PY_VERSION_HEX >= 0x030c0000
    PyErr_SetRaisedException(exception);
#else
    if (exception != NULL)
        PyErr_Restore(Py_NewRef(Py_TYPE(exception)), exception,
                      PyException_GetTraceback(exception));
#endif
}

#endif
