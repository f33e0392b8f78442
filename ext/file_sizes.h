/* Sizes of a tree and its branches from what Coffea keeps open: a TTree or an RNTuple of uproot, a Parquet
 * file of pyarrow. Only what is in memory anyway is looked at: nothing is read from the file. */
#ifndef ROAST_EXT_FILE_SIZES_H
#define ROAST_EXT_FILE_SIZES_H

#include "state.h"
#include "file_cache.h"

/* `tree` is what the columns come from: the tree, or Coffea's wrapper of a Parquet file. false: its sizes
 * cannot be had without reading, or it is something else. */
bool ext_sizes_read(ext_state *state, PyObject *tree, ext_sizes *out);
/* Tells a file from another one of the same name; costs next to nothing. 0: nothing to tell them by. */
uint64_t ext_sizes_fingerprint(ext_state *state, PyObject *tree);

/* Bytes that reading the branches `preloaded` (a dict, by name) took for these entries; -1: not known. */
int64_t ext_preloaded_bytes(ext_state *state, PyObject *tree, PyObject *preloaded, int64_t start,
                            int64_t stop);

#endif
