/* Attempts and the worker series, piece by piece, and the whole run. */
#include "store/reader.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

/* ---- attempts ---- */

static bool get_time(sqlite3_stmt *row, int column, int64_t *out) {
    return roast_db_int_or(row, column, ROAST_NO_TIME, out);
}

static bool get_known(sqlite3_stmt *row, int column, int64_t *out) {
    return roast_db_int_or(row, column, -1, out) && *out >= -1;
}

/* A number below `count`, or `none` for NULL. */
static bool get_number(sqlite3_stmt *row, int column, uint32_t count, uint32_t none,
                       uint32_t *out) {
    int64_t number;
    if (!roast_db_int_or(row, column, -1, &number) || number < -1 || number >= (int64_t)count)
        return false;
    *out = number < 0 ? none : (uint32_t)number;
    return sqlite3_column_type(row, column) == SQLITE_NULL || number >= 0;
}

static bool get_names(const roast_store *store, sqlite3_stmt *row, roast_attempt *out) {
    enum { HASH_BYTES = 16 };
    int64_t prefix, outcome, thread;
    if (!roast_db_int(row, 1, &prefix) || prefix < 1 || prefix > store->n_prefixes ||
        !roast_db_int(row, 2, &outcome) || outcome < 0 || outcome >= ROAST_OUTCOME_COUNT ||
        !roast_dictionary_text(&store->dictionary, row, 3, &out->key) ||
        !get_known(row, 5, &out->key_number) || !roast_db_int(row, 7, &thread))
        return false;
    if (sqlite3_column_type(row, 4) != SQLITE_NULL &&
        (!roast_db_blob(row, 4, &out->key_hash) || out->key_hash.len != HASH_BYTES))
        return false;
    out->prefix = store->prefixes[prefix - 1].prefix;
    out->kind = store->prefixes[prefix - 1].kind;
    out->outcome = (roast_outcome)outcome;
    out->thread = (uint64_t)thread;
    return true;
}

static bool get_attempt(const roast_store *store, sqlite3_stmt *row, roast_attempt *out) {
    int64_t id;
    *out = (roast_attempt){.kind = ROAST_KIND_other};
    return roast_db_int(row, 0, &id) && id == store->next_attempt && get_names(store, row, out) &&
           get_number(row, 6, roast_attempts_worker_count(store->attempts), ROAST_NO_WORKER,
                      &out->worker) &&
           get_time(row, 8, &out->ready_us) && get_time(row, 9, &out->sent_us) &&
           get_time(row, 10, &out->start_us) && get_time(row, 11, &out->stop_us) &&
           roast_db_int(row, 12, &out->ended_us) && get_known(row, 13, &out->transfer_us) &&
           get_known(row, 14, &out->deserialize_us) && get_known(row, 15, &out->disk_us) &&
           get_known(row, 16, &out->nbytes) &&
           get_number(row, 17, roast_attempts_departure_count(store->attempts) + 1,
                      ROAST_NO_DEPARTURE, &out->departure) &&
           roast_db_text_or_null(row, 18, &out->error_type) &&
           roast_db_text_or_null(row, 19, &out->error_message);
}

roast_status roast_store_next_attempt(roast_store *store, roast_attempt *out, bool *there,
                                      roast_error *err) {
    *there = false;
    if (store->attempts == NULL ||
        (store->attempt_rows != NULL && store->next_attempt == store->attempt_count))
        return ROAST_OK;
    if (store->attempt_rows == NULL) {
        ROAST_TRY(roast_dictionary_load(&store->dictionary, &store->db, err));
        ROAST_TRY(roast_db_prepare(&store->db, "SELECT * FROM attempt_rows ORDER BY id",
                                   &store->attempt_rows, err));
    }
    ROAST_TRY(roast_db_step(&store->db, store->attempt_rows, there, err));
    if (*there ? get_attempt(store, store->attempt_rows, out)
               : store->next_attempt == store->attempt_count) {
        store->next_attempt += *there;
        return ROAST_OK;
    }
    *there = false;
    return roast_db_damaged(&store->db, "attempt_rows", store->next_attempt, err);
}

void roast_store_rewind_attempts(roast_store *store) {
    sqlite3_finalize(store->attempt_rows);
    store->attempt_rows = NULL;
    store->next_attempt = 0;
}

/* On append the key is whole. */
static roast_status append_attempt(roast_attempts *out, roast_attempt *attempt, roast_error *err) {
    char key[ROAST_MAX_KEY + 64];
    if (attempt->key.data != NULL) {
        size_t len = roast_attempt_key(attempt, key, sizeof key);
        attempt->key = (roast_str){key, len < sizeof key ? len : sizeof key - 1};
    }
    return roast_attempts_append(out, attempt, err);
}

static roast_status fill_attempts(roast_store *store, roast_attempts *out, roast_error *err) {
    roast_attempt attempt;
    bool there;
    ROAST_TRY(roast_read_attempts_head(store, out, err));
    roast_store_rewind_attempts(store);
    for (;;) {
        ROAST_TRY(roast_store_next_attempt(store, &attempt, &there, err));
        if (!there)
            break;
        ROAST_TRY(append_attempt(out, &attempt, err));
    }
    roast_store_rewind_attempts(store);
    for (uint32_t i = 0; i < store->n_prefixes; i++) {
        const roast_attempt_prefix *prefix = &store->prefixes[i];
        if (prefix->prefix.data != NULL && prefix->kind != ROAST_KIND_foreign)
            ROAST_TRY(roast_attempts_set_kind(out, prefix->prefix, prefix->kind, err));
    }
    return ROAST_OK;
}

static roast_status load_attempts(roast_store *store, roast_run *run, roast_error *err) {
    roast_attempts *attempts;
    if (store->attempts == NULL)
        return ROAST_OK;
    ROAST_TRY(roast_attempts_new(&attempts, err));
    roast_status status = fill_attempts(store, attempts, err);
    if (status == ROAST_OK)
        roast_run_take_attempts(run, attempts);
    else
        roast_attempts_free(attempts);
    return status;
}

/* ---- the worker series ---- */

typedef struct piece {
    int64_t row, first_tick, ticks, samples;
    roast_str bytes;
} piece;

static bool get_piece(const roast_store *store, sqlite3_stmt *row, piece *out) {
    int64_t id;
    return roast_db_int(row, 0, &id) && id == store->next_piece &&
           roast_db_int(row, 1, &out->first_tick) && roast_db_int(row, 2, &out->ticks) &&
           roast_db_int(row, 3, &out->samples) && roast_db_blob(row, 4, &out->bytes) &&
           out->first_tick >= store->next_tick && out->ticks > 0 &&
           out->ticks <= ROAST_PIECE_TICKS && out->first_tick <= store->tick_count - out->ticks;
}

/* The next piece, if there is one. */
static roast_status next_piece(roast_store *store, piece *out, bool *there, roast_error *err) {
    if (store->pieces == NULL)
        ROAST_TRY(
            roast_db_prepare(&store->db, "SELECT * FROM series ORDER BY id", &store->pieces, err));
    ROAST_TRY(roast_db_step(&store->db, store->pieces, there, err));
    if (*there && !get_piece(store, store->pieces, out))
        return roast_db_damaged(&store->db, "series", store->next_piece, err);
    out->row = store->next_piece;
    store->next_piece += *there;
    return ROAST_OK;
}

/* Gives the series the ticks from store->next_tick on to `end`. */
static roast_status add_ticks(roast_store *store, roast_series *series, int64_t end,
                              roast_error *err) {
    bool there;
    int64_t id, when, workers;
    if (store->ticks == NULL)
        ROAST_TRY(
            roast_db_prepare(&store->db, "SELECT * FROM ticks ORDER BY id", &store->ticks, err));
    for (; store->next_tick < end; store->next_tick++) {
        ROAST_TRY(roast_db_step(&store->db, store->ticks, &there, err));
        roast_status status = ROAST_EINVAL;
        if (there && roast_db_int(store->ticks, 0, &id) && id == store->next_tick &&
            roast_db_int(store->ticks, 1, &when) && roast_db_int(store->ticks, 2, &workers) &&
            workers >= 0 && workers <= ROAST_MAX_WORKERS)
            status = roast_series_tick(series, (roast_utc){when}, (uint32_t)workers, err);
        if (status == ROAST_EINVAL)
            return roast_db_damaged(&store->db, "ticks", store->next_tick, err);
        ROAST_TRY(status);
    }
    return ROAST_OK;
}

/* Puts the samples of a piece into the series, which has its ticks. `first` is the tick of the run that is
 * the first one of the series. */
static roast_status unpack(roast_pack *pack, const piece *from, roast_series *series, int64_t first,
                           roast_error *err) {
    uint64_t samples;
    roast_status status;
    const char *fault = roast_unpack_piece(pack, from->bytes.data, from->bytes.len, series,
                                           (uint64_t)(from->first_tick - first),
                                           (uint32_t)from->ticks, &samples, &status);
    if (fault == NULL && samples != (uint64_t)from->samples) {
        fault = "it has another number of samples than it says";
        status = ROAST_ECORRUPT;
    }
    if (fault == NULL)
        return ROAST_OK;
    return roast_error_set(err, status, "run.sqlite", from->row,
                           status == ROAST_ECORRUPT
                               ? "run.sqlite is damaged: row %lld of series: %s"
                               : "run.sqlite, row %lld of series: %s",
                           (long long)from->row, fault);
}

static roast_status take_piece(roast_store *store, const piece *from, roast_series *series,
                               int64_t first, roast_error *err) {
    ROAST_TRY(add_ticks(store, series, from->first_tick + from->ticks, err));
    return unpack(&store->pack, from, series, first, err);
}

void roast_store_rewind_series(roast_store *store) {
    sqlite3_finalize(store->pieces);
    sqlite3_finalize(store->ticks);
    store->pieces = store->ticks = NULL;
    store->next_piece = store->next_tick = 0;
    if (store->pack.workers > 0)
        memset(store->pack.states, 0, store->pack.workers * sizeof *store->pack.states);
}

static roast_status fill_piece(roast_store *store, roast_series *series, bool *there,
                               roast_error *err) {
    piece found;
    int64_t first = store->next_tick;
    ROAST_TRY(next_piece(store, &found, there, err));
    if (!*there && first == store->tick_count)
        return ROAST_OK;
    ROAST_TRY(roast_read_workers(store, series, err));
    if (*there)
        return take_piece(store, &found, series, first, err);
    *there = true; /* ticks at which there was no worker */
    return add_ticks(store, series, store->tick_count, err);
}

roast_status roast_store_next_series(roast_store *store, roast_series **out, roast_error *err) {
    roast_series *series;
    bool there;
    *out = NULL;
    ROAST_TRY(roast_series_new(&series, err));
    roast_status status = fill_piece(store, series, &there, err);
    if (status == ROAST_OK && there)
        *out = series;
    else
        roast_series_free(series);
    return status;
}

static roast_status fill_series(roast_store *store, roast_series *series, roast_error *err) {
    piece found;
    bool there;
    roast_store_rewind_series(store);
    ROAST_TRY(roast_read_workers(store, series, err));
    ROAST_TRY(roast_read_events(store, series, err));
    for (;;) {
        ROAST_TRY(next_piece(store, &found, &there, err));
        if (!there)
            break;
        ROAST_TRY(take_piece(store, &found, series, 0, err));
    }
    ROAST_TRY(add_ticks(store, series, store->tick_count, err));
    roast_store_rewind_series(store);
    return ROAST_OK;
}

roast_status roast_store_series(roast_store *store, roast_series **out, roast_error *err) {
    roast_series *series;
    ROAST_TRY(roast_series_new(&series, err));
    roast_status status = fill_series(store, series, err);
    if (status == ROAST_OK)
        *out = series;
    else
        roast_series_free(series);
    return status;
}

/* ---- the whole run ---- */

static roast_status fill_chunks(roast_store *store, roast_chunklog *log, roast_error *err) {
    roast_chunk chunk;
    roast_file file;
    bool there;
    for (;;) {
        ROAST_TRY(roast_store_next_chunk(store, &chunk, &there, err));
        if (!there)
            break;
        ROAST_TRY(roast_chunklog_append_by(log, &chunk, &store->tails.refs, err));
    }
    for (;;) {
        ROAST_TRY(roast_store_next_file(store, &file, &there, err));
        if (!there)
            return ROAST_OK;
        ROAST_TRY(roast_chunklog_add_file(log, &file, err));
    }
}

static roast_status load_chunks_and_series(roast_store *store, roast_series **out,
                                           roast_error *err) {
    ROAST_TRY(fill_chunks(store, roast_run_chunks(store->head), err));
    return roast_store_series(store, out, err);
}

/* ---- a large run: its series is unpacked beside the chunks ---- */

enum { MANY_SAMPLES = 20000 }; /* a millisecond; to begin a thread takes a tenth of it */

/* All pieces, whose bytes are our own, and what became of them. While the thread goes on, the series and
 * the pack of the store are its own. */
typedef struct unpacking {
    roast_pack *pack;
    roast_series *series;
    piece *pieces;
    size_t capacity, count;
    roast_status status;
    roast_error err;
} unpacking;

static roast_status keep_piece(unpacking *all, const piece *one, roast_error *err) {
    void *pieces = all->pieces;
    roast_status status =
        roast_array_reserve(&pieces, &all->capacity, sizeof *all->pieces, all->count + 1);
    all->pieces = pieces;
    char *bytes = status == ROAST_OK ? roast_alloc(one->bytes.len) : NULL;
    if (bytes == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "run.sqlite", -1, "no memory for the series");
    memcpy(bytes, one->bytes.data, one->bytes.len);
    all->pieces[all->count] = *one;
    all->pieces[all->count++].bytes.data = bytes;
    return ROAST_OK;
}

/* All that has to be asked of SQLite, which only one thread may do. */
static roast_status collect_pieces(roast_store *store, unpacking *all, roast_error *err) {
    piece found;
    bool there;
    roast_store_rewind_series(store);
    ROAST_TRY(roast_series_new(&all->series, err));
    ROAST_TRY(roast_read_workers(store, all->series, err));
    ROAST_TRY(roast_read_events(store, all->series, err));
    for (;;) {
        ROAST_TRY(next_piece(store, &found, &there, err));
        if (!there)
            return add_ticks(store, all->series, store->tick_count, err);
        ROAST_TRY(add_ticks(store, all->series, found.first_tick + found.ticks, err));
        ROAST_TRY(keep_piece(all, &found, err));
    }
}

static void *unpack_all(void *context) {
    unpacking *all = context;
    for (size_t i = 0; all->status == ROAST_OK && i < all->count; i++)
        all->status = unpack(all->pack, &all->pieces[i], all->series, 0, &all->err);
    return NULL;
}

/* Signals are for the threads of the program. */
static bool begin_thread(pthread_t *thread, unpacking *all) {
    sigset_t every, before;
    sigfillset(&every);
    if (pthread_sigmask(SIG_SETMASK, &every, &before) != 0)
        return false;
    bool begun = pthread_create(thread, NULL, unpack_all, all) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun;
}

static void reset_unpacking(unpacking *all) {
    for (size_t i = 0; i < all->count; i++)
        roast_free((char *)all->pieces[i].bytes.data);
    roast_free(all->pieces);
    roast_series_free(all->series);
}

/* What is wrong with the chunks is told first, as it is where one comes after the other. */
static roast_status load_beside(roast_store *store, roast_series **out, roast_error *err) {
    unpacking all = {.pack = &store->pack};
    pthread_t thread;
    roast_error_reset(&all.err);
    all.status = collect_pieces(store, &all, &all.err);
    bool begun = begin_thread(&thread, &all);
    roast_status status = fill_chunks(store, roast_run_chunks(store->head), err);
    if (begun)
        pthread_join(thread, NULL);
    else if (status == ROAST_OK)
        unpack_all(&all);
    roast_store_rewind_series(store);
    if (status == ROAST_OK) {
        status = all.status;
        if (status != ROAST_OK && err != NULL)
            *err = all.err;
    }
    if (status == ROAST_OK) {
        *out = all.series;
        all.series = NULL;
    }
    reset_unpacking(&all);
    return status;
}

/* The head becomes the run. */
static roast_status load_rest(roast_store *store, roast_error *err) {
    roast_series *series;
    if (!roast_store_is_live(store))
        ROAST_TRY(roast_store_verify(store, err));
    if (store->sample_count >= MANY_SAMPLES && store->chunk_count > 0)
        ROAST_TRY(load_beside(store, &series, err));
    else
        ROAST_TRY(load_chunks_and_series(store, &series, err));
    roast_run_take_series(store->head, series);
    return load_attempts(store, store->head, err);
}

roast_status roast_store_load(const char *path, roast_run **out, roast_error *err) {
    roast_store *store;
    ROAST_TRY(roast_store_open(path, &store, err));
    roast_status status = load_rest(store, err);
    if (status == ROAST_OK) {
        *out = store->head;
        store->head = NULL;
    }
    roast_store_close(store);
    return status;
}
