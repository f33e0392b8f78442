#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "roast/chunklog.h"

static uint64_t walk_names(const roast_chunklog *log, const roast_chunk *chunk) {
    roast_tail_cursor tail;
    roast_str name;
    roast_read read;
    uint64_t sum = 0;
    roast_chunk_branches(log, chunk, &tail);
    while (roast_chunk_next_branch(&tail, &name))
        sum = fuzz_add_text(sum, name);
    fuzz_require(tail.index == chunk->n_branches, "all branches come out");
    roast_chunk_reads(log, chunk, &tail);
    while (roast_chunk_next_read(&tail, &read))
        sum = fuzz_add_text(sum, read.branch) + (uint64_t)read.time_ns + (uint64_t)read.bytes * 3 +
              (uint64_t)read.uncompressed_bytes * 5 + (uint64_t)read.count * 7;
    fuzz_require(tail.index == chunk->n_reads, "all reads come out");
    return sum;
}

static uint64_t walk_tails(const roast_chunklog *log, const roast_chunk *chunk) {
    roast_tail_cursor tail;
    roast_section section;
    roast_custom custom;
    uint64_t sum = 0, bits;
    roast_chunk_sections(log, chunk, &tail);
    while (roast_chunk_next_section(&tail, &section)) {
        fuzz_require(section.parent < (int32_t)tail.index - 1, "a parent comes before");
        sum = fuzz_add_text(sum, section.name) + (uint64_t)section.kind +
              (uint64_t)section.parent * 3 + section.count * 5 + (uint64_t)section.start_ns * 7 +
              (uint64_t)section.value * 11 + (uint64_t)section.before * 13;
    }
    fuzz_require(tail.index == chunk->n_sections, "all sections come out");
    roast_chunk_customs(log, chunk, &tail);
    while (roast_chunk_next_custom(&tail, &custom)) {
        memcpy(&bits, &custom.real, sizeof bits);
        sum = fuzz_add_text(fuzz_add_text(sum, custom.key), custom.text) +
              (uint64_t)custom.integer * 3 + bits * 5 + (uint64_t)custom.kind * 7 +
              (uint64_t)custom.scope * 11;
    }
    fuzz_require(tail.index == chunk->n_customs, "all custom values come out");
    return sum;
}

static uint64_t walk_files(const roast_chunklog *log) {
    roast_file_cursor cursor;
    roast_file file, named;
    roast_tail_cursor tail;
    roast_branch_size size;
    uint64_t sum = 0;
    roast_file_cursor_init(&cursor, log);
    while (roast_file_cursor_next(&cursor, &file)) {
        sum = fuzz_add_text(fuzz_add_text(sum, file.name), file.uuid) + (uint64_t)file.tree_bytes;
        roast_file_branches(log, &file, &tail);
        while (roast_file_next_branch(&tail, &size))
            sum = fuzz_add_text(sum, size.name) + (uint64_t)size.bytes * 3;
        fuzz_require(tail.index == file.n_branches, "all branches of a file come out");
        fuzz_require(file.name.data == NULL ||
                         roast_chunklog_find_file(log, file.name, &named) == ROAST_OK,
                     "every file is found by its name");
    }
    return sum;
}

/* A number that depends on all that can be read of the rows from `first` on. */
static uint64_t walk(const roast_chunklog *log, uint64_t first) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    char key[64];
    uint64_t sum = 0;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        if (cursor.index <= first)
            continue;
        sum = sum * 31 + chunk.have + chunk.token * 3 + chunk.run * 7 + chunk.seq * 5 +
              (uint64_t)chunk.pid;
#define X(name) sum = sum * 31 + (uint64_t)chunk.name;
        ROAST_CHUNK_FIELDS(X)
#undef X
        const roast_str texts[] = {chunk.host,          chunk.worker,   chunk.dataset,
                                   chunk.file,          chunk.uuid,     chunk.error_type,
                                   chunk.error_message, chunk.batch_job};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            sum = fuzz_add_text(sum, texts[i]);
        roast_chunk_task_key(&chunk, key, sizeof key);
        sum = fuzz_add_text(sum, roast_str_of(key));
        sum = sum * 31 + walk_names(log, &chunk) + walk_tails(log, &chunk) * 3;
    }
    fuzz_require(cursor.index == roast_chunklog_count(log), "all rows come out");
    return sum;
}

/* Behind rows of another log the rows are the same. */
static void merge_behind_others(const roast_chunklog *log) {
    roast_chunklog *into;
    const roast_chunk other = {.token = 1, .seq = 1, .dataset = {"x", 1}, .worker = {"y", 1}};
    if (roast_chunklog_new(&into, NULL) != ROAST_OK)
        return;
    fuzz_require(roast_chunklog_append(into, &other, NULL) == ROAST_OK, "a chunk goes in");
    fuzz_require(roast_chunklog_merge(into, log, false, NULL, NULL) == ROAST_OK, "it merges");
    fuzz_require(walk(into, 1) == walk(log, 0), "merged rows are the same");
    roast_merge_result result;
    fuzz_require(roast_chunklog_merge(into, log, true, &result, NULL) == ROAST_OK, "and again");
    fuzz_require(result.added + result.duplicates == roast_chunklog_count(log), "each counts");
    roast_chunklog_free(into);
}

/* One by one, too. */
static void merge_row_by_row(const roast_chunklog *log) {
    enum { MOST = 64 };
    roast_chunklog *into;
    uint64_t count = roast_chunklog_count(log);
    if (count > MOST || roast_chunklog_new(&into, NULL) != ROAST_OK)
        return;
    for (uint64_t i = 0; i < count; i++)
        fuzz_require(roast_chunklog_merge_rows(into, log, i, 1, NULL) == ROAST_OK, "a row goes in");
    fuzz_require(walk(into, 0) == walk(log, 0), "rows that came one by one are the same");
    roast_chunklog_free(into);
}

/* Of a worker whose clock is behind, and of one that is not there: forth and back it is the same. */
static void shift_forth_and_back(const roast_chunklog *log) {
    roast_chunk chunk;
    roast_chunklog *forth, *back;
    roast_clock_shift shift = {{"w", 1}, INT64_MAX};
    if (roast_chunklog_get(log, 0, &chunk, NULL) == ROAST_OK && chunk.worker.data != NULL)
        shift.worker = chunk.worker;
    fuzz_require(roast_chunklog_shift(log, &shift, 1, &forth, NULL) == ROAST_OK, "it shifts");
    shift.behind_us = -INT64_MAX;
    fuzz_require(roast_chunklog_shift(forth, &shift, 1, &back, NULL) == ROAST_OK, "and back");
    fuzz_require(walk(back, 0) == walk(log, 0), "rows that were shifted back are the same");
    roast_chunklog_free(forth);
    roast_chunklog_free(back);
}

static uint64_t walk_all(const roast_chunklog *log) {
    return walk(log, 0) + walk_files(log) * 3;
}

static void go_on(const roast_chunklog *log) {
    merge_behind_others(log);
    merge_row_by_row(log);
    shift_forth_and_back(log);
}

FUZZ_PACKED(roast_chunklog, walk_all, go_on)

/* ---- seeds ---- */

static roast_status append_full(roast_chunklog *log, uint64_t seq) {
    const roast_section sections[] = {
        {{"select", 6}, ROAST_SECTION_TIME, -1, 1, 100, 5000, 0},
        {{"jets", 4}, ROAST_SECTION_MEMORY, 0, 3, 150, -4096, 1 << 28},
        {{"read", 4}, ROAST_SECTION_BYTES, 1, 1, 160, 70000, 0},
    };
    const roast_read reads[] = {{{"Jet_pt", 6}, 1000, 2000, 6000, 1},
                                {{"Jet_eta", 7}, -1, -1, -1, 2}};
    const roast_str branches[] = {{"Jet_pt", 6}, {"Jet_eta", 7}};
    const roast_custom customs[] = {
        {{"n", 1}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_INT, -5, 0, {NULL, 0}},
        {{"x", 1}, ROAST_SCOPE_TIMING, ROAST_CUSTOM_REAL, 0, 0.5, {NULL, 0}},
        {{"l", 1}, ROAST_SCOPE_BYTES, ROAST_CUSTOM_JSON, 0, 0, {"[1]", 3}},
    };
    roast_chunk chunk = {.token = 77,
                         .seq = seq,
                         .run = 78,
                         .pid = 4242,
                         .host = {"node1", 5},
                         .worker = {"tcp://10.0.0.1:40000", 20},
                         .batch_job = {"Slurm 17_3", 10},
                         .dataset = {"ttbar", 5},
                         .file = {"a.root", 6},
                         .uuid = {"u", 1},
                         .task_key = {"process-0123456789abcdef0123456789abcdef", 40},
                         .has_branches = true,
                         .has_reads = true,
                         .n_branches = 2,
                         .n_sections = 3,
                         .n_reads = 2,
                         .n_customs = 3,
                         .branches = branches,
                         .sections = sections,
                         .reads = reads,
                         .customs = customs};
#define X(name)                                                                                    \
    chunk.have |= ROAST_CHUNK_HAS(name);                                                           \
    chunk.name = (int64_t)(seq * 12345 + ROAST_CHUNK_HAS(name) % 100003);
    ROAST_CHUNK_FIELDS(X)
#undef X
    if (seq % 3 == 0) {
        chunk.error_type = roast_str_of("ValueError");
        chunk.error_message = roast_str_of("no jets");
    }
    return roast_chunklog_append(log, &chunk, NULL);
}

static roast_status fill(roast_chunklog *log, int full, int plain, bool file) {
    for (int i = 0; i < full; i++)
        ROAST_TRY(append_full(log, (uint64_t)i));
    for (int i = 0; i < plain; i++) {
        const roast_chunk chunk = {.token = 5,
                                   .seq = (uint64_t)i,
                                   .have = ROAST_CHUNK_HAS(duration_ns),
                                   .duration_ns = 1000 * i};
        ROAST_TRY(roast_chunklog_append(log, &chunk, NULL));
    }
    if (!file)
        return ROAST_OK;
    const roast_branch_size sizes[] = {{{"Jet_pt", 6}, 1000, 3000}, {{"Jet_eta", 7}, -1, -1}};
    const roast_file known = {.name = {"a.root", 6},
                              .total_branches = 1500,
                              .tree_bytes = 123456789,
                              .tree_uncompressed_bytes = -1,
                              .n_branches = 2,
                              .branches = sizes};
    return roast_chunklog_add_file(log, &known, NULL);
}

static bool make_seed(const char *folder, const char *name, int full, int plain, bool file) {
    roast_chunklog *log = NULL;
    roast_sink *sink = NULL;
    bool made = roast_chunklog_new(&log, NULL) == ROAST_OK &&
                roast_sink_new_memory(&sink, NULL) == ROAST_OK &&
                fill(log, full, plain, file) == ROAST_OK &&
                roast_chunklog_encode(log, sink, NULL) == ROAST_OK;
    if (made) {
        roast_str bytes = roast_sink_memory(sink);
        made = fuzz_save(folder, name, bytes.data, bytes.len);
    }
    roast_sink_free(sink);
    roast_chunklog_free(log);
    return made;
}

bool fuzz_make_corpus(const char *folder) {
    static const char future[] = "RCLG\x04 of another time";
    return make_seed(folder, "empty", 0, 0, false) && make_seed(folder, "file-only", 0, 0, true) &&
           make_seed(folder, "one-chunk", 1, 0, false) &&
           make_seed(folder, "plain-chunks", 0, 70, false) &&
           make_seed(folder, "full-chunks", 4, 2, true) &&
           fuzz_save(folder, "bad-newer-version", future, sizeof future - 1);
}
