#include "common/errors.h"

#include <stdlib.h>

static PyObject *exception_of(roast_status status) {
    switch (status) {
    case ROAST_ENOMEM:
        return PyExc_MemoryError;
    case ROAST_EIO:
        return PyExc_OSError;
    case ROAST_ENOTFOUND:
        return PyExc_KeyError;
    case ROAST_ESTATE:
        return PyExc_RuntimeError;
    case ROAST_EUNSUPPORTED:
        return PyExc_NotImplementedError;
    default:
        return PyExc_ValueError;
    }
}

/* OSError picks its subclass by the number: PermissionError, FileExistsError, ... */
static PyObject *raise_os_error(const roast_error *err) {
    PyObject *args = Py_BuildValue("(is)", err->os_errno, err->message);
    if (args != NULL)
        PyErr_SetObject(PyExc_OSError, args);
    Py_XDECREF(args);
    return NULL;
}

PyObject *ext_raise(const roast_error *err) {
    if (err->status == ROAST_EIO && err->os_errno != 0)
        return raise_os_error(err);
    PyErr_Format(exception_of(err->status), "%s",
                 err->message[0] != '\0' ? err->message : roast_status_text(err->status));
    return NULL;
}

/* Written with the GIL held; read by ext_take_new_faults likewise. */
static uint64_t fault_count, fault_told;
static char fault_text[256];

/* Per thread: an exception that must pass, until the call of ours that met it ends. */
static _Thread_local PyObject *passing;

static bool must_pass(void) {
    return PyErr_Occurred() != NULL && !PyErr_ExceptionMatches(PyExc_Exception);
}

/* Clears an exception that must pass, and keeps the first such; false: it is none. */
static bool keep(void) {
    if (!must_pass())
        return false;
    PyObject *exception = ext_take_exception();
    if (passing == NULL)
        passing = exception;
    else
        Py_DECREF(exception);
    return true;
}

int ext_drop_exception(void) {
    if (must_pass())
        return -1;
    PyErr_Clear();
    return 0;
}

void ext_pass_over(const char *what) {
    if (PyErr_Occurred() == NULL)
        return;
    if (PyErr_ExceptionMatches(PyExc_AttributeError) || PyErr_ExceptionMatches(PyExc_LookupError) ||
        PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Clear();
    else
        ext_count_fault(what, NULL);
}

bool ext_must_stop(void) {
    if (passing == NULL)
        return false;
    PyObject *exception = passing;
    passing = NULL;
    ext_restore_exception(exception);
    return true;
}

PyObject *ext_let_pass(PyObject *result) {
    if (result != NULL && PyErr_Occurred())
        ext_count_fault("an exception was left behind", NULL);
    if (passing == NULL)
        return result;
    PyObject *exception = passing, *before = ext_take_exception();
    passing = NULL;
    Py_XDECREF(result);
    PyObject *context = PyException_GetContext(exception);
    if (before != NULL && context == NULL)
        PyException_SetContext(exception, before); /* takes the reference */
    else
        Py_XDECREF(before);
    Py_XDECREF(context);
    ext_restore_exception(exception);
    return NULL;
}

/* "ValueError: ..." of the exception that is set, which is dropped. */
static void describe_exception(const char *what) {
    PyObject *exception = ext_take_exception();
    PyObject *text = PyObject_Str(exception);
    const char *message = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    if (!keep())
        PyErr_Clear(); /* an exception whose text cannot be had is still a fault */
    PyOS_snprintf(fault_text, sizeof fault_text, "%s: %s: %s", what, Py_TYPE(exception)->tp_name,
                  message != NULL ? message : "");
    Py_XDECREF(text);
    Py_DECREF(exception);
}

void ext_count_fault(const char *what, const roast_error *err) {
    if (keep())
        return;
    fault_count++;
    if (PyErr_Occurred())
        describe_exception(what);
    else
        PyOS_snprintf(fault_text, sizeof fault_text, "%s: %s", what,
                      err != NULL ? err->message : "failed");
}

uint64_t ext_take_new_faults(void) {
    uint64_t fresh = fault_count - fault_told;
    fault_told = fault_count;
    return fresh;
}

PyObject *ext_faults(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    if (fault_count == 0)
        return Py_BuildValue("{s:i,s:O}", "count", 0, "last", Py_None);
    PyObject *text = PyUnicode_DecodeUTF8(fault_text, (Py_ssize_t)strlen(fault_text), "replace");
    return Py_BuildValue("{s:K,s:N}", "count", (unsigned long long)fault_count, "last", text);
}

/* ---- for the tests: memory that runs short on demand ---- */

static long allocations_left;

static void *failing_hook(void *context, void *ptr, size_t size) {
    (void)context;
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    if (allocations_left <= 0)
        return NULL;
    allocations_left--;
    return realloc(ptr, size);
}

PyObject *ext_fail_allocations(PyObject *module, PyObject *after) {
    (void)module;
    long left = -1;
    if (after != Py_None) {
        left = PyLong_AsLong(after);
        if (left == -1 && PyErr_Occurred())
            return NULL;
    }
    allocations_left = left;
    roast_alloc_set_hook(left >= 0 ? failing_hook : NULL, NULL);
    Py_RETURN_NONE;
}
