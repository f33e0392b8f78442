/* The rules of the diagnosis: each with a run that it must find, and one that looks alike and must not be. */
#include "diagnose_sample.h"

#define HEALTHY .workers = 4, .threads = 1, .chunks = 80

static void test_healthy_runs(void **state) {
    (void)state;
    const scene scenes[] = {
        {HEALTHY},
        {HEALTHY, .no_attempts = true},
        {.workers = 2, .threads = 1, .chunks = 16},
        {.workers = 1, .threads = 1, .chunks = 1},
        {.workers = 16, .threads = 2, .chunks = 400},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        roast_run *run = play(&scenes[i]);
        roast_findings *findings = diagnose(run);
        if (roast_findings_count(findings) > 0) {
            show(findings);
            fail_msg("scene %zu: a healthy run has findings", i);
        }
        roast_findings_free(findings);
        roast_run_free(run);
    }
}

/* ---- sizes ---- */

static void tiny(piece *p) {
    p->events = 1000;
    p->duration = 0.02 * noise(p->index, 0.05);
    p->cpu = p->duration * 0.9;
    p->queue = 0;
    p->n_reads = 0;
    p->file = p->index / 100;
}

static void one_chunk_a_small_file(piece *p) {
    tiny(p);
    p->before = 0.05;
    p->file = p->index;
    p->bytes_read = 1e6;
}

static void quick_to_open(piece *p) {
    tiny(p);
    p->before = 0.0005;
}

/* An engine that tells how much memory a task may take. */
static roast_run *play_tiny_with_memory(double bytes) {
    roast_error err;
    roast_run *run = play(&(scene){.workers = 4, .threads = 1, .chunks = 800, .change = tiny});
    const roast_span_value span = {roast_str_of("worker"), (roast_str){NULL, 0},
                                   roast_str_of("task-memory"), roast_str_of("bytes"), bytes};
    assert_ok(roast_run_add_span(run, &span, &err), err);
    return run;
}

static void test_chunks_too_small(void **state) {
    (void)state;
    expect_first(play(&(scene){.workers = 4, .threads = 1, .chunks = 800, .change = tiny}),
                 ROAST_FINDING_chunks_too_small, "chunksize=");
    expect_first(play_tiny_with_memory(8e9), ROAST_FINDING_chunks_too_small, "chunksize=");
    /* Small, but larger ones do not fit into the memory of a task. */
    expect_none(play_tiny_with_memory(0.9e9), ROAST_FINDING_chunks_too_small);
    /* Small, but files have no more events. */
    expect_none(
        play(&(scene){.workers = 4, .threads = 1, .chunks = 800, .change = one_chunk_a_small_file}),
        ROAST_FINDING_chunks_too_small);
    /* Small, but cheap. */
    expect_none(play(&(scene){.workers = 4, .threads = 1, .chunks = 800, .change = quick_to_open}),
                ROAST_FINDING_chunks_too_small);
}

/* Sizes from 500 to 4500 events: 0.5 s each and 0.1 ms an event, and nothing before process(). */
static void of_different_sizes(piece *p) {
    p->events = 500.0 + 1000.0 * (p->index % 5);
    p->before = NAN;
    p->duration = (0.5 + 1e-4 * p->events) * noise(p->index, 0.02);
    p->cpu = p->duration * 0.95;
    p->n_reads = 0;
    p->file = p->index / 50;
    p->dataset = 0;
}

static void without_fixed_cost(piece *p) {
    of_different_sizes(p);
    p->duration = 1e-4 * p->events * noise(p->index, 0.02) * 3;
    p->cpu = p->duration * 0.95;
}

static void test_fixed_cost_from_the_line(void **state) {
    (void)state;
    expect_first(
        play(&(scene){.workers = 4, .threads = 1, .chunks = 400, .change = of_different_sizes}),
        ROAST_FINDING_chunks_too_small, "fixed cost");
    expect_none(
        play(&(scene){.workers = 4, .threads = 1, .chunks = 400, .change = without_fixed_cost}),
        ROAST_FINDING_chunks_too_small);
}

/* Chunks of one size: how much of process() is a fixed cost is not known, so the prediction is an interval. */
static void test_a_prediction_is_an_interval(void **state) {
    (void)state;
    roast_run *run = play(&(scene){.workers = 4, .threads = 1, .chunks = 800, .change = tiny});
    roast_findings *findings = diagnose(run);
    const roast_finding *found = find_kind(findings, ROAST_FINDING_chunks_too_small);
    assert_non_null(found);
    assert_true(mentions(found->advice, " to "));
    roast_findings_free(findings);
    roast_run_free(run);
    run = play(&(scene){.workers = 4, .threads = 1, .chunks = 400, .change = of_different_sizes});
    findings = diagnose(run);
    found = find_kind(findings, ROAST_FINDING_chunks_too_small);
    assert_non_null(found);
    /* 128 chunks of 7,812 events on 4 threads: 41 s, and a tail. */
    assert_true(mentions(found->advice, "chunksize=8_000"));
    double wall = 0;
    const char *said = strstr(found->advice.data, "wall time ");
    assert_non_null(said);
    assert_int_equal(1, sscanf(said, "wall time %lf s", &wall));
    assert_true(wall > 40 && wall < 44);
    roast_findings_free(findings);
    roast_run_free(run);
}

static void large(piece *p) {
    p->duration = 30 * noise(p->index, 0.05);
    p->cpu = p->duration * 0.97;
    p->events = 2000000;
    p->file = p->index;
}

static void test_chunks_too_large(void **state) {
    (void)state;
    expect_first(play(&(scene){.workers = 16, .threads = 1, .chunks = 25, .change = large}),
                 ROAST_FINDING_chunks_too_large, "chunksize=");
    /* As long, but many of them. */
    expect_none(play(&(scene){.workers = 4, .threads = 1, .chunks = 80, .change = large}),
                ROAST_FINDING_chunks_too_large);
}

/* As on an executor of this machine: a chunk does not know when its task began. */
static void untold_before(piece *p) {
    one_chunk_a_small_file(p);
    p->hides_before = true;
    p->n_sections = 1;
    p->sections[0] = "sel";
    p->section_times[0] = p->duration * 0.99;
}

static void slow_to_open(piece *p) {
    p->before = 5;
    p->duration = 0.5;
    p->cpu = 0.45;
    p->n_reads = 0;
    p->file = p->index;
}

static void test_before_process_by_the_budget(void **state) {
    (void)state;
    expect_first(play(&(scene){.workers = 1,
                               .threads = 1,
                               .chunks = 200,
                               .no_attempts = true,
                               .change = untold_before}),
                 ROAST_FINDING_before_process_dominates, "hadd");
}

static void test_few_chunks_and_a_large_effect(void **state) {
    (void)state;
    expect_first(play(&(scene){.workers = 2, .threads = 1, .chunks = 8, .change = slow_to_open}),
                 ROAST_FINDING_before_process_dominates, "hadd");
    /* The same in so few that each may be an exception. */
    expect_none(play(&(scene){.workers = 2, .threads = 1, .chunks = 4, .change = slow_to_open}),
                ROAST_FINDING_before_process_dominates);
}

static void test_before_process_dominates(void **state) {
    (void)state;
    expect_first(
        play(&(scene){.workers = 4, .threads = 1, .chunks = 800, .change = one_chunk_a_small_file}),
        ROAST_FINDING_before_process_dominates, "hadd");
    expect_none(play(&(scene){HEALTHY}), ROAST_FINDING_before_process_dominates);
}

/* The first chunk of each worker loads libraries for a long time. */
static void cold_start(piece *p) {
    if (p->index < 4)
        p->before = 60;
    p->n_reads = 0;
}

static void test_cold_start_is_not_the_rule(void **state) {
    (void)state;
    expect_none(play(&(scene){.workers = 4, .threads = 1, .chunks = 80, .change = cold_start}),
                ROAST_FINDING_before_process_dominates);
}

static void mostly_metadata(piece *p) {
    one_chunk_a_small_file(p);
    p->metadata_bytes = 1e6;
    p->bytes_read = 1e4;
}

static void metadata_from_a_cache(piece *p) {
    mostly_metadata(p);
    p->before = 0.001;
}

static void test_metadata_bound(void **state) {
    (void)state;
    expect_first(
        play(&(scene){.workers = 4, .threads = 1, .chunks = 800, .change = mostly_metadata}),
        ROAST_FINDING_metadata_bound, "description");
    expect_none(
        play(&(scene){.workers = 4, .threads = 1, .chunks = 800, .change = metadata_from_a_cache}),
        ROAST_FINDING_metadata_bound);
}

/* ---- reading ---- */

static void waits_for_data(piece *p) {
    p->read.time_ns = 400000000;
    p->read.bytes = 5000000;
    p->read.uncompressed_bytes = 5000000;
    p->cpu = p->duration - 1.5;
}

/* The same, but the thread computes all the while. */
static void reads_on_the_cpu(piece *p) {
    waits_for_data(p);
    p->cpu = p->duration * 0.99;
}

static void test_io_bound(void **state) {
    (void)state;
    expect_first(play(&(scene){HEALTHY, .change = waits_for_data}), ROAST_FINDING_io_bound,
                 "network");
    expect_none(play(&(scene){HEALTHY, .change = reads_on_the_cpu}), ROAST_FINDING_io_bound);
}

static void slow_to_unpack(piece *p) {
    p->read.time_ns = 350000000;
    p->read.bytes = 10000000;
    p->read.uncompressed_bytes = 60000000;
    p->accessed_bytes = 80e6;
    p->cpu = p->duration * 0.99;
}

static void not_compressed(piece *p) {
    slow_to_unpack(p);
    p->read.uncompressed_bytes = p->read.bytes;
}

/* Slow by the byte, because each read is Python's own time. */
static void small_reads(piece *p) {
    slow_to_unpack(p);
    p->read.bytes = 5000;
    p->read.uncompressed_bytes = 30000;
}

/* Unpacks, and sleeps somewhere else: from the CPU time of all of process() it looks as if it waited for
 * data. */
static void unpacks_and_sleeps(piece *p) {
    slow_to_unpack(p);
    p->cpu = p->duration - 0.6;
}

static void unpacks_and_sleeps_as_measured(piece *p) {
    unpacks_and_sleeps(p);
    p->read_cpu = 1.38;
}

/* The CPU is busy, but not with these. */
static void waits_as_measured(piece *p) {
    unpacks_and_sleeps(p);
    p->read_cpu = 0.8;
}

static void test_cpu_of_reads(void **state) {
    (void)state;
    expect_some(play(&(scene){HEALTHY, .change = unpacks_and_sleeps}), ROAST_FINDING_io_bound,
                ROAST_SEVERITY_warning, "network");
    expect_some(play(&(scene){HEALTHY, .change = waits_as_measured}), ROAST_FINDING_io_bound,
                ROAST_SEVERITY_warning, "network");
    scene measured = {HEALTHY, .change = unpacks_and_sleeps_as_measured};
    expect_none(play(&measured), ROAST_FINDING_io_bound);
    expect_first(play(&measured), ROAST_FINDING_decompression_bound, "ZSTD");
}

static void test_decompression_bound(void **state) {
    (void)state;
    expect_first(play(&(scene){HEALTHY, .change = slow_to_unpack}),
                 ROAST_FINDING_decompression_bound, "ZSTD");
    expect_none(play(&(scene){HEALTHY, .change = not_compressed}),
                ROAST_FINDING_decompression_bound);
    expect_none(play(&(scene){HEALTHY, .change = small_reads}), ROAST_FINDING_decompression_bound);
}

static void many_waits(piece *p) {
    p->n_reads = 8;
    p->read.time_ns = 150000000;
    p->read.bytes = 20000;
    p->read.uncompressed_bytes = 40000;
    p->cpu = p->duration - 1.25;
}

/* Each chunk reads one branch only. */
static void one_wait(piece *p) {
    many_waits(p);
    p->n_reads = 1;
    p->read.time_ns = 1200000000;
}

static void test_preload(void **state) {
    (void)state;
    expect_first(play(&(scene){HEALTHY, .change = many_waits}), ROAST_FINDING_preload, "preload");
    expect_none(play(&(scene){HEALTHY, .change = one_wait}), ROAST_FINDING_preload);
    expect_none(play(&(scene){HEALTHY, .change = waits_for_data}), ROAST_FINDING_preload);
}

static void preloads_too_much(piece *p) {
    p->file = p->index; /* whole files */
    p->before = 1.5;
    p->duration = 1;
    p->cpu = 0.95;
    p->metadata_bytes = 1e5;
    p->bytes_read = 50e6;
    p->accessed_bytes = 10e6;
    p->read.bytes = -1;
    p->read.uncompressed_bytes = -1;
}

static void preloads_what_it_needs(piece *p) {
    preloads_too_much(p);
    p->accessed_bytes = 50e6;
}

static void test_unused_branches(void **state) {
    (void)state;
    expect_some(play(&(scene){HEALTHY, .change = preloads_too_much}), ROAST_FINDING_unused_branches,
                ROAST_SEVERITY_critical, "80%");
    expect_none(play(&(scene){HEALTHY, .change = preloads_what_it_needs}),
                ROAST_FINDING_unused_branches);
}

static void reads_again(piece *p) {
    p->read.count = 4;
    p->read.time_ns = 300000000;
    p->read.uncompressed_bytes = p->read.bytes;
    p->cpu = p->duration * 0.99;
}

static void reads_once(piece *p) {
    reads_again(p);
    p->read.count = 1;
}

static void test_reread_branches(void **state) {
    (void)state;
    expect_first(play(&(scene){HEALTHY, .change = reads_again}), ROAST_FINDING_reread_branches,
                 "had read before");
    expect_none(play(&(scene){HEALTHY, .change = reads_once}), ROAST_FINDING_reread_branches);
}

static void add_file_sizes(roast_run *run, unsigned files, int64_t bytes) {
    static const char *const names[] = {"Jet_pt", "Jet_eta", "Jet_phi", "Jet_mass"};
    roast_error err;
    for (unsigned i = 0; i < files; i++) {
        char name[48];
        roast_branch_size sizes[4];
        for (unsigned k = 0; k < 4; k++)
            sizes[k] = (roast_branch_size){roast_str_of(names[k]), bytes, 2 * bytes};
        snprintf(name, sizeof name, "root://site//file_%u.root", i);
        const roast_file file = {.name = roast_str_of(name),
                                 .total_branches = 4,
                                 .tree_bytes = 4 * bytes,
                                 .tree_uncompressed_bytes = 8 * bytes,
                                 .n_branches = 4,
                                 .branches = sizes};
        assert_ok(roast_chunklog_add_file(roast_run_chunks(run), &file, &err), err);
    }
}

/* ---- computing ---- */

static void share_the_lock(piece *p) {
    p->cpu = p->duration * 0.5;
    p->switches = 200 * p->duration;
    p->n_reads = 0;
}

/* The same shares, but the threads sleep. */
static void share_nothing(piece *p) {
    share_the_lock(p);
    p->switches = 3;
}

/* Others take the cores for a third of the time. */
static void share_the_lock_and_the_core(piece *p) {
    share_the_lock(p);
    p->cpu = p->duration * 0.32;
    p->queue = p->duration * 0.18;
}

static void share_little(piece *p) {
    share_the_lock(p);
    p->cpu = p->duration * 0.1;
}

static void test_gil_contention(void **state) {
    (void)state;
    const scene two = {.workers = 2, .threads = 2, .chunks = 80};
    scene s = two;
    s.change = share_the_lock;
    expect_first(play(&s), ROAST_FINDING_gil_contention, "threads_per_worker=1");
    s.change = share_the_lock_and_the_core;
    expect_first(play(&s), ROAST_FINDING_gil_contention, "threads_per_worker=1");
    s.change = share_nothing;
    expect_none(play(&s), ROAST_FINDING_gil_contention);
    s.change = share_little;
    expect_none(play(&s), ROAST_FINDING_gil_contention);
    /* One thread cannot wait for another one. */
    expect_none(play(&(scene){.workers = 4, .threads = 1, .chunks = 80, .change = share_the_lock}),
                ROAST_FINDING_gil_contention);
    /* The threads of a pool have no workers to name. */
    s = (scene){.workers = 1, .threads = 2, .chunks = 80, .pool = true, .change = share_the_lock};
    expect_first(play(&s), ROAST_FINDING_gil_contention, "FuturesExecutor(workers=2)");
    s.change = share_nothing;
    expect_none(play(&s), ROAST_FINDING_gil_contention);
}

static void opens_long(piece *p) {
    p->before = 2;
    p->duration = 0.4;
    p->cpu = 0.38;
    p->n_reads = 0;
    p->file = p->index;
}

static roast_run *play_opening(double cpu, double noncpu) {
    roast_error err;
    roast_run *run = play(&(scene){.workers = 2, .threads = 4, .chunks = 80, .change = opens_long});
    const roast_span_value spans[] = {{roast_str_of("execute"), roast_str_of("P"),
                                       roast_str_of("thread-cpu"), roast_str_of("seconds"), cpu},
                                      {roast_str_of("execute"), roast_str_of("P"),
                                       roast_str_of("thread-noncpu"), roast_str_of("seconds"),
                                       noncpu}};
    assert_ok(roast_run_set_processor(run, roast_str_of("P"), &err), err);
    for (size_t i = 0; i < 2; i++)
        assert_ok(roast_run_add_span(run, &spans[i], &err), err);
    return run;
}

/* Four threads that open files use one core. */
static void test_gil_contention_before_process(void **state) {
    (void)state;
    roast_findings *findings;
    roast_run *run = play_opening(50, 150);
    findings = diagnose(run);
    const roast_finding *found = find_kind(findings, ROAST_FINDING_gil_contention);
    assert_non_null(found);
    assert_true(mentions(found->title, "open files"));
    roast_findings_free(findings);
    roast_run_free(run);
    /* All of them computed; none did. */
    expect_none(play_opening(190, 10), ROAST_FINDING_gil_contention);
    expect_none(play_opening(10, 190), ROAST_FINDING_gil_contention);
}

/* Nobody counts the CPU time of its tasks, but the process does: 80 tasks of 2.4 s on four threads. */
static roast_run *play_opening_pool(double cpu) {
    roast_error err;
    roast_run *run = play(
        &(scene){.workers = 1, .threads = 4, .chunks = 80, .pool = true, .change = opens_long});
    const roast_span_value span = {roast_str_of("worker"), (roast_str){NULL, 0},
                                   roast_str_of("process-cpu"), roast_str_of("seconds"), cpu};
    assert_ok(roast_run_add_span(run, &span, &err), err);
    return run;
}

static void test_gil_contention_in_a_pool(void **state) {
    (void)state;
    roast_run *run = play_opening_pool(45);
    roast_findings *findings = diagnose(run);
    const roast_finding *found = find_kind(findings, ROAST_FINDING_gil_contention);
    assert_non_null(found);
    assert_true(mentions(found->title, "open files"));
    assert_true(mentions(found->advice, "FuturesExecutor(workers=4)"));
    /* Less than 192 s of tasks: what is before the first chunk of a thread is not known. */
    assert_true(found->saving_core_seconds > 135 && found->saving_core_seconds < 147);
    roast_findings_free(findings);
    roast_run_free(run);
    expect_none(play_opening_pool(170), ROAST_FINDING_gil_contention);
    expect_none(play_opening_pool(10), ROAST_FINDING_gil_contention);
}

static void sleeping_section(piece *p) {
    p->n_sections = 2;
    p->sections[0] = "select";
    p->section_times[0] = p->duration * 0.3;
    p->sections[1] = "wait_for_it";
    p->section_times[1] = p->duration * 0.7;
    p->cpu = p->duration * 0.3;
    p->n_reads = 0;
}

static void busy_section(piece *p) {
    sleeping_section(p);
    p->cpu = p->duration * 0.98;
}

/* Two sections could have been the one that waits. */
static void either_section(piece *p) {
    sleeping_section(p);
    p->cpu = p->duration * 0.7;
    p->section_times[0] = p->duration * 0.35;
    p->section_times[1] = p->duration * 0.35;
}

static void test_slow_section(void **state) {
    (void)state;
    expect_first(play(&(scene){HEALTHY, .change = sleeping_section}), ROAST_FINDING_slow_section,
                 "wait_for_it");
    /* Long, but at work: only worth a note. */
    expect_some(play(&(scene){HEALTHY, .change = busy_section}), ROAST_FINDING_slow_section,
                ROAST_SEVERITY_note, "70%");
    expect_none(play(&(scene){HEALTHY, .change = either_section}), ROAST_FINDING_slow_section);
}

static void test_reduction_bound(void **state) {
    (void)state;
    expect_first(play(&(scene){HEALTHY, .after = 20}), ROAST_FINDING_reduction_bound,
                 "after the last chunk");
    expect_none(play(&(scene){HEALTHY, .after = 1}), ROAST_FINDING_reduction_bound);
}

static void packs_long(piece *p) {
    p->after = 0.6;
}

static void packs_a_little(piece *p) {
    p->after = 0.02;
}

static void test_serialization_heavy(void **state) {
    (void)state;
    expect_first(play(&(scene){HEALTHY, .change = packs_long}), ROAST_FINDING_serialization_heavy,
                 "smaller outputs");
    expect_none(play(&(scene){HEALTHY, .change = packs_a_little}),
                ROAST_FINDING_serialization_heavy);
}

/* Small chunks that each read a whole basket: two causes. */
static void tiny_that_reads(piece *p) {
    tiny(p);
    p->file = p->index / 20;
    p->n_reads = 4;
    p->read.time_ns = 2000000;
}

static void test_rereads_of_small_chunks(void **state) {
    (void)state;
    roast_run *run =
        play(&(scene){.workers = 4, .threads = 1, .chunks = 800, .change = tiny_that_reads});
    add_file_sizes(run, 40, 750000);
    roast_findings *findings = diagnose(run);
    assert_non_null(find_kind(findings, ROAST_FINDING_chunks_too_small));
    assert_non_null(find_kind(findings, ROAST_FINDING_reread_branches));
    roast_findings_free(findings);
    roast_run_free(run);
}

static void test_rereads_at_the_edges(void **state) {
    (void)state;
    roast_run *run = play(&(scene){HEALTHY, .change = reads_once});
    add_file_sizes(run, 40, 200000); /* less than what a chunk reads */
    expect_first(run, ROAST_FINDING_reread_branches, "baskets");
    run = play(&(scene){HEALTHY, .change = reads_once});
    add_file_sizes(run, 40, 1500000); /* what two chunks read */
    expect_none(run, ROAST_FINDING_reread_branches);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy_runs),
        cmocka_unit_test(test_chunks_too_small),
        cmocka_unit_test(test_fixed_cost_from_the_line),
        cmocka_unit_test(test_a_prediction_is_an_interval),
        cmocka_unit_test(test_chunks_too_large),
        cmocka_unit_test(test_before_process_dominates),
        cmocka_unit_test(test_before_process_by_the_budget),
        cmocka_unit_test(test_few_chunks_and_a_large_effect),
        cmocka_unit_test(test_cold_start_is_not_the_rule),
        cmocka_unit_test(test_metadata_bound),
        cmocka_unit_test(test_io_bound),
        cmocka_unit_test(test_decompression_bound),
        cmocka_unit_test(test_cpu_of_reads),
        cmocka_unit_test(test_preload),
        cmocka_unit_test(test_unused_branches),
        cmocka_unit_test(test_reread_branches),
        cmocka_unit_test(test_rereads_at_the_edges),
        cmocka_unit_test(test_rereads_of_small_chunks),
        cmocka_unit_test(test_gil_contention),
        cmocka_unit_test(test_gil_contention_before_process),
        cmocka_unit_test(test_gil_contention_in_a_pool),
        cmocka_unit_test(test_slow_section),
        cmocka_unit_test(test_reduction_bound),
        cmocka_unit_test(test_serialization_heavy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
