/* How the store packs numbers: bits, lists as JSON, pieces of a worker series. */
#include "store_sample.h"

#include "base/crc32c.h"
#include "model/series_internal.h"
#include "store/bits.h"
#include "store/numbers.h"
#include "store/pages.h"
#include "store/series_pack.h"

/* ---- bits ---- */

static const uint64_t numbers[] = {
    1, 2, 3, 7, 8, 255, 4096, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_MAX};

static void test_bits(void **state) {
    (void)state;
    roast_buffer buffer = {0};
    roast_bits_writer w = {.out = &buffer};
    assert_int_equal(ROAST_OK, roast_buffer_reserve(&buffer, 100000));
    for (unsigned k = 0; k < 64; k++)
        for (size_t i = 0; i < COUNT_OF(numbers); i++) {
            roast_bits_put_gamma(&w, numbers[i]);
            roast_bits_put_rice(&w, numbers[i] - 1, k);
            roast_bits_put(&w, k & 7, 3);
        }
    roast_bits_finish(&w);
    roast_bits_reader r = {.at = buffer.data, .end = buffer.data + buffer.len};
    for (unsigned k = 0; k < 64; k++)
        for (size_t i = 0; i < COUNT_OF(numbers); i++) {
            assert_true(numbers[i] == roast_bits_get_gamma(&r));
            assert_true(numbers[i] - 1 == roast_bits_get_rice(&r, k));
            assert_int_equal(k & 7, roast_bits_get(&r, 3));
        }
    assert_false(r.failed);
    /* Beyond the end nothing is read, and it is told. */
    roast_bits_reader none = {.at = buffer.data, .end = buffer.data};
    roast_bits_get(&none, 1);
    assert_true(none.failed);
    static const uint8_t ones[16] = {255, 255, 255, 255, 255, 255, 255, 255,
                                     255, 255, 255, 255, 255, 255, 255, 255};
    for (size_t len = 0; len <= sizeof ones; len++) {
        roast_bits_reader all = {.at = ones, .end = ones + len};
        roast_bits_get_gamma(&all); /* no number has so many ones in front */
        assert_true(all.failed);
    }
    roast_buffer_reset(&buffer);
}

/* ---- lists ---- */

static void test_lists(void **state) {
    (void)state;
    static const int64_t values[] = {0, 1, -1, 9, 10, 99, 100, 12345, INT64_MAX, INT64_MIN};
    roast_buffer out = {0};
    roast_numbers list;
    int64_t value;
    uint64_t wide;
    assert_int_equal(ROAST_OK, roast_numbers_begin(&out, COUNT_OF(values) + 3));
    for (size_t i = 0; i < COUNT_OF(values); i++)
        roast_numbers_put(&out, values[i]);
    roast_numbers_put_unsigned(&out, UINT64_MAX);
    roast_numbers_put_known(&out, -1);
    roast_numbers_put_known(&out, 0);
    roast_numbers_end(&out);
    static const char text[] = "[0,1,-1,9,10,99,100,12345,9223372036854775807,"
                               "-9223372036854775808,18446744073709551615,null,0]";
    roast_str written = {(const char *)out.data, out.len};
    assert_str(text, written);
    assert_true(roast_numbers_open(&list, written));
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        assert_true(roast_numbers_get(&list, &value));
        assert_true(values[i] == value);
    }
    assert_true(roast_numbers_get_unsigned(&list, &wide));
    assert_true(wide == UINT64_MAX);
    assert_true(roast_numbers_get_known(&list, &value));
    assert_true(value == -1);
    assert_false(roast_numbers_done(&list));
    assert_true(roast_numbers_get_known(&list, &value));
    assert_true(value == 0);
    assert_true(roast_numbers_done(&list));
    assert_false(roast_numbers_get(&list, &value));
    assert_int_equal(ROAST_OK, roast_numbers_begin(&out, 0));
    roast_numbers_end(&out);
    assert_str("[]", ((roast_str){(const char *)out.data, out.len}));
    assert_int_equal(ROAST_ENOMEM, roast_numbers_begin(&out, SIZE_MAX / 4));
    roast_buffer_reset(&out);
}

static void test_bad_lists(void **state) {
    (void)state;
    static const char *const no_lists[] = {"", "[", "]", "1", "[1", "1]", "{}"};
    static const char *const no_numbers[] = {"[]",
                                             "[,1]",
                                             "[-]",
                                             "[--1]",
                                             "[1.5]",
                                             "[ 1]",
                                             "[nul]",
                                             "[\"1\"]",
                                             "[9223372036854775808]",
                                             "[-9223372036854775809]",
                                             "[99999999999999999999]",
                                             "[18446744073709551616]",
                                             "[1x]"};
    roast_numbers list;
    int64_t value;
    for (size_t i = 0; i < COUNT_OF(no_lists); i++)
        assert_false(roast_numbers_open(&list, str(no_lists[i])));
    for (size_t i = 0; i < COUNT_OF(no_numbers); i++) {
        assert_true(roast_numbers_open(&list, str(no_numbers[i])));
        if (roast_numbers_get(&list, &value))
            fail_msg("%s is read as %lld", no_numbers[i], (long long)value);
        assert_true(roast_numbers_open(&list, str(no_numbers[i])));
        assert_false(roast_numbers_get_known(&list, &value));
    }
    assert_true(roast_numbers_open(&list, str("[1,]")));
    assert_true(roast_numbers_get(&list, &value));
    assert_false(roast_numbers_get(&list, &value));
    assert_false(roast_numbers_done(&list));
    assert_true(roast_numbers_open(&list, str("[-1]")));
    assert_false(roast_numbers_get_known(&list, &value));
}

/* ---- pieces ---- */

static roast_buffer pack_all(const roast_series *series, uint64_t *samples) {
    uint32_t workers = roast_series_worker_count(series);
    roast_pack_source *sources = calloc(workers + 1, sizeof *sources);
    roast_pack pack = {0};
    roast_buffer out = {0};
    assert_non_null(sources);
    for (uint32_t i = 0; i < workers; i++)
        roast_series_cursor_init(&sources[i].cursor, series, i);
    assert_int_equal(ROAST_OK,
                     roast_pack_piece(&pack, series, sources, NULL, workers, 0,
                                      (uint32_t)roast_series_tick_count(series), &out, samples));
    roast_pack_reset(&pack);
    free(sources);
    return out;
}

/* A series with the ticks and workers of another one, and no samples. */
static roast_series *frame_of(const roast_series *series) {
    roast_error err;
    roast_series *frame;
    assert_ok(roast_series_new(&frame, &err), err);
    for (uint32_t i = 0; i < roast_series_worker_count(series); i++) {
        uint32_t number;
        assert_ok(roast_series_worker(frame, roast_series_worker_name(series, i), &number, &err),
                  err);
    }
    for (uint64_t i = 0; i < roast_series_tick_count(series); i++)
        assert_ok(roast_series_tick(frame, roast_series_tick_time(series, i),
                                    roast_series_tick_workers(series, i), &err),
                  err);
    return frame;
}

static const char *unpack_piece(const roast_series *like, const uint8_t *bytes, size_t len,
                                roast_status *status) {
    roast_series *series = frame_of(like);
    roast_pack pack = {0};
    uint64_t samples;
    const char *fault = roast_unpack_piece(
        &pack, bytes, len, series, 0, (uint32_t)roast_series_tick_count(like), &samples, status);
    roast_pack_reset(&pack);
    roast_series_free(series);
    return fault;
}

static void check_piece(const roast_series *series) {
    uint64_t samples, unpacked;
    roast_status status;
    roast_buffer bytes = pack_all(series, &samples);
    assert_int_equal(roast_series_sample_count(series), samples);
    roast_series *back = frame_of(series);
    roast_pack pack = {0};
    const char *fault =
        roast_unpack_piece(&pack, bytes.data, bytes.len, back, 0,
                           (uint32_t)roast_series_tick_count(series), &unpacked, &status);
    if (fault != NULL)
        fail_msg("%s", fault);
    assert_int_equal(samples, unpacked);
    for (uint32_t w = 0; w < roast_series_worker_count(series); w++) {
        roast_series_cursor a, b;
        roast_sample x, y;
        roast_series_cursor_init(&a, series, w);
        roast_series_cursor_init(&b, back, w);
        while (roast_series_cursor_next(&a, &x)) {
            assert_true(roast_series_cursor_next(&b, &y));
            assert_true(x.when.ns == y.when.ns);
            assert_memory_equal(x.value, y.value, sizeof x.value);
        }
        assert_false(roast_series_cursor_next(&b, &y));
    }
    roast_pack_reset(&pack);
    roast_series_free(back);
    roast_buffer_reset(&bytes);
}

static void test_pieces(void **state) {
    (void)state;
    for (int ticks = 0; ticks < 50; ticks += 7) {
        roast_series *series = rich_series(ticks);
        check_piece(series);
        roast_series_free(series);
    }
}

/* Noise of every size in every column, rows that come and go. */
static void test_noise(void **state) {
    (void)state;
    roast_error err;
    roast_series *series;
    uint64_t random = 88172645463325252u;
    uint32_t worker;
    assert_ok(roast_series_new(&series, &err), err);
    assert_ok(roast_series_worker(series, str("w"), &worker, &err), err);
    for (int t = 0; t < 4000; t++) {
        double value[ROAST_COLUMNS];
        assert_ok(roast_series_tick(series, (roast_utc){t}, 1, &err), err);
        for (int c = 0; c < ROAST_COLUMNS; c++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            int64_t number = (int64_t)(random >> random % 60);
            value[c] = random % 11 == 0 ? NAN : (double)(random % 2 == 0 ? number : -number);
        }
        if (random % 5 != 0)
            assert_ok(roast_series_append(series, worker, value, &err), err);
    }
    check_piece(series);
    roast_series_free(series);
}

/* What repeats costs next to nothing. */
static void test_repeats_are_small(void **state) {
    (void)state;
    roast_error err;
    roast_series *series;
    uint64_t samples;
    assert_ok(roast_series_new(&series, &err), err);
    for (uint32_t w = 0; w < 100; w++) {
        char name[16];
        uint32_t number;
        snprintf(name, sizeof name, "w%u", w);
        assert_ok(roast_series_worker(series, str(name), &number, &err), err);
    }
    for (int t = 0; t < 1000; t++) {
        assert_ok(roast_series_tick(series, (roast_utc){t}, 100, &err), err);
        for (uint32_t w = 0; w < 100; w++) {
            double value[ROAST_COLUMNS] = {w * 4096.0, 16e9, 1, 4};
            value[ROAST_COLUMN_last_seen] = 1790000000 + t / 4; /* goes on evenly */
            assert_ok(roast_series_append(series, w, value, &err), err);
        }
    }
    roast_buffer bytes = pack_all(series, &samples);
    assert_int_equal(100000, samples);
    assert_true(bytes.len < 25000);
    check_piece(series);
    roast_buffer_reset(&bytes);
    roast_series_free(series);
}

static void fix_piece(uint8_t *bytes, size_t len) {
    uint32_t crc = roast_crc32c(0, bytes, len - 4);
    for (int i = 0; i < 4; i++)
        bytes[len - 4 + i] = (uint8_t)(crc >> 8 * i);
}

static void test_damaged_pieces(void **state) {
    (void)state;
    roast_series *series = rich_series(30);
    uint64_t samples;
    roast_status status;
    roast_buffer piece = pack_all(series, &samples);
    for (size_t len = 0; len < piece.len; len++) {
        uint8_t *cut = malloc(len > 0 ? len : 1); /* a read behind its end is seen */
        assert_non_null(cut);
        memcpy(cut, piece.data, len);
        assert_non_null(unpack_piece(series, cut, len, &status));
        assert_int_equal(ROAST_ECORRUPT, status);
        if (len > 9) {
            fix_piece(cut, len);
            assert_non_null(unpack_piece(series, cut, len, &status));
        }
        free(cut);
    }
    unsigned refused = 0;
    for (size_t bit = 0; bit < piece.len * 8; bit++) {
        piece.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_non_null(unpack_piece(series, piece.data, piece.len, &status));
        bool newer = bit / 8 == 4 && piece.data[4] > 1;
        assert_int_equal(newer ? ROAST_EVERSION : ROAST_ECORRUPT, status);
        uint8_t kept[4];
        memcpy(kept, piece.data + piece.len - 4, 4);
        fix_piece(piece.data, piece.len);
        refused += unpack_piece(series, piece.data, piece.len, &status) != NULL;
        memcpy(piece.data + piece.len - 4, kept, 4);
        piece.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(refused > 100);
    assert_null(unpack_piece(series, piece.data, piece.len, &status));
    roast_buffer_reset(&piece);
    roast_series_free(series);
}

static void test_steps(void **state) {
    (void)state;
    roast_error err;
    roast_series *series;
    uint32_t worker;
    const int64_t steps[ROAST_COLUMNS] = {INT64_MAX, INT64_MIN, 7};
    assert_ok(roast_series_new(&series, &err), err);
    assert_ok(roast_series_worker(series, str("w"), &worker, &err), err);
    for (int t = 0; t < 3; t++)
        assert_ok(roast_series_tick(series, (roast_utc){t}, 1, &err), err);
    assert_status(ROAST_EINVAL, roast_series_append_steps(series, 1, 0, 0, steps, 0, &err));
    assert_status(ROAST_EINVAL, roast_series_append_steps(series, 0, 3, 0, steps, 0, &err));
    assert_status(ROAST_EINVAL, roast_series_append_steps(series, 0, 0, 0, steps, 1 << 14, &err));
    assert_ok(roast_series_append_steps(series, 0, 1, 0, steps, 2, &err), err);
    assert_status(ROAST_EINVAL, roast_series_append_steps(series, 0, 1, 0, steps, 0, &err));
    roast_series_cursor cursor;
    roast_sample row;
    roast_series_cursor_init(&cursor, series, 0);
    assert_true(roast_series_cursor_next(&cursor, &row));
    assert_int_equal(1, row.when.ns);
    assert_near(0x1p63, row.value[0]);
    assert_true(isnan(row.value[1]));
    assert_near(7, row.value[2]);
    assert_false(roast_series_cursor_next(&cursor, &row));
    /* What comes back is told, also by one who does not call it a change. */
    assert_ok(roast_series_append_steps(series, 0, 2, 0, steps, 0, &err), err);
    assert_true(roast_series_cursor_next(&cursor, &row));
    assert_near(-0x1p63, row.value[1]);
    roast_series_free(series);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),           cmocka_unit_test(test_lists),
        cmocka_unit_test(test_bad_lists),      cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_noise),          cmocka_unit_test(test_repeats_are_small),
        cmocka_unit_test(test_damaged_pieces), cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests_name("store parts", tests, NULL, NULL);
}
