/* What the two test programs of the worker series share. */
#ifndef ROAST_TESTS_SERIES_SUPPORT_H
#define ROAST_TESTS_SERIES_SUPPORT_H

#include <math.h>

#include "roast/series.h"
#include "support.h"

static inline roast_str str(const char *text) {
    return roast_str_of(text);
}

static inline roast_series *new_series(void) {
    roast_error err;
    roast_series *series = NULL;
    assert_ok(roast_series_new(&series, &err), err);
    return series;
}

static inline uint32_t add_worker(roast_series *series, const char *name) {
    roast_error err;
    uint32_t worker = UINT32_MAX;
    assert_ok(roast_series_worker(series, str(name), &worker, &err), err);
    return worker;
}

static inline void tick(roast_series *series, int64_t ns, uint32_t n_workers) {
    roast_error err;
    assert_ok(roast_series_tick(series, (roast_utc){ns}, n_workers, &err), err);
}

static inline void append(roast_series *series, uint32_t worker,
                          const double value[ROAST_COLUMNS]) {
    roast_error err;
    assert_ok(roast_series_append(series, worker, value, &err), err);
}

static inline void fill(double value[ROAST_COLUMNS], double with) {
    for (int i = 0; i < ROAST_COLUMNS; i++)
        value[i] = with;
}

static inline roast_sink *encode(const roast_series *series) {
    roast_error err;
    roast_sink *sink = NULL;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    assert_ok(roast_series_encode(series, sink, &err), err);
    return sink;
}

static inline roast_series *encode_decode(const roast_series *series) {
    roast_error err;
    roast_series *back = NULL;
    roast_sink *sink = encode(series);
    roast_str bytes = roast_sink_memory(sink);
    assert_ok(roast_series_decode(bytes.data, bytes.len, &back, &err), err);
    roast_sink_free(sink);
    return back;
}

static inline bool same_value(double a, double b) {
    return isnan(a) ? isnan(b) : a == b;
}

static inline void assert_same_samples(const roast_series *a, const roast_series *b,
                                       uint32_t worker) {
    roast_series_cursor left, right;
    roast_sample x, y;
    roast_series_cursor_init(&left, a, worker);
    roast_series_cursor_init(&right, b, worker);
    for (;;) {
        bool more = roast_series_cursor_next(&left, &x);
        assert_int_equal(more, roast_series_cursor_next(&right, &y));
        if (!more)
            return;
        assert_int_equal(x.when.ns, y.when.ns);
        assert_int_equal(x.worker, y.worker);
        for (int i = 0; i < ROAST_COLUMNS; i++)
            assert_true(same_value(x.value[i], y.value[i]));
    }
}

static inline void assert_same(const roast_series *a, const roast_series *b) {
    assert_int_equal(roast_series_tick_count(a), roast_series_tick_count(b));
    for (uint64_t i = 0; i < roast_series_tick_count(a); i++) {
        assert_int_equal(roast_series_tick_time(a, i).ns, roast_series_tick_time(b, i).ns);
        assert_int_equal(roast_series_tick_workers(a, i), roast_series_tick_workers(b, i));
    }
    assert_int_equal(roast_series_worker_count(a), roast_series_worker_count(b));
    assert_int_equal(roast_series_sample_count(a), roast_series_sample_count(b));
    for (uint32_t i = 0; i < roast_series_worker_count(a); i++) {
        assert_true(
            roast_str_equal(roast_series_worker_name(a, i), roast_series_worker_name(b, i)));
        assert_true(
            roast_str_equal(roast_series_worker_host(a, i), roast_series_worker_host(b, i)));
        assert_same_samples(a, b, i);
    }
    assert_int_equal(roast_series_change_count(a), roast_series_change_count(b));
    for (uint64_t i = 0; i < roast_series_change_count(a); i++) {
        roast_worker_change x = roast_series_change_at(a, i), y = roast_series_change_at(b, i);
        assert_int_equal(x.worker, y.worker);
        assert_int_equal(x.kind, y.kind);
        assert_int_equal(x.when.ns, y.when.ns);
        assert_int_equal(x.threads, y.threads);
    }
}

#endif
