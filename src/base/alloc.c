#include "roast/base.h"

#include <stdlib.h>
#include <string.h>

static void *system_hook(void *context, void *ptr, size_t size) {
    (void)context;
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, size);
}

static roast_alloc_hook current_hook = system_hook;
static void *current_context;

void roast_alloc_set_hook(roast_alloc_hook hook, void *context) {
    current_hook = hook != NULL ? hook : system_hook;
    current_context = hook != NULL ? context : NULL;
}

void *roast_alloc(size_t size) {
    return roast_realloc(NULL, size);
}

void *roast_alloc_zero(size_t size) {
    void *memory = roast_alloc(size);
    if (memory != NULL)
        memset(memory, 0, size);
    return memory;
}

void *roast_realloc(void *ptr, size_t size) {
    /* A size of 0 would free: the hook's meaning, not the caller's. */
    return current_hook(current_context, ptr, size > 0 ? size : 1);
}

void roast_free(void *ptr) {
    if (ptr != NULL)
        current_hook(current_context, ptr, 0);
}
