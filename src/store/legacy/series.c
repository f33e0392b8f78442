/* tracking_data: {"worker_counts": {time: n}, "worker_memory": {worker: [[time, value], ...]}, ...}, and the lists
 * of {"timestamp", ...} that other writers make. */
#include <math.h>

#include "store/legacy/internal.h"

static const char file_name[] = "metrics.json";

static roast_status wrong_type(roast_error *err, const char *key, const char *expected,
                               const json_t *value) {
    return roast_legacy_damaged(err, file_name, "tracking_data: %s: %s is expected, not %s", key,
                                expected, roast_legacy_type_name(value));
}

/* ---- points ---- */

/* The two parts of [time, value] or {"timestamp": time, value_key: value}; false: it is neither. */
static bool split_point(const json_t *point, const char *value_key, const json_t **when,
                        const json_t **value) {
    if (json_is_array(point) && json_array_size(point) == 2) {
        *when = json_array_get(point, 0);
        *value = json_array_get(point, 1);
        return true;
    }
    *when = json_object_get(point, "timestamp");
    *value = json_object_get(point, value_key);
    return *when != NULL && *value != NULL;
}

/* UTC of a time in the measurement. */
static roast_status moment_of(const legacy_input *input, roast_str text, const char *key,
                              roast_utc *out, roast_error *err) {
    bool local;
    if (!roast_legacy_time(text, out, &local))
        return roast_legacy_damaged(err, file_name, "tracking_data: %s: \"%.*s\" is no time", key,
                                    text.len < 40 ? (int)text.len : 40,
                                    text.data != NULL ? text.data : "");
    if (local && input->shift_known)
        out->ns -= input->shift_ns;
    else if (local)
        *out = roast_legacy_from_local(*out);
    return ROAST_OK;
}

typedef struct point_place {
    const char *key;
    roast_series_column column;
    uint32_t worker;
} point_place;

static roast_status add_point(legacy_input *input, roast_points *points, const point_place *place,
                              const json_t *point, roast_error *err) {
    const json_t *when, *value;
    roast_utc moment;
    if (!split_point(point, roast_series_column_at(place->column)->json_key, &when, &value))
        return wrong_type(err, place->key, "a pair of time and value", point);
    if (!json_is_number(value) && !json_is_null(value))
        return wrong_type(err, place->key, "a number", value);
    ROAST_TRY(moment_of(input, roast_legacy_text(when), place->key, &moment, err));
    input->first_seen = fmin(input->first_seen, (double)moment.ns / 1e9);
    return roast_points_add(points, place->worker, place->column, moment,
                            roast_legacy_number(value), err);
}

static roast_status add_worker(legacy_input *input, roast_points *points, point_place place,
                               roast_str name, const json_t *list, roast_error *err) {
    if (!json_is_array(list))
        return wrong_type(err, place.key, "a list", list);
    ROAST_TRY(roast_points_worker(points, name, &place.worker, err));
    for (size_t i = 0; i < json_array_size(list); i++)
        ROAST_TRY(add_point(input, points, &place, json_array_get(list, i), err));
    return ROAST_OK;
}

static roast_status add_column(legacy_input *input, roast_points *points, json_t *tracking,
                               roast_series_column column, roast_error *err) {
    const point_place place = {.key = roast_series_column_at(column)->key, .column = column};
    json_t *workers = json_object_get(tracking, place.key), *list;
    const char *name;
    size_t len;
    if (workers == NULL || json_is_null(workers))
        return ROAST_OK;
    if (!json_is_object(workers))
        return wrong_type(err, place.key, "an object", workers);
    json_object_keylen_foreach(workers, name, len, list) {
        if (len == 0 || len > ROAST_MAX_WORKER_NAME)
            return roast_legacy_damaged(
                err, file_name, "tracking_data: %s: a worker's name has %zu bytes", place.key, len);
        ROAST_TRY(add_worker(input, points, place, (roast_str){name, len}, list, err));
    }
    return ROAST_OK;
}

/* ---- how many workers there were ---- */

static const char counts_key[] = "worker_counts";

static roast_status add_count(legacy_input *input, roast_points *points, roast_str when,
                              const json_t *number, roast_error *err) {
    double workers = roast_legacy_number(number);
    roast_utc moment;
    if (json_is_null(number))
        return ROAST_OK;
    if (!(workers >= 0 && workers <= ROAST_MAX_WORKERS) || workers != floor(workers))
        return wrong_type(err, counts_key, "a number of workers", number);
    ROAST_TRY(moment_of(input, when, counts_key, &moment, err));
    input->first_seen = fmin(input->first_seen, (double)moment.ns / 1e9);
    return roast_points_add_count(points, moment, (uint32_t)workers, err);
}

static roast_status add_count_list(legacy_input *input, roast_points *points, const json_t *list,
                                   roast_error *err) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *point = json_array_get(list, i), *when, *number;
        if (!split_point(point, "worker_count", &when, &number))
            return wrong_type(err, counts_key, "a pair of time and number", point);
        ROAST_TRY(add_count(input, points, roast_legacy_text(when), number, err));
    }
    return ROAST_OK;
}

static roast_status add_counts(legacy_input *input, roast_points *points, json_t *tracking,
                               roast_error *err) {
    json_t *counts = json_object_get(tracking, counts_key), *number;
    const char *when;
    size_t len;
    if (counts == NULL || json_is_null(counts))
        return ROAST_OK;
    if (json_is_array(counts))
        return add_count_list(input, points, counts, err);
    if (!json_is_object(counts))
        return wrong_type(err, counts_key, "an object", counts);
    json_object_keylen_foreach(counts, when, len, number)
        ROAST_TRY(add_count(input, points, (roast_str){when, len}, number, err));
    return ROAST_OK;
}

/* ---- the zone ---- */

/* How far a sample's local time is ahead of its heartbeat; NaN: not known. */
static double lead_of(const json_t *point) {
    const json_t *when, *seen;
    roast_utc moment;
    bool local;
    if (!split_point(point, "last_seen", &when, &seen) ||
        !roast_legacy_time(roast_legacy_text(when), &moment, &local) || !local)
        return NAN;
    return (double)moment.ns / 1e9 - roast_legacy_number(seen);
}

/* 0.1.x wrote local times without a zone, but also when each worker was last heard of, in seconds since 1970. A
 * heartbeat is seconds old when it is noted, zones differ by quarters of an hour. */
static void find_shift(legacy_input *input, json_t *tracking) {
    const double quarter = 900;
    double least = NAN;
    const char *name;
    json_t *list;
    json_object_foreach(json_object_get(tracking, "worker_last_seen"), name, list) {
        for (size_t i = 0; i < json_array_size(list); i++)
            least = fmin(least, lead_of(json_array_get(list, i)));
    }
    double shift = round(least / quarter) * quarter;
    if (!(fabs(shift) <= 86400)) /* no zone is a day away; NaN */
        return;
    input->shift_known = true;
    input->shift_ns = (int64_t)shift * INT64_C(1000000000);
}

/* ---- all of it ---- */

static roast_status add_all(legacy_input *input, roast_points *points, json_t *tracking,
                            roast_error *err) {
    ROAST_TRY(add_counts(input, points, tracking, err));
    for (int column = 0; column < ROAST_COLUMNS; column++)
        ROAST_TRY(add_column(input, points, tracking, column, err));
    roast_series *series, *counts;
    ROAST_TRY(roast_points_build(points, &series, &counts, err));
    roast_run_take_series(input->run, series);
    roast_run_take_counts(input->run, counts);
    return ROAST_OK;
}

roast_status roast_legacy_series(legacy_input *input, roast_error *err) {
    json_t *tracking = json_object_get(input->metrics, "tracking_data");
    roast_points *points;
    if (tracking == NULL || json_is_null(tracking))
        return ROAST_OK;
    if (!json_is_object(tracking))
        return roast_legacy_damaged(err, file_name, "tracking_data: an object is expected, not %s",
                                    roast_legacy_type_name(tracking));
    find_shift(input, tracking);
    ROAST_TRY(roast_points_new(&points, err));
    roast_status status = add_all(input, points, tracking, err);
    roast_points_free(points);
    return status;
}
