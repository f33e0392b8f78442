#include "render/json_run.h"

#include <math.h>
#include <stdio.h>

#include "base/utf8.h"
#include "render/unicode.h"

/* Members of the document and rows of its tables have lines of their own. */
enum { OPEN = 2, OPEN_IN_SERIES = 3 };

/* ---- files ---- */

static void put_branches(roast_json *json, const roast_chunklog *log, const roast_file *file) {
    roast_tail_cursor tail;
    roast_branch_size branch;
    roast_file_branches(log, file, &tail);
    roast_json_put_object(json, "branch_bytes");
    while (roast_file_next_branch(&tail, &branch)) {
        if (branch.bytes < 0)
            continue;
        roast_json_key_str(json, branch.name);
        roast_json_int(json, branch.bytes);
    }
    roast_json_end_object(json);
}

static void put_file(roast_json *json, const roast_chunklog *log, const roast_file *file) {
    double ratio;
    roast_json_key_str(json, file->name);
    roast_json_begin_object(json);
    roast_json_put_str(json, "filename", file->name);
    if (roast_file_ratio(file, &ratio))
        roast_json_put_real(json, "compression_ratio", ratio);
    roast_json_put_count(json, "total_branches", file->total_branches);
    roast_json_put_count(json, "total_tree_bytes", file->tree_bytes);
    put_branches(json, log, file);
    roast_json_end_object(json);
}

/* Each name once. */
static roast_status put_files(roast_json_chunks *chunks) {
    roast_file_cursor cursor;
    roast_file file;
    roast_json_put_object(chunks->json, "file_metadata");
    roast_file_cursor_init(&cursor, chunks->log);
    while (roast_file_cursor_next(&cursor, &file)) {
        uint32_t before = chunks->files.names.count;
        ROAST_TRY(roast_file_sizes_add(&chunks->files, &file));
        if (chunks->files.names.count > before)
            put_file(chunks->json, chunks->log, &file);
    }
    roast_json_end_object(chunks->json);
    return ROAST_OK;
}

/* ---- the series ---- */

static void put_counts(roast_json *json, const roast_series *series) {
    roast_json_put_array(json, "worker_counts");
    for (uint64_t tick = 0; tick < roast_series_tick_count(series); tick++) {
        roast_json_begin_object(json);
        roast_json_key(json, "timestamp");
        roast_json_time(json, roast_series_tick_time(series, tick));
        roast_json_put_int(json, "worker_count", roast_series_tick_workers(series, tick));
        roast_json_end_object(json);
    }
    roast_json_end_array(json);
}

static void put_value(roast_json *json, const roast_series_column_info *column, roast_utc when,
                      double value) {
    roast_json_begin_object(json);
    roast_json_key(json, "timestamp");
    roast_json_time(json, when);
    if (column->steps_per_unit > 1 || !(value >= -0x1p63 && value < 0x1p63))
        roast_json_put_real(json, column->json_key, value);
    else
        roast_json_put_int(json, column->json_key, (int64_t)value);
    roast_json_end_object(json);
}

/* A worker without a value has no list. */
static void put_worker(roast_json *json, const roast_series *series, uint32_t worker, int column) {
    roast_series_cursor cursor;
    roast_sample sample;
    bool begun = false;
    roast_series_cursor_init(&cursor, series, worker);
    while (roast_series_cursor_next(&cursor, &sample)) {
        if (isnan(sample.value[column]))
            continue;
        if (!begun) {
            roast_json_key_str(json, roast_series_worker_name(series, worker));
            roast_json_begin_array(json);
            begun = true;
        }
        put_value(json, roast_series_column_at(column), sample.when, sample.value[column]);
    }
    if (begun)
        roast_json_end_array(json);
}

static void put_series(roast_json *json, const roast_run *run) {
    const roast_series *series = roast_run_series_view(run), *counts = roast_run_counts_view(run);
    json->open = OPEN_IN_SERIES;
    roast_json_put_object(json, "tracking_data");
    put_counts(json, counts != NULL ? counts : series);
    for (int column = 0; column < ROAST_COLUMNS; column++) {
        roast_json_put_object(json, roast_series_column_at(column)->key);
        for (uint32_t worker = 0; worker < roast_series_worker_count(series); worker++)
            put_worker(json, series, worker, column);
        roast_json_end_object(json);
    }
    roast_json_end_object(json);
    json->open = OPEN;
}

/* ---- chunks ---- */

static roast_status put_chunks(roast_json_chunks *chunks) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_json_put_array(chunks->json, "raw_chunk_metrics");
    roast_chunk_cursor_init(&cursor, chunks->log);
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        roast_json_begin_object(chunks->json);
        ROAST_TRY(roast_json_put_chunk(chunks, &chunk));
        roast_json_end_object(chunks->json);
    }
    roast_json_end_array(chunks->json);
    return ROAST_OK;
}

/* ---- sections that belong to no chunk ---- */

static void put_section(roast_json *json, const roast_section *section) {
    roast_json_begin_object(json);
    roast_json_put_str(json, "section_name", section->name);
    if (section->kind == ROAST_SECTION_TIME)
        roast_json_put_real(json, "duration", (double)section->value / 1e9);
    else if (section->kind == ROAST_SECTION_MEMORY)
        roast_json_put_real(json, "mem_delta_mb", (double)section->value / 1e6);
    else
        roast_json_put_int(json, "bytes", section->value);
    roast_json_end_object(json);
}

static void put_own_sections(roast_json *json, const roast_chunklog *log) {
    roast_chunk_cursor cursor;
    roast_chunk record;
    roast_tail_cursor tail;
    roast_section section;
    roast_json_put_array(json, "raw_section_metrics");
    if (log != NULL)
        roast_chunk_cursor_init(&cursor, log);
    while (log != NULL && roast_chunk_cursor_next(&cursor, &record)) {
        roast_chunk_sections(log, &record, &tail);
        while (roast_chunk_next_section(&tail, &section))
            put_section(json, &section);
    }
    roast_json_end_array(json);
}

/* ---- spans; their keys are tuples in Python ---- */

/* As Python's repr() shows it; only invisible characters beyond Latin-1 stay as they are. */
static void put_repr_character(roast_sink *sink, uint32_t code, roast_str bytes) {
    const char *known = code == '\n' ? "\\n" : code == '\r' ? "\\r" : code == '\t' ? "\\t" : NULL;
    if (code == ROAST_BROKEN)
        roast_sink_puts(sink, ROAST_UTF8_REPLACEMENT);
    else if (known != NULL)
        roast_sink_puts(sink, known);
    else if (code == '\\' || code == '\'')
        roast_sink_printf(sink, "\\%c", (char)code);
    else if (code < 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0xad)
        roast_sink_printf(sink, "\\x%02x", (unsigned)code);
    else
        roast_sink_str(sink, bytes);
}

static void put_repr(roast_sink *sink, roast_str text) {
    bool has_single = memchr(text.data, '\'', text.len) != NULL;
    bool in_double = has_single && memchr(text.data, '"', text.len) == NULL;
    roast_sink_puts(sink, in_double ? "\"" : "'");
    roast_text_put_by(sink, text, in_double ? "\\" : "\\'", put_repr_character);
    roast_sink_puts(sink, in_double ? "\"" : "'");
}

static roast_status put_span(roast_json *json, const roast_span_value *span) {
    const roast_str names[] = {span->context, span->prefix, span->activity, span->unit};
    roast_sink *key;
    ROAST_TRY(roast_sink_new_memory(&key, NULL));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].data == NULL)
            continue;
        roast_sink_puts(key, i == 0 ? "(" : ", ");
        put_repr(key, names[i]);
    }
    roast_sink_puts(key, ")");
    roast_status status = roast_sink_finish(key, NULL);
    if (status == ROAST_OK) {
        roast_json_key_str(json, roast_sink_memory(key));
        roast_json_real(json, span->value);
    }
    roast_sink_free(key);
    return status;
}

static roast_status put_spans(roast_json *json, const roast_run *run) {
    roast_json_put_object(json, "raw_span_metrics");
    for (uint32_t i = 0; i < roast_run_span_count(run); i++) {
        roast_span_value span = roast_run_span(run, i);
        ROAST_TRY(put_span(json, &span));
    }
    roast_json_end_object(json);
    return ROAST_OK;
}

/* ---- all of it ---- */

static roast_status put_run(roast_json_chunks *chunks, const roast_metrics *metrics,
                            const roast_run *run) {
    roast_json *json = chunks->json;
    roast_json_begin_object(json);
    ROAST_TRY(roast_json_put_metrics(json, metrics));
    roast_json_put_head(json, run);
    ROAST_TRY(put_files(chunks));
    put_series(json, run);
    ROAST_TRY(put_chunks(chunks));
    put_own_sections(json, roast_run_sections_view(run));
    ROAST_TRY(put_spans(json, run));
    roast_json_end_object(json);
    roast_json_end(json);
    return ROAST_OK;
}

roast_status roast_json_run(const roast_metrics *metrics, const roast_run *run, roast_sink *sink,
                            roast_error *err) {
    roast_json json;
    roast_json_chunks chunks = {.json = &json, .log = roast_run_chunks_view(run)};
    roast_json_init(&json, sink, OPEN);
    roast_status status = put_run(&chunks, metrics, run);
    roast_json_chunks_reset(&chunks);
    return status == ROAST_OK ? ROAST_OK
                              : roast_error_set(err, status, "json", -1, "no memory to write JSON");
}
