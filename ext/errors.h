/* How faults leave the extension: as a Python exception, or, on the user's hot path, as a count. */
#ifndef ROAST_EXT_ERRORS_H
#define ROAST_EXT_ERRORS_H

#include "compat.h"
#include "roast/base.h"

#include <stdbool.h>

/* Sets the exception that fits the status; returns NULL so that a function can end with it. */
PyObject *ext_raise(const roast_error *err);

/* ---- what to do with an exception that came out of code which we called ----
 *
 * One that is no Exception (KeyboardInterrupt, SystemExit) is meant for the user's program: it must pass. Any other
 * says that something could not be measured. Every place that takes an exception away does it by one of these
 * functions, or has looked for the one class that it takes away. */

/* In a function that can fail. 0: there is no exception any more; -1: one that must pass is still set. */
int ext_drop_exception(void);
/* In a function that cannot fail, and asks for something that need not be there: an attribute, an item, another type
 * are just missing; any other exception is a fault. One that must pass is kept for ext_let_pass(). */
void ext_pass_over(const char *what);
/* A measurement of ours failed inside the user's code: counted, never raised. `err` may be NULL; a Python
 * exception that is set is taken away and its text kept. One that must pass is no fault, but is kept for
 * ext_let_pass(). */
void ext_count_fault(const char *what, const roast_error *err);
/* Whether one is kept that this thread has not raised yet. It is set then: a call of ours inside of this one would
 * raise it otherwise. */
bool ext_must_stop(void);
/* The end of every call from the user's code that may have kept one: NULL with that exception set (`result` is
 * released), else `result`. An exception that stands behind a result is a fault. */
PyObject *ext_let_pass(PyObject *result);

/* Faults since the last call. */
uint64_t ext_take_new_faults(void);
/* {"count": int, "last": str or None} of this process. */
PyObject *ext_faults(PyObject *module, PyObject *unused);
/* _fail_allocations(after): the engine's allocations fail after that many; None: never again. */
PyObject *ext_fail_allocations(PyObject *module, PyObject *after);

#endif
