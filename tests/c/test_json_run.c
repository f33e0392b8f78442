#include <stdlib.h>

#include <jansson.h>

#include "run_sample.h"

#include "render/json_run.h"

static roast_sink *new_sink(void) {
    roast_error err;
    roast_sink *sink = NULL;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    return sink;
}

/* What was written, read by somebody else; frees the sink. */
static json_t *parse(roast_sink *sink) {
    roast_error err;
    json_error_t wrong;
    assert_ok(roast_sink_finish(sink, &err), err);
    roast_str text = roast_sink_memory(sink);
    assert_true(text.len > 0 && text.data[text.len - 1] == '\n');
    json_t *root = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &wrong);
    if (root == NULL)
        fail_msg("line %d: %s\n%.*s", wrong.line, wrong.text, (int)text.len, text.data);
    roast_sink_free(sink);
    return root;
}

/* The value at "a/b/c"; a number counts in a list. NULL: there is none. */
static json_t *at(json_t *root, const char *path) {
    json_t *value = root;
    char step[200];
    while (value != NULL && *path != '\0') {
        size_t len = strcspn(path, "/");
        snprintf(step, sizeof step, "%.*s", (int)len, path);
        value = json_is_array(value) ? json_array_get(value, (size_t)atoi(step))
                                     : json_object_get(value, step);
        path += len + (path[len] == '/');
    }
    return value;
}

#define assert_number(expected, root, path) assert_number_(expected, at(root, path), path)
static void assert_number_(double expected, json_t *value, const char *path) {
    if (!json_is_number(value))
        fail_msg("%s is no number", path);
    assert_near_(expected, json_number_value(value), path, __FILE__, __LINE__);
}

static void assert_text(const char *expected, json_t *value) {
    assert_true(json_is_string(value));
    assert_string_equal(expected, json_string_value(value));
}

/* ---- metrics ---- */

static json_t *metrics_of(const roast_run *run) {
    roast_error err;
    roast_metrics *metrics = compute(run);
    roast_sink *sink = new_sink();
    assert_ok(roast_json_metrics(&(roast_measured){.run = run, .metrics = metrics}, sink, &err),
              err);
    roast_metrics_free(metrics);
    return parse(sink);
}

/* Every number that was measured, under each of its names, and nothing else. */
static void assert_all_scalars(const roast_run *run, json_t *root) {
    roast_metrics *metrics = compute(run);
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *info = roast_catalogue_at(i);
        roast_value value = roast_metrics_at(metrics, i);
        char names[300];
        if (info->scope != ROAST_IN_METRICS ||
            (info->type != ROAST_TYPE_INT && info->type != ROAST_TYPE_REAL))
            continue;
        snprintf(names, sizeof names, "%s %s", info->key, info->aliases);
        for (char *name = strtok(names, " "); name != NULL; name = strtok(NULL, " ")) {
            json_t *got = json_object_get(root, name);
            if (value.kind == ROAST_VALUE_NONE) {
                assert_null(got);
            } else if (value.kind == ROAST_VALUE_INT) {
                assert_true(json_is_integer(got));
                assert_true(value.integer == json_integer_value(got));
            } else {
                assert_true(json_is_real(got));
                assert_true(value.real == json_real_value(got));
            }
        }
    }
    roast_metrics_free(metrics);
}

static void test_metrics_of_a_full_run(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = full_run();
    assert_ok(roast_run_set_meta(run, roast_str_of("host"), roast_str_of("a \"b\""), &err), err);
    assert_ok(roast_run_add_note(run, roast_str_of("nothing"), &err), err);
    json_t *root = metrics_of(run);
    assert_all_scalars(run, root);
    assert_number(10, root, "wall_time");
    assert_number(10, root, "elapsed_time_seconds");
    assert_number(2, root, "per_dataset/A/num_chunks");
    assert_number(3, root, "per_dataset/A/total_duration");
    assert_number(400, root, "per_dataset/unknown/total_events");
    assert_number(1.9, root, "sections/outer/total_duration");
    assert_text("time", at(root, "sections/outer/type"));
    /* The same name for a section of memory: its values stand in the same entry. */
    assert_number(2, root, "sections/outer/count");
    assert_number(5, root, "sections/outer/max_mem_delta_mb");
    assert_number(1000, root, "sections/io/total_bytes");
    assert_null(at(root, "sections/io/total_duration"));
    assert_null(at(root, "sections/mem/total_bytes"));
    assert_number(2000, root, "file_read_metrics/f1/total_tree_bytes");
    assert_true(json_is_array(at(root, "compression_ratios")));
    assert_number(0.25, root, "compression_ratios/0");
    assert_true(json_is_object(at(root, "branch_read_metrics")));
    assert_number(5, json_object_get(at(root, "worker_health"), "tcp://worker:0"), "samples");
    assert_text("a \"b\"", at(root, "meta/host"));
    assert_text("nothing", at(root, "notes/0"));
    assert_null(at(root, "raw_chunk_metrics"));
    json_decref(root);
    roast_run_free(run);
}

static void test_metrics_of_an_empty_run(void **state) {
    (void)state;
    roast_run *run = new_run();
    json_t *root = metrics_of(run);
    assert_all_scalars(run, root);
    assert_null(at(root, "wall_time"));
    assert_int_equal(0, json_object_size(at(root, "per_dataset")));
    assert_int_equal(0, json_object_size(at(root, "sections")));
    assert_int_equal(0, json_array_size(at(root, "notes")));
    json_decref(root);
    roast_run_free(run);
}

static void test_a_dataset_that_is_called_unknown(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_chunk named = chunk_of("unknown", "f", 1, 1, 0), none = chunk_of(NULL, "f", 2, 1, 0);
    append(run, &named);
    append(run, &none);
    json_t *root = metrics_of(run);
    assert_number(1, root, "per_dataset/unknown/total_events");
    assert_number(2, root, "per_dataset/(unknown)/total_events");
    json_decref(root);
    roast_run_free(run);
}

/* ---- everything ---- */

static json_t *document_of(const roast_run *run) {
    roast_error err;
    roast_metrics *metrics = compute(run);
    roast_sink *sink = new_sink();
    assert_ok(roast_json_run(metrics, run, sink, &err), err);
    roast_metrics_free(metrics);
    return parse(sink);
}

static roast_run *run_with_files(void) {
    const roast_branch_size sizes[] = {{{"a", 1}, 100, 1000}, {{"b", 1}, -1, -1}};
    roast_run *run = new_run();
    add_report(run);
    add_workers(run);
    add_spans(run);
    set_processor(run, "MyProc");
    add_chunks(run, true);
    add_file(run, "f1", "new", 5, 2000, 8000, sizes, 2);
    add_file(run, "f2", "u2", -1, -1, -1, NULL, 0);
    add_file(run, "f1", "another", 5, 2000, 8000, NULL, 0); /* JSON has each name once */
    return run;
}

static void test_all_parts_of_a_run(void **state) {
    (void)state;
    roast_run *run = run_with_files();
    json_t *root = document_of(run);
    assert_number(10, root, "wall_time");
    /* files */
    assert_number(0.25, root, "file_metadata/f1/compression_ratio");
    assert_number(100, root, "file_metadata/f1/branch_bytes/a");
    assert_null(at(root, "file_metadata/f1/branch_bytes/b"));
    assert_null(at(root, "file_metadata/f2/total_branches"));
    /* the series */
    assert_int_equal(5, json_array_size(at(root, "tracking_data/worker_counts")));
    assert_text("2023-11-14T22:13:20.123456789+00:00",
                at(root, "tracking_data/worker_counts/0/timestamp"));
    assert_number(10, root, "tracking_data/worker_counts/1/worker_count");
    json_t *memory = json_object_get(at(root, "tracking_data/worker_memory"), "tcp://worker:0");
    assert_int_equal(5, json_array_size(memory));
    assert_number(2e8, memory, "1/memory_bytes");
    assert_text("2023-11-14T22:13:21.123456789+00:00", at(memory, "1/timestamp"));
    assert_null(json_object_get(at(root, "tracking_data/worker_memory"), "tcp://worker:9"));
    assert_true(json_is_object(at(root, "tracking_data/worker_disk_write_bps")));
    /* chunks */
    assert_int_equal(6, json_array_size(at(root, "raw_chunk_metrics")));
    assert_number(100, root, "raw_chunk_metrics/0/num_events");
    assert_number(100, root, "raw_chunk_metrics/0/event_count");
    assert_number(40, root, "raw_chunk_metrics/0/branches_read_percent");
    assert_text("f1", at(root, "raw_chunk_metrics/0/filename"));
    assert_text("b", at(root, "raw_chunk_metrics/0/accessed_branches/1"));
    assert_null(at(root, "raw_chunk_metrics/4/dataset"));
    assert_null(at(root, "raw_chunk_metrics/0/t_start"));
    assert_text("ValueError: no jets", at(root, "raw_chunk_metrics/5/error"));
    assert_null(at(root, "raw_chunk_metrics/0/error"));
    /* spans */
    json_t *spans = at(root, "raw_span_metrics");
    assert_number_(30, json_object_get(spans, "('execute', 'MyProc', 'thread-cpu', 'seconds')"),
                   "four names");
    assert_number_(24, json_object_get(spans, "('get-data', 'memory-read', 'bytes')"),
                   "three names");
    json_decref(root);
    roast_run_free(run);
}

static void test_sections_of_a_chunk(void **state) {
    (void)state;
    roast_run *run = run_with_files();
    json_t *root = document_of(run), *first = at(root, "raw_chunk_metrics/0");
    assert_number(0.9, first, "timing/outer");
    assert_number(0.5, first, "timing/inner"); /* two uses */
    assert_number(4, first, "memory/mem");
    assert_number(1000, first, "bytes/io");
    assert_int_equal(4, json_array_size(at(first, "sections")));
    assert_text("inner", at(first, "sections/1/section_name"));
    assert_number(0.4, first, "sections/1/time_delta");
    assert_number(2, first, "sections/1/depth");
    assert_number(1, first, "sections/1/count");
    assert_int_equal(1, json_array_size(at(first, "memory_sections")));
    assert_number(0.004, first, "memory_sections/0/memory_delta_gb");
    assert_number(3, root, "raw_chunk_metrics/1/sections/1/count");
    assert_int_equal(0, json_object_size(at(root, "raw_chunk_metrics/2/timing")));
    json_decref(root);
    roast_run_free(run);
}

static void test_reads_and_what_the_user_stored(void **state) {
    (void)state;
    const roast_read reads[] = {{{"Jet_pt", 6}, 1500000000, 10, 20, 2}, {{"x", 1}, -1, -1, -1, -1}};
    const roast_custom customs[] = {
        {{"mine", 4}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_INT, 7, 0, {NULL, 0}},
        {{"duration", 8}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_INT, 9, 0, {NULL, 0}},
        {{"on", 2}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_BOOL, 1, 0, {NULL, 0}},
        {{"nan", 3}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_REAL, 0, NAN, {NULL, 0}},
        {{"text", 4}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_TEXT, 0, 0, {"a\0b", 3}},
        {{"list", 4}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_JSON, 0, 0, {"[1, NaN, \"\xc2\x9b\"]", 14}},
        {{"torn", 4}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_JSON, 0, 0, {"[1,", 3}},
        {{"object", 6}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_LEFT_OUT, 0, 0, {"too long", 8}},
        {{"fit", 3}, ROAST_SCOPE_TIMING, ROAST_CUSTOM_REAL, 0, 2.5, {NULL, 0}},
    };
    const roast_section sections[] = {section_of("fit", ROAST_SECTION_TIME, -1, 1, SECOND)};
    roast_chunk chunk = chunk_of("A", "f", 1, 1, 0);
    chunk.has_reads = true;
    chunk.reads = reads;
    chunk.n_reads = 2;
    chunk.customs = customs;
    chunk.n_customs = sizeof customs / sizeof *customs;
    chunk.sections = sections;
    chunk.n_sections = 1;
    roast_run *run = new_run();
    append(run, &chunk);
    json_t *root = document_of(run), *one = at(root, "raw_chunk_metrics/0");
    assert_number(1.5, one, "reads/Jet_pt/seconds");
    assert_number(20, one, "reads/Jet_pt/uncompressed_bytes");
    assert_int_equal(0, json_object_size(at(one, "reads/x")));
    assert_number(7, one, "mine");
    assert_number(7, one, "custom_metrics/mine");
    assert_number(1, one, "duration"); /* what was measured stands */
    assert_number(9, one, "custom_metrics/duration");
    assert_true(json_is_true(at(one, "on")));
    assert_true(json_is_null(at(one, "nan")));
    assert_int_equal(3, json_string_length(at(one, "text")));
    assert_true(json_is_null(at(one, "list/1")));
    assert_text("[1,", at(one, "torn"));
    assert_null(json_object_get(one, "object"));
    assert_null(json_object_get(at(one, "custom_metrics"), "object"));
    assert_number(2.5, one, "timing/fit"); /* written by hand over what was added up */
    assert_number(1, one, "sections/0/time_delta");
    json_decref(root);
    roast_run_free(run);
}

static void test_sections_beside_the_chunks(void **state) {
    (void)state;
    roast_error err;
    roast_chunklog *log = NULL;
    const roast_section sections[] = {section_of("s", ROAST_SECTION_TIME, -1, 1, 2 * SECOND),
                                      section_of("m", ROAST_SECTION_MEMORY, -1, 1, 3 * MB),
                                      section_of("b", ROAST_SECTION_BYTES, -1, 1, 4)};
    roast_chunk record = {.sections = sections, .n_sections = 3};
    assert_ok(roast_chunklog_new(&log, &err), err);
    assert_ok(roast_chunklog_append(log, &record, &err), err);
    roast_run *run = new_run();
    roast_run_take_sections(run, log);
    json_t *root = document_of(run);
    assert_int_equal(3, json_array_size(at(root, "raw_section_metrics")));
    assert_text("s", at(root, "raw_section_metrics/0/section_name"));
    assert_number(2, root, "raw_section_metrics/0/duration");
    assert_number(3, root, "raw_section_metrics/1/mem_delta_mb");
    assert_number(4, root, "raw_section_metrics/2/bytes");
    json_decref(root);
    roast_run_free(run);
}

/* As Python's str() of a tuple shows texts. */
static void test_names_in_tuples(void **state) {
    (void)state;
    static const struct {
        const char *name, *shown;
    } cases[] = {
        {"plain", "'plain'"},
        {"it's", "\"it's\""},
        {"\"", "'\"'"},
        {"'\"", "'\\'\"'"},
        {"a\\b\n\t\r", "'a\\\\b\\n\\t\\r'"},
        {"\x01\x7f\xc2\x85\xc2\xad", "'\\x01\\x7f\\x85\\xad'"},
        {"Größe €", "'Größe €'"},
        {"\xff", "'\xef\xbf\xbd'"},
        {"", "''"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char key[100];
        roast_run *run = new_run();
        add_span(run, cases[i].name, NULL, "a", "s", 1);
        snprintf(key, sizeof key, "(%s, 'a', 's')", cases[i].shown);
        json_t *root = document_of(run);
        if (json_object_get(at(root, "raw_span_metrics"), key) == NULL)
            fail_msg("%s is not %s",
                     json_object_iter_key(json_object_iter(at(root, "raw_span_metrics"))), key);
        json_decref(root);
        roast_run_free(run);
    }
}

/* ---- failing allocations ---- */

typedef struct walked {
    roast_run *run;
    roast_metrics *metrics;
} walked;

static roast_status write_both(void *context) {
    const walked *w = context;
    roast_sink *sink;
    ROAST_TRY(roast_sink_new_count(&sink, NULL));
    roast_status status =
        roast_json_metrics(&(roast_measured){.run = w->run, .metrics = w->metrics}, sink, NULL);
    if (status == ROAST_OK)
        status = roast_json_run(w->metrics, w->run, sink, NULL);
    if (status == ROAST_OK)
        status = roast_sink_finish(sink, NULL);
    roast_sink_free(sink);
    return status;
}

static void test_every_failing_allocation(void **state) {
    (void)state;
    walked w = {.run = run_with_files()};
    w.metrics = compute(w.run);
    assert_true(alloc_walk(write_both, &w) > 10);
    roast_metrics_free(w.metrics);
    roast_run_free(w.run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics_of_a_full_run),
        cmocka_unit_test(test_metrics_of_an_empty_run),
        cmocka_unit_test(test_a_dataset_that_is_called_unknown),
        cmocka_unit_test(test_all_parts_of_a_run),
        cmocka_unit_test(test_sections_of_a_chunk),
        cmocka_unit_test(test_reads_and_what_the_user_stored),
        cmocka_unit_test(test_sections_beside_the_chunks),
        cmocka_unit_test(test_names_in_tuples),
        cmocka_unit_test(test_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
