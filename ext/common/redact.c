#include "common/redact.h"

#include "common/values.h"
#include "roast/redact.h"

static PyObject *redacted(PyObject *object, const char *what,
                          size_t (*redact)(roast_str text, char *out)) {
    roast_str text;
    PyObject *owner = ext_text_of(object, what, &text), *made = NULL;
    if (owner == NULL)
        return NULL;
    char *room = roast_alloc(text.len + 1);
    if (room == NULL) {
        Py_DECREF(owner);
        return PyErr_NoMemory();
    }
    roast_str kept = {room, redact(text, room)};
    made = roast_str_equal(kept, text) ? Py_NewRef(object) : ext_text_or_null(kept);
    roast_free(room);
    Py_DECREF(owner);
    return made;
}

PyObject *ext_redact_name(PyObject *module, PyObject *name) {
    (void)module;
    return redacted(name, "redact_name", roast_redact_name);
}

PyObject *ext_redact_text(PyObject *module, PyObject *text) {
    (void)module;
    return redacted(text, "redact_text", roast_redact_text);
}

PyObject *ext_is_secret_name(PyObject *module, PyObject *name) {
    roast_str text;
    (void)module;
    PyObject *owner = ext_text_of(name, "is_secret_name", &text);
    if (owner == NULL)
        return NULL;
    bool secret = roast_is_secret_name(text);
    Py_DECREF(owner);
    return PyBool_FromLong(secret);
}
