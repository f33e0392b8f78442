/* Nothing that a measurement says is trusted: damage is an error, never a crash or a wrong number. */
#include "store_sample.h"

#include <fcntl.h>
#include <sqlite3.h>

#include "base/crc32c.h"
#include "store/pages.h"

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

static bool is_damage(roast_status status) {
    return status == ROAST_ECORRUPT || status == ROAST_EVERSION;
}

/* ---- what checksums show ---- */

static void test_truncation(void **state) {
    (void)state;
    size_t tried = 0;
    for (size_t len = database.len - 1; len > 0; tried++) {
        assert_int_equal(0, truncate(inside("run.sqlite"), (off_t)len));
        roast_error err = load_failure();
        if (!is_damage(err.status))
            fail_msg("cut at %zu: %s", len, err.message);
        size_t step = 511 + len % 7, in_page = len % 4096;
        if (len <= 700)
            step = 1;
        else if (in_page > 0 && in_page < step)
            step = in_page; /* at the end of a page, too */
        len -= step;
    }
    assert_true(tried > 300);
    uint8_t *more = malloc(database.len + 4096);
    assert_non_null(more);
    memcpy(more, database.data, database.len);
    memset(more + database.len, 0, 4096);
    put_database(more, database.len + 4096); /* too long */
    assert_int_equal(ROAST_ECORRUPT, load_failure().status);
    put_database(more, database.len + 1);
    assert_int_equal(ROAST_ECORRUPT, load_failure().status);
    free(more);
}

static void test_bit_flips(void **state) {
    (void)state;
    size_t tried = 0;
    for (size_t bit = 0; bit < database.len * 8; bit += bit < 800 ? 1 : 997 + bit % 11, tried++) {
        uint8_t flipped = database.data[bit / 8] ^ (uint8_t)(1u << bit % 8);
        poke(bit / 8, &flipped, 1);
        roast_error err = load_failure();
        if (!is_damage(err.status))
            fail_msg("bit %zu: %s: %s", bit, roast_status_name(err.status), err.message);
        poke(bit / 8, &database.data[bit / 8], 1);
    }
    assert_true(tried > 1500);
    roast_run *back = load();
    assert_same_run(saved, back);
    roast_run_free(back);
}

/* Two pages that changed places are both whole, but not where they belong. */
static void test_swapped_pages(void **state) {
    (void)state;
    uint8_t page[4096], *a = database.data + 3 * 4096, *b = database.data + 4 * 4096;
    memcpy(page, a, sizeof page);
    memcpy(a, b, sizeof page);
    memcpy(b, page, sizeof page);
    put_database(database.data, database.len);
    assert_int_equal(ROAST_ECORRUPT, load_failure().status);
}

/* Reading bit by bit meets what is damaged when it comes to it. */
static void test_lazy_checks(void **state) {
    (void)state;
    roast_error err;
    size_t opened = 0, walked = 0;
    roast_run_take_sections(saved, NULL); /* they are read at once */
    save(saved);
    free(database.data);
    database = read_bytes(inside("run.sqlite"));
    for (size_t page = 1; page < database.len / 4096; page++) {
        roast_store *store;
        roast_chunk chunk;
        bool there = true;
        size_t at = page * 4096 + 100;
        uint8_t flipped = database.data[at] ^ 1;
        poke(at, &flipped, 1);
        roast_status status = roast_store_open(place, &store, &err);
        if (status != ROAST_OK) {
            poke(at, &database.data[at], 1);
            continue;
        }
        opened++;
        while (status == ROAST_OK && there)
            status = roast_store_next_chunk(store, &chunk, &there, &err);
        walked += status == ROAST_OK;
        assert_true(status == ROAST_OK || status == ROAST_ECORRUPT);
        assert_status(ROAST_ECORRUPT, roast_store_verify(store, &err));
        assert_non_null(strstr(err.message, "checksum"));
        roast_store_close(store);
        poke(at, &database.data[at], 1);
    }
    assert_true(opened > walked && walked > 0);
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

/* Changes the database as someone would who knows the checksums. */
static void change(const char *sql) {
    sqlite3 *db;
    char *message = NULL;
    put_database(database.data, database.len);
    assert_int_equal(SQLITE_OK, sqlite3_open_v2(inside("run.sqlite"), &db, SQLITE_OPEN_READWRITE,
                                                roast_pages_vfs(false)));
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
}

static void test_wrong_rows(void **state) {
    (void)state;
    static const char *const changes[] = {
        "UPDATE chunk_rows SET id = id + 1 WHERE id = 4",
        "DELETE FROM chunk_rows WHERE id = 1",
        "DELETE FROM chunk_rows WHERE id = -2",
        "UPDATE chunk_rows SET num_events = 'many'",
        "UPDATE chunk_rows SET num_events = 1.5",
        "UPDATE chunk_rows SET seq = NULL",
        "UPDATE chunk_rows SET process = 99",
        "UPDATE chunk_rows SET process = -1",
        "UPDATE chunk_rows SET file = 99",
        "UPDATE chunk_rows SET dataset = 0",
        "UPDATE chunk_rows SET dataset = 999",
        "UPDATE chunk_rows SET task = x'00'",
        "UPDATE chunk_rows SET task_hash = x'0011'",
        "UPDATE chunk_rows SET task_hash = 'text'",
        "UPDATE chunk_rows SET error_type = NULL WHERE error_type IS NOT NULL",
        "UPDATE chunk_rows SET error_type = printf('%70000c', 'x') WHERE error_type IS NOT NULL",
        "UPDATE chunk_rows SET branches = 99",
        "UPDATE chunk_rows SET layout = 99",
        "UPDATE chunk_rows SET sections = NULL WHERE layout IS NOT NULL",
        "UPDATE chunk_rows SET sections = '' WHERE layout IS NOT NULL",
        "UPDATE chunk_rows SET sections = '[' WHERE layout IS NOT NULL",
        "UPDATE chunk_rows SET sections = '[1,2]' WHERE layout IS NOT NULL",
        "UPDATE chunk_rows SET sections = '[1,2,3,4,5,6,7,8,9,10,11,12,13]' WHERE layout > 0",
        "UPDATE chunk_rows SET sections = '[1,99999999999999999999]' WHERE layout > 0",
        "UPDATE chunk_rows SET sections = '[1,2,3,4,5,6,7,8,9,10,11,-]' WHERE layout > 0",
        "UPDATE chunk_rows SET sections_more = '[0,0]' WHERE layout > 0",
        "UPDATE chunk_rows SET sections_more = 5 WHERE layout > 0",
        "UPDATE chunk_rows SET reads = '[1,2,3]' WHERE reads IS NOT NULL",
        "UPDATE chunk_rows SET reads = '[nul,1]' WHERE reads IS NOT NULL",
        "UPDATE chunk_rows SET read_branches = 4000000000",
        "UPDATE chunk_rows SET customs = 1",
        "UPDATE chunk_rows SET customs = 1000000",
        "UPDATE custom_rows SET kind = 99",
        "UPDATE custom_rows SET scope = -1",
        "UPDATE custom_rows SET key = NULL",
        "UPDATE custom_rows SET value = 'text' WHERE kind = 2",
        "UPDATE custom_rows SET value = x'0000000000000000' WHERE kind = 3",
        "UPDATE custom_rows SET value = x'80054b012e' WHERE kind = 6", /* a pickle */
        "UPDATE custom_rows SET value = CAST(zeroblob(1048577) AS TEXT) WHERE kind = 4",
        "UPDATE custom_rows SET position = position + 20",
        "DELETE FROM texts WHERE id = 2",
        "UPDATE texts SET text = printf('%70000c', 'x') WHERE id = 1",
        "UPDATE texts SET text = x'ff' WHERE id = 1",
        "UPDATE processes SET pid = -5",
        "UPDATE processes SET host = 12345",
        "UPDATE file_ids SET name = 12345",
        "UPDATE branch_sets SET count = count + 1",
        "UPDATE branch_sets SET count = 1000001",
        "UPDATE branch_sets SET count = -1",
        "UPDATE branch_set_items SET branch = NULL",
        "DELETE FROM branch_set_items WHERE position = 1",
        "UPDATE layouts SET count = 65536",
        "UPDATE layout_items SET kind = 7",
        "UPDATE layout_items SET parent = position",
        "UPDATE file_rows SET branch_set = NULL",
        "UPDATE file_rows SET bytes = '[1]'",
        "UPDATE file_rows SET file = 99",
        "UPDATE file_rows SET total_branches = 'x'",
        "INSERT INTO run VALUES('unknown', 1)",
        "UPDATE run SET value = 'x' WHERE key = 'start'",
        "DELETE FROM run WHERE key = 'end'",
        "UPDATE run SET value = 99 WHERE key = 'beside'",
        "UPDATE run SET value = -1 WHERE key = 'beside'",
        "UPDATE meta SET id = id + 5",
        "UPDATE spans SET value = NULL",
        "UPDATE spans SET unit = NULL",
        "UPDATE parts SET name = 'other'",
        "UPDATE parts SET bytes = x'00'",
        "UPDATE workers SET name = ''",
        "UPDATE workers SET name = 'same'",
        "UPDATE workers SET id = id + 1 WHERE id = 4",
        "UPDATE ticks SET time_ns = 0 WHERE id = 5",
        "UPDATE ticks SET workers = -1",
        "UPDATE ticks SET workers = 99999999",
        "DELETE FROM ticks WHERE id = 7",
        "UPDATE event_rows SET worker = 5",
        "UPDATE event_rows SET kind = 2",
        "UPDATE event_rows SET threads = 10000000000",
        "UPDATE series SET bytes = x''",
        "UPDATE series SET bytes = zeroblob(length(bytes))",
        "UPDATE series SET samples = samples + 1",
        "UPDATE series SET ticks = ticks - 1",
        "UPDATE series SET ticks = 10737418240",
        "UPDATE series SET first_tick = 1",
        "UPDATE series SET first_tick = -1",
        "INSERT INTO series SELECT id + 1, first_tick, ticks, samples, bytes FROM series",
        "UPDATE attempt_rows SET prefix = 99",
        "UPDATE attempt_rows SET outcome = 4",
        "UPDATE attempt_rows SET worker = 2",
        "UPDATE attempt_rows SET ended_us = NULL",
        "UPDATE attempt_rows SET departure = 99",
        "UPDATE attempt_rows SET key_hash = x'00'",
        "DELETE FROM attempt_rows WHERE id = 2",
        "UPDATE attempt_prefixes SET kind = 4",
        "UPDATE departures SET worker = 7",
        "UPDATE departures SET running = -1",
        "UPDATE small_files SET length = 10737418240",
        "UPDATE small_files SET checksum = checksum + 1",
        "UPDATE small_files SET name = '../' || name",
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

/* The series of a large run is unpacked beside the chunks: what is wrong with either is told all the same,
 * and that of the chunks first. */
static void test_wrong_rows_of_a_large_run(void **state) {
    (void)state;
    static const struct {
        const char *sql, *told;
    } changes[] = {
        {"UPDATE series SET bytes = zeroblob(length(bytes)) WHERE id = 1", "row 1 of series"},
        {"UPDATE series SET samples = samples + 1 WHERE id = 2", "row 2 of series"},
        {"UPDATE series SET first_tick = -1 WHERE id = 1", "row 1 of series"},
        {"UPDATE ticks SET workers = -1 WHERE id = 8000", "row 8000 of ticks"},
        {"UPDATE chunk_rows SET process = 99 WHERE id = 7", "row 7 of chunk_rows"},
        {"UPDATE chunk_rows SET process = 99 WHERE id = 7; UPDATE series SET bytes = x''",
         "row 7 of chunk_rows"},
    };
    roast_run_take_series(saved, rich_series(9000));
    roast_run_take_chunks(saved, plain_log(3, 1, 50));
    save(saved);
    free(database.data);
    database = read_bytes(inside("run.sqlite"));
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        change(changes[i].sql);
        roast_error err = load_failure();
        assert_int_equal(ROAST_ECORRUPT, err.status);
        if (strstr(err.message, changes[i].told) == NULL)
            fail_msg("%s: %s", changes[i].sql, err.message);
    }
}

static void test_foreign_schema(void **state) {
    (void)state;
    static const char *const changes[] = {
        "CREATE TABLE mine(x)",
        "CREATE INDEX mine ON texts(text)",
        "CREATE VIEW mine AS SELECT 1",
        "CREATE TRIGGER mine AFTER INSERT ON texts BEGIN SELECT 1; END",
        "DROP VIEW chunks",
        "DROP TABLE notes",
        "ALTER TABLE notes ADD COLUMN x",
        "DROP VIEW chunks; CREATE VIEW chunks AS SELECT 1 AS chunk",
        "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = sql || ' ' WHERE name = 'notes'",
        "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = NULL WHERE name = 'notes'",
        "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage = 3 WHERE name = 'texts'",
        "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES('table', 'x', 'x', 2, 'DROP')",
        "PRAGMA application_id=1",
        "PRAGMA user_version=0",
    };
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        change(changes[i]);
        roast_run *run = NULL;
        roast_status status = roast_store_load(place, &run, NULL);
        if (status != ROAST_ECORRUPT)
            fail_msg("%s: %s", changes[i], roast_status_name(status));
    }
    change("PRAGMA user_version=2");
    roast_error err = load_failure();
    assert_int_equal(ROAST_EVERSION, err.status);
    assert_non_null(strstr(err.message, "version 2"));
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

static void seal(uint8_t *page, uint64_t number) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    uint32_t crc = roast_crc32c(roast_crc32c(0, bytes, 8), page, 4092);
    for (int i = 0; i < 4; i++)
        page[4092 + i] = (uint8_t)(crc >> 8 * i);
}

/* Bytes of pages replaced, the checksums put right: lengths of gigabytes, pointers to anywhere. */
static void test_sealed_damage(void **state) {
    (void)state;
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    uint8_t page[4096];
    unsigned random = 1, refused = 0;
    for (int i = 0; i < 1500; i++) {
        random = random * 1664525u + 1013904223u;
        size_t number = (random >> 8) % (database.len / 4096);
        random = random * 1664525u + 1013904223u;
        /* The front of a page says where its cells are; a cell begins with its length. */
        size_t at = i % 2 == 0 ? (random >> 8) % 64 : (random >> 8) % 4088;
        uint8_t *where = database.data + number * 4096;
        memcpy(page, where, sizeof page);
        memset(page + at, values[i % COUNT_OF(values)], i % 9 == 0 ? 9 : 1);
        seal(page, number + 1);
        poke(number * 4096, page, sizeof page);
        roast_run *run = NULL;
        roast_error err;
        roast_error_reset(&err);
        if (roast_store_load(place, &run, &err) != ROAST_OK) {
            assert_true(err.message[0] != '\0');
            refused++;
        }
        roast_run_free(run);
        poke(number * 4096, where, sizeof page);
    }
    assert_true(refused > 300);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_measurement, remove_measurement)
    const struct CMUnitTest tests[] = {
        TEST(test_truncation),    TEST(test_bit_flips),
        TEST(test_swapped_pages), TEST(test_lazy_checks),
        TEST(test_small_files),   TEST(test_wrong_rows),
        TEST(test_foreign_file),  TEST(test_foreign_schema),
        TEST(test_sealed_damage), TEST(test_wrong_rows_of_a_large_run),
    };
    return cmocka_run_group_tests_name("store damage", tests, NULL, NULL);
}
