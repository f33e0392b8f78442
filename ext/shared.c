#include "shared.h"

#include "roast/base.h"

ext_shared *ext_shared_new(void *part, void (*free_part)(void *part)) {
    ext_shared *shared = roast_alloc(sizeof *shared);
    if (shared == NULL) {
        free_part(part);
        PyErr_NoMemory();
        return NULL;
    }
    *shared = (ext_shared){part, free_part, 1};
    return shared;
}

ext_shared *ext_shared_hold(ext_shared *shared) {
    shared->refs++;
    return shared;
}

void ext_shared_let_go(ext_shared *shared) {
    if (shared == NULL || --shared->refs > 0)
        return;
    shared->free_part(shared->part);
    roast_free(shared);
}
