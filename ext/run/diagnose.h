/* Findings, for Python. */
#ifndef ROAST_EXT_DIAGNOSE_H
#define ROAST_EXT_DIAGNOSE_H

#include "run/convert_run.h"

/* A list of dicts, the worst first. NULL with an exception set. */
PyObject *ext_diagnose(run_input *input);
/* finding_kinds() -> list of str */
PyObject *ext_finding_kinds(PyObject *module, PyObject *unused);

#endif
