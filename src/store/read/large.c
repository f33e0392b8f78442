/* The large parts of run.sqlite: chunks, series and attempts. */
#include "store/read/read.h"

/* ---- large parts: the first of a kind is taken, the others are appended to it ---- */

static roast_status add_chunks(roast_run *run, const roast_buffer *bytes, bool first,
                               roast_error *err) {
    roast_chunklog *log;
    if (!first)
        return roast_chunklog_merge_packed(roast_run_chunks(run), bytes->data, bytes->len, err);
    ROAST_TRY(roast_chunklog_decode(bytes->data, bytes->len, &log, err));
    roast_run_take_chunks(run, log);
    return ROAST_OK;
}

static roast_status add_series(roast_run *run, const roast_buffer *bytes, bool first,
                               roast_error *err) {
    roast_series *series;
    ROAST_TRY(roast_series_decode(bytes->data, bytes->len, &series, err));
    if (first) {
        roast_run_take_series(run, series);
        return ROAST_OK;
    }
    roast_status status = roast_series_extend(roast_run_series(run), series, err);
    roast_series_free(series);
    return status;
}

/* Worker and departure of a try have other numbers in the attempts to which it is added. */
static roast_status add_tries(roast_attempts *into, const roast_attempts *from,
                              const uint32_t *workers, uint32_t departures, roast_error *err) {
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, from);
    while (roast_attempt_cursor_next(&cursor, &attempt)) {
        if (attempt.worker != ROAST_NO_WORKER)
            attempt.worker = workers[attempt.worker];
        if (attempt.departure != ROAST_NO_DEPARTURE)
            attempt.departure += departures;
        ROAST_TRY(roast_attempts_append(into, &attempt, err));
        if (attempt.prefix.data != NULL && attempt.kind != ROAST_KIND_foreign)
            ROAST_TRY(roast_attempts_set_kind(into, attempt.prefix, attempt.kind, err));
    }
    return ROAST_OK;
}

static roast_status extend_attempts(roast_attempts *into, const roast_attempts *from,
                                    uint32_t *workers, roast_error *err) {
    uint32_t departures = roast_attempts_departure_count(into);
    for (uint32_t i = 0; i < roast_attempts_worker_count(from); i++)
        ROAST_TRY(
            roast_attempts_add_worker(into, roast_attempts_worker(from, i), &workers[i], err));
    for (uint32_t i = 0; i < roast_attempts_departure_count(from); i++) {
        roast_departure departure = roast_attempts_departure(from, i);
        departure.worker = workers[departure.worker];
        ROAST_TRY(roast_attempts_add_departure(into, &departure, err));
    }
    return add_tries(into, from, workers, departures, err);
}

static roast_status add_attempts(roast_run *run, const roast_buffer *bytes, bool first,
                                 roast_error *err) {
    roast_attempts *attempts;
    ROAST_TRY(roast_attempts_decode(bytes->data, bytes->len, &attempts, err));
    if (first) {
        roast_run_take_attempts(run, attempts);
        return ROAST_OK;
    }
    size_t size = (size_t)roast_attempts_worker_count(attempts) + 1;
    uint32_t *workers = roast_alloc(size * sizeof *workers);
    roast_status status =
        workers == NULL
            ? roast_error_set(err, ROAST_ENOMEM, "run.sqlite", -1, "no memory for the measurement")
            : extend_attempts(roast_run_attempts(run), attempts, workers, err);
    roast_free(workers);
    roast_attempts_free(attempts);
    return status;
}

static const struct {
    const char *name;
    roast_status (*add)(roast_run *run, const roast_buffer *bytes, bool first, roast_error *err);
} kinds[] = {{"chunks", add_chunks}, {"series", add_series}, {"attempts", add_attempts}};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct growing { /* the run while its parts are added */
    roast_run *run;
    bool seen[KINDS];
} growing;

static roast_status add_part(growing *to, const roast_part_walk *part, roast_error *err) {
    size_t kind = 0;
    while (kind < KINDS && !roast_str_equal(part->name, roast_str_of(kinds[kind].name)))
        kind++;
    if (kind == KINDS) /* of a later version */
        return ROAST_OK;
    bool first = !to->seen[kind];
    to->seen[kind] = true;
    return roast_read_result(part->id, part->name,
                             kinds[kind].add(to->run, &part->bytes, first, err), err);
}

roast_status roast_read_large(roast_store *store, int64_t *after, roast_error *err) {
    roast_part_walk walk = {.statement = NULL};
    growing to = {.run = store->head};
    bool there = true;
    roast_status status = roast_part_walk_begin(&walk, store->db, ROAST_PARTS_LARGE, *after, err);
    while (status == ROAST_OK && there) {
        status = roast_read_next(&walk, &there, err);
        if (status != ROAST_OK || !there)
            break;
        *after = walk.id;
        status = add_part(&to, &walk, err);
    }
    roast_part_walk_end(&walk);
    return status;
}
