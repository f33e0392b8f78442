/* A chunk as an object: the keys of ROAST_CHUNK_KEYS in their order. */
#include "render/json_run.h"

/* The sum of all sections of one name. */
typedef struct roast_json_sum {
    bool custom_is_set;
    roast_custom custom; /* what the user wrote there by hand */
    int64_t integer;
    double real;
} sum;

void roast_json_chunks_reset(roast_json_chunks *chunks) {
    roast_file_sizes_reset(&chunks->files);
    roast_buffer_reset(&chunks->text);
    roast_intern_reset(&chunks->names);
    roast_free(chunks->sums);
    roast_free(chunks->depth);
}

/* ---- values of the user ---- */

static void put_custom(roast_json *json, const roast_custom *custom) {
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

/* `in_chunk`: into the chunk itself; there the user's values do not replace measured ones. */
static void put_customs(const roast_json_chunks *chunks, const roast_chunk *chunk, bool in_chunk) {
    roast_tail_cursor tail;
    roast_custom custom;
    roast_chunk_customs(chunks->log, chunk, &tail);
    while (roast_chunk_next_custom(&tail, &custom)) {
        if (custom.scope != ROAST_SCOPE_CHUNK || custom.kind == ROAST_CUSTOM_LEFT_OUT ||
            (in_chunk && is_a_key(custom.key)))
            continue;
        roast_json_key_str(chunks->json, custom.key);
        put_custom(chunks->json, &custom);
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

/* A key whose value is one sum for each name: the kind of sections, how many make a unit, and the user's own values. */
typedef struct summed_key {
    const char *key;
    roast_section_kind kind;
    double per;
    roast_custom_scope scope;
} summed_key;

static roast_status add_sections(roast_json_chunks *chunks, const roast_chunk *chunk,
                                 const summed_key *wanted) {
    roast_tail_cursor tail;
    roast_section section;
    sum *total;
    roast_chunk_sections(chunks->log, chunk, &tail);
    while (roast_chunk_next_section(&tail, &section)) {
        if (section.kind != wanted->kind)
            continue;
        ROAST_TRY(sum_of(chunks, section.name, &total));
        total->real += (double)section.value / wanted->per;
        total->integer = roast_add_capped(total->integer, section.value);
    }
    return ROAST_OK;
}

static roast_status add_customs(roast_json_chunks *chunks, const roast_chunk *chunk,
                                roast_custom_scope scope) {
    roast_tail_cursor tail;
    roast_custom custom;
    sum *total;
    roast_chunk_customs(chunks->log, chunk, &tail);
    while (roast_chunk_next_custom(&tail, &custom)) {
        if (custom.scope != scope || custom.kind == ROAST_CUSTOM_LEFT_OUT)
            continue;
        ROAST_TRY(sum_of(chunks, custom.key, &total));
        total->custom = custom;
        total->custom_is_set = true;
    }
    return ROAST_OK;
}

/* {name: sum}; a value of the user replaces a sum. */
static roast_status put_sums(roast_json_chunks *chunks, const roast_chunk *chunk,
                             const summed_key *wanted) {
    roast_json *json = chunks->json;
    roast_intern_truncate(&chunks->names, 0);
    ROAST_TRY(add_sections(chunks, chunk, wanted));
    ROAST_TRY(add_customs(chunks, chunk, wanted->scope));
    roast_json_put_object(json, wanted->key);
    for (uint32_t i = 0; i < chunks->names.count; i++) {
        const sum *total = &chunks->sums[i];
        roast_json_key_str(json, roast_intern_get(&chunks->names, i));
        if (total->custom_is_set)
            put_custom(json, &total->custom);
        else if (wanted->kind == ROAST_SECTION_BYTES)
            roast_json_int(json, total->integer);
        else
            roast_json_real(json, total->real);
    }
    roast_json_end_object(json);
    return ROAST_OK;
}

/* ---- keys that are a list or a mapping; nothing where the chunk does not have them ---- */

static roast_status put_timing(roast_json_chunks *chunks, const roast_chunk *chunk) {
    return put_sums(chunks, chunk,
                    &(summed_key){"timing", ROAST_SECTION_TIME, 1e9, ROAST_SCOPE_TIMING});
}

static roast_status put_memory(roast_json_chunks *chunks, const roast_chunk *chunk) {
    return put_sums(chunks, chunk,
                    &(summed_key){"memory", ROAST_SECTION_MEMORY, 1e6, ROAST_SCOPE_MEMORY});
}

static roast_status put_bytes(roast_json_chunks *chunks, const roast_chunk *chunk) {
    return put_sums(chunks, chunk,
                    &(summed_key){"bytes", ROAST_SECTION_BYTES, 1, ROAST_SCOPE_BYTES});
}

static roast_status put_accessed_branches(roast_json_chunks *chunks, const roast_chunk *chunk) {
    roast_tail_cursor tail;
    roast_str name;
    if (!chunk->has_branches)
        return ROAST_OK;
    roast_chunk_branches(chunks->log, chunk, &tail);
    roast_json_put_array(chunks->json, "accessed_branches");
    while (roast_chunk_next_branch(&tail, &name))
        roast_json_str(chunks->json, name);
    roast_json_end_array(chunks->json);
    return ROAST_OK;
}

static roast_status put_reads(roast_json_chunks *chunks, const roast_chunk *chunk) {
    roast_json *json = chunks->json;
    roast_tail_cursor tail;
    roast_read read;
    if (!chunk->has_reads)
        return ROAST_OK;
    roast_chunk_reads(chunks->log, chunk, &tail);
    roast_json_put_object(json, "reads");
    while (roast_chunk_next_read(&tail, &read)) {
        roast_json_key_str(json, read.branch);
        roast_json_begin_object(json);
        if (read.time_ns >= 0)
            roast_json_put_real(json, "seconds", (double)read.time_ns / 1e9);
        roast_json_put_count(json, "bytes", read.bytes);
        roast_json_put_count(json, "uncompressed_bytes", read.uncompressed_bytes);
        roast_json_put_count(json, "count", read.count);
        roast_json_end_object(json);
    }
    roast_json_end_object(json);
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
        roast_json_put_int(json, "depth", depth);
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
static roast_status put_section_list(roast_json_chunks *chunks, const roast_chunk *chunk,
                                     const char *key, roast_section_kind kind) {
    roast_tail_cursor tail;
    roast_section section;
    void *depth = chunks->depth;
    ROAST_TRY(roast_array_reserve(&depth, &chunks->depth_capacity, sizeof *chunks->depth,
                                  chunk->n_sections));
    chunks->depth = depth;
    roast_chunk_sections(chunks->log, chunk, &tail);
    roast_json_put_array(chunks->json, key);
    for (uint32_t i = 0; i < chunk->n_sections && roast_chunk_next_section(&tail, &section); i++) {
        bool inside = section.parent >= 0 && (uint32_t)section.parent < i;
        chunks->depth[i] = inside ? chunks->depth[section.parent] + 1 : 0;
        if (section.kind == kind)
            put_section(chunks->json, &section, chunks->depth[i]);
    }
    roast_json_end_array(chunks->json);
    return ROAST_OK;
}

static roast_status put_sections(roast_json_chunks *chunks, const roast_chunk *chunk) {
    return put_section_list(chunks, chunk, "sections", ROAST_SECTION_TIME);
}

static roast_status put_memory_sections(roast_json_chunks *chunks, const roast_chunk *chunk) {
    return put_section_list(chunks, chunk, "memory_sections", ROAST_SECTION_MEMORY);
}

static roast_status put_custom_metrics(roast_json_chunks *chunks, const roast_chunk *chunk) {
    roast_json_put_object(chunks->json, "custom_metrics");
    put_customs(chunks, chunk, false);
    roast_json_end_object(chunks->json);
    return ROAST_OK;
}

/* Stands once for each file, not in every chunk of it: NanoAOD has some 1500 branches. */
static roast_status put_file_metadata(roast_json_chunks *chunks, const roast_chunk *chunk) {
    (void)chunks;
    (void)chunk;
    return ROAST_OK;
}

/* ---- the chunk ---- */

static roast_status put_key(roast_json_chunks *chunks, const roast_key *key,
                            const roast_key_source *from) {
    double real = 0;
    int64_t integer = 0;
    roast_str text;
    if (key->cell == ROAST_CELL_TEXT) {
        ROAST_TRY(roast_key_hold_text(key, from, &chunks->text, &text));
        roast_json_put_str(chunks->json, key->name, text);
    } else if (key->cell == ROAST_CELL_REAL) {
        if (roast_key_get_real(key, from, &real))
            roast_json_put_real(chunks->json, key->name, real);
    } else if (roast_key_get_int(key, from, &integer)) {
        roast_json_put_int(chunks->json, key->name, integer);
    }
    return ROAST_OK;
}

roast_status roast_json_put_chunk(roast_json_chunks *chunks, const roast_chunk *chunk) {
    roast_key_source from = {chunk, roast_file_sizes_find(&chunks->files, chunk->file),
                             chunks->count++};
    const roast_key *key = roast_keys;
#define PLAIN(...)            ROAST_TRY(put_key(chunks, key++, &from));
#define OTHER(name, function) ROAST_TRY(put_##function(chunks, chunk));
    ROAST_CHUNK_KEYS(PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, OTHER)
#undef PLAIN
#undef OTHER
    put_customs(chunks, chunk, true);
    return ROAST_OK;
}
