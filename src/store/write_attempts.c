/* Attempts as rows. */
#include "store/schema.h"
#include "store/writer.h"

/* The number of each worker among all. */
static roast_status write_workers(roast_writer *writer, const roast_attempts *attempts,
                                  uint32_t *number, roast_error *err) {
    uint32_t count = roast_attempts_worker_count(attempts);
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_attempt_workers, &insert, err));
    for (uint32_t i = 0; i < count; i++) {
        roast_str name = roast_attempts_worker(attempts, i);
        uint32_t before = writer->attempt_workers.count;
        roast_status status = roast_intern_add(&writer->attempt_workers, name, &number[i]);
        if (status != ROAST_OK)
            return roast_writer_no_memory(status, err);
        if (number[i] != before)
            continue;
        sqlite3_bind_int64(insert, 1, number[i]);
        roast_db_bind_text(insert, 2, name);
        ROAST_TRY(roast_writer_run(writer, insert, err));
    }
    return ROAST_OK;
}

static roast_status write_departures(roast_writer *writer, const roast_attempts *attempts,
                                     const uint32_t *number, roast_error *err) {
    uint32_t count = roast_attempts_departure_count(attempts);
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_departures, &insert, err));
    for (uint32_t i = 0; i < count; i++) {
        roast_departure departure = roast_attempts_departure(attempts, i);
        sqlite3_bind_int64(insert, 1, writer->departures + i);
        sqlite3_bind_int64(insert, 2, number[departure.worker]);
        sqlite3_bind_int64(insert, 3, departure.when.ns);
        sqlite3_bind_int64(insert, 4, departure.expected);
        sqlite3_bind_int64(insert, 5, departure.running);
        sqlite3_bind_int64(insert, 6, departure.lost_results);
        ROAST_TRY(roast_writer_run(writer, insert, err));
    }
    return ROAST_OK;
}

/* ---- prefixes and their kinds ---- */

static roast_status put_prefix(roast_writer *writer, uint32_t id, roast_str prefix, uint8_t kind,
                               bool fresh, roast_error *err) {
    sqlite3_stmt *statement;
    if (fresh) {
        ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_attempt_prefixes, &statement, err));
        sqlite3_bind_int64(statement, 1, id);
        roast_db_bind_text(statement, 2, prefix);
        sqlite3_bind_int64(statement, 3, kind);
        return roast_writer_run(writer, statement, err);
    }
    ROAST_TRY(roast_db_prepare(writer->db, "UPDATE attempt_prefixes SET kind = ?2 WHERE id = ?1",
                               &statement, err));
    sqlite3_bind_int64(statement, 1, id);
    sqlite3_bind_int64(statement, 2, kind);
    roast_status status = roast_writer_run(writer, statement, err);
    sqlite3_finalize(statement);
    return status;
}

/* What is foreign has no prefix of its own: it is told apart in front of the name. */
static roast_status prefix_id(roast_writer *writer, const roast_attempt *attempt, uint32_t *id,
                              roast_error *err) {
    uint8_t front[2] = {attempt->kind == ROAST_KIND_foreign, attempt->prefix.data != NULL};
    uint8_t kind = (uint8_t)attempt->kind;
    uint32_t before = writer->prefixes.count, number;
    void *kinds = writer->prefix_kinds;
    writer->key.len = 0;
    roast_status status = roast_buffer_append(&writer->key, front, sizeof front);
    if (status == ROAST_OK)
        status = roast_buffer_append(&writer->key, attempt->prefix.data, attempt->prefix.len);
    if (status == ROAST_OK)
        status = roast_array_reserve(&kinds, &writer->prefix_kinds_capacity, 1, (size_t)before + 1);
    writer->prefix_kinds = kinds;
    if (status == ROAST_OK)
        status =
            roast_intern_add(&writer->prefixes,
                             (roast_str){(const char *)writer->key.data, writer->key.len}, &number);
    if (status != ROAST_OK)
        return roast_writer_no_memory(status, err);
    *id = number + 1;
    if (number != before && writer->prefix_kinds[number] == kind)
        return ROAST_OK;
    writer->prefix_kinds[number] = kind;
    return put_prefix(writer, *id, attempt->prefix, kind, number == before, err);
}

/* ---- tries ---- */

static int bind_time(sqlite3_stmt *insert, int parameter, int64_t us) {
    return us == ROAST_NO_TIME ? sqlite3_bind_null(insert, parameter)
                               : sqlite3_bind_int64(insert, parameter, us);
}

static roast_status write_attempt(roast_writer *writer, const roast_attempt *attempt,
                                  const uint32_t *number, int64_t departures, roast_error *err) {
    sqlite3_stmt *insert;
    uint32_t prefix = 0, key = 0;
    ROAST_TRY(prefix_id(writer, attempt, &prefix, err));
    ROAST_TRY(roast_writer_text(writer, attempt->key, &key, err));
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_attempt_rows, &insert, err));
    sqlite3_bind_int64(insert, 1, writer->attempts++);
    sqlite3_bind_int64(insert, 2, prefix);
    sqlite3_bind_int64(insert, 3, (int)attempt->outcome);
    roast_bind_id(insert, 4, key);
    roast_db_bind_blob(insert, 5, attempt->key_hash);
    roast_bind_known(insert, 6, attempt->key_number);
    roast_bind_known(insert, 7,
                     attempt->worker == ROAST_NO_WORKER ? -1 : (int64_t)number[attempt->worker]);
    sqlite3_bind_int64(insert, 8, (int64_t)attempt->thread);
    bind_time(insert, 9, attempt->ready_us);
    bind_time(insert, 10, attempt->sent_us);
    bind_time(insert, 11, attempt->start_us);
    bind_time(insert, 12, attempt->stop_us);
    bind_time(insert, 13, attempt->ended_us);
    roast_bind_known(insert, 14, attempt->transfer_us);
    roast_bind_known(insert, 15, attempt->deserialize_us);
    roast_bind_known(insert, 16, attempt->disk_us);
    roast_bind_known(insert, 17, attempt->nbytes);
    roast_bind_known(
        insert, 18,
        attempt->departure == ROAST_NO_DEPARTURE ? -1 : departures + (int64_t)attempt->departure);
    roast_db_bind_text(insert, 19, attempt->error_type);
    roast_db_bind_text(insert, 20, attempt->error_message);
    return roast_writer_run(writer, insert, err);
}

static roast_status write_all(roast_writer *writer, const roast_attempts *attempts,
                              const uint32_t *number, roast_error *err) {
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt))
        ROAST_TRY(write_attempt(writer, &attempt, number, writer->departures, err));
    return ROAST_OK;
}

/* Says that somebody watched, also where there was nothing to see. */
static roast_status write_mark(roast_writer *writer, roast_error *err) {
    return roast_db_exec(writer->db, "INSERT OR IGNORE INTO run VALUES('attempts', 1)", err);
}

roast_status roast_write_attempts(roast_writer *writer, const roast_attempts *attempts,
                                  roast_error *err) {
    uint32_t workers = roast_attempts_worker_count(attempts);
    uint32_t *number = roast_alloc(((size_t)workers + 1) * sizeof *number);
    if (number == NULL)
        return roast_writer_no_memory(ROAST_ENOMEM, err);
    roast_status status = write_mark(writer, err);
    if (status == ROAST_OK)
        status = write_workers(writer, attempts, number, err);
    if (status == ROAST_OK)
        status = write_departures(writer, attempts, number, err);
    if (status == ROAST_OK)
        status = write_all(writer, attempts, number, err);
    writer->departures += roast_attempts_departure_count(attempts);
    roast_free(number);
    return status;
}
