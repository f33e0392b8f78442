#include "run_sample.h"

#include <stdlib.h>

#include "analyse/diagnose/internal.h"
#include "roast/export.h"

static roast_sink *new_sink(void) {
    roast_error err;
    roast_sink *sink = NULL;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    return sink;
}

/* The text, with a terminator; freed with the sink. */
static roast_sink *text_of(const roast_run *run, const char *name, roast_exposition form) {
    roast_error err;
    roast_metrics *metrics = compute(run);
    roast_findings *findings;
    roast_sink *sink = new_sink();
    assert_ok(roast_diagnose_run(run, metrics, &findings, &err), err);
    roast_openmetrics_write(metrics, findings, run, roast_str_of(name), form, sink);
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
    roast_sink *text = text_of(run, "today", ROAST_OPENMETRICS);
    assert_line("# TYPE roast_wall_time_seconds gauge", text);
    assert_line("# UNIT roast_wall_time_seconds seconds", text);
    assert_line("roast_wall_time_seconds{run=\"today\"} 10.0", text);
    assert_line("roast_total_events{run=\"today\"} 1000000", text);
    assert_line("# UNIT roast_cpu_time_seconds seconds", text);
    assert_line("# UNIT roast_peak_memory_bytes bytes", text);
    assert_has(true, "\n# HELP roast_wall_time_seconds Wall Time (wall_time): End of the run", text,
               __LINE__);
    assert_has(true, "roast_run_info{run=\"today\",version=\"", text, __LINE__);
    assert_has(true, ",processor=\"MyProc\"} 1\n", text, __LINE__);
    roast_str whole = roast_sink_memory(text);
    assert_memory_equal("\n# EOF\n", whole.data + whole.len - 8, 8);
    roast_sink_free(text);
    roast_run_free(run);
}

/* The value of a sample without further labels; NaN where it is not there. */
static double sample_of(roast_sink *text, const char *name) {
    char line[200];
    snprintf(line, sizeof line, "\n%s{run=\"r\"} ", name);
    const char *at = strstr(roast_sink_memory(text).data, line);
    return at != NULL ? strtod(at + strlen(line), NULL) : (double)NAN;
}

/* No name has another unit than a base unit, and the value is in it. */
static void test_base_units(void **state) {
    (void)state;
    static const struct {
        const char *key, *name;
        double times;
    } cases[] = {
        {"data_rate_gbps", "roast_data_rate_bytes_per_second", 125e6},
        {"data_rate_mbps", "roast_data_rate_bytes_per_second", 1e6},
        {"event_rate_wall_khz", "roast_event_rate_wall_hertz", 1e3},
        {"event_rate_core_hz", "roast_event_rate_core_hertz", 1},
        {"memory_utilization_avg_pct", "roast_memory_utilization_avg_ratio", 0.01},
        {"chunk_mem_delta_mean_mb", "roast_chunk_mem_delta_mean_bytes", 1e6},
        {"time_per_event_us_mean", "roast_time_per_event_mean_seconds", 1e-6},
        {"total_bytes_read_coffea", "roast_total_read_coffea_bytes", 1},
        {"efficiency_ratio", "roast_efficiency_ratio", 1},
        {"speedup_factor", "roast_speedup_factor", 1},
    };
    roast_run *run = full_run();
    roast_metrics *metrics = compute(run);
    roast_sink *text = text_of(run, "r", ROAST_OPENMETRICS_TABLES);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = roast_value_number(roast_metrics_get(metrics, cases[i].key));
        double shown = sample_of(text, cases[i].name);
        if (!(fabs(shown - value * cases[i].times) <= 1e-9 * fabs(shown)))
            fail_msg("%s: %g, not %g of %s", cases[i].name, shown, value, cases[i].key);
    }
    for (const char *at = roast_sink_memory(text).data; (at = strstr(at, "# TYPE ")) != NULL; at++)
        for (const char *const *unit =
                 (const char *const[]){"_mb ", "_gbps ", "_mbps ", "_khz ", "_hz ", "_pct ",
                                       "_percent ", "_s ", "_us ", "_us_", "_total ", "_count ",
                                       NULL};
             *unit != NULL; unit++) {
            const char *found = strstr(at, *unit);
            if (found != NULL && found < at + strcspn(at, "\n"))
                fail_msg("%.*s", (int)strcspn(at, "\n"), at);
        }
    roast_sink_free(text);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

/* What node_exporter reads: no comments but two, no type that it does not know, few labels. */
static void test_text_for_node_exporter(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_sink *text = text_of(run, "r", ROAST_PROMETHEUS);
    assert_line("roast_wall_time_seconds{run=\"r\"} 10.0", text);
    assert_has(true, "# TYPE roast_run_info gauge\n", text, __LINE__);
    assert_line("roast_dataset_total_events{run=\"r\",dataset=\"A\"} 400", text);
    assert_no_line("# UNIT", text);
    assert_no_line("# EOF", text);
    assert_no_line(" info\n", text);
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
    for (int i = 0; i < 2; i++) /* the second one has the same labels */
        assert_ok(roast_findings_add(findings,
                                     &(roast_finding){.kind = ROAST_FINDING_spilling,
                                                      .severity = ROAST_SEVERITY_warning,
                                                      .title = roast_str_of("It spills"),
                                                      .saving_core_seconds = 1.5 - i},
                                     &err),
                  err);
    roast_openmetrics_write(metrics, findings, run, roast_str_of("today"), ROAST_OPENMETRICS, text);
    roast_sink_write(text, "", 1);
    assert_line("# TYPE roast_budget_core_seconds gauge", text);
    assert_line("roast_budget_core_seconds{run=\"today\",part=\"read\"} 2.5", text);
    assert_line("roast_budget_core_seconds{run=\"today\",part=\"client\"} 9.5", text);
    assert_no_line("part=\"lost\"", text); /* not known */
    assert_line("roast_finding_saving_core_seconds{run=\"today\",kind=\"spilling\","
                "severity=\"warning\"} 1.5",
                text);
    assert_no_line("severity=\"warning\"} 0.5", text);
    roast_sink_free(text);
    text = new_sink();
    roast_openmetrics_write(metrics, NULL, run, roast_str_of("today"), ROAST_OPENMETRICS, text);
    roast_sink_write(text, "", 1);
    assert_no_line("roast_budget_core_seconds", text);
    roast_sink_free(text);
    roast_findings_free(findings);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

static void test_tables_of_a_run(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_sink *text = text_of(run, "r", ROAST_OPENMETRICS_TABLES);
    assert_line("roast_dataset_total_events{run=\"r\",dataset=\"A\"} 400", text);
    assert_line("roast_dataset_total_events{run=\"r\",dataset=\"\"} 400", text);
    assert_line("roast_section_number{run=\"r\",section=\"outer\",type=\"time\"} 2", text);
    assert_line("roast_section_total_bytes{run=\"r\",section=\"io\",type=\"bytes\"} 1000", text);
    assert_no_line("roast_section_total_bytes{run=\"r\",section=\"outer\"", text);
    assert_line("roast_file_total_tree_bytes{run=\"r\",file=\"f1\"} 2000", text);
    assert_line("roast_worker_samples{run=\"r\",worker=\"tcp://worker:0\"} 5", text);
    assert_no_line("roast_tracked_", text);
    roast_sink_free(text);
    roast_run_free(run);
}

/* Of a run with many datasets, which may have the name of the rest. */
static void test_labels_are_few_unless_asked_for(void **state) {
    (void)state;
    roast_run *run = full_run();
    for (int i = 0; i < ROAST_TALLY_DATASETS + 20; i++) {
        char name[20];
        snprintf(name, sizeof name, i == 5 ? ROAST_TALLY_OTHERS : "dataset %d", i);
        roast_chunk chunk = chunk_of(name, "f", 5, 1, 0);
        append(run, &chunk);
    }
    static const roast_exposition forms[] = {ROAST_OPENMETRICS, ROAST_PROMETHEUS};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        roast_sink *text = text_of(run, "r", forms[i]);
        size_t count = 0;
        for (const char *at = roast_sink_memory(text).data;
             (at = strstr(at, "\nroast_dataset_total_events{")) != NULL; at++)
            count++;
        assert_int_equal(ROAST_TALLY_DATASETS + 1, count);
        assert_line("roast_dataset_total_events{run=\"r\",dataset=\"A\"} 400", text);
        assert_no_line("dataset=\"dataset 119\"", text);
        /* 5 events of each of 22, and the 400 of no dataset. */
        assert_line("roast_dataset_total_events{run=\"r\",dataset=\"(others)\"} 510", text);
        assert_no_line("roast_dataset_mean_duration_seconds{run=\"r\",dataset=\"(others)\"", text);
        for (const char *const *noun = (const char *const[]){"file=", "branch=", "worker=",
                                                             "section=", "task=", "storage=", NULL};
             *noun != NULL; noun++)
            assert_no_line(*noun, text);
        roast_sink_free(text);
    }
    roast_sink *text = text_of(run, "r", ROAST_OPENMETRICS_TABLES);
    assert_line("roast_dataset_total_events{run=\"r\",dataset=\"dataset 119\"} 5", text);
    roast_sink_free(text);
    roast_run_free(run);
}

static void test_workers_over_time(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_sink *text = text_of(run, "r", ROAST_OPENMETRICS_SAMPLES);
    assert_line("# TYPE roast_tracked_worker_memory_bytes gauge", text);
    assert_line("roast_tracked_worker_memory_bytes{run=\"r\",worker=\"tcp://worker:0\"} 100000000 "
                "1700000000.123456789",
                text);
    assert_line("roast_tracked_worker_cpu_ratio{run=\"r\",worker=\"tcp://worker:9\"} 0.8 "
                "1700000001.123456789",
                text);
    assert_no_line("roast_tracked_worker_bytes", text); /* was not looked at */
    roast_sink_free(text);
    roast_run_free(run);
}

static void test_labels_are_escaped(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_chunk chunk = chunk_of("a\\b\"c\nd\xff€\x1b[31m", "f", 5, 1, 0);
    append(run, &chunk);
    roast_sink *text = text_of(run, "\"\n", ROAST_OPENMETRICS);
    assert_line("roast_dataset_total_events{run=\"\\\"\\n\",dataset=\"a\\\\b\\\"c\\nd"
                "\xef\xbf\xbd€\\\\x1b[31m\"} 5",
                text);
    roast_sink_free(text);
    roast_run_free(run);
}

static void test_a_run_without_anything(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_sink *text = text_of(run, "", ROAST_OPENMETRICS_SAMPLES);
    assert_has(true, "# TYPE roast_run info\n", text, __LINE__);
    assert_no_line("wall_time", text);
    assert_line("# EOF", text);
    roast_sink_free(text);
    roast_run_free(run);
}

/* ---- runs that go on ---- */

static void count_chunk(roast_tally *tally, const char *dataset, bool failed) {
    roast_error err;
    roast_run *run = new_run();
    roast_chunk chunk = chunk_of(dataset, "f", 5, 1, 0);
    if (failed)
        chunk.error_type = roast_str_of("ValueError");
    append(run, &chunk);
    assert_ok(roast_tally_add(tally, roast_run_chunks_view(run), &err), err);
    roast_run_free(run);
}

static const roast_live_run nothing_known = {
#define X(id) .id = NAN,
    ROAST_LIVE_GAUGES(X)
#undef X
};

static void test_runs_that_go_on(void **state) {
    (void)state;
    roast_error err;
    roast_tally *tally;
    roast_sink *text = new_sink();
    assert_ok(roast_tally_new(&tally, &err), err);
    count_chunk(tally, "A", false);
    count_chunk(tally, "A", false);
    count_chunk(tally, "A", true);
    count_chunk(tally, "\"B\"", false);
    roast_live_run runs[2] = {nothing_known, nothing_known};
    runs[0].name = roast_str_of("one");
    runs[0].tally = tally;
    runs[0].run_open = 1;
    runs[0].memory = 3e9;
    runs[1].name = roast_str_of("two");
    runs[1].run_open = 0;
    runs[1].run_start_time = 1700000000.5;
    roast_prometheus_live(runs, 2, text);
    roast_sink_write(text, "", 1);
    assert_line("# TYPE roast_chunks_total counter", text);
    assert_line("roast_chunks_total{run=\"one\",dataset=\"A\",outcome=\"done\"} 2", text);
    assert_line("roast_chunks_total{run=\"one\",dataset=\"A\",outcome=\"failed\"} 1", text);
    assert_line("roast_chunks_total{run=\"one\",dataset=\"\\\"B\\\"\",outcome=\"done\"} 1", text);
    assert_line("roast_events_total{run=\"one\",dataset=\"A\"} 10", text);
    assert_line("roast_process_seconds_total{run=\"one\",dataset=\"A\"} 2.0", text);
    assert_line("roast_run_open{run=\"one\"} 1\nroast_run_open{run=\"two\"} 0", text);
    assert_line("roast_run_start_time_seconds{run=\"two\"} 1700000000.5", text);
    assert_line("roast_cluster_memory_bytes{run=\"one\"} 3000000000", text);
    assert_no_line("roast_cluster_workers", text); /* not known */
    assert_no_line("{run=\"two\",dataset", text);
    roast_sink_free(text);
    text = new_sink();
    roast_prometheus_live(NULL, 0, text);
    assert_int_equal(0, roast_sink_count(text));
    roast_sink_free(text);
    roast_tally_free(tally);
}

/* A family stands in one place, and no two of them have one name. */
static void test_families_stand_together(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_sink *text = text_of(run, "r", ROAST_OPENMETRICS_TABLES | ROAST_OPENMETRICS_SAMPLES);
    roast_live_run live = {.name = roast_str_of("r")};
    roast_sink *more = new_sink();
    roast_prometheus_live(&live, 1, more); /* at the end of a run both are in one file */
    roast_str whole = roast_sink_memory(text);
    roast_sink *both = new_sink();
    roast_sink_write(both, whole.data, strlen(whole.data));
    roast_sink_str(both, roast_sink_memory(more));
    roast_sink_write(both, "", 1);
    roast_sink_free(text);
    roast_sink_free(more);
    text = both;
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
        cmocka_unit_test(test_base_units),
        cmocka_unit_test(test_text_for_node_exporter),
        cmocka_unit_test(test_runs_that_go_on),
        cmocka_unit_test(test_budget_and_findings),
        cmocka_unit_test(test_tables_of_a_run),
        cmocka_unit_test(test_labels_are_few_unless_asked_for),
        cmocka_unit_test(test_workers_over_time),
        cmocka_unit_test(test_labels_are_escaped),
        cmocka_unit_test(test_a_run_without_anything),
        cmocka_unit_test(test_families_stand_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
