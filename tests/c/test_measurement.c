#include <string.h>

#include "roast/measurement.h"
#include "run_sample.h"

static roast_measurement *measurement_of(const roast_run *run, roast_str config) {
    roast_error err;
    roast_measurement *made = NULL;
    const roast_utc saved = {INT64_C(1700000000123456000)};
    assert_ok(roast_measurement_new(&(roast_measured){.run = run}, config, saved, &made, &err),
              err);
    return made;
}

static roast_str file_named(const roast_measurement *made, const char *name) {
    roast_store_options options = {0};
    roast_measurement_fill(made, &options);
    for (uint32_t i = 0; i < options.n_files; i++)
        if (strcmp(options.files[i].name, name) == 0)
            return (roast_str){options.files[i].bytes, options.files[i].len};
    return (roast_str){NULL, 0};
}

static void assert_holds(roast_str text, const char *part) {
    assert_non_null(text.data);
    if (memmem(text.data, text.len, part, strlen(part)) == NULL)
        fail_msg("%s: not in %.*s", part, (int)text.len, text.data);
}

static void test_files(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = full_run();
    assert_ok(roast_run_set_meta(run, roast_str_of("chunksize"), roast_str_of("5000"), &err), err);
    assert_ok(roast_run_set_meta(run, roast_str_of("executor"), roast_str_of("X"), &err), err);
    roast_measurement *made = measurement_of(run, roast_str_of("{\"a\": 1}"));
    roast_run_free(run); /* nothing is borrowed */

    roast_str metadata = file_named(made, "metadata.json");
    assert_holds(metadata, "\"timestamp\": \"2023-11-14T22:13:20.123456+00:00\"");
    assert_holds(metadata, "\"format\": \"" ROAST_MEASUREMENT_FORMAT "\"");
    assert_holds(metadata, "\"elapsed_time_seconds\": 10.0");
    assert_holds(metadata, "\"walltime\": 10.0");
    assert_holds(metadata, "\"chunksize\": 5000");
    assert_holds(metadata, "\"entries\": 1000000");
    assert_holds(metadata, "\"executor\": \"X\"");
    assert_holds(file_named(made, "metrics.json"), "\"total_events\": 1000000");
    assert_str("100.0,110.0\n", file_named(made, "start_end_time.txt"));
    assert_str("{\"a\": 1}", file_named(made, "config.json"));

    roast_measurement_free(made);
}

/* Every change of a byte is noticed. */
static void test_checksum(void **state) {
    (void)state;
    static char text[1 << 16];
    roast_run *run = full_run();
    roast_measurement *made = measurement_of(run, (roast_str){NULL, 0});
    roast_str metadata = file_named(made, "metadata.json");
    assert_holds(metadata, "\"metrics\": {\n    \"wall_time\": 10.0");
    assert_holds(metadata, "\"t_start\": 100.0");
    assert_true(metadata.len < sizeof text);
    assert_ptr_equal(metadata.data, roast_measurement_checked(metadata).data);
    memcpy(text, metadata.data, metadata.len);
    for (size_t i = 0; i < metadata.len; i++) {
        text[i] ^= 4;
        assert_null(roast_measurement_checked((roast_str){text, metadata.len}).data);
        text[i] ^= 4;
        assert_null(roast_measurement_checked((roast_str){text, i}).data);
    }
    assert_null(roast_measurement_checked((roast_str){NULL, 0}).data);
    roast_measurement_free(made);
    roast_run_free(run);
}

static void add_dataset(roast_metrics *metrics, const char *name) {
    roast_error err;
    const roast_dataset_row row = {.name = roast_str_of(name)};
    assert_ok(roast_row_table_add(metrics, ROAST_ROWS_per_dataset, &row, &err), err);
}

static void expect_datasets(const roast_metrics *metrics, const char *expected) {
    char text[ROAST_DATASETS_TEXT];
    roast_error err;
    assert_ok(roast_measurement_datasets(metrics, text, &err), err);
    assert_string_equal(expected, text);
}

/* The same text, whichever comes first; a long list becomes a number and a checksum. */
static void test_datasets(void **state) {
    (void)state;
    roast_metrics *metrics[2];
    roast_error err;
    char name[32], texts[2][ROAST_DATASETS_TEXT];
    for (int i = 0; i < 2; i++)
        assert_ok(roast_metrics_new(&metrics[i], &err), err);
    expect_datasets(metrics[0], "");
    add_dataset(metrics[0], "ttbar");
    add_dataset(metrics[0], NULL); /* chunks of an unknown one */
    expect_datasets(metrics[0], "ttbar");
    add_dataset(metrics[0], "data");
    add_dataset(metrics[1], "data");
    add_dataset(metrics[1], "ttbar");
    expect_datasets(metrics[0], "data, ttbar");
    expect_datasets(metrics[1], "data, ttbar");
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "dataset%d", i);
        add_dataset(metrics[0], name);
        snprintf(name, sizeof name, "dataset%d", 29 - i);
        add_dataset(metrics[1], name);
    }
    for (int i = 0; i < 2; i++)
        assert_ok(roast_measurement_datasets(metrics[i], texts[i], &err), err);
    assert_string_equal(texts[0], texts[1]);
    assert_memory_equal("32 datasets (", texts[0], 13);
    add_dataset(metrics[1], "another");
    assert_ok(roast_measurement_datasets(metrics[1], texts[1], &err), err);
    assert_string_not_equal(texts[0], texts[1]);
    for (int i = 0; i < 2; i++)
        roast_metrics_free(metrics[i]);
}

static void test_metrics_of_the_user(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = full_run();
    roast_measurement *made = NULL;
    const roast_own_metric own[] = {
        {roast_str_of("site"), roast_str_of("\"Lyon\"")},
        {roast_str_of("a \"b\""), roast_str_of("[1,NaN]")},
    };
    assert_ok(roast_measurement_new(&(roast_measured){.run = run, .own = own, .n_own = 2},
                                    (roast_str){NULL, 0}, (roast_utc){0}, &made, &err),
              err);
    roast_str metrics = file_named(made, "metrics.json");
    assert_holds(metrics, "\"total_events\": 1000000");
    assert_holds(metrics, ",\n  \"site\": \"Lyon\",\n  \"a \\\"b\\\"\": [1,null]\n}");
    roast_measurement_free(made);
    roast_run_free(run);
}

static void test_blob(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = full_run();
    roast_measurement *made = measurement_of(run, (roast_str){NULL, 0});
    roast_store_options options = {.path = "kept"};
    roast_measurement_fill(made, &options);
    assert_string_equal("kept", options.path);
    const roast_store_blob_in *blob = NULL;
    for (uint32_t i = 0; i < options.n_blobs; i++)
        if (strcmp(options.blobs[i].name, ROAST_METRICS_BLOB) == 0)
            blob = &options.blobs[i];
    assert_non_null(blob);
    roast_metrics *back = NULL;
    assert_ok(roast_metrics_decode(blob->bytes, blob->len, &back, &err), err);
    roast_metrics *there = compute(run);
    for (uint32_t i = 0; i < roast_catalogue_count(); i++)
        assert_int_equal(roast_metrics_at(there, i).kind, roast_metrics_at(back, i).kind);
    assert_null(file_named(made, "config.json").data);
    roast_metrics_free(back);
    roast_metrics_free(there);
    roast_measurement_free(made);
    roast_measurement_free(NULL);
    roast_run_free(run);
}

/* What was computed before is not computed again. */
static void test_metrics_that_are_there(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = full_run();
    roast_metrics *metrics = compute(run);
    roast_findings *findings = NULL;
    roast_measurement *made = NULL;
    assert_ok(roast_metrics_set(metrics, "total_events", roast_value_int(77), &err), err);
    assert_ok(roast_diagnose_run(run, metrics, &findings, &err), err);
    assert_ok(roast_measurement_new(
                  &(roast_measured){.run = run, .metrics = metrics, .findings = findings},
                  (roast_str){NULL, 0}, (roast_utc){1}, &made, &err),
              err);
    roast_metrics_free(metrics);
    roast_findings_free(findings);
    roast_run_free(run); /* nothing is borrowed */
    assert_holds(file_named(made, "metrics.json"), "\"total_events\": 77");
    assert_holds(file_named(made, "metadata.json"), "\"entries\": 77");
    roast_measurement_free(made);
}

/* What is not known is not written. */
static void test_an_empty_run(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = new_run();
    assert_ok(roast_run_set_meta(run, roast_str_of("chunksize"), roast_str_of("many"), &err), err);
    roast_measurement *made = measurement_of(run, (roast_str){NULL, 0});
    roast_str metadata = file_named(made, "metadata.json");
    assert_holds(metadata, "\"chunksize\": \"many\""); /* as it was told, and not as a number */
    assert_null(memmem(metadata.data, metadata.len, "elapsed", 7));
    assert_null(memmem(metadata.data, metadata.len, "walltime", 8));
    assert_null(file_named(made, "start_end_time.txt").data);
    roast_measurement_free(made);
    roast_run_free(run);
}

static roast_status make_one(void *context) {
    roast_measurement *made = NULL;
    ROAST_TRY(roast_measurement_new(&(roast_measured){.run = context}, roast_str_of("{}"),
                                    (roast_utc){1}, &made, NULL));
    roast_measurement_free(made);
    return ROAST_OK;
}

static void test_failing_allocations(void **state) {
    (void)state;
    roast_run *run = full_run();
    assert_true(alloc_walk(make_one, run) > 20);
    roast_run_free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),        cmocka_unit_test(test_checksum),
        cmocka_unit_test(test_datasets),     cmocka_unit_test(test_metrics_of_the_user),
        cmocka_unit_test(test_blob),         cmocka_unit_test(test_metrics_that_are_there),
        cmocka_unit_test(test_an_empty_run), cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
