/* Chunks with everything in them, and their comparison; for the tests of the chunk log. */
#ifndef ROAST_TESTS_CHUNK_SAMPLE_H
#define ROAST_TESTS_CHUNK_SAMPLE_H

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "support.h"

#include "roast/chunklog.h"

#define ALL_FIELDS  ((UINT64_C(1) << ROAST_CHUNK_FIELD_COUNT) - 1)
#define COUNT_OF(a) (sizeof(a) / sizeof *(a))

/* All that a chunk borrows. */
typedef struct sample {
    roast_chunk chunk;
    roast_section sections[8];
    roast_read reads[4];
    roast_str branches[4];
    roast_custom customs[16];
} sample;

static inline roast_str str(const char *text) {
    return roast_str_of(text);
}

/* Sets the field number `index`. */
static inline void set_field(roast_chunk *chunk, unsigned index, int64_t value) {
    int64_t *const fields[] = {
#define X(name) &chunk->name,
        ROAST_CHUNK_FIELDS(X)
#undef X
    };
    *fields[index] = value;
    chunk->have |= UINT64_C(1) << index;
}

static inline int64_t get_field(const roast_chunk *chunk, unsigned index) {
    const int64_t fields[] = {
#define X(name) chunk->name,
        ROAST_CHUNK_FIELDS(X)
#undef X
    };
    return fields[index];
}

/* An identity and a few numbers. */
static inline void sample_plain(sample *s, uint64_t token, uint64_t seq) {
    memset(s, 0, sizeof *s);
    s->chunk.token = token;
    s->chunk.seq = seq;
    s->chunk.dataset = str("ttbar");
    s->chunk.file = str(seq % 2 == 0 ? "even.root" : "odd.root");
    set_field(&s->chunk, ROAST_CHUNK_INDEX_start_us, 1790000000000000 + (int64_t)seq);
    set_field(&s->chunk, ROAST_CHUNK_INDEX_duration_ns, (int64_t)seq * 1000);
}

static inline void sample_tails(sample *s) {
    static const roast_section sections[] = {
        {{"select", 6}, ROAST_SECTION_TIME, -1, 1, 100, 5000, 0},
        {{"inner", 5}, ROAST_SECTION_TIME, 0, 12, 150, 400, 0},
        {{"rss", 3}, ROAST_SECTION_MEMORY, 1, 1, 160, -4096, 1 << 20},
        {{"read", 4}, ROAST_SECTION_BYTES, 0, UINT64_MAX, 155, INT64_MAX, 0},
        {{"", 0}, ROAST_SECTION_TIME, -1, 1, INT64_MAX, INT64_MIN, 0},
        {{"Größe", 7}, ROAST_SECTION_MEMORY, 4, 2, INT64_MIN, INT64_MAX, INT64_MIN},
    };
    static const roast_read reads[] = {
        {{"Jet_pt", 6}, 0, 1, 2, 3},
        {{"Jet_eta", 7}, -1, -1, -1, -1},
        {{"Muon_pt", 7}, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX},
    };
    memcpy(s->sections, sections, sizeof sections);
    memcpy(s->reads, reads, sizeof reads);
    s->branches[0] = str("Jet_pt");
    s->branches[1] = str("Électron");
    s->chunk.sections = s->sections;
    s->chunk.n_sections = COUNT_OF(sections);
    s->chunk.reads = s->reads;
    s->chunk.n_reads = COUNT_OF(reads);
    s->chunk.has_reads = true;
    s->chunk.branches = s->branches;
    s->chunk.n_branches = 2;
    s->chunk.has_branches = true;
}

static inline void sample_customs(sample *s) {
    static const roast_custom customs[] = {
        {{"nothing", 7}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_NULL, 0, 0, {NULL, 0}},
        {{"yes", 3}, ROAST_SCOPE_TIMING, ROAST_CUSTOM_BOOL, 1, 0, {NULL, 0}},
        {{"no", 2}, ROAST_SCOPE_TIMING, ROAST_CUSTOM_BOOL, 0, 0, {NULL, 0}},
        {{"low", 3}, ROAST_SCOPE_MEMORY, ROAST_CUSTOM_INT, INT64_MIN, 0, {NULL, 0}},
        {{"high", 4}, ROAST_SCOPE_BYTES, ROAST_CUSTOM_INT, INT64_MAX, 0, {NULL, 0}},
        {{"x", 1}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_REAL, 0, -0.0, {NULL, 0}},
        {{"inf", 3}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_REAL, 0, INFINITY, {NULL, 0}},
        {{"tiny", 4}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_REAL, 0, DBL_MIN, {NULL, 0}},
        {{"", 0}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_TEXT, 0, 0, {"", 0}},
        {{"text", 4}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_TEXT, 0, 0, {"a\0b", 3}},
        {{"json", 4}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_JSON, 0, 0, {"[1,2]", 5}},
        {{"obj", 3}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_LEFT_OUT, 0, 0, {"too long", 8}},
    };
    memcpy(s->customs, customs, sizeof customs);
    s->chunk.customs = s->customs;
    s->chunk.n_customs = COUNT_OF(customs);
}

/* Everything that a chunk can have. */
static inline void sample_full(sample *s) {
    sample_plain(s, UINT64_C(0xfedcba9876543210), 300);
    for (unsigned i = 0; i < ROAST_CHUNK_FIELD_COUNT; i++)
        set_field(&s->chunk, i, (int64_t)i * 123457 + 1);
    s->chunk.pid = INT64_MAX;
    s->chunk.host = str("node-7");
    s->chunk.batch_job = str("Slurm 17_3");
    s->chunk.worker = str("tcp://10.0.0.7:41234");
    s->chunk.uuid = str("c0ffee00-0000-11ee-8000-000000000001");
    s->chunk.treename = str("Events");
    s->chunk.task_key = str("process-0123456789abcdef0123456789abcdef");
    s->chunk.error_type = str("ValueError");
    s->chunk.error_message = str("no jets: ≥ 2 wanted");
    sample_tails(s);
    sample_customs(s);
}

static inline void assert_same_str(roast_str want, roast_str got) {
    assert_int_equal(want.data == NULL, got.data == NULL);
    assert_int_equal(want.len, got.len);
    if (want.len > 0)
        assert_memory_equal(want.data, got.data, want.len);
}

static inline void assert_same_key(const roast_chunk *want, const roast_chunk *got) {
    char a[300], b[300];
    assert_int_equal(want->task_key.data == NULL, got->task_key.data == NULL);
    assert_int_equal(roast_chunk_task_key(want, a, sizeof a),
                     roast_chunk_task_key(got, b, sizeof b));
    assert_string_equal(a, b);
}

static inline void assert_same_sections(const roast_chunklog *log, const roast_chunk *want,
                                        const roast_chunk *got) {
    roast_tail_cursor cursor;
    roast_section section;
    roast_chunk_sections(log, got, &cursor);
    for (uint32_t i = 0; i < want->n_sections; i++) {
        const roast_section *w = &want->sections[i];
        assert_true(roast_chunk_next_section(&cursor, &section));
        assert_same_str(w->name, section.name);
        assert_int_equal(w->kind, section.kind);
        assert_int_equal(w->parent, section.parent);
        assert_true(w->count == section.count);
        assert_true(w->start_ns == section.start_ns);
        assert_true(w->value == section.value);
        assert_true((w->kind == ROAST_SECTION_MEMORY ? w->before : 0) == section.before);
    }
    assert_false(roast_chunk_next_section(&cursor, &section));
    assert_int_equal(want->n_sections, got->n_sections);
}

static inline void assert_same_names(const roast_chunklog *log, const roast_chunk *want,
                                     const roast_chunk *got) {
    roast_tail_cursor cursor;
    roast_str name;
    roast_read read;
    assert_int_equal(want->has_branches, got->has_branches);
    assert_int_equal(want->n_branches, got->n_branches);
    roast_chunk_branches(log, got, &cursor);
    for (uint32_t i = 0; i < want->n_branches; i++) {
        assert_true(roast_chunk_next_branch(&cursor, &name));
        assert_same_str(want->branches[i], name);
    }
    assert_false(roast_chunk_next_branch(&cursor, &name));
    assert_int_equal(want->has_reads, got->has_reads);
    assert_int_equal(want->n_reads, got->n_reads);
    roast_chunk_reads(log, got, &cursor);
    for (uint32_t i = 0; i < want->n_reads; i++) {
        assert_true(roast_chunk_next_read(&cursor, &read));
        assert_same_str(want->reads[i].branch, read.branch);
        assert_true(want->reads[i].time_ns == read.time_ns);
        assert_true(want->reads[i].bytes == read.bytes);
        assert_true(want->reads[i].uncompressed_bytes == read.uncompressed_bytes);
        assert_true(want->reads[i].count == read.count);
    }
    assert_false(roast_chunk_next_read(&cursor, &read));
}

static inline void assert_same_customs(const roast_chunklog *log, const roast_chunk *want,
                                       const roast_chunk *got) {
    roast_tail_cursor cursor;
    roast_custom custom;
    roast_chunk_customs(log, got, &cursor);
    for (uint32_t i = 0; i < want->n_customs; i++) {
        const roast_custom *w = &want->customs[i];
        assert_true(roast_chunk_next_custom(&cursor, &custom));
        assert_same_str(w->key, custom.key);
        assert_int_equal(w->scope, custom.scope);
        assert_int_equal(w->kind, custom.kind);
        assert_true(w->integer == custom.integer);
        assert_memory_equal(&w->real, &custom.real, sizeof custom.real);
        assert_same_str(w->text, custom.text);
    }
    assert_false(roast_chunk_next_custom(&cursor, &custom));
    assert_int_equal(want->n_customs, got->n_customs);
}

/* `want` went in, `got` came out of `log`. */
static inline void assert_same_chunk(const roast_chunklog *log, const roast_chunk *want,
                                     const roast_chunk *got) {
    assert_true(want->have == got->have);
    for (unsigned i = 0; i < ROAST_CHUNK_FIELD_COUNT; i++)
        if (get_field(got, i) != (want->have >> i & 1 ? get_field(want, i) : 0))
            fail_msg("field %u is %lld, not %lld", i, (long long)get_field(got, i),
                     (long long)get_field(want, i));
    assert_true(want->token == got->token);
    assert_true(want->run == got->run);
    assert_true(want->seq == got->seq);
    assert_true(want->pid == got->pid);
    assert_same_str(want->host, got->host);
    assert_same_str(want->worker, got->worker);
    assert_same_str(want->batch_job, got->batch_job);
    assert_same_str(want->dataset, got->dataset);
    assert_same_str(want->file, got->file);
    assert_same_str(want->uuid, got->uuid);
    assert_same_str(want->treename, got->treename);
    assert_same_str(want->error_type, got->error_type);
    assert_same_str(want->error_message, got->error_message);
    assert_same_key(want, got);
    assert_same_sections(log, want, got);
    assert_same_names(log, want, got);
    assert_same_customs(log, want, got);
}

/* ---- logs ---- */

typedef struct packed {
    uint8_t *data;
    size_t len;
} packed;

static inline packed pack(const roast_chunklog *log) {
    roast_error err;
    roast_sink *sink;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    assert_ok(roast_chunklog_encode(log, sink, &err), err);
    roast_str bytes = roast_sink_memory(sink);
    packed result = {malloc(bytes.len), bytes.len};
    assert_non_null(result.data);
    memcpy(result.data, bytes.data, bytes.len);
    roast_sink_free(sink);
    return result;
}

static inline roast_chunklog *unpack(packed bytes) {
    roast_error err;
    roast_chunklog *log = NULL;
    assert_ok(roast_chunklog_decode(bytes.data, bytes.len, &log, &err), err);
    return log;
}

static inline roast_chunklog *new_log(void) {
    roast_error err;
    roast_chunklog *log = NULL;
    assert_ok(roast_chunklog_new(&log, &err), err);
    return log;
}

static inline void append(roast_chunklog *log, const sample *s) {
    roast_error err;
    assert_ok(roast_chunklog_append(log, &s->chunk, &err), err);
}

/* `count` plain chunks of one process. */
static inline roast_chunklog *plain_log(uint64_t token, uint64_t first_seq, uint64_t count) {
    roast_chunklog *log = new_log();
    sample s;
    for (uint64_t i = 0; i < count; i++) {
        sample_plain(&s, token, first_seq + i);
        append(log, &s);
    }
    return log;
}

static inline void add_sample_file(roast_chunklog *log, const char *name) {
    const roast_branch_size branches[] = {
        {{"Jet_pt", 6}, 1000, 3000}, {{"Jet_eta", 7}, -1, -1}, {{"new", 3}, INT64_MAX, 0}};
    roast_file file = {.name = str(name),
                       .uuid = str("u"),
                       .total_branches = 1500,
                       .tree_bytes = -1,
                       .tree_uncompressed_bytes = INT64_MAX,
                       .n_branches = COUNT_OF(branches),
                       .branches = branches};
    roast_error err;
    assert_ok(roast_chunklog_add_file(log, &file, &err), err);
}

/* One full chunk, one empty, some plain ones, and a file. */
static inline roast_chunklog *rich_log(void) {
    roast_chunklog *log = plain_log(7, 1, 2);
    sample s;
    sample_full(&s);
    append(log, &s);
    memset(&s, 0, sizeof s);
    append(log, &s);
    add_sample_file(log, "odd.root");
    return log;
}

#endif
