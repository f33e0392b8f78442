/* The small parts of a measurement, and the slower ways to read them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "roast/legacy.h"
#include "roast/measurement.h"
#include "runs/found.h"

static const char *const fact_keys[ROAST_FACT_COUNT] = {
#define X(name) [ROAST_FACT_##name] = #name,
    ROAST_FOUND_FACTS(X)
#undef X
};

const char *roast_found_fact_name(int fact) {
    return fact >= 0 && fact < ROAST_FACT_COUNT ? fact_keys[fact] : NULL;
}

/* ---- values ---- */

static void set_start(roast_found_entry *entry, double start) {
    entry->have_when = fabs(start) < 9e9;
    if (entry->have_when)
        entry->when = (roast_utc){(int64_t)(start * 1e9)};
}

static void take_chunksize(roast_found_entry *entry, const char *text) {
    char *end;
    if (text == NULL || text[0] == '\0' || strlen(text) > 18)
        return;
    long long number = strtoll(text, &end, 10);
    if (*end == '\0')
        entry->figures[ROAST_FOUND_chunksize] = roast_value_int(number);
}

static roast_status finish_texts(roast_found *found, roast_found_entry *entry,
                                 roast_value peak_workers, roast_error *err) {
    char digits[32];
    take_chunksize(entry, entry->facts[ROAST_FACT_chunksize]);
    if (peak_workers.kind == ROAST_VALUE_NONE)
        return ROAST_OK;
    snprintf(digits, sizeof digits, "%.0f", roast_value_number(peak_workers));
    return roast_found_copy(found, roast_str_of(digits), &entry->facts[ROAST_FACT_workers], err);
}

static void take_metrics(roast_found_entry *entry, const roast_metrics *metrics,
                         const roast_found_wanted *wanted) {
    for (int i = 0; i < ROAST_FOUND_FIGURE_COUNT; i++)
        entry->figures[i] = roast_metrics_get(metrics, roast_found_figures[i].key);
    if (wanted->metric != NULL)
        entry->extra = roast_metrics_get(metrics, wanted->metric);
}

static roast_status take_texts(roast_found *found, roast_found_entry *entry, const roast_run *head,
                               const roast_metrics *metrics, roast_error *err) {
    char datasets[ROAST_DATASETS_TEXT];
    for (int i = 0; i < ROAST_FACT_COUNT; i++)
        ROAST_TRY(roast_found_copy(found, roast_run_meta(head, roast_str_of(fact_keys[i])),
                                   &entry->facts[i], err));
    ROAST_TRY(roast_found_copy(found, roast_run_meta(head, roast_str_of("processor")),
                               &entry->processor, err));
    ROAST_TRY(roast_measurement_datasets(metrics, datasets, err));
    if (datasets[0] != '\0')
        ROAST_TRY(roast_found_copy(found, roast_str_of(datasets), &entry->datasets, err));
    return finish_texts(found, entry, roast_metrics_get(metrics, "peak_workers"), err);
}

static roast_status take_all(roast_found *found, roast_found_entry *entry, const roast_run *head,
                             const roast_metrics *metrics, const roast_found_wanted *wanted,
                             roast_error *err) {
    roast_run_clock clock = roast_run_get_clock(head);
    if (clock.have)
        set_start(entry, clock.start);
    entry->outcome = roast_ending_outcome(roast_run_ending_view(head));
    take_metrics(entry, metrics, wanted);
    return take_texts(found, entry, head, metrics, err);
}

/* ---- ours, by metadata.json alone ---- */

/* A larger one is no small file: the run has texts of the user's own in it. */
enum { LARGEST = 256 << 10 };

static roast_value value_of(const json_t *value) {
    if (json_is_integer(value))
        return roast_value_int(json_integer_value(value));
    return json_is_real(value) ? roast_value_real(json_real_value(value)) : roast_value_none();
}

/* An absent text stays absent; what is no text makes the file not whole. */
static roast_status copy_json(roast_found *found, const json_t *value, const char **out,
                              bool *whole, roast_error *err) {
    *whole = *whole && (value == NULL || json_is_string(value));
    if (!json_is_string(value))
        return ROAST_OK;
    roast_str text = {json_string_value(value), json_string_length(value)};
    return roast_found_copy(found, text, out, err);
}

static roast_status take_metadata(roast_found *found, roast_found_entry *entry, const json_t *root,
                                  const roast_found_wanted *wanted, bool *whole, roast_error *err) {
    const json_t *facts = json_object_get(root, "provenance");
    const json_t *metrics = json_object_get(root, "metrics");
    const char *outcome = json_string_value(json_object_get(root, "outcome"));
    double start = roast_value_number(value_of(json_object_get(root, "t_start")));
    *whole = json_is_object(root) && (facts == NULL || json_is_object(facts)) &&
             (metrics == NULL || json_is_object(metrics));
    entry->outcome = outcome != NULL ? roast_end_find(roast_str_of(outcome)) : ROAST_END_unknown;
    if (fabs(start) < 9e9)
        set_start(entry, start);
    for (int i = 0; i < ROAST_FOUND_FIGURE_COUNT; i++)
        entry->figures[i] = value_of(json_object_get(metrics, roast_found_figures[i].key));
    if (wanted->metric != NULL)
        entry->extra = value_of(json_object_get(metrics, wanted->metric));
    ROAST_TRY(copy_json(found, json_object_get(root, "datasets"), &entry->datasets, whole, err));
    ROAST_TRY(copy_json(found, json_object_get(facts, "processor"), &entry->processor, whole, err));
    for (int i = 0; i < ROAST_FACT_COUNT; i++)
        ROAST_TRY(
            copy_json(found, json_object_get(facts, fact_keys[i]), &entry->facts[i], whole, err));
    return finish_texts(found, entry, value_of(json_object_get(metrics, "peak_workers")), err);
}

roast_status roast_found_take(roast_found *found, roast_found_entry *entry, roast_str metadata,
                              const roast_found_wanted *wanted, bool *whole, roast_error *err) {
    json_error_t fault;
    json_t *root = json_loadb(metadata.data, metadata.len, JSON_ALLOW_NUL, &fault);
    *whole = false;
    if (root == NULL)
        return json_error_code(&fault) == json_error_out_of_memory ? roast_found_no_memory(err)
                                                                   : ROAST_OK;
    roast_status status = take_metadata(found, entry, root, wanted, whole, err);
    json_decref(root);
    return status;
}

/* *done false: run.sqlite or metrics.json must be read. */
static roast_status read_metadata(roast_found *found, roast_found_entry *entry,
                                  const roast_found_wanted *wanted, bool *done, roast_error *err) {
    char *bytes;
    size_t len;
    *done = false;
    roast_status status =
        roast_store_glance(entry->path, "metadata.json", LARGEST, &bytes, &len, err);
    if (status != ROAST_OK)
        return status == ROAST_ENOMEM ? status : ROAST_OK;
    roast_str metadata = roast_measurement_checked((roast_str){bytes, len});
    if (metadata.data != NULL)
        status = roast_found_take(found, entry, metadata, wanted, done, err);
    roast_free(bytes);
    return status;
}

/* ---- ours ---- */

/* The metrics that were saved; without them, those that need no chunk. */
static roast_status metrics_of(roast_store *store, roast_metrics **out, roast_error *err) {
    ROAST_TRY(roast_measurement_saved_metrics(store, true, out, err));
    if (*out != NULL)
        return ROAST_OK;
    ROAST_TRY(roast_metrics_new(out, err));
    roast_status status = roast_metrics_workflow(*out, roast_store_head(store), err);
    if (status != ROAST_OK)
        roast_metrics_free(*out);
    return status;
}

static roast_status read_ours(roast_found *found, roast_found_entry *entry,
                              const roast_found_wanted *wanted, roast_error *err) {
    roast_store *store;
    roast_metrics *metrics;
    ROAST_TRY(roast_store_open(entry->path, &store, err));
    entry->state = roast_store_get_state(store);
    roast_status status = metrics_of(store, &metrics, err);
    if (status == ROAST_OK) {
        status = take_all(found, entry, roast_store_head(store), metrics, wanted, err);
        roast_metrics_free(metrics);
    }
    roast_store_close(store);
    return status;
}

/* ---- of 0.1.x ---- */

static roast_value number(double value) {
    return isnan(value) ? roast_value_none() : roast_value_real(value);
}

static roast_status peek_legacy(roast_found_entry *entry, roast_error *err) {
    roast_legacy_head head;
    ROAST_TRY(roast_legacy_peek(entry->path, &head, err));
    entry->have_when = head.have_saved;
    entry->when = head.saved;
    entry->figures[ROAST_FOUND_wall] = number(head.wall_time);
    entry->figures[ROAST_FOUND_gbps] = number(head.data_rate_gbps);
    entry->figures[ROAST_FOUND_khz] = number(head.event_rate_wall_khz);
    entry->figures[ROAST_FOUND_workers] = number(head.avg_workers);
    entry->figures[ROAST_FOUND_efficiency] = number(head.core_efficiency);
    if (fabs(head.total_events) < 9e18)
        entry->figures[ROAST_FOUND_events] = roast_value_int((int64_t)head.total_events);
    return ROAST_OK;
}

/* All of the run: 0.1.x kept no other numbers than these in one place. */
static roast_status load_legacy(roast_found *found, roast_found_entry *entry,
                                const roast_found_wanted *wanted, roast_error *err) {
    roast_run *run;
    roast_metrics *metrics;
    roast_found_entry peeked = *entry;
    ROAST_TRY(peek_legacy(&peeked, err));
    ROAST_TRY(roast_legacy_load(entry->path, &run, err));
    roast_status status = roast_metrics_compute(run, &metrics, err);
    if (status == ROAST_OK) {
        status = take_all(found, entry, run, metrics, wanted, err);
        roast_metrics_free(metrics);
    }
    roast_run_free(run);
    entry->have_when = peeked.have_when;
    entry->when = peeked.when;
    return status;
}

/* ---- all ---- */

static roast_status read_config(roast_found *found, roast_found_entry *entry, roast_error *err) {
    roast_sink *text;
    ROAST_TRY(roast_sink_new_memory(&text, err));
    roast_status status = roast_legacy_config(entry->path, text, err);
    if (status == ROAST_OK)
        status = roast_sink_finish(text, err);
    if (status == ROAST_OK && roast_sink_memory(text).len > 0)
        status = roast_found_copy(found, roast_sink_memory(text), &entry->config, err);
    roast_sink_free(text);
    return status == ROAST_ENOMEM ? status : ROAST_OK; /* an unreadable one is none */
}

static void clear(roast_found_entry *entry) {
    *entry = (roast_found_entry){.path = entry->path, .name = entry->name, .kind = entry->kind};
    for (int i = 0; i < ROAST_FOUND_FIGURE_COUNT; i++)
        entry->figures[i] = roast_value_none();
    entry->extra = roast_value_none();
}

static roast_status read_entry(roast_found *found, roast_found_entry *entry,
                               const roast_found_wanted *wanted, roast_error *err) {
    bool done = false;
    clear(entry);
    if (entry->kind == ROAST_STORE_LEGACY)
        return wanted->facts ? load_legacy(found, entry, wanted, err) : peek_legacy(entry, err);
    ROAST_TRY(read_metadata(found, entry, wanted, &done, err));
    if (done)
        return ROAST_OK;
    clear(entry);
    return read_ours(found, entry, wanted, err);
}

static roast_status read_one(roast_found *found, roast_found_entry *entry,
                             const roast_found_wanted *wanted, roast_error *err) {
    roast_error fault;
    roast_error_reset(&fault);
    roast_status status = read_entry(found, entry, wanted, &fault);
    if (status == ROAST_ENOMEM)
        return roast_found_no_memory(err);
    if (status != ROAST_OK)
        return roast_found_copy(
            found,
            roast_str_of(fault.message[0] != '\0' ? fault.message : roast_status_text(status)),
            &entry->fault, err);
    return wanted->config ? read_config(found, entry, err) : ROAST_OK;
}

roast_status roast_found_read(roast_found *found, const roast_found_wanted *wanted,
                              roast_error *err) {
    roast_found_wanted known = *wanted;
    if (wanted->metric != NULL) {
        const roast_metric_info *info = roast_catalogue_find(wanted->metric, NULL);
        if (info == NULL)
            return roast_error_set(err, ROAST_EINVAL, "ls", -1, "no metric has the name \"%s\"",
                                   wanted->metric);
        known.metric = info->key; /* the first of its names */
    }
    for (size_t i = 0; i < found->count; i++)
        ROAST_TRY(read_one(found, &found->entries[i], &known, err));
    return ROAST_OK;
}
