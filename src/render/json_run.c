#include "render/json_run.h"

#include <math.h>
#include <stdio.h>

#include "base/utf8.h"
#include "render/tails.h"

/* The parts of the document that come bit by bit, in their order. */
typedef enum part { PART_FILES, PART_SERIES, PART_CHUNKS, PART_END } part;

struct roast_json_run {
    roast_json json;
    const roast_run *head;
    roast_json_chunks *chunks;
    part part;
    bool series_is_written;
    roast_buffer text;
};

/* Lines: the members of the document and, one level below, the rows of its tables. */
enum { OPEN = 2, OPEN_IN_SERIES = 3 };

static roast_status failed(roast_status status, roast_error *err) {
    if (status == ROAST_OK || status == ROAST_ESTATE)
        return status;
    return roast_error_set(err, status, "json", -1, "no memory to write JSON");
}

/* ---- parts ---- */

static void begin_part(roast_json_run *writer) {
    if (writer->part == PART_FILES) {
        roast_json_key(&writer->json, "file_metadata");
        roast_json_begin_object(&writer->json);
    } else if (writer->part == PART_CHUNKS) {
        roast_json_key(&writer->json, "raw_chunk_metrics");
        roast_json_begin_array(&writer->json);
    }
}

static void end_part(roast_json_run *writer) {
    if (writer->part == PART_FILES)
        roast_json_end_object(&writer->json);
    else if (writer->part == PART_CHUNKS)
        roast_json_end_array(&writer->json);
}

static roast_status go_to(roast_json_run *writer, part wanted, roast_error *err) {
    if (wanted < writer->part)
        return roast_error_set(err, ROAST_ESTATE, "json", -1,
                               "files come first, then the series, then the chunks");
    while (writer->part < wanted) {
        end_part(writer);
        writer->part++;
        begin_part(writer);
    }
    return ROAST_OK;
}

/* ---- life ---- */

roast_status roast_json_run_new(const roast_metrics *metrics, const roast_run *head,
                                roast_sink *sink, roast_json_run **out, roast_error *err) {
    roast_json_run *writer = roast_alloc_zero(sizeof *writer);
    roast_status status = writer != NULL ? roast_json_chunks_new(&writer->chunks) : ROAST_ENOMEM;
    if (status == ROAST_OK) {
        writer->head = head;
        roast_json_init(&writer->json, sink, OPEN);
        roast_json_begin_object(&writer->json);
        status = roast_json_put_metrics(&writer->json, metrics);
    }
    if (status != ROAST_OK) {
        roast_json_run_free(writer);
        return failed(status, err);
    }
    roast_json_put_head(&writer->json, head);
    begin_part(writer);
    *out = writer;
    return ROAST_OK;
}

void roast_json_run_free(roast_json_run *writer) {
    if (writer == NULL)
        return;
    roast_json_chunks_free(writer->chunks);
    roast_buffer_reset(&writer->text);
    roast_free(writer);
}

/* ---- files ---- */

static void put_known(roast_json *json, const char *key, int64_t value) {
    if (value >= 0)
        roast_json_put_value(json, key, roast_value_int(value));
}

static void put_branches(roast_json *json, const roast_chunklog *log, const roast_file *file) {
    roast_tail tail = roast_tail_of_file(log, file);
    roast_branch_size branch;
    roast_json_key(json, "branch_bytes");
    roast_json_begin_object(json);
    while (roast_tail_next_size(&tail, &branch)) {
        if (branch.bytes < 0)
            continue;
        roast_json_key_str(json, branch.name);
        roast_json_int(json, branch.bytes);
    }
    roast_json_end_object(json);
}

roast_status roast_json_run_file(roast_json_run *writer, const roast_chunklog *log,
                                 const roast_file *file, roast_error *err) {
    roast_json *json = &writer->json;
    ROAST_TRY(go_to(writer, PART_FILES, err));
    bool is_new;
    ROAST_TRY(failed(roast_json_chunks_file(writer->chunks, file, &is_new), err));
    if (!is_new)
        return ROAST_OK;
    roast_json_key_str(json, file->name);
    roast_json_begin_object(json);
    roast_json_put_str(json, "filename", file->name);
    if (file->tree_bytes >= 0 && file->tree_uncompressed_bytes > 0)
        roast_json_put_real(json, "compression_ratio",
                            (double)file->tree_bytes / (double)file->tree_uncompressed_bytes);
    put_known(json, "total_branches", file->total_branches);
    put_known(json, "total_tree_bytes", file->tree_bytes);
    put_branches(json, log, file);
    roast_json_end_object(json);
    return ROAST_OK;
}

/* ---- the series ---- */

static void put_counts(roast_json *json, const roast_series *series) {
    roast_json_key(json, "worker_counts");
    roast_json_begin_array(json);
    for (uint64_t tick = 0; tick < roast_series_tick_count(series); tick++) {
        roast_json_begin_object(json);
        roast_json_key(json, "timestamp");
        roast_json_time(json, roast_series_tick_time(series, tick));
        roast_json_key(json, "worker_count");
        roast_json_uint(json, roast_series_tick_workers(series, tick));
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
        roast_json_put_value(json, column->json_key, roast_value_int((int64_t)value));
    roast_json_end_object(json);
}

/* The list is there only if there is something in it. */
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

static void put_series(roast_json_run *writer, const roast_series *series) {
    roast_json *json = &writer->json;
    const roast_series *counts = roast_run_counts_view(writer->head);
    roast_json_key(json, "tracking_data");
    json->open = OPEN_IN_SERIES;
    roast_json_begin_object(json);
    put_counts(json, counts != NULL ? counts : series);
    for (int column = 0; column < ROAST_COLUMNS; column++) {
        roast_json_key(json, roast_series_column_at(column)->key);
        roast_json_begin_object(json);
        for (uint32_t worker = 0; worker < roast_series_worker_count(series); worker++)
            put_worker(json, series, worker, column);
        roast_json_end_object(json);
    }
    roast_json_end_object(json);
    json->open = OPEN;
}

roast_status roast_json_run_series(roast_json_run *writer, const roast_series *series,
                                   roast_error *err) {
    ROAST_TRY(go_to(writer, PART_SERIES, err));
    if (writer->series_is_written)
        return roast_error_set(err, ROAST_ESTATE, "json", -1, "the series comes once");
    writer->series_is_written = true;
    put_series(writer, series);
    return ROAST_OK;
}

/* ---- chunks ---- */

roast_status roast_json_run_chunk(roast_json_run *writer, const roast_chunklog *log,
                                  const roast_chunk *chunk, roast_error *err) {
    ROAST_TRY(go_to(writer, PART_CHUNKS, err));
    roast_json_begin_object(&writer->json);
    roast_status status = roast_json_put_chunk(writer->chunks, &writer->json, log, chunk);
    roast_json_end_object(&writer->json);
    return failed(status, err);
}

/* ---- sections beside the chunks ---- */

static void put_section(roast_json *json, const roast_section *section) {
    roast_json_begin_object(json);
    roast_json_put_str(json, "section_name", section->name);
    if (section->kind == ROAST_SECTION_TIME)
        roast_json_put_real(json, "duration", (double)section->value / 1e9);
    else if (section->kind == ROAST_SECTION_MEMORY)
        roast_json_put_real(json, "mem_delta_mb", (double)section->value / 1e6);
    else
        roast_json_put_value(json, "bytes", roast_value_int(section->value));
    roast_json_end_object(json);
}

static void put_own_sections(roast_json *json, const roast_chunklog *log) {
    roast_chunk_cursor cursor;
    roast_chunk record;
    roast_section section;
    roast_json_key(json, "raw_section_metrics");
    roast_json_begin_array(json);
    if (log != NULL) {
        roast_chunk_cursor_init(&cursor, log);
        while (roast_chunk_cursor_next(&cursor, &record)) {
            roast_tail tail = roast_tail_of_sections(log, &record);
            while (roast_tail_next_section(&tail, &section))
                put_section(json, &section);
        }
    }
    roast_json_end_array(json);
}

/* ---- spans; their keys are tuples in Python ---- */

/* As repr() shows it, but for characters beyond Latin-1 that cannot be seen: they stay as they are. */
static roast_status add_repr(roast_buffer *out, roast_str text) {
    const uint8_t *at = (const uint8_t *)text.data;
    bool has_single = memchr(at, '\'', text.len) != NULL;
    char quote = has_single && memchr(at, '"', text.len) == NULL ? '"' : '\'';
    ROAST_TRY(roast_buffer_append(out, &quote, 1));
    for (size_t left = text.len, len; left > 0; at += len, left -= len) {
        char escape[8];
        bool good = roast_utf8_character(at, left, &len);
        unsigned code = len == 1 ? at[0] : len == 2 ? (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu) : 256;
        const char *known = code == '\n'   ? "\\n"
                            : code == '\r' ? "\\r"
                            : code == '\t' ? "\\t"
                                           : NULL;
        if (!good) {
            ROAST_TRY(roast_buffer_append(out, ROAST_UTF8_REPLACEMENT, 3));
        } else if (known != NULL) {
            ROAST_TRY(roast_buffer_append(out, known, 2));
        } else if (code < 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0xad) {
            int size = snprintf(escape, sizeof escape, "\\x%02x", code);
            ROAST_TRY(roast_buffer_append(out, escape, (size_t)size));
        } else {
            if (code == '\\' || code == (unsigned char)quote)
                ROAST_TRY(roast_buffer_append(out, "\\", 1));
            ROAST_TRY(roast_buffer_append(out, at, len));
        }
    }
    return roast_buffer_append(out, &quote, 1);
}

static roast_status span_key(roast_buffer *out, const roast_span_value *span) {
    const roast_str names[] = {span->context, span->prefix, span->activity, span->unit};
    out->len = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].data == NULL)
            continue;
        ROAST_TRY(roast_buffer_append(out, i == 0 ? "(" : ", ", i == 0 ? 1 : 2));
        ROAST_TRY(add_repr(out, names[i]));
    }
    return roast_buffer_append(out, ")", 1);
}

static roast_status put_spans(roast_json_run *writer) {
    roast_json *json = &writer->json;
    roast_json_key(json, "raw_span_metrics");
    roast_json_begin_object(json);
    for (uint32_t i = 0; i < roast_run_span_count(writer->head); i++) {
        roast_span_value span = roast_run_span(writer->head, i);
        ROAST_TRY(span_key(&writer->text, &span));
        roast_json_key_str(json, (roast_str){(const char *)writer->text.data, writer->text.len});
        roast_json_real(json, span.value);
    }
    roast_json_end_object(json);
    return ROAST_OK;
}

/* ---- the end ---- */

roast_status roast_json_run_end(roast_json_run *writer, roast_error *err) {
    ROAST_TRY(go_to(writer, PART_END, err));
    put_own_sections(&writer->json, roast_run_sections_view(writer->head));
    roast_status status = put_spans(writer);
    if (status != ROAST_OK)
        return failed(status, err);
    roast_json_end_object(&writer->json);
    roast_json_end(&writer->json);
    return ROAST_OK;
}
