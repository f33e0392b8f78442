/* catalogue(): what every key means, for Python. */
#include "run/catalogue.h"

#include "roast/metrics.h"

static PyObject *alias_list(const char *aliases) {
    PyObject *text = PyUnicode_FromString(aliases);
    PyObject *list = text != NULL ? PyUnicode_Split(text, NULL, -1) : NULL;
    Py_XDECREF(text);
    return list;
}

PyObject *ext_catalogue(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 0; rows != NULL && i < roast_catalogue_count(); i++) {
        const roast_metric_info *info = roast_catalogue_at(i);
        PyObject *row = Py_BuildValue(
            "{s:s,s:N,s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "key", info->key, "aliases",
            alias_list(info->aliases), "type", roast_metric_type_name(info->type), "scope",
            roast_metric_scope_name(info->scope), "unit", info->unit, "group", info->group, "label",
            info->label, "formula", info->formula, "caveat", info->caveat);
        if (row == NULL || PyList_Append(rows, row) != 0)
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows;
}
