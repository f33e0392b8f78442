/* The values of a chunk by key, for mappings, columns, JSON and CSV. The list of keys is ROAST_CHUNK_KEYS in
 * roast/columns.h. */
#ifndef ROAST_KEYS_H
#define ROAST_KEYS_H

#include "roast/columns.h"

/* The keys that are one number or one text, in the order of the list: ROAST_KEY_duration, ... */
enum {
#define X_KEY(key, ...) ROAST_KEY_##key,
#define X_NONE(...)
    ROAST_CHUNK_KEYS(X_KEY, X_KEY, X_KEY, X_KEY, X_KEY, X_KEY, X_NONE)
#undef X_KEY
#undef X_NONE
        ROAST_KEYS
};

typedef struct roast_file_size {
    int64_t total_branches, tree_bytes; /* -1: not known */
} roast_file_size;

typedef struct roast_key_source {
    const roast_chunk *chunk;
    const roast_file_size *file; /* of the chunk's file; NULL: not known */
    uint64_t number;             /* of the chunk in its run */
} roast_key_source;

typedef bool (*roast_key_real)(const roast_key_source *from, double *out);
typedef bool (*roast_key_int)(const roast_key_source *from, int64_t *out);
/* Written as snprintf would write it. */
typedef bool (*roast_key_text)(const roast_key_source *from, char *out, size_t size, size_t *len);

typedef struct roast_key {
    const char *name;
    roast_cell cell; /* INT, REAL or TEXT */
    size_t offset;   /* in roast_chunk: the field of a number, or a text; 0: the key is derived */
    uint64_t bit; /* ROAST_CHUNK_HAS of the field; of a derived key, of all fields that it reads */
    double per;   /* field / per is the number in the unit of the key */
    roast_key_real real;   /* derived number, or NULL */
    roast_key_int integer; /* likewise */
    roast_key_text text;   /* likewise */
} roast_key;
extern const roast_key roast_keys[ROAST_KEYS];

/* Whether an earlier key shows the same field or text: "filename" is another name of "file". */
bool roast_key_is_alias(const roast_key *key);

/* The number of a key by its cell; false: not known. */
bool roast_key_get_int(const roast_key *key, const roast_key_source *from, int64_t *out);
bool roast_key_get_real(const roast_key *key, const roast_key_source *from, double *out);
/* The text of a key whose cell is TEXT; the absent string where the chunk has none. A derived text is written to
 * `room`; it was truncated if the length is not below `size`. The others are borrowed from the chunk. */
roast_str roast_key_get_text(const roast_key *key, const roast_key_source *from, char *room,
                             size_t size);

#endif
