/* Folders to write to, runs with everything in them, and their comparison; for the tests of the
 * store. */
#ifndef ROAST_TESTS_STORE_SAMPLE_H
#define ROAST_TESTS_STORE_SAMPLE_H

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunk_sample.h"

#include "roast/store.h"

/* ---- folders ---- */

static char folder[64]; /* of the test that runs */
static char place[128]; /* a measurement in it */

static inline int make_folder(void **state) {
    (void)state;
    /* In memory, where that can be had: a save waits for the disk, and here are thousands. */
    snprintf(folder, sizeof folder, "%s/roast-test-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(place, sizeof place, "%s/run", folder);
    return 0;
}

static inline int remove_one(const char *path, const struct stat *info, int type,
                             struct FTW *walk) {
    (void)info, (void)type, (void)walk;
    return remove(path);
}

static inline int remove_folder(void **state) {
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A path below `place`; good until the next call but one. */
static inline const char *inside(const char *name) {
    static char paths[2][256];
    static int next;
    next = !next;
    snprintf(paths[next], sizeof paths[next], "%s/%s", place, name);
    return paths[next];
}

static inline bool exists(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0;
}

/* How many names there are in a folder. */
static inline int count_names(const char *path) {
    int count = 0;
    DIR *directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    return count;
}

static inline void write_bytes(const char *path, const void *bytes, size_t len) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(len, fwrite(bytes, 1, len, file));
    assert_int_equal(0, fclose(file));
}

static inline packed read_bytes(const char *path) {
    struct stat info;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(0, fstat(fileno(file), &info));
    packed result = {malloc((size_t)info.st_size + 1), (size_t)info.st_size};
    assert_non_null(result.data);
    assert_int_equal(result.len, fread(result.data, 1, result.len, file));
    fclose(file);
    return result;
}

/* ---- a run with everything ---- */

static inline void add_rich_series(roast_series *series, int64_t start, int ticks) {
    roast_error err;
    uint32_t numbers[5];
    for (uint32_t w = 0; w < 5; w++) {
        char name[32];
        snprintf(name, sizeof name, w == 3 ? "wörker" : "tcp://10.0.0.%u:40000", w);
        assert_ok(roast_series_worker(series, str(name), &numbers[w], &err), err);
        if (w % 2 == 0)
            assert_ok(roast_series_set_host(series, numbers[w], str("node-1"), &err), err);
        assert_ok(roast_series_change(series, numbers[w], ROAST_WORKER_JOINED, (roast_utc){start},
                                      (int32_t)w, &err),
                  err);
    }
    for (int t = 0; t < ticks; t++) {
        roast_utc now = {start + t * INT64_C(1000003000) + t % 3};
        assert_ok(roast_series_tick(series, now, t == 2 ? 0 : 4, &err), err);
        for (uint32_t w = 0; w < 4; w++) { /* the last one has no row */
            if (t == 2 || (w > 0 && (t + (int)w) % 5 == 0))
                continue;
            double value[ROAST_COLUMNS];
            for (int c = 0; c < ROAST_COLUMNS; c++)
                value[c] = (t + c) % 7 == 0 ? NAN : (w + 1) * 1000.25 * (t / 3) - 300 * c;
            value[ROAST_COLUMN_memory] = 4096.0 * t * (w + 1) + (t % 4 == 3);
            value[ROAST_COLUMN_nbytes] = t % 2 == 0 ? 9e18 : -9e18;
            value[ROAST_COLUMN_occupancy] = t == 5 ? 9.1e15 : 0.001 * t;
            value[ROAST_COLUMN_last_seen] = 1790000000.125 + t;
            assert_ok(roast_series_append(series, numbers[w], value, &err), err);
        }
    }
    assert_ok(roast_series_change(series, numbers[1], ROAST_WORKER_LEFT,
                                  (roast_utc){start + INT64_C(99000000001)}, 0, &err),
              err);
}

static inline roast_series *rich_series(int ticks) {
    roast_error err;
    roast_series *series;
    assert_ok(roast_series_new(&series, &err), err);
    add_rich_series(series, INT64_C(1790000000123456789), ticks);
    return series;
}

static inline roast_attempt plain_attempt(const char *prefix, const char *key, uint32_t worker,
                                          int64_t ended_us) {
    return (roast_attempt){.prefix = str(prefix),
                           .key = str(key),
                           .worker = worker,
                           .ready_us = ROAST_NO_TIME,
                           .sent_us = ended_us - 500,
                           .start_us = ended_us - 400,
                           .stop_us = ended_us - 10,
                           .ended_us = ended_us,
                           .transfer_us = -1,
                           .deserialize_us = 0,
                           .disk_us = -1,
                           .nbytes = 1000,
                           .departure = ROAST_NO_DEPARTURE};
}

static inline roast_attempts *rich_attempts(void) {
    roast_error err;
    roast_attempts *attempts;
    uint32_t first, second;
    const int64_t when = INT64_C(1790000000000000);
    assert_ok(roast_attempts_new(&attempts, &err), err);
    assert_ok(roast_attempts_add_worker(attempts, str("tcp://10.0.0.1:1"), &first, &err), err);
    assert_ok(roast_attempts_add_worker(attempts, str("tcp://10.0.0.2:1"), &second, &err), err);
    const roast_departure gone = {second, {when * 1000}, false, 3, 1};
    assert_ok(roast_attempts_add_departure(attempts, &gone, &err), err);
    roast_attempt some[] = {
        plain_attempt("Proc", "Proc-0123456789abcdef0123456789abcdef", first, when),
        plain_attempt("Proc", "Proc-0123456789abcdef0123456789abcdee", second, when + 700),
        plain_attempt("merge", "merge-7", first, when + 800),
        plain_attempt("odd", "('odd', 0)", ROAST_NO_WORKER, when + 650),
        {.kind = ROAST_KIND_foreign,
         .worker = first,
         .ready_us = ROAST_NO_TIME,
         .sent_us = ROAST_NO_TIME,
         .start_us = ROAST_NO_TIME,
         .stop_us = ROAST_NO_TIME,
         .ended_us = when + 900,
         .transfer_us = -1,
         .deserialize_us = -1,
         .disk_us = -1,
         .nbytes = -1,
         .departure = ROAST_NO_DEPARTURE},
    };
    some[0].thread = UINT64_MAX;
    some[1].outcome = ROAST_OUTCOME_lost;
    some[1].departure = 0;
    some[2].outcome = ROAST_OUTCOME_raised;
    some[2].error_type = str("ValueError");
    some[2].error_message = str("größer");
    some[3].outcome = ROAST_OUTCOME_recomputed;
    for (size_t i = 0; i < COUNT_OF(some); i++)
        assert_ok(roast_attempts_append(attempts, &some[i], &err), err);
    assert_ok(roast_attempts_set_kind(attempts, str("Proc"), ROAST_KIND_processing, &err), err);
    assert_ok(roast_attempts_set_kind(attempts, str("merge"), ROAST_KIND_reduction, &err), err);
    return attempts;
}

static inline void add_rich_head(roast_run *run) {
    const roast_report report = {true, true, true, true, INT64_MAX, INT64_MIN, 0.1, 7};
    const roast_span_value spans[] = {
        {str("execute"), str("Proc"), str("thread-cpu"), str("seconds"), 0.1},
        {str("get-data"), {NULL, 0}, str("compress"), str("seconds"), -0.0},
        {str("execute"), {"", 0}, str("disk-read"), str("bytes"), 1e300},
    };
    roast_error err;
    roast_run_set_clock(run, 1790000000.1, 1790000600.0625);
    roast_run_set_report(run, &report);
    assert_ok(roast_run_add_column(run, str("Jet_pt-data"), &err), err);
    assert_ok(roast_run_add_column(run, str("Jet_pt-data"), &err), err);
    assert_ok(roast_run_set_meta(run, str("host"), str("knöten"), &err), err);
    assert_ok(roast_run_set_meta(run, str("empty"), str(""), &err), err);
    assert_ok(roast_run_add_note(run, str("the scheduler lacks this package"), &err), err);
    assert_ok(roast_run_add_note(run, str("two\nlines"), &err), err);
    assert_ok(roast_run_set_processor(run, str("Proc"), &err), err);
    roast_run_set_replayed(run, UINT64_MAX);
    roast_ending *ending = NULL;
    const roast_run_error error = {.type = str("OSError"),
                                   .message = str("größer\nthan"),
                                   .file = str("/data/a b.root"),
                                   .entry_start = 0,
                                   .entry_stop = INT64_MAX};
    const roast_skipped_file skipped = {str("ttbar"), str("bad.root"), {NULL, 0}};
    assert_ok(roast_ending_new(ROAST_END_failed, &ending, &err), err);
    assert_ok(roast_ending_set_error(ending, &error, &err), err);
    assert_ok(roast_ending_add_skipped(ending, &skipped, &err), err);
    roast_ending_set_pieces(ending, (roast_ending_pieces){40, 19, -1});
    roast_run_take_ending(run, ending);
    for (int kind = 0; kind < ROAST_PHASE_COUNT; kind++) {
        roast_phase phase = {(roast_phase_kind)kind, -1.5 + kind, 1e300};
        assert_ok(roast_run_add_phase(run, &phase, &err), err);
    }
    for (size_t i = 0; i < COUNT_OF(spans); i++)
        assert_ok(roast_run_add_span(run, &spans[i], &err), err);
}

/* A name of 4 kB, and a file that is told of twice. */
static inline roast_chunklog *odd_log(void) {
    static char name[4096];
    static roast_custom nan = {.key = {"nan", 3}, .kind = ROAST_CUSTOM_REAL};
    roast_chunklog *log = rich_log();
    sample s;
    memset(name, 'n', sizeof name);
    nan.real = -NAN;
    sample_plain(&s, 0, UINT64_MAX);
    for (unsigned i = 0; i < ROAST_CHUNK_FIELD_COUNT; i += 2)
        set_field(&s.chunk, i, i % 4 == 0 ? INT64_MIN : INT64_MAX);
    s.chunk.file = (roast_str){name, sizeof name};
    s.chunk.dataset = str("");
    s.chunk.worker = str("bad \xff\xfe utf-8");
    s.chunk.has_branches = true; /* none */
    s.chunk.customs = &nan;
    s.chunk.n_customs = 1;
    append(log, &s);
    const roast_file again = {
        .name = str("odd.root"), .total_branches = 10, .tree_bytes = 500000000};
    roast_error err;
    assert_ok(roast_chunklog_add_file(log, &again, &err), err);
    add_sample_file(log, "other.root");
    return log;
}

static inline roast_run *empty_run(void) {
    roast_error err;
    roast_run *run;
    assert_ok(roast_run_new(&run, &err), err);
    return run;
}

static inline roast_run *rich_run(void) {
    roast_run *run = empty_run();
    add_rich_head(run);
    roast_run_take_chunks(run, odd_log());
    roast_run_take_series(run, rich_series(40));
    roast_run_take_attempts(run, rich_attempts());
    roast_run_take_sections(run, rich_log());
    roast_run_take_counts(run, rich_series(3));
    return run;
}

/* ---- saving and loading ---- */

static inline void save(const roast_run *run) {
    const roast_store_options options = {.path = place, .overwrite = true};
    roast_error err;
    assert_ok(roast_store_save(run, &options, &err), err);
}

static inline roast_run *load(void) {
    roast_error err;
    roast_run *run = NULL;
    assert_ok(roast_store_load(place, &run, &err), err);
    return run;
}

/* The error of a load that must fail. */
static inline roast_error load_failure(void) {
    roast_error err;
    roast_run *run = NULL;
    roast_error_reset(&err);
    roast_status status = roast_store_load(place, &run, &err);
    if (status == ROAST_OK)
        fail_msg("it loads");
    assert_int_equal(status, err.status);
    assert_true(err.message[0] != '\0');
    return err;
}

static inline roast_store *open_store(void) {
    roast_error err;
    roast_store *store = NULL;
    assert_ok(roast_store_open(place, &store, &err), err);
    return store;
}

/* ---- comparison ---- */

static inline void assert_same_series(const roast_series *want, const roast_series *got) {
    roast_error err;
    roast_sink *a, *b;
    assert_ok(roast_sink_new_memory(&a, &err), err);
    assert_ok(roast_sink_new_memory(&b, &err), err);
    assert_ok(roast_series_encode(want, a, &err), err);
    assert_ok(roast_series_encode(got, b, &err), err);
    assert_true(roast_str_equal(roast_sink_memory(a), roast_sink_memory(b)));
    roast_sink_free(a);
    roast_sink_free(b);
}

/* A chunk of a log, with its tails as arrays. */
static inline void take_apart(const roast_chunklog *log, const roast_chunk *chunk, sample *out) {
    roast_tail_cursor cursor;
    out->chunk = *chunk;
    roast_chunk_branches(log, chunk, &cursor);
    for (int i = 0; roast_chunk_next_branch(&cursor, &out->branches[i]);)
        i++;
    roast_chunk_sections(log, chunk, &cursor);
    for (int i = 0; roast_chunk_next_section(&cursor, &out->sections[i]);)
        i++;
    roast_chunk_reads(log, chunk, &cursor);
    for (int i = 0; roast_chunk_next_read(&cursor, &out->reads[i]);)
        i++;
    roast_chunk_customs(log, chunk, &cursor);
    for (int i = 0; roast_chunk_next_custom(&cursor, &out->customs[i]);)
        i++;
    out->chunk.branches = out->branches;
    out->chunk.sections = out->sections;
    out->chunk.reads = out->reads;
    out->chunk.customs = out->customs;
}

/* The two logs hold the same chunks, in the same order. */
static inline void assert_same_log(const roast_chunklog *want, const roast_chunklog *got) {
    roast_chunk_cursor a, b;
    roast_chunk x, y;
    assert_int_equal(roast_chunklog_count(want), roast_chunklog_count(got));
    roast_chunk_cursor_init(&a, want);
    roast_chunk_cursor_init(&b, got);
    while (roast_chunk_cursor_next(&a, &x)) {
        sample parts;
        assert_true(roast_chunk_cursor_next(&b, &y));
        take_apart(want, &x, &parts);
        assert_same_chunk(got, &parts.chunk, &y);
    }
}

static inline void assert_same_files(const roast_chunklog *want, const roast_chunklog *got) {
    roast_file_cursor a, b;
    roast_file x, y;
    roast_file_cursor_init(&a, want);
    roast_file_cursor_init(&b, got);
    while (roast_file_cursor_next(&a, &x)) {
        roast_tail_cursor p, q;
        roast_branch_size u, v;
        assert_true(roast_file_cursor_next(&b, &y));
        assert_same_str(x.name, y.name);
        assert_same_str(x.uuid, y.uuid);
        assert_same_str(x.treename, y.treename);
        assert_true(x.total_branches == y.total_branches && x.tree_bytes == y.tree_bytes &&
                    x.tree_uncompressed_bytes == y.tree_uncompressed_bytes);
        assert_int_equal(x.n_branches, y.n_branches);
        roast_file_branches(want, &x, &p);
        roast_file_branches(got, &y, &q);
        while (roast_file_next_branch(&p, &u)) {
            assert_true(roast_file_next_branch(&q, &v));
            assert_same_str(u.name, v.name);
            assert_true(u.bytes == v.bytes && u.uncompressed_bytes == v.uncompressed_bytes);
        }
    }
    assert_false(roast_file_cursor_next(&b, &y));
}

static inline void assert_same_attempt(const roast_attempt *x, const roast_attempt *y) {
    assert_int_equal(x->kind, y->kind);
    assert_int_equal(x->outcome, y->outcome);
    assert_same_str(x->prefix, y->prefix);
    assert_same_str(x->key, y->key);
    assert_int_equal(x->worker, y->worker);
    assert_true(x->thread == y->thread && x->ready_us == y->ready_us && x->sent_us == y->sent_us);
    assert_true(x->start_us == y->start_us && x->stop_us == y->stop_us);
    assert_true(x->ended_us == y->ended_us && x->transfer_us == y->transfer_us);
    assert_true(x->deserialize_us == y->deserialize_us && x->disk_us == y->disk_us);
    assert_true(x->nbytes == y->nbytes && x->departure == y->departure);
    assert_same_str(x->error_type, y->error_type);
    assert_same_str(x->error_message, y->error_message);
}

static inline void assert_same_attempts(const roast_attempts *want, const roast_attempts *got) {
    roast_attempt_cursor a, b;
    roast_attempt x, y;
    assert_int_equal(want == NULL, got == NULL);
    if (want == NULL)
        return;
    assert_int_equal(roast_attempts_worker_count(want), roast_attempts_worker_count(got));
    for (uint32_t i = 0; i < roast_attempts_worker_count(want); i++)
        assert_same_str(roast_attempts_worker(want, i), roast_attempts_worker(got, i));
    assert_int_equal(roast_attempts_departure_count(want), roast_attempts_departure_count(got));
    for (uint32_t i = 0; i < roast_attempts_departure_count(want); i++) {
        roast_departure u = roast_attempts_departure(want, i), v = roast_attempts_departure(got, i);
        assert_true(u.worker == v.worker && u.when.ns == v.when.ns && u.expected == v.expected &&
                    u.running == v.running && u.lost_results == v.lost_results);
    }
    roast_attempt_cursor_init(&a, want);
    roast_attempt_cursor_init(&b, got);
    while (roast_attempt_cursor_next(&a, &x)) {
        assert_true(roast_attempt_cursor_next(&b, &y));
        assert_same_attempt(&x, &y);
    }
    assert_false(roast_attempt_cursor_next(&b, &y));
}

static inline void assert_same_spans(const roast_run *want, const roast_run *got) {
    assert_int_equal(roast_run_span_count(want), roast_run_span_count(got));
    for (uint32_t i = 0; i < roast_run_span_count(want); i++) {
        roast_span_value x = roast_run_span(want, i), y = roast_run_span(got, i);
        assert_same_str(x.context, y.context);
        assert_same_str(x.prefix, y.prefix);
        assert_same_str(x.activity, y.activity);
        assert_same_str(x.unit, y.unit);
        assert_true(x.value == y.value);
    }
}

static inline void assert_same_ending(const roast_ending *want, const roast_ending *got) {
    const roast_run_error *error = roast_ending_error(want), *same = roast_ending_error(got);
    roast_ending_pieces pieces = roast_ending_get_pieces(want), kept = roast_ending_get_pieces(got);
    assert_int_equal(want == NULL, got == NULL);
    assert_int_equal(roast_ending_outcome(want), roast_ending_outcome(got));
    assert_memory_equal(&pieces, &kept, sizeof pieces);
    assert_int_equal(error == NULL, same == NULL);
    if (error != NULL) {
#define X(name) assert_same_str(error->name, same->name);
        ROAST_RUN_ERROR_TEXTS(X)
#undef X
        assert_int_equal(error->entry_start, same->entry_start);
        assert_int_equal(error->entry_stop, same->entry_stop);
    }
    assert_int_equal(roast_ending_skipped_count(want), roast_ending_skipped_count(got));
    for (uint32_t i = 0; i < roast_ending_skipped_count(want); i++) {
        roast_skipped_file one = roast_ending_skipped(want, i),
                           other = roast_ending_skipped(got, i);
        assert_same_str(one.dataset, other.dataset);
        assert_same_str(one.file, other.file);
        assert_same_str(one.reason, other.reason);
    }
}

static inline void assert_same_head(const roast_run *want, const roast_run *got) {
    roast_run_clock c = roast_run_get_clock(want), d = roast_run_get_clock(got);
    roast_report r = roast_run_get_report(want), s = roast_run_get_report(got);
    assert_true(c.have == d.have && c.start == d.start && c.end == d.end);
    assert_true(r.have_entries == s.have_entries && r.have_bytesread == s.have_bytesread &&
                r.have_processtime == s.have_processtime && r.have_chunks == s.have_chunks);
    assert_true(r.entries == s.entries && r.bytesread == s.bytesread &&
                r.processtime == s.processtime && r.chunks == s.chunks);
    assert_int_equal(roast_run_column_count(want), roast_run_column_count(got));
    for (uint32_t i = 0; i < roast_run_column_count(want); i++)
        assert_same_str(roast_run_column(want, i), roast_run_column(got, i));
    assert_int_equal(roast_run_meta_count(want), roast_run_meta_count(got));
    for (uint32_t i = 0; i < roast_run_meta_count(want); i++) {
        roast_str key[2], value[2];
        roast_run_meta_at(want, i, &key[0], &value[0]);
        roast_run_meta_at(got, i, &key[1], &value[1]);
        assert_same_str(key[0], key[1]);
        assert_same_str(value[0], value[1]);
    }
    assert_same_ending(roast_run_ending_view(want), roast_run_ending_view(got));
    assert_int_equal(roast_run_note_count(want), roast_run_note_count(got));
    for (uint32_t i = 0; i < roast_run_note_count(want); i++)
        assert_same_str(roast_run_note(want, i), roast_run_note(got, i));
    assert_true(roast_run_replayed(want) == roast_run_replayed(got));
    assert_int_equal(roast_run_phase_count(want), roast_run_phase_count(got));
    for (uint32_t i = 0; i < roast_run_phase_count(want); i++) {
        roast_phase one = roast_run_phase(want, i), other = roast_run_phase(got, i);
        assert_int_equal(one.kind, other.kind);
        assert_true(one.start == other.start && one.end == other.end);
    }
    assert_same_str(roast_run_processor(want), roast_run_processor(got));
    assert_same_spans(want, got);
}

static inline void assert_same_run(const roast_run *want, const roast_run *got) {
    assert_same_head(want, got);
    assert_same_log(roast_run_chunks_view(want), roast_run_chunks_view(got));
    assert_same_files(roast_run_chunks_view(want), roast_run_chunks_view(got));
    assert_same_series(roast_run_series_view(want), roast_run_series_view(got));
    assert_same_attempts(roast_run_attempts_view(want), roast_run_attempts_view(got));
    const roast_chunklog *beside = roast_run_sections_view(want);
    assert_int_equal(beside == NULL, roast_run_sections_view(got) == NULL);
    if (beside != NULL)
        assert_same_log(beside, roast_run_sections_view(got));
    const roast_series *counts = roast_run_counts_view(want);
    assert_int_equal(counts == NULL, roast_run_counts_view(got) == NULL);
    if (counts != NULL)
        assert_same_series(counts, roast_run_counts_view(got));
}

#endif
