/* The large parts of run.sqlite: chunks, series and attempts. */
#include "store/read/read.h"
#include "store/read/relay.h"

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

static roast_status add_part(void *context, const roast_part *part, roast_error *err) {
    growing *to = context;
    bool first = !to->seen[part->kind];
    to->seen[part->kind] = true;
    roast_status status = kinds[part->kind].add(to->run, &part->bytes, first, err);
    return roast_read_result(part->id, roast_str_of(kinds[part->kind].name), status, err);
}

/* The caller ends the relay, whatever the result is. */
static roast_status walk_large(roast_part_walk *walk, growing *to, roast_relay **relay,
                               int64_t *after, roast_error *err) {
    enum { LARGE = 1 << 17 }; /* bytes: adding them takes ten times as long as starting a thread */
    for (;;) {
        bool there;
        roast_part part = {0};
        ROAST_TRY(roast_read_next(walk, &there, err));
        if (!there)
            return ROAST_OK;
        part.id = *after = walk->id;
        while (part.kind < KINDS &&
               !roast_str_equal(walk->name, roast_str_of(kinds[part.kind].name)))
            part.kind++;
        if (part.kind == KINDS) /* of a later version */
            continue;
        if (*relay == NULL && walk->bytes.len >= LARGE)
            *relay = roast_relay_begin(add_part, to);
        part.bytes = walk->bytes;
        if (*relay == NULL) {
            ROAST_TRY(add_part(to, &part, err));
        } else {
            roast_relay_put(*relay, &part);
            walk->bytes = part.bytes;
        }
    }
}

roast_status roast_read_large(roast_store *store, int64_t *after, roast_error *err) {
    roast_part_walk walk = {.statement = NULL};
    growing to = {.run = store->head};
    roast_relay *relay = NULL;
    roast_status status = roast_part_walk_begin(&walk, store->db, ROAST_PARTS_LARGE, *after, err);
    if (status == ROAST_OK)
        status = walk_large(&walk, &to, &relay, after, err);
    /* A part that could not be added comes before the one that could not be read. */
    roast_status added = roast_relay_end(relay, err);
    roast_part_walk_end(&walk);
    return added != ROAST_OK ? added : status;
}
