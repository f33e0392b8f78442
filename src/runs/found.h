/* Shared by the files that find and read measurements. */
#ifndef ROAST_RUNS_FOUND_H
#define ROAST_RUNS_FOUND_H

#include "base/arena.h"
#include "roast/found.h"

struct roast_found {
    roast_found_entry *entries;
    size_t count, capacity;
    roast_arena texts; /* of the entries */
};

roast_status roast_found_no_memory(roast_error *err);
/* A copy that lives as long as the list. */
roast_status roast_found_copy(roast_found *found, roast_str text, const char **out,
                              roast_error *err);

/* Takes what a metadata.json says. *whole: it is JSON, as far as it is read, with the types that it should have. */
roast_status roast_found_take(roast_found *found, roast_found_entry *entry, roast_str metadata,
                              const roast_found_wanted *wanted, bool *whole, roast_error *err);

#endif
