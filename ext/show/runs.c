/* The measurements below a folder, by the engine. */
#include "common/errors.h"
#include "common/values.h"
#include "show/runs.h"

#include "roast/found.h"

static roast_status list_runs(const char *folder, roast_sink *out, roast_error *err) {
    roast_found *found;
    ROAST_TRY(roast_found_new(&found, err));
    roast_status status = roast_found_search(found, folder, ROAST_FOUND_DEPTH, err);
    if (status == ROAST_OK)
        status = roast_found_read(found, &(roast_found_wanted){.config = true}, err);
    if (status == ROAST_OK) {
        roast_found_sort(found, ROAST_FOUND_BY_when, false, SIZE_MAX);
        roast_found_json(found, out);
    }
    roast_found_free(found);
    return status;
}

PyObject *ext_list_runs(PyObject *Py_UNUSED(module), PyObject *given) {
    PyObject *folder;
    roast_sink *sink;
    roast_error err;
    roast_status status;
    if (!PyUnicode_FSConverter(given, &folder))
        return NULL;
    if (ext_raised(roast_sink_new_memory(&sink, &err), &err) != 0) {
        Py_DECREF(folder);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = list_runs(PyBytes_AS_STRING(folder), sink, &err);
    Py_END_ALLOW_THREADS Py_DECREF(folder);
    if (status == ROAST_OK)
        return ext_sink_text(sink);
    roast_sink_free(sink);
    if (status == ROAST_ENOTFOUND)
        PyErr_SetString(PyExc_FileNotFoundError, err.message);
    else
        ext_raise(&err);
    return NULL;
}
