/* The keys and values of a mapping of other code.
 *
 * Reading a key or a value may run user code, which may change the mapping: so the pairs are copied first, each
 * checked, and are held until the walk is closed. */
#ifndef ROAST_EXT_PAIRS_H
#define ROAST_EXT_PAIRS_H

#include "common/compat.h"

#include <stdbool.h>

/* Zeroed it has no pairs, and may be closed. */
typedef struct ext_pairs {
    PyObject *items; /* list of tuples of two, not shared */
    Py_ssize_t count, at;
    PyObject *key, *value; /* of the present pair; borrowed until it is closed */
} ext_pairs;

/* 0; or -1 with an exception set and nothing to close. TypeError, which names `what`: it is not a mapping, or its
 * items() does not give pairs. */
int ext_pairs_open(ext_pairs *pairs, PyObject *mapping, const char *what);
/* Goes to the next pair; false: there is none. */
bool ext_pairs_next(ext_pairs *pairs);
void ext_pairs_close(ext_pairs *pairs);

/* 1: it has keys, as a dict has; a str or a list supports the mapping protocol too. 0: no; -1 with an exception
 * set. */
int ext_has_keys(PyObject *object);

#endif
