/* Faults of the extension: a Python exception, or, in the user's hot path, a count. */
#ifndef ROAST_EXT_ERRORS_H
#define ROAST_EXT_ERRORS_H

#include "common/compat.h"
#include "roast/base.h"

#include <stdbool.h>

/* Sets the exception that fits the status; returns NULL so that a function can end with it. */
PyObject *ext_raise(const roast_error *err);
/* 0 for ROAST_OK; else -1, with the exception set. */
static inline int ext_raised(roast_status status, const roast_error *err) {
    if (status == ROAST_OK)
        return 0;
    ext_raise(err);
    return -1;
}

/* ---- exceptions of code that we called ----
 *
 * One that is no Exception (KeyboardInterrupt, SystemExit) is meant for the user's program: it must pass. Any
 * other means that something could not be measured. Code that clears an exception uses one of these functions, or
 * has checked for the one class that it clears. */

/* In a function that can fail. 0: the exception was cleared; -1: one that must pass is still set. */
int ext_drop_exception(void);
/* In a function that cannot fail, and reads something optional: a missing attribute or item, or another type, is
 * ignored; any other exception is a fault. One that must pass is kept for ext_let_pass(). */
void ext_pass_over(const char *what);
/* A measurement of ours failed inside the user's code: counted, never raised. `err` may be NULL; a Python
 * exception that is set is cleared and its text kept. One that must pass is no fault, but is kept for
 * ext_let_pass(). */
void ext_count_fault(const char *what, const roast_error *err);
/* Whether one is kept that this thread has not raised yet. It is set then: a call of ours inside of this one would
 * raise it otherwise. */
bool ext_must_stop(void);
/* The end of every call from the user's code that may have kept one: NULL with that exception set (`result` is
 * released), else `result`. An exception set together with a result is a fault. */
PyObject *ext_let_pass(PyObject *result);

/* Faults since the last call. */
uint64_t ext_take_new_faults(void);
/* {"count": int, "last": str or None} of this process. */
PyObject *ext_faults(PyObject *module, PyObject *unused);
/* _fail_allocations(after): the engine's allocations fail after that many; None: never again. */
PyObject *ext_fail_allocations(PyObject *module, PyObject *after);

#endif
