/* The values of a chunk by key: what a column, a field of JSON or a cell of CSV shows of a record. */
#ifndef ROAST_MODEL_KEYS_H
#define ROAST_MODEL_KEYS_H

#include "base/intern.h"
#include "roast/columns.h"

/* ---- files, as far as chunks are compared with them ---- */

typedef struct roast_file_size {
    int64_t total_branches, tree_bytes; /* -1: not known */
} roast_file_size;

/* Zeroed storage knows no file. */
typedef struct roast_file_sizes {
    roast_intern names;
    roast_file_size *sizes; /* one a name */
    size_t capacity;
} roast_file_sizes;

/* The last word on a file is the newest one. A file without a name is left out. */
roast_status roast_file_sizes_add(roast_file_sizes *sizes, const roast_file *file);
/* All files of a log. */
roast_status roast_file_sizes_read(roast_file_sizes *sizes, const roast_chunklog *log);
void roast_file_sizes_reset(roast_file_sizes *sizes);
/* NULL: nothing is known of it. Borrowed. */
const roast_file_size *roast_file_sizes_find(roast_file_sizes *sizes, roast_str name);

/* ---- keys ---- */

typedef struct roast_key_source {
    const roast_chunk *chunk;
    const roast_file_size *file; /* what is known of the chunk's file, or NULL */
    uint64_t number;             /* of the chunk in its run */
} roast_key_source;

/* Values that are made of more than one thing; false, or the absent string: not there. */
typedef bool (*roast_key_real)(const roast_key_source *from, double *out);
typedef bool (*roast_key_int)(const roast_key_source *from, int64_t *out);
/* The text is put together in `text`, which the next one overwrites. */
typedef roast_status (*roast_key_text)(const roast_key_source *from, roast_buffer *text,
                                       roast_str *out);

typedef struct roast_key {
    const char *name;
    roast_cell cell;
    size_t offset; /* in roast_chunk, of a field or member */
    uint64_t bit;  /* of a field */
    double per;
    roast_key_real real;
    roast_key_int integer;
    roast_key_text text;
} roast_key;

/* Those of ROAST_CHUNK_KEYS that are one number or one text, in that order. */
#define X_KEY(...)  +1
#define X_NONE(...) +0
enum { ROAST_KEYS = 0 ROAST_CHUNK_KEYS(X_KEY, X_KEY, X_KEY, X_KEY, X_KEY, X_KEY, X_NONE) };
#undef X_KEY
#undef X_NONE
extern const roast_key roast_keys[ROAST_KEYS];

/* By the cell of the key. The two for numbers are here because columns ask them 40 times a chunk. */
static inline int64_t roast_key_field(const roast_key *key, const roast_chunk *chunk) {
    int64_t value;
    memcpy(&value, (const char *)chunk + key->offset, sizeof value);
    return value;
}

static inline bool roast_key_get_real(const roast_key *key, const roast_key_source *from,
                                      double *out) {
    if (key->real != NULL)
        return key->real(from, out);
    *out = (double)roast_key_field(key, from->chunk) / key->per;
    return (from->chunk->have & key->bit) != 0;
}

static inline bool roast_key_get_int(const roast_key *key, const roast_key_source *from,
                                     int64_t *out) {
    if (key->integer != NULL)
        return key->integer(from, out);
    *out = roast_key_field(key, from->chunk);
    return (from->chunk->have & key->bit) != 0;
}

roast_status roast_key_get_text(const roast_key *key, const roast_key_source *from,
                                roast_buffer *text, roast_str *out);

/* "time", "memory", "bytes" */
const char *roast_section_kind_name(roast_section_kind kind);

#endif
