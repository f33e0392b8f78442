#include "run_sample.h"

#include "analyse/diagnose/internal.h"
#include "roast/export.h"

static roast_sink *new_sink(void) {
    roast_error err;
    roast_sink *sink = NULL;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    return sink;
}

/* The text, with a terminator; freed with the sink. */
static roast_sink *text_of(const roast_run *run, const char *name, bool with_series) {
    roast_error err;
    roast_metrics *metrics = compute(run);
    roast_findings *findings;
    roast_sink *sink = new_sink();
    assert_ok(roast_diagnose_run(run, metrics, &findings, &err), err);
    roast_openmetrics_write(metrics, findings, run, roast_str_of(name), with_series, sink);
    roast_findings_free(findings);
    roast_sink_write(sink, "", 1);
    assert_ok(roast_sink_finish(sink, &err), err);
    roast_metrics_free(metrics);
    return sink;
}

#define assert_line(line, text)    assert_has(true, "\n" line "\n", text, __LINE__)
#define assert_no_line(part, text) assert_has(false, part, text, __LINE__)
static void assert_has(bool wanted, const char *part, roast_sink *text, int line) {
    if ((strstr(roast_sink_memory(text).data, part) != NULL) != wanted)
        fail_msg("line %d: %s%s in\n%s", line, wanted ? "no " : "", part,
                 roast_sink_memory(text).data);
}

static void test_metrics_of_a_run(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_sink *text = text_of(run, "today", false);
    assert_line("# TYPE roastcoffea_wall_time gauge", text);
    assert_line("roastcoffea_wall_time{run=\"today\"} 10.0", text);
    assert_line("roastcoffea_total_events{run=\"today\"} 1000000", text);
    assert_no_line("# UNIT roastcoffea_wall_time ", text); /* its name does not end with it */
    assert_line("# UNIT roastcoffea_cpu_time_seconds seconds", text);
    assert_line("# UNIT roastcoffea_data_rate_gbps gbps", text);
    assert_line("# UNIT roastcoffea_peak_memory_bytes bytes", text);
    assert_line("# UNIT roastcoffea_io_overhead_pct pct", text);
    assert_has(true, "\n# HELP roastcoffea_wall_time Wall Time [s]: End of the run", text,
               __LINE__);
    assert_has(true, "roastcoffea_run_info{run=\"today\",version=\"", text, __LINE__);
    assert_has(true, ",processor=\"MyProc\"} 1\n", text, __LINE__);
    roast_str whole = roast_sink_memory(text);
    assert_memory_equal("\n# EOF\n", whole.data + whole.len - 8, 8);
    roast_sink_free(text);
    roast_run_free(run);
}

static void test_budget_and_findings(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = full_run();
    roast_metrics *metrics = compute(run);
    roast_findings *findings;
    roast_sink *text = new_sink();
    roast_budget_row budget = {.available = 12};
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        budget.parts[part] = NAN;
    budget.parts[ROAST_PART_read] = 2.5;
    budget.parts[ROAST_PART_client] = 9.5;
    assert_ok(roast_findings_new(&findings, &err), err);
    roast_findings_set_budget(findings, &budget);
    assert_ok(roast_findings_add(findings,
                                 &(roast_finding){.kind = ROAST_FINDING_spilling,
                                                  .severity = ROAST_SEVERITY_warning,
                                                  .title = roast_str_of("It spills"),
                                                  .saving_core_seconds = 1.5},
                                 &err),
              err);
    roast_openmetrics_write(metrics, findings, run, roast_str_of("today"), false, text);
    roast_sink_write(text, "", 1);
    assert_line("# TYPE roastcoffea_budget_core_seconds gauge", text);
    assert_line("roastcoffea_budget_core_seconds{run=\"today\",part=\"read\"} 2.5", text);
    assert_line("roastcoffea_budget_core_seconds{run=\"today\",part=\"client\"} 9.5", text);
    assert_no_line("part=\"lost\"", text); /* not known */
    assert_line("roastcoffea_finding_saving_core_seconds{run=\"today\",kind=\"spilling\","
                "severity=\"warning\"} 1.5",
                text);
    roast_sink_free(text);
    text = new_sink();
    roast_openmetrics_write(metrics, NULL, run, roast_str_of("today"), false, text);
    roast_sink_write(text, "", 1);
    assert_no_line("roastcoffea_budget_core_seconds", text);
    roast_sink_free(text);
    roast_findings_free(findings);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

static void test_tables_of_a_run(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_sink *text = text_of(run, "r", false);
    assert_line("roastcoffea_dataset_total_events{run=\"r\",dataset=\"A\"} 400", text);
    assert_line("roastcoffea_dataset_total_events{run=\"r\",dataset=\"\"} 400", text);
    assert_line("roastcoffea_section_count{run=\"r\",section=\"outer\",type=\"time\"} 2", text);
    assert_line("roastcoffea_section_total_bytes{run=\"r\",section=\"io\",type=\"bytes\"} 1000",
                text);
    assert_no_line("roastcoffea_section_total_bytes{run=\"r\",section=\"outer\"", text);
    assert_line("roastcoffea_file_total_tree_bytes{run=\"r\",file=\"f1\"} 2000", text);
    assert_line("roastcoffea_worker_samples{run=\"r\",worker=\"tcp://worker:0\"} 5", text);
    assert_no_line("roastcoffea_tracked_", text);
    roast_sink_free(text);
    roast_run_free(run);
}

static void test_workers_over_time(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_sink *text = text_of(run, "r", true);
    assert_line("# TYPE roastcoffea_tracked_worker_memory gauge", text);
    assert_line("roastcoffea_tracked_worker_memory{run=\"r\",worker=\"tcp://worker:0\"} 100000000 "
                "1700000000.123456789",
                text);
    assert_line("roastcoffea_tracked_worker_cpu{run=\"r\",worker=\"tcp://worker:9\"} 80.0 "
                "1700000001.123456789",
                text);
    assert_no_line("roastcoffea_tracked_worker_nbytes", text); /* was not looked at */
    roast_sink_free(text);
    roast_run_free(run);
}

static void test_labels_are_escaped(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_chunk chunk = chunk_of("a\\b\"c\nd\xff€\x1b[31m", "f", 5, 1, 0);
    append(run, &chunk);
    roast_sink *text = text_of(run, "\"\n", false);
    assert_line("roastcoffea_dataset_total_events{run=\"\\\"\\n\",dataset=\"a\\\\b\\\"c\\nd"
                "\xef\xbf\xbd€\\\\x1b[31m\"} 5",
                text);
    roast_sink_free(text);
    roast_run_free(run);
}

static void test_a_run_without_anything(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_sink *text = text_of(run, "", true);
    assert_has(true, "# TYPE roastcoffea_run info\n", text, __LINE__);
    assert_no_line("wall_time", text);
    assert_line("# EOF", text);
    roast_sink_free(text);
    roast_run_free(run);
}

/* A family stands in one place, and no two of them have one name. */
static void test_families_stand_together(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_sink *text = text_of(run, "r", true);
    const char *seen[2000];
    size_t n_seen = 0;
    for (const char *at = roast_sink_memory(text).data; (at = strstr(at, "# TYPE ")) != NULL;
         at++) {
        size_t len = strcspn(at, "\n");
        for (size_t i = 0; i < n_seen; i++)
            if (strncmp(seen[i], at, len + 1) == 0)
                fail_msg("twice: %.*s", (int)len, at);
        assert_true(n_seen < sizeof seen / sizeof *seen);
        seen[n_seen++] = at;
    }
    assert_true(n_seen > 80);
    roast_sink_free(text);
    roast_run_free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics_of_a_run),
        cmocka_unit_test(test_budget_and_findings),
        cmocka_unit_test(test_tables_of_a_run),
        cmocka_unit_test(test_workers_over_time),
        cmocka_unit_test(test_labels_are_escaped),
        cmocka_unit_test(test_a_run_without_anything),
        cmocka_unit_test(test_families_stand_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
