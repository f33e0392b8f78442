#include "worker/handles.h"

#include "common/errors.h"
#include "common/quiet.h"
#include "roast/base.h"

typedef struct ext_file_handle {
    struct ext_file_handle *next;
    PyObject *source;     /* a weak reference */
    ext_requests counted; /* that belong to chunks already */
    uint32_t open;        /* chunks */
    unsigned long thread; /* of the open chunks; 0: several */
    uint64_t overlaps;    /* chunks that began while another thread had one open */
} ext_file_handle;

static const ext_requests UNKNOWN = {-1, -1};

/* Handles that have served a chunk and are still there: as many as the user holds open at once, so that a list does.
 * Under the GIL. */
static ext_file_handle *handles;

static void free_handle(ext_file_handle **link) {
    ext_file_handle *dead = *link;
    *link = dead->next;
    Py_DECREF(dead->source);
    roast_free(dead);
}

static ext_file_handle *find_handle(PyObject *source) {
    ext_file_handle **link = &handles;
    while (*link != NULL) {
        PyObject *target = ext_weak_target((*link)->source);
        if (target == source)
            return *link;
        if (target == NULL && (*link)->open == 0)
            free_handle(link);
        else
            link = &(*link)->next;
    }
    return NULL;
}

static ext_file_handle *handle_of(PyObject *source) {
    ext_file_handle *handle = source != NULL ? find_handle(source) : NULL;
    if (handle != NULL || source == NULL)
        return handle;
    PyObject *weak = PyWeakref_NewRef(source, NULL);
    if (weak == NULL) {
        ext_pass_over("a file handle cannot be watched");
        return NULL;
    }
    handle = roast_alloc_zero(sizeof *handle);
    if (handle == NULL) {
        ext_count_fault("no memory for a file handle", NULL);
        Py_DECREF(weak);
        return NULL;
    }
    handle->source = weak;
    handle->next = handles;
    handles = handle;
    return handle;
}

static int64_t difference(int64_t after, int64_t before) {
    return after >= before && before >= 0 ? after - before : -1;
}

static ext_requests requests_since(ext_requests before, ext_requests after) {
    return (ext_requests){difference(after.bytes, before.bytes),
                          difference(after.count, before.count)};
}

static int64_t sum(int64_t a, int64_t b) {
    return a < 0 || b < 0 ? -1 : roast_add_capped(a, b);
}

ext_requests ext_requests_of(ext_state *state, PyObject *source) {
    ext_requests now = UNKNOWN;
    ext_quiet_attr_int(source, state->str_num_requested_bytes, &now.bytes);
    ext_quiet_attr_int(source, state->str_num_requests, &now.count);
    return now;
}

ext_requests ext_handle_begin(ext_handle_use *use, PyObject *source, ext_requests now) {
    unsigned long thread = PyThread_get_thread_ident();
    ext_file_handle *handle = handle_of(source);
    *use = (ext_handle_use){.handle = handle, .before = now, .first = now};
    if (handle == NULL)
        return now;
    if (handle->open == 0) {
        use->before = requests_since(handle->counted, now);
        handle->thread = thread;
    } else if (handle->thread == thread) {
        use->before = (ext_requests){0, 0}; /* those so far belong to the chunk around this one */
    } else {
        use->before = UNKNOWN;
        handle->thread = 0;
        handle->overlaps++;
    }
    handle->open++;
    use->overlaps = handle->overlaps;
    return use->before;
}

ext_requests ext_handle_end(ext_handle_use *use, PyObject *source, ext_requests now) {
    ext_file_handle *handle = use->handle;
    if (handle == NULL)
        return now;
    bool same = ext_weak_target(handle->source) == source,
         alone = use->overlaps == handle->overlaps;
    ext_handle_drop(use);
    if (!same)
        return UNKNOWN;
    if (now.bytes >= 0)
        handle->counted.bytes = now.bytes;
    if (now.count >= 0)
        handle->counted.count = now.count;
    if (!alone)
        return UNKNOWN;
    ext_requests inside = requests_since(use->first, now);
    return (ext_requests){sum(use->before.bytes, inside.bytes),
                          sum(use->before.count, inside.count)};
}

void ext_handle_drop(ext_handle_use *use) {
    if (use->handle != NULL)
        use->handle->open--;
    use->handle = NULL;
}
