/* Names to small numbers, fast for names that come out of one log: there the same name always lies
 * at the same place, so that its address is enough to know it again. */
#ifndef ROAST_METRICS_NAMES_H
#define ROAST_METRICS_NAMES_H

#include "base/intern.h"

typedef struct roast_name_slot {
    const char *data; /* NULL: empty */
    size_t len;
    uint32_t id;
} roast_name_slot;

/* Zeroed storage is an empty one. */
typedef struct roast_names {
    roast_intern texts; /* the names by content, copied */
    roast_name_slot *slots;
    size_t slot_count, used;
    roast_name_slot last;
} roast_names;

void roast_names_reset(roast_names *names);
/* The number of a name (data must not be NULL), given out at its first mention: 0, 1, 2, ... What
 * `name` points to must stay there, unchanged, as long as `names` is used. */
roast_status roast_names_slow_id(roast_names *names, roast_str name, uint32_t *id);

static inline roast_status roast_names_id(roast_names *names, roast_str name, uint32_t *id) {
    if (name.data == names->last.data && name.len == names->last.len) {
        *id = names->last.id;
        return ROAST_OK;
    }
    return roast_names_slow_id(names, name, id);
}

static inline uint32_t roast_names_count(const roast_names *names) {
    return names->texts.count;
}

/* Borrowed until the next new name. */
static inline roast_str roast_names_get(const roast_names *names, uint32_t id) {
    return roast_intern_get(&names->texts, id);
}

#endif
