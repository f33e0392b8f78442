/* The second thread that adds the parts of a large run, alone and as the store uses it. */
#include "store_sample.h"

#include <errno.h>
#include <pthread.h>

#include "store/database/db.h"
#include "store/read/relay.h"

static bool fail_create;
static int created;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *context);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *context) {
    created++;
    return fail_create ? EAGAIN : __real_pthread_create(thread, attributes, body, context);
}

/* ---- alone ---- */

typedef struct added {
    int64_t count;
    int64_t bad; /* the part that cannot be added; -1: none */
    bool in_order;
} added;

/* The bytes of a part are its number. */
static roast_status add(void *context, const roast_part *part, roast_error *err) {
    added *to = context;
    int64_t number = -1;
    if (part->bytes.len == sizeof number)
        memcpy(&number, part->bytes.data, sizeof number);
    to->in_order &= part->id == to->count && number == part->id && part->kind == 7;
    to->count++;
    if (part->id != to->bad)
        return ROAST_OK;
    return roast_error_set(err, ROAST_ELIMIT, "test", part->id, "that one not");
}

static void put_parts(roast_relay *relay, int64_t count) {
    roast_buffer bytes = {0};
    for (int64_t id = 0; id < count; id++) {
        bytes.len = 0;
        assert_int_equal(ROAST_OK, roast_buffer_append(&bytes, &id, sizeof id));
        roast_part part = {id, 7, bytes};
        roast_relay_put(relay, &part);
        bytes = part.bytes;
    }
    roast_buffer_reset(&bytes);
}

static void test_order(void **state) {
    (void)state;
    for (int64_t count = 0; count < 200; count += 1 + count / 3) {
        added to = {.bad = -1, .in_order = true};
        roast_error err;
        roast_relay *relay = roast_relay_begin(add, &to);
        assert_non_null(relay);
        put_parts(relay, count);
        assert_ok(roast_relay_end(relay, &err), err);
        assert_int_equal(count, to.count);
        assert_true(to.in_order);
    }
    assert_int_equal(ROAST_OK, roast_relay_end(NULL, NULL));
}

/* Nothing is added after a failure, and nobody waits for ever. */
static void test_failure(void **state) {
    (void)state;
    for (int64_t bad = 0; bad < 20; bad++) {
        added to = {.bad = bad, .in_order = true};
        roast_error err;
        roast_relay *relay = roast_relay_begin(add, &to);
        assert_non_null(relay);
        put_parts(relay, 20);
        assert_status(ROAST_ELIMIT, roast_relay_end(relay, bad % 2 == 0 ? &err : NULL));
        assert_int_equal(bad + 1, to.count);
        if (bad % 2 == 0)
            assert_string_equal("that one not", err.message);
    }
}

static void test_no_thread(void **state) {
    (void)state;
    added to = {.bad = -1};
    fail_create = true;
    assert_null(roast_relay_begin(add, &to));
    fail_create = false;
    alloc_fail_from(0);
    assert_null(roast_relay_begin(add, &to));
    alloc_fail_stop();
}

/* ---- in the store ---- */

/* Several large parts of chunks, a series, and attempts. */
static roast_run *large_run(void) {
    roast_run *run = rich_run();
    roast_run_take_chunks(run, plain_log(3, 1, 40000));
    return run;
}

static void test_the_same_without_a_thread(void **state) {
    (void)state;
    roast_run *run = large_run(), *back;
    save(run);
    created = 0;
    back = load();
    assert_int_equal(1, created);
    assert_same_run(run, back);
    roast_run_free(back);
    fail_create = true;
    back = load();
    fail_create = false;
    assert_same_run(run, back);
    roast_run_free(back);
    roast_run_free(run);
}

/* Writes a part again, with a right checksum and wrong contents. That leaves a gap in the numbers, which only a file in
 * the mode of live measurements may have. */
static void spoil(const char *name) {
    static const char write_ahead[2] = {2, 2};
    roast_part_walk walk = {.statement = NULL};
    roast_error err;
    sqlite3 *db;
    bool there;
    assert_int_equal(SQLITE_OK, sqlite3_open(inside("run.sqlite"), &db));
    assert_ok(roast_part_walk_begin(&walk, db, ROAST_PARTS_LARGE, 0, &err), err);
    do
        assert_ok(roast_part_walk_next(&walk, &there, &err), err);
    while (there && !roast_str_equal(walk.name, str(name)));
    assert_true(there);
    roast_buffer bytes = walk.bytes;
    walk.bytes = (roast_buffer){0};
    roast_part_walk_end(&walk);
    bytes.data[bytes.len / 2] ^= 1;
    assert_ok(roast_part_put(db, name, (roast_str){(char *)bytes.data, bytes.len},
                             ROAST_PART_APPENDED, &err),
              err);
    roast_buffer_reset(&bytes);
    sqlite3_close(db);
    FILE *file = fopen(inside("run.sqlite"), "r+");
    assert_non_null(file);
    fseek(file, 18, SEEK_SET);
    assert_int_equal(2, fwrite(write_ahead, 1, 2, file));
    fclose(file);
}

static void test_damage(void **state) {
    (void)state;
    static const char *const names[] = {"chunks", "series", "attempts"};
    roast_run *run = large_run(), *back = NULL;
    roast_error err;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char told[64];
        save(run);
        spoil(names[i]);
        assert_status(ROAST_ECORRUPT, roast_store_load(place, &back, &err));
        assert_null(back);
        snprintf(told, sizeof told, "(%s) is malformed", names[i]);
        if (strstr(err.message, told) == NULL)
            fail_msg("'%s' does not tell '%s'", err.message, told);
    }
    roast_run_free(run);
}

/* Memory that is short in either thread: an error, and nothing is left over. */
static void test_short_memory(void **state) {
    (void)state;
    roast_run *run = large_run(), *back;
    save(run);
    roast_run_free(run);
    alloc_fail_from(1000000);
    run = load();
    long all = alloc_fail_stop();
    roast_run_free(run);
    for (long n = 0; n < all; n += 1 + all / 150) {
        long before = alloc_live();
        back = NULL;
        alloc_fail_from(n);
        roast_status status = roast_store_load(place, &back, NULL);
        alloc_fail_stop();
        assert_true(status == ROAST_ENOMEM);
        assert_null(back);
        assert_int_equal(before, alloc_live());
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_no_thread),
        TEST(test_the_same_without_a_thread),
        TEST(test_damage),
        TEST(test_short_memory),
    };
    return cmocka_run_group_tests_name("store_relay", tests, NULL, NULL);
}
