#include "roast/ending.h"

#include "diagnose_sample.h"
#include "roast/summary.h"

static roast_ending *ending_of(roast_end outcome) {
    roast_error err;
    roast_ending *ending = NULL;
    assert_ok(roast_ending_new(outcome, &ending, &err), err);
    return ending;
}

static void set_error(roast_ending *ending, const char *type, const char *message) {
    roast_error err;
    const roast_run_error error = {.type = roast_str_of(type),
                                   .message = roast_str_of(message),
                                   .dataset = roast_str_of("ttbar"),
                                   .file = roast_str_of("root://host//store/a.root"),
                                   .entry_start = 0,
                                   .entry_stop = 600};
    assert_ok(roast_ending_set_error(ending, &error, &err), err);
}

static void add_skipped(roast_ending *ending, const char *file, const char *reason) {
    roast_error err;
    const roast_skipped_file skipped = {roast_str_of("ttbar"), roast_str_of(file),
                                        roast_str_of(reason)};
    assert_ok(roast_ending_add_skipped(ending, &skipped, &err), err);
}

static void test_outcomes(void **state) {
    (void)state;
    assert_string_equal("failed", roast_end_name(ROAST_END_failed));
    assert_null(roast_end_name(ROAST_END_unknown));
    assert_null(roast_end_name(ROAST_END_COUNT));
    for (int end = 0; end < ROAST_END_COUNT; end++)
        assert_int_equal(end, roast_end_find(roast_str_of(roast_end_name((roast_end)end))));
    assert_int_equal(ROAST_END_unknown, roast_end_find(roast_str_of("unknown")));
    assert_int_equal(ROAST_END_unknown, roast_ending_outcome(NULL));
    assert_null(roast_ending_error(NULL));
    assert_int_equal(0, roast_ending_skipped_count(NULL));
    assert_int_equal(-1, roast_ending_get_pieces(NULL).all);
    roast_ending_free(NULL);
}

static void test_texts_are_copied(void **state) {
    (void)state;
    char file[] = "a.root";
    roast_ending *ending = ending_of(ROAST_END_done);
    assert_null(roast_ending_error(ending));
    add_skipped(ending, file, NULL);
    file[0] = 'b';
    assert_str("a.root", roast_ending_skipped(ending, 0).file);
    assert_null(roast_ending_skipped(ending, 0).reason.data);
    assert_null(roast_ending_skipped(ending, 1).file.data);
    assert_status(
        ROAST_EINVAL,
        roast_ending_add_skipped(ending, &(roast_skipped_file){.file = roast_str_of("x")}, NULL));
    assert_int_equal(1, roast_ending_skipped_count(ending));
    roast_ending_free(ending);
}

static roast_status make_all(void *unused) {
    (void)unused;
    roast_ending *ending;
    const roast_skipped_file skipped = {roast_str_of("d"), roast_str_of("f"), roast_str_of("r")};
    const roast_run_error error = {.type = roast_str_of("OSError"), .message = roast_str_of("no")};
    ROAST_TRY(roast_ending_new(ROAST_END_failed, &ending, NULL));
    roast_status status = roast_ending_set_error(ending, &error, NULL);
    if (status == ROAST_OK)
        status = roast_ending_add_skipped(ending, &skipped, NULL);
    roast_ending_free(ending);
    return status;
}

static void test_no_memory(void **state) {
    (void)state;
    assert_true(alloc_walk(make_all, NULL) >= 3);
}

/* ---- the headline ---- */

static void assert_headline(roast_ending *ending, const char *outcome, const char *warning) {
    roast_error err;
    roast_run *run = NULL;
    roast_headline headline;
    assert_ok(roast_run_new(&run, &err), err);
    roast_run_take_ending(run, ending);
    roast_headline_init(&headline, run);
    assert_string_equal(outcome, headline.outcome);
    assert_string_equal(warning, headline.warning);
    roast_run_free(run);
}

static void test_headlines(void **state) {
    (void)state;
    assert_headline(NULL, "", "");
    assert_headline(ending_of(ROAST_END_unknown), "", "");
    roast_ending *going_on = ending_of(ROAST_END_unknown);
    roast_ending_set_pieces(going_on, (roast_ending_pieces){40, 23, -1});
    assert_headline(going_on, "23 of 40 chunks done", "");
    going_on = ending_of(ROAST_END_unknown);
    roast_ending_set_pieces(going_on, (roast_ending_pieces){40, -1, -1});
    assert_headline(going_on, "", "");
    assert_headline(ending_of(ROAST_END_done), "Done", "");
    roast_ending *ending = ending_of(ROAST_END_done);
    roast_ending_set_pieces(ending, (roast_ending_pieces){4000, 3999, 0});
    add_skipped(ending, "/data/a.root", "OSError: gone\nmore lines");
    assert_headline(ending, "Done: 3,999 of 4,000 chunks",
                    "Warning: events of 1 file are missing in the result: a.root (OSError: gone)");
    ending = ending_of(ROAST_END_failed);
    roast_ending_set_pieces(ending, (roast_ending_pieces){40, 19, 1});
    set_error(ending, "OSError", "disk\nand more");
    add_skipped(ending, "b.root", NULL);
    add_skipped(ending, "c.root", NULL);
    assert_headline(ending,
                    "Failed: 19 of 40 chunks done; OSError: disk (ttbar, a.root, entries 0 to 600)",
                    "Warning: 2 files could not be read: b.root and 1 more");
    /* The file that made it fail is named once. */
    ending = ending_of(ROAST_END_failed);
    set_error(ending, "OSError", "disk");
    add_skipped(ending, "root://host//store/a.root", "OSError: disk");
    assert_headline(ending, "Failed: OSError: disk (ttbar, a.root, entries 0 to 600)", "");
    ending = ending_of(ROAST_END_interrupted);
    roast_ending_set_pieces(ending, (roast_ending_pieces){40, -1, -1});
    assert_headline(ending, "Interrupted", "");
}

/* Names and messages of any length and bytes. */
static void test_long_texts_are_cut_between_characters(void **state) {
    (void)state;
    char name[4096];
    roast_error err;
    roast_run *run = NULL;
    roast_headline headline;
    for (size_t i = 0; i + 2 < sizeof name; i += 2)
        memcpy(name + i, "ö", 2);
    name[sizeof name - 2] = '\0';
    roast_ending *ending = ending_of(ROAST_END_failed);
    const roast_run_error error = {.type = roast_str_of(name),
                                   .message = roast_str_of(name),
                                   .dataset = roast_str_of(name),
                                   .file = roast_str_of(name),
                                   .entry_start = INT64_MAX,
                                   .entry_stop = INT64_MAX};
    assert_ok(roast_ending_set_error(ending, &error, &err), err);
    add_skipped(ending, name, name);
    add_skipped(ending, name, name);
    assert_ok(roast_run_new(&run, &err), err);
    roast_run_take_ending(run, ending);
    roast_headline_init(&headline, run);
    assert_true(strlen(headline.outcome) < ROAST_HEADLINE);
    assert_non_null(strstr(headline.outcome, "ö…: ö"));
    assert_non_null(strstr(headline.warning, "ö… (ö"));
    roast_run_free(run);
}

static void test_drawing(void **state) {
    (void)state;
    roast_error err;
    roast_sink *sink = NULL;
    roast_headline headline = {"Failed: one two", "Warning: three"};
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    roast_headline_draw(&headline, 12, sink);
    headline = (roast_headline){"", ""};
    roast_headline_draw(&headline, 12, sink);
    assert_ok(roast_sink_finish(sink, &err), err);
    assert_str("Failed: one\n  two\nWarning:\n  three\n\n", roast_sink_memory(sink));
    roast_sink_free(sink);
}

static void test_the_summary_has_it(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = NULL;
    roast_metrics *metrics = NULL;
    roast_summary *summary = NULL;
    assert_ok(roast_run_new(&run, &err), err);
    roast_run_take_ending(run, ending_of(ROAST_END_interrupted));
    assert_ok(roast_metrics_compute(run, &metrics, &err), err);
    assert_ok(roast_summary_new(metrics, run, NULL, &summary, &err), err);
    assert_string_equal("Interrupted", roast_summary_headline(summary)->outcome);
    roast_summary_free(summary);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

/* ---- findings ---- */

static roast_run *run_with(roast_ending *ending) {
    roast_run *run = play(&(scene){.workers = 4, .threads = 1, .chunks = 80});
    roast_run_take_ending(run, ending);
    return run;
}

static roast_ending *failed_with(const char *type) {
    roast_ending *ending = ending_of(ROAST_END_failed);
    roast_ending_set_pieces(ending, (roast_ending_pieces){40, 19, 1});
    set_error(ending, type, "by design");
    return ending;
}

static void test_findings_of_a_failed_run(void **state) {
    (void)state;
    expect_first(run_with(failed_with("ValueError")), ROAST_FINDING_lost_work,
                 "The run failed after 19 of 40 chunks: ValueError");
    expect_first(run_with(failed_with("ValueError")), ROAST_FINDING_lost_work, "has the traceback");
    expect_first(run_with(failed_with("TerminatedWorkerError")), ROAST_FINDING_lost_work,
                 "process of the pool was killed");
    expect_first(run_with(failed_with("FileNotFoundError")), ROAST_FINDING_lost_work,
                 "Check the file");
    expect_first(run_with(ending_of(ROAST_END_failed)), ROAST_FINDING_lost_work, "The run failed");
    roast_ending *ending = ending_of(ROAST_END_interrupted);
    roast_ending_set_pieces(ending, (roast_ending_pieces){40, 19, 1});
    expect_none(run_with(ending), ROAST_FINDING_lost_work);
}

static void tiny(piece *p) {
    p->events = 1000;
    p->duration = 0.02;
    p->cpu = 0.018;
    p->queue = 0;
    p->n_reads = 0;
    p->file = p->index / 100;
}

/* How to be quicker is not what matters in a run that has no result. */
static void test_the_failure_comes_first(void **state) {
    (void)state;
    const scene s = {.workers = 4, .threads = 1, .chunks = 800, .change = tiny};
    expect_first(play(&s), ROAST_FINDING_chunks_too_small, "chunksize=");
    roast_run *run = play(&s);
    roast_run_take_ending(run, failed_with("ValueError"));
    roast_findings *findings = diagnose(run);
    assert_int_equal(ROAST_FINDING_lost_work, roast_findings_at(findings, 0)->kind);
    assert_non_null(find_kind(findings, ROAST_FINDING_chunks_too_small));
    roast_findings_free(findings);
    roast_run_free(run);
}

/* Pieces that failed once and were made good are no loss. */
static void every_eighth_fails(piece *p) {
    p->fails = p->index % 8 == 0;
}

static void test_what_was_made_good_is_no_loss(void **state) {
    (void)state;
    roast_run *run =
        play(&(scene){.workers = 4, .threads = 1, .chunks = 80, .change = every_eighth_fails});
    roast_ending *ending = ending_of(ROAST_END_done);
    roast_ending_set_pieces(ending, (roast_ending_pieces){80, 80, 0});
    roast_run_take_ending(run, ending);
    roast_findings *findings = diagnose(run);
    for (uint32_t i = 0; i < roast_findings_count(findings); i++)
        assert_false(mentions(roast_findings_at(findings, i)->title, "missing"));
    roast_findings_free(findings);
    roast_run_free(run);
}

/* Who skips bad files need not be told to. */
static void test_work_on_skipped_files(void **state) {
    (void)state;
    const scene s = {.workers = 4, .threads = 1, .chunks = 80, .change = every_eighth_fails};
    expect_some(play(&s), ROAST_FINDING_lost_work, ROAST_SEVERITY_critical, "skip bad files");
    roast_run *run = play(&s);
    roast_ending *ending = ending_of(ROAST_END_done);
    add_skipped(ending, "a.root", "OSError: gone");
    roast_run_take_ending(run, ending);
    expect_some(run, ROAST_FINDING_lost_work, ROAST_SEVERITY_warning, "left out after several");
}

static void test_skipped_files(void **state) {
    (void)state;
    roast_ending *ending = ending_of(ROAST_END_done);
    for (int i = 0; i < 7; i++)
        add_skipped(ending, "a.root", "OSError: gone");
    expect_first(run_with(ending), ROAST_FINDING_skipped_files,
                 "Events of 7 files are missing in the result");
    ending = ending_of(ROAST_END_done);
    for (int i = 0; i < 7; i++)
        add_skipped(ending, "a.root", "OSError: gone");
    expect_first(run_with(ending), ROAST_FINDING_skipped_files, "and 2 more");
    expect_none(run_with(ending_of(ROAST_END_done)), ROAST_FINDING_skipped_files);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_texts_are_copied),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_headlines),
        cmocka_unit_test(test_long_texts_are_cut_between_characters),
        cmocka_unit_test(test_drawing),
        cmocka_unit_test(test_the_summary_has_it),
        cmocka_unit_test(test_findings_of_a_failed_run),
        cmocka_unit_test(test_the_failure_comes_first),
        cmocka_unit_test(test_what_was_made_good_is_no_loss),
        cmocka_unit_test(test_work_on_skipped_files),
        cmocka_unit_test(test_skipped_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
