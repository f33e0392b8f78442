/* The small parts of a run, the worker series and the attempts as rows. */
#include <math.h>

#include "store/schema.h"
#include "store/writer.h"

/* ---- run: key and value ---- */

static roast_status put_value(roast_writer *writer, sqlite3_stmt *insert, const char *key, int code,
                              roast_error *err) {
    if (code != SQLITE_OK)
        return roast_db_fail(writer->db, code, err);
    roast_db_bind_text(insert, 1, roast_str_of(key));
    return roast_writer_run(writer, insert, err);
}

static roast_status put_int(roast_writer *writer, const char *key, int64_t value,
                            roast_error *err) {
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_run, &insert, err));
    return put_value(writer, insert, key, sqlite3_bind_int64(insert, 2, value), err);
}

/* NaN becomes NULL, and is NaN again when it is read. */
static roast_status put_real(roast_writer *writer, const char *key, double value,
                             roast_error *err) {
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_run, &insert, err));
    return put_value(writer, insert, key, sqlite3_bind_double(insert, 2, value), err);
}

static roast_status put_text(roast_writer *writer, const char *key, roast_str value,
                             roast_error *err) {
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_run, &insert, err));
    return put_value(writer, insert, key, roast_db_bind_text(insert, 2, value), err);
}

/* Makes room for what replaces it. */
static roast_status clear(roast_writer *writer, const char *sql, bool part, roast_error *err) {
    return part ? roast_db_exec(writer->db, sql, err) : ROAST_OK;
}

static roast_status write_clock(roast_writer *writer, const roast_run *run, bool part,
                                roast_error *err) {
    roast_run_clock clock = roast_run_get_clock(run);
    if (!clock.have)
        return ROAST_OK;
    ROAST_TRY(clear(writer, "DELETE FROM run WHERE key IN ('start', 'end')", part, err));
    ROAST_TRY(put_real(writer, "start", clock.start, err));
    return put_real(writer, "end", clock.end, err);
}

static roast_status write_report(roast_writer *writer, const roast_run *run, bool part,
                                 roast_error *err) {
    roast_report report = roast_run_get_report(run);
    if (!report.have_entries && !report.have_bytesread && !report.have_processtime &&
        !report.have_chunks)
        return ROAST_OK;
    ROAST_TRY(clear(writer,
                    "DELETE FROM run WHERE key IN "
                    "('entries', 'bytesread', 'processtime', 'chunks')",
                    part, err));
    if (report.have_entries)
        ROAST_TRY(put_int(writer, "entries", report.entries, err));
    if (report.have_bytesread)
        ROAST_TRY(put_int(writer, "bytesread", report.bytesread, err));
    if (report.have_processtime)
        ROAST_TRY(put_real(writer, "processtime", report.processtime, err));
    if (report.have_chunks)
        ROAST_TRY(put_int(writer, "chunks", report.chunks, err));
    return ROAST_OK;
}

static roast_status write_about(roast_writer *writer, const roast_run *run, bool part,
                                roast_error *err) {
    roast_str processor = roast_run_processor(run);
    uint64_t replayed = roast_run_replayed(run);
    if (processor.data != NULL) {
        ROAST_TRY(clear(writer, "DELETE FROM run WHERE key = 'processor'", part, err));
        ROAST_TRY(put_text(writer, "processor", processor, err));
    }
    if (replayed > 0) {
        ROAST_TRY(clear(writer, "DELETE FROM run WHERE key = 'replayed'", part, err));
        ROAST_TRY(put_int(writer, "replayed", (int64_t)replayed, err));
    }
    return ROAST_OK;
}

/* ---- lists of texts ---- */

static roast_status put_texts(roast_writer *writer, roast_insert table, int64_t id,
                              const roast_str *texts, int count, roast_error *err) {
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, table, &insert, err));
    sqlite3_bind_int64(insert, 1, id);
    for (int i = 0; i < count; i++) {
        int code = roast_db_bind_text(insert, 2 + i, texts[i]);
        if (code != SQLITE_OK)
            return roast_db_fail(writer->db, code, err);
    }
    return roast_writer_run(writer, insert, err);
}

static roast_status write_meta(roast_writer *writer, const roast_run *run, bool part,
                               roast_error *err) {
    uint32_t count = roast_run_meta_count(run);
    for (uint32_t i = 0; i < count; i++) {
        roast_str pair[2];
        int64_t id = (int64_t)i + 1;
        roast_run_meta_at(run, i, &pair[0], &pair[1]);
        if (part) { /* a key set again keeps its place */
            sqlite3_stmt *update;
            ROAST_TRY(roast_db_prepare(writer->db, "UPDATE meta SET value = ?2 WHERE key = ?1",
                                       &update, err));
            roast_db_bind_text(update, 1, pair[0]);
            roast_db_bind_text(update, 2, pair[1]);
            roast_status status = roast_writer_run(writer, update, err);
            sqlite3_finalize(update);
            ROAST_TRY(status);
            if (sqlite3_changes(writer->db->handle) > 0)
                continue;
            ROAST_TRY(
                roast_db_number(writer->db, "SELECT coalesce(max(id), 0) + 1 FROM meta", &id, err));
        }
        ROAST_TRY(put_texts(writer, ROAST_INSERT_meta, id, pair, 2, err));
    }
    return ROAST_OK;
}

static roast_status write_notes(roast_writer *writer, const roast_run *run, bool part,
                                roast_error *err) {
    uint32_t count = roast_run_note_count(run);
    if (count > 0)
        ROAST_TRY(clear(writer, "DELETE FROM notes", part, err));
    for (uint32_t i = 0; i < count; i++) {
        roast_str note = roast_run_note(run, i);
        ROAST_TRY(put_texts(writer, ROAST_INSERT_notes, (int64_t)i + 1, &note, 1, err));
    }
    return ROAST_OK;
}

static roast_status write_columns(roast_writer *writer, const roast_run *run, bool part,
                                  roast_error *err) {
    uint32_t count = roast_run_column_count(run);
    if (count > 0)
        ROAST_TRY(clear(writer, "DELETE FROM report_columns", part, err));
    for (uint32_t i = 0; i < count; i++) {
        roast_str name = roast_run_column(run, i);
        ROAST_TRY(put_texts(writer, ROAST_INSERT_report_columns, (int64_t)i + 1, &name, 1, err));
    }
    return ROAST_OK;
}

static roast_status write_spans(roast_writer *writer, const roast_run *run, bool part,
                                roast_error *err) {
    uint32_t count = roast_run_span_count(run);
    if (count > 0)
        ROAST_TRY(clear(writer, "DELETE FROM spans", part, err));
    for (uint32_t i = 0; i < count; i++) {
        roast_span_value span = roast_run_span(run, i);
        const roast_str names[] = {span.context, span.prefix, span.activity, span.unit};
        sqlite3_stmt *insert;
        ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_spans, &insert, err));
        sqlite3_bind_double(insert, 6, span.value);
        ROAST_TRY(put_texts(writer, ROAST_INSERT_spans, (int64_t)i + 1, names, 4, err));
    }
    return ROAST_OK;
}

/* ---- parts that most runs do not have ---- */

static roast_status write_counts(roast_writer *writer, const roast_run *run, bool part,
                                 roast_error *err) {
    const roast_series *counts = roast_run_counts_view(run);
    roast_sink *sink;
    if (counts == NULL)
        return ROAST_OK;
    ROAST_TRY(clear(writer, "DELETE FROM parts WHERE name = 'counts'", part, err));
    ROAST_TRY(roast_sink_new_memory(&sink, err));
    roast_status status = roast_series_encode(counts, sink, err);
    if (status == ROAST_OK)
        status = roast_write_bytes(writer, ROAST_INSERT_parts, 1, "counts", roast_sink_memory(sink),
                                   err);
    roast_sink_free(sink);
    return status;
}

static roast_status write_sections(roast_writer *writer, const roast_run *run, bool part,
                                   roast_error *err) {
    const roast_chunklog *beside = roast_run_sections_view(run);
    if (beside == NULL)
        return ROAST_OK;
    ROAST_TRY(clear(writer,
                    "DELETE FROM chunk_rows WHERE id < 0;"
                    "DELETE FROM custom_rows WHERE chunk < 0;"
                    "DELETE FROM run WHERE key = 'beside'",
                    part, err));
    writer->beside = 0;
    ROAST_TRY(put_int(writer, "beside", (int64_t)roast_chunklog_count(beside), err));
    return roast_write_beside(writer, beside, err);
}

roast_status roast_write_head(roast_writer *writer, const roast_run *run, bool part,
                              roast_error *err) {
    ROAST_TRY(write_clock(writer, run, part, err));
    ROAST_TRY(write_report(writer, run, part, err));
    ROAST_TRY(write_about(writer, run, part, err));
    ROAST_TRY(write_meta(writer, run, part, err));
    ROAST_TRY(write_notes(writer, run, part, err));
    ROAST_TRY(write_columns(writer, run, part, err));
    ROAST_TRY(write_spans(writer, run, part, err));
    ROAST_TRY(write_counts(writer, run, part, err));
    return write_sections(writer, run, part, err);
}

/* ---- the worker series ---- */

/* The number of each worker of the series among all. */
static roast_status write_workers(roast_writer *writer, const roast_series *series,
                                  uint32_t *number, roast_error *err) {
    uint32_t count = roast_series_worker_count(series);
    for (uint32_t i = 0; i < count; i++) {
        roast_str name[2] = {roast_series_worker_name(series, i),
                             roast_series_worker_host(series, i)};
        uint32_t before = writer->workers.count;
        roast_status status = roast_intern_add(&writer->workers, name[0], &number[i]);
        if (status != ROAST_OK)
            return roast_writer_no_memory(status, err);
        if (number[i] == before)
            ROAST_TRY(put_texts(writer, ROAST_INSERT_workers, number[i], name, 2, err));
    }
    return ROAST_OK;
}

static roast_status write_ticks(roast_writer *writer, const roast_series *series,
                                roast_error *err) {
    uint64_t count = roast_series_tick_count(series);
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_ticks, &insert, err));
    for (uint64_t i = 0; i < count; i++) {
        sqlite3_bind_int64(insert, 1, writer->ticks + (int64_t)i);
        sqlite3_bind_int64(insert, 2, roast_series_tick_time(series, i).ns);
        sqlite3_bind_int64(insert, 3, roast_series_tick_workers(series, i));
        ROAST_TRY(roast_writer_run(writer, insert, err));
    }
    return ROAST_OK;
}

static roast_status write_events(roast_writer *writer, const roast_series *series,
                                 const uint32_t *number, roast_error *err) {
    uint64_t count = roast_series_event_count(series);
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_event_rows, &insert, err));
    for (uint64_t i = 0; i < count; i++) {
        roast_worker_event event = roast_series_event_at(series, i);
        sqlite3_bind_int64(insert, 1, writer->events++);
        sqlite3_bind_int64(insert, 2, number[event.worker]);
        sqlite3_bind_int64(insert, 3, (int)event.kind);
        sqlite3_bind_int64(insert, 4, event.when.ns);
        sqlite3_bind_int64(insert, 5, event.threads);
        ROAST_TRY(roast_writer_run(writer, insert, err));
    }
    return ROAST_OK;
}

static roast_status write_piece(roast_writer *writer, uint64_t first, uint32_t ticks,
                                uint64_t samples, roast_error *err) {
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_series, &insert, err));
    sqlite3_bind_int64(insert, 1, writer->pieces++);
    sqlite3_bind_int64(insert, 2, writer->ticks + (int64_t)first);
    sqlite3_bind_int64(insert, 3, ticks);
    sqlite3_bind_int64(insert, 4, (int64_t)samples);
    roast_str bytes = {(const char *)writer->bytes.data, writer->bytes.len};
    int code = roast_db_bind_blob(insert, 5, bytes);
    if (code != SQLITE_OK)
        return roast_db_fail(writer->db, code, err);
    roast_status status = roast_writer_run(writer, insert, err);
    sqlite3_clear_bindings(insert);
    return status;
}

/* So many that a piece has some ROAST_PIECE_SAMPLES samples. */
static uint32_t ticks_of_piece(const roast_series *series) {
    uint64_t ticks = roast_series_tick_count(series), samples = roast_series_sample_count(series);
    uint64_t fitting = samples == 0 ? ROAST_PIECE_TICKS : ROAST_PIECE_SAMPLES * ticks / samples;
    if (fitting > ROAST_PIECE_TICKS)
        fitting = ROAST_PIECE_TICKS;
    return fitting == 0 ? 1 : (uint32_t)fitting;
}

static roast_status write_pieces(roast_writer *writer, const roast_series *series,
                                 roast_pack_source *sources, const uint32_t *number,
                                 roast_error *err) {
    uint64_t count = roast_series_tick_count(series), first = 0, samples;
    uint32_t ticks = ticks_of_piece(series), workers = roast_series_worker_count(series);
    for (uint32_t i = 0; i < workers; i++) {
        sources[i] = (roast_pack_source){.waiting = false};
        roast_series_cursor_init(&sources[i].cursor, series, i);
    }
    if (roast_series_sample_count(series) == 0)
        return ROAST_OK;
    for (; first < count; first += ticks) {
        if (ticks > count - first)
            ticks = (uint32_t)(count - first);
        writer->bytes.len = 0;
        roast_status status =
            roast_pack_piece(&writer->pack, series, sources, number, writer->workers.count, first,
                             ticks, &writer->bytes, &samples);
        if (status != ROAST_OK)
            return roast_writer_no_memory(status, err);
        ROAST_TRY(write_piece(writer, first, ticks, samples, err));
    }
    return ROAST_OK;
}

roast_status roast_write_series(roast_writer *writer, const roast_series *series,
                                roast_error *err) {
    uint32_t workers = roast_series_worker_count(series);
    uint32_t *number = roast_alloc(((size_t)workers + 1) * sizeof *number);
    roast_pack_source *sources = roast_alloc(((size_t)workers + 1) * sizeof *sources);
    roast_status status = ROAST_OK;
    if (number == NULL || sources == NULL)
        status = roast_writer_no_memory(ROAST_ENOMEM, err);
    if (status == ROAST_OK)
        status = write_workers(writer, series, number, err);
    if (status == ROAST_OK)
        status = write_ticks(writer, series, err);
    if (status == ROAST_OK)
        status = write_events(writer, series, number, err);
    if (status == ROAST_OK)
        status = write_pieces(writer, series, sources, number, err);
    writer->ticks += (int64_t)roast_series_tick_count(series);
    roast_free(number);
    roast_free(sources);
    return status;
}
