/* A part of a measurement that several Python objects look at: a series, the tries of tasks.
 *
 * A Run looks at what it was made of as long as it lives, without the GIL while it is saved. So nobody changes a part
 * that others hold: who wants to makes a copy of his own first. Counted under the GIL. */
#ifndef ROAST_EXT_SHARED_H
#define ROAST_EXT_SHARED_H

#include "compat.h"

typedef struct ext_shared {
    void *part;
    void (*free_part)(void *part);
    Py_ssize_t refs;
} ext_shared;

/* Takes the part over, with one reference; NULL with an exception set (the part is freed). */
ext_shared *ext_shared_new(void *part, void (*free_part)(void *part));
ext_shared *ext_shared_hold(ext_shared *shared);
/* NULL is fine. */
void ext_shared_let_go(ext_shared *shared);

#endif
