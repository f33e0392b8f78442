/* How faults leave the extension: as a Python exception, or, on the user's hot path, as a count. */
#ifndef ROAST_EXT_ERRORS_H
#define ROAST_EXT_ERRORS_H

#include "compat.h"
#include "roast/base.h"

/* Sets the exception that fits the status; returns NULL so that a function can end with it. */
PyObject *ext_raise(const roast_error *err);

/* A measurement of ours failed inside the user's code: counted, never raised. `err` may be NULL; a Python
 * exception that is set is taken away and its text kept. */
void ext_count_fault(const char *what, const roast_error *err);
/* Faults since the last call. */
uint64_t ext_take_new_faults(void);
/* {"count": int, "last": str or None} of this process. */
PyObject *ext_faults(PyObject *module, PyObject *unused);
/* _fail_allocations(after): the engine's allocations fail after that many; None: never again. */
PyObject *ext_fail_allocations(PyObject *module, PyObject *after);

#endif
