#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include "render/trace.h"
#include "support.h"

#define START INT64_C(1790000000000000) /* microseconds; the run begins here */

/* ---- what was written ---- */

typedef struct slice {
    int64_t process, lane, start, stop; /* nanoseconds since the run began */
    const char *category, *name;
    json_t *arguments;
} slice;

static json_t *parse(roast_sink *sink) {
    roast_error err;
    json_error_t wrong;
    assert_ok(roast_sink_finish(sink, &err), err);
    roast_str text = roast_sink_memory(sink);
    json_t *root = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, &wrong);
    if (root == NULL)
        fail_msg("line %d: %s", wrong.line, wrong.text);
    roast_sink_free(sink);
    return root;
}

static const char *text_in(json_t *event, const char *key) {
    const char *text = json_string_value(json_object_get(event, key));
    return text != NULL ? text : "";
}

/* Microseconds with three decimals, as nanoseconds. */
static int64_t time_in(json_t *event, const char *key) {
    json_t *value = json_object_get(event, key);
    assert_true(json_is_number(value));
    return json_is_integer(value) ? json_integer_value(value) * 1000
                                  : llround(json_real_value(value) * 1000);
}

static json_t *events_of(json_t *root) {
    json_t *events = json_object_get(root, "traceEvents");
    assert_true(json_is_array(events));
    return events;
}

/* All slices, the outer ones first; to be freed. */
static int compare_slices(const void *a, const void *b) {
    const slice *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->stop < y->stop) - (x->stop > y->stop);
}

static size_t slices_of(json_t *root, slice **out) {
    json_t *events = events_of(root), *event;
    slice *slices = calloc(json_array_size(events) + 1, sizeof *slices);
    size_t index, count = 0;
    assert_non_null(slices);
    json_array_foreach(events, index, event) {
        if (strcmp(text_in(event, "ph"), "X") != 0)
            continue;
        slice *one = &slices[count++];
        one->process = json_integer_value(json_object_get(event, "pid"));
        one->lane = json_integer_value(json_object_get(event, "tid"));
        one->start = time_in(event, "ts");
        one->stop = one->start + time_in(event, "dur");
        one->category = text_in(event, "cat");
        one->name = text_in(event, "name");
        one->arguments = json_object_get(event, "args");
        assert_true(one->stop >= one->start);
        assert_true(json_is_object(one->arguments));
    }
    qsort(slices, count, sizeof *slices, compare_slices);
    *out = slices;
    return count;
}

/* In a lane slices lie apart or within each other. */
static void assert_nested(const slice *slices, size_t count) {
    const slice *open[64];
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        const slice *one = &slices[i];
        if (i > 0 && (one->process != one[-1].process || one->lane != one[-1].lane))
            depth = 0;
        while (depth > 0 && open[depth - 1]->stop <= one->start)
            depth--;
        if (depth > 0 && one->stop > open[depth - 1]->stop)
            fail_msg("'%s' %lld-%lld overlaps '%s' %lld-%lld", one->name, (long long)one->start,
                     (long long)one->stop, open[depth - 1]->name, (long long)open[depth - 1]->start,
                     (long long)open[depth - 1]->stop);
        assert_true(depth < sizeof open / sizeof *open);
        open[depth++] = one;
    }
}

static const slice *find_slice(const slice *slices, size_t count, const char *category,
                               const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(slices[i].category, category) == 0 && strcmp(slices[i].name, name) == 0)
            return &slices[i];
    fail_msg("there is no %s '%s'", category, name);
    return NULL;
}

static void assert_slice(const slice *one, int64_t start, int64_t stop) {
    assert_int_equal(start, one->start);
    assert_int_equal(stop, one->stop);
}

/* ---- runs ---- */

typedef struct scene {
    roast_run *run;
    roast_chunk chunks[400];
    size_t n_chunks;
    roast_attempt attempts[400];
    size_t n_attempts;
} scene;

static void begin(scene *s) {
    roast_error err;
    memset(s, 0, sizeof *s);
    assert_ok(roast_run_new(&s->run, &err), err);
    roast_run_set_clock(s->run, START / 1e6, START / 1e6 + 10);
}

/* Moves what was set up into the run. */
static void fill_run(const scene *s) {
    roast_error err;
    uint32_t worker;
    roast_attempts *attempts;
    assert_ok(roast_attempts_new(&attempts, &err), err);
    assert_ok(roast_attempts_add_worker(attempts, roast_str_of("w"), &worker, &err), err);
    for (size_t i = 0; i < s->n_attempts; i++) {
        roast_attempt attempt = s->attempts[i];
        attempt.worker = worker;
        assert_ok(roast_attempts_append(attempts, &attempt, &err), err);
        if (attempt.prefix.data != NULL)
            assert_ok(roast_attempts_set_kind(attempts, attempt.prefix, attempt.kind, &err), err);
    }
    roast_run_take_attempts(s->run, attempts);
    for (size_t i = 0; i < s->n_chunks; i++)
        assert_ok(roast_chunklog_append(roast_run_chunks(s->run), &s->chunks[i], &err), err);
}

/* Every event has a name, and none comes before the beginning. */
static void assert_sound(json_t *root) {
    json_t *event;
    size_t index;
    json_array_foreach(events_of(root), index, event) {
        assert_string_not_equal("", text_in(event, "name"));
        assert_true(json_object_get(event, "ts") == NULL || time_in(event, "ts") >= 0);
    }
}

static json_t *trace_of(const scene *s) {
    roast_error err;
    roast_sink *sink = NULL;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    fill_run(s);
    assert_ok(roast_trace_write(s->run, sink, &err), err);
    json_t *root = parse(sink);
    assert_sound(root);
    return root;
}

static roast_chunk *add_chunk(scene *s, int64_t start_us, int64_t lasted_ns) {
    roast_chunk *chunk = &s->chunks[s->n_chunks++];
    *chunk = (roast_chunk){
        .have = ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns) | ROAST_CHUNK_HAS(thread),
        .start_us = START + start_us,
        .duration_ns = lasted_ns,
        .thread = 4242,
        .worker = roast_str_of("w"),
        .dataset = roast_str_of("data"),
    };
    return chunk;
}

/* ---- tests ---- */

static void test_phases_of_a_task(void **state) {
    (void)state;
    static scene s;
    begin(&s);
    roast_chunk *chunk = add_chunk(&s, 1000, 2000001);
    chunk->have |= ROAST_CHUNK_HAS(before_process_ns) | ROAST_CHUNK_HAS(num_events);
    chunk->before_process_ns = 400123;
    chunk->num_events = 77;
    chunk->task_key = roast_str_of("MyProc-1");
    chunk->error_type = roast_str_of("ValueError");
    s.attempts[s.n_attempts++] = (roast_attempt){.key = roast_str_of("MyProc-1"),
                                                 .thread = 99,
                                                 .start_us = START + 600,
                                                 .stop_us = START + 3600};
    json_t *root = trace_of(&s);
    slice *slices;
    size_t count = slices_of(root, &slices);
    assert_int_equal(4, count);
    assert_nested(slices, count);
    assert_slice(find_slice(slices, count, "task", "MyProc-1"), 599877, 3599877);
    assert_slice(find_slice(slices, count, "phase", "before process()"), 599877, 1000000);
    const slice *inside = find_slice(slices, count, "chunk", "data");
    assert_slice(inside, 1000000, 3000001);
    assert_int_equal(77, json_integer_value(json_object_get(inside->arguments, "num_events")));
    assert_string_equal("ValueError", text_in(inside->arguments, "error"));
    assert_slice(find_slice(slices, count, "phase", "after process()"), 3000001, 3599877);
    free(slices);
    json_decref(root);
    roast_run_free(s.run);
}

static void test_a_chunk_of_which_little_is_known(void **state) {
    (void)state;
    static scene s;
    begin(&s);
    roast_chunk *chunk = add_chunk(&s, 5, 0);
    chunk->have = ROAST_CHUNK_HAS(start_us);
    chunk->worker = chunk->dataset = roast_str_of(NULL);
    add_chunk(&s, 0, 0)->have = 0; /* not even when it ran */
    json_t *root = trace_of(&s);
    slice *slices;
    size_t count = slices_of(root, &slices);
    assert_int_equal(1, count);
    assert_slice(find_slice(slices, count, "chunk", "process()"), 5000, 5000);
    free(slices);
    json_decref(root);
    roast_run_free(s.run);
}

static void test_names_of_processes_and_lanes(void **state) {
    (void)state;
    static scene s;
    begin(&s);
    add_chunk(&s, 0, 1000);
    add_chunk(&s, 0, 1000); /* at the same time */
    add_chunk(&s, 5, 1000)->worker = roast_str_of("tcp://\"other\"");
    json_t *root = trace_of(&s), *event;
    const char *const expected[] = {"process_name run",
                                    "process_name w",
                                    "thread_name thread 4242",
                                    "thread_name thread 4242 (2)",
                                    "process_name tcp://\"other\"",
                                    "thread_name thread 4242"};
    size_t index, found = 0;
    json_array_foreach(events_of(root), index, event) {
        char name[100];
        if (strcmp(text_in(event, "ph"), "M") != 0)
            continue;
        snprintf(name, sizeof name, "%s %s", text_in(event, "name"),
                 text_in(json_object_get(event, "args"), "name"));
        assert_true(found < sizeof expected / sizeof *expected);
        assert_string_equal(expected[found++], name);
    }
    assert_int_equal(sizeof expected / sizeof *expected, found);
    json_decref(root);
    roast_run_free(s.run);
}

static void test_tries_that_are_no_chunks(void **state) {
    (void)state;
    static scene s;
    begin(&s);
    s.attempts[s.n_attempts++] = (roast_attempt){.prefix = roast_str_of("merge"),
                                                 .kind = ROAST_KIND_reduction,
                                                 .outcome = ROAST_OUTCOME_lost,
                                                 .thread = 7,
                                                 .nbytes = 12,
                                                 .start_us = START + 10,
                                                 .stop_us = START + 30};
    json_t *root = trace_of(&s);
    slice *slices;
    size_t count = slices_of(root, &slices);
    const slice *merge = find_slice(slices, count, "task", "merge");
    assert_slice(merge, 10000, 30000);
    assert_string_equal("reduction", text_in(merge->arguments, "kind"));
    assert_string_equal("lost", text_in(merge->arguments, "outcome"));
    free(slices);
    json_decref(root);
    roast_run_free(s.run);
}

static roast_section section_of(const char *name, roast_section_kind kind, int32_t parent,
                                uint64_t count, int64_t start, int64_t value) {
    return (roast_section){roast_str_of(name), kind, parent, count, start, value, 0};
}

static void test_sections_inside_a_chunk(void **state) {
    (void)state;
    static scene s;
    begin(&s);
    const roast_section sections[] = {
        section_of("outer", ROAST_SECTION_TIME, -1, 1, 100, 800),
        section_of("memory", ROAST_SECTION_MEMORY, 0, 1, 150, 4096),
        section_of("inner", ROAST_SECTION_TIME, 1, 3, 200,
                   500), /* three uses, up to the next one */
        section_of("beside", ROAST_SECTION_TIME, 0, 1, 400, 100),
        section_of("late", ROAST_SECTION_TIME, 0, 1, 850, 57),   /* 7 ns beyond the outer one */
        section_of("last", ROAST_SECTION_TIME, -1, 1, 950, 100), /* beyond the chunk */
    };
    roast_chunk *chunk = add_chunk(&s, 10, 1000);
    chunk->sections = sections;
    chunk->n_sections = sizeof sections / sizeof *sections;
    json_t *root = trace_of(&s);
    slice *slices;
    size_t count = slices_of(root, &slices);
    assert_nested(slices, count);
    assert_slice(find_slice(slices, count, "section", "outer"), 10100, 10900);
    const slice *inner = find_slice(slices, count, "section", "inner");
    assert_slice(inner, 10200, 10400);
    assert_int_equal(3, json_integer_value(json_object_get(inner->arguments, "count")));
    assert_near(500e-9, json_real_value(json_object_get(inner->arguments, "seconds")));
    assert_slice(find_slice(slices, count, "section", "beside"), 10400, 10500);
    assert_slice(find_slice(slices, count, "section", "late"), 10850, 10900);
    assert_slice(find_slice(slices, count, "section", "last"), 10950, 11000);
    free(slices);
    json_decref(root);
    roast_run_free(s.run);
}

/* ---- whatever comes, nothing overlaps ---- */

static uint64_t random_below(uint64_t *seed, uint64_t limit) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % limit;
}

static void test_no_overlap_whatever_comes(void **state) {
    (void)state;
    static scene s;
    static roast_section sections[300][12];
    static char keys[300][16];
    uint64_t seed = 7;
    begin(&s);
    for (int i = 0; i < 300; i++) {
        int64_t start = (int64_t)random_below(&seed, 100000);
        roast_chunk *chunk = add_chunk(&s, start, (int64_t)random_below(&seed, 9000000));
        chunk->thread = 1 + (int64_t)random_below(&seed, 4);
        if (random_below(&seed, 3) > 0) {
            chunk->have |= ROAST_CHUNK_HAS(before_process_ns);
            chunk->before_process_ns = (int64_t)random_below(&seed, 5000000);
        }
        chunk->sections = sections[i];
        chunk->n_sections = (uint32_t)random_below(&seed, 12);
        for (uint32_t j = 0; j < chunk->n_sections; j++)
            sections[i][j] = section_of(
                "s", random_below(&seed, 3), (int32_t)random_below(&seed, j + 1) - 1,
                1 + random_below(&seed, 3), (int64_t)random_below(&seed, 10000000) - 500000,
                (int64_t)random_below(&seed, 5000000) - 100000);
        snprintf(keys[i], sizeof keys[i], "key-%d", i);
        chunk->task_key = roast_str_of(keys[i]);
        int64_t lag = (int64_t)random_below(&seed, 2000);
        s.attempts[s.n_attempts++] =
            (roast_attempt){.key = roast_str_of(i % 2 == 0 ? keys[i] : "other"),
                            .thread = 100 + random_below(&seed, 4),
                            .start_us = START + start + lag,
                            .stop_us = START + start + lag + (int64_t)random_below(&seed, 20000)};
    }
    json_t *root = trace_of(&s);
    slice *slices;
    size_t count = slices_of(root, &slices), chunks = 0;
    assert_nested(slices, count);
    for (size_t i = 0; i < count; i++)
        chunks += strcmp(slices[i].category, "chunk") == 0;
    assert_int_equal(300, chunks);
    free(slices);
    json_decref(root);
    roast_run_free(s.run);
}

/* ---- counters ---- */

static double counter_at(json_t *root, const char *name, const char *unit, int64_t when) {
    json_t *event;
    size_t index;
    json_array_foreach(events_of(root), index, event) {
        json_t *arguments = json_object_get(event, "args");
        if (strcmp(text_in(event, "ph"), "C") == 0 && strcmp(text_in(event, "name"), name) == 0 &&
            time_in(event, "ts") == when)
            return json_number_value(json_object_get(arguments, unit));
    }
    fail_msg("'%s' says nothing at %lld", name, (long long)when);
    return NAN;
}

static void test_counters_of_workers(void **state) {
    (void)state;
    static scene s;
    roast_error err;
    uint32_t worker;
    double value[ROAST_COLUMNS];
    begin(&s);
    roast_series *series = roast_run_series(s.run);
    assert_ok(roast_series_worker(series, roast_str_of("w"), &worker, &err), err);
    assert_ok(roast_series_change(series, worker, ROAST_WORKER_JOINED, (roast_utc){START * 1000}, 1,
                                  &err),
              err);
    for (int tick = 0; tick < 3; tick++) {
        roast_utc when = {START * 1000 + tick * INT64_C(1000000000)};
        for (int i = 0; i < ROAST_COLUMNS; i++)
            value[i] = NAN;
        value[ROAST_COLUMN_memory] = 1000 * (tick + 1);
        value[ROAST_COLUMN_cpu] = tick == 1 ? NAN : 50.5;
        assert_ok(roast_series_tick(series, when, tick == 2 ? 2 : 1, &err), err);
        assert_ok(roast_series_append(series, worker, value, &err), err);
    }
    json_t *root = trace_of(&s);
    assert_true(counter_at(root, "memory", "bytes", 0) == 1000);
    assert_true(counter_at(root, "memory", "bytes", 2000000000) == 3000);
    assert_true(counter_at(root, "CPU", "percent", 0) == 50.5);
    assert_true(counter_at(root, "workers", "workers", 2000000000) == 2);
    json_decref(root);
    roast_run_free(s.run);
}

static void test_throughput(void **state) {
    (void)state;
    static scene s;
    begin(&s);
    for (int i = 0; i < 2; i++) {
        /* Two seconds each, one behind the other. */
        roast_chunk *chunk = add_chunk(&s, i * 2000000, 2000000000);
        chunk->have |= ROAST_CHUNK_HAS(num_events) | ROAST_CHUNK_HAS(bytes_read);
        chunk->num_events = 1000 * (i + 1);
        chunk->bytes_read = 8000;
    }
    json_t *root = trace_of(&s), *event;
    double events = 0, bytes = 0, open = 0, *sums[] = {&events, &bytes, &open};
    const char *const names[] = {"events", "data", "open chunks"};
    const char *const units[] = {"events/s", "bytes/s", "chunks"};
    for (int i = 0; i < 3; i++) {
        /* The area below the curve is what there was in all. */
        double last = 0;
        int64_t since = 0;
        size_t index;
        json_array_foreach(events_of(root), index, event) {
            if (strcmp(text_in(event, "name"), names[i]) != 0)
                continue;
            int64_t when = time_in(event, "ts");
            *sums[i] += last * (double)(when - since) / 1e9;
            since = when;
            last = json_number_value(json_object_get(json_object_get(event, "args"), units[i]));
        }
        assert_true(last == 0);
    }
    assert_true(fabs(events - 3000) < 1e-6);
    assert_true(fabs(bytes - 16000) < 1e-6);
    assert_true(fabs(open - 4) < 1e-6);
    json_decref(root);
    roast_run_free(s.run);
}

static void test_rates_of_any_length(void **state) {
    (void)state;
    static roast_rates rates;
    rates = (roast_rates){0};
    int64_t stop = 1;
    for (int i = 0; i < 59; i++, stop *= 2)
        roast_rates_add(&rates, i % 3 == 0 ? -5 : 0, stop, 1, 2);
    roast_rates_add(&rates, 0, INT64_MAX, 1, 2); /* no time of a run */
    double events = 0, bytes = 0;
    for (int i = 0; i < ROAST_RATE_BINS; i++) {
        events += rates.events[i];
        bytes += rates.bytes[i];
    }
    assert_true(fabs(events - 59) < 1e-6);
    assert_true(fabs(bytes - 118) < 1e-6);
}

/* ---- a clock that does not count from 1970; failing allocations ---- */

static void test_a_run_with_a_clock_of_its_own(void **state) {
    (void)state;
    static scene s;
    begin(&s);
    roast_run_set_clock(s.run, 17.5, 20);
    add_chunk(&s, 1000, 500);
    add_chunk(&s, 3000, 500);
    json_t *root = trace_of(&s);
    slice *slices;
    size_t count = slices_of(root, &slices);
    assert_slice(&slices[0], 0, 500);
    assert_slice(&slices[1], 2000000, 2000500);
    assert_int_equal(2, count);
    free(slices);
    json_decref(root);
    roast_run_free(s.run);
}

static roast_status write_counted(void *context) {
    roast_sink *sink;
    ROAST_TRY(roast_sink_new_count(&sink, NULL));
    roast_status status = roast_trace_write(context, sink, NULL);
    if (status == ROAST_OK)
        status = roast_sink_finish(sink, NULL);
    roast_sink_free(sink);
    return status;
}

static void test_what_began_before_the_run(void **state) {
    (void)state;
    static scene s;
    begin(&s);
    roast_error err;
    uint32_t worker;
    roast_series *series = roast_run_series(s.run);
    assert_ok(roast_series_worker(series, roast_str_of("w"), &worker, &err), err);
    assert_ok(roast_series_change(series, worker, ROAST_WORKER_JOINED,
                                  (roast_utc){(START - 3600000000) * 1000}, 1, &err),
              err);
    const roast_section sections[] = {section_of("load", ROAST_SECTION_MEMORY, -1, 1, 0, 7),
                                      section_of("", ROAST_SECTION_MEMORY, -1, 1, 0, 7)};
    roast_chunk *chunk = add_chunk(&s, -5, 1000);
    chunk->sections = sections;
    chunk->n_sections = 2;
    add_chunk(&s, 2, 1000);
    json_t *root = trace_of(&s), *event;
    slice *slices;
    size_t count = slices_of(root, &slices), index, found = 0;
    assert_int_equal(2, count);
    assert_slice(&slices[0], 0, 1000);
    assert_slice(&slices[1], 7000, 8000);
    json_array_foreach(events_of(root), index, event) {
        if (strcmp(text_in(event, "name"), "joined") == 0) {
            json_t *arguments = json_object_get(event, "args");
            assert_near(3600 - 5e-6,
                        json_number_value(json_object_get(arguments, "seconds_before_the_run")));
            found++;
        }
        found += strcmp(text_in(event, "name"), "load") == 0;
    }
    assert_int_equal(2, found);
    free(slices);
    json_decref(root);
    roast_run_free(s.run);
}

static void test_every_failing_allocation(void **state) {
    (void)state;
    static scene s;
    const roast_section sections[] = {section_of("s", ROAST_SECTION_TIME, -1, 1, 0, 5)};
    begin(&s);
    roast_chunk *chunk = add_chunk(&s, 0, 1000);
    chunk->sections = sections;
    chunk->n_sections = 1;
    s.attempts[s.n_attempts++] = (roast_attempt){.start_us = START, .stop_us = START + 5};
    fill_run(&s);
    assert_true(alloc_walk(write_counted, s.run) > 5);
    roast_run_free(s.run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases_of_a_task),
        cmocka_unit_test(test_a_chunk_of_which_little_is_known),
        cmocka_unit_test(test_names_of_processes_and_lanes),
        cmocka_unit_test(test_tries_that_are_no_chunks),
        cmocka_unit_test(test_sections_inside_a_chunk),
        cmocka_unit_test(test_no_overlap_whatever_comes),
        cmocka_unit_test(test_counters_of_workers),
        cmocka_unit_test(test_throughput),
        cmocka_unit_test(test_rates_of_any_length),
        cmocka_unit_test(test_a_run_with_a_clock_of_its_own),
        cmocka_unit_test(test_what_began_before_the_run),
        cmocka_unit_test(test_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
