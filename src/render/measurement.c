#include "roast/measurement.h"

#include <stdio.h>

#include "roast/diagnose.h"
#include "roast/export.h"
#include "roast/json.h"

enum { FILE_METRICS, FILE_METADATA, FILE_TIMES, FILE_CONFIG, FILES };

struct roast_measurement {
    roast_metrics *metrics;
    roast_sink *contents[FILES]; /* NULL: there is no such file */
    roast_sink *packed, *packed_findings;
    roast_store_file files[FILES];
    uint32_t n_files;
    roast_store_blob_in blobs[2];
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
    roast_json_key(json, "agc");
    roast_json_begin_object(json);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        roast_json_put_value(json, pairs[i][0], roast_metrics_get(metrics, pairs[i][1]));
    roast_json_put_value(json, "chunksize", meta_number(run, "chunksize"));
    roast_json_put_str(json, "executor", roast_run_meta(run, roast_str_of("executor")));
    roast_json_end_object(json);
}

static void put_meta(roast_json *json, const roast_run *run) {
    roast_json_key(json, "provenance");
    roast_json_begin_object(json);
    for (uint32_t i = 0; i < roast_run_meta_count(run); i++) {
        roast_str key, value;
        roast_run_meta_at(run, i, &key, &value);
        roast_json_key_str(json, key);
        roast_json_str(json, value);
    }
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
    roast_json_key(&json, "format");
    roast_json_text(&json, ROAST_MEASUREMENT_FORMAT);
    put_agc_fields(&json, run, metrics);
    put_meta(&json, run);
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

static roast_status write_all(roast_measurement *m, const roast_run *run, roast_str config,
                              roast_utc saved, roast_error *err) {
    ROAST_TRY(roast_metrics_compute(run, &m->metrics, err));
    ROAST_TRY(roast_sink_new_memory(&m->contents[FILE_METRICS], err));
    ROAST_TRY(roast_json_metrics(m->metrics, run, m->contents[FILE_METRICS], err));
    ROAST_TRY(roast_sink_new_memory(&m->contents[FILE_METADATA], err));
    write_metadata(m->contents[FILE_METADATA], run, m->metrics, saved);
    if (roast_run_get_clock(run).have) {
        ROAST_TRY(roast_sink_new_memory(&m->contents[FILE_TIMES], err));
        write_times(m->contents[FILE_TIMES], run);
    }
    if (config.data != NULL) {
        ROAST_TRY(roast_sink_new_memory(&m->contents[FILE_CONFIG], err));
        roast_sink_str(m->contents[FILE_CONFIG], config);
    }
    ROAST_TRY(roast_sink_new_memory(&m->packed, err));
    return roast_metrics_encode(m->metrics, m->packed, err);
}

static roast_status diagnose(roast_measurement *m, const roast_run *run, roast_error *err) {
    roast_findings *findings;
    ROAST_TRY(roast_sink_new_memory(&m->packed_findings, err));
    ROAST_TRY(roast_diagnose_run(run, m->metrics, &findings, err));
    roast_status status = roast_findings_encode(findings, m->packed_findings, err);
    roast_findings_free(findings);
    return status;
}

static roast_status list_files(roast_measurement *m, roast_error *err) {
    static const char *const names[FILES] = {"metrics.json", "metadata.json", "start_end_time.txt",
                                             "config.json"};
    for (int i = 0; i < FILES; i++) {
        if (m->contents[i] == NULL)
            continue;
        ROAST_TRY(roast_sink_finish(m->contents[i], err));
        roast_str text = roast_sink_memory(m->contents[i]);
        m->files[m->n_files++] = (roast_store_file){names[i], text.data, text.len};
    }
    roast_str packed = roast_sink_memory(m->packed);
    roast_str findings = roast_sink_memory(m->packed_findings);
    m->blobs[0] = (roast_store_blob_in){ROAST_METRICS_BLOB, packed.data, packed.len};
    m->blobs[1] = (roast_store_blob_in){ROAST_FINDINGS_BLOB, findings.data, findings.len};
    return ROAST_OK;
}

roast_status roast_measurement_new(const roast_run *run, roast_str config, roast_utc saved,
                                   roast_measurement **out, roast_error *err) {
    roast_measurement *m = roast_alloc_zero(sizeof *m);
    if (m == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "measurement", -1,
                               "no memory for the files of a measurement");
    roast_status status = write_all(m, run, config, saved, err);
    if (status == ROAST_OK)
        status = diagnose(m, run, err);
    if (status == ROAST_OK)
        status = list_files(m, err);
    if (status != ROAST_OK) {
        roast_measurement_free(m);
        return status;
    }
    *out = m;
    return ROAST_OK;
}

void roast_measurement_free(roast_measurement *measurement) {
    if (measurement == NULL)
        return;
    roast_metrics_free(measurement->metrics);
    for (int i = 0; i < FILES; i++)
        roast_sink_free(measurement->contents[i]);
    roast_sink_free(measurement->packed);
    roast_sink_free(measurement->packed_findings);
    roast_free(measurement);
}

void roast_measurement_fill(const roast_measurement *measurement, roast_store_options *options) {
    options->files = measurement->files;
    options->n_files = measurement->n_files;
    options->blobs = measurement->blobs;
    options->n_blobs = sizeof measurement->blobs / sizeof *measurement->blobs;
}

const roast_metrics *roast_measurement_metrics(const roast_measurement *measurement) {
    return measurement->metrics;
}
