/* A TTree as uproot keeps it in memory: its members, its branches and their sizes. */
#ifndef ROAST_EXT_ROOT_TREE_H
#define ROAST_EXT_ROOT_TREE_H

#include "state.h"
#include "file_cache.h"

/* A data member of an object that uproot read: its own, or one of its base classes. A new reference or
 * NULL; never raises. */
PyObject *ext_root_member(ext_state *state, PyObject *object, PyObject *name);

/* The sizes of all branches; false if it is no TTree. */
bool ext_root_tree_sizes(ext_state *state, PyObject *tree, ext_sizes *out);

#endif
