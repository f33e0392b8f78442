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
    uint32_t *by_entry; /* number + 1; 0: not seen yet */
    size_t entries;     /* of by_entry */
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

/* The same for a name that stands in an entry of a log (packed.file and so on of a chunk; 0: in none): no
 * table of addresses is needed. All from one log, and of one kind: an entry has one name here. */
roast_status roast_names_slow_id_in(roast_names *names, uint32_t entry, roast_str name,
                                    uint32_t *id);

static inline roast_status roast_names_id_in(roast_names *names, uint32_t entry, roast_str name,
                                             uint32_t *id) {
    if (entry < names->entries && names->by_entry[entry] != 0) {
        *id = names->by_entry[entry] - 1;
        return ROAST_OK;
    }
    return roast_names_slow_id_in(names, entry, name, id);
}

static inline uint32_t roast_names_count(const roast_names *names) {
    return names->texts.count;
}

/* Borrowed until the next new name. */
static inline roast_str roast_names_get(const roast_names *names, uint32_t id) {
    return roast_intern_get(&names->texts, id);
}

#endif
