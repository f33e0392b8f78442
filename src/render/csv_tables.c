#include "roast/export.h"

#include <math.h>

#include "model/keys.h"
#include "render/moment.h"
#include "render/tails.h"

struct roast_csv {
    roast_table table;
    roast_csv_row row;
    roast_file_sizes files;
    uint64_t chunks;   /* seen so far */
    uint64_t sections; /* rows of the table of sections */
    uint32_t *depth;   /* of the sections of one chunk */
    size_t depth_capacity;
    roast_buffer text; /* where a text is put together */
};

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "csv", -1, "no memory to write CSV");
}

/* ---- headings ---- */

static void put_heading(roast_csv *csv, const char *name) {
    roast_csv_put_text(&csv->row, roast_str_of(name));
}

static void put_headings(roast_csv *csv) {
#define X(name, cell) put_heading(csv, #name);
    switch (csv->table) {
    case ROAST_TABLE_chunks:
        for (int i = 0; i < ROAST_KEYS; i++)
            put_heading(csv, roast_keys[i].name);
        break;
    case ROAST_TABLE_sections:
        ROAST_SECTION_COLUMNS(X)
        break;
    case ROAST_TABLE_reads:
        ROAST_READ_COLUMNS(X)
        break;
    case ROAST_TABLE_samples:
        ROAST_SAMPLE_COLUMNS(X)
        for (int i = 0; i < ROAST_COLUMNS; i++)
            put_heading(csv, roast_series_column_at(i)->name);
        break;
    case ROAST_TABLES:
        break;
    }
#undef X
    roast_csv_end_row(&csv->row);
}

/* ---- life ---- */

roast_status roast_csv_new(roast_table table, roast_sink *sink, roast_csv **out, roast_error *err) {
    if ((unsigned)table >= ROAST_TABLES)
        return roast_error_set(err, ROAST_EINVAL, "csv", -1, "there is no table %d", (int)table);
    roast_csv *csv = roast_alloc_zero(sizeof *csv);
    if (csv == NULL)
        return no_memory(err);
    csv->table = table;
    csv->row.sink = sink;
    put_headings(csv);
    *out = csv;
    return ROAST_OK;
}

void roast_csv_free(roast_csv *csv) {
    if (csv == NULL)
        return;
    roast_file_sizes_reset(&csv->files);
    roast_free(csv->depth);
    roast_buffer_reset(&csv->text);
    roast_free(csv);
}

void roast_csv_set_safe(roast_csv *csv) {
    csv->row.safe = true;
}

/* ---- fields that may be absent ---- */

static void put_int(roast_csv *csv, bool there, int64_t value) {
    if (there)
        roast_csv_put_int(&csv->row, value);
    else
        roast_csv_put_absent(&csv->row);
}

static void put_real(roast_csv *csv, bool there, double value) {
    roast_csv_put_real(&csv->row, there ? value : NAN);
}

/* ---- chunks ---- */

static roast_status put_key(roast_csv *csv, const roast_key *key, const roast_key_source *from) {
    double real = NAN;
    int64_t integer = 0;
    roast_str text;
    if (key->cell == ROAST_CELL_TEXT) {
        ROAST_TRY(roast_key_get_text(key, from, &csv->text, &text));
        roast_csv_put_text(&csv->row, text);
    } else if (key->cell == ROAST_CELL_REAL) {
        bool there = roast_key_get_real(key, from, &real);
        put_real(csv, there, real);
    } else {
        bool there = roast_key_get_int(key, from, &integer);
        put_int(csv, there, integer);
    }
    return ROAST_OK;
}

static roast_status put_chunk(roast_csv *csv, const roast_chunk *chunk) {
    roast_key_source from = {chunk, roast_file_sizes_find(&csv->files, chunk->file), csv->chunks};
    for (int i = 0; i < ROAST_KEYS; i++)
        ROAST_TRY(put_key(csv, &roast_keys[i], &from));
    roast_csv_end_row(&csv->row);
    return ROAST_OK;
}

/* ---- sections and reads; the fields in the order of their lists ---- */

typedef struct section_row {
    const roast_section *section;
    bool beside;    /* the record is no chunk of the run: its number and the start mean nothing */
    uint64_t first; /* the row of the record's first section */
    uint32_t depth;
} section_row;

static void put_section(roast_csv *csv, const section_row *at) {
    const roast_section *section = at->section;
    bool time = section->kind == ROAST_SECTION_TIME, memory = section->kind == ROAST_SECTION_MEMORY;
    double value_gb = (double)section->value / 1e9, before_gb = (double)section->before / 1e9;
    put_int(csv, !at->beside, (int64_t)csv->chunks);
    roast_csv_put_text(&csv->row, section->name);
    roast_csv_put_text(&csv->row, roast_str_of(roast_section_kind_name(section->kind)));
    put_real(csv, time, (double)section->value / 1e9);
    put_real(csv, !at->beside, (double)section->start_ns / 1e9);
    put_int(csv, true, at->depth);
    put_int(csv, section->count <= INT64_MAX, (int64_t)section->count);
    put_int(csv, section->parent >= 0, (int64_t)at->first + section->parent);
    put_real(csv, memory, before_gb);
    put_real(csv, memory, before_gb + value_gb);
    put_real(csv, memory, value_gb);
    put_int(csv, section->kind == ROAST_SECTION_BYTES, section->value);
    roast_csv_end_row(&csv->row);
}

static roast_status put_sections(roast_csv *csv, const roast_chunklog *log,
                                 const roast_chunk *chunk, bool beside) {
    roast_tail tail = roast_tail_of_sections(log, chunk);
    roast_section section;
    section_row at = {.section = &section, .beside = beside, .first = csv->sections};
    void *depth = csv->depth;
    ROAST_TRY(
        roast_array_reserve(&depth, &csv->depth_capacity, sizeof *csv->depth, chunk->n_sections));
    csv->depth = depth;
    for (uint32_t i = 0; i < chunk->n_sections && roast_tail_next_section(&tail, &section); i++) {
        bool inside = section.parent >= 0 && (uint32_t)section.parent < i;
        at.depth = inside ? csv->depth[section.parent] + 1 : 0;
        csv->depth[i] = at.depth;
        put_section(csv, &at);
        csv->sections++;
    }
    return ROAST_OK;
}

static void put_reads(roast_csv *csv, const roast_chunklog *log, const roast_chunk *chunk) {
    roast_tail tail = roast_tail_of_reads(log, chunk);
    roast_read read;
    while (roast_tail_next_read(&tail, &read)) {
        put_int(csv, true, (int64_t)csv->chunks);
        roast_csv_put_text(&csv->row, read.branch);
        put_real(csv, read.time_ns >= 0, (double)read.time_ns / 1e9);
        put_int(csv, read.bytes >= 0, read.bytes);
        put_int(csv, read.uncompressed_bytes >= 0, read.uncompressed_bytes);
        put_int(csv, read.count >= 0, read.count);
        roast_csv_end_row(&csv->row);
    }
}

/* ---- samples ---- */

static void put_sample(roast_csv *csv, roast_str worker, const roast_sample *sample) {
    char moment[ROAST_MOMENT_TEXT];
    roast_moment_text(sample->when, "Z", moment);
    roast_csv_put_text(&csv->row, worker);
    roast_csv_put_text(&csv->row, roast_str_of(moment));
    for (int i = 0; i < ROAST_COLUMNS; i++) {
        double value = sample->value[i];
        bool fits = value >= -0x1p63 && value < 0x1p63;
        if (roast_series_column_at(i)->steps_per_unit > 1)
            put_real(csv, true, value);
        else
            put_int(csv, fits, fits ? (int64_t)value : 0);
    }
    roast_csv_end_row(&csv->row);
}

void roast_csv_series(roast_csv *csv, const roast_series *series) {
    roast_series_cursor cursor;
    roast_sample sample;
    if (csv->table != ROAST_TABLE_samples)
        return;
    for (uint32_t worker = 0; worker < roast_series_worker_count(series); worker++) {
        roast_str name = roast_series_worker_name(series, worker);
        roast_series_cursor_init(&cursor, series, worker);
        while (roast_series_cursor_next(&cursor, &sample))
            put_sample(csv, name, &sample);
    }
}

/* ---- what comes in ---- */

roast_status roast_csv_file(roast_csv *csv, const roast_file *file, roast_error *err) {
    roast_status status = ROAST_OK;
    if (csv->table == ROAST_TABLE_chunks)
        status = roast_file_sizes_add(&csv->files, file);
    return status == ROAST_OK ? ROAST_OK : no_memory(err);
}

roast_status roast_csv_chunk(roast_csv *csv, const roast_chunklog *log, const roast_chunk *chunk,
                             roast_error *err) {
    roast_status status = ROAST_OK;
    if (csv->table == ROAST_TABLE_chunks)
        status = put_chunk(csv, chunk);
    else if (csv->table == ROAST_TABLE_sections)
        status = put_sections(csv, log, chunk, false);
    else if (csv->table == ROAST_TABLE_reads)
        put_reads(csv, log, chunk);
    csv->chunks++;
    return status == ROAST_OK ? ROAST_OK : no_memory(err);
}

roast_status roast_csv_beside(roast_csv *csv, const roast_chunklog *log, const roast_chunk *record,
                              roast_error *err) {
    if (csv->table != ROAST_TABLE_sections)
        return ROAST_OK;
    return put_sections(csv, log, record, true) == ROAST_OK ? ROAST_OK : no_memory(err);
}

/* ---- a whole run ---- */

static roast_status write_log(roast_csv *csv, const roast_chunklog *log, bool beside,
                              roast_error *err) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    if (log == NULL)
        return ROAST_OK;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk))
        ROAST_TRY(beside ? roast_csv_beside(csv, log, &chunk, err)
                         : roast_csv_chunk(csv, log, &chunk, err));
    return ROAST_OK;
}

static roast_status write_run(roast_csv *csv, const roast_run *run, roast_error *err) {
    const roast_chunklog *log = roast_run_chunks_view(run);
    roast_file_cursor cursor;
    roast_file file;
    roast_file_cursor_init(&cursor, log);
    while (roast_file_cursor_next(&cursor, &file))
        ROAST_TRY(roast_csv_file(csv, &file, err));
    ROAST_TRY(write_log(csv, log, false, err));
    roast_csv_series(csv, roast_run_series_view(run));
    return write_log(csv, roast_run_sections_view(run), true, err);
}

roast_status roast_csv_run(roast_table table, const roast_run *run, roast_sink *sink,
                           roast_error *err) {
    roast_csv *csv;
    ROAST_TRY(roast_csv_new(table, sink, &csv, err));
    roast_status status = write_run(csv, run, err);
    roast_csv_free(csv);
    return status;
}
