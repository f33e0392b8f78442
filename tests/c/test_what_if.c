/* What if: predictions from runs of a made cluster, compared with what it does then. */
#include "made_cluster.h"

#include <stdlib.h>

#include "roast/what_if_tables.h"

/* Files of different lengths, so that the fixed cost can be told; 3 % of noise. */
static made_cluster usual(void) {
    made_cluster c = {.workers = 4,
                      .threads = 1,
                      .files = 48,
                      .chunksize = 50000,
                      .open = 0.8,
                      .fixed = 0.2,
                      .per_event = 4e-5,
                      .noise = 0.05,
                      .width = 20,
                      .merge = 0.01,
                      .head = 2,
                      .tail = 1,
                      .bytes = 500,
                      .seed = 1};
    for (int i = 0; i < c.files; i++)
        c.lengths[i] = 9000 + 13000 * (i % 6) + 500 * i;
    return c;
}

static roast_what_if *ask(const roast_run *run, const roast_what_if_options *options) {
    roast_error err;
    roast_what_if *what_if = NULL;
    assert_ok(roast_what_if_new(run, options, &what_if, &err), err);
    return what_if;
}

static void assert_within(double share, double expected, double found, const char *what) {
    if (!(fabs(found / expected - 1) <= share))
        fail_msg("%s: %.4g is not within %.3g of %.4g", what, found, share, expected);
}

static bool holds(const roast_what_if *what_if, double truth) {
    const roast_what_if_figures *figures = roast_what_if_get(what_if);
    return figures->low <= truth && truth <= figures->high;
}

static const roast_what_if_limit *limit_of(const roast_what_if *what_if,
                                           roast_what_if_limit_kind kind) {
    uint32_t count;
    const roast_what_if_limit *limits = roast_what_if_limits(what_if, &count);
    assert_int_equal(ROAST_WHAT_IF_LIMIT_COUNT, count);
    for (uint32_t i = 0; i < count; i++)
        if (limits[i].kind == kind)
            return &limits[i];
    fail_msg("there is no limit %d", (int)kind);
    return NULL;
}

static bool says(const roast_what_if *what_if, const char *words) {
    for (uint32_t i = 0; i < roast_what_if_note_count(what_if); i++)
        if (strstr(roast_what_if_note(what_if, i).data, words) != NULL)
            return true;
    return false;
}

static void assert_budget_adds_up(const roast_what_if *what_if) {
    const roast_budget_row *budget = &roast_what_if_get(what_if)->budget;
    double sum = 0;
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        sum += isnan(budget->parts[part]) ? 0 : budget->parts[part];
    assert_within(1e-9, budget->available, sum, "sum of the parts");
    assert_true(fabs(budget->parts[ROAST_PART_unaccounted]) < 0.05 * budget->available);
}

static int predictions, hits;

/* Predicts `to` from a run of `from`; the prediction must be within a share of the truth. Whether its interval holds it
 * is counted: one in ten need not. */
static void predict(const made_cluster *from, const made_cluster *to,
                    const roast_what_if_options *options, double share, const char *what) {
    roast_run *run;
    double recorded = made_run(from, &run), truth = made_run(to, NULL);
    roast_what_if *what_if = ask(run, options);
    const roast_what_if_figures *figures = roast_what_if_get(what_if);
    assert_within(1e-6, recorded, figures->recorded, what);
    assert_within(0.02, recorded, figures->replayed, what);
    assert_within(share, truth, figures->wall, what);
    predictions++;
    hits += holds(what_if, truth);
    assert_budget_adds_up(what_if);
    roast_what_if_free(what_if);
    roast_run_free(run);
}

/* ---- predictions ---- */

static void test_nothing_changes(void **state) {
    (void)state;
    made_cluster c = usual();
    predict(&c, &c, NULL, 0.01, "as recorded");
    c.noise = 0;
    c.ramp = 10;
    predict(&c, &c, NULL, 0.005, "with a ramp-up");
}

static void test_workers(void **state) {
    (void)state;
    static const int numbers[] = {1, 2, 8, 16, 40};
    made_cluster from = usual();
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        made_cluster to = from;
        to.workers = numbers[i];
        to.seed = 50 + i;
        predict(&from, &to, &(roast_what_if_options){.workers = (uint32_t)numbers[i]}, 0.06,
                "workers");
    }
}

static void test_chunksizes(void **state) {
    (void)state;
    static const int sizes[] = {10000, 25000, 100000, 1000000};
    made_cluster from = usual();
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        made_cluster to = from;
        to.chunksize = sizes[i];
        to.seed = 70 + i;
        predict(&from, &to, &(roast_what_if_options){.chunksize = (uint64_t)sizes[i]}, 0.06,
                "chunk size");
    }
}

static void test_both_and_back(void **state) {
    (void)state;
    made_cluster small = usual(), large = usual();
    large.workers = 12;
    large.chunksize = 20000;
    large.seed = 9;
    predict(&small, &large, &(roast_what_if_options){.workers = 12, .chunksize = 20000}, 0.06,
            "up");
    predict(&large, &small, &(roast_what_if_options){.workers = 4, .chunksize = 50000}, 0.1,
            "down");
}

/* Workers that come one after the other, and whose first chunk imports everything. */
static void test_slow_beginnings(void **state) {
    (void)state;
    made_cluster from = usual(), to;
    from.ramp = 20;
    from.cold = 3;
    to = from;
    to.workers = 16;
    to.seed = 5;
    predict(&from, &to, &(roast_what_if_options){.workers = 16}, 0.08, "slow beginnings");
    /* Half of the threads were warm before. */
    from.ramp = 0;
    from.warm = 2;
    from.cold = 10;
    predict(&from, &from, NULL, 0.03, "some are warm");
}

/* A run of six files says what eight times as many take. */
static void test_more_of_the_same(void **state) {
    (void)state;
    made_cluster from = usual(), to = usual();
    from.files = 6;
    for (int i = 0; i < from.files; i++)
        from.lengths[i] = to.lengths[i] = 300000 - 47000 * i;
    for (int i = from.files; i < to.files; i++)
        to.lengths[i] = to.lengths[i % from.files];
    to.workers = 20;
    predict(&from, &to, &(roast_what_if_options){.workers = 20, .times = 8}, 0.06, "times");
}

/* In nine of ten runs the truth lies in the interval. */
static void test_interval(void **state) {
    (void)state;
    int inside = 0, runs = 100;
    double width = 0;
    for (int i = 0; i < runs; i++) {
        made_cluster from = usual(), to;
        roast_run *run;
        from.files = 8;
        from.noise = 0.4;
        from.seed = 1000 + (uint64_t)i;
        to = from;
        to.workers = 3 + i % 7;
        to.seed = 5000 + (uint64_t)i;
        made_run(&from, &run);
        roast_what_if *what_if =
            ask(run, &(roast_what_if_options){.workers = (uint32_t)to.workers});
        const roast_what_if_figures *figures = roast_what_if_get(what_if);
        inside += holds(what_if, made_run(&to, NULL));
        width += (figures->high - figures->low) / figures->wall / runs;
        roast_what_if_free(what_if);
        roast_run_free(run);
    }
    if (inside < 85 || width > 0.35)
        fail_msg("%d of %d in an interval of %.2g", inside, runs, width);
}

/* Chunks of one size: nothing tells how much of process() is fixed, and the interval says so. */
static void test_one_size(void **state) {
    (void)state;
    made_cluster from = usual(), to;
    for (int i = 0; i < from.files; i++)
        from.lengths[i] = 200000;
    from.fixed = 1;
    to = from;
    to.chunksize = 200000;
    roast_run *run;
    made_run(&from, &run);
    roast_what_if *what_if = ask(run, &(roast_what_if_options){.chunksize = 200000});
    assert_true(holds(what_if, made_run(&to, NULL)));
    assert_true(says(what_if, "fixed cost"));
    assert_int_equal(48, roast_what_if_get(what_if)->chunks);
    roast_what_if_free(what_if);
    roast_run_free(run);
    /* With files of different lengths it is known. */
    from = usual();
    made_run(&from, &run);
    what_if = ask(run, &(roast_what_if_options){.chunksize = 200000});
    assert_false(says(what_if, "fixed cost"));
    roast_what_if_free(what_if);
    roast_run_free(run);
}

/* Chunks within a basket read all of it: half the chunk size doubles the reading, whole baskets read nothing twice. */
static void test_baskets(void **state) {
    (void)state;
    static const int sizes[] = {5000, 20000, 40000};
    made_cluster from = usual();
    from.files = 12;
    for (int i = 0; i < from.files; i++)
        from.lengths[i] = 40000;
    from.chunksize = 10000;
    from.basket = 40000;
    from.per_event = 0;
    from.fixed = 0.01;
    from.noise = 0.01;
    from.read = 1e-4; /* four seconds of four and a half */
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        made_cluster to = from;
        to.chunksize = sizes[i];
        predict(&from, &to, &(roast_what_if_options){.chunksize = (uint64_t)sizes[i]}, 0.1,
                "baskets");
    }
    roast_run *run;
    made_run(&from, &run);
    roast_what_if *what_if = ask(run, &(roast_what_if_options){.chunksize = 40000});
    const roast_what_if_figures *figures = roast_what_if_get(what_if);
    assert_within(1e-5, 12 * 40000 * from.bytes, figures->bytes, "bytes read once");
    assert_within(1e-3, 12 * 40000 * from.read, figures->budget.parts[ROAST_PART_read], "reading");
    assert_within(1e-3, 48 * 40000 * from.read, figures->recorded_budget.parts[ROAST_PART_read],
                  "reading, as recorded");
    roast_what_if_free(what_if);
    roast_run_free(run);
}

/* The first file that a worker looks at takes longer: not so with one worker for two. */
static void test_cold_preprocessing(void **state) {
    (void)state;
    made_cluster few = usual(), many;
    few.workers = 2;
    few.look = 0.1;
    few.look_cold = 12;
    many = few;
    many.workers = 8;
    predict(&few, &many, &(roast_what_if_options){.workers = 8}, 0.06, "more cold workers");
    predict(&many, &few, &(roast_what_if_options){.workers = 2}, 0.06, "fewer cold workers");
}

/* ---- files, reading, threads ---- */

static void test_without_a_file(void **state) {
    (void)state;
    made_cluster from = usual(), to;
    from.slow = 6;
    to = from;
    for (int i = 1; i < to.files; i++)
        to.lengths[i - 1] = from.lengths[i];
    to.files--;
    to.slow = 0;
    const roast_str file = roast_str_of("data/f0.root"), other = roast_str_of("0.root");
    predict(&from, &to, &(roast_what_if_options){.leave_out = &file, .n_leave_out = 1}, 0.05,
            "without a file");
    roast_run *run;
    roast_error err;
    roast_what_if *what_if;
    made_run(&from, &run);
    assert_status(ROAST_EINVAL,
                  roast_what_if_new(run,
                                    &(roast_what_if_options){.leave_out = &other, .n_leave_out = 1},
                                    &what_if, &err));
    assert_string_equal("no chunk of the run is of file 0.root", err.message);
    roast_run_free(run);
    from.files = 1;
    made_run(&from, &run);
    assert_status(ROAST_EINVAL,
                  roast_what_if_new(run,
                                    &(roast_what_if_options){.leave_out = &file, .n_leave_out = 1},
                                    &what_if, &err));
    assert_string_equal("all files are left out", err.message);
    roast_run_free(run);
}

static void test_rate_of_reading(void **state) {
    (void)state;
    made_cluster c = usual();
    roast_run *run;
    double recorded = made_run(&c, &run), events = 0;
    for (int i = 0; i < c.files; i++)
        events += c.lengths[i];
    double rate = events * c.bytes / 1000; /* a thousand seconds */
    roast_what_if *what_if = ask(run, &(roast_what_if_options){.workers = 50, .read_rate = rate});
    const roast_what_if_figures *figures = roast_what_if_get(what_if);
    assert_within(1e-6, events * c.bytes, figures->bytes, "bytes");
    assert_within(0.01, 1003, figures->wall, "limited by the storage");
    assert_int_equal(ROAST_WHAT_IF_reading, roast_what_if_limiting(what_if));
    assert_true(limit_of(what_if, ROAST_WHAT_IF_reading)->certain);
    assert_true(limit_of(what_if, ROAST_WHAT_IF_reading)->rate == rate);
    assert_false(says(what_if, "storage"));
    assert_budget_adds_up(what_if);
    roast_what_if_free(what_if);
    /* A rate far above what is needed changes nothing. Without one, what is needed is told. */
    what_if = ask(run, &(roast_what_if_options){.read_rate = 1e15});
    assert_within(0.01, recorded, roast_what_if_get(what_if)->wall, "not limited");
    roast_what_if_free(what_if);
    what_if = ask(run, &(roast_what_if_options){.workers = 50});
    assert_true(says(what_if, "The storage would have to give"));
    assert_false(limit_of(what_if, ROAST_WHAT_IF_reading)->certain);
    roast_what_if_free(what_if);
    roast_run_free(run);
    /* Nothing is known of the bytes. */
    c.bytes = 0;
    made_run(&c, &run);
    what_if = ask(run, &(roast_what_if_options){.read_rate = 1});
    assert_within(0.01, recorded, roast_what_if_get(what_if)->wall, "bytes not known");
    assert_true(says(what_if, "was not measured"));
    assert_true(isnan(limit_of(what_if, ROAST_WHAT_IF_reading)->seconds));
    roast_what_if_free(what_if);
    roast_run_free(run);
}

/* Half of process() waits for ten reads: at most nine tenths of that are saved. */
static void test_preload(void **state) {
    (void)state;
    made_cluster from = usual(), to;
    roast_run *run;
    from.wait = 0.5;
    from.reads = 10;
    from.noise = 0.01;
    to = from;
    to.fixed *= 0.55;
    to.per_event *= 0.55;
    double recorded = made_run(&from, &run), truth = made_run(&to, NULL);
    roast_what_if *what_if = ask(run, &(roast_what_if_options){.preload = true});
    assert_within(0.03, truth, roast_what_if_get(what_if)->wall, "preload");
    assert_true(holds(what_if, truth) && holds(what_if, recorded));
    assert_true(says(what_if, "at most the waiting"));
    roast_what_if_free(what_if);
    roast_run_free(run);
    from.reads = 0;
    made_run(&from, &run);
    what_if = ask(run, &(roast_what_if_options){.preload = true});
    assert_true(says(what_if, "preloading changes nothing"));
    roast_what_if_free(what_if);
    roast_run_free(run);
}

/* Threads that do not disturb each other, and threads of which one computes at a time: both are in the interval. */
static void test_threads(void **state) {
    (void)state;
    made_cluster from = usual(), to;
    roast_run *run;
    from.threads = 2;
    to = from;
    to.threads = 4;
    made_run(&from, &run);
    roast_what_if *what_if = ask(run, &(roast_what_if_options){.threads = 4});
    assert_within(0.06, made_run(&to, NULL), roast_what_if_get(what_if)->wall, "threads");
    assert_int_equal(16, roast_what_if_get(what_if)->threads);
    assert_true(says(what_if, "Python's lock"));
    to.threads = 2; /* twice the threads, each half as fast */
    assert_true(holds(what_if, made_run(&to, NULL)));
    roast_what_if_free(what_if);
    what_if = ask(run, &(roast_what_if_options){.threads = 1, .workers = 8});
    assert_int_equal(8, roast_what_if_get(what_if)->threads);
    roast_what_if_free(what_if);
    roast_run_free(run);
}

/* A busy machine: another run may wait for cores more, or less. */
static void test_busy_machine(void **state) {
    (void)state;
    made_cluster from = usual(), quiet;
    roast_run *run;
    from.open = 0;
    from.wait = 0.4;
    quiet = from;
    quiet.fixed *= 0.85;
    quiet.per_event *= 0.85;
    double truth = made_run(&quiet, NULL);
    made_run(&from, &run);
    roast_what_if *what_if = ask(run, NULL);
    assert_false(holds(what_if, truth));
    assert_false(says(what_if, "waited for a core"));
    roast_what_if_free(what_if);
    roast_run_free(run);
    from.queued = 0.4;
    made_run(&from, &run);
    what_if = ask(run, NULL);
    assert_true(holds(what_if, truth));
    assert_true(says(what_if, "40% of process() waited for a core"));
    roast_what_if_free(what_if);
    roast_run_free(run);
}

/* ---- limits ---- */

static void test_limits(void **state) {
    (void)state;
    made_cluster c = usual();
    roast_run *run;
    c.noise = 0;
    made_run(&c, &run);
    roast_what_if *what_if = ask(run, NULL);
    assert_int_equal(ROAST_WHAT_IF_workers, roast_what_if_limiting(what_if));
    assert_within(1e-6, 3, limit_of(what_if, ROAST_WHAT_IF_outside)->seconds, "outside");
    roast_what_if_free(what_if);
    /* More workers than chunks: the longest chunk. */
    what_if = ask(run, &(roast_what_if_options){.workers = 2000});
    assert_int_equal(ROAST_WHAT_IF_longest_chunk, roast_what_if_limiting(what_if));
    double longest = 0;
    for (int i = 0; i < c.files; i++) {
        double n = fmax(1, nearbyint(c.lengths[i] / c.chunksize));
        longest = fmax(longest, 1 + c.per_event * ceil(c.lengths[i] / n));
    }
    assert_within(0.001, 3 + longest, limit_of(what_if, ROAST_WHAT_IF_longest_chunk)->seconds,
                  "longest chunk");
    assert_true(says(what_if, "as fast as the recorded ones"));
    roast_what_if_free(what_if);
    roast_run_free(run);
    /* Merging takes longer than all else. */
    c.merge = 5;
    made_run(&c, &run);
    what_if = ask(run, &(roast_what_if_options){.workers = 2000});
    assert_int_equal(ROAST_WHAT_IF_reduction, roast_what_if_limiting(what_if));
    roast_what_if_free(what_if);
    roast_run_free(run);
    /* The client takes longest. */
    c.merge = 0.01;
    c.head = 500;
    made_run(&c, &run);
    what_if = ask(run, &(roast_what_if_options){.workers = 2000});
    assert_true(roast_what_if_get(what_if)->wall > 500);
    roast_what_if_free(what_if);
    roast_run_free(run);
    assert_string_equal("workers", roast_what_if_limit_name(ROAST_WHAT_IF_workers));
    assert_string_equal("unknown", roast_what_if_limit_name(ROAST_WHAT_IF_LIMIT_COUNT));
    assert_string_equal("unknown", roast_what_if_limit_label(ROAST_WHAT_IF_LIMIT_COUNT));
}

/* A scheduler that takes 20 ms from the end of a task to sending the next: fifty tasks a second. */
static void test_scheduler(void **state) {
    (void)state;
    roast_run *run = run_of(200);
    roast_attempts *attempts = watch(run);
    char key[32];
    join(run, "w", 0, 1);
    for (int i = 0; i < 400; i++) {
        double start = 0.4 * i;
        snprintf(key, sizeof key, "P-%d", i);
        add_try(attempts, "P", key, "w", ROAST_OUTCOME_done,
                (try_times){0, start, start, start + 0.38, start + 0.38});
        add_chunk(run, key, "w", "x", "f",
                  (chunk_times){start + 0.1, 0.28, 0.1, NAN, 0.2, NAN, NAN});
    }
    roast_what_if *what_if = ask(run, &(roast_what_if_options){.workers = 1000});
    const roast_what_if_limit *limit = limit_of(what_if, ROAST_WHAT_IF_scheduler);
    assert_within(0.001, 50, limit->rate, "tasks per second");
    assert_int_equal(ROAST_WHAT_IF_scheduler, roast_what_if_limiting(what_if));
    assert_within(0.02, 40 + 8.38, roast_what_if_get(what_if)->wall, "limited by the scheduler");
    assert_true(says(what_if, "of what the scheduler can send"));
    roast_what_if_free(what_if);
    roast_run_free(run);
}

/* ---- odd runs ---- */

/* An executor of this machine: no tries, and outputs are merged by the client. */
static void test_without_tries(void **state) {
    (void)state;
    made_cluster from = usual(), to;
    from.unwatched = true;
    from.width = 0;
    to = from;
    to.workers = 2;
    predict(&from, &to, &(roast_what_if_options){.workers = 2}, 0.05, "without tries");
}

static void test_lost_work(void **state) {
    (void)state;
    roast_run *run = run_of(25);
    roast_attempts *attempts = watch(run);
    char key[32];
    join(run, "a", 0, 1);
    join(run, "b", 0, 1);
    leave(run, "b", 10);
    join(run, "c", 15, 1);
    for (int i = 0; i < 10; i++) {
        const char *worker = i < 5 ? "a" : i < 8 ? "b" : "c";
        double start = i < 5 ? 5 * i : i < 8 ? 3 * (i - 5) : 15 + 5 * (i - 8);
        double length = i < 5 ? 5 : i < 8 ? 3 : 5;
        snprintf(key, sizeof key, "P-%d", i);
        add_try(attempts, "P", key, worker, i == 7 ? ROAST_OUTCOME_lost : ROAST_OUTCOME_done,
                (try_times){0, start, start, start + length, start + length});
        add_chunk(run, key, worker, "x", "f",
                  (chunk_times){start + 1, length - 1, 1, NAN, 1, NAN, NAN});
    }
    roast_what_if *what_if = ask(run, NULL);
    const roast_what_if_figures *figures = roast_what_if_get(what_if);
    assert_near(2, figures->recorded_workers);
    assert_near(3, figures->budget.parts[ROAST_PART_lost]);
    assert_within(0.2, 25, figures->replayed, "with workers that leave");
    roast_what_if_free(what_if);
    what_if = ask(run, &(roast_what_if_options){.workers = 4});
    assert_true(says(what_if, "left and came again"));
    assert_near(4, roast_what_if_get(what_if)->threads);
    roast_what_if_free(what_if);
    roast_run_free(run);
}

static void test_few_chunks(void **state) {
    (void)state;
    made_cluster c = usual();
    roast_run *run;
    c.files = 2;
    c.lengths[0] = c.lengths[1] = 50000;
    made_run(&c, &run);
    roast_what_if *what_if = ask(run, &(roast_what_if_options){.workers = 1});
    assert_true(isnan(roast_what_if_get(what_if)->low));
    assert_int_equal(0, roast_what_if_get(what_if)->repeats);
    assert_true(says(what_if, "too few chunks"));
    roast_what_if_free(what_if);
    roast_run_free(run);
}

static void test_nothing_to_play(void **state) {
    (void)state;
    roast_error err;
    roast_what_if *what_if;
    roast_run *run = run_of(10);
    assert_status(ROAST_ENOTFOUND, roast_what_if_new(run, NULL, &what_if, &err));
    assert_non_null(strstr(err.message, "no records of chunks"));
    /* A chunk, but no worker. */
    add_chunk(run, "P-1", "w", "x", "f", (chunk_times){0, 1, 0, NAN, 1, NAN, NAN});
    assert_status(ROAST_ENOTFOUND, roast_what_if_new(run, NULL, &what_if, &err));
    /* A worker, but not that of the chunk. */
    join(run, "other", 0, 1);
    assert_status(ROAST_ENOTFOUND, roast_what_if_new(run, NULL, &what_if, &err));
    assert_non_null(strstr(err.message, "nothing to play again"));
    roast_run_free(run);
    roast_what_if_free(NULL);
}

static void test_options_that_cannot_be(void **state) {
    (void)state;
    static const roast_what_if_options wrong[] = {{.workers = ROAST_WHAT_IF_WORKERS + 1},
                                                  {.threads = ROAST_WHAT_IF_THREADS + 1},
                                                  {.read_rate = -1},
                                                  {.read_rate = NAN},
                                                  {.read_rate = INFINITY},
                                                  {.chunksize = 1},
                                                  {.times = 2000000}};
    made_cluster c = usual();
    roast_run *run;
    roast_error err;
    roast_what_if *what_if;
    for (int i = 0; i < c.files; i++)
        c.lengths[i] = 1e6;
    c.chunksize = 1000000;
    made_run(&c, &run);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_status(ROAST_EINVAL, roast_what_if_new(run, &wrong[i], &what_if, &err));
    roast_run_free(run);
}

static void test_rates(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double rate;
    } rates[] = {
        {"2Gbps", 2.5e8}, {"250MB/s", 2.5e8}, {"1.5 TB/s", 1.5e12}, {"8bps", 1}, {"10kB/s", 1e4}};
    static const char *const wrong[] = {"",
                                        "2",
                                        "fast",
                                        "2Gb",
                                        "-1Gbps",
                                        "0B/s",
                                        "nanB/s",
                                        "1GBps",
                                        "2 000MB/s",
                                        "1e20B/s",
                                        "1000000000000000000000000000000000000000000000000B/s"};
    roast_error err;
    double found;
    for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++) {
        assert_ok(roast_what_if_rate(roast_str_of(rates[i].text), &found, &err), err);
        assert_near(rates[i].rate, found);
    }
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_status(ROAST_EINVAL, roast_what_if_rate(roast_str_of(wrong[i]), &found, &err));
    assert_status(ROAST_EINVAL, roast_what_if_rate(roast_str_of(NULL), &found, NULL));
}

/* ---- output ---- */

static char *text_of(const roast_what_if *what_if, unsigned width, bool json) {
    roast_error err;
    roast_sink *sink;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    if (json)
        roast_what_if_json(what_if, sink);
    else
        assert_ok(roast_what_if_draw(what_if, width, false, sink, &err), err);
    roast_str data = roast_sink_memory(sink);
    char *text = malloc(data.len + 1);
    memcpy(text, data.data, data.len);
    text[data.len] = '\0';
    roast_sink_free(sink);
    return text;
}

static void test_output(void **state) {
    (void)state;
    made_cluster c = usual();
    roast_run *run;
    roast_error err;
    roast_grid *grid;
    made_run(&c, &run);
    roast_what_if *what_if = ask(run, &(roast_what_if_options){.workers = 64, .chunksize = 20000});
    char headline[ROAST_WHAT_IF_HEADLINE];
    roast_what_if_headline(what_if, headline, sizeof headline);
    assert_non_null(strstr(headline, " instead of "));
    char *text = text_of(what_if, 80, false);
    assert_non_null(strstr(text, "What Would Limit It"));
    assert_non_null(strstr(text, "90 % interval of the wall time"));
    free(text);
    text = text_of(what_if, 80, true);
    assert_non_null(strstr(text, "\"limiting\""));
    assert_null(strstr(text, "nan"));
    free(text);
    assert_status(ROAST_EINVAL,
                  roast_what_if_table(what_if, ROAST_WHAT_IF_TABLE_COUNT, &grid, &err));
    assert_null(roast_what_if_note(what_if, 1000).data);
    roast_what_if_free(what_if);
    roast_run_free(run);
}

/* ---- memory ---- */

static roast_status ask_all(void *run) {
    const roast_str file = roast_str_of("f0.root");
    const roast_what_if_options options = {.workers = 3,
                                           .threads = 2,
                                           .chunksize = 20000,
                                           .leave_out = &file,
                                           .n_leave_out = 1,
                                           .times = 2,
                                           .preload = true,
                                           .read_rate = 1e9};
    roast_what_if *what_if;
    roast_sink *sink;
    ROAST_TRY(roast_what_if_new(run, &options, &what_if, NULL));
    roast_status status = roast_sink_new_memory(&sink, NULL);
    if (status == ROAST_OK) {
        status = roast_what_if_draw(what_if, 80, true, sink, NULL);
        roast_what_if_json(what_if, sink);
        if (status == ROAST_OK)
            status = roast_sink_finish(sink, NULL);
        roast_sink_free(sink);
    }
    roast_what_if_free(what_if);
    return status;
}

static void test_memory_runs_out(void **state) {
    (void)state;
    made_cluster c = usual();
    roast_run *run;
    c.files = 3;
    made_run(&c, &run);
    assert_true(alloc_walk(ask_all, run) > 20);
    roast_run_free(run);
}

/* Of the predictions above. */
static void test_hits(void **state) {
    (void)state;
    if (hits < 0.8 * predictions)
        fail_msg("%d of %d predictions hold the truth", hits, predictions);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_changes),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_chunksizes),
        cmocka_unit_test(test_both_and_back),
        cmocka_unit_test(test_slow_beginnings),
        cmocka_unit_test(test_more_of_the_same),
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_one_size),
        cmocka_unit_test(test_baskets),
        cmocka_unit_test(test_cold_preprocessing),
        cmocka_unit_test(test_without_a_file),
        cmocka_unit_test(test_rate_of_reading),
        cmocka_unit_test(test_preload),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_busy_machine),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_scheduler),
        cmocka_unit_test(test_without_tries),
        cmocka_unit_test(test_hits),
        cmocka_unit_test(test_lost_work),
        cmocka_unit_test(test_few_chunks),
        cmocka_unit_test(test_nothing_to_play),
        cmocka_unit_test(test_options_that_cannot_be),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
