/* The rules about workers, hosts, files, memory, losses and the measurement itself. */
#include "diagnose_sample.h"

#define HEALTHY .workers = 4, .threads = 1, .chunks = 80

static void slower(piece *p, double factor) {
    p->duration *= factor;
    p->cpu *= factor;
}

/* ---- stragglers ---- */

static void third_worker_is_slow(piece *p) {
    if (p->worker == 2)
        slower(p, 2.5);
}

static void crowded_worker(piece *p) {
    if (p->worker == 0) {
        p->duration *= 3;
        p->queue = p->duration * 0.65;
    }
}

static void a_little_slower(piece *p) {
    if (p->worker == 2)
        slower(p, 1.25);
}

/* Half of the workers are of another kind. */
static void two_kinds(piece *p) {
    if (p->worker % 2 == 1)
        slower(p, 2.5);
}

/* Chunks differ by so much that a few slow ones mean nothing. */
static void wild(piece *p) {
    double factor = p->index % 3 == 0 ? 6 : p->index % 3 == 1 ? 1 : 0.3;
    slower(p, factor);
}

/* So slow that it draws up the mean of the datasets in which it had a part; in the last two it had none. */
static void very_slow_in_two_datasets(piece *p) {
    p->dataset = p->worker == 0 ? p->index % 2 : p->index % 5;
    slower(p, p->index % 3 == 0 ? 0.6 : p->index % 3 == 1 ? 1 : 1.7);
    if (p->worker == 0)
        slower(p, 4);
}

static void test_straggler_worker(void **state) {
    (void)state;
    expect_first(play(&(scene){HEALTHY, .change = third_worker_is_slow}),
                 ROAST_FINDING_straggler_worker, "tcp://w2");
    expect_first(play(&(scene){.workers = 2, .threads = 1, .chunks = 40, .change = crowded_worker}),
                 ROAST_FINDING_straggler_worker, "Something else runs on its cores");
    expect_first(
        play(&(scene){
            .workers = 2, .threads = 1, .chunks = 60, .change = very_slow_in_two_datasets}),
        ROAST_FINDING_straggler_worker, "tcp://w0");
    expect_none(play(&(scene){HEALTHY, .change = a_little_slower}), ROAST_FINDING_straggler_worker);
    expect_none(play(&(scene){.workers = 8, .threads = 1, .chunks = 160, .change = two_kinds}),
                ROAST_FINDING_straggler_worker);
    expect_none(play(&(scene){HEALTHY, .change = wild}), ROAST_FINDING_straggler_worker);
}

/* Workers keep to files of their own, and one file is slow. */
static void slow_by_its_file(piece *p) {
    p->file = p->worker;
    p->dataset = 0;
    if (p->file == 2)
        slower(p, 3);
}

static void test_worker_with_a_slow_file(void **state) {
    (void)state;
    /* Nobody can tell which of the two is slow. */
    expect_none(play(&(scene){HEALTHY, .change = slow_by_its_file}),
                ROAST_FINDING_straggler_worker);
    expect_none(play(&(scene){HEALTHY, .change = slow_by_its_file}), ROAST_FINDING_straggler_file);
}

static void second_host_is_slow(piece *p) {
    if (p->worker / 2 == 1)
        slower(p, 2.5);
}

static void one_worker_of_the_host(piece *p) {
    if (p->worker == 2)
        slower(p, 2.5);
}

static void test_straggler_host(void **state) {
    (void)state;
    const scene hosts = {.workers = 8, .threads = 1, .chunks = 160, .workers_per_host = 2};
    scene s = hosts;
    s.change = second_host_is_slow;
    expect_first(play(&s), ROAST_FINDING_straggler_host, "node1");
    s.change = second_host_is_slow;
    expect_none(play(&s), ROAST_FINDING_straggler_worker);
    s.change = one_worker_of_the_host;
    expect_none(play(&s), ROAST_FINDING_straggler_host);
}

static void one_huge_file(piece *p) {
    p->file = p->index;
    p->dataset = 0;
    if (p->index == 60) {
        p->events *= 20;
        slower(p, 20);
    }
}

static void one_slow_file(piece *p) {
    p->file = p->index % 8;
    p->dataset = 0;
    if (p->file == 3)
        slower(p, 4);
}

/* Longer, because it has more events: as long an event as the others. */
static void one_larger_file(piece *p) {
    p->file = p->index % 8;
    p->dataset = 0;
    if (p->file == 3) {
        p->events *= 4;
        slower(p, 4);
    }
}

/* Everything was slow for a while, and one file fell into it. */
static void slow_hour(piece *p) {
    p->file = p->index / 10;
    p->dataset = 0;
    if (p->start > 8 && p->start < 20)
        p->duration *= 4;
}

/* Opening a file takes most of the time, and of all of them the same. */
static void one_file_slow_inside(piece *p) {
    p->file = p->index % 8;
    p->dataset = 0;
    p->before = 2.5;
    p->duration = (p->file == 3 ? 3.1 : 0.6) * noise(p->index, 0.05);
    p->cpu = p->duration * 0.9;
    p->n_reads = 0;
}

static void test_file_slow_inside_process(void **state) {
    (void)state;
    roast_run *run =
        play(&(scene){.workers = 2, .threads = 1, .chunks = 40, .change = one_file_slow_inside});
    expect_some(run, ROAST_FINDING_straggler_file, ROAST_SEVERITY_note, "file_3.root");
}

/* One file after the other on one thread; the slow one waits. */
static void one_file_waits(piece *p) {
    p->file = p->index / 5;
    p->dataset = 0;
    p->before = 2.5;
    if (p->file == 3)
        p->duration *= 5;
}

/* The machine is slow for a while, which begins and ends inside of files. */
static void slow_minute(piece *p) {
    p->file = p->index / 5;
    p->dataset = 0;
    p->before = 2.5;
    if (p->index >= 14 && p->index < 21)
        p->duration *= 5;
}

static void first_file_waits(piece *p) {
    p->file = p->index / 5;
    p->dataset = 0;
    if (p->file == 0)
        p->duration *= 5;
}

/* Of the finding of a slow file; 0 if there is none. */
static double confidence_of_a_slow_file(void (*change)(piece *)) {
    roast_run *run = play(&(scene){.workers = 1, .threads = 1, .chunks = 40, .change = change});
    roast_findings *findings = diagnose(run);
    const roast_finding *found = find_kind(findings, ROAST_FINDING_straggler_file);
    double confidence = found != NULL ? found->confidence : 0;
    roast_findings_free(findings);
    roast_run_free(run);
    return confidence;
}

static void test_a_file_that_waits_on_one_thread(void **state) {
    (void)state;
    assert_true(confidence_of_a_slow_file(one_file_waits) == 0.7);
    assert_true(confidence_of_a_slow_file(first_file_waits) == 0.5); /* nothing ran before it */
    assert_true(confidence_of_a_slow_file(slow_minute) == 0);
}

static void test_straggler_file(void **state) {
    (void)state;
    expect_first(play(&(scene){HEALTHY, .change = one_huge_file}), ROAST_FINDING_straggler_file,
                 "file_60.root");
    expect_first(play(&(scene){HEALTHY, .change = one_slow_file}), ROAST_FINDING_straggler_file,
                 "file_3.root");
    expect_none(play(&(scene){HEALTHY, .change = one_larger_file}), ROAST_FINDING_straggler_file);
    expect_none(play(&(scene){HEALTHY, .change = slow_hour}), ROAST_FINDING_straggler_file);
}

/* ---- parts of the budget ---- */

static void test_ramp_up(void **state) {
    (void)state;
    const scene late = {HEALTHY, .ramp_up = 20};
    expect_first(play(&late), ROAST_FINDING_ramp_up, "first task");
    const scene soon = {HEALTHY, .ramp_up = 1};
    expect_none(play(&soon), ROAST_FINDING_ramp_up);
}

static roast_run *play_preprocessing(double seconds) {
    roast_error err;
    roast_run *run = play(&(scene){HEALTHY, .lead = 20});
    roast_phase phase = {ROAST_PHASE_preprocessing, (double)T0, (double)T0 + seconds};
    assert_ok(roast_run_add_phase(run, &phase, &err), err);
    return run;
}

static void test_preprocessing_and_client(void **state) {
    (void)state;
    expect_first(play_preprocessing(20), ROAST_FINDING_preprocessing_bound, "preprocess");
    expect_none(play_preprocessing(20), ROAST_FINDING_client_bound);
    expect_none(play_preprocessing(0.5), ROAST_FINDING_preprocessing_bound);
    expect_first(play_preprocessing(0.5), ROAST_FINDING_client_bound, "your program");
    expect_none(play(&(scene){HEALTHY, .lead = 1}), ROAST_FINDING_client_bound);
}

static void end_as(roast_run *run, roast_end outcome, int64_t done) {
    roast_error err;
    roast_ending *ending;
    assert_ok(roast_ending_new(outcome, &ending, &err), err);
    roast_ending_set_pieces(ending, (roast_ending_pieces){80, done, -1});
    roast_run_take_ending(run, ending);
}

/* All of the time was preprocessing, because it raised there. */
static void test_a_run_that_failed_in_preprocessing(void **state) {
    (void)state;
    for (int64_t done = -1; done <= 1; done++) {
        roast_error err;
        roast_run *run = run_of(20);
        roast_phase phase = {ROAST_PHASE_preprocessing, (double)T0, (double)T0 + 20};
        join(run, "laptop:7", 0, 2);
        assert_ok(roast_run_add_phase(run, &phase, &err), err);
        end_as(run, ROAST_END_failed, done);
        if (done > 0)
            expect_some(run, ROAST_FINDING_preprocessing_bound, ROAST_SEVERITY_warning,
                        "preprocess");
        else
            expect_none(run, ROAST_FINDING_preprocessing_bound);
    }
}

/* Each task waits on its worker for what it needs, longer than it runs. */
static void test_worker_overhead(void **state) {
    (void)state;
    expect_first(play(&(scene){HEALTHY, .handling = 1.5}), ROAST_FINDING_worker_overhead,
                 "handling tasks");
    expect_none(play(&(scene){HEALTHY, .handling = 0.05}), ROAST_FINDING_worker_overhead);
}

/* ---- balance ---- */

/* The last chunks get longer and longer, all of them: nobody is an exception. */
static void longer_and_longer(piece *p) {
    p->file = 0;
    p->dataset = 0;
    p->before = NAN;
    p->n_reads = 0;
    if (p->index >= 196)
        slower(p, 2 + 10 * (double)(p->index - 196));
}

static void test_long_tail(void **state) {
    (void)state;
    expect_first(
        play(&(scene){.workers = 20, .threads = 1, .chunks = 200, .change = longer_and_longer}),
        ROAST_FINDING_long_tail, "idle");
    expect_none(play(&(scene){.workers = 20, .threads = 1, .chunks = 190}),
                ROAST_FINDING_long_tail);
}

static void whole_small_files(piece *p) {
    p->file = p->index;
    p->events = 10;
    p->before = NAN;
}

static void test_too_many_workers(void **state) {
    (void)state;
    expect_first(
        play(&(scene){.workers = 40, .threads = 1, .chunks = 12, .change = whole_small_files}),
        ROAST_FINDING_too_many_workers, "12 chunks for 40 threads");
    expect_none(
        play(&(scene){.workers = 12, .threads = 1, .chunks = 12, .change = whole_small_files}),
        ROAST_FINDING_too_many_workers);
}

static void everybody_waits_for_a_core(piece *p) {
    p->queue = p->duration;
    p->duration *= 2;
}

static void test_more_threads_than_cores(void **state) {
    (void)state;
    expect_first(play(&(scene){HEALTHY, .change = everybody_waits_for_a_core}),
                 ROAST_FINDING_too_many_workers, "More threads than cores");
    expect_none(play(&(scene){.workers = 2, .threads = 1, .chunks = 40, .change = crowded_worker}),
                ROAST_FINDING_too_many_workers);
}

/* Four threads wait for a core, on machines with so many cores, of which other work took a share. */
static roast_run *crowd_on(double cores, double other_work) {
    static const char *const activities[] = {"busy", "own-cpu", "core"};
    const double seconds[] = {100 * other_work + 30, 30, 100};
    roast_run *run = play(&(scene){HEALTHY, .change = everybody_waits_for_a_core});
    roast_error err;
    for (size_t i = 0; i < 3; i++) {
        roast_span_value span = {roast_str_of("machine"),
                                 {NULL, 0},
                                 roast_str_of(activities[i]),
                                 roast_str_of("seconds"),
                                 seconds[i]};
        assert_ok(roast_run_add_span(run, &span, &err), err);
    }
    roast_span_value span = {
        roast_str_of("machine"), {NULL, 0}, roast_str_of("cores"), roast_str_of("count"), cores};
    assert_ok(roast_run_add_span(run, &span, &err), err);
    return run;
}

static void test_whose_work_takes_the_cores(void **state) {
    (void)state;
    static const struct {
        double cores, other_work;
        const char *says;
    } rows[] = {
        {2, 0.02, "More threads than cores"},
        {2, 0.02,
         "There were 4 threads for 2 cores; other work on the machines took 2.0% of the cores."},
        {2, 0.02, "Start no more than 2 threads."},
        {8, 0.31, "The machines were busy with other work: chunks waited"},
        {8, 0.31, "4 threads for 8 cores; other work on the machines took 31% of the cores."},
        {8, 0.31, "fewer threads would not help"},
        {3, 0.4, "More threads than cores"},
        {3, 0.4, "Start no more than 1 thread, or find what else runs there."},
        {8, 0, "A limit of CPU time is likely"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_first(crowd_on(rows[i].cores, rows[i].other_work), ROAST_FINDING_too_many_workers,
                     rows[i].says);
}

static void minutes(piece *p) {
    slower(p, 30);
}

static void test_too_few_workers(void **state) {
    (void)state;
    expect_some(play(&(scene){.workers = 2, .threads = 1, .chunks = 200, .change = minutes}),
                ROAST_FINDING_too_few_workers, ROAST_SEVERITY_note, "More workers");
    /* As busy, but over in a minute. */
    expect_none(play(&(scene){.workers = 2, .threads = 1, .chunks = 60}),
                ROAST_FINDING_too_few_workers);
    /* As long, but with a handful of chunks each. */
    expect_none(play(&(scene){.workers = 8, .threads = 1, .chunks = 80, .change = minutes}),
                ROAST_FINDING_too_few_workers);
}

/* ---- memory ---- */

static void fills_memory(piece *p) {
    if (p->worker == 1)
        p->rss_peak = 3.9e9;
}

static void test_memory_pressure(void **state) {
    (void)state;
    expect_first(play(&(scene){HEALTHY, .peak_memory = 3.4e9}), ROAST_FINDING_memory_pressure,
                 "memory_limit=");
    expect_some(play(&(scene){HEALTHY, .peak_memory = 2.9e9}), ROAST_FINDING_memory_pressure,
                ROAST_SEVERITY_note, "2.9 GB of 4.0 GB");
    /* Between two samples: the chunks have seen it. */
    expect_some(play(&(scene){HEALTHY, .change = fills_memory}), ROAST_FINDING_memory_pressure,
                ROAST_SEVERITY_critical, "tcp://w1");
    expect_none(play(&(scene){HEALTHY, .peak_memory = 2.7e9}), ROAST_FINDING_memory_pressure);
    /* As much memory, and a larger limit. */
    expect_none(play(&(scene){HEALTHY, .peak_memory = 3.9e9, .limit = 16e9}),
                ROAST_FINDING_memory_pressure);
}

static void test_spilling(void **state) {
    (void)state;
    roast_error err;
    expect_some(play(&(scene){HEALTHY, .spilled = 1e9}), ROAST_FINDING_spilling,
                ROAST_SEVERITY_note, "1 worker had up to 1.0 GB");
    expect_none(play(&(scene){HEALTHY, .spilled = 1e6}), ROAST_FINDING_spilling);
    /* Time that the spans tell of. */
    roast_run *run = play(&(scene){HEALTHY});
    roast_span_value span = {.context = roast_str_of("execute"),
                             .prefix = roast_str_of("P"),
                             .activity = roast_str_of("disk-write"),
                             .unit = roast_str_of("seconds"),
                             .value = 40};
    assert_ok(roast_run_add_span(run, &span, &err), err);
    expect_some(run, ROAST_FINDING_spilling, ROAST_SEVERITY_warning, "40 s");
    run = play(&(scene){HEALTHY});
    span.unit = roast_str_of("bytes");
    assert_ok(roast_run_add_span(run, &span, &err), err);
    expect_none(run, ROAST_FINDING_spilling);
}

/* ---- losses ---- */

static void add_departure(roast_run *run, const char *worker, double when, bool expected) {
    roast_error err;
    roast_attempts *attempts = roast_run_attempts(run);
    const roast_departure departure = {.worker = attempts_worker(attempts, worker),
                                       .when = {T0 * 1000000000 + (int64_t)(when * 1e9)},
                                       .expected = expected,
                                       .running = 1};
    assert_ok(roast_attempts_add_departure(attempts, &departure, &err), err);
}

static void lose_task(roast_run *run, const char *key, const char *worker, double from, double to) {
    roast_error err;
    roast_attempts *attempts = roast_run_attempts(run);
    roast_attempt attempt =
        try_of("P", key, attempts_worker(attempts, worker), (try_times){from, from, NAN, NAN, to});
    attempt.outcome = ROAST_OUTCOME_lost;
    attempt.departure = 0;
    assert_ok(roast_attempts_append(attempts, &attempt, &err), err);
}

static void some_fail(piece *p) {
    p->fails = p->index % 8 == 0;
}

static void test_lost_work(void **state) {
    (void)state;
    roast_run *run = play(&(scene){HEALTHY});
    add_departure(run, "tcp://w3", 20, false);
    expect_first(run, ROAST_FINDING_lost_work, "1 worker left unexpectedly");
    run = play(&(scene){HEALTHY});
    add_departure(run, "tcp://w3", 20, true);
    expect_none(run, ROAST_FINDING_lost_work);
    /* What failed and was never done is missing in the result. */
    expect_first(play(&(scene){HEALTHY, .change = some_fail}), ROAST_FINDING_lost_work,
                 "failed_fileset()");
    run = play(&(scene){HEALTHY});
    add_departure(run, "tcp://w3", 20, false);
    lose_task(run, "P-never-done", "tcp://w3", 10, 20);
    expect_first(run, ROAST_FINDING_lost_work, "1 piece of the input was never processed");
}

static void test_lost_to_memory(void **state) {
    (void)state;
    roast_run *run = play(&(scene){HEALTHY, .peak_memory = 3.95e9});
    add_departure(run, "tcp://w0", 20, false);
    lose_task(run, "P-1", "tcp://w0", 10, 20);
    expect_first(run, ROAST_FINDING_memory_pressure, "1 worker left with full memory");
    run = play(&(scene){HEALTHY, .peak_memory = 3.95e9});
    add_departure(run, "tcp://w0", 20, false);
    lose_task(run, "P-1", "tcp://w0", 10, 20);
    expect_none(run, ROAST_FINDING_lost_work);
}

/* ---- measuring ---- */

static void test_measurement(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = play(&(scene){HEALTHY});
    assert_ok(roast_run_add_note(run, roast_str_of("spans were merged"), &err), err);
    expect_some(run, ROAST_FINDING_measurement, ROAST_SEVERITY_note, "spans were merged");
    run = play(&(scene){HEALTHY});
    roast_run_set_report(run, &(roast_report){.have_chunks = true, .chunks = 100});
    expect_some(run, ROAST_FINDING_measurement, ROAST_SEVERITY_warning,
                "20 of 100 chunks left no record");
    run = play(&(scene){HEALTHY});
    roast_run_set_report(run, &(roast_report){.have_chunks = true, .chunks = 100});
    end_as(run, ROAST_END_unknown, 0); /* it goes on: they may come yet */
    expect_none(run, ROAST_FINDING_measurement);
    run = play(&(scene){HEALTHY});
    roast_run_set_report(run, &(roast_report){.have_chunks = true, .chunks = 80});
    expect_none(run, ROAST_FINDING_measurement);
    /* Nobody decorated process(): there is nothing wrong with that. */
    run = run_of(10);
    roast_run_set_report(run, &(roast_report){.have_chunks = true, .chunks = 80});
    expect_none(run, ROAST_FINDING_measurement);
    /* ... but where its time went is not known. */
    run = run_of(10);
    join(run, "laptop:7", 0, 2);
    roast_run_set_report(run, &(roast_report){.have_chunks = true, .chunks = 80});
    expect_some(run, ROAST_FINDING_measurement, ROAST_SEVERITY_note, "@track_metrics");
    /* ... and while it goes on, the chunks that run have no record yet. */
    run = run_of(10);
    join(run, "laptop:7", 0, 2);
    end_as(run, ROAST_END_unknown, 0);
    expect_none(run, ROAST_FINDING_measurement);
}

static void test_silence(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = play(&(scene){HEALTHY});
    const roast_run_clock clock = roast_run_get_clock(run);
    double value[ROAST_COLUMNS];
    for (int i = 0; i < ROAST_COLUMNS; i++)
        value[i] = NAN;
    value[ROAST_COLUMN_last_seen] = clock.end - 60;
    roast_utc when = {(int64_t)(clock.end * 1e9)};
    assert_ok(roast_series_tick(roast_run_series(run), when, 4, &err), err);
    assert_ok(roast_series_append(roast_run_series(run), 0, value, &err), err);
    expect_some(run, ROAST_FINDING_measurement, ROAST_SEVERITY_note, "no heartbeat for 60 s");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_straggler_worker),
        cmocka_unit_test(test_worker_with_a_slow_file),
        cmocka_unit_test(test_straggler_host),
        cmocka_unit_test(test_straggler_file),
        cmocka_unit_test(test_a_file_that_waits_on_one_thread),
        cmocka_unit_test(test_file_slow_inside_process),
        cmocka_unit_test(test_ramp_up),
        cmocka_unit_test(test_worker_overhead),
        cmocka_unit_test(test_preprocessing_and_client),
        cmocka_unit_test(test_a_run_that_failed_in_preprocessing),
        cmocka_unit_test(test_long_tail),
        cmocka_unit_test(test_too_many_workers),
        cmocka_unit_test(test_more_threads_than_cores),
        cmocka_unit_test(test_whose_work_takes_the_cores),
        cmocka_unit_test(test_too_few_workers),
        cmocka_unit_test(test_memory_pressure),
        cmocka_unit_test(test_spilling),
        cmocka_unit_test(test_lost_work),
        cmocka_unit_test(test_lost_to_memory),
        cmocka_unit_test(test_measurement),
        cmocka_unit_test(test_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
