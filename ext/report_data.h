/* What the report shows beyond what the plots do; see report_data.c. */
#ifndef ROAST_EXT_REPORT_DATA_H
#define ROAST_EXT_REPORT_DATA_H

#include "state.h"

PyObject *ext_report_top(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_report_outliers(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
