#include "show/named_runs.h"

#include "common/values.h"

static int take_one(ext_state *state, PyObject *entry,
                    int (*take)(void *context, roast_str name, run_input *input), void *context) {
    roast_str name;
    bool pair = PyTuple_Check(entry) && PyTuple_GET_SIZE(entry) == 2 &&
                PyUnicode_Check(PyTuple_GET_ITEM(entry, 0));
    run_input *input = pair ? ext_run_input(state, PyTuple_GET_ITEM(entry, 1)) : NULL;
    if (input == NULL) {
        PyErr_SetString(PyExc_TypeError, "a list of (name, Run) is expected");
        return -1;
    }
    PyObject *held = ext_utf8(PyTuple_GET_ITEM(entry, 0), &name);
    int result = held != NULL ? take(context, name, input) : -1;
    Py_XDECREF(held);
    return result;
}

int ext_each_named_run(ext_state *state, PyObject *runs,
                       int (*take)(void *context, roast_str name, run_input *input),
                       void *context) {
    PyObject *list = PySequence_List(runs); /* a copy: user code may change the other one */
    int result = list != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(list); i++)
        result = take_one(state, PyList_GET_ITEM(list, i), take, context);
    Py_XDECREF(list);
    return result;
}
