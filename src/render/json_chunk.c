/* A chunk as an object: the keys of ROAST_CHUNK_KEYS in their order. */
#include "render/json_run.h"

#include "model/keys.h"
#include "render/tails.h"

/* What is added up under one name. */
typedef struct sum {
    bool custom_is_set;
    roast_custom custom; /* what the user wrote there by hand */
    int64_t integer;
    double real;
} sum;

struct roast_json_chunks {
    roast_file_sizes files;
    uint64_t count; /* chunks so far */
    roast_buffer text;
    roast_intern names; /* of the sums */
    sum *sums;
    size_t sums_capacity;
    uint32_t *depth; /* of the sections of one chunk */
    size_t depth_capacity;
};

roast_status roast_json_chunks_new(roast_json_chunks **out) {
    *out = roast_alloc_zero(sizeof **out);
    return *out != NULL ? ROAST_OK : ROAST_ENOMEM;
}

void roast_json_chunks_free(roast_json_chunks *chunks) {
    if (chunks == NULL)
        return;
    roast_file_sizes_reset(&chunks->files);
    roast_buffer_reset(&chunks->text);
    roast_intern_reset(&chunks->names);
    roast_free(chunks->sums);
    roast_free(chunks->depth);
    roast_free(chunks);
}

roast_status roast_json_chunks_file(roast_json_chunks *chunks, const roast_file *file,
                                    bool *is_new) {
    uint32_t before = chunks->files.names.count;
    ROAST_TRY(roast_file_sizes_add(&chunks->files, file));
    *is_new = chunks->files.names.count > before;
    return ROAST_OK;
}

/* ---- what the user stored ---- */

void roast_json_put_custom(roast_json *json, const roast_custom *custom) {
    switch (custom->kind) {
    case ROAST_CUSTOM_BOOL:
        roast_json_bool(json, custom->integer != 0);
        return;
    case ROAST_CUSTOM_INT:
        roast_json_int(json, custom->integer);
        return;
    case ROAST_CUSTOM_REAL:
        roast_json_real(json, custom->real);
        return;
    case ROAST_CUSTOM_TEXT:
        roast_json_str(json, custom->text);
        return;
    case ROAST_CUSTOM_JSON:
        roast_json_raw(json, custom->text);
        return;
    case ROAST_CUSTOM_NULL:
    case ROAST_CUSTOM_LEFT_OUT:
    case ROAST_CUSTOM_KINDS:
        break;
    }
    roast_json_null(json);
}

static bool is_a_key(roast_str name) {
    static const char *const names[] = {
#define X(key, ...) #key,
        ROAST_CHUNK_KEYS(X, X, X, X, X, X, X)
#undef X
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (roast_str_equal(name, roast_str_of(names[i])))
            return true;
    return false;
}

/* `beside_keys`: into the chunk itself, where what was measured is not written over. */
static void put_customs(roast_json *json, const roast_chunklog *log, const roast_chunk *chunk,
                        bool beside_keys) {
    roast_tail tail = roast_tail_of_customs(log, chunk);
    roast_custom custom;
    while (roast_tail_next_custom(&tail, &custom)) {
        if (custom.scope != ROAST_SCOPE_CHUNK || custom.kind == ROAST_CUSTOM_LEFT_OUT ||
            (beside_keys && is_a_key(custom.key)))
            continue;
        roast_json_key_str(json, custom.key);
        roast_json_put_custom(json, &custom);
    }
}

/* ---- sums by name ---- */

static roast_status sum_of(roast_json_chunks *chunks, roast_str name, sum **out) {
    uint32_t before = chunks->names.count, id;
    void *sums = chunks->sums;
    ROAST_TRY(
        roast_array_reserve(&sums, &chunks->sums_capacity, sizeof *chunks->sums, before + 1u));
    chunks->sums = sums;
    ROAST_TRY(roast_intern_add(&chunks->names, name, &id));
    if (id == before)
        chunks->sums[id] = (sum){.custom_is_set = false};
    *out = &chunks->sums[id];
    return ROAST_OK;
}

static roast_status add_sections(roast_json_chunks *chunks, const roast_chunklog *log,
                                 const roast_chunk *chunk, roast_section_kind kind, double per) {
    roast_tail tail = roast_tail_of_sections(log, chunk);
    roast_section section;
    sum *total;
    while (roast_tail_next_section(&tail, &section)) {
        if (section.kind != kind)
            continue;
        ROAST_TRY(sum_of(chunks, section.name, &total));
        total->real += (double)section.value / per;
        total->integer = (int64_t)((uint64_t)total->integer + (uint64_t)section.value);
    }
    return ROAST_OK;
}

static roast_status add_customs(roast_json_chunks *chunks, const roast_chunklog *log,
                                const roast_chunk *chunk, roast_custom_scope scope) {
    roast_tail tail = roast_tail_of_customs(log, chunk);
    roast_custom custom;
    sum *total;
    while (roast_tail_next_custom(&tail, &custom)) {
        if (custom.scope != scope || custom.kind == ROAST_CUSTOM_LEFT_OUT)
            continue;
        ROAST_TRY(sum_of(chunks, custom.key, &total));
        total->custom = custom;
        total->custom_is_set = true;
    }
    return ROAST_OK;
}

/* {name: sum}, and over it what the user wrote there by hand. */
static roast_status put_sums(roast_json_chunks *chunks, roast_json *json, const roast_chunklog *log,
                             const roast_chunk *chunk, roast_section_kind kind, double per,
                             roast_custom_scope scope) {
    roast_intern_truncate(&chunks->names, 0);
    ROAST_TRY(add_sections(chunks, log, chunk, kind, per));
    ROAST_TRY(add_customs(chunks, log, chunk, scope));
    roast_json_begin_object(json);
    for (uint32_t i = 0; i < chunks->names.count; i++) {
        const sum *total = &chunks->sums[i];
        roast_json_key_str(json, roast_intern_get(&chunks->names, i));
        if (total->custom_is_set)
            roast_json_put_custom(json, &total->custom);
        else if (kind == ROAST_SECTION_BYTES)
            roast_json_int(json, total->integer);
        else
            roast_json_real(json, total->real);
    }
    roast_json_end_object(json);
    return ROAST_OK;
}

/* ---- keys that are a list or a mapping; nothing where the chunk does not have them ---- */

typedef struct source {
    roast_json_chunks *chunks;
    roast_json *json;
    const roast_chunklog *log;
    const roast_chunk *chunk;
    const char *key;
} source;

static roast_status put_timing(const source *from) {
    roast_json_key(from->json, from->key);
    return put_sums(from->chunks, from->json, from->log, from->chunk, ROAST_SECTION_TIME, 1e9,
                    ROAST_SCOPE_TIMING);
}

static roast_status put_memory(const source *from) {
    roast_json_key(from->json, from->key);
    return put_sums(from->chunks, from->json, from->log, from->chunk, ROAST_SECTION_MEMORY, 1e6,
                    ROAST_SCOPE_MEMORY);
}

static roast_status put_bytes(const source *from) {
    roast_json_key(from->json, from->key);
    return put_sums(from->chunks, from->json, from->log, from->chunk, ROAST_SECTION_BYTES, 1,
                    ROAST_SCOPE_BYTES);
}

static roast_status put_accessed_branches(const source *from) {
    roast_tail tail = roast_tail_of_branches(from->log, from->chunk);
    roast_str name;
    if (!from->chunk->has_branches)
        return ROAST_OK;
    roast_json_key(from->json, from->key);
    roast_json_begin_array(from->json);
    while (roast_tail_next_branch(&tail, &name))
        roast_json_str(from->json, name);
    roast_json_end_array(from->json);
    return ROAST_OK;
}

static void put_known(roast_json *json, const char *key, int64_t value) {
    if (value < 0)
        return;
    roast_json_key(json, key);
    roast_json_int(json, value);
}

static roast_status put_reads(const source *from) {
    roast_tail tail = roast_tail_of_reads(from->log, from->chunk);
    roast_read read;
    if (!from->chunk->has_reads)
        return ROAST_OK;
    roast_json_key(from->json, from->key);
    roast_json_begin_object(from->json);
    while (roast_tail_next_read(&tail, &read)) {
        roast_json_key_str(from->json, read.branch);
        roast_json_begin_object(from->json);
        if (read.time_ns >= 0)
            roast_json_put_real(from->json, "seconds", (double)read.time_ns / 1e9);
        put_known(from->json, "bytes", read.bytes);
        put_known(from->json, "uncompressed_bytes", read.uncompressed_bytes);
        put_known(from->json, "count", read.count);
        roast_json_end_object(from->json);
    }
    roast_json_end_object(from->json);
    return ROAST_OK;
}

static void put_section(roast_json *json, const roast_section *section, uint32_t depth) {
    double start = (double)section->before / 1e9, value = (double)section->value / 1e9;
    roast_json_begin_object(json);
    roast_json_key(json, "section_name");
    roast_json_str(json, section->name);
    if (section->kind == ROAST_SECTION_TIME) {
        roast_json_put_real(json, "time_delta", value);
        roast_json_put_real(json, "start", (double)section->start_ns / 1e9);
        roast_json_key(json, "depth");
        roast_json_uint(json, depth);
        roast_json_key(json, "count");
        roast_json_uint(json, section->count);
    } else {
        roast_json_put_real(json, "memory_start_gb", start);
        roast_json_put_real(json, "memory_end_gb", start + value);
        roast_json_put_real(json, "memory_delta_gb", value);
    }
    roast_json_end_object(json);
}

/* Every use, in the order of entry. */
static roast_status put_section_list(const source *from, roast_section_kind kind) {
    roast_json_chunks *chunks = from->chunks;
    roast_tail tail = roast_tail_of_sections(from->log, from->chunk);
    roast_section section;
    uint32_t count = from->chunk->n_sections;
    void *depth = chunks->depth;
    ROAST_TRY(roast_array_reserve(&depth, &chunks->depth_capacity, sizeof *chunks->depth, count));
    chunks->depth = depth;
    roast_json_key(from->json, from->key);
    roast_json_begin_array(from->json);
    for (uint32_t i = 0; i < count && roast_tail_next_section(&tail, &section); i++) {
        bool inside = section.parent >= 0 && (uint32_t)section.parent < i;
        chunks->depth[i] = inside ? chunks->depth[section.parent] + 1 : 0;
        if (section.kind == kind)
            put_section(from->json, &section, chunks->depth[i]);
    }
    roast_json_end_array(from->json);
    return ROAST_OK;
}

static roast_status put_sections(const source *from) {
    return put_section_list(from, ROAST_SECTION_TIME);
}

static roast_status put_memory_sections(const source *from) {
    return put_section_list(from, ROAST_SECTION_MEMORY);
}

static roast_status put_custom_metrics(const source *from) {
    roast_json_key(from->json, from->key);
    roast_json_begin_object(from->json);
    put_customs(from->json, from->log, from->chunk, false);
    roast_json_end_object(from->json);
    return ROAST_OK;
}

/* Stands once for each file, not in every chunk of it: NanoAOD has some 1500 branches. */
static roast_status put_file_metadata(const source *from) {
    (void)from;
    return ROAST_OK;
}

/* ---- the chunk ---- */

static roast_status put_key(const source *at, const roast_key *key, const roast_key_source *from) {
    double real = 0;
    int64_t integer = 0;
    roast_str text;
    if (key->cell == ROAST_CELL_TEXT) {
        ROAST_TRY(roast_key_get_text(key, from, &at->chunks->text, &text));
        roast_json_put_str(at->json, key->name, text);
    } else if (key->cell == ROAST_CELL_REAL) {
        if (roast_key_get_real(key, from, &real))
            roast_json_put_real(at->json, key->name, real);
    } else if (roast_key_get_int(key, from, &integer)) {
        roast_json_put_value(at->json, key->name, roast_value_int(integer));
    }
    return ROAST_OK;
}

roast_status roast_json_put_chunk(roast_json_chunks *chunks, roast_json *json,
                                  const roast_chunklog *log, const roast_chunk *chunk) {
    roast_key_source from = {chunk, roast_file_sizes_find(&chunks->files, chunk->file),
                             chunks->count++};
    source at = {chunks, json, log, chunk, NULL};
    const roast_key *key = roast_keys;
#define PLAIN(...) ROAST_TRY(put_key(&at, key++, &from));
#define OTHER(name, function)                                                                      \
    at.key = #name;                                                                                \
    ROAST_TRY(put_##function(&at));
    ROAST_CHUNK_KEYS(PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, OTHER)
#undef PLAIN
#undef OTHER
    put_customs(json, log, chunk, true);
    return ROAST_OK;
}
