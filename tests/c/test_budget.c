/* The budget: runs whose split is known, to the microsecond. */
#include "budget_sample.h"

#include "roast/metrics.h"
#include "roast/summary.h"

#define NOT NAN

/* preprocessing, before, read, cpu, off-CPU, after, reduction, other, overhead, lost, client, ramp-up, starved,
 * between, tail, unaccounted */

static void test_one_task_in_all_its_phases(void **state) {
    (void)state;
    roast_run *run = run_of(10);
    roast_attempts *attempts = watch(run);
    join(run, "w", -5, 1);
    set_host(run, "w", "node");
    add_try(attempts, "P", "P-1", "w", ROAST_OUTCOME_done, (try_times){0.5, 1, 2, 6, 6.5});
    add_chunk(run, "P-1", "w", "ttbar", "f.root", (chunk_times){3, 2, 1, 0.5, 1, 0.2, 0.1});
    roast_budget *budget = budget_of(run);
    const roast_budget_row *total = roast_budget_total(budget);
    assert_parts(total, NOT, 1, 0.5, 1, 0.5, 1, 0, 0, 1 + 0.5, 0, 4, 0.5, 0, 0, 0, 0);
    assert_near(10, total->available);
    assert_true(roast_budget_has_attempts(budget));
    /* Off the CPU for 1 s in all of process(): half of it in the reads. */
    assert_near(0.1, total->offcpu_io);
    assert_near(0.05, total->offcpu_runqueue);
    assert_near(0.35, total->offcpu_rest);
    assert_near(0.5, roast_budget_saving(budget, ROAST_PART_idle_ramp_up));
    assert_true(roast_budget_saving(budget, ROAST_PART_COUNT) == 0);
    assert_parts(row_named(budget, ROAST_BY_worker, "w"), NOT, 1, 0.5, 1, 0.5, 1, 0, 0, 1.5, 0, 4,
                 0.5, 0, 0, 0, 0);
    assert_parts(row_named(budget, ROAST_BY_host, "node"), NOT, 1, 0.5, 1, 0.5, 1, 0, 0, 1.5, 0, 4,
                 0.5, 0, 0, 0, 0);
    assert_parts(row_named(budget, ROAST_BY_dataset, "ttbar"), NOT, 1, 0.5, 1, 0.5, 1, 0, 0, 0, 0,
                 0, 0, 0, 0, 0, 0);
    assert_parts(row_named(budget, ROAST_BY_file, NULL), NOT, 0, 0, 0, 0, 0, 0, 0, 1.5, 0, 4, 0.5,
                 0, 0, 0, 0);
    assert_sums(budget);
    roast_budget_free(budget);
    roast_run_free(run);
}

/* Half a second of sleep beside reads that unpack: only the CPU time of the reads can tell. */
static void test_reads_on_the_cpu(void **state) {
    (void)state;
    static const struct {
        double read_cpu, cpu, off;
    } cases[] = {{0, 1, 0}, {0.9, 0.5, 0.5}, {0.4, 1, 0}, {3, 0, 1}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        roast_run *run = run_of(3);
        roast_attempts *attempts = watch(run);
        join(run, "w", 0, 1);
        add_try(attempts, "P", "P-1", "w", ROAST_OUTCOME_done, (try_times){0, 0, 0, 2, 2});
        add_chunk(run, "P-1", "w", "ttbar", "f.root",
                  (chunk_times){0, 2, 0, 1, 1.4, NOT, NOT, cases[i].read_cpu});
        roast_budget *budget = budget_of(run);
        assert_parts(roast_budget_total(budget), NOT, 0, 1, cases[i].cpu, cases[i].off, 0, 0, 0, 0,
                     0, 1, 0, 0, 0, 0, 0);
        roast_budget_free(budget);
        roast_run_free(run);
    }
}

static void test_idle_by_its_reason(void **state) {
    (void)state;
    roast_run *run = run_of(20);
    roast_attempts *attempts = watch(run);
    join(run, "a", 0, 1);
    join(run, "b", 0, 1);
    join(run, "never used", 0, 1);
    /* a: 1..4, 5..9, 12..20; b: 3..5, 16..17. One task waits in the queue from 1 to 5, one from 2 to 3,
     * one from 15 to 16. */
    add_try(attempts, "P", "P-1", "a", ROAST_OUTCOME_done, (try_times){1, 1, 1, 4, 4});
    add_try(attempts, "P", "P-2", "a", ROAST_OUTCOME_done, (try_times){1, 5, 5, 9, 9});
    add_try(attempts, "P", "P-3", "b", ROAST_OUTCOME_done, (try_times){2, 3, 3, 5, 5});
    add_try(attempts, "P", "P-4", "a", ROAST_OUTCOME_done, (try_times){12, 12, 12, 20, 20});
    add_try(attempts, "P", "P-5", "b", ROAST_OUTCOME_done, (try_times){15, 16, 16, 17, 17});
    roast_budget *budget = budget_of(run);
    /* No chunk has a clock: what the tasks did is not known. */
    assert_whole_parts(row_named(budget, ROAST_BY_worker, "a"), 15, NOT, 0, 0, 0, 0, 4, 0, 0, 1, 0,
                       0);
    assert_whole_parts(row_named(budget, ROAST_BY_worker, "b"), 3, NOT, 0, 0, 0, 0, 4, 2, 7, 1, 3,
                       0);
    assert_whole_parts(row_named(budget, ROAST_BY_worker, "never used"), 0, NOT, 0, 0, 0, 0, 4, 0,
                       7, 5, 4, 0);
    assert_near(60, roast_budget_total(budget)->available);
    /* Nobody knows the hosts. */
    assert_near(60, row_named(budget, ROAST_BY_host, NULL)->available);
    assert_sums(budget);
    roast_budget_free(budget);
    roast_run_free(run);
}

static void test_what_came_to_nothing(void **state) {
    (void)state;
    roast_run *run = run_of(10);
    roast_attempts *attempts = watch(run);
    join(run, "a", 0, 2);
    join(run, "b", 0, 1);
    leave(run, "b", 6);
    add_try(attempts, "P", "P-1", "a", ROAST_OUTCOME_raised, (try_times){0, 0, 0, 2, 2});
    add_try(attempts, "P", "P-1", "a", ROAST_OUTCOME_done, (try_times){2, 2, 2, 5, 5});
    add_chunk(run, "P-1", "a", "x", "f", (chunk_times){0.5, 1.5, 0.5, NOT, 1, NOT, NOT});
    add_chunk(run, "P-1", "a", "x", "f", (chunk_times){2.5, 2.5, 0.5, NOT, 2, NOT, NOT});
    add_try(attempts, "P", "P-2", "b", ROAST_OUTCOME_recomputed, (try_times){0, 0, 0, 1, 1});
    /* b dies with one task on its thread and one behind it: only one of them had the thread. */
    add_try(attempts, "P", "P-3", "b", ROAST_OUTCOME_lost, (try_times){0, 1, NOT, NOT, 6});
    add_try(attempts, "P", "P-4", "b", ROAST_OUTCOME_lost, (try_times){0, 2, NOT, NOT, 6});
    add_try(attempts, "reduce", "reduce-1", "a", ROAST_OUTCOME_done, (try_times){7, 7, 7, 8, 8});
    add_try(attempts, "get_metadata", "get-1", "a", ROAST_OUTCOME_done, (try_times){0, 0, 0, 1, 1});
    add_try(attempts, "foreign", "theirs", "a", ROAST_OUTCOME_lost, (try_times){0, 1, 1, 2, 2});
    roast_budget *budget = budget_of(run);
    assert_parts(row_named(budget, ROAST_BY_worker, "a"), NOT, 0.5, 0, 2, 0.5, 0, 1, 2, 0, 2, 6, 0,
                 0, 0, 6, 0);
    assert_parts(row_named(budget, ROAST_BY_worker, "b"), NOT, 0, 0, 0, 0, 0, 0, 0, 0, 1 + 5, 0, 0,
                 0, 0, 0, 0);
    assert_near(26, roast_budget_total(budget)->available);
    /* The chunk that raised says whose loss it was. */
    assert_parts(row_named(budget, ROAST_BY_dataset, "x"), NOT, 0.5, 0, 2, 0.5, 0, 0, 0, 0, 2, 0, 0,
                 0, 0, 0, 0);
    assert_true(isnan(roast_budget_total(budget)->offcpu_io));
    assert_true(isnan(roast_budget_total(budget)->offcpu_runqueue));
    assert_near(0.5, roast_budget_total(budget)->offcpu_rest);
    assert_sums(budget);
    roast_budget_free(budget);
    roast_run_free(run);
}

static void test_more_tasks_than_threads_share_them(void **state) {
    (void)state;
    roast_run *run = run_of(10);
    roast_attempts *attempts = watch(run);
    join(run, "w", 0, 1);
    add_try(attempts, "reduce", "reduce-1", "w", ROAST_OUTCOME_done, (try_times){0, 0, 0, 6, 6});
    add_try(attempts, "other", "other-1", "w", ROAST_OUTCOME_done, (try_times){4, 4, 4, 10, 10});
    roast_budget *budget = budget_of(run);
    assert_parts(roast_budget_total(budget), NOT, 0, 0, 0, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0);
    roast_budget_free(budget);
    roast_run_free(run);
}

/* The clocks of a chunk stay as they are, so that sums over chunks say the same. */
static void test_a_task_that_overlaps_a_little(void **state) {
    (void)state;
    roast_run *run = run_of(10.6);
    roast_attempts *attempts = watch(run);
    join(run, "w", 0, 1);
    add_try(attempts, "P", "P-1", "w", ROAST_OUTCOME_done, (try_times){0, 0, 0, 10, 10});
    add_chunk(run, "P-1", "w", "x", "f", (chunk_times){4, 5, 4, 1, 4, NOT, NOT});
    add_try(attempts, "mine", "m-1", "w", ROAST_OUTCOME_done, (try_times){9, 9.6, 9.6, 10.6, 10.6});
    roast_budget *budget = budget_of(run);
    assert_parts(roast_budget_total(budget), NOT, 4, 1, 4, 0, 0.8, 0, 0.8, 0, 0, 0, 0, 0, 0, 0, 0);
    roast_budget_free(budget);
    roast_run_free(run);
}

/* With nothing after process() that could take it. */
static void test_a_task_that_overlaps_with_process(void **state) {
    (void)state;
    roast_run *run = run_of(10);
    roast_attempts *attempts = watch(run);
    join(run, "w", 0, 1);
    add_try(attempts, "P", "P-1", "w", ROAST_OUTCOME_done, (try_times){0, 0, 0, 5, 5});
    add_chunk(run, "P-1", "w", "x", "f", (chunk_times){2, 3, 2, 1, 2, NOT, NOT});
    add_try(attempts, "mine", "m-1", "w", ROAST_OUTCOME_done, (try_times){4, 4.9, 4.9, 6, 7});
    roast_budget *budget = budget_of(run);
    const roast_budget_row *total = roast_budget_total(budget);
    assert_near(2, total->parts[ROAST_PART_before_process]);
    assert_near(1, total->parts[ROAST_PART_read]);
    assert_near(2, total->parts[ROAST_PART_compute_cpu]);
    assert_near(0, total->parts[ROAST_PART_after_process]);
    assert_near(1.05, total->parts[ROAST_PART_other_tasks]);
    assert_near(0.95, total->parts[ROAST_PART_worker_overhead]); /* pays for 0.05 s */
    assert_near(0, total->parts[ROAST_PART_unaccounted]);
    assert_sums(budget);
    roast_budget_free(budget);
    roast_run_free(run);
}

/* Each task of TaskVine starts a Python, which imports before it can load process(), and ends with the task. */
static void test_the_start_of_python(void **state) {
    (void)state;
    static const char *const engines[] = {"TaskVine 7", "Dask 1"};
    static const double after[] = {0.5, 2}; /* the record is packed 0.5 s after process() */
    for (int i = 0; i < 2; i++) {
        roast_error err;
        roast_run *run = run_of(10);
        roast_attempts *attempts = watch(run);
        join(run, "w", 0, 1);
        assert_ok(roast_run_set_meta(run, roast_str_of("engine"), roast_str_of(engines[i]), &err),
                  err);
        add_try(attempts, "P", "P-1", "w", ROAST_OUTCOME_done, (try_times){0, 0, 0, 6, 6});
        add_chunk(run, "P-1", "w", "x", "f",
                  (chunk_times){.start = 3,
                                .duration = 1,
                                .before = NOT,
                                .read = 0.25,
                                .cpu = 0.5,
                                .loaded = 1,
                                .packed = 0.5});
        add_try(attempts, "P", "P-2", "w", ROAST_OUTCOME_done, (try_times){6, 6, 6, 8, 8});
        add_chunk(run, "P-2", "w", "x", "f",
                  (chunk_times){.start = 7, .duration = 1, .before = 1, .cpu = 1, .loaded = 5});
        roast_budget *budget = budget_of(run);
        const roast_budget_row *total = roast_budget_total(budget);
        assert_near(2 + 2 - after[i], total->parts[ROAST_PART_cold_start]);
        assert_near(1 + 1, total->parts[ROAST_PART_before_process]); /* loaded long before */
        assert_near(after[i], total->parts[ROAST_PART_after_process]);
        assert_near(0, total->parts[ROAST_PART_unaccounted]);
        assert_sums(budget);
        roast_budget_free(budget);
        roast_run_free(run);
    }
}

/* The engine does not tell the hosts of its workers; the chunks do. */
static void test_hosts_of_the_chunks(void **state) {
    (void)state;
    roast_run *run = run_of(10);
    roast_attempts *attempts = watch(run);
    join(run, "w", 0, 1);
    join(run, "never used", 5, 1);
    add_try(attempts, "P", "P-1", "w", ROAST_OUTCOME_done, (try_times){0, 0, 0, 6, 6});
    add_chunk(run, "P-1", "w", "x", "f",
              (chunk_times){.start = 1, .duration = 4, .before = 1, .cpu = 4, .host = "node-a"});
    roast_budget *budget = budget_of(run);
    assert_near(10, row_named(budget, ROAST_BY_host, "node-a")->available);
    assert_near(4, row_named(budget, ROAST_BY_host, "node-a")->parts[ROAST_PART_compute_cpu]);
    assert_near(5, row_named(budget, ROAST_BY_host, NULL)->available);
    roast_budget_free(budget);
    roast_run_free(run);
}

static void test_clocks_that_disagree(void **state) {
    (void)state;
    roast_run *run = run_of(10);
    roast_attempts *attempts = watch(run);
    join(run, "w", 0, 1);
    /* Ended before it stopped, sent after it began, and a chunk longer than its task. */
    add_try(attempts, "P", "P-1", "w", ROAST_OUTCOME_done, (try_times){1, 2.2, 2, 4, 3.9});
    add_chunk(run, "P-1", "w", "x", "f", (chunk_times){2.5, 9, NOT, 20, 30, NOT, NOT});
    /* Backwards, and beyond the end of the run. */
    add_try(attempts, "P", "P-2", "w", ROAST_OUTCOME_done, (try_times){5, 5, 6, 5.5, 6});
    add_try(attempts, "reduce", "reduce-1", "w", ROAST_OUTCOME_done, (try_times){8, 8, 9, 12, 13});
    roast_budget *budget = budget_of(run);
    assert_parts(roast_budget_total(budget), NOT, 0.5, 1.5, 0, 0, 0, 1, 0, 1 + 1, 0, 4, 1, 0, 0, 0,
                 0);
    roast_budget_free(budget);
    roast_run_free(run);
}

static void test_workers_come_and_go(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = run_of(10);
    watch(run);
    join(run, "a", 2, 2);
    leave(run, "a", 3);
    join(run, "a", 5, 4); /* again, with more threads */
    leave(run, "b", 1);   /* was there before the run: its threads are in the samples */
    join(run, "c", 9, 0);
    join(run, "d", 20, 8);
    /* e is seen in samples only, from 1 to 4. */
    double value[ROAST_COLUMNS];
    for (int column = 0; column < ROAST_COLUMNS; column++)
        value[column] = NAN;
    static const struct {
        double when;
        const char *name;
        double cores;
    } samples[] = {{0.5, "b", 3}, {1, "e", 2}, {4, "e", 2}, {9.5, "c", 1}};
    for (unsigned i = 0; i < sizeof samples / sizeof *samples; i++) {
        uint32_t worker = series_worker(run, samples[i].name);
        roast_utc when = {us(samples[i].when) * 1000};
        value[ROAST_COLUMN_cores] = samples[i].cores;
        assert_ok(roast_series_tick(roast_run_series(run), when, 1, &err), err);
        assert_ok(roast_series_append(roast_run_series(run), worker, value, &err), err);
    }
    roast_budget *budget = budget_of(run);
    assert_near(2 + 20, row_named(budget, ROAST_BY_worker, "a")->available);
    assert_near(3, row_named(budget, ROAST_BY_worker, "b")->available);
    assert_near(1, row_named(budget, ROAST_BY_worker, "c")->available);
    assert_true(row_named(budget, ROAST_BY_worker, "d")->available == 0);
    assert_near(6, row_named(budget, ROAST_BY_worker, "e")->available);
    /* Without any task all of it is the client's. */
    assert_near(32, roast_budget_total(budget)->parts[ROAST_PART_client]);
    roast_budget_free(budget);
    roast_run_free(run);
}

static void add_local_chunk(roast_run *run, int64_t pid, int64_t thread, double start,
                            double duration, double cpu) {
    roast_error err;
    static uint64_t seq;
    roast_chunk chunk = {.token = 2,
                         .seq = ++seq,
                         .pid = pid,
                         .host = roast_str_of("laptop"),
                         .dataset = roast_str_of("x")};
    chunk.start_us = us(start);
    chunk.thread = thread;
    chunk.have = ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(thread);
    PUT_NS(&chunk, duration_ns, duration);
    PUT_NS(&chunk, cpu_user_ns, cpu);
    PUT_NS(&chunk, cpu_system_ns, 0.0);
    assert_ok(roast_chunklog_append(roast_run_chunks(run), &chunk, &err), err);
}

static void test_executor_of_this_machine(void **state) {
    (void)state;
    roast_run *run = run_of(10);
    join(run, "laptop:7", 0, 2);
    add_local_chunk(run, 7, 71, 1, 2, 2);
    add_local_chunk(run, 7, 71, 4, 2, 1); /* 1 s after the one before it */
    add_local_chunk(run, 7, 72, 3, 1, 1);
    add_local_chunk(run, 8, 81, 3, 1, 1); /* of no worker that is known */
    roast_budget *budget = budget_of(run);
    assert_false(roast_budget_has_attempts(budget));
    /* The last chunk's task begins at 3, and the last chunk ends at 6: idle is only the thread that is free then. */
    assert_parts(roast_budget_total(budget), NOT, 1, 0, 4, 1, NOT, NOT, NOT, NOT, 0, NOT, NOT, NOT,
                 NOT, 2, 12);
    assert_near(6, row_named(budget, ROAST_BY_dataset, "x")->available);
    roast_budget_free(budget);
    roast_run_free(run);
}

/* The client preprocesses from 1 to 3 and has the executor work from 4 to 14. */
static roast_run *local_run(void) {
    roast_run *run = run_of(15);
    join(run, "laptop:7", 0, 2);
    add_phase(run, ROAST_PHASE_preprocessing, 1, 3);
    add_phase(run, ROAST_PHASE_execution, 4, 14);
    return run;
}

static void test_phases_of_the_client(void **state) {
    (void)state;
    roast_run *run = local_run();
    add_local_chunk(run, 7, 71, 5, 3, 3);
    add_local_chunk(run, 7, 71, 9, 4, 2); /* 1 s after the one before it */
    add_local_chunk(run, 7, 72, 6, 2, 2);
    roast_budget *budget = budget_of(run);
    /* Before process(): 1 + 1 and 2. The last chunk begins at 8 and ends at 13. The client: 0 to 1, 3 to 4, and
     * from 13 on. */
    assert_parts(roast_budget_total(budget), 4, 4, 0, 7, 2, NOT, NOT, NOT, NOT, 0, 8, NOT, NOT, NOT,
                 5, 0);
    assert_sums(budget);
    roast_budget_free(budget);
    roast_run_free(run);
}

static void sample_cpu(roast_run *run, double when, double percent) {
    roast_error err;
    double value[ROAST_COLUMNS];
    for (int column = 0; column < ROAST_COLUMNS; column++)
        value[column] = NAN;
    value[ROAST_COLUMN_cpu] = percent;
    uint32_t worker = series_worker(run, "laptop:7");
    roast_utc utc = {us(when) * 1000};
    assert_ok(roast_series_tick(roast_run_series(run), utc, 1, &err), err);
    assert_ok(roast_series_append(roast_run_series(run), worker, value, &err), err);
}

/* Without the decorator: the CPU time of the process is known, and nothing else of its threads. */
static void test_phases_without_records(void **state) {
    (void)state;
    roast_run *run = local_run();
    sample_cpu(run, 0, NAN);
    sample_cpu(run, 4, 100); /* in preprocessing, which has its part */
    sample_cpu(run, 9, 160);
    sample_cpu(run, 14, NAN);
    sample_cpu(run, 15, 100);
    roast_budget *budget = budget_of(run);
    assert_parts(roast_budget_total(budget), 4, NOT, NOT, 8, NOT, NOT, NOT, NOT, NOT, NOT, 6, NOT,
                 NOT, NOT, NOT, 12);
    assert_true(isnan(roast_budget_total(budget)->offcpu_rest));
    assert_true(isnan(roast_budget_saving(budget, ROAST_PART_idle_tail)));
    assert_sums(budget);
    roast_budget_free(budget);
    /* Not more than the threads had. */
    sample_cpu(run, 15.5, 100000);
    roast_run_set_clock(run, (double)T0, (double)T0 + 15.5);
    add_phase(run, ROAST_PHASE_execution, 15, 15.5);
    budget = budget_of(run);
    assert_near(9, roast_budget_total(budget)->parts[ROAST_PART_compute_cpu]);
    roast_budget_free(budget);
    roast_run_free(run);
}

static void test_preprocessing_on_a_cluster(void **state) {
    (void)state;
    roast_run *run = run_of(10);
    roast_attempts *attempts = watch(run);
    join(run, "w", 0, 2);
    add_phase(run, ROAST_PHASE_preprocessing, 1, 4);
    add_phase(run, ROAST_PHASE_execution, 5, 9);
    /* The clock of the scheduler is a little behind. */
    add_try(attempts, "get_metadata", "g-1", "w", ROAST_OUTCOME_done,
            (try_times){0.99, 1, 1, 3, 3.5});
    add_try(attempts, "reduce", "r-1", "w", ROAST_OUTCOME_done, (try_times){3.5, 3.5, 3.5, 4, 4});
    add_try(attempts, "mine", "m-1", "w", ROAST_OUTCOME_done, (try_times){5, 5, 5, 6, 6});
    add_try(attempts, "reduce", "r-2", "w", ROAST_OUTCOME_done, (try_times){6, 6, 6, 8, 8});
    roast_budget *budget = budget_of(run);
    /* Preprocessing: 2.5 of tasks, 3 and 0 of the thread beside them. The client: 0 to 1, 4 to 5, 8 to 10. */
    assert_parts(roast_budget_total(budget), 2.5 + 3, 0, 0, 0, 0, 0, 2, 1, 0.5, 0, 8, 0, 3, 0, 0,
                 0);
    roast_budget_free(budget);
    roast_run_free(run);
}

static void add_span(roast_run *run, const char *prefix, const char *activity, double seconds) {
    roast_error err;
    roast_span_value span = {roast_str_of("execute"), roast_str_of(prefix), roast_str_of(activity),
                             roast_str_of("seconds"), seconds};
    assert_ok(roast_run_add_span(run, &span, &err), err);
}

static void add_all_spans(roast_run *run) {
    roast_error err;
    assert_ok(roast_run_set_processor(run, roast_str_of("P"), &err), err);
    assert_ok(roast_run_set_meta(run, roast_str_of("reducer"), roast_str_of("reduce"), &err), err);
    add_span(run, "P", "thread-cpu", 3);
    add_span(run, "P", "thread-noncpu", 1);
    add_span(run, "reduce", "thread-cpu", 1.5);
    add_span(run, "get_metadata", "thread-noncpu", 0.5);
    add_span(run, "get_metadata", "executor", 100);
}

static void test_spans_where_nobody_watched(void **state) {
    (void)state;
    roast_run *run = run_of(10);
    join(run, "w", 0, 1);
    add_all_spans(run);
    add_chunk(run, "P-1", "w", "x", "f", (chunk_times){3, 2, 1, NOT, 2, NOT, NOT});
    add_chunk(run, "P-2", "w", "x", "f", (chunk_times){7, 1, 1, NOT, 1, NOT, NOT});
    roast_budget *budget = budget_of(run);
    /* Idle: 2 before, 1 between, 2 after; two of these five were other tasks, one cannot tell which. */
    assert_parts(roast_budget_total(budget), NOT, 2, 0, 3, 0, NOT, 1.5, 0.5, NOT, 0, NOT, 1.2, 0,
                 0.6, 1.2, 0);
    assert_sums(budget);
    roast_budget_free(budget);
    roast_run_free(run);
}

static void test_spans_alone(void **state) {
    (void)state;
    roast_run *run = run_of(10);
    join(run, "w", 0, 1);
    add_all_spans(run);
    roast_budget *budget = budget_of(run);
    /* Nobody knows when: 6 s of tasks, and 4 s of which nothing is known. */
    assert_parts(roast_budget_total(budget), NOT, NOT, NOT, 3, 1, NOT, 1.5, 0.5, NOT, NOT, NOT, NOT,
                 NOT, NOT, NOT, 4);
    assert_sums(budget);
    roast_budget_free(budget);
    roast_run_free(run);
}

static void test_spans_where_chunks_have_no_clock(void **state) {
    (void)state;
    roast_run *run = run_of(10);
    roast_attempts *attempts = watch(run);
    join(run, "w", 0, 1);
    add_all_spans(run);
    add_try(attempts, "P", "P-1", "w", ROAST_OUTCOME_done, (try_times){0, 0, 0, 8, 8});
    roast_budget *budget = budget_of(run);
    assert_parts(roast_budget_total(budget), NOT, 0, 0, 6, 2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0);
    assert_true(isnan(roast_budget_total(budget)->offcpu_io));
    roast_budget_free(budget);
    roast_run_free(run);
}

static void test_without_a_clock_or_workers_there_is_none(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = run_of(10);
    roast_budget *budget = NULL;
    bool known = true;
    assert_status(ROAST_ENOTFOUND, roast_budget_compute(run, &budget, &err));
    assert_non_null(strstr(err.message, "no worker"));
    assert_ok(roast_budget_is_known(run, &known, &err), err);
    assert_false(known);
    join(run, "w", 0, 1);
    assert_ok(roast_budget_is_known(run, &known, &err), err);
    assert_true(known);
    static const double ends[] = {0, -1, INFINITY, NAN, 1e300};
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++) {
        roast_run_set_clock(run, 0, ends[i]);
        assert_status(ROAST_ENOTFOUND, roast_budget_compute(run, &budget, &err));
        assert_ok(roast_budget_is_known(run, &known, &err), err);
        assert_false(known);
    }
    assert_non_null(strstr(err.message, "start and the end"));
    roast_run_free(run);
    roast_budget_free(NULL);
}

static void test_names(void **state) {
    (void)state;
    uint32_t count = 7;
    roast_run *run = run_of(10);
    join(run, "w", 0, 1);
    roast_budget *budget = budget_of(run);
    assert_string_equal("idle_tail", roast_budget_part_name(ROAST_PART_idle_tail));
    assert_string_equal("unknown", roast_budget_part_name(ROAST_PART_COUNT));
    assert_string_equal("Lost Work", roast_budget_part_label(ROAST_PART_lost));
    assert_string_equal("unknown", roast_budget_part_label(ROAST_PART_COUNT));
    assert_string_equal("host", roast_budget_split_name(ROAST_BY_host));
    assert_string_equal("unknown", roast_budget_split_name(ROAST_SPLIT_COUNT));
    assert_null(roast_budget_rows(budget, ROAST_SPLIT_COUNT, &count));
    assert_int_equal(0, count);
    roast_budget_free(budget);
    roast_run_free(run);
}

static void test_every_part_is_in_the_catalogue(void **state) {
    (void)state;
    unsigned found = 0;
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *row = roast_catalogue_at(i);
        if (strcmp(row->group, "budget") != 0)
            continue;
        assert_int_equal(ROAST_IN_TABLE, row->scope);
        for (int part = 0; part < ROAST_PART_COUNT; part++) {
            if (strcmp(row->key, roast_budget_part_name((roast_budget_part)part)) == 0) {
                assert_string_equal(row->label, roast_budget_part_label((roast_budget_part)part));
                found++;
            }
        }
    }
    assert_int_equal(ROAST_PART_COUNT, found);
}

/* ---- any run ---- */
static uint64_t random_state = 88172645463325252;

static double random_to(double most) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return most * (double)(random_state >> 11) / 9007199254740992.0;
}

static roast_run *random_run(unsigned tasks) {
    static const char *const prefixes[] = {"P", "P", "P", "reduce", "other", "foreign"};
    static const char *const workers[] = {"a", "b", "c", "d", "elsewhere"};
    roast_run *run = run_of(100);
    roast_attempts *attempts = watch(run);
    for (unsigned i = 0; i < 4; i++) {
        join(run, workers[i], random_to(50) - 10, 1 + (int32_t)random_to(4));
        if (i > 1)
            leave(run, workers[i], 50 + random_to(60));
        if (i > 0)
            set_host(run, workers[i], i > 1 ? "n1" : "n2");
    }
    for (unsigned i = 0; i < tasks; i++) {
        char key[32];
        const char *prefix = prefixes[(int)random_to(6)], *worker = workers[(int)random_to(5)];
        double ready = random_to(110) - 5, sent = ready + random_to(3) - 0.5;
        double start = sent + random_to(2) - 0.5, stop = start + random_to(10) - 0.5;
        bool told = random_to(1) < 0.9;
        snprintf(key, sizeof key, "%s-%u", prefix, i);
        add_try(attempts, prefix, key, worker,
                (roast_outcome)(random_to(1) < 0.7 ? 0 : random_to(4)),
                (try_times){random_to(1) < 0.9 ? ready : NAN, random_to(1) < 0.9 ? sent : NAN,
                            told ? start : NAN, told ? stop : NAN, stop + random_to(1) - 0.2});
        if (strcmp(prefix, "P") == 0 && random_to(1) < 0.9) {
            double duration = random_to(6);
            add_chunk(run, key, worker, i % 3 == 0 ? "x" : "y", i % 2 == 0 ? "f" : "g",
                      (chunk_times){start + random_to(2), duration,
                                    random_to(1) < 0.9 ? random_to(3) : NAN,
                                    random_to(1) < 0.9 ? random_to(2) : NAN,
                                    random_to(1) < 0.9 ? random_to(1) * duration : NAN,
                                    random_to(1), random_to(1)});
        }
    }
    return run;
}

static void test_any_run_adds_up(void **state) {
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        roast_run *run = random_run(round * 4);
        for (unsigned i = 0; i < round % 4; i++) {
            double start = random_to(110) - 5;
            add_phase(run, (roast_phase_kind)(i % 2), start, start + random_to(30));
        }
        if (round % 5 == 4)
            roast_run_take_attempts(run, NULL);
        roast_budget *budget = budget_of(run);
        const roast_budget_row *total = roast_budget_total(budget);
        double sum = 0;
        for (int part = 0; part < ROAST_PART_COUNT; part++) {
            double got = total->parts[part];
            if (!isnan(got) && got < -1e-6)
                fail_msg("round %u: %s is %g", round,
                         roast_budget_part_name((roast_budget_part)part), got);
            sum += isnan(got) ? 0 : got;
        }
        assert_true(fabs(sum - total->available) < 1e-6 * total->available);
        assert_sums(budget);
        roast_budget_free(budget);
        roast_run_free(run);
    }
}

/* Coffea tries a chunk again inside its task: twice it raises, then it gives a result. A try of the task before raised, too. */
static void test_tries_inside_a_task(void **state) {
    (void)state;
    roast_run *run = run_of(10);
    roast_attempts *attempts = watch(run);
    join(run, "w", 0, 1);
    add_try(attempts, "P", "P-1", "w", ROAST_OUTCOME_raised, (try_times){0, 0, 0, 2, 2});
    add_chunk(run, "P-1", "w", "tt", "f",
              (chunk_times){0.5, 1, NAN, NAN, 1, NAN, NAN, .raised = true});
    add_try(attempts, "P", "P-2", "w", ROAST_OUTCOME_done, (try_times){2, 2, 2, 10, 10});
    add_chunk(run, "P-2", "w", "tt", "f",
              (chunk_times){3, 1, NAN, NAN, 1, NAN, NAN, .raised = true});
    add_chunk(run, "P-2", "w", "tt", "f",
              (chunk_times){4.5, 2, NAN, NAN, 1, NAN, NAN, .raised = true});
    add_chunk(run, "P-2", "w", "tt", "f", (chunk_times){7, 2, NAN, 0, 2, NAN, NAN});
    roast_budget *budget = budget_of(run);
    const roast_budget_row *total = roast_budget_total(budget);
    assert_near(2 + 1 + 2, total->parts[ROAST_PART_lost]);
    assert_near(1 + 0.5 + 0.5, total->parts[ROAST_PART_before_process]);
    assert_near(2, total->parts[ROAST_PART_compute_cpu]);
    assert_near(1, total->parts[ROAST_PART_after_process]);
    assert_sums(budget);
    roast_budget_free(budget);
    roast_run_free(run);
}

/* ---- as a table ---- */

static void assert_cell(const char *text, const roast_grid *grid, uint32_t row, uint32_t column) {
    assert_str(text, roast_grid_text(grid, row, column));
}

static void test_a_table_by_storage(void **state) {
    (void)state;
    roast_run *run = run_of(10);
    roast_attempts *attempts = watch(run);
    roast_grid *grid;
    roast_error err;
    join(run, "w", -5, 1);
    add_try(attempts, "P", "P-1", "w", ROAST_OUTCOME_done, (try_times){0, 0, 0, 2, 2});
    add_chunk(run, "P-1", "w", "tt", "root://a//f.root", (chunk_times){0, 2, 0, 0.5, 0.5, 0, 0});
    add_try(attempts, "P", "P-2", "w", ROAST_OUTCOME_done, (try_times){2, 2, 2, 7, 7});
    add_chunk(run, "P-2", "w", "tt", "root://b//f.root", (chunk_times){2, 5, 0, 4, 0.5, 0, 0});
    roast_budget *budget = budget_of(run);
    assert_ok(roast_budget_grid(budget, ROAST_BY_storage, &grid, &err), err);
    assert_str("Budget by storage", roast_grid_title(grid));
    assert_int_equal(3, roast_grid_row_count(grid));
    assert_str("Storage", roast_grid_heading(grid, 0));
    assert_cell("root://b", grid, 0, 0);
    assert_cell("5.00 s", grid, 0, 1);
    assert_cell("root://a", grid, 1, 0);
    assert_cell("2.00 s", grid, 1, 1);
    assert_cell("of none of them", grid, 2, 0); /* idle */
    assert_cell("3.00 s", grid, 2, 1);
    assert_str(roast_budget_part_label(ROAST_PART_read), roast_grid_heading(grid, 2));
    assert_cell("4.00 s", grid, 0, 2);
    assert_cell("0 s", grid, 0, roast_grid_column_count(grid) - 1);
    roast_grid_free(grid);
    roast_budget_free(budget);
    roast_run_free(run);
}

static roast_status compute_again(void *context) {
    roast_budget *budget = NULL;
    roast_grid *grid = NULL;
    roast_status status = roast_budget_compute(context, &budget, NULL);
    if (status == ROAST_OK)
        status = roast_budget_grid(budget, ROAST_BY_worker, &grid, NULL);
    roast_grid_free(grid);
    roast_budget_free(budget);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    roast_run *run = random_run(60);
    assert_true(alloc_walk(compute_again, run) > 20);
    roast_run_take_attempts(run, NULL);
    assert_true(alloc_walk(compute_again, run) > 10);
    add_phase(run, ROAST_PHASE_preprocessing, 1, 3);
    add_phase(run, ROAST_PHASE_execution, 5, 6);
    add_phase(run, ROAST_PHASE_execution, 20, 60);
    assert_true(alloc_walk(compute_again, run) > 10);
    roast_run_free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_task_in_all_its_phases),
        cmocka_unit_test(test_reads_on_the_cpu),
        cmocka_unit_test(test_idle_by_its_reason),
        cmocka_unit_test(test_what_came_to_nothing),
        cmocka_unit_test(test_more_tasks_than_threads_share_them),
        cmocka_unit_test(test_a_task_that_overlaps_a_little),
        cmocka_unit_test(test_a_task_that_overlaps_with_process),
        cmocka_unit_test(test_clocks_that_disagree),
        cmocka_unit_test(test_workers_come_and_go),
        cmocka_unit_test(test_executor_of_this_machine),
        cmocka_unit_test(test_phases_of_the_client),
        cmocka_unit_test(test_phases_without_records),
        cmocka_unit_test(test_preprocessing_on_a_cluster),
        cmocka_unit_test(test_spans_alone),
        cmocka_unit_test(test_spans_where_nobody_watched),
        cmocka_unit_test(test_spans_where_chunks_have_no_clock),
        cmocka_unit_test(test_without_a_clock_or_workers_there_is_none),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_every_part_is_in_the_catalogue),
        cmocka_unit_test(test_any_run_adds_up),
        cmocka_unit_test(test_tries_inside_a_task),
        cmocka_unit_test(test_the_start_of_python),
        cmocka_unit_test(test_hosts_of_the_chunks),
        cmocka_unit_test(test_a_table_by_storage),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
