#include "chunk_survivor.h"

#include "base/crc32c.h"

roast_error refusal;

void fix_checksum(packed bytes) {
    uint32_t crc = roast_crc32c(0, bytes.data, bytes.len - TRAILER);
    for (int i = 0; i < TRAILER; i++)
        bytes.data[bytes.len - TRAILER + (size_t)i] = (uint8_t)(crc >> (8 * i));
}

/* Reads all there is to read; a log that decode let through must hold together. */
static void read_everything(const roast_chunklog *log) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_tail_cursor tail;
    roast_section section;
    roast_read read;
    roast_custom custom;
    roast_str name;
    roast_branch_size size;
    roast_file_cursor files;
    roast_file file;
    uint32_t n;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        roast_chunk_sections(log, &chunk, &tail);
        for (n = 0; roast_chunk_next_section(&tail, &section); n++)
            assert_true(section.parent < (int32_t)n && section.name.len <= ROAST_MAX_TEXT);
        assert_int_equal(chunk.n_sections, n);
        roast_chunk_branches(log, &chunk, &tail);
        for (n = 0; roast_chunk_next_branch(&tail, &name); n++)
            assert_non_null(name.data);
        assert_int_equal(chunk.n_branches, n);
        roast_chunk_reads(log, &chunk, &tail);
        for (n = 0; roast_chunk_next_read(&tail, &read); n++)
            assert_true(read.time_ns >= -1 && read.count >= -1);
        assert_int_equal(chunk.n_reads, n);
        roast_chunk_customs(log, &chunk, &tail);
        for (n = 0; roast_chunk_next_custom(&tail, &custom); n++)
            assert_true(custom.kind < ROAST_CUSTOM_KINDS && custom.scope < ROAST_SCOPES);
        assert_int_equal(chunk.n_customs, n);
        assert_ok(roast_chunklog_get(log, cursor.index - 1, &chunk, &refusal), refusal);
    }
    assert_int_equal(roast_chunklog_count(log), cursor.index);
    roast_file_cursor_init(&files, log);
    while (roast_file_cursor_next(&files, &file)) {
        roast_file_branches(log, &file, &tail);
        for (n = 0; roast_file_next_branch(&tail, &size); n++)
            assert_true(size.bytes >= -1);
        assert_int_equal(file.n_branches, n);
    }
}

/* A log that came through: it can be read, packed again to the same bytes, and merged. */
static void use_survivor(roast_chunklog *log, packed bytes) {
    read_everything(log);
    packed again = pack(log);
    roast_chunklog *second = unpack(again), *into = plain_log(6, 1, 1);
    assert_true(again.len <= bytes.len);
    read_everything(second);
    assert_ok(roast_chunklog_merge(into, second, true, NULL, &refusal), refusal);
    assert_ok(roast_chunklog_merge(into, log, false, NULL, &refusal), refusal);
    read_everything(into);
    free(again.data);
    roast_chunklog_free(into);
    roast_chunklog_free(second);
}

bool try_decode(packed bytes) {
    roast_chunklog *log = NULL;
    roast_error_reset(&refusal);
    roast_status status = roast_chunklog_decode(bytes.data, bytes.len, &log, &refusal);
    if (status == ROAST_OK) {
        use_survivor(log, bytes);
        roast_chunklog_free(log);
        return true;
    }
    assert_true(status == ROAST_ECORRUPT || status == ROAST_EVERSION);
    assert_int_equal(status, refusal.status);
    assert_null(log);
    assert_true(refusal.position >= 0 && refusal.position <= (int64_t)bytes.len);
    assert_true(strlen(refusal.message) > 10);
    return false;
}
