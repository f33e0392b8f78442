/* Attempts: in, out, as bytes, damaged, and with allocations that fail. */
#include <math.h>

#include "base/crc32c.h"
#include "base/varint.h"
#include "roast/attempts.h"
#include "roast/run.h"
#include "support.h"

#define HASHED   "MyProcessor-0123456789abcdef0123456789abcdef"
#define NUMBERED "MyProcessor-c28c56b4-605d-483a-b19d-96538cbb53c4-17"

static roast_attempts *new_attempts(void) {
    roast_error err;
    roast_attempts *attempts = NULL;
    assert_ok(roast_attempts_new(&attempts, &err), err);
    return attempts;
}

static uint32_t add_worker(roast_attempts *attempts, const char *name) {
    roast_error err;
    uint32_t worker = 0;
    assert_ok(roast_attempts_add_worker(attempts, roast_str_of(name), &worker, &err), err);
    return worker;
}

/* A try of which nothing is known but its end. */
static roast_attempt bare(int64_t ended_us) {
    return (roast_attempt){
        .outcome = ROAST_OUTCOME_done,
        .kind = ROAST_KIND_other,
        .worker = ROAST_NO_WORKER,
        .ready_us = ROAST_NO_TIME,
        .sent_us = ROAST_NO_TIME,
        .start_us = ROAST_NO_TIME,
        .stop_us = ROAST_NO_TIME,
        .ended_us = ended_us,
        .transfer_us = -1,
        .deserialize_us = -1,
        .disk_us = -1,
        .nbytes = -1,
        .departure = ROAST_NO_DEPARTURE,
    };
}

static roast_attempt full(const char *key, uint32_t worker) {
    roast_attempt attempt = bare(1700000003000000);
    attempt.prefix = roast_str_of("MyProcessor");
    attempt.key = roast_str_of(key);
    attempt.worker = worker;
    attempt.thread = UINT64_C(139928021235392);
    attempt.ready_us = 1700000000000000;
    attempt.sent_us = 1700000000500000;
    attempt.start_us = 1700000001000000;
    attempt.stop_us = 1700000002900000;
    attempt.transfer_us = 12;
    attempt.deserialize_us = 34;
    attempt.disk_us = 0;
    attempt.nbytes = 123456;
    return attempt;
}

static void append(roast_attempts *attempts, const roast_attempt *attempt) {
    roast_error err;
    assert_ok(roast_attempts_append(attempts, attempt, &err), err);
}

static roast_attempt at(const roast_attempts *attempts, uint64_t index) {
    roast_attempt_cursor cursor;
    roast_attempt attempt = bare(0);
    roast_attempt_cursor_init(&cursor, attempts);
    for (uint64_t i = 0; i <= index; i++)
        assert_true(roast_attempt_cursor_next(&cursor, &attempt));
    return attempt;
}

static void assert_key(const char *expected, const roast_attempt *attempt) {
    assert_str(expected, attempt->key);
}

static void assert_same_attempt(const roast_attempt *a, const roast_attempt *b) {
    assert_int_equal(a->outcome, b->outcome);
    assert_int_equal(a->worker, b->worker);
    assert_true(a->thread == b->thread);
    assert_true(a->ready_us == b->ready_us);
    assert_true(a->sent_us == b->sent_us);
    assert_true(a->start_us == b->start_us);
    assert_true(a->stop_us == b->stop_us);
    assert_true(a->ended_us == b->ended_us);
    assert_true(a->transfer_us == b->transfer_us);
    assert_true(a->deserialize_us == b->deserialize_us);
    assert_true(a->disk_us == b->disk_us);
    assert_true(a->nbytes == b->nbytes);
    assert_int_equal(a->departure, b->departure);
    assert_true(roast_str_equal(a->prefix, b->prefix));
    assert_true(roast_str_equal(a->error_type, b->error_type));
    assert_true(roast_str_equal(a->error_message, b->error_message));
}

/* ---- in and out ---- */
static void test_what_goes_in_comes_out(void **state) {
    (void)state;
    roast_attempts *attempts = new_attempts();
    uint32_t worker = add_worker(attempts, "tcp://127.0.0.1:1");
    static const char *const keys[] = {HASHED,
                                       NUMBERED,
                                       "plain",
                                       "",
                                       "x-007",
                                       "x-0",
                                       "-5",
                                       "9",
                                       "x-1234567890123456789",
                                       "x-0123456789ABCDEF0123456789abcdef"};
    enum { KEYS = sizeof keys / sizeof *keys };
    roast_attempt in[KEYS + 2], out;
    for (unsigned i = 0; i < KEYS; i++) {
        in[i] = full(keys[i], worker);
        in[i].outcome = (roast_outcome)(i % ROAST_OUTCOME_COUNT);
        in[i].start_us -= i * 1000000; /* also backwards, and before it was sent */
        in[i].ended_us -= i;
    }
    in[1].error_type = roast_str_of("ValueError");
    in[2].error_type = roast_str_of("OSError");
    in[2].error_message = roast_str_of("");
    in[3].error_type = roast_str_of("OSError");
    in[3].error_message = roast_str_of("no such file");
    in[KEYS] = bare(INT64_MAX);
    in[KEYS + 1] = bare(INT64_MIN + 1);
    for (unsigned i = 0; i < KEYS + 2; i++)
        append(attempts, &in[i]);
    assert_int_equal(KEYS + 2, roast_attempts_count(attempts));
    roast_attempt_cursor cursor;
    roast_attempt_cursor_init(&cursor, attempts);
    for (unsigned i = 0; i < KEYS + 2; i++) {
        assert_true(roast_attempt_cursor_next(&cursor, &out));
        assert_same_attempt(&in[i], &out);
        assert_int_equal(ROAST_KIND_other, out.kind);
        if (i < KEYS)
            assert_str(keys[i], out.key);
        else
            assert_null(out.key.data);
    }
    assert_false(roast_attempt_cursor_next(&cursor, &out));
    assert_str("tcp://127.0.0.1:1", roast_attempts_worker(attempts, worker));
    assert_null(roast_attempts_worker(attempts, 1).data);
    assert_int_equal(1, roast_attempts_worker_count(attempts));
    roast_attempts_free(attempts);
}

static void test_kind_follows_the_prefix(void **state) {
    (void)state;
    roast_error err;
    roast_attempts *attempts = new_attempts();
    roast_attempt in = full(HASHED, add_worker(attempts, "w"));
    append(attempts, &in);
    in.kind = ROAST_KIND_foreign;
    append(attempts, &in);
    assert_ok(
        roast_attempts_set_kind(attempts, roast_str_of("MyProcessor"), ROAST_KIND_processing, &err),
        err);
    assert_ok(roast_attempts_set_kind(attempts, roast_str_of("reduce"), ROAST_KIND_reduction, &err),
              err);
    in.kind = ROAST_KIND_other;
    in.prefix = roast_str_of("reduce");
    append(attempts, &in);
    assert_int_equal(ROAST_KIND_processing, at(attempts, 0).kind);
    assert_int_equal(ROAST_KIND_reduction, at(attempts, 2).kind);
    roast_attempt foreign = at(attempts, 1);
    assert_int_equal(ROAST_KIND_foreign, foreign.kind);
    assert_null(foreign.key.data);
    assert_null(foreign.prefix.data);
    assert_int_equal(in.worker, foreign.worker);
    assert_status(ROAST_EINVAL, roast_attempts_set_kind(attempts, roast_str_of("reduce"),
                                                        ROAST_KIND_foreign, &err));
    assert_status(ROAST_EINVAL,
                  roast_attempts_set_kind(attempts, roast_str_of(NULL), ROAST_KIND_other, &err));
    assert_string_equal("processing", roast_attempt_kind_name(ROAST_KIND_processing));
    assert_string_equal("unknown", roast_attempt_kind_name(ROAST_KIND_COUNT));
    assert_string_equal("recomputed", roast_outcome_name(ROAST_OUTCOME_recomputed));
    assert_string_equal("unknown", roast_outcome_name(ROAST_OUTCOME_COUNT));
    roast_attempts_free(attempts);
}

static void test_long_texts_are_cut_at_a_character(void **state) {
    (void)state;
    roast_attempts *attempts = new_attempts();
    char text[ROAST_MAX_KEY + 100];
    for (size_t i = 0; i < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    roast_attempt in = bare(1);
    in.key = (roast_str){text, sizeof text};
    in.prefix = (roast_str){text, ROAST_MAX_KEY + 1};
    in.error_type = (roast_str){text + 1, sizeof text - 1};
    in.error_message = (roast_str){text, sizeof text};
    append(attempts, &in);
    roast_attempt out = at(attempts, 0);
    assert_int_equal(ROAST_MAX_KEY, out.key.len);
    assert_int_equal(ROAST_MAX_KEY, out.prefix.len);
    assert_int_equal(ROAST_MAX_ERROR_TYPE - 1, out.error_type.len);
    assert_int_equal(ROAST_MAX_ERROR_MESSAGE, out.error_message.len);
    roast_attempts_free(attempts);
}

static void test_what_cannot_be_is_refused(void **state) {
    (void)state;
    roast_error err;
    uint32_t worker;
    char name[ROAST_MAX_KEY + 1];
    roast_attempts *attempts = new_attempts();
    memset(name, 'n', sizeof name);
    roast_attempt in = bare(1);
    in.worker = 0;
    assert_status(ROAST_EINVAL, roast_attempts_append(attempts, &in, &err));
    in = bare(1);
    in.outcome = ROAST_OUTCOME_COUNT;
    assert_status(ROAST_EINVAL, roast_attempts_append(attempts, &in, &err));
    in = bare(1);
    in.departure = 1; /* the next one is 0 */
    assert_status(ROAST_EINVAL, roast_attempts_append(attempts, &in, &err));
    roast_departure departure = {.worker = 0};
    assert_status(ROAST_EINVAL, roast_attempts_add_departure(attempts, &departure, &err));
    assert_status(ROAST_EINVAL,
                  roast_attempts_add_worker(attempts, roast_str_of(""), &worker, &err));
    assert_status(ROAST_ELIMIT, roast_attempts_add_worker(attempts, (roast_str){name, sizeof name},
                                                          &worker, &err));
    assert_status(ROAST_EINVAL, roast_attempts_lose_result(attempts, roast_str_of(NULL), &err));
    assert_int_equal(0, roast_attempts_count(attempts));
    roast_attempts_free(attempts);
}

static void test_departures(void **state) {
    (void)state;
    roast_error err;
    roast_attempts *attempts = new_attempts();
    add_worker(attempts, "a");
    roast_departure in = {add_worker(attempts, "b"), {1234567890123456789}, true, 3, 4};
    roast_attempt lost = full(HASHED, in.worker);
    lost.outcome = ROAST_OUTCOME_lost;
    lost.departure = 0; /* known before the departure itself */
    append(attempts, &lost);
    assert_ok(roast_attempts_add_departure(attempts, &in, &err), err);
    assert_int_equal(1, roast_attempts_departure_count(attempts));
    roast_departure out = roast_attempts_departure(attempts, 0);
    assert_int_equal(in.worker, out.worker);
    assert_true(in.when.ns == out.when.ns);
    assert_true(out.expected);
    assert_int_equal(3, out.running);
    assert_int_equal(4, out.lost_results);
    assert_int_equal(0, at(attempts, 0).departure);
    assert_int_equal(ROAST_NO_WORKER, roast_attempts_departure(attempts, 1).worker);
    roast_attempts_free(attempts);
}

/* Each moment may be missing. */
static void test_moments_that_are_not_known(void **state) {
    (void)state;
    roast_attempts *attempts = new_attempts();
    for (unsigned there = 0; there < 32; there++) {
        roast_attempt in = full("k", add_worker(attempts, "a"));
        int64_t *const moments[] = {&in.ready_us, &in.sent_us, &in.start_us, &in.stop_us,
                                    &in.ended_us};
        for (unsigned i = 0; i < 5; i++)
            if ((there >> i & 1) == 0)
                *moments[i] = ROAST_NO_TIME;
        append(attempts, &in);
        roast_attempt out = at(attempts, there);
        assert_same_attempt(&in, &out);
    }
    roast_attempts_free(attempts);
}

/* ---- waste ---- */
static void test_waste(void **state) {
    (void)state;
    roast_attempt attempt = full(HASHED, 0);
    assert_true(roast_attempt_wasted_seconds(&attempt) == 0);
    assert_int_equal(0, roast_attempt_wasted_bytes(&attempt));
    attempt.outcome = ROAST_OUTCOME_recomputed;
    assert_near(1.9, roast_attempt_wasted_seconds(&attempt));
    assert_int_equal(123456, roast_attempt_wasted_bytes(&attempt));
    attempt.outcome = ROAST_OUTCOME_lost;
    attempt.start_us = attempt.stop_us = ROAST_NO_TIME;
    attempt.nbytes = -1;
    assert_near(2.5, roast_attempt_wasted_seconds(&attempt));
    assert_int_equal(-1, roast_attempt_wasted_bytes(&attempt));
    attempt.sent_us = attempt.ended_us + 1;
    assert_true(roast_attempt_wasted_seconds(&attempt) == 0);
    attempt.sent_us = ROAST_NO_TIME;
    assert_true(isnan(roast_attempt_wasted_seconds(&attempt)));
}

static void try_of(roast_attempts *attempts, const char *key, roast_outcome outcome) {
    roast_attempt attempt = bare(5);
    attempt.key = roast_str_of(key);
    attempt.outcome = outcome;
    append(attempts, &attempt);
}

static void test_lost_results_become_recomputed(void **state) {
    (void)state;
    roast_error err;
    roast_attempts *attempts = new_attempts();
    try_of(attempts, HASHED, ROAST_OUTCOME_done);   /* 0: long ago, and used */
    try_of(attempts, HASHED, ROAST_OUTCOME_raised); /* 1 */
    try_of(attempts, HASHED, ROAST_OUTCOME_done);   /* 2: lost */
    try_of(attempts, NUMBERED, ROAST_OUTCOME_done); /* 3: lost */
    assert_ok(roast_attempts_lose_result(attempts, roast_str_of(HASHED), &err), err);
    assert_ok(roast_attempts_lose_result(attempts, roast_str_of(NUMBERED), &err), err);
    assert_ok(roast_attempts_lose_result(attempts, roast_str_of("unheard of"), &err), err);
    try_of(attempts, NUMBERED, ROAST_OUTCOME_done); /* 4: lost again */
    try_of(attempts, HASHED, ROAST_OUTCOME_done);   /* 5: the one that counts */
    assert_ok(roast_attempts_lose_result(attempts, roast_str_of(NUMBERED), &err), err);
    try_of(attempts, NUMBERED, ROAST_OUTCOME_done); /* 6 */
    assert_ok(roast_attempts_settle(attempts, &err), err);
    assert_ok(roast_attempts_settle(attempts, &err), err);
    static const roast_outcome expected[] = {ROAST_OUTCOME_done,       ROAST_OUTCOME_raised,
                                             ROAST_OUTCOME_recomputed, ROAST_OUTCOME_recomputed,
                                             ROAST_OUTCOME_recomputed, ROAST_OUTCOME_done,
                                             ROAST_OUTCOME_done};
    for (unsigned i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(expected[i], at(attempts, i).outcome);
    roast_attempts_free(attempts);
}

/* ---- size ---- */
static void test_a_million_takes_less_than_150_bytes_each(void **state) {
    (void)state;
    enum { COUNT = 1000000, WORKERS = 500 };
    roast_attempts *attempts = new_attempts();
    char text[64];
    for (unsigned i = 0; i < WORKERS; i++) {
        snprintf(text, sizeof text, "tcp://192.168.10.%u:%u", i % 250, 30000 + i);
        add_worker(attempts, text);
    }
    uint64_t random = 88172645463325252;
    for (unsigned i = 0; i < COUNT; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        snprintf(text, sizeof text, "MyProcessor-%016llx%016llx", (unsigned long long)random,
                 (unsigned long long)(random * 0x9e3779b97f4a7c15));
        roast_attempt in = full(text, i % WORKERS);
        in.thread = UINT64_C(139928021235392) + i % WORKERS * 4096;
        in.ended_us += (int64_t)i * 500;
        in.stop_us += (int64_t)i * 500 + (int64_t)(random % 1000);
        in.start_us = in.stop_us - 5000000 - (int64_t)(random % 3000000);
        in.sent_us = in.start_us - (int64_t)(random % 100000);
        in.ready_us = in.sent_us - 600000000;
        append(attempts, &in);
    }
    assert_true(roast_attempts_memory(attempts) < (size_t)150 * COUNT);
    roast_attempts_free(attempts);
}

/* ---- as bytes ---- */
static roast_attempts *sample(void) {
    roast_error err;
    roast_attempts *attempts = new_attempts();
    uint32_t a = add_worker(attempts, "tcp://a:1"), b = add_worker(attempts, "tcp://b:2");
    roast_attempt one = full(HASHED, a), two = full(NUMBERED, b), three = bare(7);
    append(attempts, &one);
    two.outcome = ROAST_OUTCOME_lost;
    two.error_type = roast_str_of("KilledWorker");
    two.error_message = roast_str_of("two workers died");
    two.departure = 0;
    append(attempts, &two);
    three.key = roast_str_of("plain");
    append(attempts, &three);
    three.kind = ROAST_KIND_foreign;
    append(attempts, &three);
    roast_departure departure = {b, {1700000003000000000}, false, 1, 0};
    assert_ok(roast_attempts_add_departure(attempts, &departure, &err), err);
    assert_ok(
        roast_attempts_set_kind(attempts, roast_str_of("MyProcessor"), ROAST_KIND_processing, &err),
        err);
    return attempts;
}

static roast_sink *encode(const roast_attempts *attempts) {
    roast_error err;
    roast_sink *sink = NULL;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    assert_ok(roast_attempts_encode(attempts, sink, &err), err);
    return sink;
}

static void test_bytes_and_back(void **state) {
    (void)state;
    roast_error err;
    roast_attempts *attempts = sample(), *back = NULL;
    roast_sink *sink = encode(attempts);
    roast_str bytes = roast_sink_memory(sink);
    assert_ok(roast_attempts_decode(bytes.data, bytes.len, &back, &err), err);
    assert_int_equal(roast_attempts_count(attempts), roast_attempts_count(back));
    for (uint64_t i = 0; i < roast_attempts_count(attempts); i++) {
        roast_attempt a = at(attempts, i), b = at(back, i);
        assert_same_attempt(&a, &b);
        assert_int_equal(a.kind, b.kind);
        assert_true(roast_str_equal(a.key, b.key));
    }
    assert_str("tcp://b:2", roast_attempts_worker(back, roast_attempts_departure(back, 0).worker));
    /* It can go on. */
    roast_attempt more = full(HASHED, 0);
    append(back, &more);
    more = at(back, 4);
    assert_key(HASHED, &more);
    assert_int_equal(ROAST_KIND_processing, more.kind);
    /* An empty one, too. */
    roast_attempts *empty = new_attempts(), *again = NULL;
    roast_sink *small = encode(empty);
    assert_ok(roast_attempts_decode(roast_sink_memory(small).data, roast_sink_memory(small).len,
                                    &again, &err),
              err);
    assert_int_equal(0, roast_attempts_count(again));
    roast_attempts_free(again);
    roast_attempts_free(empty);
    roast_sink_free(small);
    roast_attempts_free(back);
    roast_attempts_free(attempts);
    roast_sink_free(sink);
}

static void assert_undecodable(const void *data, size_t len) {
    roast_error err;
    roast_attempts *attempts = NULL;
    roast_error_reset(&err);
    roast_status status = roast_attempts_decode(data, len, &attempts, &err);
    if (status != ROAST_ECORRUPT && status != ROAST_EVERSION)
        fail_msg("decoding gives %s", roast_status_name(status));
    assert_null(attempts);
    assert_int_equal(status, err.status);
    assert_true(err.position >= 0 && err.position <= (int64_t)len);
    assert_true(err.message[0] != '\0');
}

static void test_damage_is_refused(void **state) {
    (void)state;
    roast_attempts *attempts = sample();
    roast_sink *sink = encode(attempts);
    roast_str bytes = roast_sink_memory(sink);
    for (size_t len = 0; len < bytes.len; len++) {
        /* A block of its own, so that a sanitizer sees a read behind the end. */
        char *copy = test_malloc(len + 1);
        memcpy(copy + 1, bytes.data, len);
        assert_undecodable(copy + 1, len);
        test_free(copy);
    }
    assert_undecodable(NULL, 0);
    char *copy = test_malloc(bytes.len);
    for (size_t bit = 0; bit < bytes.len * 8; bit++) {
        memcpy(copy, bytes.data, bytes.len);
        copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
        assert_undecodable(copy, bytes.len);
    }
    test_free(copy);
    roast_sink_free(sink);
    roast_attempts_free(attempts);
}

/* A buffer that is put together by hand and gets a right checksum, so that the parser behind is
 * met. */
static void assert_refused(roast_status expected, const char *says, const char *body, size_t len) {
    uint8_t bytes[8192];
    roast_error err;
    roast_attempts *attempts = NULL;
    assert_true(len + 9 <= sizeof bytes);
    memcpy(bytes, "RCAT\1", 5);
    memcpy(bytes + 5, body, len);
    uint32_t crc = roast_crc32c(0, bytes, 5 + len);
    for (unsigned i = 0; i < 4; i++)
        bytes[5 + len + i] = (uint8_t)(crc >> 8 * i);
    assert_status(expected, roast_attempts_decode(bytes, len + 9, &attempts, &err));
    if (strstr(err.message, says) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, says);
}

/* Prefixes and their kinds, workers, texts, departures, rows: each list begins with its count. */
#define BODY(status, says, body) assert_refused(ROAST_##status, says, body, sizeof body - 1)

static void test_forged_bytes_are_refused(void **state) {
    (void)state;
    BODY(ECORRUPT, "number of names", "\x7f");
    BODY(ECORRUPT, "kind of a prefix", "\1\1p\3\0\0\0\0");
    BODY(ECORRUPT, "there twice", "\2\1p\1p\0\0\0\0\0\0");
    BODY(ECORRUPT, "text is too long", "\1\x20p\0\0\0\0\0");
    BODY(ECORRUPT, "too short", "\0\1\0\0\0\0");
    BODY(ECORRUPT, "number of departures", "\0\0\0\x7f");
    BODY(ECORRUPT, "a worker left that is not there", "\0\0\0\1\0\0\0\0\0");
    BODY(ECORRUPT, "out of range", "\0\1\1w\0\1\0\0\xff\xff\xff\xff\x7f\0\0");
    BODY(ECORRUPT, "number of attempts", "\0\0\0\0\x7f");
    BODY(ECORRUPT, "bytes behind", "\0\0\0\0\0\1");
    /* flags, prefix, key, worker, thread, moments, four amounts, exception and message, departure */
    BODY(ECORRUPT, "prefix of an attempt", "\0\0\0\0\1\0\1\0\0\0\0\0\0\0\0\0\0");
    BODY(ECORRUPT, "key of an attempt", "\0\0\0\0\1\0\0\x7f\0\0\0\0\0\0\0\0\0");
    BODY(ECORRUPT, "worker of an attempt", "\0\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0\0");
    BODY(ECORRUPT, "thread of an attempt",
         "\0\0\0\0\1\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
    BODY(ECORRUPT, "time of an attempt",
         "\0\0\0\0\1\x8\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
    BODY(ECORRUPT, "amount of an attempt",
         "\0\0\0\0\1\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1");
    BODY(ECORRUPT, "exception of an attempt", "\0\0\0\0\1\0\0\0\0\0\0\0\0\0\1\0\0");
    BODY(ECORRUPT, "has not left", "\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\2");
}

/* ---- in a run ---- */
static void test_part_of_a_run(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = NULL;
    assert_ok(roast_run_new(&run, &err), err);
    assert_null(roast_run_attempts(run));
    assert_null(roast_run_attempts_view(run));
    roast_attempts *own = sample(), *lent = sample();
    roast_run_take_attempts(run, own);
    roast_run_take_attempts(run, own);
    assert_ptr_equal(own, roast_run_attempts(run));
    roast_run_lend_attempts(run, lent);
    assert_ptr_equal(lent, roast_run_attempts_view(run));
    roast_run_lend_attempts(run, NULL);
    assert_ptr_equal(own, roast_run_attempts_view(run));
    roast_run_free(run);
    roast_attempts_free(lent);
}

/* ---- failing allocations ---- */
static roast_status build(void *context) {
    roast_error err;
    roast_attempts *attempts = NULL, *back = NULL;
    roast_sink *sink = NULL;
    uint32_t worker;
    (void)context;
    ROAST_TRY(roast_attempts_new(&attempts, &err));
    roast_status status =
        roast_attempts_add_worker(attempts, roast_str_of("tcp://a:1"), &worker, &err);
    for (unsigned i = 0; i < 40 && status == ROAST_OK; i++) {
        char key[64], message[32];
        snprintf(key, sizeof key, "MyProcessor%u-0123456789abcdef0123456789abcdef", i);
        snprintf(message, sizeof message, "message %u", i);
        roast_attempt in = full(key, 0);
        in.thread += i;
        in.prefix = (roast_str){key, strlen(key) - 33};
        in.error_type = roast_str_of("ValueError");
        in.error_message = roast_str_of(message);
        uint64_t before = roast_attempts_count(attempts);
        status = roast_attempts_append(attempts, &in, &err);
        if (status != ROAST_OK)
            assert_int_equal(before, roast_attempts_count(attempts));
        if (status == ROAST_OK && i % 8 == 0)
            status = roast_attempts_lose_result(attempts, roast_str_of(key), &err);
    }
    roast_departure departure = {.worker = 0};
    if (status == ROAST_OK)
        status = roast_attempts_add_departure(attempts, &departure, &err);
    if (status == ROAST_OK)
        status =
            roast_attempts_set_kind(attempts, roast_str_of("reduce"), ROAST_KIND_reduction, &err);
    if (status == ROAST_OK)
        status = roast_attempts_settle(attempts, &err);
    if (status == ROAST_OK)
        status = roast_sink_new_memory(&sink, &err);
    if (status == ROAST_OK)
        status = roast_attempts_encode(attempts, sink, &err);
    if (status == ROAST_OK)
        status = roast_attempts_decode(roast_sink_memory(sink).data, roast_sink_memory(sink).len,
                                       &back, &err);
    if (status == ROAST_OK)
        assert_int_equal(40, roast_attempts_count(back));
    roast_attempts_free(back);
    roast_attempts_free(attempts);
    roast_sink_free(sink);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    assert_true(alloc_walk(build, NULL) > 30);
    roast_attempts_free(NULL);
}

/* What is learned about a worker after it left. */
static void test_departures_change(void **state) {
    (void)state;
    roast_error err;
    roast_attempts *attempts = new_attempts();
    uint32_t worker = add_worker(attempts, "w");
    for (int i = 0; i < 3; i++) {
        roast_departure departure = {.worker = worker, .when = {i}};
        assert_ok(roast_attempts_add_departure(attempts, &departure, &err), err);
    }
    roast_attempts_add_lost_result(attempts, 1);
    roast_attempts_add_lost_result(attempts, 1);
    roast_attempts_add_lost_result(attempts, 3); /* there is none */
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(i == 1 ? 2 : 0, roast_attempts_departure(attempts, i).lost_results);
    roast_attempts_truncate_departures(attempts, 5);
    assert_int_equal(3, roast_attempts_departure_count(attempts));
    roast_attempts_truncate_departures(attempts, 2);
    assert_int_equal(2, roast_attempts_departure_count(attempts));
    assert_int_equal(ROAST_NO_WORKER, roast_attempts_departure(attempts, 2).worker);
    roast_attempts_free(attempts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_departures_change),
        cmocka_unit_test(test_what_goes_in_comes_out),
        cmocka_unit_test(test_kind_follows_the_prefix),
        cmocka_unit_test(test_long_texts_are_cut_at_a_character),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_departures),
        cmocka_unit_test(test_moments_that_are_not_known),
        cmocka_unit_test(test_waste),
        cmocka_unit_test(test_lost_results_become_recomputed),
        cmocka_unit_test(test_a_million_takes_less_than_150_bytes_each),
        cmocka_unit_test(test_bytes_and_back),
        cmocka_unit_test(test_damage_is_refused),
        cmocka_unit_test(test_forged_bytes_are_refused),
        cmocka_unit_test(test_part_of_a_run),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
