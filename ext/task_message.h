/* What Dask's messages about a task say, read without ever raising. */
#ifndef ROAST_EXT_TASK_MESSAGE_H
#define ROAST_EXT_TASK_MESSAGE_H

#include "state.h"

#include "roast/attempts.h"

/* The keyword arguments of a call. */
typedef struct task_message {
    PyObject *const *values;
    PyObject *names; /* tuple or NULL */
} task_message;
/* Borrowed; NULL if it is not there. */
PyObject *ext_message_field(const task_message *from, PyObject *name);

/* What a worker tells about a try at its end. */
typedef struct task_account {
    int64_t start_us, stop_us;                    /* ROAST_NO_TIME: not told */
    int64_t transfer_us, deserialize_us, disk_us; /* -1: not told */
    uint64_t thread;                              /* 0: not told */
} task_account;
task_account ext_account_none(void);
/* From `startstops` and `thread`; either may be NULL. */
task_account ext_account_of(ext_state *state, PyObject *startstops, PyObject *thread);

/* Sets type and message from what repr() says of an exception, "ValueError('no')". They are borrowed from
 * the text and from `words`. */
void ext_message_error(roast_str text, char words[ROAST_MAX_ERROR_MESSAGE], roast_attempt *out);
/* A stimulus without its moment: "client-releases-keys" of "client-releases-keys-1794784079.8". */
roast_str ext_message_stimulus(roast_str stimulus);

/* Whether `text` is the str `name`. */
static inline bool ext_message_is(PyObject *text, PyObject *name) {
    return text == name || (PyUnicode_Check(text) && PyUnicode_Compare(text, name) == 0);
}

#endif
