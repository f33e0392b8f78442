#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "roast/attempts.h"

/* A number that depends on all that can be read of attempts. */
static uint64_t walk(const roast_attempts *attempts) {
    uint64_t sum = 0;
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt)) {
        const int64_t numbers[] = {
            attempt.ready_us, attempt.sent_us,        attempt.start_us,       attempt.stop_us,
            attempt.ended_us, attempt.transfer_us,    attempt.deserialize_us, attempt.disk_us,
            attempt.nbytes,   attempt.worker,         attempt.departure,      attempt.kind,
            attempt.outcome,  (int64_t)attempt.thread};
        for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
            sum = sum * 31 + (uint64_t)numbers[i];
        fuzz_require(attempt.key.len <= ROAST_MAX_KEY, "a key is within its limit");
        sum = fuzz_add_text(sum, attempt.key);
        sum = fuzz_add_text(sum, attempt.prefix);
        sum = fuzz_add_text(sum, attempt.error_type);
        sum = fuzz_add_text(sum, attempt.error_message);
        sum = fuzz_add_text(sum, roast_attempts_worker(attempts, attempt.worker));
        fuzz_require(!(roast_attempt_wasted_seconds(&attempt) < 0), "nobody wastes less than 0");
    }
    fuzz_require(cursor.index == roast_attempts_count(attempts), "every row is read");
    for (uint32_t i = 0; i < roast_attempts_departure_count(attempts); i++) {
        roast_departure departure = roast_attempts_departure(attempts, i);
        sum = sum * 31 + departure.worker + (uint64_t)departure.when.ns + departure.expected +
              departure.running + departure.lost_results;
    }
    return sum;
}

/* What decoded goes on, as a live one does. */
static void append_more(roast_attempts *attempts) {
    roast_attempt_cursor cursor;
    roast_attempt first;
    char key[ROAST_MAX_KEY];
    roast_attempt_cursor_init(&cursor, attempts);
    if (!roast_attempt_cursor_next(&cursor, &first))
        return;
    size_t len = first.key.len;
    if (len > 0)
        memcpy(key, first.key.data, len);
    first.prefix = roast_str_of("more");
    first.error_type = first.error_message = (roast_str){NULL, 0};
    first.key = (roast_str){key, len};
    uint64_t before = roast_attempts_count(attempts);
    fuzz_require(roast_attempts_append(attempts, &first, NULL) == ROAST_OK, "a row goes in");
    fuzz_require(roast_attempts_lose_result(attempts, first.key, NULL) == ROAST_OK &&
                     roast_attempts_settle(attempts, NULL) == ROAST_OK,
                 "a result is lost");
    fuzz_require(roast_attempts_count(attempts) == before + 1, "it is there");
    walk(attempts);
}

FUZZ_PACKED(roast_attempts, walk, append_more)

/* ---- seeds ---- */
static roast_attempt seed_of(unsigned i, const char *key) {
    const int64_t start = INT64_C(1700000000000000);
    bool told = i % 4 != 3;
    return (roast_attempt){
        .kind = i % 7 == 6 ? ROAST_KIND_foreign : ROAST_KIND_other,
        .outcome = (roast_outcome)(i % ROAST_OUTCOME_COUNT),
        .prefix = i % 5 == 4 ? (roast_str){NULL, 0} : roast_str_of(i % 2 == 0 ? "P" : "reduce"),
        .key = roast_str_of(key),
        .worker = i % 6 == 5 ? ROAST_NO_WORKER : i % 2,
        .thread = told ? UINT64_C(139928021235392) + i % 3 : 0,
        .ready_us = i % 3 == 0 ? ROAST_NO_TIME : start + i * 1000,
        .sent_us = i % 5 == 0 ? ROAST_NO_TIME : start + i * 1100,
        .start_us = told ? start + i * 1200 : ROAST_NO_TIME,
        .stop_us = told ? start + i * 1300 + 500000 : ROAST_NO_TIME,
        .ended_us = start + i * 1400 + 500000,
        .transfer_us = i % 3 == 1 ? 20 : -1,
        .deserialize_us = i % 3 == 2 ? 30 : -1,
        .disk_us = i % 4 == 1 ? 40 : -1,
        .nbytes = told ? (int64_t)i * 1000 : -1,
        .departure = told ? ROAST_NO_DEPARTURE : 0,
        .error_type = roast_str_of(i % 4 == 1 ? "ValueError" : NULL),
        .error_message = roast_str_of(i % 8 == 1 ? "no" : NULL),
    };
}

static roast_status fill(roast_attempts *attempts, unsigned count) {
    static const char *const keys[] = {"P-0123456789abcdef0123456789abcdef", "plain",
                                       "P-c28c56b4-605d-483a-b19d-96538cbb53c4-17", NULL};
    uint32_t worker;
    ROAST_TRY(roast_attempts_add_worker(attempts, roast_str_of("tcp://a:1"), &worker, NULL));
    ROAST_TRY(roast_attempts_add_worker(attempts, roast_str_of("tcp://b:2"), &worker, NULL));
    ROAST_TRY(roast_attempts_set_kind(attempts, roast_str_of("P"), ROAST_KIND_processing, NULL));
    for (unsigned i = 0; i < count; i++) {
        roast_attempt attempt = seed_of(i, keys[i % 4]);
        ROAST_TRY(roast_attempts_append(attempts, &attempt, NULL));
    }
    roast_departure departure = {worker, {INT64_C(1700000000000000000)}, false, 2, 1};
    return roast_attempts_add_departure(attempts, &departure, NULL);
}

static bool make_seed(const char *folder, const char *name, unsigned count) {
    roast_attempts *attempts = NULL;
    roast_sink *sink = NULL;
    bool made = roast_attempts_new(&attempts, NULL) == ROAST_OK &&
                roast_sink_new_memory(&sink, NULL) == ROAST_OK &&
                (count == 0 || fill(attempts, count) == ROAST_OK) &&
                roast_attempts_encode(attempts, sink, NULL) == ROAST_OK;
    if (made) {
        roast_str bytes = roast_sink_memory(sink);
        made = fuzz_save(folder, name, bytes.data, bytes.len);
    }
    roast_sink_free(sink);
    roast_attempts_free(attempts);
    return made;
}

bool fuzz_make_corpus(const char *folder) {
    static const char future[] = "RCAT\x02 of another time";
    return make_seed(folder, "v1-empty", 0) && make_seed(folder, "v1-one", 1) &&
           make_seed(folder, "v1-all", 60) &&
           fuzz_save(folder, "bad-newer-version", future, sizeof future - 1);
}
