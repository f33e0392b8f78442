#include "model/keys.h"
#include "model/storage.h"

#include <stddef.h>

/* ---- files ---- */

roast_status roast_file_sizes_add(roast_file_sizes *sizes, const roast_file *file) {
    uint32_t id;
    void *items = sizes->sizes;
    if (file->name.data == NULL)
        return ROAST_OK;
    ROAST_TRY(roast_array_reserve(&items, &sizes->capacity, sizeof *sizes->sizes,
                                  (size_t)sizes->names.count + 1));
    sizes->sizes = items;
    ROAST_TRY(roast_intern_add(&sizes->names, file->name, &id));
    sizes->sizes[id] = (roast_file_size){file->total_branches, file->tree_bytes};
    return ROAST_OK;
}

void roast_file_sizes_reset(roast_file_sizes *sizes) {
    roast_intern_reset(&sizes->names);
    roast_free(sizes->sizes);
    *sizes = (roast_file_sizes){0};
}

const roast_file_size *roast_file_sizes_find(roast_file_sizes *sizes, roast_str name) {
    uint32_t id;
    if (sizes->names.count == 0 || name.data == NULL ||
        !roast_intern_find(&sizes->names, name, &id))
        return NULL;
    return &sizes->sizes[id];
}

/* ---- values that are made of more than one thing ---- */

#define HAS(field) ((chunk->have & ROAST_CHUNK_HAS(field)) != 0)

static bool made_end_time(const roast_key_source *from, double *out) {
    const roast_chunk *chunk = from->chunk;
    *out = (double)chunk->start_us / 1e6 + (double)chunk->duration_ns / 1e9;
    return HAS(start_us) && HAS(duration_ns);
}

static bool memory_delta(const roast_chunk *chunk, double per, double *out) {
    int64_t delta;
    if (__builtin_sub_overflow(chunk->rss_after, chunk->rss_before, &delta))
        *out = ((double)chunk->rss_after - (double)chunk->rss_before) / per;
    else
        *out = (double)delta / per;
    return HAS(rss_before) && HAS(rss_after);
}

static bool made_memory_delta_mb(const roast_key_source *from, double *out) {
    return memory_delta(from->chunk, 1e6, out);
}

static bool made_memory_delta_gb(const roast_key_source *from, double *out) {
    return memory_delta(from->chunk, 1e9, out);
}

static bool percent(double part, int64_t whole, double *out) {
    *out = part / (double)whole * 100;
    return whole > 0;
}

static bool made_branch_count(const roast_key_source *from, int64_t *out) {
    const roast_chunk *chunk = from->chunk;
    *out = chunk->has_branches ? chunk->n_branches : chunk->branch_count;
    return chunk->has_branches || HAS(branch_count);
}

static bool made_branches_read_percent(const roast_key_source *from, double *out) {
    int64_t count;
    return made_branch_count(from, &count) && from->file != NULL &&
           percent((double)count, from->file->total_branches, out);
}

static bool made_bytes_read_percent(const roast_key_source *from, double *out) {
    const roast_chunk *chunk = from->chunk;
    return HAS(accessed_bytes) && from->file != NULL &&
           percent((double)chunk->accessed_bytes, from->file->tree_bytes, out);
}

static bool made_chunk_id(const roast_key_source *from, int64_t *out) {
    *out = (int64_t)from->number;
    return true;
}

static bool made_pid(const roast_key_source *from, int64_t *out) {
    *out = from->chunk->pid;
    return *out != 0;
}

static bool made_task_key(const roast_key_source *from, char *out, size_t size, size_t *len) {
    *len = roast_chunk_task_key(from->chunk, out, size);
    return from->chunk->task_key.data != NULL;
}

static bool made_error(const roast_key_source *from, char *out, size_t size, size_t *len) {
    *len = roast_chunk_error(from->chunk, out, size);
    return from->chunk->error_type.data != NULL;
}

static bool made_storage(const roast_key_source *from, char *out, size_t size, size_t *len) {
    *len = roast_storage_of(from->chunk->file, out, size);
    return from->chunk->file.data != NULL;
}

/* The fields that each of them reads. */
#define FIELDS_OF_end_time              (ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns))
#define FIELDS_OF_memory_delta_mb       (ROAST_CHUNK_HAS(rss_before) | ROAST_CHUNK_HAS(rss_after))
#define FIELDS_OF_memory_delta_gb       FIELDS_OF_memory_delta_mb
#define FIELDS_OF_branch_count          ROAST_CHUNK_HAS(branch_count)
#define FIELDS_OF_branches_read_percent ROAST_CHUNK_HAS(branch_count)
#define FIELDS_OF_bytes_read_percent    ROAST_CHUNK_HAS(accessed_bytes)
#define FIELDS_OF_chunk_id              0
#define FIELDS_OF_pid                   0
#define FIELDS_OF_task_key              0
#define FIELDS_OF_error                 0
#define FIELDS_OF_storage               0

/* ---- the keys ---- */

#define AT(member)              .offset = offsetof(roast_chunk, member)
#define FIELD(field)            AT(field), .bit = ROAST_CHUNK_HAS(field)
#define REAL(key, field, units) {#key, ROAST_CELL_REAL, FIELD(field), .per = units},
#define INT(key, field)         {#key, ROAST_CELL_INT, FIELD(field)},
#define TEXT(key, member)       {#key, ROAST_CELL_TEXT, AT(member)},
#define NEEDS(function)         .bit = FIELDS_OF_##function
#define REAL_OF(key, function)  {#key, ROAST_CELL_REAL, NEEDS(function), .real = made_##function},
#define INT_OF(key, function)   {#key, ROAST_CELL_INT, NEEDS(function), .integer = made_##function},
#define TEXT_OF(key, function)  {#key, ROAST_CELL_TEXT, NEEDS(function), .text = made_##function},
#define NO_KEY(key, function)
const roast_key roast_keys[ROAST_KEYS] = {
    ROAST_CHUNK_KEYS(REAL, INT, TEXT, REAL_OF, INT_OF, TEXT_OF, NO_KEY)};

bool roast_key_is_alias(const roast_key *key) {
    const roast_key *first = roast_keys;
    while (key->offset != 0 && first->offset != key->offset)
        first++;
    return key->offset != 0 && first != key;
}

static bool get_field(const roast_key *key, const roast_chunk *chunk, int64_t *out) {
    memcpy(out, (const char *)chunk + key->offset, sizeof *out);
    return (chunk->have & key->bit) != 0;
}

bool roast_key_get_int(const roast_key *key, const roast_key_source *from, int64_t *out) {
    return key->integer != NULL ? key->integer(from, out) : get_field(key, from->chunk, out);
}

bool roast_key_get_real(const roast_key *key, const roast_key_source *from, double *out) {
    int64_t field;
    if (key->real != NULL)
        return key->real(from, out);
    bool there = get_field(key, from->chunk, &field);
    *out = (double)field / key->per;
    return there;
}

roast_str roast_key_get_text(const roast_key *key, const roast_key_source *from, char *room,
                             size_t size) {
    roast_str text = {NULL, 0};
    if (key->text == NULL)
        memcpy(&text, (const char *)from->chunk + key->offset, sizeof text);
    else if (key->text(from, room, size, &text.len))
        text.data = room;
    return text;
}

roast_status roast_key_hold_text(const roast_key *key, const roast_key_source *from,
                                 roast_buffer *text, roast_str *out) {
    ROAST_TRY(roast_buffer_reserve(text, 1));
    *out = roast_key_get_text(key, from, (char *)text->data, text->capacity);
    if (key->text == NULL || out->len < text->capacity)
        return ROAST_OK;
    ROAST_TRY(roast_buffer_reserve(text, out->len + 1));
    *out = roast_key_get_text(key, from, (char *)text->data, text->capacity);
    return ROAST_OK;
}

const char *roast_section_kind_name(roast_section_kind kind) {
    static const char *const names[] = {"time", "memory", "bytes"};
    _Static_assert(sizeof names / sizeof *names == ROAST_SECTION_KINDS, "every kind has its name");
    return (unsigned)kind < ROAST_SECTION_KINDS ? names[kind] : "unknown";
}
