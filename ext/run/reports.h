/* Several reports of Coffea as one, and replayed chunks taken out. */
#ifndef ROAST_EXT_REPORTS_H
#define ROAST_EXT_REPORTS_H

#include "state.h"

/* sum_reports(reports, replayed=None) */
PyObject *ext_sum_reports(PyObject *module, PyObject *args, PyObject *kwargs);
/* split_replayed(chunks, topics) -> (chunks of these runs or of none, chunks of other runs) */
PyObject *ext_split_replayed(PyObject *module, PyObject *args);

#endif
