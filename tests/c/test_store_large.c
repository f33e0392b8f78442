/* The large parts of a measurement: chunks in several, a series, attempts. */
#include "store_sample.h"

#include "store/database/db.h"

/* Several large parts of chunks, a series, and attempts. */
static roast_run *large_run(void) {
    roast_run *run = rich_run();
    roast_run_take_chunks(run, plain_log(3, 1, 40000));
    return run;
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

/* An error, and nothing is left over. */
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
        TEST(test_damage),
        TEST(test_short_memory),
    };
    return cmocka_run_group_tests_name("store_large", tests, NULL, NULL);
}
