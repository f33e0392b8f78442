#include "roast/measurement.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "render/json_run.h"

/* The small files, then the blobs. */
enum {
    FILE_METRICS,
    FILE_METADATA,
    FILE_TIMES,
    FILE_CONFIG,
    FILES,
    METRICS = FILES,
    FINDINGS,
    PARTS
};

static const char *const part_names[PARTS] = {"metrics.json",       "metadata.json",
                                              "start_end_time.txt", "config.json",
                                              ROAST_METRICS_BLOB,   ROAST_FINDINGS_BLOB};

struct roast_measurement {
    roast_sink *parts[PARTS]; /* NULL: there is no such file */
    roast_store_file files[FILES];
    uint32_t n_files;
    roast_store_blob_in blobs[PARTS - FILES];
};

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "measurement", -1,
                           "no memory for the files of a measurement");
}

/* ---- metadata.json ---- */

static roast_value meta_number(const roast_run *run, const char *key) {
    roast_str text = roast_run_meta(run, roast_str_of(key));
    int64_t value = 0;
    if (text.data == NULL || text.len == 0 || text.len > 18)
        return roast_value_none();
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return roast_value_none();
        value = value * 10 + (text.data[i] - '0');
    }
    return roast_value_int(value);
}

/* The names under which the Analysis Grand Challenge keeps the same facts, where they are known. */
static void put_agc_fields(roast_json *json, const roast_run *run, const roast_metrics *metrics) {
    static const char *const pairs[][2] = {
        {"walltime", "wall_time"},
        {"num_workers", "peak_workers"},
        {"cores_per_worker", "cores_per_worker"},
        {"entries", "total_events"},
        {"bytesread", "total_bytes_read"},
        {"processtime", "total_cpu_time"},
        {"chunks", "num_chunks"},
    };
    roast_json_put_object(json, "agc");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        roast_json_put_value(json, pairs[i][0], roast_metrics_get(metrics, pairs[i][1]));
    roast_json_put_value(json, "chunksize", meta_number(run, "chunksize"));
    roast_json_put_str(json, "executor", roast_run_meta(run, roast_str_of("executor")));
    roast_json_end_object(json);
}

/* The numbers of the run, each by its first name. */
static void put_figures(roast_json *json, const roast_metrics *metrics) {
    roast_json_put_object(json, "metrics");
    for (uint32_t i = 0; i < roast_catalogue_count(); i++)
        roast_json_put_value(json, roast_catalogue_at(i)->key, roast_metrics_at(metrics, i));
    roast_json_end_object(json);
}

/* The file's last member: the CRC-32C of all bytes before it. A list of many measurements reads this file alone. */
static void put_checksum(roast_json *json, roast_sink *sink) {
    roast_str before = roast_sink_memory(sink);
    char digits[16];
    snprintf(digits, sizeof digits, "%08" PRIx32, roast_crc32c(0, before.data, before.len));
    roast_json_put_text(json, "checksum", digits);
}

static roast_status write_metadata(roast_sink *sink, const roast_run *run,
                                   const roast_metrics *metrics, roast_utc saved,
                                   roast_error *err) {
    roast_run_clock clock = roast_run_get_clock(run);
    char datasets[ROAST_DATASETS_TEXT];
    ROAST_TRY(roast_measurement_datasets(metrics, datasets, err));
    roast_json json;
    roast_json_init(&json, sink, 2);
    roast_json_begin_object(&json);
    roast_json_key(&json, "timestamp");
    roast_json_time(&json, saved);
    if (clock.have) {
        roast_json_put_real(&json, "t_start", clock.start);
        roast_json_put_real(&json, "elapsed_time_seconds", clock.end - clock.start);
    }
    roast_json_put_text(&json, "format", ROAST_MEASUREMENT_FORMAT);
    roast_json_put_text(&json, "outcome",
                        roast_end_name(roast_ending_outcome(roast_run_ending_view(run))));
    put_agc_fields(&json, run, metrics);
    roast_json_put_text(&json, "datasets", datasets[0] != '\0' ? datasets : NULL);
    roast_json_put_meta(&json, "provenance", run);
    put_figures(&json, metrics);
    put_checksum(&json, sink);
    roast_json_end_object(&json);
    roast_json_end(&json);
    return ROAST_OK;
}

roast_str roast_measurement_checked(roast_str metadata) {
    static const char front[] = ",\n  \"checksum\": \"", end[] = "\"\n}\n";
    enum { DIGITS = 8, FRONT = sizeof front - 1, TAIL = FRONT + DIGITS + sizeof end - 1 };
    const roast_str none = {NULL, 0};
    char digits[16];
    if (metadata.data == NULL || metadata.len < TAIL)
        return none;
    const char *tail = metadata.data + metadata.len - TAIL;
    snprintf(digits, sizeof digits, "%08" PRIx32,
             roast_crc32c(0, metadata.data, metadata.len - TAIL));
    bool same = memcmp(tail, front, FRONT) == 0 && memcmp(tail + FRONT, digits, DIGITS) == 0 &&
                memcmp(tail + FRONT + DIGITS, end, sizeof end - 1) == 0;
    return same ? metadata : none;
}

/* ---- datasets ---- */

static int by_name(const void *left, const void *right) {
    roast_str a = *(const roast_str *)left, b = *(const roast_str *)right;
    int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* Sorted: the table has them in the order in which their chunks arrived. */
static void put_names(const roast_str *names, uint32_t count, char out[ROAST_DATASETS_TEXT]) {
    uint32_t sum = 0;
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum = roast_crc32c(sum, names[i].data, names[i].len);
        sum = roast_crc32c(sum, "", 1);
        if (used + names[i].len + 3 > ROAST_DATASETS_TEXT) {
            used = ROAST_DATASETS_TEXT;
            continue;
        }
        memcpy(out + used, i > 0 ? ", " : "", i > 0 ? 2 : 0);
        used += i > 0 ? 2 : 0;
        memcpy(out + used, names[i].data, names[i].len);
        used += names[i].len;
    }
    if (used < ROAST_DATASETS_TEXT)
        out[used] = '\0';
    else
        snprintf(out, ROAST_DATASETS_TEXT, "%" PRIu32 " datasets (%08" PRIx32 ")", count, sum);
}

roast_status roast_measurement_datasets(const roast_metrics *metrics, char out[ROAST_DATASETS_TEXT],
                                        roast_error *err) {
    uint32_t count, known = 0;
    const roast_dataset_row *rows = roast_row_table_rows(metrics, ROAST_ROWS_per_dataset, &count);
    roast_str *names = roast_alloc(((size_t)count + 1) * sizeof *names);
    if (names == NULL)
        return no_memory(err);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].name.data != NULL)
            names[known++] = rows[i].name;
    qsort(names, known, sizeof *names, by_name);
    put_names(names, known, out);
    roast_free(names);
    return ROAST_OK;
}

/* ---- the others ---- */

static void write_times(roast_sink *sink, const roast_run *run) {
    roast_run_clock clock = roast_run_get_clock(run);
    roast_json json;
    roast_json_init(&json, sink, 0); /* its numbers read back as they were */
    roast_json_real(&json, clock.start);
    roast_sink_puts(sink, ",");
    roast_json_init(&json, sink, 0);
    roast_json_real(&json, clock.end);
    roast_sink_puts(sink, "\n");
}

static roast_status write_files(roast_measurement *m, const roast_measured *from, roast_str config,
                                roast_utc saved, roast_error *err) {
    const roast_run *run = from->run;
    const bool there[FILES] = {true, true, roast_run_get_clock(run).have, config.data != NULL};
    for (int i = 0; i < FILES; i++)
        if (there[i])
            ROAST_TRY(roast_sink_new_memory(&m->parts[i], err));
    ROAST_TRY(roast_json_metrics(from, m->parts[FILE_METRICS], err));
    ROAST_TRY(write_metadata(m->parts[FILE_METADATA], run, from->metrics, saved, err));
    if (there[FILE_TIMES])
        write_times(m->parts[FILE_TIMES], run);
    if (there[FILE_CONFIG])
        roast_sink_str(m->parts[FILE_CONFIG], config);
    return ROAST_OK;
}

static roast_status write_blobs(roast_measurement *m, const roast_metrics *metrics,
                                const roast_findings *findings, roast_error *err) {
    ROAST_TRY(roast_sink_new_memory(&m->parts[METRICS], err));
    ROAST_TRY(roast_metrics_encode(metrics, m->parts[METRICS], err));
    ROAST_TRY(roast_sink_new_memory(&m->parts[FINDINGS], err));
    return roast_findings_encode(findings, m->parts[FINDINGS], err);
}

static roast_status list_parts(roast_measurement *m, roast_error *err) {
    for (int i = 0; i < PARTS; i++) {
        if (m->parts[i] == NULL)
            continue;
        ROAST_TRY(roast_sink_finish(m->parts[i], err));
        roast_str bytes = roast_sink_memory(m->parts[i]);
        if (i < FILES)
            m->files[m->n_files++] = (roast_store_file){part_names[i], bytes.data, bytes.len};
        else
            m->blobs[i - FILES] = (roast_store_blob_in){part_names[i], bytes.data, bytes.len};
    }
    return ROAST_OK;
}

/* Computes metrics or findings that the caller does not have. */
static roast_status make(roast_measurement *m, const roast_measured *from, roast_str config,
                         roast_utc saved, roast_error *err) {
    roast_metrics *metrics = NULL;
    roast_findings *findings = NULL;
    roast_status status = ROAST_OK;
    if (from->metrics == NULL)
        status = roast_metrics_compute(from->run, &metrics, err);
    roast_measured all = *from;
    all.metrics = from->metrics != NULL ? from->metrics : metrics;
    if (status == ROAST_OK && from->findings == NULL)
        status = roast_diagnose_run(from->run, all.metrics, &findings, err);
    all.findings = from->findings != NULL ? from->findings : findings;
    if (status == ROAST_OK)
        status = write_files(m, &all, config, saved, err);
    if (status == ROAST_OK)
        status = write_blobs(m, all.metrics, all.findings, err);
    roast_metrics_free(metrics);
    roast_findings_free(findings);
    return status == ROAST_OK ? list_parts(m, err) : status;
}

roast_status roast_measurement_new(const roast_measured *from, roast_str config, roast_utc saved,
                                   roast_measurement **out, roast_error *err) {
    roast_measurement *m = roast_alloc_zero(sizeof *m);
    if (m == NULL)
        return no_memory(err);
    roast_status status = make(m, from, config, saved, err);
    if (status != ROAST_OK) {
        roast_measurement_free(m);
        return status;
    }
    *out = m;
    return ROAST_OK;
}

void roast_measurement_free(roast_measurement *measurement) {
    for (int i = 0; measurement != NULL && i < PARTS; i++)
        roast_sink_free(measurement->parts[i]);
    roast_free(measurement);
}

void roast_measurement_fill(const roast_measurement *measurement, roast_store_options *options) {
    options->files = measurement->files;
    options->n_files = measurement->n_files;
    options->blobs = measurement->blobs;
    options->n_blobs = sizeof measurement->blobs / sizeof *measurement->blobs;
}

roast_status roast_measurement_save(const roast_run *run, const char *path, bool overwrite,
                                    roast_str config, roast_error *err) {
    roast_measurement *measurement;
    roast_store_options options = {.path = path, .overwrite = overwrite};
    const roast_measured from = {.run = run};
    ROAST_TRY(roast_measurement_new(&from, config, roast_utc_now(), &measurement, err));
    roast_measurement_fill(measurement, &options);
    roast_status status = roast_store_save(run, &options, err);
    roast_measurement_free(measurement);
    return status;
}

/* ---- saved metrics and findings ---- */

/* An absent text: there is no such blob. */
static roast_status read_blob(roast_store *store, const char *name, roast_str *out,
                              roast_error *err) {
    *out = (roast_str){NULL, 0};
    if (roast_store_get_state(store) != ROAST_STORE_FINISHED)
        return ROAST_OK;
    roast_status status = roast_store_blob(store, name, out, err);
    return status == ROAST_ENOTFOUND ? ROAST_OK : status;
}

roast_status roast_measurement_saved_metrics(roast_store *store, bool any, roast_metrics **out,
                                             roast_error *err) {
    roast_str blob;
    *out = NULL;
    ROAST_TRY(read_blob(store, ROAST_METRICS_BLOB, &blob, err));
    roast_status status =
        blob.data != NULL ? roast_metrics_decode(blob.data, blob.len, out, err) : ROAST_OK;
    if (*out != NULL && !any && !roast_metrics_is_current(*out)) {
        roast_metrics_free(*out);
        *out = NULL;
    }
    return status == ROAST_EVERSION ? ROAST_OK : status;
}

roast_status roast_measurement_saved_findings(roast_store *store, roast_findings **out,
                                              roast_error *err) {
    roast_str blob;
    *out = NULL;
    ROAST_TRY(read_blob(store, ROAST_FINDINGS_BLOB, &blob, err));
    roast_status status =
        blob.data != NULL ? roast_findings_decode(blob.data, blob.len, out, err) : ROAST_OK;
    if (*out != NULL && !roast_findings_is_current(*out)) {
        roast_findings_free(*out);
        *out = NULL;
    }
    return status == ROAST_EVERSION ? ROAST_OK : status;
}
