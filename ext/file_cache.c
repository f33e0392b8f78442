#include "file_cache.h"

#include "roast/proc.h"

#include <string.h>

enum { BUCKETS = 4096, RUNS_REMEMBERED = 4, SAME_NAMES_LOOK_BACK = 16 };

/* The names of a tree's branches. Files of one kind have the same ones: kept once. */
typedef struct branch_names {
    size_t refs;
    size_t memory;
    uint32_t count;
    bool nested;
    bool layered; /* some branch is read along with another one */
    uint32_t n_slots;
    uint32_t *slots; /* index + 1 by hash, at most half full */
    int32_t *parent;
    roast_str *name;
    char *text;
    size_t text_len;
} branch_names;

typedef struct size_pair {
    int64_t bytes, uncompressed_bytes;
} size_pair;

struct ext_file {
    ext_file *in_bucket;     /* the next one with that hash */
    ext_file *newer, *older; /* in the order of coming */
    uint64_t hash, fingerprint;
    roast_str name, uuid, treename; /* in this very block of memory */
    int64_t total_branches, tree_bytes, tree_uncompressed_bytes;
    branch_names *names;
    size_pair *sizes;
    uint64_t told[RUNS_REMEMBERED];
    unsigned n_told;
    size_t memory;
};

static struct {
    ext_file *bucket[BUCKETS];
    ext_file *newest, *oldest;
    size_t count, bytes;
} cache;

uint64_t ext_hash_text(uint64_t seed, roast_str text) {
    uint64_t hash = seed ^ UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (uint8_t)text.data[i]) * UINT64_C(0x100000001b3);
    return hash ^ (hash >> 32);
}

/* ---- sizes on their way in ---- */

void ext_sizes_release(ext_sizes *sizes) {
    roast_free(sizes->branches);
    roast_free(sizes->text);
    sizes->branches = NULL;
    sizes->text = NULL;
    sizes->count = sizes->capacity = 0;
}

static bool room_for_text(ext_sizes *sizes, size_t more) {
    if (more > sizes->text_capacity - sizes->text_len) {
        size_t capacity = (sizes->text_len + more) * 2 + 1024;
        char *text = roast_realloc(sizes->text, capacity);
        if (text == NULL)
            return false;
        sizes->text = text;
        sizes->text_capacity = capacity;
    }
    return true;
}

static bool room_for_branch(ext_sizes *sizes) {
    if (sizes->count < sizes->capacity)
        return true;
    uint32_t capacity = sizes->capacity == 0 ? 256 : sizes->capacity * 2;
    struct ext_size *branches = roast_realloc(sizes->branches, capacity * sizeof *branches);
    if (branches == NULL)
        return false;
    sizes->branches = branches;
    sizes->capacity = capacity;
    return true;
}

void ext_sizes_add(ext_sizes *sizes, roast_str outer, roast_str name, int32_t parent, int64_t bytes,
                   int64_t uncompressed_bytes) {
    if (sizes->count >= ROAST_MAX_BRANCHES || outer.len > ROAST_MAX_TEXT ||
        name.len > ROAST_MAX_TEXT || !room_for_text(sizes, outer.len + name.len + 1) ||
        !room_for_branch(sizes)) {
        sizes->failed = true;
        return;
    }
    size_t start = sizes->text_len;
    char *at = sizes->text + start;
    if (outer.data != NULL) {
        memcpy(at, outer.data, outer.len);
        at += outer.len;
        *at++ = '/';
    }
    memcpy(at, name.data, name.len);
    at += name.len;
    sizes->text_len = (size_t)(at - sizes->text);
    sizes->branches[sizes->count++] =
        (struct ext_size){.name_at = start,
                          .name_len = (uint32_t)(sizes->text_len - start),
                          .parent = parent,
                          .bytes = bytes,
                          .uncompressed_bytes = uncompressed_bytes};
}

roast_str ext_sizes_name(const ext_sizes *sizes, uint32_t index) {
    const struct ext_size *branch = &sizes->branches[index];
    return (roast_str){sizes->text + branch->name_at, branch->name_len};
}

/* ---- names ---- */

static void names_release(branch_names *names) {
    if (names == NULL || --names->refs > 0)
        return;
    cache.bytes -= names->memory;
    roast_free(names);
}

static bool same_names(const branch_names *names, const ext_sizes *sizes) {
    if (names->count != sizes->count || names->text_len != sizes->text_len ||
        names->nested != sizes->nested ||
        (sizes->text_len > 0 && memcmp(names->text, sizes->text, sizes->text_len) != 0))
        return false;
    for (uint32_t i = 0; i < names->count; i++)
        if (names->name[i].len != sizes->branches[i].name_len ||
            names->parent[i] != sizes->branches[i].parent)
            return false;
    return true;
}

/* Where the name is, or would be. */
static uint32_t names_slot(const branch_names *names, roast_str name) {
    uint32_t mask = names->n_slots - 1, slot = (uint32_t)ext_hash_text(0, name) & mask;
    while (names->slots[slot] != 0 && !roast_str_equal(names->name[names->slots[slot] - 1], name))
        slot = (slot + 1) & mask;
    return slot;
}

static branch_names *names_make(const ext_sizes *sizes) {
    uint32_t n_slots = 4;
    while (n_slots < 2 * sizes->count)
        n_slots *= 2;
    size_t memory = sizeof(branch_names) + sizes->count * (sizeof(roast_str) + sizeof(int32_t)) +
                    n_slots * sizeof(uint32_t) + sizes->text_len + 1;
    branch_names *names = roast_alloc_zero(memory);
    if (names == NULL)
        return NULL;
    names->refs = 1;
    names->memory = memory;
    names->count = sizes->count;
    names->nested = sizes->nested;
    names->n_slots = n_slots;
    names->name = (roast_str *)(names + 1);
    names->parent = (int32_t *)(names->name + sizes->count);
    names->slots = (uint32_t *)(names->parent + sizes->count);
    names->text = (char *)(names->slots + n_slots);
    names->text_len = sizes->text_len;
    if (sizes->text_len > 0)
        memcpy(names->text, sizes->text, sizes->text_len);
    for (uint32_t i = 0; i < sizes->count; i++) {
        const struct ext_size *branch = &sizes->branches[i];
        names->name[i] = (roast_str){names->text + branch->name_at, branch->name_len};
        names->parent[i] = branch->parent;
        names->layered |= branch->parent >= 0;
        /* Of several branches of one name, uproot reads the first. */
        uint32_t slot = names_slot(names, names->name[i]);
        if (names->slots[slot] == 0)
            names->slots[slot] = i + 1;
    }
    cache.bytes += memory;
    return names;
}

static branch_names *names_for(const ext_sizes *sizes) {
    ext_file *file = cache.newest;
    for (int i = 0; file != NULL && i < SAME_NAMES_LOOK_BACK; i++, file = file->older)
        if (same_names(file->names, sizes)) {
            file->names->refs++;
            return file->names;
        }
    return names_make(sizes);
}

/* ---- the cache ---- */

static uint64_t hash_of(const roast_chunk *chunk) {
    return ext_hash_text(ext_hash_text(ext_hash_text(0, chunk->file), chunk->uuid),
                         chunk->treename);
}

static bool same_text(roast_str a, roast_str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

ext_file *ext_file_any(const roast_chunk *chunk) {
    if (chunk->file.data == NULL)
        return NULL;
    uint64_t hash = hash_of(chunk);
    ext_file *file = cache.bucket[hash % BUCKETS];
    while (file != NULL &&
           !(file->hash == hash && same_text(file->name, chunk->file) &&
             same_text(file->uuid, chunk->uuid) && same_text(file->treename, chunk->treename)))
        file = file->in_bucket;
    return file;
}

ext_file *ext_file_find(const roast_chunk *chunk, uint64_t fingerprint) {
    ext_file *file = ext_file_any(chunk);
    return file != NULL && file->fingerprint == fingerprint ? file : NULL;
}

static void forget(ext_file *file) {
    ext_file **link = &cache.bucket[file->hash % BUCKETS];
    while (*link != file)
        link = &(*link)->in_bucket;
    *link = file->in_bucket;
    *(file->newer != NULL ? &file->newer->older : &cache.newest) = file->older;
    *(file->older != NULL ? &file->older->newer : &cache.oldest) = file->newer;
    cache.count--;
    cache.bytes -= file->memory;
    names_release(file->names);
    roast_free(file);
}

static roast_str copy_text(char **at, roast_str text) {
    roast_str copy = {text.data != NULL ? *at : NULL, text.len};
    if (text.len > 0)
        memcpy(*at, text.data, text.len);
    *at += text.len;
    return copy;
}

static ext_file *file_make(const roast_chunk *chunk, const ext_sizes *sizes) {
    size_t memory = sizeof(ext_file) + sizes->count * sizeof(size_pair) + chunk->file.len +
                    chunk->uuid.len + chunk->treename.len + 1;
    ext_file *file = roast_alloc_zero(memory);
    if (file == NULL)
        return NULL;
    file->memory = memory;
    file->sizes = (size_pair *)(file + 1);
    char *text = (char *)(file->sizes + sizes->count);
    file->name = copy_text(&text, chunk->file);
    file->uuid = copy_text(&text, chunk->uuid);
    file->treename = copy_text(&text, chunk->treename);
    file->total_branches = sizes->total_branches;
    file->tree_bytes = sizes->tree_bytes;
    file->tree_uncompressed_bytes = sizes->tree_uncompressed_bytes;
    for (uint32_t i = 0; i < sizes->count; i++)
        file->sizes[i] =
            (size_pair){sizes->branches[i].bytes, sizes->branches[i].uncompressed_bytes};
    return file;
}

ext_file *ext_file_put(const roast_chunk *chunk, uint64_t fingerprint, const ext_sizes *sizes) {
    ext_file *before = ext_file_any(chunk);
    if (before != NULL)
        forget(before);
    if (chunk->file.data == NULL || sizes->failed)
        return NULL;
    ext_file *file = file_make(chunk, sizes);
    if (file == NULL)
        return NULL;
    file->names = names_for(sizes);
    if (file->names == NULL) {
        roast_free(file);
        return NULL;
    }
    file->hash = hash_of(chunk);
    file->fingerprint = fingerprint;
    ext_file **bucket = &cache.bucket[file->hash % BUCKETS];
    file->in_bucket = *bucket;
    *bucket = file;
    file->older = cache.newest;
    *(cache.newest != NULL ? &cache.newest->newer : &cache.oldest) = file;
    cache.newest = file;
    cache.count++;
    cache.bytes += file->memory;
    while (cache.oldest != file &&
           (cache.count > EXT_FILES_KEPT || cache.bytes > EXT_FILE_BYTES_KEPT))
        forget(cache.oldest);
    return file;
}

/* ---- sums ---- */

static void add_known(int64_t *sum, int64_t value) {
    if (*sum < 0 || value < 0 || value > INT64_MAX - *sum)
        *sum = -1;
    else
        *sum += value;
}

/* Every branch that is read along, once. */
static void sum_layered(const ext_file *file, uint8_t *is_read, int64_t *bytes,
                        int64_t *uncompressed_bytes) {
    const branch_names *names = file->names;
    for (uint32_t i = 0; i < names->count; i++) {
        if (names->parent[i] >= 0 && is_read[names->parent[i]])
            is_read[i] = 1;
        if (is_read[i]) {
            add_known(bytes, file->sizes[i].bytes);
            add_known(uncompressed_bytes, file->sizes[i].uncompressed_bytes);
        }
    }
}

void ext_file_sum(const ext_file *file, const roast_str *branches, uint32_t n, int64_t *bytes,
                  int64_t *uncompressed_bytes) {
    const branch_names *names = file->names;
    uint8_t *is_read = names->layered ? roast_alloc_zero(names->count) : NULL;
    *bytes = *uncompressed_bytes = 0;
    if (names->layered && is_read == NULL)
        *bytes = *uncompressed_bytes = -1;
    for (uint32_t i = 0; i < n && (*bytes >= 0 || *uncompressed_bytes >= 0); i++) {
        uint32_t found = names->slots[names_slot(names, branches[i])];
        if (found == 0) {
            /* A column that this file does not have has no bytes; but where branches stand inside
             * branches, it may be one by another name. */
            if (names->nested || names->count == 0)
                *bytes = *uncompressed_bytes = -1;
        } else if (is_read != NULL) {
            is_read[found - 1] = 1;
        } else {
            add_known(bytes, file->sizes[found - 1].bytes);
            add_known(uncompressed_bytes, file->sizes[found - 1].uncompressed_bytes);
        }
    }
    if (is_read != NULL)
        sum_layered(file, is_read, bytes, uncompressed_bytes);
    roast_free(is_read);
}

/* ---- telling ---- */

/* After a fork the process has another token, and has told nobody yet. */
static uint64_t run_here(uint64_t run) {
    return (run ^ roast_process_token()) | 1;
}

bool ext_file_is_told(const ext_file *file, uint64_t run) {
    for (unsigned i = 0; i < RUNS_REMEMBERED; i++)
        if (file->told[i] == run_here(run))
            return true;
    return false;
}

void ext_file_set_told(ext_file *file, uint64_t run) {
    file->told[file->n_told++ % RUNS_REMEMBERED] = run_here(run);
}

roast_status ext_file_add_to(const ext_file *file, roast_chunklog *log, roast_error *err) {
    const branch_names *names = file->names;
    roast_branch_size *branches = roast_alloc((names->count + 1) * sizeof *branches);
    if (branches == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "ext_file_add_to", -1, "no room for a file");
    for (uint32_t i = 0; i < names->count; i++)
        branches[i] = (roast_branch_size){names->name[i], file->sizes[i].bytes,
                                          file->sizes[i].uncompressed_bytes};
    roast_file about = {.name = file->name,
                        .uuid = file->uuid,
                        .treename = file->treename,
                        .total_branches = file->total_branches,
                        .tree_bytes = file->tree_bytes,
                        .tree_uncompressed_bytes = file->tree_uncompressed_bytes,
                        .n_branches = names->count,
                        .branches = branches};
    roast_status status = roast_chunklog_add_file(log, &about, err);
    roast_free(branches);
    return status;
}
