/* A run as the parts of run.sqlite. */
#include <stdio.h>

#include "base/crc32c.h"
#include "store/write/write.h"

typedef struct writer {
    sqlite3 *db;
    bool live;
    roast_sink *sink; /* of the part that is being made */
    roast_frame_writer part;
} writer;

/* ---- small parts: each is written where the run has it ---- */

static roast_status begin_part(writer *w, roast_error *err) {
    ROAST_TRY(roast_sink_new_memory(&w->sink, err));
    roast_frame_begin(&w->part, &roast_part_frame, w->sink);
    return ROAST_OK;
}

static roast_part_place small_place(const writer *w) {
    return w->live ? ROAST_PART_LIVE_SMALL : ROAST_PART_APPENDED;
}

static roast_part_place large_place(const writer *w) {
    return w->live ? ROAST_PART_LIVE_LARGE : ROAST_PART_APPENDED;
}

static roast_status end_part(writer *w, const char *name, roast_error *err) {
    roast_status status = roast_frame_finish(&w->part, err);
    if (status == ROAST_OK)
        status = roast_part_put(w->db, name, roast_sink_memory(w->sink), small_place(w), err);
    roast_sink_free(w->sink);
    return status;
}

static roast_status write_clock(writer *w, const roast_run *run, roast_error *err) {
    roast_run_clock clock = roast_run_get_clock(run);
    if (!clock.have)
        return ROAST_OK;
    ROAST_TRY(begin_part(w, err));
    roast_frame_put_real(&w->part, clock.start);
    roast_frame_put_real(&w->part, clock.end);
    return end_part(w, "clock", err);
}

static roast_status write_report(writer *w, const roast_run *run, roast_error *err) {
    roast_report report = roast_run_get_report(run);
    unsigned have = report.have_entries | report.have_bytesread << 1 |
                    report.have_processtime << 2 | report.have_chunks << 3;
    if (have == 0)
        return ROAST_OK;
    ROAST_TRY(begin_part(w, err));
    roast_frame_put_number(&w->part, have);
    roast_frame_put_signed(&w->part, report.entries);
    roast_frame_put_signed(&w->part, report.bytesread);
    roast_frame_put_real(&w->part, report.processtime);
    roast_frame_put_signed(&w->part, report.chunks);
    return end_part(w, "report", err);
}

static roast_status write_processor(writer *w, const roast_run *run, roast_error *err) {
    if (roast_run_processor(run).data == NULL)
        return ROAST_OK;
    ROAST_TRY(begin_part(w, err));
    roast_frame_put_label(&w->part, roast_run_processor(run));
    return end_part(w, "processor", err);
}

static roast_status write_replayed(writer *w, const roast_run *run, roast_error *err) {
    if (roast_run_replayed(run) == 0)
        return ROAST_OK;
    ROAST_TRY(begin_part(w, err));
    roast_frame_put_number(&w->part, roast_run_replayed(run));
    return end_part(w, "replayed", err);
}

static roast_status write_phases(writer *w, const roast_run *run, roast_error *err) {
    uint32_t count = roast_run_phase_count(run);
    if (count == 0)
        return ROAST_OK;
    ROAST_TRY(begin_part(w, err));
    for (uint32_t i = 0; i < count; i++) {
        roast_phase phase = roast_run_phase(run, i);
        roast_frame_put_number(&w->part, (uint64_t)phase.kind);
        roast_frame_put_real(&w->part, phase.start);
        roast_frame_put_real(&w->part, phase.end);
    }
    return end_part(w, "phases", err);
}

/* A list of texts, `count` of which `text_at` gives. */
static roast_status write_texts(writer *w, const char *name, const roast_run *run, uint32_t count,
                                roast_str (*text_at)(const roast_run *, uint32_t),
                                roast_error *err) {
    if (count == 0)
        return ROAST_OK;
    ROAST_TRY(begin_part(w, err));
    for (uint32_t i = 0; i < count; i++)
        roast_frame_put_label(&w->part, text_at(run, i));
    return end_part(w, name, err);
}

static roast_status write_meta(writer *w, const roast_run *run, roast_error *err) {
    uint32_t count = roast_run_meta_count(run);
    if (count == 0)
        return ROAST_OK;
    ROAST_TRY(begin_part(w, err));
    for (uint32_t i = 0; i < count; i++) {
        roast_str key, value;
        roast_run_meta_at(run, i, &key, &value);
        roast_frame_put_label(&w->part, key);
        roast_frame_put_label(&w->part, value);
    }
    return end_part(w, "meta", err);
}

static roast_status write_spans(writer *w, const roast_run *run, roast_error *err) {
    uint32_t count = roast_run_span_count(run);
    if (count == 0)
        return ROAST_OK;
    ROAST_TRY(begin_part(w, err));
    for (uint32_t i = 0; i < count; i++) {
        roast_span_value span = roast_run_span(run, i);
        roast_frame_put_label(&w->part, span.context);
        roast_frame_put_label(&w->part, span.prefix);
        roast_frame_put_label(&w->part, span.activity);
        roast_frame_put_label(&w->part, span.unit);
        roast_frame_put_real(&w->part, span.value);
    }
    return end_part(w, "spans", err);
}

/* The texts of the error are there if the number before them is 1; the rest is skipped files. */
static roast_status write_ending(writer *w, const roast_run *run, roast_error *err) {
    const roast_ending *ending = roast_run_ending_view(run);
    const roast_run_error *error = roast_ending_error(ending);
    roast_ending_pieces pieces = roast_ending_get_pieces(ending);
    if (ending == NULL)
        return ROAST_OK;
    ROAST_TRY(begin_part(w, err));
    roast_frame_put_number(&w->part, (uint64_t)roast_ending_outcome(ending));
    roast_frame_put_signed(&w->part, pieces.all);
    roast_frame_put_signed(&w->part, pieces.done);
    roast_frame_put_signed(&w->part, pieces.failed);
    roast_frame_put_number(&w->part, error != NULL);
    if (error != NULL) {
#define X(name) roast_frame_put_label(&w->part, error->name);
        ROAST_RUN_ERROR_TEXTS(X)
#undef X
        roast_frame_put_signed(&w->part, error->entry_start);
        roast_frame_put_signed(&w->part, error->entry_stop);
    }
    for (uint32_t i = 0; i < roast_ending_skipped_count(ending); i++) {
        roast_skipped_file skipped = roast_ending_skipped(ending, i);
        roast_frame_put_label(&w->part, skipped.dataset);
        roast_frame_put_label(&w->part, skipped.file);
        roast_frame_put_label(&w->part, skipped.reason);
    }
    return end_part(w, "ending", err);
}

/* ---- parts that have a packed form of their own ---- */

/* `status` says whether the packed form was written to the sink, which is freed. */
static roast_status put_packed(writer *w, const char *name, roast_sink *sink, roast_status status,
                               roast_part_place place, roast_error *err) {
    if (status == ROAST_OK)
        status = roast_part_put(w->db, name, roast_sink_memory(sink), place, err);
    roast_sink_free(sink);
    return status;
}

static roast_status put_log(writer *w, const char *name, const roast_chunklog *log,
                            roast_part_place place, roast_error *err) {
    roast_sink *sink;
    ROAST_TRY(roast_sink_new_memory(&sink, err));
    return put_packed(w, name, sink, roast_chunklog_encode(log, sink, err), place, err);
}

static roast_status put_series(writer *w, const char *name, const roast_series *series,
                               roast_part_place place, roast_error *err) {
    roast_sink *sink;
    ROAST_TRY(roast_sink_new_memory(&sink, err));
    return put_packed(w, name, sink, roast_series_encode(series, sink, err), place, err);
}

static roast_status put_attempts(writer *w, const roast_attempts *attempts, roast_error *err) {
    roast_sink *sink;
    ROAST_TRY(roast_sink_new_memory(&sink, err));
    return put_packed(w, "attempts", sink, roast_attempts_encode(attempts, sink, err),
                      large_place(w), err);
}

/* ---- chunks ---- */

/* A part with more of them is cut into two: reading it takes memory for one part beyond that of the run. */
enum { ROWS_OF_A_PART = 16384 };
#define BYTES_OF_A_PART ((size_t)64 << 20)

/* The sizes of the files, for all parts: a part has only the files that its chunks name. */
static roast_status copy_files(const roast_chunklog *log, roast_chunklog *files, roast_error *err) {
    roast_file_cursor cursor;
    roast_file file;
    roast_status status = ROAST_OK;
    roast_branch_size *sizes = NULL;
    size_t capacity = 0;
    roast_file_cursor_init(&cursor, log);
    while (status == ROAST_OK && roast_file_cursor_next(&cursor, &file)) {
        roast_tail_cursor branches;
        void *room = sizes;
        status = roast_array_reserve(&room, &capacity, sizeof *sizes, file.n_branches);
        sizes = room;
        if (status != ROAST_OK)
            break;
        roast_file_branches(log, &file, &branches);
        for (uint32_t i = 0; i < file.n_branches; i++)
            roast_file_next_branch(&branches, &sizes[i]);
        file.branches = sizes;
        status = roast_chunklog_add_file(files, &file, err);
    }
    roast_free(sizes);
    return status;
}

static roast_status write_files(writer *w, const roast_chunklog *log, roast_error *err) {
    roast_chunklog *files;
    ROAST_TRY(roast_chunklog_new(&files, err));
    roast_status status = copy_files(log, files, err);
    if (status == ROAST_OK)
        status = put_log(w, "chunks", files, large_place(w), err);
    roast_chunklog_free(files);
    return status;
}

static roast_status write_rows(writer *w, const roast_chunklog *log, uint64_t first, uint64_t count,
                               roast_error *err) {
    roast_chunklog *slice;
    ROAST_TRY(roast_chunklog_new(&slice, err));
    roast_status status = roast_chunklog_merge_rows(slice, log, first, count, err);
    bool large = status == ROAST_OK && count > 1 && roast_chunklog_memory(slice) > BYTES_OF_A_PART;
    if (status == ROAST_OK && !large)
        status = put_log(w, "chunks", slice, large_place(w), err);
    roast_chunklog_free(slice);
    if (large) {
        ROAST_TRY(write_rows(w, log, first, count / 2, err));
        return write_rows(w, log, first + count / 2, count - count / 2, err);
    }
    return status;
}

static roast_status write_chunks(writer *w, const roast_chunklog *log, roast_error *err) {
    uint64_t count = roast_chunklog_count(log);
    if (count <= ROWS_OF_A_PART && roast_chunklog_memory(log) <= BYTES_OF_A_PART)
        return put_log(w, "chunks", log, large_place(w), err);
    ROAST_TRY(write_files(w, log, err));
    for (uint64_t first = 0; first < count; first += ROWS_OF_A_PART) {
        uint64_t rows = count - first < ROWS_OF_A_PART ? count - first : ROWS_OF_A_PART;
        ROAST_TRY(write_rows(w, log, first, rows, err));
    }
    return ROAST_OK;
}

/* ---- all ---- */

static roast_status write_small(writer *w, const roast_run *run, roast_error *err) {
    const roast_chunklog *sections = roast_run_sections_view(run);
    const roast_series *counts = roast_run_counts_view(run);
    ROAST_TRY(write_clock(w, run, err));
    ROAST_TRY(write_report(w, run, err));
    ROAST_TRY(write_processor(w, run, err));
    ROAST_TRY(write_replayed(w, run, err));
    ROAST_TRY(write_phases(w, run, err));
    ROAST_TRY(write_texts(w, "columns", run, roast_run_column_count(run), roast_run_column, err));
    ROAST_TRY(write_meta(w, run, err));
    ROAST_TRY(write_texts(w, "notes", run, roast_run_note_count(run), roast_run_note, err));
    ROAST_TRY(write_spans(w, run, err));
    ROAST_TRY(write_ending(w, run, err));
    if (sections != NULL)
        ROAST_TRY(put_log(w, "sections", sections, small_place(w), err));
    return counts == NULL ? ROAST_OK : put_series(w, "counts", counts, small_place(w), err);
}

static roast_status write_all(writer *w, const roast_run *run, roast_error *err) {
    const roast_chunklog *chunks = roast_run_chunks_view(run); /* NULL: given away */
    const roast_series *series = roast_run_series_view(run);
    const roast_attempts *attempts = roast_run_attempts_view(run);
    ROAST_TRY(write_small(w, run, err));
    /* The chunks come last: a reader decodes the parts before them while it reads them. */
    if (series != NULL)
        ROAST_TRY(put_series(w, "series", series, large_place(w), err));
    if (attempts != NULL)
        ROAST_TRY(put_attempts(w, attempts, err));
    return chunks == NULL ? ROAST_OK : write_chunks(w, chunks, err);
}

roast_status roast_write_run(sqlite3 *db, const roast_run *run, bool live, roast_error *err) {
    writer w = {.db = db, .live = live};
    return write_all(&w, run, err);
}

roast_status roast_write_extras(sqlite3 *db, const roast_store_options *options, roast_error *err) {
    writer w = {.db = db};
    ROAST_TRY(begin_part(&w, err));
    for (uint32_t i = 0; i < options->n_files; i++) {
        const roast_store_file *file = &options->files[i];
        roast_frame_put_label(&w.part, roast_str_of(file->name));
        roast_frame_put_number(&w.part, file->len);
        roast_frame_put_number(&w.part, roast_crc32c(0, file->bytes, file->len));
    }
    ROAST_TRY(end_part(&w, "files", err));
    for (uint32_t i = 0; i < options->n_blobs; i++) {
        const roast_store_blob_in *blob = &options->blobs[i];
        char name[sizeof ROAST_PART_BLOB + ROAST_STORE_MAX_NAME];
        snprintf(name, sizeof name, ROAST_PART_BLOB "%s", blob->name);
        ROAST_TRY(roast_part_put(db, name, (roast_str){blob->bytes, blob->len}, ROAST_PART_APPENDED,
                                 err));
    }
    return ROAST_OK;
}
