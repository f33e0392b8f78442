#include "roast/lanes.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/intern.h"
#include "store/db.h"

enum {
    KIND_CHUNK,
    KIND_TRY,
    /* A task may seem to begin before the last one ended, as its beginning is reckoned from two clocks; by
     * so many nanoseconds at most it is moved. */
    SLACK = 1000000,
};

typedef struct lane {
    uint32_t worker;
    int64_t thread;
    uint32_t copy;
    int64_t end; /* of the last one in it */
} lane;

struct roast_lanes {
    roast_db db;
    sqlite3_stmt *add_chunk, *add_try, *find;
    roast_intern workers;
    roast_buffer text;
    lane *lanes;
    size_t lanes_capacity;
    uint32_t n_lanes;
    int64_t chunks, tries;             /* added */
    int64_t chunks_asked, tries_asked; /* given out */
    bool settled;
};

/* ---- life ---- */

/* Chunks: when the task, process() and the chunk's end were. Keys are hashes. */
static const char tables[] =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
    "CREATE TABLE chunks(id INTEGER PRIMARY KEY, worker, thread, key, task, process, stop);"
    "CREATE TABLE tries(id INTEGER PRIMARY KEY, worker, thread, key, start, stop);"
    "BEGIN";

roast_status roast_lanes_new(roast_lanes **out, roast_error *err) {
    static char name[] = "/a temporary file"; /* for messages */
    roast_lanes *lanes = roast_alloc_zero(sizeof *lanes);
    if (lanes == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "lanes", -1, "no memory for the lanes");
    lanes->db.path = name;
    /* A database without a name is a file that goes with the connection. */
    int code =
        sqlite3_open_v2("", &lanes->db.handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    roast_status status = code == SQLITE_OK ? ROAST_OK : roast_db_fail(&lanes->db, code, err);
    if (status == ROAST_OK)
        status = roast_db_exec(&lanes->db, tables, err);
    if (status == ROAST_OK)
        status = roast_db_prepare(&lanes->db, "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?)",
                                  &lanes->add_chunk, err);
    if (status == ROAST_OK)
        status = roast_db_prepare(&lanes->db, "INSERT INTO tries VALUES (?, ?, ?, ?, ?, ?)",
                                  &lanes->add_try, err);
    if (status != ROAST_OK) {
        roast_lanes_free(lanes);
        return status;
    }
    *out = lanes;
    return ROAST_OK;
}

void roast_lanes_free(roast_lanes *lanes) {
    if (lanes == NULL)
        return;
    sqlite3_finalize(lanes->add_chunk);
    sqlite3_finalize(lanes->add_try);
    sqlite3_finalize(lanes->find);
    sqlite3_close(lanes->db.handle);
    roast_intern_reset(&lanes->workers);
    roast_buffer_reset(&lanes->text);
    roast_free(lanes->lanes);
    roast_free(lanes);
}

/* ---- in ---- */

static roast_status fail(roast_status status, roast_error *err) {
    if (status == ROAST_OK)
        return ROAST_OK;
    return roast_error_set(err, status, "lanes", -1, "no memory for the lanes of the workers");
}

static roast_status worker_of_chunk(roast_lanes *lanes, const roast_chunk *chunk, uint32_t *out) {
    roast_str name = chunk->worker;
    char pid[24];
    if (name.data == NULL) {
        lanes->text.len = 0;
        int len = snprintf(pid, sizeof pid, ":%" PRId64, chunk->pid);
        ROAST_TRY(roast_buffer_append(&lanes->text, chunk->host.data, chunk->host.len));
        ROAST_TRY(roast_buffer_append(&lanes->text, pid, (size_t)len));
        name = (roast_str){(const char *)lanes->text.data, lanes->text.len};
        if (chunk->host.data == NULL && chunk->pid == 0)
            name = roast_str_of("unknown");
    }
    return roast_intern_add(&lanes->workers, name, out);
}

/* A hash of the whole key; NULL where there is none. */
static void bind_key(const roast_lanes *lanes, sqlite3_stmt *statement, int parameter) {
    if (lanes->text.len == 0)
        sqlite3_bind_null(statement, parameter);
    else
        sqlite3_bind_int64(statement, parameter,
                           (sqlite3_int64)roast_hash(lanes->text.data, lanes->text.len));
}

static roast_status bind_chunk_key(roast_lanes *lanes, const roast_chunk *chunk) {
    size_t len = roast_chunk_task_key(chunk, NULL, 0);
    lanes->text.len = 0;
    ROAST_TRY(roast_buffer_reserve(&lanes->text, len + 1));
    lanes->text.len = roast_chunk_task_key(chunk, (char *)lanes->text.data, len + 1);
    bind_key(lanes, lanes->add_chunk, 4);
    return ROAST_OK;
}

static roast_status bind_try_key(roast_lanes *lanes, const roast_attempt *attempt) {
    size_t len = roast_attempt_key(attempt, NULL, 0);
    lanes->text.len = 0;
    ROAST_TRY(roast_buffer_reserve(&lanes->text, len + 1));
    lanes->text.len = roast_attempt_key(attempt, (char *)lanes->text.data, len + 1);
    bind_key(lanes, lanes->add_try, 4);
    return ROAST_OK;
}

/* Microseconds as nanoseconds, kept within the type. */
static int64_t nanoseconds(int64_t us) {
    int64_t ns;
    if (__builtin_mul_overflow(us, 1000, &ns))
        return us < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
    return ns;
}

static int64_t plus(int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
    return sum;
}

roast_status roast_lanes_add_attempt(roast_lanes *lanes, const roast_attempt *attempt,
                                     roast_str worker, roast_error *err) {
    uint32_t number;
    int64_t id = lanes->tries;
    if (lanes->settled)
        return roast_error_set(err, ROAST_ESTATE, "lanes", -1, "the lanes are settled already");
    lanes->tries++;
    if (attempt->start_us == ROAST_NO_TIME || attempt->stop_us == ROAST_NO_TIME ||
        attempt->stop_us < attempt->start_us)
        return ROAST_OK;
    if (worker.data == NULL)
        worker = roast_str_of("unknown");
    ROAST_TRY(fail(roast_intern_add(&lanes->workers, worker, &number), err));
    sqlite3_bind_int64(lanes->add_try, 1, id);
    sqlite3_bind_int64(lanes->add_try, 2, number);
    sqlite3_bind_int64(lanes->add_try, 3, (sqlite3_int64)attempt->thread);
    ROAST_TRY(fail(bind_try_key(lanes, attempt), err));
    sqlite3_bind_int64(lanes->add_try, 5, nanoseconds(attempt->start_us));
    sqlite3_bind_int64(lanes->add_try, 6, nanoseconds(attempt->stop_us));
    return roast_db_run(&lanes->db, lanes->add_try, err);
}

roast_status roast_lanes_add_chunk(roast_lanes *lanes, const roast_chunk *chunk, roast_error *err) {
    uint32_t number;
    int64_t id = lanes->chunks, before = 0, lasted = 0;
    if (lanes->settled)
        return roast_error_set(err, ROAST_ESTATE, "lanes", -1, "the lanes are settled already");
    lanes->chunks++;
    if ((chunk->have & ROAST_CHUNK_HAS(start_us)) == 0)
        return ROAST_OK;
    if (chunk->have & ROAST_CHUNK_HAS(before_process_ns) && chunk->before_process_ns > 0)
        before = chunk->before_process_ns;
    if (chunk->have & ROAST_CHUNK_HAS(duration_ns) && chunk->duration_ns > 0)
        lasted = chunk->duration_ns;
    int64_t process = nanoseconds(chunk->start_us);
    ROAST_TRY(fail(worker_of_chunk(lanes, chunk, &number), err));
    sqlite3_bind_int64(lanes->add_chunk, 1, id);
    sqlite3_bind_int64(lanes->add_chunk, 2, number);
    sqlite3_bind_int64(lanes->add_chunk, 3,
                       chunk->have & ROAST_CHUNK_HAS(thread) ? chunk->thread : 0);
    ROAST_TRY(fail(bind_chunk_key(lanes, chunk), err));
    sqlite3_bind_int64(lanes->add_chunk, 5, plus(process, -before));
    sqlite3_bind_int64(lanes->add_chunk, 6, process);
    sqlite3_bind_int64(lanes->add_chunk, 7, plus(process, lasted));
    return roast_db_run(&lanes->db, lanes->add_chunk, err);
}

/* ---- settling ---- */

/* Of the tries with a chunk's key on its worker the one that began nearest to it. The two names of a
 * thread, the kernel's and Python's, are known as the same one by the tries of chunks. */
static const char pairing[] =
    "COMMIT;"
    "CREATE INDEX try_keys ON tries(key, worker);"
    "CREATE TABLE pairs(chunk INTEGER PRIMARY KEY, try, lasted, distance);"
    "INSERT INTO pairs SELECT c.id, t.id, t.stop - t.start, min(abs(t.start - c.task)) "
    "FROM chunks c JOIN tries t ON t.key = c.key AND t.worker = c.worker GROUP BY c.id;"
    "CREATE TABLE paired(try INTEGER PRIMARY KEY);"
    "INSERT OR IGNORE INTO paired SELECT try FROM pairs;"
    "CREATE TABLE threads(worker, theirs, ours, PRIMARY KEY (worker, theirs)) WITHOUT ROWID;"
    "INSERT OR IGNORE INTO threads SELECT c.worker, t.thread, c.thread FROM pairs p "
    "JOIN chunks c ON c.id = p.chunk JOIN tries t ON t.id = p.try "
    "WHERE c.thread != 0 AND t.thread != 0;"
    "CREATE TABLE placed(kind, id, lane, start, stop, PRIMARY KEY (kind, id)) WITHOUT ROWID;";

/* Everything by thread, in order of time. `least`: it cannot begin later than that. */
static const char walk[] =
    "SELECT 0 AS kind, c.id AS id, c.worker AS worker, 0 AS named, c.thread AS thread, "
    "c.task AS start, c.process AS least, max(c.stop, c.task + coalesce(p.lasted, 0)) AS stop "
    "FROM chunks c LEFT JOIN pairs p ON p.chunk = c.id "
    "UNION ALL "
    "SELECT 1, t.id, t.worker, n.ours IS NULL AND t.thread != 0, coalesce(n.ours, t.thread), "
    "t.start, t.start, t.stop FROM tries t "
    "LEFT JOIN threads n ON n.worker = t.worker AND n.theirs = t.thread "
    "WHERE t.id NOT IN paired "
    "ORDER BY worker, named, thread, start, stop DESC, id";

typedef struct span {
    int64_t kind, id, worker, named, thread, start, least, stop;
} span;

static span read_span(sqlite3_stmt *rows) {
    int64_t value[8];
    for (int i = 0; i < 8; i++)
        value[i] = sqlite3_column_int64(rows, i);
    return (span){value[0], value[1], value[2], value[3], value[4], value[5], value[6], value[7]};
}

/* The first lane of the thread (those from `first` on) that is free by then; a new one if none is. */
static roast_status find_lane(roast_lanes *lanes, uint32_t first, span *one, uint32_t *out) {
    for (uint32_t i = first; i < lanes->n_lanes; i++) {
        int64_t end = lanes->lanes[i].end;
        if (end > one->least || (end > one->start && end - one->start > SLACK))
            continue;
        one->start = end > one->start ? end : one->start;
        *out = i;
        return ROAST_OK;
    }
    void *items = lanes->lanes;
    ROAST_TRY(roast_array_reserve(&items, &lanes->lanes_capacity, sizeof *lanes->lanes,
                                  (size_t)lanes->n_lanes + 1));
    lanes->lanes = items;
    lanes->lanes[lanes->n_lanes] = (lane){
        .worker = (uint32_t)one->worker, .thread = one->thread, .copy = lanes->n_lanes - first};
    *out = lanes->n_lanes++;
    return ROAST_OK;
}

static roast_status place(roast_lanes *lanes, sqlite3_stmt *add, const span *one, uint32_t at,
                          roast_error *err) {
    const int64_t value[] = {one->kind, one->id, at, one->start, one->stop};
    lanes->lanes[at].end = one->stop;
    for (int i = 0; i < 5; i++)
        sqlite3_bind_int64(add, i + 1, value[i]);
    return roast_db_run(&lanes->db, add, err);
}

static roast_status place_all(roast_lanes *lanes, sqlite3_stmt *rows, sqlite3_stmt *add,
                              roast_error *err) {
    span last = {.worker = -1};
    uint32_t first = 0, at = 0;
    bool more;
    for (;;) {
        ROAST_TRY(roast_db_step(&lanes->db, rows, &more, err));
        if (!more)
            return ROAST_OK;
        span one = read_span(rows);
        if (one.worker != last.worker || one.named != last.named || one.thread != last.thread)
            first = lanes->n_lanes;
        last = one;
        ROAST_TRY(fail(find_lane(lanes, first, &one, &at), err));
        ROAST_TRY(place(lanes, add, &one, at, err));
    }
}

roast_status roast_lanes_settle(roast_lanes *lanes, roast_error *err) {
    sqlite3_stmt *rows = NULL, *add = NULL;
    if (lanes->settled)
        return roast_error_set(err, ROAST_ESTATE, "lanes", -1, "the lanes are settled already");
    lanes->settled = true;
    ROAST_TRY(roast_db_exec(&lanes->db, pairing, err));
    ROAST_TRY(roast_db_exec(&lanes->db, "BEGIN", err));
    roast_status status = roast_db_prepare(&lanes->db, walk, &rows, err);
    if (status == ROAST_OK)
        status =
            roast_db_prepare(&lanes->db, "INSERT INTO placed VALUES (?, ?, ?, ?, ?)", &add, err);
    if (status == ROAST_OK)
        status = place_all(lanes, rows, add, err);
    sqlite3_finalize(rows);
    sqlite3_finalize(add);
    if (status != ROAST_OK)
        return status;
    ROAST_TRY(roast_db_exec(&lanes->db, "COMMIT", err));
    return roast_db_prepare(&lanes->db,
                            "SELECT lane, start, stop FROM placed WHERE kind = ? AND id = ?",
                            &lanes->find, err);
}

/* ---- out ---- */

uint32_t roast_lanes_count(const roast_lanes *lanes) {
    return lanes->n_lanes;
}

roast_lane roast_lanes_at(const roast_lanes *lanes, uint32_t index) {
    if (index >= lanes->n_lanes)
        return (roast_lane){.copy = 0};
    const lane *one = &lanes->lanes[index];
    return (roast_lane){roast_intern_get(&lanes->workers, one->worker), one->thread, one->copy};
}

static roast_status find(roast_lanes *lanes, int kind, int64_t id, int64_t count, roast_place *out,
                         roast_error *err) {
    bool there;
    if (lanes->find == NULL || id >= count)
        return roast_error_set(err, ROAST_ESTATE, "lanes", -1,
                               lanes->find == NULL ? "the lanes are not settled"
                                                   : "there are no more places");
    sqlite3_bind_int(lanes->find, 1, kind);
    sqlite3_bind_int64(lanes->find, 2, id);
    ROAST_TRY(roast_db_step(&lanes->db, lanes->find, &there, err));
    *out = (roast_place){.there = there};
    if (there) {
        out->lane = (uint32_t)sqlite3_column_int64(lanes->find, 0);
        out->task_start = sqlite3_column_int64(lanes->find, 1);
        out->task_stop = sqlite3_column_int64(lanes->find, 2);
    }
    sqlite3_reset(lanes->find);
    return ROAST_OK;
}

roast_status roast_lanes_next_chunk(roast_lanes *lanes, roast_place *out, roast_error *err) {
    ROAST_TRY(find(lanes, KIND_CHUNK, lanes->chunks_asked, lanes->chunks, out, err));
    lanes->chunks_asked++;
    return ROAST_OK;
}

roast_status roast_lanes_next_attempt(roast_lanes *lanes, roast_place *out, roast_error *err) {
    ROAST_TRY(find(lanes, KIND_TRY, lanes->tries_asked, lanes->tries, out, err));
    lanes->tries_asked++;
    return ROAST_OK;
}
