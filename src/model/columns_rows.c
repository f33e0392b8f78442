/* The tables of sections, reads and samples: filled row by row. */
#include "model/columns_internal.h"

#include "model/keys.h"

#define DEFINE(columns, prefix, name, cell)                                                        \
    roast_columns_define(columns, prefix##_##name, #name, ROAST_CELL_##cell)

/* ---- sections ---- */

enum {
#define X(name, cell) SECTION_##name,
    ROAST_SECTION_COLUMNS(X)
#undef X
        SECTION_COLUMNS
};

typedef struct section_builder {
    roast_columns *columns;
    uint32_t *depth; /* of the sections of one chunk */
    size_t depth_capacity;
} section_builder;

static roast_status put_section(roast_columns *columns, uint64_t row,
                                const roast_section *section) {
    const char *kind = roast_section_kind_name(section->kind);
    bool time = section->kind == ROAST_SECTION_TIME, memory = section->kind == ROAST_SECTION_MEMORY;
    double value_gb = (double)section->value / 1e9, before_gb = (double)section->before / 1e9;
    ROAST_TRY(roast_put_text(columns, SECTION_name, row, section->name));
    ROAST_TRY(roast_put_text(columns, SECTION_kind, row, roast_str_of(kind)));
    roast_put_real(columns, SECTION_time_delta, row, time, (double)section->value / 1e9);
    roast_put_int(columns, SECTION_count, row, section->count <= INT64_MAX,
                  (int64_t)section->count);
    roast_put_real(columns, SECTION_memory_start_gb, row, memory, before_gb);
    roast_put_real(columns, SECTION_memory_end_gb, row, memory, before_gb + value_gb);
    roast_put_real(columns, SECTION_memory_delta_gb, row, memory, value_gb);
    roast_put_int(columns, SECTION_bytes, row, section->kind == ROAST_SECTION_BYTES,
                  section->value);
    return ROAST_OK;
}

/* `outside`: the record is no chunk of the run: its number and the start mean nothing. */
static roast_status put_sections(section_builder *b, const roast_chunklog *log,
                                 const roast_chunk *chunk, uint64_t number, bool outside) {
    roast_columns *columns = b->columns;
    roast_tail_cursor cursor;
    roast_section section;
    void *depth = b->depth;
    ROAST_TRY(roast_array_reserve(&depth, &b->depth_capacity, sizeof *b->depth, chunk->n_sections));
    b->depth = depth;
    ROAST_TRY(roast_columns_room(columns, chunk->n_sections));
    uint64_t first = columns->rows;
    roast_chunk_sections(log, chunk, &cursor);
    for (uint32_t i = 0; roast_chunk_next_section(&cursor, &section); i++) {
        uint64_t row = columns->rows;
        bool inside = section.parent >= 0;
        b->depth[i] = inside ? b->depth[section.parent] + 1 : 0;
        roast_put_int(columns, SECTION_chunk, row, !outside, (int64_t)number);
        roast_put_real(columns, SECTION_start, row, !outside, (double)section.start_ns / 1e9);
        roast_put_int(columns, SECTION_depth, row, true, b->depth[i]);
        roast_put_int(columns, SECTION_parent, row, inside, (int64_t)first + section.parent);
        ROAST_TRY(put_section(columns, row, &section));
        columns->rows++;
    }
    return ROAST_OK;
}

static roast_status put_log_sections(section_builder *b, const roast_chunklog *log, bool outside) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_chunk_cursor_init(&cursor, log);
    for (uint64_t number = 0; roast_chunk_cursor_next(&cursor, &chunk); number++)
        if (chunk.n_sections > 0)
            ROAST_TRY(put_sections(b, log, &chunk, number, outside));
    return ROAST_OK;
}

roast_status roast_columns_of_sections(const roast_chunklog *log, const roast_chunklog *outside,
                                       roast_columns **out) {
    section_builder b = {0};
    ROAST_TRY(roast_columns_begin(ROAST_TABLE_sections, SECTION_COLUMNS, &b.columns));
#define X(name, cell) DEFINE(b.columns, SECTION, name, cell);
    ROAST_SECTION_COLUMNS(X)
#undef X
    roast_status status = put_log_sections(&b, log, false);
    if (status == ROAST_OK && outside != NULL)
        status = put_log_sections(&b, outside, true);
    roast_free(b.depth);
    return roast_columns_end(b.columns, status, out);
}

/* ---- reads ---- */

enum {
#define X(name, cell) READ_##name,
    ROAST_READ_COLUMNS(X)
#undef X
        READ_COLUMNS
};

static roast_status put_reads(roast_columns *columns, const roast_chunklog *log,
                              const roast_chunk *chunk, uint64_t number) {
    roast_tail_cursor cursor;
    roast_read read;
    ROAST_TRY(roast_columns_room(columns, chunk->n_reads));
    roast_chunk_reads(log, chunk, &cursor);
    while (roast_chunk_next_read(&cursor, &read)) {
        uint64_t row = columns->rows;
        roast_put_int(columns, READ_chunk, row, true, (int64_t)number);
        ROAST_TRY(roast_put_text(columns, READ_branch, row, read.branch));
        roast_put_real(columns, READ_seconds, row, read.time_ns >= 0, (double)read.time_ns / 1e9);
        roast_put_int(columns, READ_bytes, row, read.bytes >= 0, read.bytes);
        roast_put_int(columns, READ_uncompressed_bytes, row, read.uncompressed_bytes >= 0,
                      read.uncompressed_bytes);
        roast_put_int(columns, READ_count, row, read.count >= 0, read.count);
        columns->rows++;
    }
    return ROAST_OK;
}

static roast_status put_log_reads(roast_columns *columns, const roast_chunklog *log) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_chunk_cursor_init(&cursor, log);
    for (uint64_t number = 0; roast_chunk_cursor_next(&cursor, &chunk); number++)
        if (chunk.n_reads > 0)
            ROAST_TRY(put_reads(columns, log, &chunk, number));
    return ROAST_OK;
}

roast_status roast_columns_of_reads(const roast_chunklog *log, roast_columns **out) {
    roast_columns *columns;
    ROAST_TRY(roast_columns_begin(ROAST_TABLE_reads, READ_COLUMNS, &columns));
#define X(name, cell) DEFINE(columns, READ, name, cell);
    ROAST_READ_COLUMNS(X)
#undef X
    return roast_columns_end(columns, put_log_reads(columns, log), out);
}

/* ---- samples ---- */

enum {
#define X(name, cell) SAMPLE_##name,
    ROAST_SAMPLE_COLUMNS(X)
#undef X
        SAMPLE_SERIES, /* the first column of the series */
    SAMPLE_COLUMNS = SAMPLE_SERIES + ROAST_COLUMNS
};

static bool is_whole(roast_series_column column) {
    return roast_series_column_at(column)->steps_per_unit <= 1;
}

static roast_status put_sample(roast_columns *columns, roast_str worker,
                               const roast_sample *sample) {
    uint64_t row = columns->rows;
    ROAST_TRY(roast_put_text(columns, SAMPLE_worker, row, worker));
    roast_put_int(columns, SAMPLE_timestamp, row, true, sample->when.ns);
    for (int i = 0; i < ROAST_COLUMNS; i++) {
        uint32_t index = (uint32_t)(SAMPLE_SERIES + i);
        double value = sample->value[i];
        if (columns->items[index].cell == ROAST_CELL_REAL) {
            roast_put_real(columns, index, row, !isnan(value), value);
        } else {
            bool fits = value >= -0x1p63 && value < 0x1p63;
            roast_put_int(columns, index, row, fits, fits ? (int64_t)value : 0);
        }
    }
    columns->rows++;
    return ROAST_OK;
}

static roast_status put_series(roast_columns *columns, const roast_series *series) {
    roast_series_cursor cursor;
    roast_sample sample;
    ROAST_TRY(roast_columns_room(columns, roast_series_sample_count(series)));
    for (uint32_t worker = 0; worker < roast_series_worker_count(series); worker++) {
        roast_str name = roast_series_worker_name(series, worker);
        roast_series_cursor_init(&cursor, series, worker);
        while (roast_series_cursor_next(&cursor, &sample)) {
            ROAST_TRY(roast_columns_room(columns, 1));
            ROAST_TRY(put_sample(columns, name, &sample));
        }
    }
    return ROAST_OK;
}

roast_status roast_columns_of_samples(const roast_series *series, roast_columns **out) {
    roast_columns *columns;
    ROAST_TRY(roast_columns_begin(ROAST_TABLE_samples, SAMPLE_COLUMNS, &columns));
#define X(name, cell) DEFINE(columns, SAMPLE, name, cell);
    ROAST_SAMPLE_COLUMNS(X)
#undef X
    for (int i = 0; i < ROAST_COLUMNS; i++)
        roast_columns_define(columns, (uint32_t)(SAMPLE_SERIES + i),
                             roast_series_column_at(i)->name,
                             is_whole(i) ? ROAST_CELL_INT : ROAST_CELL_REAL);
    return roast_columns_end(columns, put_series(columns, series), out);
}
