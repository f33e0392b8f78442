#include "roast/figures.h"
#include "roast/legacy.h"

#include <math.h>
#include <stdio.h>

#include "store/legacy/internal.h"
#include "store/place/place.h"

static const char metrics_name[] = "metrics.json";

/* ---- figures of the report ---- */

/* The first of some keys that has a number. */
static const json_t *figure(const legacy_input *input, const char *const *keys) {
    for (; *keys != NULL; keys++) {
        const json_t *value = json_object_get(input->metrics, *keys);
        if (json_is_number(value))
            return value;
    }
    return NULL;
}

/* 0.1.x wrote the number of chunk records over the report's, but not into the mean. */
static bool chunks_of_report(const legacy_input *input, int64_t *out) {
    static const char *const totals[] = {"total_cpu_time", NULL};
    static const char *const means[] = {"avg_cpu_time_per_chunk", NULL};
    static const char *const counts[] = {"num_chunks", NULL};
    double ratio =
        roast_legacy_number(figure(input, totals)) / roast_legacy_number(figure(input, means));
    if (ratio >= 1 && ratio < 1e12 && fabs(ratio - round(ratio)) < 1e-6 * ratio) {
        *out = llround(ratio);
        return true;
    }
    return roast_legacy_steps(figure(input, counts), 1, out);
}

static void set_report(legacy_input *input) {
    static const char *const entries[] = {"total_events", NULL};
    static const char *const bytes[] = {"total_bytes_read_coffea", "total_bytes_read", NULL};
    static const char *const times[] = {"total_cpu_time", NULL};
    roast_report report = {0};
    report.have_entries = roast_legacy_steps(figure(input, entries), 1, &report.entries);
    report.have_bytesread = roast_legacy_steps(figure(input, bytes), 1, &report.bytesread);
    report.processtime = roast_legacy_number(figure(input, times));
    report.have_processtime = isfinite(report.processtime);
    if (!report.have_processtime)
        report.processtime = 0;
    report.have_chunks = chunks_of_report(input, &report.chunks);
    roast_run_set_report(input->run, &report);
}

/* ---- spans ---- */

enum { SPAN_PARTS = 4 };

/* "('execute', 'f', 'thread-cpu', 'seconds')", without the second one outside tasks. */
static roast_status add_span(legacy_input *input, roast_str key, double value, char *bytes,
                             roast_error *err) {
    roast_str part[SPAN_PARTS];
    int count = roast_legacy_tuple(key, bytes, part, SPAN_PARTS);
    if (count < 3 || !isfinite(value) || part[0].data == NULL || part[count - 2].data == NULL ||
        part[count - 1].data == NULL) {
        input->odd_values++;
        return ROAST_OK;
    }
    roast_span_value span = {
        .context = part[0], .activity = part[count - 2], .unit = part[count - 1], .value = value};
    if (count == SPAN_PARTS)
        span.prefix = part[1];
    return roast_run_add_span(input->run, &span, err);
}

static roast_status add_spans(legacy_input *input, roast_error *err) {
    json_t *spans = json_object_get(input->metrics, "raw_span_metrics"), *value;
    json_t *inner = json_object_get(spans, "cumulative_worker_metrics");
    const char *key;
    size_t len;
    if (inner != NULL)
        spans = inner;
    if (spans != NULL && !json_is_null(spans) && !json_is_object(spans))
        return roast_legacy_damaged(err, metrics_name,
                                    "raw_span_metrics: an object is expected, not %s",
                                    roast_legacy_type_name(spans));
    json_object_keylen_foreach(spans, key, len, value) {
        char *bytes = roast_alloc(len + 1);
        if (bytes == NULL)
            return roast_error_set(err, ROAST_ENOMEM, "0.1.x measurement", -1,
                                   "no memory for the spans");
        roast_status status =
            add_span(input, (roast_str){key, len}, roast_legacy_number(value), bytes, err);
        roast_free(bytes);
        if (status != ROAST_OK)
            return status;
    }
    return ROAST_OK;
}

/* The processor's prefix is not kept, but how much CPU its tasks took is. The tasks of Coffea's DaskExecutor that
 * merge outputs have the name of its own function. */
static roast_status find_processor(legacy_input *input, roast_error *err) {
    ROAST_TRY(roast_run_set_meta(input->run, roast_str_of(ROAST_META_REDUCER),
                                 roast_str_of("reduce"), err));
    static const char *const own[] = {"processor_cpu_time_seconds", NULL};
    static const char *const others[] = {"overhead_cpu_time_seconds", NULL};
    double wanted = roast_legacy_number(figure(input, own));
    if (!(wanted > 0) || !(roast_legacy_number(figure(input, others)) > 0))
        return ROAST_OK;
    for (uint32_t i = 0; i < roast_run_span_count(input->run); i++) {
        roast_span_value span = roast_run_span(input->run, i);
        if (span.prefix.data != NULL && fabs(span.value - wanted) <= 1e-12 * wanted &&
            roast_str_equal(span.activity, roast_str_of("thread-cpu")))
            return roast_run_set_processor(input->run, span.prefix, err);
    }
    return ROAST_OK;
}

/* ---- the figures as they were written ---- */

/* The data of a run, and derived tables that grow with it. */
static bool has_place(const char *key) {
    static const char *const keys[] = {
        "tracking_data",     "raw_chunk_metrics",  "raw_section_metrics",
        "chunk_info",        "raw_span_metrics",   "file_metadata",
        "file_read_metrics", "compression_ratios", "bytes_read_percent_per_file",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static roast_status set_json_meta(roast_run *run, const char *key, const json_t *value,
                                  roast_error *err) {
    char *text;
    size_t len;
    ROAST_TRY(roast_legacy_dump(value, &text, &len, err));
    roast_status status = roast_run_set_meta(run, roast_str_of(key), (roast_str){text, len}, err);
    roast_free(text);
    return status;
}

static roast_status keep_figures(legacy_input *input, roast_error *err) {
    json_t *figures = json_object(), *value;
    const char *key;
    size_t len;
    bool failed = figures == NULL;
    json_object_keylen_foreach(input->metrics, key, len, value) {
        if (strlen(key) == len && has_place(key))
            continue;
        failed = failed || json_object_setn(figures, key, len, value) != 0;
    }
    roast_status status = ROAST_OK;
    if (failed)
        status = roast_error_set(err, ROAST_ENOMEM, "0.1.x measurement", -1,
                                 "no memory for the recorded metrics");
    else if (json_object_size(figures) > 0)
        status = set_json_meta(input->run, "recorded_metrics", figures, err);
    json_decref(figures);
    return status;
}

/* ---- the small files ---- */

static roast_status set_metadata(legacy_input *input, roast_str text, roast_error *err) {
    json_t *metadata;
    roast_status status = ROAST_OK;
    if (text.data == NULL)
        return ROAST_OK;
    ROAST_TRY(roast_legacy_parse(text, "metadata.json", &metadata, err));
    roast_str format = roast_legacy_text(json_object_get(metadata, "format"));
    roast_str when = roast_legacy_text(json_object_get(metadata, "timestamp"));
    if (!json_is_object(metadata))
        status = roast_legacy_damaged(err, "metadata.json", "an object is expected, not %s",
                                      roast_legacy_type_name(metadata));
    else if (format.data != NULL)
        status = roast_run_set_meta(input->run, roast_str_of("format"), format, err);
    if (status == ROAST_OK && when.data != NULL) {
        input->have_saved = roast_legacy_time(when, &input->saved, &input->saved_is_local);
        status = roast_run_set_meta(input->run, roast_str_of("saved"), when, err);
    }
    json_decref(metadata);
    return status;
}

static roast_status set_config(legacy_input *input, roast_str text, roast_error *err) {
    json_t *config;
    if (text.data == NULL)
        return ROAST_OK;
    ROAST_TRY(roast_legacy_parse(text, "config.json", &config, err));
    roast_status status = set_json_meta(input->run, "config", config, err);
    json_decref(config);
    return status;
}

/* ---- the clock ---- */

static roast_status note(legacy_input *input, const char *text, roast_error *err) {
    return roast_run_add_note(input->run, roast_str_of(text), err);
}

static double saved_seconds(const legacy_input *input) {
    if (!input->have_saved)
        return NAN;
    roast_utc saved = input->saved;
    if (input->saved_is_local && input->shift_known)
        saved.ns -= input->shift_ns;
    else if (input->saved_is_local)
        saved = roast_legacy_from_local(saved);
    return (double)saved.ns / 1e9;
}

static roast_status set_clock(legacy_input *input, double start, double end, roast_error *err) {
    const double has_a_date =
        1e9; /* 2001; a clock without one counts from the start of the machine */
    double elapsed = end - start, moved = input->first_seen;
    roast_run_set_clock(input->run, start, end);
    if (start >= has_a_date)
        return ROAST_OK;
    if (isnan(moved))
        moved = saved_seconds(input) - elapsed;
    if (input->last_chunk > moved + elapsed)
        moved = input->last_chunk - elapsed;
    if (isnan(moved))
        return note(input, "when the run started was not kept", err);
    roast_run_set_clock(input->run, moved, moved + elapsed);
    return note(input, "when the run started was not kept; it is taken from what was seen first",
                err);
}

static roast_status add_notes(legacy_input *input, roast_error *err) {
    char text[96];
    ROAST_TRY(note(input, "written by roastcoffea 0.1.x", err));
    if (roast_series_tick_count(roast_run_series_view(input->run)) > 0 && !input->shift_known)
        ROAST_TRY(note(input,
                       "times of the workers have no zone: taken for the local time of the machine "
                       "that reads them",
                       err));
    if (input->odd_values == 0)
        return ROAST_OK;
    snprintf(text, sizeof text, "%llu values were left out: not of the type they should have",
             (unsigned long long)input->odd_values);
    return note(input, text, err);
}

/* ---- all of it ---- */

static roast_status fill(legacy_input *input, const roast_legacy_texts *texts, roast_error *err) {
    double start, end;
    if (!roast_legacy_times(texts->times, &start, &end))
        return roast_legacy_damaged(err, "start_end_time.txt",
                                    "two numbers with a comma between them are expected");
    ROAST_TRY(set_metadata(input, texts->metadata, err));
    ROAST_TRY(set_config(input, texts->config, err));
    set_report(input);
    ROAST_TRY(roast_legacy_series(input, err));
    ROAST_TRY(roast_legacy_chunks(input, err));
    ROAST_TRY(roast_legacy_sections(input, err));
    ROAST_TRY(add_spans(input, err));
    ROAST_TRY(find_processor(input, err));
    ROAST_TRY(keep_figures(input, err));
    ROAST_TRY(set_clock(input, start, end, err));
    return add_notes(input, err);
}

/* Which of several measurements it is, in front of which of its files. */
static void name_folder(const char *path, roast_error *err) {
    enum { SHOWN = 100 };
    const roast_error told = *err;
    size_t len = strlen(path);
    roast_error_set(err, told.status, told.where, told.position, "%s/%s",
                    len <= SHOWN ? path : path + len - SHOWN, told.message);
}

roast_status roast_legacy_decode(const roast_legacy_texts *texts, roast_run **out,
                                 roast_error *err) {
    legacy_input input = {.first_seen = NAN, .last_chunk = NAN};
    roast_status status = roast_legacy_parse(texts->metrics, metrics_name, &input.metrics, err);
    if (status == ROAST_OK && !json_is_object(input.metrics))
        status = roast_legacy_damaged(err, metrics_name, "an object is expected, not %s",
                                      roast_legacy_type_name(input.metrics));
    if (status == ROAST_OK)
        status = roast_run_new(&input.run, err);
    if (status == ROAST_OK)
        status = fill(&input, texts, err);
    json_decref(input.metrics);
    if (status == ROAST_OK) {
        *out = input.run;
        return ROAST_OK;
    }
    roast_run_free(input.run);
    if (status == ROAST_ECORRUPT && texts->folder != NULL && err != NULL)
        name_folder(texts->folder, err);
    return status;
}

/* ---- from files ---- */

struct roast_legacy_files {
    roast_buffer metrics, times, metadata, config;
    char *folder;
};

/* A file that need not be there. */
static roast_status read_optional(const char *path, const char *name, roast_buffer *out,
                                  roast_error *err) {
    roast_status status = roast_path_read(path, name, ROAST_LEGACY_MAX_SMALL_FILE, out, err);
    return status == ROAST_ENOTFOUND ? ROAST_OK : status;
}

static roast_status read_all(const char *path, roast_legacy_files *files, roast_error *err) {
    ROAST_TRY(roast_path_read(path, metrics_name, ROAST_LEGACY_MAX_FILE, &files->metrics, err));
    ROAST_TRY(roast_path_read(path, "start_end_time.txt", ROAST_LEGACY_MAX_SMALL_FILE,
                              &files->times, err));
    ROAST_TRY(read_optional(path, "metadata.json", &files->metadata, err));
    return read_optional(path, "config.json", &files->config, err);
}

void roast_legacy_files_free(roast_legacy_files *files) {
    if (files == NULL)
        return;
    roast_buffer_reset(&files->metrics);
    roast_buffer_reset(&files->times);
    roast_buffer_reset(&files->metadata);
    roast_buffer_reset(&files->config);
    roast_free(files->folder);
    roast_free(files);
}

roast_status roast_legacy_files_read(const char *path, roast_legacy_files **out, roast_error *err) {
    size_t size = strlen(path) + 1;
    roast_legacy_files *files = roast_alloc_zero(sizeof *files);
    if (files != NULL)
        files->folder = roast_alloc(size);
    if (files == NULL || files->folder == NULL) {
        roast_legacy_files_free(files);
        return roast_error_set(err, ROAST_ENOMEM, "0.1.x measurement", -1, "no memory for files");
    }
    memcpy(files->folder, path, size);
    roast_status status = read_all(path, files, err);
    if (status == ROAST_OK)
        *out = files;
    else
        roast_legacy_files_free(files);
    return status;
}

static roast_str str_of(const roast_buffer *buffer) {
    return (roast_str){(const char *)buffer->data, buffer->len};
}

roast_legacy_texts roast_legacy_files_texts(const roast_legacy_files *files) {
    return (roast_legacy_texts){str_of(&files->metrics), str_of(&files->times),
                                str_of(&files->metadata), str_of(&files->config), files->folder};
}

roast_status roast_legacy_load(const char *path, roast_run **out, roast_error *err) {
    roast_legacy_files *files;
    ROAST_TRY(roast_legacy_files_read(path, &files, err));
    const roast_legacy_texts texts = roast_legacy_files_texts(files);
    roast_status status = roast_legacy_decode(&texts, out, err);
    roast_legacy_files_free(files);
    return status;
}
