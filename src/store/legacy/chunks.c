/* raw_chunk_metrics, raw_section_metrics and file_metadata. */
#include <math.h>
#include <stdlib.h>

#include "roast/columns.h"
#include "store/legacy/internal.h"

static const char file_name[] = "metrics.json";
#define MIB 1048576.0 /* the MB of 0.1.x */

/* Data that a chunk borrows until it is in the log; the arrays are reused for the next one. */
typedef struct chunk_parse {
    legacy_input *input;
    roast_chunk chunk;
    roast_str *branches;
    size_t branches_capacity;
    roast_section *sections;
    size_t sections_capacity;
    roast_custom *customs;
    size_t customs_capacity;
    char **dumped; /* texts of customs, to be freed */
    size_t n_dumped, dumped_capacity;
} chunk_parse;

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "0.1.x measurement", -1, "no memory for the chunks");
}

/* Room for one more of an array. */
#define RESERVE(items, capacity, count, err)                                                       \
    do {                                                                                           \
        void *reserved_ = (items);                                                                 \
        if (roast_array_reserve(&reserved_, &(capacity), sizeof *(items), (size_t)(count) + 1) !=  \
            ROAST_OK)                                                                              \
            return no_memory(err);                                                                 \
        (items) = reserved_;                                                                       \
    } while (0)

/* ---- one value ---- */

static void put_number(chunk_parse *p, const json_t *value, double per, int64_t *field,
                       uint64_t bit) {
    if (roast_legacy_steps(value, per, field))
        p->chunk.have |= bit;
    else
        p->input->odd_values++;
}

static void put_text(chunk_parse *p, const json_t *value, roast_str *out) {
    if (json_is_string(value))
        *out = roast_legacy_text(value);
    else
        p->input->odd_values++;
}

/* "mem_before_mb", of which a unit is not a million bytes. */
static double unit_of(const char *key, double per) {
    size_t len = strlen(key);
    return len > 3 && strcmp(key + len - 3, "_mb") == 0 ? MIB : per;
}

/* Whether the key is one of a chunk's own; its value is put in if it is a number or a text. */
static bool put_own(chunk_parse *p, const char *key, const json_t *value) {
#define REAL(id, field, per)                                                                       \
    if (strcmp(key, #id) == 0) {                                                                   \
        put_number(p, value, unit_of(key, per), &p->chunk.field, ROAST_CHUNK_HAS(field));          \
        return true;                                                                               \
    }
#define INT(id, field)                                                                             \
    if (strcmp(key, #id) == 0) {                                                                   \
        put_number(p, value, 1, &p->chunk.field, ROAST_CHUNK_HAS(field));                          \
        return true;                                                                               \
    }
#define TEXT(id, member)                                                                           \
    if (strcmp(key, #id) == 0) {                                                                   \
        put_text(p, value, &p->chunk.member);                                                      \
        return true;                                                                               \
    }
#define OTHER(id, function)                                                                        \
    if (strcmp(key, #id) == 0)                                                                     \
        return true;
    ROAST_CHUNK_KEYS(REAL, INT, TEXT, OTHER, OTHER, OTHER, OTHER)
#undef REAL
#undef INT
#undef TEXT
#undef OTHER
    return false;
}

/* ---- a user's own values ---- */

static roast_status dump(chunk_parse *p, const json_t *value, roast_str *out, roast_error *err) {
    char *text;
    RESERVE(p->dumped, p->dumped_capacity, p->n_dumped, err);
    ROAST_TRY(roast_legacy_dump(value, &text, &out->len, err));
    p->dumped[p->n_dumped++] = text;
    out->data = text;
    return ROAST_OK;
}

static roast_status put_custom(chunk_parse *p, roast_str key, const json_t *value,
                               roast_error *err) {
    if (p->chunk.n_customs == ROAST_MAX_CUSTOMS) {
        p->input->odd_values++;
        return ROAST_OK;
    }
    RESERVE(p->customs, p->customs_capacity, p->chunk.n_customs, err);
    roast_custom *custom = &p->customs[p->chunk.n_customs];
    *custom = (roast_custom){.key = key, .scope = ROAST_SCOPE_CHUNK};
    switch (json_typeof(value)) {
    case JSON_NULL:
        custom->kind = ROAST_CUSTOM_NULL;
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        custom->kind = ROAST_CUSTOM_BOOL;
        custom->integer = json_is_true(value);
        break;
    case JSON_INTEGER:
        custom->kind = ROAST_CUSTOM_INT;
        custom->integer = json_integer_value(value);
        break;
    case JSON_REAL:
        custom->kind = ROAST_CUSTOM_REAL;
        custom->real = json_real_value(value);
        break;
    case JSON_STRING:
        custom->kind = ROAST_CUSTOM_TEXT;
        custom->text = roast_legacy_text(value);
        break;
    default:
        custom->kind = ROAST_CUSTOM_JSON;
        ROAST_TRY(dump(p, value, &custom->text, err));
    }
    /* A key that 0.1.x meant as it is would be taken for a tag of ours. */
    if (custom->text.len > ROAST_MAX_VALUE ||
        (custom->kind == ROAST_CUSTOM_JSON &&
         memmem(custom->text.data, custom->text.len, "\"$\":", 4) != NULL)) {
        p->input->odd_values++;
        return ROAST_OK;
    }
    p->chunk.n_customs++;
    return ROAST_OK;
}

/* ---- lists and mappings ---- */

static roast_status put_branches(chunk_parse *p, const json_t *list, roast_error *err) {
    if (list == NULL || json_is_null(list))
        return ROAST_OK;
    if (!json_is_array(list) || json_array_size(list) > ROAST_MAX_BRANCHES) {
        p->input->odd_values++;
        return ROAST_OK;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        roast_str name = roast_legacy_text(json_array_get(list, i));
        if (name.data == NULL) {
            p->input->odd_values++;
            continue;
        }
        RESERVE(p->branches, p->branches_capacity, p->chunk.n_branches, err);
        p->branches[p->chunk.n_branches++] = name;
    }
    p->chunk.has_branches = true;
    return ROAST_OK;
}

/* {name: sum}: each sum is one section. */
static roast_status put_sums(chunk_parse *p, json_t *sums, roast_section_kind kind, double per,
                             roast_error *err) {
    const char *name;
    size_t len;
    json_t *value;
    json_object_keylen_foreach(sums, name, len, value) {
        int64_t steps;
        if (p->chunk.n_sections == ROAST_MAX_SECTIONS || !roast_legacy_steps(value, per, &steps)) {
            p->input->odd_values++;
            continue;
        }
        RESERVE(p->sections, p->sections_capacity, p->chunk.n_sections, err);
        p->sections[p->chunk.n_sections++] = (roast_section){
            .name = {name, len}, .kind = kind, .parent = -1, .count = 1, .value = steps};
    }
    return ROAST_OK;
}

/* "ValueError: text" */
static void put_error(chunk_parse *p, const json_t *value) {
    roast_str text = roast_legacy_text(value);
    if (text.data == NULL) {
        p->input->odd_values += value != NULL && !json_is_null(value);
        return;
    }
    const char *colon = memchr(text.data, ':', text.len);
    size_t type_len = colon != NULL ? (size_t)(colon - text.data) : text.len;
    size_t rest = type_len < text.len ? type_len + 1 : text.len;
    if (rest < text.len && text.data[rest] == ' ')
        rest++;
    p->chunk.error_type = (roast_str){text.data, type_len};
    p->chunk.error_message = (roast_str){text.data + rest, text.len - rest};
}

/* Where a value follows from another one that is missing. */
static void complete(chunk_parse *p, const json_t *entry) {
    roast_chunk *c = &p->chunk;
    const uint64_t times = ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns);
    const uint64_t ends = ROAST_CHUNK_HAS(rss_before) | ROAST_CHUNK_HAS(rss_after);
    double end = roast_legacy_number(json_object_get(entry, "t_end"));
    if ((c->have & times) == ROAST_CHUNK_HAS(start_us)) {
        double ns = round((end - (double)c->start_us / 1e6) * 1e9);
        if (ns >= 0 && ns < 9.2e18) {
            c->duration_ns = (int64_t)ns;
            c->have |= ROAST_CHUNK_HAS(duration_ns);
        }
    }
    /* A difference alone is kept as one from 0. */
    if (!(c->have & ends) &&
        roast_legacy_steps(json_object_get(entry, "mem_delta_mb"), MIB, &c->rss_after)) {
        c->rss_before = 0;
        c->have |= ends;
    }
}

/* ---- files ---- */

static int64_t size_of(const json_t *value) {
    int64_t size;
    return roast_legacy_steps(value, 1, &size) && size >= 0 ? size : -1;
}

/* {"filename", "compression_ratio", "total_branches", "total_tree_bytes", "branch_bytes"} */
static roast_status put_file(legacy_input *input, json_t *entry, roast_chunklog *log,
                             roast_error *err) {
    roast_file file = {.name = roast_legacy_text(json_object_get(entry, "filename")),
                       .total_branches = size_of(json_object_get(entry, "total_branches")),
                       .tree_bytes = size_of(json_object_get(entry, "total_tree_bytes")),
                       .tree_uncompressed_bytes = -1};
    json_t *sizes = json_object_get(entry, "branch_bytes"), *value;
    double ratio = roast_legacy_number(json_object_get(entry, "compression_ratio"));
    size_t n_sizes = json_object_size(sizes);
    if (file.name.data == NULL || n_sizes > ROAST_MAX_BRANCHES) {
        input->odd_values++;
        return ROAST_OK;
    }
    if (ratio > 0 && file.tree_bytes >= 0 && (double)file.tree_bytes / ratio < 9.2e18)
        file.tree_uncompressed_bytes = llround((double)file.tree_bytes / ratio);
    roast_branch_size *branches = roast_alloc((n_sizes + 1) * sizeof *branches);
    if (branches == NULL)
        return no_memory(err);
    const char *name;
    size_t len;
    json_object_keylen_foreach(sizes, name, len, value) branches[file.n_branches++] =
        (roast_branch_size){.name = {name, len}, .bytes = size_of(value), .uncompressed_bytes = -1};
    file.branches = branches;
    roast_status status = roast_chunklog_add_file(log, &file, err);
    roast_free(branches);
    return status;
}

static roast_status put_files(legacy_input *input, roast_chunklog *log, roast_error *err) {
    json_t *files = json_object_get(input->metrics, "file_metadata"), *entry;
    const char *name;
    json_object_foreach(files, name, entry) {
        if (json_is_object(entry))
            ROAST_TRY(put_file(input, entry, log, err));
        else
            input->odd_values++;
    }
    return ROAST_OK;
}

/* ---- one chunk ---- */

static roast_status put_values(chunk_parse *p, json_t *entry, roast_error *err) {
    const char *key;
    size_t len;
    json_t *value;
    json_object_keylen_foreach(entry, key, len, value) {
        if (json_is_null(value))
            continue;
        if (strlen(key) != len || !put_own(p, key, value))
            ROAST_TRY(put_custom(p, (roast_str){key, len}, value, err));
    }
    return ROAST_OK;
}

static roast_status put_parts(chunk_parse *p, json_t *entry, roast_chunklog *log,
                              roast_error *err) {
    ROAST_TRY(put_branches(p, json_object_get(entry, "accessed_branches"), err));
    ROAST_TRY(put_sums(p, json_object_get(entry, "timing"), ROAST_SECTION_TIME, 1e9, err));
    ROAST_TRY(put_sums(p, json_object_get(entry, "memory"), ROAST_SECTION_MEMORY, MIB, err));
    ROAST_TRY(put_sums(p, json_object_get(entry, "bytes"), ROAST_SECTION_BYTES, 1, err));
    put_error(p, json_object_get(entry, "error"));
    complete(p, entry);
    json_t *file = json_object_get(entry, "file_metadata");
    return json_is_object(file) ? put_file(p->input, file, log, err) : ROAST_OK;
}

static void note_times(legacy_input *input, const roast_chunk *chunk) {
    const uint64_t times = ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns);
    if ((chunk->have & times) != times)
        return;
    double start = (double)chunk->start_us / 1e6, end = start + (double)chunk->duration_ns / 1e9;
    input->first_seen = fmin(input->first_seen, start);
    input->last_chunk = fmax(input->last_chunk, end);
}

static roast_status put_chunk(chunk_parse *p, json_t *entry, roast_chunklog *log,
                              roast_error *err) {
    p->chunk = (roast_chunk){0};
    ROAST_TRY(put_values(p, entry, err));
    ROAST_TRY(put_parts(p, entry, log, err));
    p->chunk.branches = p->branches;
    p->chunk.sections = p->sections;
    p->chunk.customs = p->customs;
    note_times(p->input, &p->chunk);
    return roast_chunklog_append(log, &p->chunk, err);
}

static void forget_dumped(chunk_parse *p) {
    while (p->n_dumped > 0)
        roast_free(p->dumped[--p->n_dumped]);
}

static roast_status put_chunks(chunk_parse *p, json_t *list, roast_chunklog *log,
                               roast_error *err) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *entry = json_array_get(list, i);
        if (!json_is_object(entry))
            return roast_legacy_damaged(err, file_name,
                                        "raw_chunk_metrics[%zu]: an object is expected, not %s", i,
                                        roast_legacy_type_name(entry));
        roast_status status = put_chunk(p, entry, log, err);
        forget_dumped(p);
        if (status != ROAST_OK)
            return status;
    }
    return ROAST_OK;
}

/* *list stays NULL where there is none. */
static roast_status list_of(legacy_input *input, const char *key, json_t **list, roast_error *err) {
    json_t *value = json_object_get(input->metrics, key);
    *list = NULL;
    if (value == NULL || json_is_null(value))
        return ROAST_OK;
    if (!json_is_array(value))
        return roast_legacy_damaged(err, file_name, "%s: a list is expected, not %s", key,
                                    roast_legacy_type_name(value));
    *list = value;
    return ROAST_OK;
}

roast_status roast_legacy_chunks(legacy_input *input, roast_error *err) {
    chunk_parse p = {.input = input};
    json_t *list;
    roast_chunklog *log = roast_run_chunks(input->run);
    ROAST_TRY(list_of(input, "raw_chunk_metrics", &list, err));
    ROAST_TRY(put_files(input, log, err));
    roast_status status = put_chunks(&p, list, log, err);
    roast_free(p.branches);
    roast_free(p.sections);
    roast_free(p.customs);
    roast_free(p.dumped);
    return status;
}

/* ---- sections that were recorded outside of chunks ---- */

/* One row a way to say it: key, what it measures, how many of its units there are in one. */
static const struct {
    const char *key;
    roast_section_kind kind;
    double scale;
} measures[] = {
    {"duration", ROAST_SECTION_TIME, 1e9},       {"time_delta", ROAST_SECTION_TIME, 1e9},
    {"mem_delta_mb", ROAST_SECTION_MEMORY, MIB}, {"memory_delta_gb", ROAST_SECTION_MEMORY, 1e9},
    {"bytes", ROAST_SECTION_BYTES, 1},
};

static roast_str section_name(const json_t *entry) {
    static const char *const keys[] = {"name", "section_name", "section"};
    roast_str name = {NULL, 0};
    for (size_t i = 0; name.data == NULL && i < sizeof keys / sizeof *keys; i++)
        name = roast_legacy_text(json_object_get(entry, keys[i]));
    return name;
}

static roast_status put_section(legacy_input *input, json_t *entry, roast_chunklog *log,
                                roast_error *err) {
    roast_section sections[ROAST_SECTION_KINDS];
    uint32_t count = 0;
    bool seen[ROAST_SECTION_KINDS] = {false};
    roast_str name = section_name(entry);
    for (size_t i = 0; name.data != NULL && i < sizeof measures / sizeof *measures; i++) {
        int64_t steps;
        if (seen[measures[i].kind] ||
            !roast_legacy_steps(json_object_get(entry, measures[i].key), measures[i].scale, &steps))
            continue;
        seen[measures[i].kind] = true;
        sections[count++] = (roast_section){
            .name = name, .kind = measures[i].kind, .parent = -1, .count = 1, .value = steps};
    }
    if (count == 0) {
        input->odd_values++;
        return ROAST_OK;
    }
    roast_chunk chunk = {.sections = sections, .n_sections = count};
    return roast_chunklog_append(log, &chunk, err);
}

roast_status roast_legacy_sections(legacy_input *input, roast_error *err) {
    json_t *list;
    roast_chunklog *log;
    ROAST_TRY(list_of(input, "raw_section_metrics", &list, err));
    if (json_array_size(list) == 0)
        return ROAST_OK;
    ROAST_TRY(roast_chunklog_new(&log, err));
    for (size_t i = 0; i < json_array_size(list); i++) {
        roast_status status = put_section(input, json_array_get(list, i), log, err);
        if (status != ROAST_OK) {
            roast_chunklog_free(log);
            return status;
        }
    }
    roast_run_take_sections(input->run, log);
    return ROAST_OK;
}
