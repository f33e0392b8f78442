/* Branches of a tree, asked of memory ahead of their time. */
#ifndef ROAST_EXT_ROOT_AHEAD_H
#define ROAST_EXT_ROOT_AHEAD_H

#include "state.h"

enum { EXT_AHEAD = 32 }; /* branches at a time */

/* `n` branches of uproot's, EXT_AHEAD at most, are about to be looked at: their sizes, their names, the branches
 * inside of them. A hint: it changes nothing and never raises. */
void ext_branches_ahead(ext_state *state, PyObject *const *branches, Py_ssize_t n);

#endif
