/* The small parts of run.sqlite: all of a run but chunks, series and attempts. */
#include <string.h>

#include "store/read/read.h"

/* ---- small parts ---- */

typedef roast_status (*take_part)(roast_store *store, roast_frame_reader *in);

static bool is_more(const roast_frame_reader *in) {
    return in->at < in->end;
}

static roast_status get_text(roast_frame_reader *in, roast_str *out) {
    return roast_frame_get_label(in, ROAST_PART_MAX, out);
}

static roast_status take_clock(roast_store *store, roast_frame_reader *in) {
    double start, end;
    ROAST_TRY(roast_frame_get_real(in, &start));
    ROAST_TRY(roast_frame_get_real(in, &end));
    roast_run_set_clock(store->head, start, end);
    return ROAST_OK;
}

static roast_status take_report(roast_store *store, roast_frame_reader *in) {
    uint64_t have;
    roast_report report = {0};
    ROAST_TRY(roast_frame_get_number(in, &have));
    ROAST_TRY(roast_frame_get_signed(in, &report.entries));
    ROAST_TRY(roast_frame_get_signed(in, &report.bytesread));
    ROAST_TRY(roast_frame_get_real(in, &report.processtime));
    ROAST_TRY(roast_frame_get_signed(in, &report.chunks));
    report.have_entries = (have & 1) != 0;
    report.have_bytesread = (have & 2) != 0;
    report.have_processtime = (have & 4) != 0;
    report.have_chunks = (have & 8) != 0;
    roast_run_set_report(store->head, &report);
    return ROAST_OK;
}

static roast_status take_processor(roast_store *store, roast_frame_reader *in) {
    roast_str name;
    ROAST_TRY(get_text(in, &name));
    return roast_run_set_processor(store->head, name, in->err);
}

static roast_status take_replayed(roast_store *store, roast_frame_reader *in) {
    uint64_t chunks;
    ROAST_TRY(roast_frame_get_number(in, &chunks));
    roast_run_set_replayed(store->head, chunks);
    return ROAST_OK;
}

static roast_status take_phases(roast_store *store, roast_frame_reader *in) {
    while (is_more(in)) {
        uint64_t kind;
        roast_phase phase;
        ROAST_TRY(roast_frame_get_number(in, &kind));
        ROAST_TRY(roast_frame_get_real(in, &phase.start));
        ROAST_TRY(roast_frame_get_real(in, &phase.end));
        phase.kind =
            kind < ROAST_PHASE_COUNT ? (roast_phase_kind)kind : ROAST_PHASE_COUNT; /* refused */
        ROAST_TRY(roast_run_add_phase(store->head, &phase, in->err));
    }
    return ROAST_OK;
}

static roast_status take_columns(roast_store *store, roast_frame_reader *in) {
    roast_str column;
    while (is_more(in)) {
        ROAST_TRY(get_text(in, &column));
        ROAST_TRY(roast_run_add_column(store->head, column, in->err));
    }
    return ROAST_OK;
}

static roast_status take_meta(roast_store *store, roast_frame_reader *in) {
    roast_str key, value;
    while (is_more(in)) {
        ROAST_TRY(get_text(in, &key));
        ROAST_TRY(get_text(in, &value));
        ROAST_TRY(roast_run_set_meta(store->head, key, value, in->err));
    }
    return ROAST_OK;
}

static roast_status take_notes(roast_store *store, roast_frame_reader *in) {
    roast_str note;
    while (is_more(in)) {
        ROAST_TRY(get_text(in, &note));
        ROAST_TRY(roast_run_add_note(store->head, note, in->err));
    }
    return ROAST_OK;
}

static roast_status take_spans(roast_store *store, roast_frame_reader *in) {
    roast_span_value span;
    while (is_more(in)) {
        ROAST_TRY(get_text(in, &span.context));
        ROAST_TRY(get_text(in, &span.prefix));
        ROAST_TRY(get_text(in, &span.activity));
        ROAST_TRY(get_text(in, &span.unit));
        ROAST_TRY(roast_frame_get_real(in, &span.value));
        ROAST_TRY(roast_run_add_span(store->head, &span, in->err));
    }
    return ROAST_OK;
}

static roast_status get_error(roast_frame_reader *in, roast_ending *ending) {
    roast_run_error error;
#define X(name) ROAST_TRY(get_text(in, &error.name));
    ROAST_RUN_ERROR_TEXTS(X)
#undef X
    ROAST_TRY(roast_frame_get_signed(in, &error.entry_start));
    ROAST_TRY(roast_frame_get_signed(in, &error.entry_stop));
    return roast_ending_set_error(ending, &error, in->err);
}

static roast_status fill_ending(roast_frame_reader *in, roast_ending *ending) {
    roast_ending_pieces pieces;
    uint64_t raised;
    ROAST_TRY(roast_frame_get_signed(in, &pieces.all));
    ROAST_TRY(roast_frame_get_signed(in, &pieces.done));
    ROAST_TRY(roast_frame_get_signed(in, &pieces.failed));
    roast_ending_set_pieces(ending, pieces);
    ROAST_TRY(roast_frame_get_number(in, &raised));
    if (raised != 0)
        ROAST_TRY(get_error(in, ending));
    while (is_more(in)) {
        roast_skipped_file skipped;
        ROAST_TRY(get_text(in, &skipped.dataset));
        ROAST_TRY(get_text(in, &skipped.file));
        ROAST_TRY(get_text(in, &skipped.reason));
        ROAST_TRY(roast_ending_add_skipped(ending, &skipped, in->err));
    }
    return ROAST_OK;
}

static roast_status take_ending(roast_store *store, roast_frame_reader *in) {
    uint64_t outcome;
    roast_ending *ending;
    ROAST_TRY(roast_frame_get_number(in, &outcome));
    if (outcome >= ROAST_END_COUNT)
        return ROAST_ECORRUPT;
    ROAST_TRY(roast_ending_new((roast_end)outcome, &ending, in->err));
    roast_status status = fill_ending(in, ending);
    if (status != ROAST_OK) {
        roast_ending_free(ending);
        return status;
    }
    roast_run_take_ending(store->head, ending);
    return ROAST_OK;
}

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "run.sqlite", -1, "no memory for the measurement");
}

static roast_status take_files(roast_store *store, roast_frame_reader *in) {
    roast_stored_file file;
    while (is_more(in)) {
        ROAST_TRY(get_text(in, &file.name));
        ROAST_TRY(roast_frame_get_number(in, &file.len));
        ROAST_TRY(roast_frame_get_number(in, &file.checksum));
        void *files = store->files;
        roast_status status = roast_array_reserve(&files, &store->files_capacity,
                                                  sizeof *store->files, store->n_files + 1);
        store->files = files;
        if (status != ROAST_OK || roast_arena_str(&store->texts, file.name, &file.name) != ROAST_OK)
            return no_memory(in->err);
        store->files[store->n_files++] = file;
    }
    return ROAST_OK;
}

/* ---- small parts that are no lists of values ---- */

static roast_status take_sections(roast_store *store, const roast_part_walk *part,
                                  roast_error *err) {
    roast_chunklog *sections;
    ROAST_TRY(roast_chunklog_decode(part->bytes.data, part->bytes.len, &sections, err));
    roast_run_take_sections(store->head, sections);
    return ROAST_OK;
}

static roast_status take_counts(roast_store *store, const roast_part_walk *part, roast_error *err) {
    roast_series *counts;
    ROAST_TRY(roast_series_decode(part->bytes.data, part->bytes.len, &counts, err));
    roast_run_take_counts(store->head, counts);
    return ROAST_OK;
}

static roast_status take_blob(roast_store *store, const roast_part_walk *part, roast_error *err) {
    static const size_t front = sizeof ROAST_PART_BLOB - 1;
    roast_stored_blob blob = {{part->name.data + front, part->name.len - front},
                              {(const char *)part->bytes.data, part->bytes.len}};
    enum { MOST = 4 * ROAST_STORE_MAX_FILE };
    if (blob.bytes.len > MOST - store->bytes_of_blobs)
        return roast_error_set(err, ROAST_ELIMIT, "run.sqlite", -1,
                               "the blobs have more than %d MiB together", MOST >> 20);
    store->bytes_of_blobs += blob.bytes.len;
    void *blobs = store->blobs;
    roast_status status = roast_array_reserve(&blobs, &store->blobs_capacity, sizeof *store->blobs,
                                              store->n_blobs + 1);
    store->blobs = blobs;
    if (status != ROAST_OK || roast_arena_str(&store->texts, blob.name, &blob.name) != ROAST_OK ||
        roast_arena_str(&store->texts, blob.bytes, &blob.bytes) != ROAST_OK)
        return no_memory(err);
    store->blobs[store->n_blobs++] = blob;
    return ROAST_OK;
}

static take_part taker_of(roast_str name) {
    static const struct {
        const char *name;
        take_part take;
    } takers[] = {
        {"clock", take_clock},       {"report", take_report},   {"processor", take_processor},
        {"replayed", take_replayed}, {"columns", take_columns}, {"meta", take_meta},
        {"notes", take_notes},       {"spans", take_spans},     {"files", take_files},
        {"ending", take_ending},     {"phases", take_phases},
    };
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        if (roast_str_equal(name, roast_str_of(takers[i].name)))
            return takers[i].take;
    return NULL;
}

static bool is_named(const roast_part_walk *part, const char *name) {
    return roast_str_equal(part->name, roast_str_of(name));
}

static roast_status take_values(roast_store *store, const roast_part_walk *part, take_part take,
                                roast_error *err) {
    roast_frame_reader in;
    ROAST_TRY(roast_frame_open(&in, &roast_part_frame, part->bytes.data, part->bytes.len, err));
    ROAST_TRY(take(store, &in));
    return roast_frame_close(&in);
}

static roast_status take_small(roast_store *store, const roast_part_walk *part, roast_error *err) {
    take_part take = taker_of(part->name);
    if (take != NULL)
        return take_values(store, part, take, err);
    if (is_named(part, "sections"))
        return take_sections(store, part, err);
    if (is_named(part, "counts"))
        return take_counts(store, part, err);
    if (part->name.len > strlen(ROAST_PART_BLOB) &&
        memcmp(part->name.data, ROAST_PART_BLOB, strlen(ROAST_PART_BLOB)) == 0)
        return take_blob(store, part, err);
    return is_named(part, ROAST_PART_END) ? ROAST_OK : ROAST_ECORRUPT;
}

roast_status roast_read_next(roast_part_walk *walk, bool *there, roast_error *err) {
    if (err != NULL)
        roast_error_reset(err);
    return roast_part_walk_next(walk, there, err);
}

roast_status roast_read_result(int64_t id, roast_str name, roast_status status, roast_error *err) {
    if (status == ROAST_OK || status == ROAST_ENOMEM || status == ROAST_EVERSION)
        return status;
    const char *why = err != NULL ? err->message : "";
    return roast_db_damaged(err, "part %lld (%.*s) is malformed%s%s", (long long)id,
                            (int)(name.len < 64 ? name.len : 64), name.data,
                            why[0] != '\0' ? ": " : "", why);
}

static roast_status walk_small(roast_store *store, roast_part_walk *walk, roast_error *err) {
    bool there, ended = false, finished = store->state == ROAST_STORE_FINISHED;
    ROAST_TRY(roast_part_walk_begin(walk, store->db,
                                    finished ? ROAST_PARTS_SMALL : ROAST_PARTS_LIVE_SMALL, 0, err));
    for (;;) {
        ROAST_TRY(roast_read_next(walk, &there, err));
        if (!there)
            break;
        ROAST_TRY(roast_read_result(walk->id, walk->name, take_small(store, walk, err), err));
        ended = is_named(walk, ROAST_PART_END);
    }
    /* The parts of a finished file have the numbers from 1 on, and the last one is the end. */
    if (!finished || (ended && walk->id == walk->passed))
        return ROAST_OK;
    return roast_db_damaged(err, "parts of it are missing");
}

roast_status roast_read_small(roast_store *store, roast_error *err) {
    roast_part_walk walk = {.statement = NULL};
    ROAST_TRY(roast_run_new(&store->head, err));
    roast_status status = walk_small(store, &walk, err);
    roast_part_walk_end(&walk);
    return status;
}
