#include "run/diagnose.h"

#include "common/values.h"

#include "roast/diagnose.h"

static PyObject *finding_dict(const roast_finding *finding) {
    return Py_BuildValue(
        "{s:s,s:s,s:N,s:N,s:N,s:d,s:d,s:s}", "kind", roast_finding_kind_name(finding->kind),
        "severity", roast_severity_name(finding->severity), "title", ext_text(finding->title),
        "evidence", ext_text(finding->evidence), "advice", ext_text(finding->advice),
        "saving_core_seconds", finding->saving_core_seconds, "confidence", finding->confidence,
        "why", roast_finding_kind_why(finding->kind));
}

PyObject *ext_diagnose(run_input *input) {
    const roast_findings *findings = run_input_findings(input);
    if (findings == NULL)
        return NULL;
    uint32_t count = roast_findings_count(findings);
    PyObject *list = PyList_New(count);
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        PyObject *finding = finding_dict(roast_findings_at(findings, i));
        if (finding == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, finding);
    }
    return list;
}

static PyObject *kind_at(const void *unused, uint32_t index) {
    (void)unused;
    return PyUnicode_FromString(roast_finding_kind_name((roast_finding_kind)index));
}

PyObject *ext_finding_kinds(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return ext_list(NULL, ROAST_FINDING_KIND_COUNT, kind_at);
}
