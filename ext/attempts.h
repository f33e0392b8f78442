/* Attempts in Python: every try of every task. */
#ifndef ROAST_EXT_ATTEMPTS_H
#define ROAST_EXT_ATTEMPTS_H

#include "state.h"

#include "roast/attempts.h"

/* NULL if `object` is no Attempts. Borrowed. */
const roast_attempts *ext_attempts_view(ext_state *state, PyObject *object);
/* Takes the attempts over; they are freed on failure. */
PyObject *ext_attempts_new(ext_state *state, roast_attempts *attempts);

/* The same for a copy of them. */
PyObject *ext_attempts_copy(ext_state *state, const roast_attempts *attempts);

/* Seconds since 1970; None for ROAST_NO_TIME. NULL with an exception set. */
PyObject *ext_attempt_seconds(int64_t us);
/* "ValueError: message", the type alone, or None. */
PyObject *ext_attempt_exception(const roast_attempt *attempt);

#endif
