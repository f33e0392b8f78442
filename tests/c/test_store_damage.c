/* Nothing that a measurement says is trusted: damage is an error, never a crash or a wrong number. */
#include "store_sample.h"

#include <fcntl.h>
#include <sqlite3.h>

#include "base/crc32c.h"
#include "store/database/db.h"

static roast_run *saved; /* what lies at `place` */
static packed database;

static int make_measurement(void **state) {
    static const char text[] = "{\"wall_time\": 12.5}";
    const roast_store_file files[] = {{"metrics.json", text, sizeof text - 1},
                                      {"start_end_time.txt", "1.5,2.5", 7}};
    const roast_store_blob_in blob = {"metrics", text, sizeof text};
    const roast_store_options options = {
        .path = place, .files = files, .n_files = 2, .blobs = &blob, .n_blobs = 1};
    if (make_folder(state) != 0)
        return -1;
    saved = rich_run();
    if (roast_store_save(saved, &options, NULL) != ROAST_OK)
        return -1;
    database = read_bytes(inside("run.sqlite"));
    return 0;
}

static int remove_measurement(void **state) {
    roast_run_free(saved);
    free(database.data);
    return remove_folder(state);
}

static void put_database(const uint8_t *bytes, size_t len) {
    write_bytes(inside("run.sqlite"), bytes, len);
}

/* Replaces some bytes: to write all of them for each flipped bit would take long. */
static void poke(size_t at, const uint8_t *bytes, size_t len) {
    int fd = open(inside("run.sqlite"), O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(len, pwrite(fd, bytes, len, (off_t)at));
    assert_int_equal(0, close(fd));
}

/* Bytes that SQLite does not use may be anything: then the run is as it was. */
static bool is_refused_or_same(const char *what, size_t at) {
    roast_run *run = NULL;
    roast_error err;
    roast_error_reset(&err);
    roast_status status = roast_store_load(place, &run, &err);
    if (status == ROAST_OK) {
        assert_same_run(saved, run);
        roast_run_free(run);
        return false;
    }
    if (status != ROAST_ECORRUPT && status != ROAST_EVERSION)
        fail_msg("%s %zu: %s: %s", what, at, roast_status_name(status), err.message);
    assert_true(err.message[0] != '\0');
    return true;
}

/* ---- what checksums show ---- */

static void test_truncation(void **state) {
    (void)state;
    size_t tried = 0;
    for (size_t len = database.len - 1; len > 0; tried++) {
        assert_int_equal(0, truncate(inside("run.sqlite"), (off_t)len));
        is_refused_or_same("cut at", len);
        size_t step = 511 + len % 7, in_page = len % 4096;
        if (len <= 700)
            step = 1;
        else if (in_page > 0 && in_page < step)
            step = in_page; /* at the end of a page, too */
        assert_true(len > database.len - 4096 || is_refused_or_same("cut at", len));
        len -= step;
    }
    assert_true(tried > 300);
}

static void test_bit_flips(void **state) {
    (void)state;
    size_t tried = 0, refused = 0;
    for (size_t bit = 0; bit < database.len * 8; bit += bit < 800 ? 1 : 61 + bit % 11, tried++) {
        uint8_t flipped = database.data[bit / 8] ^ (uint8_t)(1u << bit % 8);
        poke(bit / 8, &flipped, 1);
        refused += is_refused_or_same("bit", bit);
        poke(bit / 8, &database.data[bit / 8], 1);
    }
    assert_true(tried > 1500);
    assert_true(refused > 500); /* the others hit bytes that SQLite does not use */
    roast_run *back = load();
    assert_same_run(saved, back);
    roast_run_free(back);
}

/* Bytes replaced by the worst ones: lengths of gigabytes, pointers to anywhere. */
static void test_bad_bytes(void **state) {
    (void)state;
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    unsigned random = 1;
    for (size_t i = 0; i < 3000; i++) {
        uint8_t bytes[9];
        size_t len = i % 9 == 0 ? 9 : 1;
        random = random * 1664525u + 1013904223u;
        size_t page = (random >> 8) % (database.len / 4096);
        random = random * 1664525u + 1013904223u;
        /* The front of a page says where its cells are; a cell begins with its length. */
        size_t at = page * 4096 + (random >> 8) % (i % 2 == 0 ? 64 : 4088);
        memset(bytes, values[i % COUNT_OF(values)], len);
        poke(at, bytes, len);
        is_refused_or_same("byte", at);
        poke(at, database.data + at, len);
    }
}

static void test_swapped_pages(void **state) {
    (void)state;
    for (size_t first = 1; first + 1 < database.len / 4096; first++) {
        poke(first * 4096, database.data + (first + 1) * 4096, 4096);
        poke((first + 1) * 4096, database.data + first * 4096, 4096);
        assert_true(is_refused_or_same("page", first));
        poke(first * 4096, database.data + first * 4096, 2 * 4096);
    }
}

static void test_small_files(void **state) {
    (void)state;
    static const char *const names[] = {"metrics.json", "start_end_time.txt"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        packed bytes = read_bytes(inside(names[i]));
        for (size_t bit = 0; bit < bytes.len * 8; bit++) {
            bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            write_bytes(inside(names[i]), bytes.data, bytes.len);
            roast_error err = load_failure();
            assert_int_equal(ROAST_ECORRUPT, err.status);
            assert_non_null(strstr(err.message, names[i]));
            bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        for (size_t len = 0; len < bytes.len; len++) {
            write_bytes(inside(names[i]), bytes.data, len);
            assert_int_equal(ROAST_ECORRUPT, load_failure().status);
        }
        assert_int_equal(0, unlink(inside(names[i])));
        roast_error err = load_failure();
        assert_int_equal(ROAST_ENOTFOUND, err.status);
        assert_non_null(strstr(err.message, names[i]));
        write_bytes(inside(names[i]), bytes.data, bytes.len);
        free(bytes.data);
    }
    roast_run_free(load());
}

/* ---- what checksums do not show ---- */

static void change(const char *sql) {
    sqlite3 *db;
    char *message = NULL;
    put_database(database.data, database.len);
    assert_int_equal(SQLITE_OK, sqlite3_open(inside("run.sqlite"), &db));
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
}

static void test_wrong_rows(void **state) {
    (void)state;
    static const char *const changes[] = {
        "DELETE FROM parts",
        "DELETE FROM parts WHERE name = 'chunks'",
        "DELETE FROM parts WHERE name = 'meta'",
        "DELETE FROM parts WHERE name = 'end'",
        "DELETE FROM parts WHERE name IN ('series', 'end')",
        "UPDATE parts SET id = id + 100",
        "UPDATE parts SET name = 'other' WHERE name = 'notes'",
        "UPDATE parts SET name = 'meta' WHERE name = 'columns'",
        "UPDATE parts SET name = x'00' WHERE name = 'notes'",
        "UPDATE parts SET name = 'blob:findings' WHERE name = 'blob:metrics'",
        "UPDATE parts SET checksum = checksum + 1 WHERE name = 'clock'",
        "UPDATE parts SET checksum = 'x' WHERE name = 'clock'",
        "UPDATE parts SET bytes = x'' WHERE name = 'clock'",
        "UPDATE parts SET bytes = zeroblob(100) WHERE name = 'chunks'",
        "UPDATE parts SET bytes = 'text' WHERE name = 'series'",
        "UPDATE parts SET bytes = 5 WHERE name = 'attempts'",
        "UPDATE parts SET bytes = (SELECT bytes FROM parts WHERE id = 1) WHERE name = 'counts'",
    };
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        change(changes[i]);
        roast_run *run = NULL;
        roast_error err;
        roast_status status = roast_store_load(place, &run, &err);
        if (status != ROAST_ECORRUPT)
            fail_msg("%s: %s (%s)", changes[i], roast_status_name(status),
                     status == ROAST_OK ? "it loads" : err.message);
    }
}

/* ---- parts with a right checksum and wrong contents ---- */

/* The contents of one part. */
static packed contents_of(const char *name) {
    roast_part_walk walk = {.statement = NULL};
    roast_error err;
    sqlite3 *db;
    packed found = {NULL, 0};
    bool there = true;
    assert_ok(roast_db_open(&db, inside("run.sqlite"), true, &err), err);
    for (int large = 0; large < 2; large++) {
        assert_ok(roast_part_walk_begin(
                      &walk, db, large == 1 ? ROAST_PARTS_LARGE : ROAST_PARTS_SMALL, 0, &err),
                  err);
        for (there = true; there && found.data == NULL;) {
            assert_ok(roast_part_walk_next(&walk, &there, &err), err);
            if (!there || !roast_str_equal(walk.name, str(name)))
                continue;
            found = (packed){malloc(walk.bytes.len + 1), walk.bytes.len};
            assert_non_null(found.data);
            memcpy(found.data, walk.bytes.data, walk.bytes.len);
        }
        roast_part_walk_end(&walk);
    }
    roast_db_close(db, NULL);
    assert_non_null(found.data);
    return found;
}

/* The part is written again, and the end behind it. */
static void put_contents(const char *name, const void *bytes, size_t len) {
    roast_error err;
    sqlite3 *db;
    put_database(database.data, database.len);
    assert_int_equal(SQLITE_OK, sqlite3_open(inside("run.sqlite"), &db));
    assert_int_equal(SQLITE_OK, sqlite3_exec(db, "BEGIN; DELETE FROM parts WHERE name = 'end'",
                                             NULL, NULL, NULL));
    assert_ok(roast_part_put(db, name, (roast_str){bytes, len}, ROAST_PART_LIVE_SMALL, &err), err);
    assert_ok(roast_part_put(db, "end", (roast_str){NULL, 0}, ROAST_PART_APPENDED, &err), err);
    assert_int_equal(SQLITE_OK, sqlite3_exec(db, "COMMIT", NULL, NULL, NULL));
    sqlite3_close(db);
}

/* A part that was written again leaves a gap in the numbers: live measurements have such gaps. */
static roast_error load_live(void) {
    roast_run *run = NULL;
    roast_error err;
    roast_error_reset(&err);
    const uint8_t wal[] = {2, 2};
    poke(18, wal, sizeof wal);
    roast_status status = roast_store_load(place, &run, &err);
    assert_int_equal(status, err.status);
    assert_true(status == ROAST_OK || err.message[0] != '\0');
    roast_run_free(run);
    return err;
}

static roast_status load_as_live(void) {
    return load_live().status;
}

/* The contents of a list of values with its checksum put right. */
static void put_values(const char *name, uint8_t *bytes, size_t len) {
    if (len >= 4) {
        uint32_t crc = roast_crc32c(0, bytes, len - 4);
        for (int i = 0; i < 4; i++)
            bytes[len - 4 + (size_t)i] = (uint8_t)(crc >> 8 * i);
    }
    put_contents(name, bytes, len);
}

static void test_wrong_contents(void **state) {
    (void)state;
    static const char *const names[] = {"clock", "report", "processor", "replayed", "columns",
                                        "meta",  "notes",  "spans",     "files",    "phases"};
    static const char *const packed_names[] = {"sections", "counts", "chunks", "series",
                                               "attempts"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        packed whole = contents_of(names[i]);
        uint8_t *cut = malloc(whole.len + 1);
        assert_non_null(cut);
        for (size_t len = 0; len < whole.len; len++) { /* ends too early */
            memcpy(cut, whole.data, len);
            put_values(names[i], cut, len);
            roast_status status = load_as_live();
            assert_true(status == ROAST_ECORRUPT || status == ROAST_OK);
            assert_true(len + 1 != whole.len || status == ROAST_ECORRUPT);
        }
        memcpy(cut, whole.data, whole.len);
        cut[whole.len] = 0xff; /* and too late: a byte more in front of the checksum */
        put_values(names[i], cut, whole.len + 1);
        assert_int_equal(ROAST_ECORRUPT, load_as_live());
        free(cut);
        free(whole.data);
    }
    for (size_t i = 0; i < COUNT_OF(packed_names); i++) {
        packed whole = contents_of(packed_names[i]);
        whole.data[whole.len / 2] ^= 1;
        put_contents(packed_names[i], whole.data, whole.len);
        assert_int_equal(ROAST_ECORRUPT, load_as_live());
        put_contents(packed_names[i], whole.data, 0);
        assert_int_equal(ROAST_ECORRUPT, load_as_live());
        free(whole.data);
    }
}

/* Inside a measurement, too, the message says which version it is. */
static void test_parts_of_other_versions(void **state) {
    (void)state;
    static const char *const names[] = {"sections", "counts", "chunks", "series", "attempts"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        packed whole = contents_of(names[i]);
        whole.data[4] = 0;
        put_contents(names[i], whole.data, whole.len);
        roast_error err = load_live();
        assert_int_equal(ROAST_ECORRUPT, err.status);
        assert_non_null(strstr(err.message, names[i]));
        assert_non_null(strstr(err.message, "version 0 of it was never released"));
        whole.data[4] = 200;
        put_contents(names[i], whole.data, whole.len);
        err = load_live();
        assert_int_equal(ROAST_EVERSION, err.status);
        assert_non_null(strstr(err.message, "version 200"));
        free(whole.data);
    }
}

/* A blob may be parsed; others of the same size, which are only decoded, may be longer. */
static void test_long_blobs(void **state) {
    (void)state;
    char *zeros = calloc(ROAST_STORE_MAX_FILE + 1, 1);
    assert_non_null(zeros);
    put_contents("blob:extras", zeros, ROAST_STORE_MAX_FILE);
    assert_int_equal(ROAST_OK, load_as_live());
    put_contents("blob:extras", zeros, ROAST_STORE_MAX_FILE + 1);
    roast_error err = load_live();
    assert_int_equal(ROAST_ELIMIT, err.status);
    assert_non_null(strstr(err.message, "too long"));
    put_contents("blob:extras", zeros, ROAST_STORE_MAX_FILE);
    sqlite3 *db;
    assert_int_equal(SQLITE_OK, sqlite3_open(inside("run.sqlite"), &db));
    for (int i = 0; i < 4; i++) {
        const char name[] = {'b', 'l', 'o', 'b', ':', (char)('0' + i), '\0'};
        const roast_str bytes = {zeros, ROAST_STORE_MAX_FILE};
        assert_ok(roast_part_put(db, name, bytes, ROAST_PART_LIVE_SMALL, &err), err);
    }
    sqlite3_close(db);
    err = load_live();
    assert_int_equal(ROAST_ECORRUPT, err.status);
    assert_non_null(strstr(err.message, "together"));
    free(zeros);
}

/* Some bytes that claim to be gigabytes. */
static void test_bomb(void **state) {
    (void)state;
    change("UPDATE parts SET bytes = x'28b52ffda0ffffffff0100' WHERE name = 'chunks'");
    assert_int_equal(ROAST_ECORRUPT, load_failure().status);
    static char zeros[1 << 20];
    put_contents("chunks", zeros, sizeof zeros); /* a thousandth of its size */
    assert_int_equal(ROAST_ECORRUPT, load_as_live());
}

static void test_foreign_schema(void **state) {
    (void)state;
    static const char *const changes[] = {
        "CREATE TABLE mine(x)",
        "CREATE INDEX mine ON parts(name)",
        "CREATE VIEW mine AS SELECT 1",
        "CREATE TRIGGER mine AFTER INSERT ON parts BEGIN SELECT 1; END",
        "DROP TABLE parts",
        "ALTER TABLE parts ADD COLUMN x",
        "ALTER TABLE parts RENAME TO pieces",
        "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = sql || ' ' WHERE name = 'parts'",
        "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = NULL WHERE name = 'parts'",
        "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage = 3",
        "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES('table', 'x', 'x', 2, 'DROP')",
        "PRAGMA application_id=1",
        "PRAGMA user_version=1",
        "PRAGMA user_version=0",
    };
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        change(changes[i]);
        roast_run *run = NULL;
        roast_status status = roast_store_load(place, &run, NULL);
        if (status != ROAST_ECORRUPT)
            fail_msg("%s: %s", changes[i], roast_status_name(status));
    }
    change("PRAGMA user_version=3");
    roast_error err = load_failure();
    assert_int_equal(ROAST_EVERSION, err.status);
    assert_non_null(strstr(err.message, "version 3"));
    assert_non_null(strstr(err.message, roast_version()));
}

/* A file of somebody else, and one that is no database. */
static void test_foreign_file(void **state) {
    (void)state;
    sqlite3 *db;
    assert_int_equal(0, unlink(inside("run.sqlite")));
    assert_int_equal(SQLITE_OK, sqlite3_open(inside("run.sqlite"), &db));
    assert_int_equal(SQLITE_OK, sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL));
    sqlite3_close(db);
    assert_int_equal(ROAST_ECORRUPT, load_failure().status);
    write_bytes(inside("run.sqlite"), "not a database", 14);
    assert_int_equal(ROAST_ECORRUPT, load_failure().status);
    write_bytes(inside("run.sqlite"), "", 0);
    assert_int_equal(ROAST_ECORRUPT, load_failure().status);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_measurement, remove_measurement)
    const struct CMUnitTest tests[] = {
        TEST(test_truncation),     TEST(test_bit_flips),
        TEST(test_bad_bytes),      TEST(test_swapped_pages),
        TEST(test_small_files),    TEST(test_wrong_rows),
        TEST(test_wrong_contents), TEST(test_bomb),
        TEST(test_foreign_file),   TEST(test_parts_of_other_versions),
        TEST(test_long_blobs),     TEST(test_foreign_file),
        TEST(test_foreign_schema),
    };
    return cmocka_run_group_tests_name("store damage", tests, NULL, NULL);
}
