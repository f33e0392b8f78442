/* Sums by name: of a dataset, file, branch, section or worker. */
#ifndef ROAST_METRICS_GROUPS_H
#define ROAST_METRICS_GROUPS_H

#include "base/intern.h"

typedef struct roast_groups {
    roast_intern names; /* the number of a name is the number of its item */
    char *items;        /* in the order in which the names were first mentioned */
    size_t size;        /* of an item */
    size_t capacity;
    uint32_t *by_ref; /* number + 1 of the name of a reference; 0: not looked up yet */
    size_t refs;
    uint32_t *
        listed; /* the same for each name of a list; by_ref has the place + 1 where a list begins */
    size_t listed_count, listed_capacity;
} roast_groups;

/* An empty set of groups with an item of this type for each name. */
#define ROAST_GROUPS(type)                                                                         \
    (roast_groups) {                                                                               \
        .size = sizeof(type)                                                                       \
    }

/* Frees what it holds; afterwards it is empty again. */
void roast_groups_reset(roast_groups *groups);
/* The number of a name; at its first mention it gets a zeroed item. An absent name is the empty one. Items may move. */
roast_status roast_groups_find(roast_groups *groups, roast_str name, uint32_t *id);

/* The same for a name to which the chunk log has a reference: its text is looked up once. All references given to one
 * set of groups are of one log and of one kind; 0 is none, and its text is looked up each time. */
roast_status roast_groups_find_ref(roast_groups *groups, uint32_t ref, roast_str name,
                                   uint32_t *id);

/* The same for the storage of a file, by the reference to the file. */
roast_status roast_groups_find_storage(roast_groups *groups, uint32_t ref, roast_str file,
                                       uint32_t *id);

/* The same for the name at `index` (below `count`) of a list to which the chunk log has a reference. */
roast_status roast_groups_find_listed(roast_groups *groups, uint32_t ref, uint32_t count,
                                      uint32_t index, roast_str name, uint32_t *id);
/* The next references are of another log. */
void roast_groups_forget_refs(roast_groups *groups);

/* Room for so many items in all. */
roast_status roast_groups_reserve(roast_groups *groups, size_t items);

static inline uint32_t roast_groups_count(const roast_groups *groups) {
    return groups->names.count;
}

/* Both are borrowed until the next new name. */
static inline void *roast_groups_item(const roast_groups *groups, uint32_t id) {
    return groups->items + id * groups->size;
}
static inline roast_str roast_groups_name(const roast_groups *groups, uint32_t id) {
    return roast_intern_get(&groups->names, id);
}

#endif
