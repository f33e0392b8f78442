/* Byte strings kept once, each with a small number: the hash table of the library.
 *
 * Numbers count from 0 in the order of the first mention, so that a user can keep the values of its keys in a
 * plain array, by number. A key that is an integer (or several) goes in as its bytes: see roast_intern_add_key.
 * Nothing is removed one by one; roast_intern_truncate forgets the newest ones. */
#ifndef ROAST_BASE_INTERN_H
#define ROAST_BASE_INTERN_H

#include "base/buffer.h"

typedef struct roast_intern_slot {
    uint32_t id_plus_1; /* 0: empty */
    uint32_t hash;      /* low half; so that a table grows without a look at the strings */
} roast_intern_slot;

/* Zeroed storage is an empty interner. */
typedef struct roast_intern {
    roast_buffer bytes; /* all strings, concatenated */
    size_t *ends;       /* where the i-th one ends */
    size_t ends_capacity;
    uint32_t count;
    roast_intern_slot *slots; /* open addressing, at most half full */
    uint32_t slot_count;
} roast_intern;

#define ROAST_INTERN_MAX 0x7ffffff0u /* strings; so that ids and table sizes fit in 32 bits */

void roast_intern_reset(roast_intern *intern);
/* The number of `text`, given out at its first mention. ROAST_ENOMEM or ROAST_ELIMIT leave the
 * interner as it was. */
roast_status roast_intern_add(roast_intern *intern, roast_str text, uint32_t *id);
/* The same for a key that is an integer. */
static inline roast_status roast_intern_add_key(roast_intern *intern, uint64_t key, uint32_t *id) {
    return roast_intern_add(intern, (roast_str){(const char *)&key, sizeof key}, id);
}
/* Reserves space for so many more strings and bytes. */
roast_status roast_intern_reserve(roast_intern *intern, uint32_t strings, size_t bytes);
/* false if it is not there. */
bool roast_intern_find(const roast_intern *intern, roast_str text, uint32_t *id);
/* Forgets everything from `count` on, in the time that the strings before it take. */
void roast_intern_truncate(roast_intern *intern, uint32_t count);
roast_status roast_intern_copy(const roast_intern *from, roast_intern *out);
size_t roast_intern_memory(const roast_intern *intern);

/* Borrowed until the next add. id must be below count. */
static inline roast_str roast_intern_get(const roast_intern *intern, uint32_t id) {
    size_t start = id == 0 ? 0 : intern->ends[id - 1];
    return (roast_str){(const char *)intern->bytes.data + start, intern->ends[id] - start};
}

/* A fast hash of bytes, not for secrets. */
uint64_t roast_hash(const void *data, size_t len);

#endif
