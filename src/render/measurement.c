#include "roast/measurement.h"

#include <stdio.h>

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

static const char *const names[PARTS] = {"metrics.json", "metadata.json",    "start_end_time.txt",
                                         "config.json",  ROAST_METRICS_BLOB, ROAST_FINDINGS_BLOB};

struct roast_measurement {
    roast_sink *parts[PARTS]; /* NULL: there is no such file */
    roast_store_file files[FILES];
    uint32_t n_files;
    roast_store_blob_in blobs[PARTS - FILES];
};

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

static void write_metadata(roast_sink *sink, const roast_run *run, const roast_metrics *metrics,
                           roast_utc saved) {
    roast_run_clock clock = roast_run_get_clock(run);
    roast_json json;
    roast_json_init(&json, sink, 2);
    roast_json_begin_object(&json);
    roast_json_key(&json, "timestamp");
    roast_json_time(&json, saved);
    if (clock.have)
        roast_json_put_real(&json, "elapsed_time_seconds", clock.end - clock.start);
    roast_json_put_text(&json, "format", ROAST_MEASUREMENT_FORMAT);
    roast_json_put_text(&json, "outcome",
                        roast_end_name(roast_ending_outcome(roast_run_ending_view(run))));
    put_agc_fields(&json, run, metrics);
    roast_json_put_meta(&json, "provenance", run);
    roast_json_end_object(&json);
    roast_json_end(&json);
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
    write_metadata(m->parts[FILE_METADATA], run, from->metrics, saved);
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
            m->files[m->n_files++] = (roast_store_file){names[i], bytes.data, bytes.len};
        else
            m->blobs[i - FILES] = (roast_store_blob_in){names[i], bytes.data, bytes.len};
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
        return roast_error_set(err, ROAST_ENOMEM, "measurement", -1,
                               "no memory for the files of a measurement");
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
