/* What the names that engines give to their figures stand for. */
#include "support.h"

#include "roast/figures.h"

static void add(roast_run *run, const char *context, const char *prefix, const char *activity,
                const char *unit) {
    roast_error err;
    roast_span_value span = {roast_str_of(context), roast_str_of(prefix), roast_str_of(activity),
                             roast_str_of(unit), 1.5};
    assert_ok(roast_run_add_span(run, &span, &err), err);
}

static void assert_figure(const roast_run *run, uint32_t index, roast_attempt_kind kind,
                          roast_activity activity) {
    roast_figure figure = roast_run_figure(run, index);
    assert_int_equal(kind, figure.kind);
    assert_int_equal(activity, figure.activity);
    assert_near(1.5, figure.value);
}

static void test_names_of_dask(void **state) {
    (void)state;
    roast_error err;
    roast_run *run;
    assert_ok(roast_run_new(&run, &err), err);
    add(run, "execute", "P", "thread-cpu", "seconds");
    add(run, "execute", "merge", "thread-noncpu", "seconds");
    add(run, "execute", "P", "disk-read", "bytes");
    add(run, "get-data", NULL, "disk-write", "seconds");
    add(run, "gather-dep", NULL, "disk-read", "seconds");
    add(run, "preprocess", NULL, "read", "count");
    add(run, "get-data", NULL, "read", "count");
    add(run, "worker", NULL, "process-cpu", "seconds");
    add(run, "machine", NULL, "own-cpu", "seconds");
    assert_int_equal(9, roast_run_figure_count(run));
    /* Nobody has told what the processor is called: all tasks are its own. */
    assert_figure(run, 0, ROAST_KIND_processing, ROAST_ACTIVITY_cpu);
    assert_figure(run, 1, ROAST_KIND_processing, ROAST_ACTIVITY_noncpu);
    assert_ok(roast_run_set_processor(run, roast_str_of("P"), &err), err);
    assert_figure(run, 0, ROAST_KIND_processing, ROAST_ACTIVITY_cpu);
    assert_figure(run, 1, ROAST_KIND_other, ROAST_ACTIVITY_noncpu);
    assert_ok(
        roast_run_set_meta(run, roast_str_of(ROAST_META_REDUCER), roast_str_of("merge"), &err),
        err);
    assert_figure(run, 1, ROAST_KIND_reduction, ROAST_ACTIVITY_noncpu);
    assert_figure(run, 2, ROAST_KIND_processing, ROAST_ACTIVITY_disk_read_bytes);
    assert_figure(run, 3, ROAST_KIND_COUNT, ROAST_ACTIVITY_disk);
    assert_figure(run, 4, ROAST_KIND_COUNT, ROAST_ACTIVITY_disk);
    assert_figure(run, 5, ROAST_KIND_COUNT, ROAST_ACTIVITY_preprocess_requests);
    assert_figure(run, 6, ROAST_KIND_COUNT, ROAST_ACTIVITY_COUNT);
    assert_figure(run, 7, ROAST_KIND_COUNT, ROAST_ACTIVITY_worker_cpu);
    assert_figure(run, 8, ROAST_KIND_COUNT, ROAST_ACTIVITY_machine_own);
    roast_run_free(run);
}

static void test_kinds_in_place_of_names(void **state) {
    (void)state;
    roast_error err;
    roast_run *run;
    assert_ok(roast_run_new(&run, &err), err);
    assert_ok(roast_run_set_processor(run, roast_str_of("P"), &err), err);
    add(run, "processing", NULL, "cpu", "seconds");
    add(run, "reduction", NULL, "noncpu", "seconds");
    add(run, "other", NULL, "serialize", "seconds");
    add(run, "foreign", NULL, "cpu", "seconds");
    assert_figure(run, 0, ROAST_KIND_processing, ROAST_ACTIVITY_cpu);
    assert_figure(run, 1, ROAST_KIND_reduction, ROAST_ACTIVITY_noncpu);
    assert_figure(run, 2, ROAST_KIND_other, ROAST_ACTIVITY_serialize);
    assert_figure(run, 3, ROAST_KIND_COUNT, ROAST_ACTIVITY_cpu);
    roast_run_free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_dask),
        cmocka_unit_test(test_kinds_in_place_of_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
