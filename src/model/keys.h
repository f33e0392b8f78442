/* Keys of a chunk inside the library: texts and sizes of files. The rest is in roast/keys.h. */
#ifndef ROAST_MODEL_KEYS_H
#define ROAST_MODEL_KEYS_H

#include "base/intern.h"
#include "roast/keys.h"

/* Sizes of files, by name. Zeroed storage has no file. */
typedef struct roast_file_sizes {
    roast_intern names;
    roast_file_size *sizes; /* one a name */
    size_t capacity;
} roast_file_sizes;

/* A file that is added again replaces the earlier sizes. A file without a name is left out. */
roast_status roast_file_sizes_add(roast_file_sizes *sizes, const roast_file *file);
void roast_file_sizes_reset(roast_file_sizes *sizes);
/* NULL: nothing is known of it. Borrowed. */
const roast_file_size *roast_file_sizes_find(roast_file_sizes *sizes, roast_str name);

/* roast_key_get_text with a room that grows: an empty buffer, which the next text overwrites. */
roast_status roast_key_hold_text(const roast_key *key, const roast_key_source *from,
                                 roast_buffer *text, roast_str *out);

/* "time", "memory", "bytes" */
const char *roast_section_kind_name(roast_section_kind kind);

#endif
