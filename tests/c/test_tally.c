/* Chunks of a run that goes on, by dataset. */
#include "support.h"

#include "roast/tally.h"

static roast_chunklog *new_log(void) {
    roast_error err;
    roast_chunklog *log;
    assert_ok(roast_chunklog_new(&log, &err), err);
    return log;
}

static void add_chunk(roast_chunklog *log, const char *dataset, int64_t events, bool failed) {
    roast_error err;
    roast_chunk chunk = {.have = ROAST_CHUNK_HAS(duration_ns) | ROAST_CHUNK_HAS(num_events),
                         .dataset = dataset != NULL ? roast_str_of(dataset) : (roast_str){0},
                         .duration_ns = 500000000,
                         .num_events = events};
    if (failed)
        chunk.error_type = roast_str_of("ValueError");
    assert_ok(roast_chunklog_append(log, &chunk, &err), err);
}

static roast_tally *tally_of(const roast_chunklog *log) {
    roast_error err;
    roast_tally *tally;
    assert_ok(roast_tally_new(&tally, &err), err);
    assert_ok(roast_tally_add(tally, log, &err), err);
    return tally;
}

static const roast_tally_row *row_of(const roast_tally *tally, const char *dataset) {
    for (uint32_t i = 0; i < roast_tally_count(tally); i++) {
        roast_str name;
        const roast_tally_row *row = roast_tally_at(tally, i, &name);
        if (name.len == strlen(dataset) && memcmp(name.data, dataset, name.len) == 0)
            return row;
    }
    return NULL;
}

static void chunks_are_counted_by_dataset(void **state) {
    (void)state;
    roast_error err;
    roast_chunklog *log = new_log();
    add_chunk(log, "A", 10, false);
    add_chunk(log, "A", 7777, true);
    add_chunk(log, NULL, 5, false);
    roast_tally *tally = tally_of(log);
    assert_ok(roast_tally_add(tally, log, &err), err);
    assert_int_equal(2, roast_tally_count(tally));
    const roast_tally_row *row = row_of(tally, "A");
    assert_int_equal(2, row->done);
    assert_int_equal(2, row->failed);
    assert_int_equal(20, row->events); /* of those that are done */
    assert_near(1.0, row->seconds);
    assert_int_equal(-1, row->bytes); /* nobody has told them */
    assert_int_equal(10, row_of(tally, "")->events);
    roast_tally_free(tally);
    roast_chunklog_free(log);
    roast_tally_free(NULL);
}

static void too_many_datasets_are_counted_together(void **state) {
    (void)state;
    char name[ROAST_TALLY_NAME + 20];
    roast_chunklog *log = new_log();
    for (int i = 0; i < 3 * ROAST_TALLY_DATASETS; i++) {
        snprintf(name, sizeof name, "dataset %d", i);
        add_chunk(log, name, 1, false);
    }
    add_chunk(log, "dataset 0", 1, false); /* one that is known */
    roast_tally *tally = tally_of(log);
    assert_int_equal(ROAST_TALLY_DATASETS + 1, roast_tally_count(tally));
    assert_int_equal(2 * ROAST_TALLY_DATASETS, row_of(tally, ROAST_TALLY_OTHERS)->done);
    assert_int_equal(2, row_of(tally, "dataset 0")->done);
    roast_tally_free(tally);
    roast_chunklog_free(log);
}

static void long_names_and_odd_numbers(void **state) {
    (void)state;
    char name[ROAST_TALLY_NAME + 20];
    roast_chunklog *log = new_log();
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    add_chunk(log, name, INT64_MAX, false);
    name[sizeof name - 2] = 'y'; /* beyond the end of what is kept */
    add_chunk(log, name, INT64_MAX, false);
    add_chunk(log, name, -5, false);
    roast_tally *tally = tally_of(log);
    assert_int_equal(1, roast_tally_count(tally));
    roast_str kept;
    const roast_tally_row *row = roast_tally_at(tally, 0, &kept);
    assert_int_equal(ROAST_TALLY_NAME, kept.len);
    assert_int_equal(3, row->done);
    assert_true(row->events == INT64_MAX);
    roast_tally_free(tally);
    roast_chunklog_free(log);
}

static roast_status count_all(void *log) {
    roast_error err;
    roast_tally *tally;
    ROAST_TRY(roast_tally_new(&tally, &err));
    roast_status status = roast_tally_add(tally, log, &err);
    roast_tally_free(tally);
    return status;
}

static void without_memory(void **state) {
    (void)state;
    roast_chunklog *log = new_log();
    add_chunk(log, "A", 1, false);
    add_chunk(log, "B", 1, false);
    alloc_walk(count_all, log);
    roast_chunklog_free(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_counted_by_dataset),
        cmocka_unit_test(too_many_datasets_are_counted_together),
        cmocka_unit_test(long_names_and_odd_numbers),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
