/* Comparisons of made runs, whose differences are known. */
#include "support.h"

#include <math.h>
#include <stdlib.h>

#include "roast/compare_tables.h"

/* ---- runs ---- */

/* A run of chunks that take some 0.1 s before process() and some 1 s in it: 0.5 s in "selection", 0.3 s in "jets". */
typedef struct plan {
    uint64_t seed;
    int chunks;          /* of each of three datasets */
    int events;          /* of a chunk */
    double noise;        /* spread of the times of a chunk */
    double selection;    /* factor of the section, in the dataset "ttbar" */
    double all_sections; /* of "selection" in all datasets */
    double slow_file;    /* factor of all times of one file */
    double before;       /* factor */
    double all;          /* factor of everything */
    int datasets;        /* 0: all three */
} plan;

/* splitmix64: neighbouring seeds give unrelated numbers. */
static double next_random(uint64_t *seed) {
    uint64_t mixed = *seed += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    mixed ^= mixed >> 31;
    return (double)((mixed >> 11) + 1) / 9007199254740994.0;
}

static double noise(uint64_t *seed, double spread) {
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += next_random(seed);
    return exp(spread * (sum - 6));
}

static double or_1(double factor) {
    return factor > 0 ? factor : 1;
}

#define HAVE_CHUNK                                                                                 \
    (ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns) | ROAST_CHUNK_HAS(num_events) |      \
     ROAST_CHUNK_HAS(entry_start) | ROAST_CHUNK_HAS(entry_stop) |                                  \
     ROAST_CHUNK_HAS(before_process_ns) | ROAST_CHUNK_HAS(cpu_user_ns) |                           \
     ROAST_CHUNK_HAS(cpu_system_ns))

/* `free` is when each of the two workers has time for the next chunk, in seconds. */
static void add_chunk(roast_run *run, const plan *from, int dataset, int index, uint64_t *seed,
                      double free[2]) {
    static const char *const names[] = {"ttbar", "wjets", "data"};
    char file[64];
    int per_file = 5, in_file = index % per_file;
    snprintf(file, sizeof file, "%s_%d.root", names[dataset], index / per_file);
    double scale = from->events / 1000.0 * or_1(from->all);
    if (dataset == 0 && index / per_file == 1)
        scale *= or_1(from->slow_file);
    double selection = 0.5 * scale * noise(seed, from->noise) * or_1(from->all_sections);
    if (dataset == 0)
        selection *= or_1(from->selection);
    double jets = 0.3 * scale * noise(seed, from->noise);
    double rest = 0.2 * scale * noise(seed, from->noise);
    double before = 0.1 * or_1(from->all) * or_1(from->before) * noise(seed, from->noise);
    const roast_section sections[] = {
        {roast_str_of("outer"), ROAST_SECTION_TIME, -1, 1, 0, (int64_t)((selection + jets) * 1e9),
         0},
        {roast_str_of("selection"), ROAST_SECTION_TIME, 0, 1, 0, (int64_t)(selection * 1e9), 0},
        {roast_str_of("memory"), ROAST_SECTION_MEMORY, 0, 1, 0, 1000, 1000},
        {roast_str_of("jets"), ROAST_SECTION_TIME, 0, 1, 0, (int64_t)(jets * 1e9), 0},
    };
    const roast_read read = {roast_str_of("Jet_pt"), (int64_t)(jets / 2 * 1e9), 1000, 2000, 1};
    int64_t process = (int64_t)((selection + jets + rest) * 1e9);
    double start = free[index % 2] + before;
    free[index % 2] = start + selection + jets + rest;
    roast_chunk chunk = {.have = HAVE_CHUNK,
                         .start_us = (int64_t)(start * 1e6),
                         .duration_ns = process,
                         .cpu_user_ns = process / 2,
                         .cpu_system_ns = process / 10,
                         .before_process_ns = (int64_t)(before * 1e9),
                         .num_events = from->events,
                         .entry_start = (int64_t)in_file * from->events,
                         .entry_stop = (int64_t)(in_file + 1) * from->events,
                         .token = 1,
                         .seq = (uint64_t)(dataset * 1000000 + index),
                         .worker = roast_str_of(index % 2 == 0 ? "w0" : "w1"),
                         .host = roast_str_of("node1"),
                         .dataset = roast_str_of(names[dataset]),
                         .file = roast_str_of(file),
                         .n_sections = 4,
                         .sections = sections,
                         .has_reads = true,
                         .n_reads = 1,
                         .reads = &read};
    roast_error err;
    assert_ok(roast_chunklog_append(roast_run_chunks(run), &chunk, &err), err);
}

static void add_worker(roast_run *run, const char *name) {
    roast_series *series = roast_run_series(run);
    uint32_t worker;
    roast_error err;
    assert_ok(roast_series_worker(series, roast_str_of(name), &worker, &err), err);
    assert_ok(roast_series_change(series, worker, ROAST_WORKER_JOINED,
                                  (roast_utc){1000 * INT64_C(1000000000)}, 1, &err),
              err);
}

static roast_run *make_run(const plan *from) {
    roast_run *run;
    roast_error err;
    uint64_t seed = from->seed * 7919 + 1;
    double free[2] = {1000, 1000};
    int datasets = from->datasets > 0 ? from->datasets : 3;
    assert_ok(roast_run_new(&run, &err), err);
    for (int dataset = 0; dataset < datasets; dataset++)
        for (int i = 0; i < from->chunks; i++)
            add_chunk(run, from, dataset, i, &seed, free);
    int64_t chunks = (int64_t)datasets * from->chunks;
    roast_run_set_clock(run, 1000, fmax(free[0], free[1]));
    add_worker(run, "w0");
    add_worker(run, "w1");
    roast_run_set_report(run, &(roast_report){.have_entries = true,
                                              .have_chunks = true,
                                              .entries = chunks * from->events,
                                              .chunks = chunks});
    char size[32];
    snprintf(size, sizeof size, "%d", from->events);
    assert_ok(roast_run_set_meta(run, roast_str_of("chunksize"), roast_str_of(size), &err), err);
    assert_ok(roast_run_set_meta(run, roast_str_of("processor"), roast_str_of("P"), &err), err);
    return run;
}

static roast_status add_run(roast_comparison *comparison, unsigned side, const roast_run *run,
                            roast_error *err) {
    roast_metrics *metrics;
    roast_findings *findings;
    ROAST_TRY(roast_metrics_compute(run, &metrics, err));
    roast_status status = roast_diagnose_run(run, metrics, &findings, err);
    if (status == ROAST_OK) {
        status = roast_comparison_add(comparison, side, roast_str_of(side == 0 ? "a" : "b"), run,
                                      metrics, findings, err);
        roast_findings_free(findings);
    }
    roast_metrics_free(metrics);
    return status;
}

static void add_plan(roast_comparison *comparison, unsigned side, const plan *from) {
    roast_error err;
    roast_run *run = make_run(from);
    assert_ok(add_run(comparison, side, run, &err), err);
    roast_run_free(run);
}

static roast_comparison *compare(const plan *a, const plan *b) {
    roast_comparison *comparison;
    roast_error err;
    assert_ok(roast_comparison_new(&comparison, &err), err);
    add_plan(comparison, ROAST_SIDE_A, a);
    add_plan(comparison, ROAST_SIDE_B, b);
    assert_ok(roast_comparison_finish(comparison, &err), err);
    return comparison;
}

#define USUAL .chunks = 60, .events = 1000, .noise = 0.1

/* ---- the answer ---- */

static const roast_change *first_cause(const roast_comparison *comparison) {
    uint32_t count;
    const roast_change *causes = roast_comparison_causes(comparison, &count);
    assert_true(count > 0);
    return causes;
}

static void expect_cause(const roast_comparison *comparison, roast_change_kind kind,
                         const char *name, const char *dataset) {
    const roast_change *cause = first_cause(comparison);
    assert_string_equal(roast_change_kind_name(kind), roast_change_kind_name(cause->kind));
    assert_str(name, cause->name);
    if (dataset == NULL)
        assert_null(cause->dataset.data);
    else
        assert_str(dataset, cause->dataset);
}

static const roast_change *figure(const roast_comparison *comparison, const char *name) {
    uint32_t count;
    const roast_change *figures = roast_comparison_figures(comparison, &count);
    for (uint32_t i = 0; i < count; i++)
        if (roast_str_equal(figures[i].name, roast_str_of(name)))
            return &figures[i];
    return NULL;
}

/* A section that became slower in one dataset is named first. */
static void test_a_section_of_a_dataset(void **state) {
    (void)state;
    const double factors[] = {1.1, 1.2, 1.5};
    for (int i = 0; i < 3; i++) {
        roast_comparison *comparison =
            compare(&(plan){USUAL, .seed = 1},
                    &(plan){USUAL, .seed = 2 + (uint64_t)i, .selection = factors[i]});
        uint64_t pairs;
        assert_true(roast_comparison_is_paired(comparison, &pairs));
        assert_int_equal(180, pairs);
        expect_cause(comparison, ROAST_CHANGE_section, "selection", "ttbar");
        const roast_change *cause = first_cause(comparison);
        assert_true(cause->low < factors[i] && factors[i] < cause->high);
        assert_int_equal(ROAST_LIKELIHOOD_more, cause->verdict);
        roast_comparison_free(comparison);
    }
}

static void test_where_it_is(void **state) {
    (void)state;
    roast_comparison *comparison =
        compare(&(plan){USUAL, .seed = 1}, &(plan){USUAL, .seed = 2, .all_sections = 0.7});
    expect_cause(comparison, ROAST_CHANGE_section, "selection", NULL);
    assert_int_equal(ROAST_LIKELIHOOD_less, roast_comparison_cost(comparison)->verdict);
    roast_comparison_free(comparison);
    comparison = compare(&(plan){USUAL, .seed = 1}, &(plan){USUAL, .seed = 2, .slow_file = 3});
    expect_cause(comparison, ROAST_CHANGE_file, "ttbar_1.root", NULL);
    roast_comparison_free(comparison);
    comparison = compare(&(plan){USUAL, .seed = 1}, &(plan){USUAL, .seed = 2, .before = 4});
    expect_cause(comparison, ROAST_CHANGE_phase, "before process()", NULL);
    const roast_change *before = figure(comparison, "before");
    assert_true(before->low < 4 && 4 < before->high);
    assert_int_equal(ROAST_LIKELIHOOD_chance, figure(comparison, "process")->verdict);
    roast_comparison_free(comparison);
}

/* The same run again: 200 times; at most one in twenty may look different. */
static void test_no_difference(void **state) {
    (void)state;
    int alarms = 0;
    for (uint64_t i = 0; i < 200; i++) {
        roast_comparison *comparison =
            compare(&(plan){.chunks = 20, .events = 1000, .noise = 0.1, .seed = 1000 + i},
                    &(plan){.chunks = 20, .events = 1000, .noise = 0.1, .seed = 5000 + i});
        alarms += roast_comparison_cost(comparison)->verdict != ROAST_LIKELIHOOD_chance;
        roast_comparison_free(comparison);
    }
    assert_true(alarms <= 10);
}

/* ---- runs of different work ---- */

static void test_other_chunks(void **state) {
    (void)state;
    roast_comparison *comparison = compare(
        &(plan){USUAL, .seed = 1}, &(plan){.chunks = 20, .events = 3000, .noise = 0.1, .seed = 2});
    uint64_t chunks;
    uint32_t count;
    assert_false(roast_comparison_is_paired(comparison, &chunks));
    assert_int_equal(60, chunks);
    /* 1 s per 1,000 events in both; 0.1 s before process() per chunk. */
    const roast_change *process = figure(comparison, "process");
    assert_true(process->low < 1 && 1 < process->high);
    const roast_change *before = figure(comparison, "before");
    assert_true(before->low < 1 / 3.0 && 1 / 3.0 < before->high);
    const roast_condition *conditions = roast_comparison_conditions(comparison, &count);
    assert_int_equal(1, count);
    assert_str("Chunk Size", conditions[0].what);
    assert_str("1000", conditions[0].a);
    assert_str("3000", conditions[0].b);
    assert_non_null(conditions[0].follows.data);
    roast_comparison_free(comparison);
}

/* Other chunks, and one file that is slow no more: the file is named, not its dataset. */
static void test_other_chunks_of_a_file(void **state) {
    (void)state;
    roast_comparison *comparison =
        compare(&(plan){.chunks = 20, .events = 3000, .noise = 0.1, .seed = 1, .slow_file = 4},
                &(plan){.chunks = 20, .events = 2500, .noise = 0.1, .seed = 2});
    expect_cause(comparison, ROAST_CHANGE_file, "ttbar_1.root", NULL);
    roast_comparison_free(comparison);
}

static void test_fewer_datasets(void **state) {
    (void)state;
    roast_comparison *comparison = compare(
        &(plan){USUAL, .seed = 1}, &(plan){USUAL, .seed = 2, .datasets = 2, .selection = 1.5});
    uint32_t count;
    uint64_t pairs;
    const roast_condition *conditions = roast_comparison_conditions(comparison, &count);
    assert_str("Datasets", conditions[0].what);
    assert_str("both have 2 of 3 datasets: the chunks of only these are compared",
               conditions[0].follows);
    assert_str("Events", conditions[1].what);
    assert_true(roast_comparison_is_paired(comparison, &pairs));
    assert_int_equal(120, pairs);
    expect_cause(comparison, ROAST_CHANGE_section, "selection", "ttbar");
    roast_comparison_free(comparison);
}

/* ---- several runs of a side ---- */

static void test_several_runs(void **state) {
    (void)state;
    roast_comparison *comparison;
    roast_error err;
    assert_ok(roast_comparison_new(&comparison, &err), err);
    for (uint64_t i = 0; i < 3; i++) {
        add_plan(comparison, ROAST_SIDE_A, &(plan){USUAL, .seed = 10 + i});
        add_plan(comparison, ROAST_SIDE_B, &(plan){USUAL, .seed = 20 + i, .all = 1.2});
    }
    assert_ok(roast_comparison_finish(comparison, &err), err);
    const roast_change *wall = figure(comparison, "wall_time");
    assert_int_equal(ROAST_LIKELIHOOD_more, wall->verdict);
    assert_true(wall->low < 1.2 && 1.2 < wall->high);
    assert_int_equal(3, roast_comparison_run_count(comparison, ROAST_SIDE_B));
    assert_str("b", roast_comparison_run_name(comparison, ROAST_SIDE_B, 2));
    assert_null(roast_comparison_run_name(comparison, ROAST_SIDE_B, 3).data);
    roast_comparison_free(comparison);
    comparison = compare(&(plan){USUAL, .seed = 1}, &(plan){USUAL, .seed = 2});
    wall = figure(comparison, "wall_time");
    assert_int_equal(ROAST_LIKELIHOOD_unknown, wall->verdict);
    assert_false(isnan(wall->ratio));
    roast_comparison_free(comparison);
}

/* ---- the gate ---- */

static void expect_gate(const roast_comparison *comparison, const char *condition, bool strict,
                        bool fails) {
    char why[ROAST_GATE_TEXT] = "";
    roast_error err;
    bool failed;
    assert_ok(
        roast_comparison_gate(comparison, roast_str_of(condition), strict, &failed, why, &err),
        err);
    assert_true(why[0] != '\0');
    if (failed != fails)
        fail_msg("%s: %s", condition, why);
}

static void test_gate(void **state) {
    (void)state;
    roast_comparison *comparison =
        compare(&(plan){USUAL, .seed = 1}, &(plan){USUAL, .seed = 2, .all_sections = 1.3});
    expect_gate(comparison, "section:selection>10%", false, true);
    expect_gate(comparison, "section:selection>50%", false, false);
    expect_gate(comparison, "section:jets>10%", true, false);
    expect_gate(comparison, "section:selection<-10%", false, false);
    expect_gate(comparison, "process>5%", false, true);
    /* One run of each side: the wall time has no interval. */
    expect_gate(comparison, "wall_time>-90%", false, false);
    expect_gate(comparison, "wall_time>-90%", true, true);
    expect_gate(comparison, "elapsed_time_seconds>-90%", true, true);
    expect_gate(comparison, "finding:spilling", false, false);
    static const char *const wrong[] = {"",
                                        "wall_time",
                                        "wall_time>",
                                        "wall_time>%",
                                        "wall_time>5",
                                        "wall_time>x%",
                                        ">5%",
                                        "section:none>5%",
                                        "finding:none",
                                        "no_such_thing>5%",
                                        "peak_memory_bytes>5%"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char why[ROAST_GATE_TEXT];
        roast_error err;
        bool failed;
        assert_status(ROAST_EINVAL, roast_comparison_gate(comparison, roast_str_of(wrong[i]), false,
                                                          &failed, why, &err));
        assert_true(err.message[0] != '\0');
    }
    roast_comparison_free(comparison);
}

/* ---- budget ---- */

static const roast_change *part(const roast_comparison *comparison, const char *name) {
    uint32_t count;
    const roast_change *parts = roast_comparison_budget(comparison, &count);
    for (uint32_t i = 0; i < count; i++)
        if (roast_str_equal(parts[i].name, roast_str_of(name)))
            return &parts[i];
    fail_msg("there is no part %s", name);
    return NULL;
}

/* Times before process() four times as long, and nothing else. */
static void test_budget(void **state) {
    (void)state;
    roast_comparison *comparison =
        compare(&(plan){.chunks = 60, .events = 1000, .seed = 1},
                &(plan){.chunks = 60, .events = 1000, .seed = 1, .before = 4});
    const roast_change *before = part(comparison, "before_process");
    assert_true(fabs(before->a - 18) < 0.01);
    assert_true(fabs(before->b - 72) < 0.01);
    assert_true(fabs(before->share - 1) < 0.01);
    assert_true(fabs(part(comparison, "available")->a - 198) < 0.01);
    assert_true(fabs(part(comparison, "read")->ratio - 1) < 0.01);
    roast_comparison_free(comparison);
    /* Other events: per event. */
    comparison = compare(&(plan){.chunks = 60, .events = 1000, .seed = 1},
                         &(plan){.chunks = 30, .events = 1000, .seed = 1});
    assert_true(fabs(part(comparison, "before_process")->a - 18 / 180000.0) < 1e-7);
    assert_true(fabs(part(comparison, "before_process")->ratio - 1) < 0.01);
    roast_comparison_free(comparison);
}

/* ---- findings ---- */

static bool has_finding(const roast_comparison *comparison, roast_finding_kind kind,
                        roast_finding_change change) {
    uint32_t count;
    const roast_changed_finding *findings = roast_comparison_findings(comparison, &count);
    for (uint32_t i = 0; i < count; i++)
        if (findings[i].kind == kind && findings[i].change == change)
            return findings[i].title.len > 0;
    return false;
}

static void test_findings(void **state) {
    (void)state;
    const plan usual = {USUAL, .seed = 1}, slow = {USUAL, .seed = 2, .slow_file = 6},
               slower = {USUAL, .seed = 3, .slow_file = 20};
    const roast_finding_kind kind = ROAST_FINDING_straggler_file;
    roast_comparison *comparison = compare(&usual, &slow);
    assert_true(has_finding(comparison, kind, ROAST_FINDING_new));
    expect_gate(comparison, "finding:straggler_file", false, true);
    roast_comparison_free(comparison);
    comparison = compare(&slow, &usual);
    assert_true(has_finding(comparison, kind, ROAST_FINDING_gone));
    expect_gate(comparison, "finding:straggler_file", false, false);
    roast_comparison_free(comparison);
    comparison = compare(&slow, &slower);
    assert_true(has_finding(comparison, kind, ROAST_FINDING_worse));
    roast_comparison_free(comparison);
}

/* ---- errors ---- */

static void test_states(void **state) {
    (void)state;
    roast_comparison *comparison;
    roast_error err;
    roast_run *run = make_run(&(plan){USUAL});
    assert_ok(roast_comparison_new(&comparison, &err), err);
    assert_status(ROAST_ESTATE, roast_comparison_finish(comparison, &err));
    assert_ok(add_run(comparison, ROAST_SIDE_A, run, &err), err);
    assert_status(ROAST_ESTATE, roast_comparison_finish(comparison, &err));
    assert_status(ROAST_EINVAL, add_run(comparison, 2, run, &err));
    assert_ok(add_run(comparison, ROAST_SIDE_B, run, &err), err);
    assert_ok(roast_comparison_finish(comparison, &err), err);
    assert_status(ROAST_ESTATE, add_run(comparison, ROAST_SIDE_B, run, &err));
    roast_comparison_free(comparison);
    roast_comparison_free(NULL);
    roast_run_free(run);
    assert_string_equal("unknown", roast_likelihood_name(ROAST_LIKELIHOOD_COUNT));
    assert_string_equal("unknown", roast_change_kind_name(ROAST_CHANGE_KIND_COUNT));
    assert_string_equal("unknown", roast_finding_change_name(ROAST_FINDING_CHANGES));
}

static roast_str json_of(roast_comparison *comparison, roast_sink **sink) {
    roast_error err;
    assert_ok(roast_comparison_finish(comparison, &err), err);
    assert_ok(roast_sink_new_memory(sink, &err), err);
    roast_comparison_json(comparison, *sink);
    assert_ok(roast_sink_finish(*sink, &err), err);
    return roast_sink_memory(*sink);
}

/* The run without its chunks, then these in several logs. */
static void add_in_parts(roast_comparison *comparison, unsigned side, const plan *from) {
    enum { ROWS = 7 };
    roast_error err;
    roast_run *run = make_run(from), *head = make_run(&(plan){.events = from->events});
    const roast_chunklog *log = roast_run_chunks_view(run);
    roast_metrics *metrics;
    roast_findings *findings;
    assert_ok(roast_metrics_compute(run, &metrics, &err), err);
    assert_ok(roast_diagnose_run(run, metrics, &findings, &err), err);
    assert_ok(roast_comparison_add(comparison, side, roast_str_of(side == 0 ? "a" : "b"), head,
                                   metrics, findings, &err),
              err);
    for (uint64_t at = 0, count = roast_chunklog_count(log); at < count; at += ROWS) {
        roast_chunklog *part;
        uint64_t rows = count - at < ROWS ? count - at : ROWS;
        assert_ok(roast_chunklog_new(&part, &err), err);
        assert_ok(roast_chunklog_merge_rows(part, log, at, rows, &err), err);
        assert_ok(roast_comparison_add_chunks(comparison, side, part, &err), err);
        roast_chunklog_free(part);
    }
    roast_findings_free(findings);
    roast_metrics_free(metrics);
    roast_run_free(head);
    roast_run_free(run);
}

static void test_in_parts(void **state) {
    (void)state;
    const plan plans[ROAST_SIDES] = {{USUAL, .seed = 1}, {USUAL, .seed = 2, .selection = 2}};
    roast_comparison *whole, *parts;
    roast_sink *sinks[2];
    roast_error err;
    assert_ok(roast_comparison_new(&whole, &err), err);
    assert_ok(roast_comparison_new(&parts, &err), err);
    assert_status(ROAST_ESTATE,
                  roast_comparison_add_chunks(parts, ROAST_SIDE_A, NULL, &err)); /* of no run */
    for (unsigned side = 0; side < ROAST_SIDES; side++) {
        add_plan(whole, side, &plans[side]);
        add_in_parts(parts, side, &plans[side]);
    }
    roast_str want = json_of(whole, &sinks[0]), got = json_of(parts, &sinks[1]);
    assert_int_equal(want.len, got.len);
    assert_memory_equal(want.data, got.data, want.len);
    assert_status(ROAST_ESTATE, roast_comparison_add_chunks(parts, ROAST_SIDE_A, NULL, &err));
    roast_sink_free(sinks[0]);
    roast_sink_free(sinks[1]);
    roast_comparison_free(whole);
    roast_comparison_free(parts);
}

/* Runs without chunks, and without anything. */
static void test_nothing_to_compare(void **state) {
    (void)state;
    char headline[ROAST_COMPARE_HEADLINE];
    roast_comparison *comparison = compare(&(plan){.chunks = 0}, &(plan){.chunks = 0});
    roast_comparison_headline(comparison, headline, sizeof headline);
    assert_string_equal("No chunk of B can be compared with one of A.", headline);
    roast_comparison_free(comparison);
}

/* ---- as tables ---- */

static void test_tables(void **state) {
    (void)state;
    char headline[ROAST_COMPARE_HEADLINE];
    roast_error err;
    roast_grid *grid;
    roast_comparison *comparison =
        compare(&(plan){USUAL, .seed = 1}, &(plan){USUAL, .seed = 2, .selection = 2});
    roast_comparison_headline(comparison, headline, sizeof headline);
    assert_non_null(strstr(headline, "more time per chunk than A"));
    assert_non_null(strstr(headline, "180 pairs of chunks"));
    assert_ok(roast_comparison_table(comparison, ROAST_COMPARE_causes, &grid, &err), err);
    assert_str("section selection in ttbar", roast_grid_text(grid, 0, 0));
    roast_grid_free(grid);
    assert_status(ROAST_EINVAL,
                  roast_comparison_table(comparison, ROAST_COMPARE_TABLE_COUNT, &grid, &err));
    roast_comparison_free(comparison);
}

typedef struct both {
    roast_run *runs[ROAST_SIDES];
} both;

static roast_status walk(void *context) {
    both *from = context;
    roast_comparison *comparison;
    roast_error err;
    roast_sink *sink;
    char why[ROAST_GATE_TEXT];
    bool failed;
    ROAST_TRY(roast_sink_new_count(&sink, &err));
    roast_status status = roast_comparison_new(&comparison, &err);
    if (status != ROAST_OK) {
        roast_sink_free(sink);
        return status;
    }
    status = add_run(comparison, ROAST_SIDE_A, from->runs[0], &err);
    if (status == ROAST_OK)
        status = add_run(comparison, ROAST_SIDE_B, from->runs[1], &err);
    if (status == ROAST_OK)
        status = roast_comparison_finish(comparison, &err);
    if (status == ROAST_OK)
        status = roast_comparison_draw(comparison, 80, false, sink, &err);
    if (status == ROAST_OK)
        roast_comparison_json(comparison, sink);
    if (status == ROAST_OK)
        status = roast_sink_finish(sink, &err);
    if (status == ROAST_OK)
        status = roast_comparison_gate(comparison, roast_str_of("section:selection>10%"), false,
                                       &failed, why, &err);
    roast_comparison_free(comparison);
    roast_sink_free(sink);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    both from = {{make_run(&(plan){.chunks = 8, .events = 1000, .noise = 0.1, .seed = 1}),
                  make_run(&(plan){.chunks = 8, .events = 1000, .noise = 0.1, .seed = 2})}};
    assert_true(alloc_walk(walk, &from) > 20);
    roast_run_free(from.runs[1]);
    from.runs[1] =
        make_run(&(plan){.chunks = 4, .events = 2000, .noise = 0.1, .seed = 3, .selection = 2});
    assert_true(alloc_walk(walk, &from) > 20);
    roast_run_free(from.runs[0]);
    roast_run_free(from.runs[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_section_of_a_dataset),
        cmocka_unit_test(test_where_it_is),
        cmocka_unit_test(test_no_difference),
        cmocka_unit_test(test_other_chunks),
        cmocka_unit_test(test_other_chunks_of_a_file),
        cmocka_unit_test(test_fewer_datasets),
        cmocka_unit_test(test_several_runs),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_in_parts),
        cmocka_unit_test(test_nothing_to_compare),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
