/* What this process knows of the files that it has read: looked up once, told once a run.
 *
 * Plain C, no Python objects; every function needs the GIL. The cache is bounded: the oldest files are
 * forgotten, and looked up again should they come back. */
#ifndef ROAST_EXT_FILE_CACHE_H
#define ROAST_EXT_FILE_CACHE_H

#include "roast/chunklog.h"

enum { EXT_FILES_KEPT = 4096 };
#define EXT_FILE_BYTES_KEPT ((size_t)32 << 20)

/* ---- sizes on their way into the cache ---- */

/* -1: not known. Zeroed but for these numbers it is ready; release it. */
typedef struct ext_sizes {
    int64_t total_branches, tree_bytes, tree_uncompressed_bytes;
    bool nested; /* a branch may have a name other than the one that it is accessed by */
    bool failed; /* memory was short, or a limit was reached: not to be used */
    uint32_t count, capacity;
    struct ext_size {
        size_t name_at;
        uint32_t name_len;
        int32_t
            parent; /* who reads that one reads this one too; smaller than its own; -1: nobody */
        int64_t bytes, uncompressed_bytes;
    } * branches;
    char *text; /* all the names */
    size_t text_len, text_capacity;
} ext_sizes;
#define EXT_SIZES_UNKNOWN                                                                          \
    { .total_branches = -1, .tree_bytes = -1, .tree_uncompressed_bytes = -1 }
void ext_sizes_release(ext_sizes *sizes);
/* Adds "outer/name", or "name" where outer is absent. */
void ext_sizes_add(ext_sizes *sizes, roast_str outer, roast_str name, int32_t parent, int64_t bytes,
                   int64_t uncompressed_bytes);
roast_str ext_sizes_name(const ext_sizes *sizes, uint32_t index);

/* ---- the cache ---- */

typedef struct ext_file ext_file;
/* The file of a chunk; NULL: not in the cache, or the one in there was another (its fingerprint
 * differs). Lent until the next put. */
ext_file *ext_file_find(const roast_chunk *chunk, uint64_t fingerprint);
/* The same, whatever its fingerprint. */
ext_file *ext_file_any(const roast_chunk *chunk);
/* Replaces what was known of it. NULL if memory is short. */
ext_file *ext_file_put(const roast_chunk *chunk, uint64_t fingerprint, const ext_sizes *sizes);

/* The sizes of whole branches, added up. -1: one of them is not known. */
void ext_file_sum(const ext_file *file, const roast_str *branches, uint32_t n, int64_t *bytes,
                  int64_t *uncompressed_bytes);

/* A run is told of a file once: was it, by this very process? */
bool ext_file_is_told(const ext_file *file, uint64_t run);
void ext_file_set_told(ext_file *file, uint64_t run);
roast_status ext_file_add_to(const ext_file *file, roast_chunklog *log, roast_error *err);

uint64_t ext_hash_text(uint64_t seed, roast_str text);

#endif
