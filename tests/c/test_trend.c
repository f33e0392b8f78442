/* Changes of level in made series, and the trend of made runs. */
#include "support.h"

#include <math.h>
#include <stdlib.h>

#include "analyse/statistics/levels.h"
#include "roast/trend_tables.h"

/* ---- series ---- */

enum { MOST = 400 };

/* SplitMix64, for series that are the same on every machine. */
static double uniform(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static double normal(uint64_t *state) {
    double radius = sqrt(-2 * log(1 - uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

static size_t steps_of(const double *values, size_t count, double rate, roast_step *steps) {
    size_t found;
    roast_error err;
    assert_ok(roast_levels_find(values, count, rate, steps, &found, &err), err);
    for (size_t i = 0; i < found; i++)
        assert_true(steps[i].at > (i > 0 ? steps[i - 1].at : 0) && steps[i].at < count);
    return found;
}

/* ---- the test by ranks ---- */

static double pairs_in_order(const double *values, size_t from, size_t at, size_t to) {
    double pairs = 0;
    for (size_t i = from; i < at; i++)
        for (size_t j = at; j < to; j++)
            pairs += values[i] < values[j] ? 1 : values[i] == values[j] ? 0.5 : 0;
    return pairs - (double)(at - from) * (double)(to - at) / 2;
}

/* The largest difference between before and after, standardized; with fewer than sixteen values there is no window.
 * Written down another way: by the pairs that are in order. */
static double clearest(const double *values, size_t count) {
    double best = 0;
    for (size_t k = 1; k < count; k++)
        best = fmax(best, fabs(pairs_in_order(values, 0, k, count)) /
                              sqrt((double)k * (double)(count - k)));
    return best;
}

static uint64_t count_orders(double *values, size_t at, size_t count, double least,
                             uint64_t *reached) {
    uint64_t orders = 0;
    if (at == count) {
        *reached += clearest(values, count) >= least * (1 - 1e-12);
        return 1;
    }
    for (size_t i = at; i < count; i++) {
        double moved = values[at];
        values[at] = values[i];
        values[i] = moved;
        orders += count_orders(values, at + 1, count, least, reached);
        values[i] = values[at];
        values[at] = moved;
    }
    return orders;
}

/* All orders of seven values give the true p. */
static void test_p_against_all_orders(void **state) {
    (void)state;
    const double series[][7] = {
        {1, 2, 3, 10, 11, 12, 13}, {5, 1, 4, 9, 8, 9, 7}, {1, 1, 1, 2, 2, 2, 2}};
    for (size_t i = 0; i < sizeof series / sizeof *series; i++) {
        double values[7];
        roast_step steps[7];
        uint64_t reached = 0;
        memcpy(values, series[i], sizeof values);
        double least = clearest(values, 7);
        uint64_t orders = count_orders(values, 0, 7, least, &reached);
        double truth = (double)reached / (double)orders;
        assert_int_equal(5040, orders);
        size_t found = steps_of(values, 7, 0.15, steps);
        assert_int_equal(truth<0.13, found> 0);
        if (found > 0) {
            /* Of the largest step, by 499 random orders. */
            assert_int_equal(3, steps[0].at);
            if (fabs(steps[0].p - truth) > 4 * sqrt(truth * (1 - truth) / 499) + 0.002)
                fail_msg("p is %g, not %g", steps[0].p, truth);
        }
    }
}

/* Alarms in series without a change, whatever the noise. */
static void test_false_alarms(void **state) {
    (void)state;
    enum { SERIES = 2000 };
    const double rates[] = {0.01, 0.05};
    const size_t lengths[] = {12, 60, 300};
    double values[MOST];
    roast_step steps[MOST];
    for (size_t r = 0; r < 2; r++) {
        for (int noise = 0; noise < 3; noise++) {
            uint64_t seed = 1 + r * 10 + (uint64_t)noise;
            unsigned alarms = 0;
            for (int i = 0; i < SERIES; i++) {
                size_t count = lengths[i % 3];
                for (size_t k = 0; k < count; k++) {
                    double z = normal(&seed);
                    values[k] = noise == 0   ? z
                                : noise == 1 ? z / fabs(normal(&seed)) /* no mean, no variance */
                                             : floor(2 * z);           /* many equal ones */
                }
                alarms += steps_of(values, count, rates[r], steps) > 0;
            }
            double most = rates[r] + 3 * sqrt(rates[r] * (1 - rates[r]) / SERIES);
            if (alarms > most * SERIES)
                fail_msg("noise %d: %u alarms in %d series at a rate of %g", noise, alarms, SERIES,
                         rates[r]);
            /* and the test is not useless: it uses up its rate */
            if (noise == 0)
                assert_true(alarms > 0.5 * rates[r] * SERIES);
        }
    }
}

static void test_steps_are_found(void **state) {
    (void)state;
    double values[MOST];
    roast_step steps[MOST];
    uint64_t seed = 5;
    unsigned exact = 0;
    for (int trial = 0; trial < 50; trial++) {
        const size_t where[] = {30, 55, 90};
        const double levels[] = {100, 80, 100, 110};
        for (size_t i = 0, level = 0; i < 120; i++) {
            level += level < 3 && i == where[level];
            values[i] = levels[level] * (1 + 0.02 * normal(&seed));
        }
        values[10] = 1; /* outliers */
        values[70] = 10000;
        size_t found = steps_of(values, 120, 0.01, steps);
        assert_true(found >= 3 && found <= 5);
        for (size_t i = 0; i < 3; i++) {
            size_t nearest = 120;
            for (size_t k = 0; k < found; k++) {
                size_t away = (size_t)labs((long)steps[k].at - (long)where[i]);
                nearest = away < nearest ? away : nearest;
            }
            assert_true(nearest <= 3);
            exact += nearest == 0;
        }
    }
    assert_true(exact > 140); /* of 150 */
}

/* A few runs after a long level are enough, and the place is right although their ranks hardly differ from those of
 * the highest before. */
static void test_short_levels(void **state) {
    (void)state;
    const size_t before[] = {5, 20, 100, 300};
    double values[MOST];
    roast_step steps[MOST];
    for (size_t i = 0; i < 4; i++) {
        uint64_t seed = i;
        for (size_t k = 0; k < before[i] + 8; k++)
            values[k] = (k < before[i] ? 1 : 2) + 0.1 * uniform(&seed);
        assert_int_equal(1, steps_of(values, before[i] + 8, 0.01, steps));
        assert_int_equal(before[i], steps[0].at);
    }
}

static void test_no_steps(void **state) {
    (void)state;
    double values[MOST] = {0};
    roast_step steps[MOST];
    roast_error err;
    size_t found;
    assert_int_equal(0, steps_of(values, MOST, 0.2, steps)); /* all equal */
    values[3] = 1;
    assert_int_equal(0, steps_of(values, 4, 0.01, steps)); /* too few to say anything */
    assert_int_equal(0, steps_of(values, 0, 0.01, steps));
    assert_status(ROAST_EINVAL, roast_levels_find(values, 4, 0, steps, &found, &err));
    assert_status(ROAST_EINVAL, roast_levels_find(values, 4, 1, steps, &found, &err));
    assert_status(ROAST_EINVAL, roast_levels_find(values, 4, NAN, steps, &found, &err));
}

/* A drift of 10,000 runs is cut into many levels; the effort is bounded. */
static void test_many(void **state) {
    (void)state;
    enum { COUNT = 10000 };
    double *values = malloc(COUNT * sizeof *values);
    roast_step *steps = malloc(COUNT * sizeof *steps);
    assert_true(values != NULL && steps != NULL);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = (double)i;
    size_t found = steps_of(values, COUNT, 0.01, steps);
    assert_true(found > 500 && found < COUNT / 2);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = i < 6000 ? 1 : 2;
    assert_int_equal(1, steps_of(values, COUNT, 0.01, steps));
    assert_int_equal(6000, steps[0].at);
    free(values);
    free(steps);
}

static void test_least_runs(void **state) {
    (void)state;
    roast_error err;
    size_t one, five;
    assert_ok(roast_levels_least(0.01, &one, &err), err);
    assert_ok(roast_levels_least(0.05, &five, &err), err);
    assert_true(five < one);
    /* Two of all ways to choose the lower half: 2 / 252, and 2 / 70. */
    assert_int_equal(10, one);
    assert_int_equal(8, five);
}

/* ---- runs ---- */

static const int64_t hour = INT64_C(3600000000000);

static roast_trend *new_trend(void) {
    roast_trend *trend;
    roast_error err;
    assert_ok(roast_trend_new("event_rate_core_khz", 0.01, &trend, &err), err);
    return trend;
}

static roast_trend_run run_at(int number, double value) {
    return (roast_trend_run){.name = roast_str_of("run"),
                             .when = {(int64_t)number * hour},
                             .value = value,
                             .events = 1e6,
                             .processor = roast_str_of("Dimuon"),
                             .datasets = roast_str_of("data, ttbar")};
}

static roast_status add(roast_trend *trend, roast_trend_run run) {
    return roast_trend_add(trend, &run, NULL);
}

/* Sixty runs, the newest one first; at 24 they become slower. */
static roast_status add_series(roast_trend *trend) {
    for (int i = 59; i >= 0; i--) {
        roast_trend_run run = run_at(i, (i < 24 ? 2.5 : 2.0) + 0.01 * ((i * 7) % 5));
        run.facts[ROAST_FACT_git_revision] =
            roast_str_of(i < 24 ? "aaaaaaaaaaaaaaaa" : "bbbbbbbbbbbbbbbb");
        run.facts[ROAST_FACT_chunksize] = roast_str_of(i < 25 ? "100000" : "5000");
        run.facts[ROAST_FACT_host] = roast_str_of(i % 2 == 0 ? "node1" : "node2");
        run.facts[ROAST_FACT_workers] = roast_str_of(i < 10 ? "4" : "8");
        run.facts[ROAST_FACT_numpy_version] = i < 24 ? (roast_str){NULL, 0} : roast_str_of("2.4");
        ROAST_TRY(roast_trend_add(trend, &run, NULL));
    }
    return ROAST_OK;
}

static void test_one_group(void **state) {
    (void)state;
    roast_error err;
    roast_trend *trend = new_trend();
    assert_ok(add_series(trend), err);
    roast_trend_leave_out(trend, ROAST_LEFT_failed);
    assert_ok(add(trend, run_at(3, NAN)), err);
    assert_int_equal(0, roast_trend_group_count(trend)); /* not computed yet */
    assert_ok(roast_trend_finish(trend, &err), err);
    assert_int_equal(1, roast_trend_group_count(trend));
    const roast_trend_group *group = roast_trend_group_at(trend, 0);
    assert_int_equal(60, group->n_runs);
    for (uint32_t i = 0; i < 60; i++)
        assert_int_equal(i * hour, group->runs[i]->when.ns);
    assert_int_equal(2, group->n_levels);
    assert_int_equal(24, group->levels[1].first);
    assert_int_equal(36, group->levels[1].count);
    assert_near(2.52, group->levels[0].median);
    assert_near(2.02, group->levels[1].median);
    assert_true(isnan(group->levels[0].p));
    assert_true(group->levels[1].p <= 0.01);
    /* Neither the host, which changes all the time, nor the workers, which changed before; numpy was not known. */
    assert_int_equal(0, group->levels[0].n_causes);
    assert_int_equal(2, group->levels[1].n_causes);
    const roast_trend_cause *causes = group->levels[1].causes;
    assert_int_equal(ROAST_FACT_git_revision, causes[0].fact);
    assert_int_equal(0, causes[0].away);
    assert_int_equal(ROAST_FACT_chunksize, causes[1].fact);
    assert_int_equal(1, causes[1].away);
    assert_str("100000", causes[1].before);
    assert_str("5000", causes[1].after);
    assert_int_equal(1, roast_trend_left_out(trend, ROAST_LEFT_failed));
    assert_int_equal(1, roast_trend_left_out(trend, ROAST_LEFT_no_value));
    assert_string_equal("event_rate_core_khz", roast_trend_metric(trend)->key);
    assert_near(0.01, roast_trend_error_rate(trend));
    assert_int_equal(10, roast_trend_least_runs(trend));
    assert_status(ROAST_ESTATE, roast_trend_finish(trend, &err));
    assert_status(ROAST_ESTATE, add(trend, run_at(1, 1)));
    roast_trend_free(trend);
}

static void test_groups(void **state) {
    (void)state;
    roast_error err;
    roast_trend *trend = new_trend();
    roast_trend_run run = run_at(1, 1);
    assert_ok(add(trend, run), err);
    run.events = 1.1e6; /* still comparable */
    assert_ok(add(trend, run), err);
    run.events = 1.2e6;
    assert_ok(add(trend, run), err);
    run.events = NAN;
    assert_ok(add(trend, run), err);
    run.datasets = roast_str_of("data");
    assert_ok(add(trend, run), err);
    run.processor = run.datasets = (roast_str){NULL, 0};
    assert_ok(add(trend, run), err);
    assert_ok(roast_trend_finish(trend, &err), err);
    assert_int_equal(5, roast_trend_group_count(trend));
    const roast_trend_group *largest = roast_trend_group_at(trend, 0);
    assert_int_equal(2, largest->n_runs);
    assert_near(1e6, largest->least_events);
    assert_near(1.1e6, largest->most_events);
    assert_int_equal(1, largest->n_levels);
    roast_trend_free(trend);
}

static void test_what_is_no_trend(void **state) {
    (void)state;
    roast_trend *trend;
    roast_error err;
    assert_status(ROAST_EINVAL, roast_trend_new("event_rate", 0.01, &trend, &err));
    assert_status(ROAST_EINVAL, roast_trend_new(NULL, 0.01, &trend, &err));
    assert_status(ROAST_EINVAL, roast_trend_new("per_dataset", 0.01, &trend, &err));
    assert_status(ROAST_EINVAL, roast_trend_new("num_events", 0.01, &trend, &err)); /* of a chunk */
    assert_status(ROAST_EINVAL, roast_trend_new("wall_time", 0, &trend, &err));
    assert_status(ROAST_EINVAL, roast_trend_new("wall_time", 0.5, &trend, &err));
    roast_trend_free(NULL);
}

static void test_words(void **state) {
    (void)state;
    assert_string_equal("chunksize", roast_trend_fact_name(ROAST_FACT_chunksize));
    assert_string_equal("chunk size", roast_trend_fact_label(ROAST_FACT_chunksize));
    assert_string_equal("no_value", roast_trend_left_name(ROAST_LEFT_no_value));
    assert_string_equal("without a value", roast_trend_left_words(ROAST_LEFT_no_value));
}

/* ---- output ---- */

static roast_status draw(const roast_trend *trend, unsigned width, bool ascii, roast_sink **out,
                         roast_error *err) {
    const roast_trend_look look = {.width = width, .ascii = ascii};
    ROAST_TRY(roast_sink_new_memory(out, err));
    roast_status status = roast_trend_draw(trend, &look, *out, err);
    if (status == ROAST_OK)
        status = roast_sink_finish(*out, err);
    if (status != ROAST_OK)
        roast_sink_free(*out);
    return status;
}

static void expect_text(const roast_trend *trend, unsigned width, bool ascii, const char *part) {
    roast_sink *sink;
    roast_error err;
    assert_ok(draw(trend, width, ascii, &sink, &err), err);
    roast_str text = roast_sink_memory(sink);
    if (memmem(text.data, text.len, part, strlen(part)) == NULL)
        fail_msg("%s: not in\n%.*s", part, (int)text.len, text.data);
    roast_sink_free(sink);
}

static void test_drawing(void **state) {
    (void)state;
    roast_error err;
    roast_trend *trend = new_trend();
    roast_grid *grid;
    char headline[ROAST_TREND_HEADLINE];
    assert_ok(add_series(trend), err);
    roast_trend_leave_out(trend, ROAST_LEFT_failed);
    roast_trend_leave_out(trend, ROAST_LEFT_unreadable);
    assert_ok(roast_trend_finish(trend, &err), err);
    expect_text(trend, 80, false,
                "event_rate_core_khz: 1 change of level in 60 runs (1 group of comparable ones).\n"
                "\n"
                "Dimuon on data, ttbar: 60 runs of 1,000,000 events\n");
    roast_trend_headline(trend, headline, sizeof headline);
    assert_string_equal(
        "event_rate_core_khz: 1 change of level in 60 runs (1 group of comparable ones).",
        headline);
    expect_text(trend, 80, false, "████▁▁▁▁");
    expect_text(trend, 80, true, "\n                          1\n");
    expect_text(trend, 80, true,
                "\n  1  1970-01-02 00:00    -19.8 %  2.52 -> 2.02 kHz/core\n"
                "     git revision aaaaaaaaaa -> bbbbbbbbbb; chunk size 100000 -> 5000 (1 run\n"
                "     later)\n"
                "\n"
                "In a group without any change, one is found with a probability of at most 1 %.\n"
                "Not part of any level: 1 failed, 1 unreadable.\n");
    expect_text(trend, 40, true, "  level now: 2.02 kHz/core, the median of the last 36 runs\n");
    assert_ok(roast_trend_table(trend, 0, &grid, &err), err);
    assert_int_equal(1, roast_grid_row_count(grid));
    assert_str("-19.8 %", roast_grid_text(grid, 0, 4));
    roast_grid_free(grid);
    assert_status(ROAST_EINVAL, roast_trend_table(trend, 1, &grid, &err));
    roast_trend_free(trend);
}

static void test_drawing_nothing(void **state) {
    (void)state;
    roast_error err;
    roast_trend *trend = new_trend();
    assert_ok(roast_trend_finish(trend, &err), err);
    expect_text(trend, 80, false, "event_rate_core_khz: there is no run with a value.\n");
    roast_trend_free(trend);

    trend = new_trend();
    roast_trend_run run = {.value = -1, .events = NAN};
    assert_ok(roast_trend_add(trend, &run, &err), err);
    assert_ok(roast_trend_finish(trend, &err), err);
    expect_text(trend, 80, true,
                "event_rate_core_khz: no change of level in 1 run (1 group of comparable ones).\n"
                "\n"
                "Unknown processor: 1 run\n"
                "────────────────────────\n"
                "  =\n");
    roast_trend_free(trend);
}

/* More groups and changes than are drawn. */
static void test_drawing_many(void **state) {
    (void)state;
    roast_error err;
    roast_trend *trend = new_trend();
    for (int i = 0; i < 1000; i++)
        assert_ok(add(trend, run_at(i, i)), err);
    for (int i = 0; i < 30; i++) {
        char name[16];
        roast_trend_run run = run_at(i, 1);
        snprintf(name, sizeof name, "p%d", i);
        run.processor = roast_str_of(name);
        assert_ok(add(trend, run), err);
    }
    assert_ok(roast_trend_finish(trend, &err), err);
    uint32_t changes = roast_trend_group_at(trend, 0)->n_levels - 1;
    char text[64];
    assert_true(changes > 30);
    snprintf(text, sizeof text, "\n  %u earlier changes: --json has all of them\n", changes - 20);
    expect_text(trend, 80, false, text);
    expect_text(trend, 80, false, "\n30 smaller groups: --json has all of them\n");
    expect_text(trend, 80, false, "\n  k  19");
    roast_trend_free(trend);
}

/* ---- memory ---- */

static roast_status all_of_it(void *context) {
    (void)context;
    roast_trend *trend;
    roast_sink *sink;
    roast_grid *grid;
    roast_error err;
    ROAST_TRY(roast_trend_new("wall_time", 0.05, &trend, &err));
    roast_status status = add_series(trend);
    if (status == ROAST_OK)
        status = roast_trend_finish(trend, &err);
    if (status == ROAST_OK && (status = draw(trend, 80, false, &sink, &err)) == ROAST_OK)
        roast_sink_free(sink);
    if (status == ROAST_OK && (status = roast_sink_new_memory(&sink, &err)) == ROAST_OK) {
        roast_trend_json(trend, sink);
        status = roast_sink_finish(sink, &err);
        roast_sink_free(sink);
    }
    if (status == ROAST_OK && (status = roast_trend_table(trend, 0, &grid, &err)) == ROAST_OK)
        roast_grid_free(grid);
    roast_trend_free(trend);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    assert_true(alloc_walk(all_of_it, NULL) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_p_against_all_orders),
        cmocka_unit_test(test_false_alarms),
        cmocka_unit_test(test_steps_are_found),
        cmocka_unit_test(test_short_levels),
        cmocka_unit_test(test_no_steps),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_least_runs),
        cmocka_unit_test(test_one_group),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_what_is_no_trend),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_drawing),
        cmocka_unit_test(test_drawing_nothing),
        cmocka_unit_test(test_drawing_many),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
