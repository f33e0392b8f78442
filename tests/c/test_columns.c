#include <math.h>
#include <pthread.h>
#include <sys/mman.h>

#include "chunk_sample.h"
#include "model/columns_internal.h"
#include "roast/columns.h"
#include "roast/keys.h"

/* ---- runs and what is in a table ---- */

static roast_run *new_run(void) {
    roast_error err;
    roast_run *run = NULL;
    assert_ok(roast_run_new(&run, &err), err);
    return run;
}

/* A run of these chunks, which it takes over. */
static roast_run *run_of(roast_chunklog *log) {
    roast_run *run = new_run();
    roast_run_take_chunks(run, log);
    return run;
}

static roast_columns *table_of(const roast_run *run, roast_table table) {
    roast_error err;
    roast_columns *columns = NULL;
    assert_ok(roast_columns_new(run, table, &columns, &err), err);
    assert_int_equal(table, roast_columns_table(columns));
    return columns;
}

static const roast_column *column_of(const roast_columns *columns, const char *name) {
    const roast_column *column = roast_columns_find(columns, str(name));
    if (column == NULL)
        fail_msg("there is no column %s", name);
    assert_string_equal(name, column->name);
    return column;
}

static bool is_there(const roast_column *column, uint64_t row) {
    bool there = column->validity == NULL || (column->validity[row / 8] >> (row % 8) & 1);
    assert_int_equal(there, roast_column_has(column, row));
    return there;
}

static void assert_int(const roast_columns *columns, const char *name, uint64_t row,
                       int64_t expected) {
    const roast_column *column = column_of(columns, name);
    assert_true(column->cell == ROAST_CELL_INT || column->cell == ROAST_CELL_TIME);
    assert_true(row < roast_columns_rows(columns));
    assert_true(is_there(column, row));
    if (((const int64_t *)column->values)[row] != expected)
        fail_msg("%s of row %llu is %lld, not %lld", name, (unsigned long long)row,
                 (long long)((const int64_t *)column->values)[row], (long long)expected);
}

static void assert_real(const roast_columns *columns, const char *name, uint64_t row,
                        double expected) {
    const roast_column *column = column_of(columns, name);
    assert_int_equal(ROAST_CELL_REAL, column->cell);
    assert_true(row < roast_columns_rows(columns));
    assert_true(is_there(column, row));
    assert_near(expected, ((const double *)column->values)[row]);
}

static void assert_text(const roast_columns *columns, const char *name, uint64_t row,
                        roast_str expected) {
    const roast_column *column = column_of(columns, name);
    assert_int_equal(ROAST_CELL_TEXT, column->cell);
    assert_true(row < roast_columns_rows(columns));
    int32_t code = ((const int32_t *)column->values)[row];
    assert_int_equal(expected.data != NULL, is_there(column, row));
    assert_int_equal(expected.data != NULL, code >= 0);
    assert_same_str(expected, roast_column_text(column, code));
}

static void assert_absent(const roast_columns *columns, const char *name, uint64_t row) {
    const roast_column *column = column_of(columns, name);
    assert_true(row < roast_columns_rows(columns));
    assert_false(is_there(column, row));
    if (column->cell == ROAST_CELL_REAL)
        assert_true(isnan(((const double *)column->values)[row]));
    if (column->cell == ROAST_CELL_TEXT)
        assert_int_equal(-1, ((const int32_t *)column->values)[row]);
}

/* What holds of every column of every table. */
static void assert_sound(const roast_columns *columns) {
    uint64_t rows = roast_columns_rows(columns);
    for (uint32_t i = 0; i < roast_columns_count(columns); i++) {
        const roast_column *column = roast_columns_at(columns, i);
        uint64_t absent = 0;
        assert_non_null(column->values);
        assert_ptr_equal(column, roast_columns_find(columns, str(column->name)));
        for (uint64_t row = 0; row < rows; row++) {
            absent += !is_there(column, row);
            if (column->cell == ROAST_CELL_TEXT && is_there(column, row))
                assert_non_null(
                    roast_column_text(column, ((const int32_t *)column->values)[row]).data);
        }
        assert_int_equal(absent, column->absent);
        assert_int_equal(absent == 0, column->validity == NULL);
        if (column->cell == ROAST_CELL_TEXT) {
            assert_int_equal(0, column->texts.offsets[0]);
            assert_non_null(column->texts.bytes);
        }
    }
    assert_null(roast_columns_at(columns, roast_columns_count(columns)));
    assert_null(roast_columns_find(columns, str("nothing")));
    assert_null(roast_columns_find(columns, str(NULL)));
}

/* ---- the tables ---- */

static void test_tables_have_names(void **state) {
    (void)state;
    assert_string_equal("chunks", roast_table_name(ROAST_TABLE_chunks));
    assert_string_equal("sections", roast_table_name(ROAST_TABLE_sections));
    assert_string_equal("samples", roast_table_name(ROAST_TABLE_samples));
    assert_string_equal("reads", roast_table_name(ROAST_TABLE_reads));
    assert_string_equal("unknown", roast_table_name(ROAST_TABLES));
    roast_run *run = new_run();
    roast_columns *columns = NULL;
    roast_error err;
    assert_status(ROAST_EINVAL, roast_columns_new(run, ROAST_TABLES, &columns, &err));
    assert_status(ROAST_EINVAL, roast_columns_new(run, ROAST_TABLES, &columns, NULL));
    assert_null(columns);
    roast_run_free(run);
}

static void test_a_run_without_anything(void **state) {
    (void)state;
    roast_run *run = new_run();
    for (int table = 0; table < ROAST_TABLES; table++) {
        roast_columns *columns = table_of(run, (roast_table)table);
        assert_int_equal(0, roast_columns_rows(columns));
        assert_true(roast_columns_count(columns) > 5);
        assert_sound(columns);
        roast_columns_free(columns);
    }
    roast_columns_free(NULL);
    roast_run_free(run);
}

/* ---- chunks ---- */

/* Some chunks with everything, some with every second number, some with nothing. */
static roast_chunklog *mixed_log(uint64_t count) {
    roast_chunklog *log = new_log();
    sample s;
    for (uint64_t i = 0; i < count; i++) {
        if (i % 5 == 4) {
            memset(&s, 0, sizeof s);
        } else {
            sample_full(&s);
            s.chunk.seq = i;
            s.chunk.file = str(i % 2 == 0 ? "even.root" : "odd.root");
            for (unsigned field = 0; field < ROAST_CHUNK_FIELD_COUNT; field++)
                set_field(&s.chunk, field, (int64_t)(i * 1000 + field));
            if (i % 5 >= 2)
                s.chunk.have &= i % 2 == 0 ? 0x5555555555555555 : 0x2aaaaaaaaaaaaaaa;
            if (i % 5 == 3)
                s.chunk.error_type = str(NULL);
            if (i % 7 == 3)
                s.chunk.error_message = str("");
        }
        append(log, &s);
    }
    return log;
}

/* Column by column what the record says. */
static void assert_plain_columns(const roast_columns *columns, uint64_t row,
                                 const roast_chunk *chunk) {
#define REAL(key, field, per)                                                                      \
    if (chunk->have & ROAST_CHUNK_HAS(field))                                                      \
        assert_real(columns, #key, row, (double)chunk->field / per);                               \
    else                                                                                           \
        assert_absent(columns, #key, row);
#define INT(key, field)                                                                            \
    if (chunk->have & ROAST_CHUNK_HAS(field))                                                      \
        assert_int(columns, #key, row, chunk->field);                                              \
    else                                                                                           \
        assert_absent(columns, #key, row);
#define TEXT(key, member) assert_text(columns, #key, row, chunk->member);
#define MADE(key, function)
    ROAST_CHUNK_KEYS(REAL, INT, TEXT, MADE, MADE, MADE, MADE)
#undef REAL
#undef INT
#undef TEXT
#undef MADE
}

static void assert_made_numbers(const roast_columns *columns, uint64_t row,
                                const roast_chunk *chunk) {
    const uint64_t times = ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns);
    const uint64_t sizes = ROAST_CHUNK_HAS(rss_before) | ROAST_CHUNK_HAS(rss_after);
    assert_int(columns, "chunk_id", row, (int64_t)row);
    if ((chunk->have & times) == times) {
        double end = (double)chunk->start_us / 1e6 + (double)chunk->duration_ns / 1e9;
        assert_real(columns, "t_end", row, end);
        assert_real(columns, "timestamp", row, end);
    } else {
        assert_absent(columns, "t_end", row);
        assert_absent(columns, "timestamp", row);
    }
    if ((chunk->have & sizes) == sizes) {
        double delta = (double)chunk->rss_after - (double)chunk->rss_before;
        assert_real(columns, "mem_delta_mb", row, delta / 1e6);
        assert_real(columns, "memory_delta_gb", row, delta / 1e9);
    } else {
        assert_absent(columns, "mem_delta_mb", row);
        assert_absent(columns, "memory_delta_gb", row);
    }
    if (chunk->has_branches)
        assert_int(columns, "num_branches_accessed", row, chunk->n_branches);
    else
        assert_absent(columns, "num_branches_accessed", row);
    if (chunk->pid != 0)
        assert_int(columns, "pid", row, chunk->pid);
    else
        assert_absent(columns, "pid", row);
}

static void assert_made_texts(const roast_columns *columns, uint64_t row,
                              const roast_chunk *chunk) {
    char key[300], error[300];
    roast_chunk_task_key(chunk, key, sizeof key);
    assert_text(columns, "task_key", row, str(chunk->task_key.data != NULL ? key : NULL));
    snprintf(error, sizeof error, "%.*s%s%.*s", (int)chunk->error_type.len, chunk->error_type.data,
             chunk->error_message.len > 0 ? ": " : "", (int)chunk->error_message.len,
             chunk->error_message.data);
    assert_text(columns, "error", row, str(chunk->error_type.data != NULL ? error : NULL));
}

static void test_chunks_are_their_records(void **state) {
    (void)state;
    /* Around the size of a block, and of a byte of the bitmap. */
    static const uint64_t counts[] = {1, 7, 8, 9, 63, 64, 65, 128, 300};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        roast_chunklog *log = mixed_log(counts[i]);
        roast_run *run = run_of(log);
        roast_columns *columns = table_of(run, ROAST_TABLE_chunks);
        roast_chunk_cursor cursor;
        roast_chunk chunk;
        uint64_t row = 0;
        assert_int_equal(counts[i], roast_columns_rows(columns));
        assert_sound(columns);
        roast_chunk_cursor_init(&cursor, log);
        for (; roast_chunk_cursor_next(&cursor, &chunk); row++) {
            assert_plain_columns(columns, row, &chunk);
            assert_made_numbers(columns, row, &chunk);
            assert_made_texts(columns, row, &chunk);
        }
        assert_int_equal(counts[i], row);
        roast_columns_free(columns);
        roast_run_free(run);
    }
}

static void test_columns_outlive_the_run(void **state) {
    (void)state;
    roast_run *run = run_of(mixed_log(10));
    roast_columns *columns = table_of(run, ROAST_TABLE_chunks);
    roast_run_free(run);
    assert_text(columns, "file", 0, str("even.root"));
    assert_text(columns, "file", 1, str("odd.root"));
    assert_int(columns, "num_events", 1, 1000 + ROAST_CHUNK_INDEX_num_events);
    roast_columns_free(columns);
}

static void test_no_column_twice(void **state) {
    (void)state;
    roast_run *run = run_of(mixed_log(10));
    roast_columns *columns = table_of(run, ROAST_TABLE_chunks);
    static const char *const same[][2] = {{"file", "filename"},
                                          {"num_events", "event_count"},
                                          {"duration", "processing_time"},
                                          {"t_end", "timestamp"}};
    for (size_t i = 0; i < COUNT_OF(same); i++)
        assert_ptr_equal(column_of(columns, same[i][0])->values,
                         column_of(columns, same[i][1])->values);
    /* The same field in another unit is another column. */
    assert_ptr_not_equal(column_of(columns, "mem_before_mb")->values,
                         column_of(columns, "memory_start_gb")->values);
    assert_null(roast_columns_find(columns, str("timing"))); /* a mapping */
    assert_null(roast_columns_find(columns, str("accessed_branches")));
    roast_columns_free(columns);
    roast_run_free(run);
}

static void add_file(roast_chunklog *log, const char *name, int64_t branches, int64_t bytes) {
    roast_error err;
    roast_file file = {.name = str(name),
                       .total_branches = branches,
                       .tree_bytes = bytes,
                       .tree_uncompressed_bytes = -1};
    assert_ok(roast_chunklog_add_file(log, &file, &err), err);
}

static void test_percentages_of_files(void **state) {
    (void)state;
    static const char *const names[] = {"a",    "a", "old and new", "unknown", "without sizes",
                                        "empty"};
    roast_chunklog *log = new_log();
    sample s;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        sample_plain(&s, 1, i);
        s.chunk.file = str(names[i]);
        s.branches[0] = str("x");
        s.chunk.branches = s.branches;
        s.chunk.n_branches = 1;
        s.chunk.has_branches = true;
        set_field(&s.chunk, ROAST_CHUNK_INDEX_accessed_bytes, 30);
        append(log, &s);
    }
    s.chunk.file = str(NULL); /* and a chunk without a file */
    append(log, &s);
    add_file(log, "a", 4, 300);
    add_file(log, "old and new", 1, 1);
    add_file(log, "without sizes", -1, -1);
    add_file(log, "empty", 0, 0);
    add_file(log, "old and new", 50, 60);
    roast_run *run = run_of(log);
    roast_columns *columns = table_of(run, ROAST_TABLE_chunks);
    for (uint64_t row = 0; row < 2; row++) {
        assert_real(columns, "branches_read_percent", row, 25);
        assert_real(columns, "bytes_read_percent", row, 10);
    }
    assert_real(columns, "branches_read_percent", 2, 2);
    assert_real(columns, "bytes_read_percent", 2, 50);
    for (uint64_t row = 3; row < 7; row++) {
        assert_absent(columns, "branches_read_percent", row);
        assert_absent(columns, "bytes_read_percent", row);
    }
    roast_columns_free(columns);
    roast_run_free(run);
}

static void test_extremes(void **state) {
    (void)state;
    roast_chunklog *log = new_log();
    sample s;
    memset(&s, 0, sizeof s);
    for (unsigned i = 0; i < ROAST_CHUNK_FIELD_COUNT; i++)
        set_field(&s.chunk, i, INT64_MAX);
    s.chunk.rss_before = INT64_MIN; /* the difference does not fit in 64 bits */
    append(log, &s);
    roast_run *run = run_of(log);
    roast_columns *columns = table_of(run, ROAST_TABLE_chunks);
    assert_real(columns, "mem_delta_mb", 0, 0x1p64 / 1e6);
    assert_int(columns, "num_events", 0, INT64_MAX);
    roast_columns_free(columns);
    roast_run_free(run);
}

/* ---- texts ---- */

static void test_broken_utf8_is_replaced(void **state) {
    (void)state;
#define FFFD "\xef\xbf\xbd"
    /* The right column is what Python's decode("utf-8", "replace") makes of the left one. */
    static const char *const cases[][2] = {
        {"plain and more than eight", "plain and more than eight"},
        {"", ""},
        {"\xc3\x89lectron \xe2\x89\xa5 \xf0\x9f\x98\x80",
         "\xc3\x89lectron \xe2\x89\xa5 \xf0\x9f\x98\x80"},
        {"a\x80z", "a" FFFD "z"},
        {"12345678\xff", "12345678" FFFD},
        {"\xc0\xaf", FFFD FFFD},
        {"\xe2\x89", FFFD},
        {"\xe2\x89z", FFFD "z"},
        {"\xe2z", FFFD "z"},
        {"\xf0\x9f\x98", FFFD},
        {"\xf0\x9f\x98 12345678", FFFD " 12345678"},
        {"\xf0\x80\x80\x80", FFFD FFFD FFFD FFFD},
        {"\xe0\x80\x80", FFFD FFFD FFFD},
        {"\xed\xa0\x80", FFFD FFFD FFFD},
        {"\xed\x9f\xbf", "\xed\x9f\xbf"},
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
        {"\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD},
        {"\xf5\x80", FFFD FFFD},
        {"\xc3\xc3\xa9", FFFD "\xc3\xa9"},
    };
    roast_chunklog *log = new_log();
    sample s;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        sample_plain(&s, 1, i);
        s.chunk.dataset = str(cases[i][0]);
        append(log, &s);
    }
    roast_run *run = run_of(log);
    roast_columns *columns = table_of(run, ROAST_TABLE_chunks);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_text(columns, "dataset", i, str(cases[i][1]));
    roast_columns_free(columns);
    roast_run_free(run);
#undef FFFD
}

static void test_texts_by_number(void **state) {
    (void)state;
    roast_run *run = run_of(mixed_log(20));
    roast_columns *columns = table_of(run, ROAST_TABLE_chunks);
    const roast_column *file = column_of(columns, "file");
    assert_int_equal(2, file->texts.count);
    assert_str("even.root", roast_column_text(file, 0));
    assert_str("odd.root", roast_column_text(file, 1));
    assert_null(roast_column_text(file, 2).data);
    assert_null(roast_column_text(file, -1).data);
    assert_null(roast_column_text(file, INT64_MAX).data);
    assert_null(roast_column_text(column_of(columns, "duration"), 0).data);
    roast_columns_free(columns);
    roast_run_free(run);
}

/* More than are known again by their place, and all of one length. */
static void test_many_texts(void **state) {
    (void)state;
    enum { CHUNKS = 3000, FILES = 1000 };
    roast_chunklog *log = new_log();
    sample s;
    char name[16];
    for (uint64_t i = 0; i < CHUNKS; i++) {
        sample_plain(&s, 1, i);
        snprintf(name, sizeof name, "file_%04d", (int)(i * 7 % FILES));
        s.chunk.file = str(name);
        append(log, &s);
    }
    roast_run *run = run_of(log);
    roast_columns *columns = table_of(run, ROAST_TABLE_chunks);
    assert_int_equal(FILES, column_of(columns, "file")->texts.count);
    for (uint64_t i = 0; i < CHUNKS; i++) {
        snprintf(name, sizeof name, "file_%04d", (int)(i * 7 % FILES));
        assert_text(columns, "file", i, str(name));
    }
    roast_columns_free(columns);
    roast_run_free(run);
}

static void test_texts_beyond_two_gigabytes(void **state) {
    (void)state;
    /* One text of 2^31 bytes, all of them the kernel's page of zeros. */
    size_t len = (size_t)1 << 31;
    void *zeros = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED)
        skip();
    roast_column_store store = {
        .texts = {.bytes = {zeros, len, len}, .ends = &len, .ends_capacity = 1, .count = 1}};
    roast_texts texts;
    assert_status(ROAST_ELIMIT, roast_column_finish_texts(&store, &texts));
    roast_free(store.offsets);
    munmap(zeros, len);
}

/* ---- sections and reads ---- */

/* Two chunks with sections and reads, and one between them without. */
static roast_chunklog *tails_log(void) {
    roast_chunklog *log = new_log();
    sample s;
    sample_full(&s);
    append(log, &s);
    sample_plain(&s, 1, 1);
    append(log, &s);
    sample_plain(&s, 1, 2);
    sample_tails(&s);
    append(log, &s);
    return log;
}

static void test_sections(void **state) {
    (void)state;
    roast_run *run = run_of(tails_log());
    roast_columns *columns = table_of(run, ROAST_TABLE_sections);
    static const char *const kinds[] = {"time", "time", "memory", "bytes", "time", "memory"};
    sample s;
    sample_full(&s);
    assert_int_equal(12, roast_columns_rows(columns));
    assert_sound(columns);
    for (uint64_t row = 0; row < 12; row++) {
        const roast_section *section = &s.sections[row % 6];
        static const int64_t depths[] = {0, 1, 2, 1, 0, 1};
        double value = (double)section->value / 1e9, before = (double)section->before / 1e9;
        assert_int(columns, "chunk", row, row < 6 ? 0 : 2);
        assert_text(columns, "name", row, section->name);
        assert_text(columns, "kind", row, str(kinds[row % 6]));
        assert_int(columns, "depth", row, depths[row % 6]);
        assert_real(columns, "start", row, (double)section->start_ns / 1e9);
        if (section->parent < 0)
            assert_absent(columns, "parent", row);
        else
            assert_int(columns, "parent", row, (int64_t)(row / 6 * 6) + section->parent);
        if (section->kind == ROAST_SECTION_TIME)
            assert_real(columns, "time_delta", row, value);
        else
            assert_absent(columns, "time_delta", row);
        if (section->kind == ROAST_SECTION_MEMORY) {
            assert_real(columns, "memory_start_gb", row, before);
            assert_real(columns, "memory_end_gb", row, before + value);
            assert_real(columns, "memory_delta_gb", row, value);
        } else {
            assert_absent(columns, "memory_start_gb", row);
            assert_absent(columns, "memory_end_gb", row);
            assert_absent(columns, "memory_delta_gb", row);
        }
        if (section->kind == ROAST_SECTION_BYTES)
            assert_int(columns, "bytes", row, section->value);
        else
            assert_absent(columns, "bytes", row);
        if (section->count <= INT64_MAX)
            assert_int(columns, "count", row, (int64_t)section->count);
        else
            assert_absent(columns, "count", row); /* does not fit */
    }
    roast_columns_free(columns);
    roast_run_free(run);
}

static void test_sections_beside_the_chunks(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = run_of(tails_log());
    roast_chunklog *beside = new_log();
    roast_section section = {str("by hand"), ROAST_SECTION_TIME, -1, 1, 0, 2000000000, 0};
    roast_chunk chunk = {.sections = &section, .n_sections = 1};
    assert_ok(roast_chunklog_append(beside, &chunk, &err), err);
    roast_columns *columns = NULL;
    roast_run_take_sections(run, beside);
    assert_ok(roast_columns_new(run, ROAST_TABLE_sections, &columns, &err), err);
    assert_int_equal(13, roast_columns_rows(columns));
    assert_sound(columns);
    assert_int(columns, "chunk", 11, 2);
    assert_absent(columns, "chunk", 12);
    assert_absent(columns, "start", 12);
    assert_absent(columns, "parent", 12);
    assert_text(columns, "name", 12, str("by hand"));
    assert_real(columns, "time_delta", 12, 2);
    roast_columns_free(columns);
    roast_run_take_sections(run, NULL);
    assert_ok(roast_columns_new(run, ROAST_TABLE_sections, &columns, &err), err);
    assert_int_equal(12, roast_columns_rows(columns));
    roast_columns_free(columns);
    roast_run_free(run);
}

static void test_many_sections(void **state) {
    (void)state;
    roast_error err;
    roast_chunklog *log = new_log();
    roast_section sections[100];
    char names[100][8];
    for (int i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "s%d", i);
        sections[i] = (roast_section){str(names[i]), ROAST_SECTION_TIME, i - 1, 1, i, i, 0};
    }
    roast_chunk chunk = {.sections = sections, .n_sections = 100};
    for (int i = 0; i < 50; i++)
        assert_ok(roast_chunklog_append(log, &chunk, &err), err);
    roast_run *run = run_of(log);
    roast_columns *columns = table_of(run, ROAST_TABLE_sections);
    assert_int_equal(5000, roast_columns_rows(columns));
    assert_int_equal(100, column_of(columns, "name")->texts.count);
    for (uint64_t row = 0; row < 5000; row++) {
        assert_int(columns, "depth", row, (int64_t)(row % 100));
        assert_text(columns, "name", row, str(names[row % 100]));
    }
    roast_columns_free(columns);
    roast_run_free(run);
}

static void test_reads(void **state) {
    (void)state;
    roast_run *run = run_of(tails_log());
    roast_columns *columns = table_of(run, ROAST_TABLE_reads);
    sample s;
    sample_full(&s);
    assert_int_equal(6, roast_columns_rows(columns));
    assert_sound(columns);
    for (uint64_t row = 0; row < 6; row++) {
        const roast_read *read = &s.reads[row % 3];
        assert_int(columns, "chunk", row, row < 3 ? 0 : 2);
        assert_text(columns, "branch", row, read->branch);
        if (row % 3 == 1) {
            assert_absent(columns, "seconds", row);
            assert_absent(columns, "bytes", row);
            assert_absent(columns, "uncompressed_bytes", row);
            assert_absent(columns, "count", row);
            continue;
        }
        assert_real(columns, "seconds", row, (double)read->time_ns / 1e9);
        assert_int(columns, "bytes", row, read->bytes);
        assert_int(columns, "uncompressed_bytes", row, read->uncompressed_bytes);
        assert_int(columns, "count", row, read->count);
    }
    roast_columns_free(columns);
    roast_run_free(run);
}

/* ---- samples ---- */

static void add_sample(roast_series *series, const char *name, double base) {
    double value[ROAST_COLUMNS];
    uint32_t worker;
    roast_error err;
    for (int i = 0; i < ROAST_COLUMNS; i++)
        value[i] = base + 100 * i;
    value[ROAST_COLUMN_cpu] = base + 0.5;
    value[ROAST_COLUMN_nbytes] = NAN;
    value[ROAST_COLUMN_net_read_bps] = 0x1p64; /* kept in hundreds, but no 64-bit number */
    assert_ok(roast_series_worker(series, str(name), &worker, &err), err);
    assert_ok(roast_series_append(series, worker, value, &err), err);
}

static roast_run *sampled_run(void) {
    roast_run *run = new_run();
    roast_series *series = roast_run_series(run);
    roast_error err;
    for (int tick = 0; tick < 3; tick++) {
        roast_utc when = {INT64_C(1700000000123456789) + tick};
        assert_ok(roast_series_tick(series, when, 2, &err), err);
        add_sample(series, "tcp://a", 1000 * tick);
        if (tick == 1)
            add_sample(series, "tcp://b", 7);
    }
    return run;
}

static void test_samples(void **state) {
    (void)state;
    roast_run *run = sampled_run();
    roast_columns *columns = table_of(run, ROAST_TABLE_samples);
    assert_int_equal(4, roast_columns_rows(columns));
    assert_int_equal(2 + ROAST_COLUMNS, roast_columns_count(columns));
    assert_int_equal(ROAST_CELL_TIME, column_of(columns, "timestamp")->cell);
    assert_sound(columns);
    for (uint64_t row = 0; row < 4; row++) {
        int64_t tick = row < 3 ? (int64_t)row : 1, base = row < 3 ? 1000 * tick : 7;
        assert_text(columns, "worker", row, str(row < 3 ? "tcp://a" : "tcp://b"));
        assert_int(columns, "timestamp", row, INT64_C(1700000000123456789) + tick);
        assert_int(columns, "memory", row, base);
        assert_int(columns, "cores", row, base + 100 * ROAST_COLUMN_cores);
        assert_real(columns, "occupancy", row, (double)base + 100 * ROAST_COLUMN_occupancy);
        assert_real(columns, "cpu", row, (double)base + 0.5);
        assert_absent(columns, "nbytes", row);
        assert_absent(columns, "net_read_bps", row);
    }
    roast_columns_free(columns);
    roast_run_free(run);
}

/* ---- reals, memory, owners ---- */

static void test_reals(void **state) {
    (void)state;
    roast_error err;
    const double *reals, *again;
    roast_run *run = run_of(mixed_log(20));
    roast_columns *columns = table_of(run, ROAST_TABLE_chunks);
    const roast_column *events = column_of(columns, "num_events");
    size_t before = roast_columns_memory(columns);
    assert_ok(roast_columns_reals(columns, events, &reals, &err), err);
    for (uint64_t row = 0; row < 20; row++) {
        if (is_there(events, row))
            assert_true(reals[row] == (double)((const int64_t *)events->values)[row]);
        else
            assert_true(isnan(reals[row]));
    }
    assert_int_equal(before + 20 * sizeof *reals, roast_columns_memory(columns));
    /* Once, whatever the name. */
    assert_ok(roast_columns_reals(columns, column_of(columns, "event_count"), &again, &err), err);
    assert_ptr_equal(reals, again);
    const roast_column *duration = column_of(columns, "duration");
    assert_ok(roast_columns_reals(columns, duration, &reals, &err), err);
    assert_ptr_equal(duration->values, reals);
    assert_status(ROAST_EINVAL,
                  roast_columns_reals(columns, column_of(columns, "file"), &reals, &err));
    roast_column foreign = *duration;
    assert_status(ROAST_EINVAL, roast_columns_reals(columns, &foreign, &reals, NULL));
    roast_columns_free(columns);
    roast_run_free(run);
}

static void test_memory_is_what_it_holds(void **state) {
    (void)state;
    roast_run *run = run_of(plain_log(1, 0, 10000));
    roast_columns *columns = table_of(run, ROAST_TABLE_chunks);
    size_t memory = roast_columns_memory(columns);
    assert_true(memory > 30u * 10000 * 8);
    assert_true(memory < (size_t)roast_columns_count(columns) * 10000 * 9);
    roast_columns_free(columns);
    roast_run_free(run);
}

static void *share_and_free(void *columns) {
    for (int i = 0; i < 20000; i++)
        roast_columns_free(roast_columns_share(columns));
    roast_columns_free(columns);
    return NULL;
}

static void test_owners_in_many_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    roast_run *run = run_of(mixed_log(20));
    roast_columns *columns = table_of(run, ROAST_TABLE_chunks);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(
            0, pthread_create(&threads[i], NULL, share_and_free, roast_columns_share(columns)));
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    assert_text(columns, "file", 0, str("even.root"));
    roast_columns_free(columns); /* the last one: the leak check watches */
    roast_run_free(run);
}

/* ---- memory that runs short ---- */

typedef struct short_of_memory {
    const roast_run *run;
    roast_table table;
} short_of_memory;

static roast_status make_table(void *context) {
    const short_of_memory *c = context;
    roast_columns *columns = NULL;
    roast_error err = {.status = ROAST_OK};
    roast_status status = roast_columns_new(c->run, c->table, &columns, &err);
    assert_int_equal(status == ROAST_OK, columns != NULL);
    if (status != ROAST_OK) {
        assert_int_equal(status, err.status);
        assert_non_null(strstr(err.message, roast_table_name(c->table)));
    }
    const double *reals;
    const roast_column *number = status == ROAST_OK && c->table == ROAST_TABLE_chunks
                                     ? roast_columns_find(columns, str("num_events"))
                                     : NULL;
    if (number != NULL)
        status = roast_columns_reals(columns, number, &reals, &err);
    if (status == ROAST_OK)
        assert_sound(columns);
    roast_columns_free(columns);
    return status;
}

/* As alloc_walk, but a reserve that cannot be given back at the end may go unnoticed: the table is
 * then as good as any. How many failures were noticed. */
static long walk(short_of_memory *context, void (*let_fail)(long)) {
    long noticed = 0;
    for (long n = 0;; n++) {
        long before = alloc_live();
        let_fail(n);
        roast_status status = make_table(context);
        long allocations = alloc_fail_stop();
        assert_int_equal(before, alloc_live());
        if (status == ROAST_OK && allocations <= n)
            return noticed;
        if (status != ROAST_OK)
            assert_status(ROAST_ENOMEM, status);
        noticed += status != ROAST_OK;
    }
}

static void test_every_failing_allocation(void **state) {
    (void)state;
    roast_chunklog *log = mixed_log(70);
    sample s;
    sample_plain(&s, 1, 1);
    s.chunk.dataset = str("broken \xff"); /* a list of texts that is written anew */
    append(log, &s);
    add_sample_file(log, "odd.root");
    roast_run *run = run_of(log), *sampled = sampled_run();
    for (int table = 0; table < ROAST_TABLES; table++) {
        short_of_memory context = {table == ROAST_TABLE_samples ? sampled : run,
                                   (roast_table)table};
        /* Two for each column at least: its values and its bitmap. */
        assert_true(walk(&context, alloc_fail_from) > 12);
        assert_true(walk(&context, alloc_fail_once) > 12);
    }
    roast_run_free(run);
    roast_run_free(sampled);
}

/* ---- keys ---- */

static void test_values_by_key(void **state) {
    (void)state;
    roast_chunk chunk = {.num_events = 7, .rss_before = INT64_C(1) << 60, .n_branches = 3};
    chunk.rss_after = chunk.rss_before + 1;
    chunk.has_branches = true;
    roast_key_source from = {&chunk, NULL, 11};
    int64_t integer = -1;
    double real = -1;
    assert_false(roast_key_get_int(&roast_keys[ROAST_KEY_num_events], &from, &integer));
    assert_false(roast_key_get_real(&roast_keys[ROAST_KEY_mem_delta_mb], &from, &real));
    chunk.have =
        ROAST_CHUNK_HAS(num_events) | ROAST_CHUNK_HAS(rss_before) | ROAST_CHUNK_HAS(rss_after);
    assert_true(roast_key_get_int(&roast_keys[ROAST_KEY_event_count], &from, &integer));
    assert_int_equal(7, integer);
    assert_true(roast_key_get_int(&roast_keys[ROAST_KEY_chunk_id], &from, &integer));
    assert_int_equal(11, integer);
    /* One byte more, of numbers that a real cannot tell apart. */
    assert_true(roast_key_get_real(&roast_keys[ROAST_KEY_mem_delta_mb], &from, &real));
    assert_near(1e-6, real);
    assert_true(roast_key_get_real(&roast_keys[ROAST_KEY_memory_delta_gb], &from, &real));
    assert_near(1e-9, real);
    chunk.rss_before = INT64_MIN;
    chunk.rss_after = INT64_MAX;
    assert_true(roast_key_get_real(&roast_keys[ROAST_KEY_mem_delta_mb], &from, &real));
    assert_near(0x1p64 / 1e6, real);
    assert_false(roast_key_get_real(&roast_keys[ROAST_KEY_branches_read_percent], &from, &real));
    from.file = &(roast_file_size){12, -1};
    assert_true(roast_key_get_real(&roast_keys[ROAST_KEY_branches_read_percent], &from, &real));
    assert_near(25, real);
    assert_false(roast_key_get_real(&roast_keys[ROAST_KEY_bytes_read_percent], &from, &real));
}

static void test_texts_by_key(void **state) {
    (void)state;
    const roast_key *error = &roast_keys[ROAST_KEY_error], *key = &roast_keys[ROAST_KEY_task_key];
    roast_chunk chunk = {.file = roast_str_of("a.root")};
    roast_key_source from = {&chunk, NULL, 0};
    char room[8] = "";
    assert_ptr_equal(
        chunk.file.data,
        roast_key_get_text(&roast_keys[ROAST_KEY_filename], &from, room, sizeof room).data);
    assert_null(roast_key_get_text(error, &from, room, sizeof room).data);
    assert_null(roast_key_get_text(key, &from, room, sizeof room).data);
    chunk.error_type = roast_str_of("E");
    chunk.task_key = roast_str_of("P-12");
    assert_int_equal(1, roast_key_get_text(error, &from, room, sizeof room).len);
    assert_string_equal("E", room);
    assert_int_equal(4, roast_key_get_text(key, &from, room, sizeof room).len);
    assert_string_equal("P-12", room);
    /* A room that is too small: the length is told, and what fits is there. */
    chunk.error_message = roast_str_of("a word");
    assert_int_equal(9, roast_key_get_text(error, &from, room, sizeof room).len);
    assert_string_equal("E: a wo", room);
    assert_int_equal(9, roast_chunk_error(&chunk, NULL, 0));
    chunk.error_type = (roast_str){"", 0};
    assert_ptr_equal(room, roast_key_get_text(error, &from, room, 2).data);
    chunk.error_message.len = 0;
    assert_int_equal(0, roast_key_get_text(error, &from, room, sizeof room).len);
    assert_string_equal("", room);
}

static void test_other_names_of_keys(void **state) {
    (void)state;
    const int other_names[] = {ROAST_KEY_memory_start_gb, ROAST_KEY_memory_end_gb,
                               ROAST_KEY_filename, ROAST_KEY_event_count,
                               ROAST_KEY_processing_time};
    size_t found = 0;
    for (int key = 0; key < ROAST_KEYS; key++)
        if (roast_key_is_alias(&roast_keys[key]))
            assert_int_equal(other_names[found++], key);
    assert_int_equal(sizeof other_names / sizeof *other_names, found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_have_names),
        cmocka_unit_test(test_a_run_without_anything),
        cmocka_unit_test(test_chunks_are_their_records),
        cmocka_unit_test(test_columns_outlive_the_run),
        cmocka_unit_test(test_no_column_twice),
        cmocka_unit_test(test_percentages_of_files),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_broken_utf8_is_replaced),
        cmocka_unit_test(test_texts_by_number),
        cmocka_unit_test(test_many_texts),
        cmocka_unit_test(test_texts_beyond_two_gigabytes),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_sections_beside_the_chunks),
        cmocka_unit_test(test_many_sections),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_reals),
        cmocka_unit_test(test_memory_is_what_it_holds),
        cmocka_unit_test(test_owners_in_many_threads),
        cmocka_unit_test(test_every_failing_allocation),
        cmocka_unit_test(test_values_by_key),
        cmocka_unit_test(test_texts_by_key),
        cmocka_unit_test(test_other_names_of_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
