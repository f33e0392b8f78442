/* Byte strings kept once, each with a small number. */
#ifndef ROAST_BASE_INTERN_H
#define ROAST_BASE_INTERN_H

#include "base/buffer.h"

/* Zeroed storage is an empty interner. */
typedef struct roast_intern {
    roast_buffer bytes; /* all strings, one behind the other */
    size_t *ends;       /* where the i-th one ends */
    size_t ends_capacity;
    uint32_t count;
    struct roast_intern_slot *slots; /* hash table; built when something is looked up */
    uint32_t slot_count;
} roast_intern;

typedef struct roast_intern_slot {
    uint32_t id_plus_1; /* 0: empty */
    uint32_t hash;      /* low half; so that a table grows without a look at the strings */
} roast_intern_slot;

#define ROAST_INTERN_MAX 0x7ffffff0u /* strings; so that ids and table sizes fit in 32 bits */

void roast_intern_reset(roast_intern *intern);
/* The number of `text`, given out at its first mention. ROAST_ENOMEM or ROAST_ELIMIT leave the
 * interner as it was. */
roast_status roast_intern_add(roast_intern *intern, roast_str text, uint32_t *id);
/* Room for so many more strings and bytes. */
roast_status roast_intern_reserve(roast_intern *intern, uint32_t strings, size_t bytes);
/* Appends without looking whether it is there: for input that is known to be free of repeats. */
roast_status roast_intern_append(roast_intern *intern, roast_str text);
/* false if it is not there (or if the table could not be built). */
bool roast_intern_find(roast_intern *intern, roast_str text, uint32_t *id);
/* Forgets everything from `count` on: for an operation that failed half-way. */
void roast_intern_truncate(roast_intern *intern, uint32_t count);
roast_status roast_intern_copy(const roast_intern *from, roast_intern *out);
size_t roast_intern_memory(const roast_intern *intern);

/* Borrowed until the next add. id must be below count. */
static inline roast_str roast_intern_get(const roast_intern *intern, uint32_t id) {
    size_t start = id == 0 ? 0 : intern->ends[id - 1];
    return (roast_str){(const char *)intern->bytes.data + start, intern->ends[id] - start};
}

/* Appends where room was reserved before, as long as nothing was looked up yet: for many strings at
 * once that are known to be free of repeats. */
static inline void roast_intern_push(roast_intern *intern, roast_str text) {
    roast_buffer_push(&intern->bytes, text.data, text.len);
    intern->ends[intern->count++] = intern->bytes.len;
}

/* A fast hash of bytes, not for secrets. */
uint64_t roast_hash(const void *data, size_t len);

#endif
