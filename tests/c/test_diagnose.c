/* Findings as a list, as bytes, and their thresholds; the diagnosis when memory is short. */
#include "diagnose_sample.h"

#include <stdlib.h>

#include "analyse/diagnose/internal.h"
#include "render/grid_internal.h"
#include "render/summary.h"

static roast_finding finding_of(roast_finding_kind kind, roast_severity severity, double saving) {
    return (roast_finding){.kind = kind,
                           .severity = severity,
                           .title = roast_str_of("title"),
                           .evidence = roast_str_of("what was seen"),
                           .advice = roast_str_of("what to do"),
                           .saving_core_seconds = saving,
                           .confidence = 0.5};
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal("chunks_too_small",
                        roast_finding_kind_name(ROAST_FINDING_chunks_too_small));
    assert_string_equal("unknown", roast_finding_kind_name(ROAST_FINDING_KIND_COUNT));
    assert_string_equal("", roast_finding_kind_why(ROAST_FINDING_KIND_COUNT));
    for (int kind = 0; kind < ROAST_FINDING_KIND_COUNT; kind++)
        assert_true(strlen(roast_finding_kind_why((roast_finding_kind)kind)) > 20);
    assert_string_equal("critical", roast_severity_name(ROAST_SEVERITY_critical));
    assert_string_equal("unknown", roast_severity_name(ROAST_SEVERITY_COUNT));
}

static void test_worst_first(void **state) {
    (void)state;
    roast_error err;
    roast_findings *findings;
    assert_ok(roast_findings_new(&findings, &err), err);
    const roast_finding list[] = {
        finding_of(ROAST_FINDING_io_bound, ROAST_SEVERITY_note, 100),
        finding_of(ROAST_FINDING_spilling, ROAST_SEVERITY_warning, 1),
        finding_of(ROAST_FINDING_preload, ROAST_SEVERITY_warning, 3),
        finding_of(ROAST_FINDING_lost_work, ROAST_SEVERITY_critical, 0),
        finding_of(ROAST_FINDING_long_tail, ROAST_SEVERITY_warning, 3),
    };
    const roast_finding_kind order[] = {ROAST_FINDING_lost_work, ROAST_FINDING_long_tail,
                                        ROAST_FINDING_preload, ROAST_FINDING_spilling,
                                        ROAST_FINDING_io_bound};
    for (size_t i = 0; i < 5; i++)
        assert_ok(roast_findings_add(findings, &list[i], &err), err);
    assert_int_equal(5, roast_findings_count(findings));
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(order[i], roast_findings_at(findings, i)->kind);
    assert_null(roast_findings_at(findings, 5));
    assert_false(roast_findings_is_current(findings));
    roast_findings_free(findings);
    roast_findings_free(NULL);
}

static void test_no_findings(void **state) {
    (void)state;
    roast_error err;
    roast_findings *findings;
    assert_ok(roast_findings_new(&findings, &err), err);
    roast_finding bad = finding_of(ROAST_FINDING_KIND_COUNT, ROAST_SEVERITY_note, 1);
    assert_status(ROAST_EINVAL, roast_findings_add(findings, &bad, &err));
    bad = finding_of(ROAST_FINDING_preload, ROAST_SEVERITY_COUNT, 1);
    assert_status(ROAST_EINVAL, roast_findings_add(findings, &bad, &err));
    const double savings[] = {-1, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        bad = finding_of(ROAST_FINDING_preload, ROAST_SEVERITY_note, savings[i]);
        assert_status(ROAST_EINVAL, roast_findings_add(findings, &bad, &err));
    }
    bad = finding_of(ROAST_FINDING_preload, ROAST_SEVERITY_note, 1);
    bad.confidence = 1.5;
    assert_status(ROAST_EINVAL, roast_findings_add(findings, &bad, &err));
    assert_int_equal(0, roast_findings_count(findings));
    roast_findings_free(findings);
}

static void test_long_texts_are_cut(void **state) {
    (void)state;
    roast_error err;
    roast_findings *findings;
    static char text[2 * ROAST_MAX_FINDING_TEXT];
    assert_ok(roast_findings_new(&findings, &err), err);
    for (size_t i = 0; i + 1 < sizeof text; i += 2) /* two bytes each, from an odd place on */
        memcpy(text + i, "\xc3\xa4", 2);
    text[0] = 'a';
    memmove(text + 1, text + 2, sizeof text - 2);
    roast_finding finding = finding_of(ROAST_FINDING_preload, ROAST_SEVERITY_note, 1);
    finding.title = (roast_str){text, sizeof text - 1};
    finding.advice = (roast_str){NULL, 0};
    assert_ok(roast_findings_add(findings, &finding, &err), err);
    const roast_finding *kept = roast_findings_at(findings, 0);
    assert_int_equal(ROAST_MAX_FINDING_TEXT - 1, kept->title.len);
    assert_str("", kept->advice);
    finding.title = roast_str_of("short");
    for (uint32_t i = 1; i < ROAST_MAX_FINDINGS; i++)
        assert_ok(roast_findings_add(findings, &finding, &err), err);
    assert_status(ROAST_ELIMIT, roast_findings_add(findings, &finding, &err));
    roast_findings_free(findings);
}

/* ---- packed ---- */

static void slow_and_lost(piece *p) {
    if (p->worker == 2) {
        p->duration *= 2.5;
        p->cpu *= 2.5;
    }
    p->fails = p->index % 10 == 0;
    p->n_sections = 1;
    p->sections[0] = "loop";
    p->section_times[0] = p->duration * 0.9;
}

static const scene busy_scene = {
    .workers = 4, .threads = 1, .chunks = 80, .peak_memory = 3.5e9, .change = slow_and_lost};

static roast_str pack(const roast_findings *findings, roast_sink **sink) {
    roast_error err;
    assert_ok(roast_sink_new_memory(sink, &err), err);
    assert_ok(roast_findings_encode(findings, *sink, &err), err);
    return roast_sink_memory(*sink);
}

static void test_round_trip(void **state) {
    (void)state;
    roast_error err;
    roast_sink *sink;
    roast_run *run = play(&busy_scene);
    roast_findings *findings = diagnose(run), *again;
    assert_true(roast_findings_count(findings) >= 3);
    assert_true(roast_findings_is_current(findings));
    roast_str bytes = pack(findings, &sink);
    assert_ok(roast_findings_decode(bytes.data, bytes.len, &again, &err), err);
    assert_true(roast_findings_is_current(again));
    assert_int_equal(roast_findings_count(findings), roast_findings_count(again));
    for (uint32_t i = 0; i < roast_findings_count(findings); i++) {
        const roast_finding *a = roast_findings_at(findings, i), *b = roast_findings_at(again, i);
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->severity, b->severity);
        assert_true(roast_str_equal(a->title, b->title));
        assert_true(roast_str_equal(a->evidence, b->evidence));
        assert_true(roast_str_equal(a->advice, b->advice));
        assert_true(a->saving_core_seconds == b->saving_core_seconds);
        assert_true(a->confidence == b->confidence);
    }
    const roast_budget_row *a = roast_findings_budget(findings), *b = roast_findings_budget(again);
    assert_non_null(a);
    assert_non_null(b);
    assert_memory_equal(a->parts, b->parts, sizeof a->parts);
    assert_true(a->available == b->available && a->available > 0);
    assert_true(a->offcpu_rest == b->offcpu_rest && isnan(b->offcpu_io));
    roast_findings_free(again);
    roast_findings_free(findings);
    roast_sink_free(sink);
    roast_run_free(run);
}

static void test_by_hand_is_not_current(void **state) {
    (void)state;
    roast_error err;
    roast_sink *sink;
    roast_findings *findings, *again;
    const roast_finding finding = finding_of(ROAST_FINDING_preload, ROAST_SEVERITY_note, 1);
    assert_ok(roast_findings_new(&findings, &err), err);
    assert_ok(roast_findings_add(findings, &finding, &err), err);
    assert_null(roast_findings_budget(findings));
    roast_str bytes = pack(findings, &sink);
    assert_ok(roast_findings_decode(bytes.data, bytes.len, &again, &err), err);
    assert_null(roast_findings_budget(again));
    assert_false(roast_findings_is_current(again));
    assert_str("what to do", roast_findings_at(again, 0)->advice);
    roast_findings_free(again);
    roast_findings_free(findings);
    roast_sink_free(sink);
}

static void test_budget_by_hand(void **state) {
    (void)state;
    roast_error err;
    roast_findings *findings;
    const roast_budget_row row = {.name = roast_str_of("a name"), .available = 12};
    assert_ok(roast_findings_new(&findings, &err), err);
    roast_findings_set_budget(findings, &row);
    assert_near(12, roast_findings_budget(findings)->available);
    assert_null(roast_findings_budget(findings)->name.data);
    roast_findings_set_budget(findings, NULL);
    assert_null(roast_findings_budget(findings));
    roast_findings_free(findings);
}

static void test_damaged(void **state) {
    (void)state;
    roast_error err;
    roast_sink *sink;
    roast_findings *findings, *again = NULL;
    const roast_finding finding = finding_of(ROAST_FINDING_preload, ROAST_SEVERITY_note, 1);
    assert_ok(roast_findings_new(&findings, &err), err);
    assert_ok(roast_findings_add(findings, &finding, &err), err);
    roast_str bytes = pack(findings, &sink);
    char copy[512];
    assert_true(bytes.len < sizeof copy);
    for (size_t len = 0; len < bytes.len; len++) {
        assert_status(ROAST_ECORRUPT, roast_findings_decode(bytes.data, len, &again, &err));
        assert_true(err.message[0] != '\0');
    }
    for (size_t bit = 0; bit < bytes.len * 8; bit++) {
        memcpy(copy, bytes.data, bytes.len);
        copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
        assert_true(roast_findings_decode(copy, bytes.len, &again, &err) != ROAST_OK);
    }
    memcpy(copy, bytes.data, bytes.len);
    copy[4] = 2;
    assert_status(ROAST_EVERSION, roast_findings_decode(copy, bytes.len, &again, &err));
    assert_status(ROAST_ECORRUPT, roast_findings_decode(NULL, 0, &again, &err));
    assert_null(again);
    roast_findings_free(findings);
    roast_sink_free(sink);
}

/* ---- in the summary ---- */

static const scene busy_scene_of_two = {
    .workers = 2, .threads = 1, .chunks = 40, .no_attempts = true, .change = slow_and_lost};

static roast_summary *summary_of(const roast_run *run) {
    roast_error err;
    roast_metrics *metrics;
    roast_summary *summary;
    roast_findings *findings;
    assert_ok(roast_metrics_compute(run, &metrics, &err), err);
    assert_ok(roast_diagnose_run(run, metrics, &findings, &err), err);
    assert_ok(roast_summary_new(metrics, run, findings, &summary, &err), err);
    roast_findings_free(findings);
    roast_metrics_free(metrics);
    return summary;
}

static void test_in_the_summary(void **state) {
    (void)state;
    roast_run *run = play(&busy_scene);
    roast_findings *findings = diagnose(run);
    roast_summary *summary = summary_of(run);
    const roast_grid *grid = roast_summary_find(summary, "findings");
    assert_ptr_equal(grid, roast_summary_at(summary, 0));
    assert_int_equal(roast_findings_count(findings), roast_grid_row_count(grid));
    for (uint32_t i = 0; i < roast_findings_count(findings); i++) {
        const roast_finding *finding = roast_findings_at(findings, i);
        assert_str(roast_severity_name(finding->severity), roast_grid_text(grid, i, 0));
        assert_true(roast_str_equal(finding->title, roast_grid_text(grid, i, 1)));
        assert_true(roast_str_equal(finding->advice, roast_grid_text(grid, i, 2)));
    }
    assert_non_null(roast_grid_caption(grid).data);
    grid = roast_summary_find(summary, "budget");
    assert_str("Available", roast_grid_text(grid, 0, 0));
    assert_str("Preprocessing", roast_grid_text(grid, 1, 0));
    assert_str("Cold Start", roast_grid_text(grid, 2, 0));
    assert_str("Before process()", roast_grid_text(grid, 3, 0));
    uint32_t count;
    const roast_grid_value *value = roast_grid_values(grid, 3, 1, &count);
    assert_int_equal(1, count);
    assert_string_equal("before_process", value->key);
    assert_near(roast_findings_budget(findings)->parts[ROAST_PART_before_process],
                value->value.real);
    roast_summary_free(summary);
    roast_findings_free(findings);
    roast_run_free(run);
}

/* What nobody could tell is a dash, what did not happen is left out. */
static void test_unknown_parts(void **state) {
    (void)state;
    roast_run *run = play(&busy_scene_of_two);
    roast_summary *summary = summary_of(run);
    const roast_grid *grid = roast_summary_find(summary, "budget");
    bool after = false;
    for (uint32_t i = 0; i < roast_grid_row_count(grid); i++) {
        roast_str label = roast_grid_text(grid, i, 0);
        if (roast_str_equal(label, roast_str_of("After process()"))) {
            after = true;
            assert_str("-", roast_grid_text(grid, i, 1));
        }
        uint32_t count;
        const roast_grid_value *value = roast_grid_values(grid, i, 1, &count);
        assert_true(value->value.kind == ROAST_VALUE_NONE || value->value.real != 0);
    }
    assert_true(after);
    roast_summary_free(summary);
    roast_run_free(run);
}

/* Notes on the measurement stand below the tables anyway. */
static void test_notes_are_not_told_twice(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = play(&(scene){.workers = 4, .threads = 1, .chunks = 80});
    assert_ok(roast_run_add_note(run, roast_str_of("something is missing"), &err), err);
    roast_summary *summary = summary_of(run);
    assert_false(roast_grid_has_content(roast_summary_find(summary, "findings")));
    roast_summary_free(summary);
    roast_run_free(run);
}

/* ---- failing allocations ---- */

static roast_status explain_once(void *context) {
    roast_metrics *metrics = NULL;
    roast_summary *summary = NULL;
    roast_findings *findings = NULL;
    roast_status status = roast_metrics_compute(context, &metrics, NULL);
    if (status == ROAST_OK)
        status = roast_diagnose_run(context, metrics, &findings, NULL);
    if (status == ROAST_OK)
        status = roast_summary_new(metrics, context, findings, &summary, NULL);
    roast_findings_free(findings);
    roast_summary_free(summary);
    roast_metrics_free(metrics);
    return status;
}

static roast_status diagnose_once(void *context) {
    roast_findings *findings, *again;
    roast_metrics *metrics;
    roast_sink *sink = NULL;
    ROAST_TRY(roast_metrics_compute(context, &metrics, NULL));
    roast_status status = roast_diagnose_run(context, metrics, &findings, NULL);
    roast_metrics_free(metrics);
    if (status != ROAST_OK)
        return status;
    status = roast_sink_new_memory(&sink, NULL);
    if (status == ROAST_OK)
        status = roast_findings_encode(findings, sink, NULL);
    if (status == ROAST_OK) {
        roast_str bytes = roast_sink_memory(sink);
        status = roast_findings_decode(bytes.data, bytes.len, &again, NULL);
        if (status == ROAST_OK)
            roast_findings_free(again);
    }
    roast_sink_free(sink);
    roast_findings_free(findings);
    return status;
}

static void test_memory_is_short(void **state) {
    (void)state;
    roast_error err;
    const roast_departure departure = {.when = {(T0 + 20) * 1000000000}, .running = 1};
    roast_run *run = play(&busy_scene);
    assert_ok(roast_attempts_add_departure(roast_run_attempts(run), &departure, &err), err);
    assert_true(alloc_walk(diagnose_once, run) > 20);
    assert_true(alloc_walk(explain_once, run) > 50);
    roast_run_free(run);
}

/* ---- what there is to go by ---- */

static void test_without_a_budget(void **state) {
    (void)state;
    roast_error err;
    roast_metrics *metrics;
    roast_findings *findings;
    roast_run *run = play(&busy_scene);
    roast_run_set_clock(run, 0, 0);
    assert_ok(roast_metrics_compute(run, &metrics, &err), err);
    assert_ok(roast_diagnose_run(run, metrics, &findings, &err), err);
    assert_non_null(find_kind(findings, ROAST_FINDING_straggler_worker));
    assert_null(find_kind(findings, ROAST_FINDING_reduction_bound));
    roast_findings_free(findings);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

/* Nobody knows where the chunks ran: the budget takes them for idle time. */
static void test_budget_without_its_chunks(void **state) {
    (void)state;
    roast_run *run = play(&(scene){.workers = 2, .threads = 1, .chunks = 40, .no_attempts = true});
    roast_findings *findings = diagnose(run);
    assert_non_null(roast_findings_budget(findings));
    roast_findings_free(findings);
    roast_chunk chunk;
    roast_error err;
    roast_chunklog *log;
    roast_chunk_cursor cursor;
    assert_ok(roast_chunklog_new(&log, &err), err);
    roast_chunk_cursor_init(&cursor, roast_run_chunks_view(run));
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        chunk.worker = chunk.host = chunk.task_key = (roast_str){NULL, 0};
        chunk.pid = 0;
        chunk.n_branches = chunk.n_reads = chunk.n_sections = chunk.n_customs = 0;
        assert_ok(roast_chunklog_append(log, &chunk, &err), err);
    }
    roast_run_take_chunks(run, log);
    findings = diagnose(run);
    assert_null(roast_findings_budget(findings));
    assert_int_equal(0, roast_findings_count(findings));
    roast_findings_free(findings);
    roast_run_free(run);
}

static void test_empty_run(void **state) {
    (void)state;
    roast_error err;
    roast_run *run;
    assert_ok(roast_run_new(&run, &err), err);
    roast_findings *findings = diagnose(run);
    assert_int_equal(0, roast_findings_count(findings));
    roast_findings_free(findings);
    roast_run_free(run);
}

/* Names are data: they keep to one line, and a very long one is cut, which is said at its end. */
static void test_names_that_are_strange(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = run_of(100);
    char name[500];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    memcpy(name + 200, "a\nb\x1b[0m\xc3\xa4", 9);
    for (unsigned i = 0; i < 60; i++) {
        bool slow = i % 3 == 0;
        roast_chunk chunk = {.token = 1,
                             .seq = i,
                             .worker = slow ? roast_str_of(name) : roast_str_of("w"),
                             .file = roast_str_of("f"),
                             .dataset = roast_str_of("d"),
                             .start_us = us(i),
                             .duration_ns = slow ? 3000000000 : 1000000000,
                             .num_events = 100,
                             .have = ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns) |
                                     ROAST_CHUNK_HAS(num_events)};
        assert_ok(roast_chunklog_append(roast_run_chunks(run), &chunk, &err), err);
    }
    roast_findings *findings = diagnose(run);
    const roast_finding *found = find_kind(findings, ROAST_FINDING_straggler_worker);
    assert_non_null(found);
    assert_null(memchr(found->title.data, '\n', found->title.len));
    assert_true(found->title.len < 400);
    assert_memory_equal("Worker xxx", found->title.data, 10);
    char title[400];
    memcpy(title, found->title.data, found->title.len);
    title[found->title.len] = '\0';
    assert_non_null(strstr(title, "x… is "));
    roast_findings_free(findings);
    roast_run_free(run);
}

/* The title has the end of a long path, which tells files apart; the whole path is among the evidence. */
static void test_the_path_of_a_slow_file(void **state) {
    (void)state;
    static const char folder[] = "root://xrootd.example.org//store/user/somebody/a_long_name/2024/";
    roast_error err;
    roast_run *run = run_of(200);
    for (unsigned i = 0; i < 80; i++) {
        bool slow = i % 8 == 7;
        char path[120];
        snprintf(path, sizeof path, "%snano_%u.root", folder, i % 8);
        roast_chunk chunk = {.token = 1,
                             .seq = i,
                             .worker = roast_str_of("w"),
                             .file = roast_str_of(path),
                             .dataset = roast_str_of("d"),
                             .start_us = us(i),
                             .duration_ns = slow ? 6000000000 : 1000000000 + i * 1000000,
                             .num_events = 100,
                             .have = ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns) |
                                     ROAST_CHUNK_HAS(num_events)};
        assert_ok(roast_chunklog_append(roast_run_chunks(run), &chunk, &err), err);
    }
    roast_findings *findings = diagnose(run);
    const roast_finding *found = find_kind(findings, ROAST_FINDING_straggler_file);
    assert_non_null(found);
    assert_true(mentions(found->title, "File nano_7.root takes "));
    assert_true(mentions(found->evidence, " Its path is root://xrootd.example.org//store/user/"
                                          "somebody/a_long_name/2024/nano_7.root."));
    roast_findings_free(findings);
    roast_run_free(run);
}

/* ---- documentation ---- */

static char *read_page(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static char page[1 << 16];
    size_t len = fread(page, 1, sizeof page - 1, file);
    fclose(file);
    page[len] = '\0';
    return page;
}

/* The page has a row and a section for each kind, and a row for each threshold, as they are. */
static void test_the_page_is_up_to_date(void **state) {
    (void)state;
    const char *page = read_page("docs/findings.md");
    char row[1024];
    for (int kind = 0; kind < ROAST_FINDING_KIND_COUNT; kind++) {
        snprintf(row, sizeof row, "| `%s` | %s |",
                 roast_finding_kind_name((roast_finding_kind)kind),
                 roast_finding_kind_why((roast_finding_kind)kind));
        if (strstr(page, row) == NULL)
            fail_msg("docs/findings.md has no row \"%s\"", row);
        snprintf(row, sizeof row, "\n### %s\n\n",
                 roast_finding_kind_name((roast_finding_kind)kind));
        if (strstr(page, row) == NULL)
            fail_msg("docs/findings.md has no section \"%s\"", row + 1);
    }
    assert_true(roast_threshold_count() > 40);
    assert_null(roast_threshold_at(roast_threshold_count()));
    for (uint32_t i = 0; i < roast_threshold_count(); i++) {
        const roast_threshold *threshold = roast_threshold_at(i);
        snprintf(row, sizeof row, "| `%s` | %g | %s |", threshold->name, threshold->value,
                 threshold->reason);
        if (strstr(page, row) == NULL)
            fail_msg("docs/findings.md has no row \"%s\"", row);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_worst_first),
        cmocka_unit_test(test_no_findings),
        cmocka_unit_test(test_long_texts_are_cut),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_by_hand_is_not_current),
        cmocka_unit_test(test_budget_by_hand),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_in_the_summary),
        cmocka_unit_test(test_unknown_parts),
        cmocka_unit_test(test_notes_are_not_told_twice),
        cmocka_unit_test(test_memory_is_short),
        cmocka_unit_test(test_without_a_budget),
        cmocka_unit_test(test_budget_without_its_chunks),
        cmocka_unit_test(test_empty_run),
        cmocka_unit_test(test_names_that_are_strange),
        cmocka_unit_test(test_the_path_of_a_slow_file),
        cmocka_unit_test(test_the_page_is_up_to_date),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
