/* The worker series in memory. */
#include <stdlib.h>

#include "series_support.h"

/* ---- columns ---- */
static void test_columns(void **state) {
    (void)state;
    const roast_series_column_info *memory = roast_series_column_at(ROAST_COLUMN_memory);
    assert_string_equal("memory", memory->name);
    assert_string_equal("worker_memory", memory->key);
    assert_string_equal("memory_bytes", memory->json_key);
    assert_string_equal("bytes", memory->unit);
    assert_near(1, memory->steps_per_unit);
    assert_string_equal("worker_cpu", roast_series_column_at(ROAST_COLUMN_cpu)->key);
    assert_near(10, roast_series_column_at(ROAST_COLUMN_cpu)->steps_per_unit);
    assert_null(roast_series_column_at(ROAST_COLUMNS));
}

/* ---- workers ---- */
static void test_workers(void **state) {
    (void)state;
    roast_error err;
    roast_series *series = new_series();
    assert_int_equal(0, roast_series_worker_count(series));
    assert_int_equal(0, add_worker(series, "tcp://a:1"));
    assert_int_equal(1, add_worker(series, "tcp://b:1"));
    assert_int_equal(0, add_worker(series, "tcp://a:1"));
    assert_int_equal(2, roast_series_worker_count(series));
    assert_str("tcp://b:1", roast_series_worker_name(series, 1));
    assert_null(roast_series_worker_name(series, 2).data);

    assert_null(roast_series_worker_host(series, 0).data);
    assert_null(roast_series_worker_host(series, 2).data);
    assert_ok(roast_series_set_host(series, 0, str("node1"), &err), err);
    assert_ok(roast_series_set_host(series, 1, str("node1"), &err), err);
    assert_str("node1", roast_series_worker_host(series, 0));
    assert_ok(roast_series_set_host(series, 0, str("node2"), &err), err);
    assert_str("node2", roast_series_worker_host(series, 0));
    assert_str("node1", roast_series_worker_host(series, 1));
    assert_ok(roast_series_set_host(series, 0, (roast_str){NULL, 0}, &err), err);
    assert_null(roast_series_worker_host(series, 0).data);
    assert_status(ROAST_EINVAL, roast_series_set_host(series, 2, str("node1"), NULL));

    /* An empty host is not an absent one. */
    roast_series *other = new_series();
    add_worker(other, "w");
    assert_ok(roast_series_set_host(other, 0, str(""), &err), err);
    roast_series *back = encode_decode(other);
    assert_str("", roast_series_worker_host(back, 0));
    roast_series_free(back);
    roast_series_free(other);
    roast_series_free(series);
    roast_series_free(NULL);
}

static void test_worker_names_that_are_refused(void **state) {
    (void)state;
    static char text[ROAST_MAX_WORKER_NAME + 1];
    roast_error err;
    uint32_t worker = 77;
    roast_series *series = new_series();
    memset(text, 'w', sizeof text);
    assert_status(ROAST_EINVAL, roast_series_worker(series, str(""), &worker, &err));
    assert_status(ROAST_EINVAL, roast_series_worker(series, str(NULL), &worker, &err));
    roast_str too_long = {text, sizeof text}, longest = {text, ROAST_MAX_WORKER_NAME};
    assert_status(ROAST_ELIMIT, roast_series_worker(series, too_long, &worker, &err));
    assert_int_equal(ROAST_ELIMIT, err.status);
    assert_int_equal(77, worker);
    assert_int_equal(0, roast_series_worker_count(series));
    assert_ok(roast_series_worker(series, longest, &worker, &err), err);
    assert_int_equal(0, worker);
    assert_status(ROAST_ELIMIT, roast_series_set_host(series, 0, too_long, &err));
    assert_ok(roast_series_set_host(series, 0, longest, &err), err);
    roast_series *back = encode_decode(series);
    assert_same(series, back);
    roast_series_free(back);
    roast_series_free(series);
}

static void test_the_most_workers(void **state) {
    (void)state;
    roast_error err;
    char name[16];
    roast_series *series = new_series();
    uint32_t worker;
    for (uint32_t i = 0; i < ROAST_MAX_WORKERS; i++) {
        int len = snprintf(name, sizeof name, "%x", i);
        roast_status status =
            roast_series_worker(series, (roast_str){name, (size_t)len}, &worker, &err);
        if (status != ROAST_OK || worker != i)
            fail_msg("worker %u", i);
    }
    assert_status(ROAST_ELIMIT, roast_series_worker(series, str("one more"), &worker, &err));
    assert_int_equal(ROAST_MAX_WORKERS, roast_series_worker_count(series));
    assert_int_equal(16, add_worker(series, "10"));
    roast_series_free(series);
}

/* ---- ticks and rows ---- */
static void test_ticks(void **state) {
    (void)state;
    roast_error err;
    roast_series *series = new_series();
    assert_int_equal(0, roast_series_tick_count(series));
    tick(series, -5, 3);
    tick(series, 10, 4);
    tick(series, 10, 0);
    assert_status(ROAST_EINVAL, roast_series_tick(series, (roast_utc){9}, 4, &err));
    assert_non_null(strstr(err.message, "before"));
    assert_status(ROAST_ELIMIT,
                  roast_series_tick(series, (roast_utc){11}, ROAST_MAX_WORKERS + 1, &err));
    tick(series, INT64_MAX, ROAST_MAX_WORKERS);
    assert_int_equal(4, roast_series_tick_count(series));
    assert_int_equal(-5, roast_series_tick_time(series, 0).ns);
    assert_int_equal(10, roast_series_tick_time(series, 2).ns);
    assert_int_equal(4, roast_series_tick_workers(series, 1));
    assert_int_equal(0, roast_series_tick_workers(series, 2));
    assert_int_equal(0, roast_series_tick_time(series, 4).ns);
    assert_int_equal(0, roast_series_tick_workers(series, 4));
    roast_series *back = encode_decode(series);
    assert_same(series, back);
    roast_series_free(back);
    roast_series_free(series);
}

static void test_append_at_the_wrong_moment(void **state) {
    (void)state;
    roast_error err;
    double value[ROAST_COLUMNS] = {1};
    roast_series *series = new_series();
    uint32_t worker = add_worker(series, "w");
    assert_status(ROAST_ESTATE, roast_series_append(series, worker, value, &err));
    tick(series, 1, 1);
    assert_status(ROAST_EINVAL, roast_series_append(series, worker + 1, value, &err));
    append(series, worker, value);
    value[0] = 2;
    assert_status(ROAST_ESTATE, roast_series_append(series, worker, value, &err));
    assert_non_null(strstr(err.message, "already"));
    assert_int_equal(1, roast_series_sample_count(series));
    tick(series, 2, 1);
    append(series, worker, value);
    assert_int_equal(2, roast_series_sample_count(series));
    roast_series_free(series);
}

static void test_values_are_kept_to_their_step(void **state) {
    (void)state;
    roast_series *series = new_series();
    uint32_t worker = add_worker(series, "w");
    double value[ROAST_COLUMNS];
    roast_sample sample;
    roast_series_cursor cursor;
    const struct {
        roast_series_column column;
        double in, out;
    } cases[] = {
        {ROAST_COLUMN_memory, 123456789, 123456789},
        {ROAST_COLUMN_memory, 123456789 - 3 * 4096, 123456789 - 3 * 4096},
        {ROAST_COLUMN_memory, 0x1p62, 0x1p62},
        {ROAST_COLUMN_memory, -0x1p63, -0x1p63},
        {ROAST_COLUMN_memory, 0x1p63 - 1024, 0x1p63 - 1024},
        {ROAST_COLUMN_memory, 0x1p63, NAN},
        {ROAST_COLUMN_memory, -0x1p63 - 2048, NAN},
        {ROAST_COLUMN_memory, 1e300, NAN},
        {ROAST_COLUMN_memory, INFINITY, NAN},
        {ROAST_COLUMN_memory, -INFINITY, NAN},
        {ROAST_COLUMN_memory, 0.5, 1},
        {ROAST_COLUMN_memory, -0.5, -1},
        {ROAST_COLUMN_memory, 0.49999999999999994, 0},
        {ROAST_COLUMN_memory, 4503599627370497.5, 4503599627370498},
        {ROAST_COLUMN_cpu, 399.9, 399.9},
        {ROAST_COLUMN_cpu, 12.35, 12.4},
        {ROAST_COLUMN_cpu, -12.34, -12.3},
        {ROAST_COLUMN_net_read_bps, 1234550, 1234600},
        {ROAST_COLUMN_net_read_bps, 49, 0},
        {ROAST_COLUMN_occupancy, 0.0004, 0},
        {ROAST_COLUMN_occupancy, 17.0625, 17.063},
        {ROAST_COLUMN_last_seen, 1731697845.123, 1731697845.123},
        {ROAST_COLUMN_last_seen, 0x1p60, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fill(value, NAN);
        value[cases[i].column] = cases[i].in;
        tick(series, (int64_t)i, 1);
        append(series, worker, value);
    }
    roast_series_cursor_init(&cursor, series, worker);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(roast_series_cursor_next(&cursor, &sample));
        assert_int_equal(i, sample.when.ns);
        for (unsigned c = 0; c < ROAST_COLUMNS; c++)
            if (!same_value(c == cases[i].column ? cases[i].out : NAN, sample.value[c]))
                fail_msg("case %zu, column %u: %.17g", i, c, sample.value[c]);
    }
    assert_false(roast_series_cursor_next(&cursor, &sample));
    roast_series *back = encode_decode(series);
    assert_same(series, back);
    roast_series_free(back);
    roast_series_free(series);
}

static void test_gaps_and_absent_columns(void **state) {
    (void)state;
    roast_series *series = new_series();
    uint32_t steady = add_worker(series, "steady"), rare = add_worker(series, "rare");
    double value[ROAST_COLUMNS], nothing[ROAST_COLUMNS];
    fill(nothing, NAN);
    for (int i = 0; i < 400; i++) {
        tick(series, i * 10, 2);
        fill(value, i);
        append(series, steady, value);
        if (i == 7)
            append(series, rare, value);
        if (i == 300)
            append(series, rare, nothing);
        if (i == 301)
            append(series, rare, value);
    }
    roast_series *back = encode_decode(series);
    assert_same(series, back);
    roast_series_cursor cursor;
    roast_sample sample;
    roast_series_cursor_init(&cursor, back, rare);
    assert_true(roast_series_cursor_next(&cursor, &sample));
    assert_int_equal(70, sample.when.ns);
    assert_near(7, sample.value[ROAST_COLUMN_active_tasks]);
    assert_true(roast_series_cursor_next(&cursor, &sample));
    assert_int_equal(3000, sample.when.ns);
    assert_true(isnan(sample.value[ROAST_COLUMN_memory]));
    assert_true(roast_series_cursor_next(&cursor, &sample));
    assert_int_equal(3010, sample.when.ns);
    assert_near(301, sample.value[ROAST_COLUMN_memory]);
    assert_false(roast_series_cursor_next(&cursor, &sample));
    assert_false(roast_series_cursor_next(&cursor, &sample));
    assert_int_equal(403, roast_series_sample_count(back));
    roast_series_free(back);
    roast_series_free(series);
}

static void test_cursor_meets_nothing_and_what_comes_later(void **state) {
    (void)state;
    roast_series *series = new_series();
    uint32_t worker = add_worker(series, "w");
    double value[ROAST_COLUMNS] = {5};
    roast_series_cursor unknown, cursor;
    roast_sample sample;
    roast_series_cursor_init(&unknown, series, 1);
    roast_series_cursor_init(&cursor, series, worker);
    assert_false(roast_series_cursor_next(&unknown, &sample));
    assert_false(roast_series_cursor_next(&cursor, &sample));
    for (int i = 0; i < 500; i++) {
        tick(series, i, 1);
        value[0] += 1000 * i;
        append(series, worker, value);
        assert_true(roast_series_cursor_next(&cursor, &sample));
        assert_int_equal(i, sample.when.ns);
        assert_near(value[0], sample.value[0]);
        assert_false(roast_series_cursor_next(&cursor, &sample));
    }
    roast_series_free(series);
}

static uint64_t random_state;
static uint64_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void test_extreme_rows(void **state) {
    (void)state;
    enum { WORKERS = 7, TICKS = 300 };
    static double kept[WORKERS][TICKS][ROAST_COLUMNS];
    roast_series *series = new_series();
    random_state = 4;
    for (int w = 0; w < WORKERS; w++) {
        char name[16];
        snprintf(name, sizeof name, "w%d", w);
        add_worker(series, name);
    }
    for (int t = 0; t < TICKS; t++) {
        tick(series, t, WORKERS);
        for (uint32_t w = 0; w < WORKERS; w++) {
            double *value = kept[w][t];
            for (int c = 0; c < ROAST_COLUMNS; c++) {
                value[c] = random_bits() & 1 ? -0x1p63 : 0x1p63 - 1024;
                value[c] /= roast_series_column_at((roast_series_column)c)->steps_per_unit;
                if (random_bits() % 9 == 0)
                    value[c] = NAN;
            }
            append(series, w, value);
        }
    }
    roast_series *back = encode_decode(series);
    assert_same(series, back);
    for (uint32_t w = 0; w < WORKERS; w++) {
        roast_series_cursor cursor;
        roast_sample sample;
        roast_series_cursor_init(&cursor, back, w);
        for (int t = 0; t < TICKS; t++) {
            assert_true(roast_series_cursor_next(&cursor, &sample));
            for (int c = 0; c < ROAST_COLUMNS; c++) {
                double in = kept[w][t][c], out = sample.value[c];
                assert_int_equal(isnan(in), isnan(out));
                if (!isnan(in))
                    assert_near(in, out);
            }
        }
    }
    roast_series_free(back);
    roast_series_free(series);
}

/* ---- events ---- */
static void test_events(void **state) {
    (void)state;
    roast_error err;
    roast_series *series = new_series();
    uint32_t a = add_worker(series, "a"), b = add_worker(series, "b");
    assert_ok(roast_series_change(series, a, ROAST_WORKER_JOINED, (roast_utc){100}, 4, &err), err);
    assert_ok(roast_series_change(series, b, ROAST_WORKER_JOINED, (roast_utc){INT64_MIN}, INT32_MAX,
                                  &err),
              err);
    assert_ok(roast_series_change(series, b, ROAST_WORKER_LEFT, (roast_utc){INT64_MAX}, 0, &err),
              err);
    assert_ok(roast_series_change(series, a, ROAST_WORKER_LEFT, (roast_utc){-3}, 4, &err), err);
    assert_status(ROAST_EINVAL,
                  roast_series_change(series, 2, ROAST_WORKER_LEFT, (roast_utc){1}, 1, &err));
    assert_status(ROAST_EINVAL, roast_series_change(series, a, (roast_worker_change_kind)2,
                                                    (roast_utc){1}, 1, &err));
    assert_status(ROAST_EINVAL,
                  roast_series_change(series, a, ROAST_WORKER_LEFT, (roast_utc){1}, -1, &err));
    assert_int_equal(4, roast_series_change_count(series));
    roast_worker_change event = roast_series_change_at(series, 2);
    assert_int_equal(b, event.worker);
    assert_int_equal(ROAST_WORKER_LEFT, event.kind);
    assert_true(event.when.ns == INT64_MAX);
    assert_int_equal(0, event.threads);
    assert_int_equal(UINT32_MAX, roast_series_change_at(series, 4).worker);
    roast_series *back = encode_decode(series);
    assert_same(series, back);
    assert_int_equal(4, roast_series_change_at(back, 0).threads);
    roast_series_free(back);
    roast_series_free(series);
}

/* ---- one worker at a time ---- */
static void test_samples_of_one_worker(void **state) {
    (void)state;
    roast_error err;
    roast_series *series = new_series();
    uint32_t a = add_worker(series, "a"), b = add_worker(series, "b");
    double value[ROAST_COLUMNS];
    for (unsigned column = 0; column < ROAST_COLUMNS; column++)
        value[column] = column;
    assert_ok(roast_series_change(series, a, ROAST_WORKER_JOINED, (roast_utc){5}, 2, &err), err);
    assert_ok(roast_series_sample(series, a, (roast_utc){10}, value, &err), err);
    assert_ok(roast_series_sample(series, b, (roast_utc){10}, value, &err), err);
    assert_status(ROAST_ESTATE, roast_series_sample(series, b, (roast_utc){10}, value, &err));
    assert_status(ROAST_EINVAL, roast_series_sample(series, b, (roast_utc){9}, value, &err));
    assert_status(ROAST_EINVAL, roast_series_sample(series, 7, (roast_utc){11}, value, &err));
    assert_ok(roast_series_change(series, a, ROAST_WORKER_LEFT, (roast_utc){11}, 0, &err), err);
    assert_ok(roast_series_change(series, a, ROAST_WORKER_LEFT, (roast_utc){11}, 0, &err), err);
    /* A sample that is refused does not bring it back. */
    assert_status(ROAST_EINVAL, roast_series_sample(series, a, (roast_utc){9}, value, &err));
    assert_ok(roast_series_sample(series, b, (roast_utc){20}, value, &err), err);
    assert_int_equal(2, roast_series_tick_count(series));
    assert_int_equal(2, roast_series_tick_workers(series, 0));
    assert_int_equal(1, roast_series_tick_workers(series, 1));
    assert_int_equal(3, roast_series_sample_count(series));
    roast_series_free(series);
}

/* ---- size ---- */
typedef struct load {
    double memory, cpu, rate[4];
} load;

static double wander(double value, double by, double top) {
    value += by * ((double)(random_bits() % 2001) / 1000 - 1);
    return value < 0 ? -value : value > top ? 2 * top - value : value;
}

/* What a busy Dask worker tells: its memory moves by whole pages, CPU and the four rates never
 * stand still, the heartbeat is about a second old, tasks come and go, the rest stays. */
static void busy_row(load *now, int t, double value[ROAST_COLUMNS]) {
    fill(value, 0);
    now->memory = wander(now->memory, 4e6, 4e9);
    now->cpu = wander(now->cpu, 40, 400);
    for (int i = 0; i < 4; i++) {
        now->rate[i] = wander(now->rate[i], 5e5, 5e7);
        value[ROAST_COLUMN_net_read_bps + i] = now->rate[i];
    }
    value[ROAST_COLUMN_memory] = 4096 * floor(now->memory / 4096);
    value[ROAST_COLUMN_memory_limit] = 4e9;
    value[ROAST_COLUMN_cores] = 4;
    value[ROAST_COLUMN_cpu] = now->cpu;
    value[ROAST_COLUMN_last_seen] = 1.7e9 + t + (double)(random_bits() % 500) / 1000;
    if (t % 4 == 0)
        value[ROAST_COLUMN_executing] = value[ROAST_COLUMN_active_tasks] = (double)(t % 3);
}

static roast_series *busy_series(uint32_t workers, int ticks) {
    roast_series *series = new_series();
    load *loads = test_calloc(workers, sizeof *loads);
    double value[ROAST_COLUMNS];
    random_state = 99;
    for (uint32_t w = 0; w < workers; w++) {
        char name[40];
        snprintf(name, sizeof name, "tcp://10.1.%u.%u:34567", w / 250, w % 250);
        assert_int_equal(w, add_worker(series, name));
        loads[w].memory = 1e9;
    }
    int64_t spent = 0;
    for (int t = 0; t < ticks; t++) {
        tick(series, INT64_C(1700000000000000000) + t * INT64_C(1000000000), workers);
        for (uint32_t w = 0; w < workers; w++) {
            busy_row(&loads[w], t, value);
            roast_mono before = roast_mono_now();
            append(series, w, value);
            spent += roast_mono_since(before, roast_mono_now());
        }
    }
    double samples = (double)roast_series_sample_count(series);
    print_message("%u workers x %d ticks: %.1f B kept, %.0f ns (with the clock) a sample\n",
                  workers, ticks, (double)roast_series_memory(series) / samples,
                  (double)spent / samples);
    test_free(loads);
    return series;
}

static void test_memory_per_sample(void **state) {
    (void)state;
    roast_series *series = busy_series(500, 600);
    double samples = (double)roast_series_sample_count(series);
    assert_true((double)roast_series_memory(series) <= 48 * samples);
    roast_sink *sink = encode(series);
    assert_true((double)roast_sink_count(sink) <= 48 * samples);
    roast_sink_free(sink);
    roast_series *back = encode_decode(series);
    assert_same(series, back);
    roast_series_free(back);
    roast_series_free(series);
}

static size_t held; /* by the hook below */
static void *counting_hook(void *context, void *ptr, size_t size) {
    (void)context;
    size_t *block = ptr == NULL ? NULL : (size_t *)ptr - 2;
    if (block != NULL)
        held -= *block;
    if (size == 0) {
        free(block);
        return NULL;
    }
    block = realloc(block, size + 2 * sizeof *block);
    *block = size;
    held += size;
    return block + 2;
}

static void test_memory_is_true(void **state) {
    (void)state;
    roast_error err;
    roast_alloc_set_hook(counting_hook, NULL);
    roast_series *series = busy_series(40, 30);
    assert_ok(roast_series_set_host(series, 3, str("node"), &err), err);
    assert_ok(roast_series_change(series, 3, ROAST_WORKER_LEFT, (roast_utc){1}, 0, &err), err);
    assert_int_equal(held, roast_series_memory(series));
    roast_series_free(series);
    assert_int_equal(0, held);
    roast_alloc_set_hook(NULL, NULL);
}

/* A series behind an empty one is the same. */
static void test_extend(void **state) {
    (void)state;
    roast_error err;
    roast_series *whole = busy_series(3, 40), *joined = new_series();
    /* two ticks at one moment, of which a worker has only the second */
    double value[ROAST_COLUMNS];
    fill(value, 7);
    int64_t last = roast_series_tick_time(whole, roast_series_tick_count(whole) - 1).ns;
    tick(whole, last + 5, 2);
    append(whole, 0, value);
    tick(whole, last + 5, 2);
    append(whole, 1, value);
    assert_ok(roast_series_set_host(whole, 1, str("node"), &err), err);
    assert_ok(roast_series_change(whole, 2, ROAST_WORKER_JOINED, (roast_utc){5}, 4, &err), err);
    assert_ok(roast_series_change(whole, 2, ROAST_WORKER_LEFT, (roast_utc){9}, 0, &err), err);

    assert_ok(roast_series_extend(joined, whole, &err), err);
    assert_int_equal(roast_series_tick_count(whole), roast_series_tick_count(joined));
    assert_int_equal(roast_series_sample_count(whole), roast_series_sample_count(joined));
    for (uint32_t worker = 0; worker < 3; worker++)
        assert_same_samples(whole, joined, worker);
    assert_true(roast_str_equal(str("node"), roast_series_worker_host(joined, 1)));
    assert_int_equal(2, roast_series_change_count(joined));

    /* Ticks that come later, of a worker that is known and of one that is not. */
    roast_series *later = new_series();
    tick(later, last + 9, 2);
    append(later, add_worker(later, "new"), value);
    append(later, add_worker(later, "tcp://10.1.0.1:34567"), value);
    assert_ok(roast_series_extend(joined, later, &err), err);
    assert_int_equal(roast_series_tick_count(whole) + 1, roast_series_tick_count(joined));
    assert_int_equal(roast_series_sample_count(whole) + 2, roast_series_sample_count(joined));
    assert_int_equal(4, roast_series_worker_count(joined));
    roast_series_free(later);
    assert_status(ROAST_EINVAL, roast_series_extend(joined, whole, &err)); /* back in time */
    roast_series_free(whole);
    roast_series_free(joined);
}

static void test_same_samples(void **state) {
    (void)state;
    roast_series *series = busy_series(3, 5), *other = encode_decode(series);
    double value[ROAST_COLUMNS];
    fill(value, 7);
    roast_error err;
    int64_t last = roast_series_tick_time(series, 4).ns;
    add_worker(other, "joined only");
    assert_ok(roast_series_change(other, 3, ROAST_WORKER_JOINED, (roast_utc){5}, 4, &err), err);
    assert_true(roast_series_same_samples(series, other));
    assert_true(roast_series_same_samples(other, series));
    tick(series, last + 5000, 2);
    assert_false(roast_series_same_samples(series, other)); /* a tick more */
    tick(other, last + 5999, 2);
    assert_true(roast_series_same_samples(series, other)); /* within a microsecond */
    append(series, 0, value);
    assert_false(roast_series_same_samples(series, other)); /* a row more */
    append(other, 3, value);
    assert_false(roast_series_same_samples(series, other)); /* of another worker */
    assert_false(roast_series_same_samples(other, series));
    tick(series, last + 9000, 2);
    tick(other, last + 9000, 3);
    append(other, 0, value);
    append(series, add_worker(series, "joined only"), value);
    assert_false(roast_series_same_samples(series, other)); /* other counts */
    roast_series_free(series);
    roast_series_free(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_same_samples),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_worker_names_that_are_refused),
        cmocka_unit_test(test_the_most_workers),
        cmocka_unit_test(test_ticks),
        cmocka_unit_test(test_append_at_the_wrong_moment),
        cmocka_unit_test(test_values_are_kept_to_their_step),
        cmocka_unit_test(test_gaps_and_absent_columns),
        cmocka_unit_test(test_cursor_meets_nothing_and_what_comes_later),
        cmocka_unit_test(test_extreme_rows),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_samples_of_one_worker),
        cmocka_unit_test(test_extend),
        cmocka_unit_test(test_memory_per_sample),
        cmocka_unit_test(test_memory_is_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
