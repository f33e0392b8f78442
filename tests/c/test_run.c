#include <math.h>
#include <unistd.h>

#include "roast/run.h"
#include "support.h"

static roast_str str(const char *text) {
    return roast_str_of(text);
}

static roast_run *new_run(void) {
    roast_error err;
    roast_run *run = NULL;
    assert_ok(roast_run_new(&run, &err), err);
    return run;
}

static roast_span_value span(const char *context, const char *prefix, const char *activity,
                             const char *unit, double value) {
    return (roast_span_value){str(context), str(prefix), str(activity), str(unit), value};
}

static void test_a_new_run_knows_nothing(void **state) {
    (void)state;
    roast_str key, value;
    roast_run *run = new_run();
    assert_false(roast_run_get_clock(run).have);
    roast_report report = roast_run_get_report(run);
    assert_false(report.have_entries || report.have_bytesread || report.have_processtime ||
                 report.have_chunks);
    assert_int_equal(0, roast_run_column_count(run));
    assert_null(roast_run_column(run, 0).data);
    assert_int_equal(0, roast_run_meta_count(run));
    assert_null(roast_run_meta(run, str("host")).data);
    roast_run_meta_at(run, 0, &key, &value);
    assert_null(key.data);
    assert_null(value.data);
    assert_null(roast_run_processor(run).data);
    assert_int_equal(0, roast_run_span_count(run));
    assert_null(roast_run_span(run, 0).context.data);
    assert_int_equal(0, roast_run_note_count(run));
    assert_null(roast_run_note(run, 0).data);
    assert_int_equal(0, roast_run_replayed(run));
    assert_null(roast_run_counts_view(run));
    assert_null(roast_run_sections_view(run));
    assert_int_equal(0, roast_chunklog_count(roast_run_chunks_view(run)));
    assert_int_equal(0, roast_series_tick_count(roast_run_series_view(run)));
    roast_run_free(run);
    roast_run_free(NULL);
}

static void test_clock_and_report(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_run_set_clock(run, 100.5, 103.25);
    roast_run_clock clock = roast_run_get_clock(run);
    assert_true(clock.have);
    assert_near(100.5, clock.start);
    assert_near(103.25, clock.end);

    const roast_report report = {
        .have_entries = true, .have_processtime = true, .entries = 7, .processtime = 1.5};
    roast_run_set_report(run, &report);
    roast_report back = roast_run_get_report(run);
    assert_true(back.have_entries && back.have_processtime);
    assert_false(back.have_bytesread || back.have_chunks);
    assert_int_equal(7, back.entries);
    assert_near(1.5, back.processtime);
    roast_run_free(run);
}

static void test_columns(void **state) {
    (void)state;
    roast_error err;
    char text[] = "Jet_pt-data";
    roast_run *run = new_run();
    assert_ok(roast_run_add_column(run, str(text), &err), err);
    text[0] = 'X'; /* the run keeps a copy */
    assert_ok(roast_run_add_column(run, str(""), &err), err);
    assert_status(ROAST_EINVAL, roast_run_add_column(run, str(NULL), &err));
    roast_str first = roast_run_column(run, 0);
    for (int i = 0; i < 1000; i++)
        assert_ok(roast_run_add_column(run, str("Muon_pt-data"), &err), err);
    assert_int_equal(1002, roast_run_column_count(run));
    assert_str("Jet_pt-data", first);
    assert_str("", roast_run_column(run, 1));
    assert_str("Muon_pt-data", roast_run_column(run, 1001));
    assert_null(roast_run_column(run, 1002).data);
    roast_run_free(run);
}

static void test_meta(void **state) {
    (void)state;
    roast_error err;
    roast_str key, value;
    char name[16];
    roast_run *run = new_run();
    assert_ok(roast_run_set_meta(run, str("host"), str("node1"), &err), err);
    assert_ok(roast_run_set_meta(run, str("python"), str("3.12"), &err), err);
    roast_str before = roast_run_meta(run, str("host"));
    assert_ok(roast_run_set_meta(run, str("host"), str("node2"), &err), err);
    assert_int_equal(2, roast_run_meta_count(run));
    assert_str("node1", before); /* what was handed out stays readable */
    assert_str("node2", roast_run_meta(run, str("host")));
    assert_ok(roast_run_set_meta(run, str("host"), str("node2"), &err), err);
    assert_str("node2", roast_run_meta(run, str("host")));
    assert_ok(roast_run_set_meta(run, str("empty"), str(""), &err), err);
    assert_str("", roast_run_meta(run, str("empty")));
    assert_null(roast_run_meta(run, str("hos")).data);
    assert_null(roast_run_meta(run, str(NULL)).data);
    assert_status(ROAST_EINVAL, roast_run_set_meta(run, str(NULL), str("x"), &err));
    assert_status(ROAST_EINVAL, roast_run_set_meta(run, str("x"), str(NULL), &err));
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "key%d", i % 250);
        assert_ok(roast_run_set_meta(run, str(name), str(name + 3), &err), err);
    }
    assert_int_equal(253, roast_run_meta_count(run));
    roast_run_meta_at(run, 1, &key, &value);
    assert_str("python", key);
    assert_str("3.12", value);
    assert_str("249", roast_run_meta(run, str("key249")));
    roast_run_free(run);
}

static void test_host(void **state) {
    (void)state;
    roast_error err;
    char name[256], cores[32];
    roast_run *run = new_run();
    assert_ok(roast_run_describe_host(run, &err), err);
    assert_int_equal(0, gethostname(name, sizeof name));
    snprintf(cores, sizeof cores, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(roast_str_equal(str(name), roast_run_meta(run, str("host"))));
    assert_true(roast_str_equal(str(cores), roast_run_meta(run, str("cores"))));
    assert_non_null(roast_run_meta(run, str("kernel")).data);
    assert_non_null(roast_run_meta(run, str("memory_bytes")).data);
    roast_run_free(run);
}

static void test_notes(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = new_run();
    char text[] = "no spans";
    assert_ok(roast_run_add_note(run, str(text), &err), err);
    text[0] = '?'; /* the run has a copy */
    assert_ok(roast_run_add_note(run, str("no series"), &err), err);
    assert_ok(roast_run_add_note(run, str("no spans"), &err), err);
    assert_int_equal(2, roast_run_note_count(run));
    assert_true(roast_str_equal(str("no spans"), roast_run_note(run, 0)));
    assert_true(roast_str_equal(str("no series"), roast_run_note(run, 1)));
    assert_null(roast_run_note(run, 2).data);
    assert_int_equal(ROAST_EINVAL, roast_run_add_note(run, (roast_str){NULL, 0}, &err));
    roast_run_set_replayed(run, 12);
    assert_int_equal(12, roast_run_replayed(run));
    roast_run_free(run);
}

static void append_left_out(roast_run *run, const char *key, const char *reason) {
    roast_error err;
    const roast_custom customs[] = {
        {.key = str("kept"), .kind = ROAST_CUSTOM_INT, .integer = 1},
        {.key = str(key), .kind = ROAST_CUSTOM_LEFT_OUT, .text = str(reason)}};
    const roast_chunk chunk = {.customs = customs, .n_customs = 2};
    assert_ok(roast_chunklog_append(roast_run_chunks(run), &chunk, &err), err);
}

static void test_values_that_were_left_out(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = new_run();
    char long_key[600];
    assert_ok(roast_run_note_left_out(run, &err), err);
    assert_int_equal(0, roast_run_note_count(run));
    memset(long_key, 'k', sizeof long_key);
    memcpy(long_key + 199, "\xc3\xbc", 2); /* one character where the note ends */
    long_key[sizeof long_key - 1] = '\0';
    append_left_out(run, "array", "it is too long");
    append_left_out(run, "array", "it is too long");
    append_left_out(run, long_key, "");
    for (int i = 0; i < 2; i++) { /* once is enough */
        assert_ok(roast_run_note_left_out(run, &err), err);
        assert_int_equal(2, roast_run_note_count(run));
    }
    assert_str("the value 'array' of a chunk was left out: it is too long", roast_run_note(run, 0));
    assert_int_equal(11 + 199 + 27, roast_run_note(run, 1).len);
    for (char key[] = "a"; key[0] <= 'z'; key[0]++)
        append_left_out(run, key, "why");
    assert_ok(roast_run_note_left_out(run, &err), err);
    assert_int_equal(2 + 20 + 1, roast_run_note_count(run));
    assert_str("6 more values of chunks were left out", roast_run_note(run, 22));
    roast_run_free(run);
}

static void test_sections_that_were_not_kept(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = new_run();
    for (int64_t dropped = 0; dropped < 4; dropped++) {
        const roast_chunk chunk = {.dropped_sections = dropped,
                                   .have = dropped > 0 ? ROAST_CHUNK_HAS(dropped_sections) : 0};
        assert_ok(roast_chunklog_append(roast_run_chunks(run), &chunk, &err), err);
    }
    assert_ok(roast_run_note_left_out(run, &err), err);
    assert_int_equal(1, roast_run_note_count(run));
    assert_str(
        "6 uses of sections were not kept: in threads that process() started, or beyond 65535 "
        "different ones in a chunk",
        roast_run_note(run, 0));
    roast_run_free(run);
}

static roast_status fill_run(roast_run *run);

static void test_a_view_with_more_notes(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = new_run(), *view;
    assert_int_equal(ROAST_OK, fill_run(run));
    append_left_out(run, "array", "it is too long");
    roast_run_set_clock(run, 1, 2);
    roast_run_set_replayed(run, 3);
    roast_phase phase = {ROAST_PHASE_execution, 1, 2};
    assert_ok(roast_run_add_phase(run, &phase, &err), err);
    assert_ok(roast_run_new_view(run, &view, &err), err);
    assert_ok(roast_run_add_note(view, str("one more"), &err), err);
    assert_int_equal(40, roast_run_note_count(run));
    assert_int_equal(41, roast_run_note_count(view));
    assert_ptr_equal(roast_run_chunks_view(run), roast_run_chunks_view(view));
    assert_ptr_equal(roast_run_series_view(run), roast_run_series_view(view));
    assert_null(roast_run_attempts_view(view));
    assert_int_equal(40, roast_run_column_count(view));
    assert_int_equal(40, roast_run_meta_count(view));
    assert_int_equal(40, roast_run_span_count(view));
    assert_true(roast_run_span(run, 7).value == roast_run_span(view, 7).value);
    assert_true(roast_str_equal(roast_run_processor(run), roast_run_processor(view)));
    assert_true(roast_run_get_clock(view).end == 2);
    assert_int_equal(3, roast_run_replayed(view));
    assert_int_equal(41, roast_run_phase_count(view));
    assert_true(roast_run_phase(view, 40).end == 2);
    roast_run_free(view);
    roast_run_free(run);
}

static void test_phases(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = new_run();
    static const roast_phase wrong[] = {{ROAST_PHASE_COUNT, 0, 1},
                                        {ROAST_PHASE_execution, 1, 0},
                                        {ROAST_PHASE_execution, NAN, 1},
                                        {ROAST_PHASE_execution, 0, INFINITY}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(ROAST_EINVAL, roast_run_add_phase(run, &wrong[i], &err));
    assert_int_equal(0, roast_run_phase_count(run));
    roast_phase phase = {ROAST_PHASE_preprocessing, 1, 1};
    assert_ok(roast_run_add_phase(run, &phase, &err), err);
    assert_int_equal(1, roast_run_phase_count(run));
    assert_true(roast_run_phase(run, 0).start == 1);
    assert_int_equal(ROAST_PHASE_COUNT, roast_run_phase(run, 1).kind);
    assert_string_equal("preprocessing", roast_phase_name(ROAST_PHASE_preprocessing));
    assert_string_equal("unknown", roast_phase_name(ROAST_PHASE_COUNT));
    roast_run_free(run);
}

static void test_parts_that_few_runs_have(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = new_run();
    roast_series *counts;
    roast_chunklog *sections;
    assert_ok(roast_series_new(&counts, &err), err);
    assert_ok(roast_chunklog_new(&sections, &err), err);
    roast_run_take_counts(run, counts);
    roast_run_take_counts(run, counts); /* its own again: stays */
    roast_run_take_sections(run, sections);
    roast_run_take_sections(run, sections);
    assert_ptr_equal(counts, roast_run_counts_view(run));
    assert_ptr_equal(sections, roast_run_sections_view(run));
    roast_run_take_counts(run, NULL);
    roast_run_take_sections(run, NULL);
    assert_null(roast_run_counts_view(run));
    assert_null(roast_run_sections_view(run));
    roast_run_free(run);
}

static void test_parts_given_away(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = new_run();
    roast_chunklog *log = roast_run_chunks(run);
    roast_series *series = roast_run_series(run);
    const roast_chunk chunk = {.pid = 1};
    assert_ok(roast_chunklog_append(log, &chunk, &err), err);
    assert_ptr_equal(log, roast_run_give_chunks(run));
    assert_ptr_equal(series, roast_run_give_series(run));
    assert_null(roast_run_chunks(run));
    assert_null(roast_run_series(run));
    assert_null(roast_run_give_chunks(run));
    assert_null(roast_run_give_series(run));
    assert_int_equal(1, roast_chunklog_count(roast_run_chunks_view(run)));
    assert_ptr_equal(series, roast_run_series_view(run));
    roast_run_free(run);
    roast_chunklog_free(log);
    roast_series_free(series);
}

static void test_processor(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = new_run();
    assert_ok(roast_run_set_processor(run, str("MyProcessor"), &err), err);
    assert_str("MyProcessor", roast_run_processor(run));
    assert_ok(roast_run_set_processor(run, str(NULL), &err), err);
    assert_null(roast_run_processor(run).data);
    roast_run_free(run);
}

static void test_parts(void **state) {
    (void)state;
    roast_error err;
    uint32_t worker;
    roast_run *run = new_run();
    assert_ptr_equal(roast_run_chunks(run), roast_run_chunks_view(run));
    assert_ptr_equal(roast_run_series(run), roast_run_series_view(run));
    assert_ok(roast_series_worker(roast_run_series(run), str("w"), &worker, &err), err);

    roast_series *series = NULL;
    roast_chunklog *log = NULL;
    assert_ok(roast_series_new(&series, &err), err);
    assert_ok(roast_chunklog_new(&log, &err), err);
    roast_run_take_series(run, series);
    roast_run_take_chunks(run, log);
    assert_ptr_equal(series, roast_run_series(run));
    assert_ptr_equal(log, roast_run_chunks(run));
    assert_int_equal(0, roast_series_worker_count(roast_run_series_view(run)));
    /* What the run owns already, or nothing, changes nothing. */
    roast_run_take_series(run, series);
    roast_run_take_chunks(run, log);
    roast_run_take_series(run, NULL);
    roast_run_take_chunks(run, NULL);
    assert_ptr_equal(series, roast_run_series(run));
    assert_ptr_equal(log, roast_run_chunks(run));
    roast_run_free(run);
}

static void test_lent_parts_stay_the_callers(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = new_run();
    roast_chunklog *log = NULL, *own = NULL;
    roast_series *series = NULL;
    assert_ok(roast_series_new(&series, &err), err);
    assert_ok(roast_chunklog_new(&log, &err), err);
    roast_run_lend_chunks(run, log);
    roast_run_lend_series(run, series);
    assert_ptr_equal(log, roast_run_chunks_view(run));
    assert_ptr_equal(series, roast_run_series_view(run));
    assert_true(roast_run_chunks(run) != log);
    assert_true(roast_run_series(run) != series);

    roast_run_lend_series(run, NULL);
    assert_ptr_equal(roast_run_series(run), roast_run_series_view(run));
    assert_ok(roast_chunklog_new(&own, &err), err);
    roast_run_take_chunks(run, own);
    assert_ptr_equal(own, roast_run_chunks_view(run));
    roast_run_lend_chunks(run, log);
    roast_run_take_chunks(run, own);
    assert_ptr_equal(own, roast_run_chunks_view(run));

    roast_run_lend_chunks(run, log);
    roast_run_free(run);
    roast_chunklog_free(log);
    roast_series_free(series);
}

static void add(roast_run *run, roast_span_value value) {
    roast_error err;
    assert_ok(roast_run_add_span(run, &value, &err), err);
}

static void test_spans_with_the_same_names_add_up(void **state) {
    (void)state;
    roast_run *run = new_run();
    add(run, span("execute", "process", "thread-cpu", "seconds", 1.5));
    add(run, span("execute", "merge", "thread-cpu", "seconds", 4));
    add(run, span("execute", "process", "thread-cpu", "seconds", 2));
    add(run, span("execute", "process", "thread-cpu", "count", 8));
    add(run, span("get-data", NULL, "serialize", "seconds", 0.25));
    add(run, span("get-data", "", "serialize", "seconds", 0.5));
    /* The same letters, split up in another way. */
    add(run, span("exec", "uteprocess", "thread-cpu", "seconds", 16));
    assert_int_equal(6, roast_run_span_count(run));
    roast_span_value first = roast_run_span(run, 0);
    assert_str("execute", first.context);
    assert_str("process", first.prefix);
    assert_str("thread-cpu", first.activity);
    assert_str("seconds", first.unit);
    assert_near(3.5, first.value);
    assert_near(4, roast_run_span(run, 1).value);
    assert_str("count", roast_run_span(run, 2).unit);
    assert_null(roast_run_span(run, 3).prefix.data);
    assert_str("", roast_run_span(run, 4).prefix);
    assert_near(16, roast_run_span(run, 5).value);
    assert_null(roast_run_span(run, 6).context.data);
    roast_run_free(run);
}

static void test_spans_that_are_refused(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = new_run();
    const roast_span_value bad[] = {
        span(NULL, "p", "a", "u", 1),       span("c", "p", NULL, "u", 1),
        span("c", "p", "a", NULL, 1),       span("c", "p", "a", "u", NAN),
        span("c", "p", "a", "u", INFINITY),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_status(ROAST_EINVAL, roast_run_add_span(run, &bad[i], &err));
    assert_int_equal(0, roast_run_span_count(run));
    roast_run_free(run);
}

static void test_many_spans(void **state) {
    (void)state;
    enum { PREFIXES = 20000 };
    char prefix[24];
    roast_run *run = new_run();
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < PREFIXES; i++) {
            snprintf(prefix, sizeof prefix, "prefix-%d", i);
            add(run, span("execute", prefix, "thread-cpu", "seconds", i));
        }
    assert_int_equal(PREFIXES, roast_run_span_count(run));
    for (uint32_t i = 0; i < PREFIXES; i++)
        assert_near(2.0 * i, roast_run_span(run, i).value);
    roast_run_free(run);
}

static roast_status fill_run(roast_run *run) {
    char text[2000];
    memset(text, 't', sizeof text);
    for (unsigned i = 0; i < 40; i++) {
        roast_str name = {text, 40 * i + 1};
        const roast_span_value value = {str("execute"), name, str("thread-cpu"), str("seconds"), 1};
        ROAST_TRY(roast_run_add_column(run, name, NULL));
        ROAST_TRY(roast_run_set_meta(run, name, name, NULL));
        ROAST_TRY(roast_run_set_meta(run, name, str("again"), NULL));
        ROAST_TRY(roast_run_add_span(run, &value, NULL));
        ROAST_TRY(roast_run_add_note(run, name, NULL));
        ROAST_TRY(roast_run_add_phase(run, &(roast_phase){ROAST_PHASE_execution, i, 40}, NULL));
    }
    return roast_run_set_processor(run, (roast_str){text, sizeof text}, NULL);
}

static roast_status walk(void *context) {
    (void)context;
    roast_run *run;
    ROAST_TRY(roast_run_new(&run, NULL));
    roast_run *view = NULL;
    roast_status status = fill_run(run);
    if (status == ROAST_OK)
        status = roast_run_new_view(run, &view, NULL);
    roast_run_free(view);
    if (status != ROAST_OK) {
        /* Whatever failed left the run whole: everything there is has its names. */
        for (uint32_t i = 0; i < roast_run_span_count(run); i++)
            assert_non_null(roast_run_span(run, i).unit.data);
        for (uint32_t i = 0; i < roast_run_meta_count(run); i++) {
            roast_str key, value;
            roast_run_meta_at(run, i, &key, &value);
            assert_true(key.data != NULL && value.data != NULL);
        }
        alloc_fail_stop();
        assert_int_equal(ROAST_OK, fill_run(run));
        assert_int_equal(40, roast_run_span_count(run));
        assert_int_equal(40, roast_run_meta_count(run));
    }
    roast_run_free(run);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    assert_true(alloc_walk(walk, NULL) > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_run_knows_nothing),
        cmocka_unit_test(test_clock_and_report),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_meta),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_values_that_were_left_out),
        cmocka_unit_test(test_sections_that_were_not_kept),
        cmocka_unit_test(test_a_view_with_more_notes),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_parts_that_few_runs_have),
        cmocka_unit_test(test_parts_given_away),
        cmocka_unit_test(test_processor),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_lent_parts_stay_the_callers),
        cmocka_unit_test(test_spans_with_the_same_names_add_up),
        cmocka_unit_test(test_spans_that_are_refused),
        cmocka_unit_test(test_many_spans),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
