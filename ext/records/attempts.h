/* Attempts in Python: every try of every task. */
#ifndef ROAST_EXT_ATTEMPTS_H
#define ROAST_EXT_ATTEMPTS_H

#include "records/part.h"

#include "roast/attempts.h"

/* The attempts of an Attempts, held until the caller releases them. NULL: it is another type, or memory is short
 * and an exception is set. */
ext_shared *ext_attempts_hold(ext_state *state, PyObject *object);
/* A copy of them. NULL with an exception set. */
ext_shared *ext_attempts_copy(const roast_attempts *attempts);
/* An Attempts that shares them, and copies them before it changes them. */
PyObject *ext_attempts_of(ext_state *state, ext_shared *shared);
/* Takes the attempts over; they are freed on failure. */
PyObject *ext_attempts_new(ext_state *state, roast_attempts *attempts);

/* Seconds since 1970; None for ROAST_NO_TIME. NULL with an exception set. */
PyObject *ext_attempt_seconds(int64_t us);
/* "ValueError: message", the type alone, or None. */
PyObject *ext_attempt_exception(const roast_attempt *attempt);

#endif
