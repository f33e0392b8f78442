/* A measurement by its metadata.json alone: of 10,000, each may take 0.1 ms. */
#include "runs/found.h"

#include <math.h>
#include <string.h>

#include "base/json_scan.h"
#include "roast/measurement.h"

/* A larger one is no small file: the run has texts of the user's own in it. */
enum { LARGEST = 256 << 10 };

static const char *const fact_keys[ROAST_FACT_COUNT] = {
#define X(name) [ROAST_FACT_##name] = #name,
    ROAST_FOUND_FACTS(X)
#undef X
};

const char *roast_found_fact_name(int fact) {
    return fact >= 0 && fact < ROAST_FACT_COUNT ? fact_keys[fact] : NULL;
}

static bool is(roast_str text, const char *name) {
    return text.len == strlen(name) && memcmp(text.data, name, text.len) == 0;
}

static roast_value value_of(roast_str text) {
    roast_json_number number;
    if (!roast_json_scan_number(text, &number))
        return roast_value_none();
    return number.whole ? roast_value_int(number.integer) : roast_value_real(number.real);
}

static roast_status copy_text(roast_found *found, roast_str text, const char **out,
                              roast_error *err) {
    roast_buffer plain = {0};
    bool quoted = text.len >= 2 && text.data[0] == '"';
    if (quoted && memchr(text.data, '\\', text.len) == NULL)
        return roast_found_copy(found, (roast_str){text.data + 1, text.len - 2}, out, err);
    roast_status status = roast_json_scan_text(text, &plain);
    if (status == ROAST_OK)
        status =
            roast_found_copy(found, (roast_str){(const char *)plain.data, plain.len}, out, err);
    roast_buffer_reset(&plain);
    return status == ROAST_ENOMEM ? roast_found_no_memory(err) : status;
}

/* ---- the parts of the file ---- */

static bool take_metrics(roast_found_entry *entry, roast_str text, const char *extra,
                         roast_value *peak_workers) {
    roast_json_scan scan = roast_json_scan_begin(text);
    roast_str key, value;
    while (roast_json_scan_member(&scan, &key, &value)) {
        for (int i = 0; i < ROAST_FOUND_FIGURE_COUNT; i++)
            if (is(key, roast_found_figures[i].key))
                entry->figures[i] = value_of(value);
        if (extra != NULL && is(key, extra))
            entry->extra = value_of(value);
        if (is(key, "peak_workers"))
            *peak_workers = value_of(value);
    }
    return !scan.failed;
}

static roast_status take_texts(roast_found *found, roast_found_entry *entry, roast_str text,
                               bool *whole, roast_error *err) {
    roast_json_scan scan = roast_json_scan_begin(text);
    roast_str key, value;
    while (roast_json_scan_member(&scan, &key, &value)) {
        roast_status status = ROAST_OK;
        for (int i = 0; i < ROAST_FACT_COUNT; i++)
            if (is(key, fact_keys[i]))
                status = copy_text(found, value, &entry->facts[i], err);
        if (is(key, "processor"))
            status = copy_text(found, value, &entry->processor, err);
        if (status == ROAST_ENOMEM)
            return status;
        *whole = *whole && status == ROAST_OK;
    }
    *whole = *whole && !scan.failed;
    return ROAST_OK;
}

static roast_end outcome_of(roast_str text) {
    return text.len > 2 ? roast_end_find((roast_str){text.data + 1, text.len - 2})
                        : ROAST_END_unknown;
}

roast_status roast_found_take(roast_found *found, roast_found_entry *entry, roast_str metadata,
                              const roast_found_wanted *wanted, bool *whole, roast_error *err) {
    roast_json_scan scan = roast_json_scan_begin(metadata);
    roast_value peak_workers = roast_value_none();
    roast_str key, value;
    *whole = true;
    while (roast_json_scan_member(&scan, &key, &value)) {
        roast_status status = ROAST_OK;
        double start;
        if (is(key, "outcome"))
            entry->outcome = outcome_of(value);
        else if (is(key, "t_start") && fabs(start = roast_value_number(value_of(value))) < 9e9)
            roast_found_set_start(entry, start);
        else if (is(key, "datasets"))
            status = copy_text(found, value, &entry->datasets, err);
        else if (is(key, "provenance"))
            status = take_texts(found, entry, value, whole, err);
        else if (is(key, "metrics"))
            *whole = take_metrics(entry, value, wanted->metric, &peak_workers) && *whole;
        if (status == ROAST_ENOMEM)
            return status;
        *whole = *whole && status == ROAST_OK;
    }
    *whole = *whole && !scan.failed;
    return roast_found_finish_texts(found, entry, peak_workers, err);
}

roast_status roast_found_quick(roast_found *found, roast_found_entry *entry,
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
