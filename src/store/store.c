/* Opening a measurement, and walking over what is in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "store/numbers.h"
#include "store/pages.h"
#include "store/place.h"
#include "store/reader.h"

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "measurement", -1, "no memory for the measurement");
}

/* ---- opening ---- */

/* Bytes 18 and 19 of the header are 2 in a file with a log beside it: it was not finished. */
static roast_status read_mode(const char *path, bool *finished, roast_error *err) {
    enum { MODE_AT = 18 };
    uint8_t header[MODE_AT + 2];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return roast_error_set(err, ROAST_ENOTFOUND, "measurement", -1, "%s does not exist", path);
    bool regular = fd < 0 || fstat(fd, &info) != 0 || S_ISREG(info.st_mode);
    ssize_t got = fd < 0 || !regular ? -1 : pread(fd, header, sizeof header, 0);
    int number = errno;
    if (fd >= 0)
        close(fd);
    errno = number;
    if (!regular)
        return roast_error_set(err, ROAST_ECORRUPT, "measurement", -1, "%s is no file", path);
    if (got < 0)
        return roast_error_set(err, ROAST_EIO, "measurement", -1, "%s: %s", path, strerror(number));
    *finished = got < (ssize_t)sizeof header || header[MODE_AT] != 2 || header[MODE_AT + 1] != 2;
    return ROAST_OK;
}

/* The writer holds a lock on the marker for as long as it lives. */
static roast_status read_live_state(roast_store *store, roast_error *err) {
    char *path = roast_path_join(store->directory, ROAST_STORE_MARKER);
    if (path == NULL)
        return no_memory(err);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    roast_free(path);
    store->state = ROAST_STORE_UNFINISHED;
    if (fd >= 0) {
        if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            store->state = ROAST_STORE_LIVE;
        close(fd);
    }
    return ROAST_OK;
}

static roast_status check_there(const char *directory, roast_error *err) {
    struct stat info;
    if (stat(directory, &info) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return roast_error_set(err, ROAST_ENOTFOUND, "measurement", -1, "%s does not exist",
                                   directory);
        return roast_error_set(err, ROAST_EIO, "measurement", -1, "%s: %s", directory,
                               strerror(errno));
    }
    if (!S_ISDIR(info.st_mode))
        return roast_error_set(err, ROAST_ENOTFOUND, "measurement", -1,
                               "%s is not a directory, so it is not a measurement", directory);
    if (roast_store_is_measurement(directory) == ROAST_STORE_LEGACY)
        return roast_error_set(err, ROAST_EUNSUPPORTED, "measurement", -1,
                               "%s was written by roastcoffea 0.1.x: import it first", directory);
    return ROAST_OK;
}

static roast_status open_parts(roast_store *store, const char *path, roast_error *err) {
    bool finished = true;
    store->directory = roast_path_join(path, "");
    if (store->directory == NULL)
        return no_memory(err);
    for (size_t len = strlen(store->directory); len > 1 && store->directory[len - 1] == '/'; len--)
        store->directory[len - 1] = '\0';
    ROAST_TRY(check_there(store->directory, err));
    char *database = roast_path_join(store->directory, ROAST_STORE_DATABASE);
    if (database == NULL)
        return no_memory(err);
    roast_status status = read_mode(database, &finished, err);
    if (status == ROAST_OK && !finished)
        status = read_live_state(store, err);
    if (status == ROAST_OK)
        status = roast_db_open(&store->db, database, finished, err);
    roast_free(database);
    return status == ROAST_OK ? roast_read_head(store, err) : status;
}

roast_status roast_store_open(const char *path, roast_store **out, roast_error *err) {
    if (path == NULL || *path == '\0')
        return roast_error_set(err, ROAST_EINVAL, "measurement", -1, "a measurement needs a path");
    roast_store *store = roast_alloc_zero(sizeof *store);
    if (store == NULL)
        return no_memory(err);
    store->state = ROAST_STORE_FINISHED;
    roast_status status = open_parts(store, path, err);
    if (status != ROAST_OK) {
        roast_store_close(store);
        return status;
    }
    *out = store;
    return ROAST_OK;
}

static void end_walk(sqlite3_stmt **walk) {
    sqlite3_finalize(*walk);
    *walk = NULL;
}

void roast_store_close(roast_store *store) {
    if (store == NULL)
        return;
    roast_store_rewind_chunks(store);
    roast_store_rewind_files(store);
    roast_store_rewind_attempts(store);
    roast_store_rewind_series(store);
    end_walk(&store->blob);
    roast_db_close(&store->db, NULL);
    roast_run_free(store->head);
    roast_attempts_free(store->attempts);
    roast_free(store->prefixes);
    roast_arena_reset(&store->names);
    roast_dictionary_reset(&store->dictionary);
    roast_free(store->tails.sections);
    roast_free(store->tails.reads);
    roast_free(store->tails.customs);
    roast_free(store->tails.sizes);
    roast_arena_reset(&store->tails.texts);
    roast_pack_reset(&store->pack);
    roast_free(store->directory);
    roast_free(store);
}

roast_store_state roast_store_get_state(const roast_store *store) {
    return store->state;
}

bool roast_store_is_live(const roast_store *store) {
    return store->state != ROAST_STORE_FINISHED;
}

const roast_run *roast_store_head(const roast_store *store) {
    return store->head;
}

uint64_t roast_store_chunk_count(const roast_store *store) {
    return (uint64_t)store->chunk_count;
}

uint64_t roast_store_attempt_count(const roast_store *store) {
    return (uint64_t)store->attempt_count;
}

uint64_t roast_store_sample_count(const roast_store *store) {
    return (uint64_t)store->sample_count;
}

const roast_attempts *roast_store_attempts_head(const roast_store *store) {
    return store->attempts;
}

struct sqlite3 *roast_store_sqlite(roast_store *store) {
    return store->db.handle;
}

const char *roast_store_path(const roast_store *store) {
    return store->db.path;
}

/* ---- blobs ---- */

roast_status roast_store_blob(roast_store *store, const char *name, roast_str *out,
                              roast_error *err) {
    bool there;
    end_walk(&store->blob);
    ROAST_TRY(
        roast_db_prepare(&store->db, "SELECT bytes FROM blobs WHERE name = ?1", &store->blob, err));
    roast_db_bind_text(store->blob, 1, roast_str_of(name));
    ROAST_TRY(roast_db_step(&store->db, store->blob, &there, err));
    if (!there)
        return roast_error_set(err, ROAST_ENOTFOUND, "measurement", -1,
                               "the measurement holds nothing called '%s'", name);
    return roast_db_blob(store->blob, 0, out) ? ROAST_OK
                                              : roast_db_damaged(&store->db, "blobs", -1, err);
}

/* ---- small files ---- */

static roast_status check_file(const roast_store *store, const char *name, int64_t length,
                               int64_t checksum, char **bytes, size_t *len, roast_error *err) {
    if (length < 0 || length > ROAST_STORE_MAX_FILE || strchr(name, '/') != NULL)
        return roast_db_damaged(&store->db, "small_files", -1, err);
    ROAST_TRY(roast_path_read(store->directory, name, ROAST_STORE_MAX_FILE, bytes, len, err));
    if (*len == (size_t)length && roast_crc32c(0, *bytes, *len) == (uint64_t)checksum)
        return ROAST_OK;
    roast_free(*bytes);
    return roast_error_set(err, ROAST_ECORRUPT, name, -1,
                           "%s is damaged: its bytes are not those that were saved", name);
}

/* Those of that name, or all. */
static roast_status walk_files(roast_store *store, const char *name, char **bytes, size_t *len,
                               bool *found, roast_error *err) {
    sqlite3_stmt *row;
    bool more;
    ROAST_TRY(roast_db_prepare(&store->db,
                               "SELECT name, length, checksum FROM small_files "
                               "WHERE ?1 IS NULL OR name = ?1",
                               &row, err));
    roast_db_bind_text(row, 1, roast_str_of(name));
    roast_status status = ROAST_OK;
    *found = false;
    while (status == ROAST_OK) {
        roast_str found_name;
        int64_t length, checksum;
        char *data;
        size_t size;
        status = roast_db_step(&store->db, row, &more, err);
        if (status != ROAST_OK || !more)
            break;
        if (!roast_db_text(row, 0, &found_name) || !roast_db_int(row, 1, &length) ||
            !roast_db_int(row, 2, &checksum))
            status = roast_db_damaged(&store->db, "small_files", -1, err);
        else
            status = check_file(store, found_name.data, length, checksum, &data, &size, err);
        if (status != ROAST_OK)
            break;
        *found = true;
        if (name == NULL) {
            roast_free(data);
            continue;
        }
        *bytes = data;
        *len = size;
        break;
    }
    sqlite3_finalize(row);
    return status;
}

roast_status roast_store_read_file(roast_store *store, const char *name, char **bytes, size_t *len,
                                   roast_error *err) {
    bool found;
    ROAST_TRY(walk_files(store, name, bytes, len, &found, err));
    return found ? ROAST_OK
                 : roast_error_set(err, ROAST_ENOTFOUND, "measurement", -1,
                                   "the measurement has no %s", name);
}

static roast_status verify_live(roast_store *store, roast_error *err) {
    sqlite3_stmt *row;
    bool more;
    roast_str answer;
    ROAST_TRY(roast_db_prepare(&store->db, "PRAGMA quick_check(1)", &row, err));
    roast_status status = roast_db_step(&store->db, row, &more, err);
    if (status == ROAST_OK &&
        (!more || !roast_db_text(row, 0, &answer) || !roast_str_equal(answer, roast_str_of("ok"))))
        status = roast_error_set(err, ROAST_ECORRUPT, ROAST_STORE_DATABASE, -1,
                                 "run.sqlite is damaged: its tables do not fit together");
    sqlite3_finalize(row);
    return status;
}

static roast_status verify_finished(const roast_store *store, roast_error *err) {
    int fd = open(store->db.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return roast_error_set(err, ROAST_EIO, ROAST_STORE_DATABASE, -1, "%s: %s", store->db.path,
                               strerror(errno));
    roast_status status = roast_pages_verify(fd, ROAST_STORE_DATABASE, err);
    close(fd);
    return status;
}

roast_status roast_store_verify(roast_store *store, roast_error *err) {
    bool found;
    ROAST_TRY(roast_store_is_live(store) ? verify_live(store, err) : verify_finished(store, err));
    return walk_files(store, NULL, NULL, NULL, &found, err);
}

/* ---- walks ---- */

/* Steps on; *row is NULL behind the last one, where the walk has ended. */
static roast_status next_row(roast_store *store, sqlite3_stmt **walk, const char *sql, bool *there,
                             roast_error *err) {
    if (*walk == NULL) {
        ROAST_TRY(roast_dictionary_load(&store->dictionary, &store->db, err));
        ROAST_TRY(roast_db_prepare(&store->db, sql, walk, err));
    }
    return roast_db_step(&store->db, *walk, there, err);
}

roast_status roast_store_next_chunk(roast_store *store, roast_chunk *out, bool *there,
                                    roast_error *err) {
    *there = false;
    if (store->chunks != NULL && store->next_chunk == store->chunk_count)
        return ROAST_OK;
    ROAST_TRY(next_row(store, &store->chunks, "SELECT * FROM chunk_rows WHERE id >= 0 ORDER BY id",
                       there, err));
    if (!*there)
        return store->next_chunk == store->chunk_count
                   ? ROAST_OK
                   : roast_db_damaged(&store->db, "chunk_rows", store->next_chunk, err);
    roast_status status = roast_read_chunk(store, store->chunks, store->next_chunk, out, err);
    *there = status == ROAST_OK;
    store->next_chunk++;
    return status;
}

void roast_store_rewind_chunks(roast_store *store) {
    end_walk(&store->chunks);
    roast_read_customs_end(store);
    store->next_chunk = 0;
}

roast_status roast_read_beside(roast_store *store, roast_chunklog *out, roast_error *err) {
    sqlite3_stmt *walk = NULL;
    roast_chunk chunk;
    bool there;
    roast_status status = ROAST_OK;
    for (int64_t number = -1; status == ROAST_OK; number--) {
        status = next_row(store, &walk, "SELECT * FROM chunk_rows WHERE id < 0 ORDER BY id DESC",
                          &there, err);
        if (status != ROAST_OK || !there)
            break;
        status = roast_read_chunk(store, walk, number, &chunk, err);
        if (status == ROAST_OK)
            status = roast_chunklog_append(out, &chunk, err);
    }
    sqlite3_finalize(walk);
    roast_read_customs_end(store);
    return status;
}

/* ---- files ---- */

static bool get_sizes(sqlite3_stmt *row, const roast_str *names, uint32_t count,
                      roast_branch_size *out) {
    roast_numbers bytes, uncompressed;
    roast_str text;
    if (!roast_db_text(row, 6, &text) || !roast_numbers_open(&bytes, text) ||
        !roast_db_text(row, 7, &text) || !roast_numbers_open(&uncompressed, text))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        out[i].name = names[i];
        if (!roast_numbers_get_known(&bytes, &out[i].bytes) ||
            !roast_numbers_get_known(&uncompressed, &out[i].uncompressed_bytes))
            return false;
    }
    return roast_numbers_done(&bytes) && roast_numbers_done(&uncompressed);
}

static roast_status read_file_row(roast_store *store, sqlite3_stmt *row, roast_file *out) {
    const roast_dictionary *dictionary = &store->dictionary;
    const roast_str *names;
    int64_t id, file;
    bool there;
    *out = (roast_file){.n_branches = 0};
    if (!roast_db_int(row, 0, &id) || id != store->next_file + 1 ||
        !roast_db_int_or(row, 1, 0, &file) || file < 0 || file > dictionary->n_files ||
        !roast_db_int_or(row, 2, -1, &out->total_branches) ||
        !roast_db_int_or(row, 3, -1, &out->tree_bytes) ||
        !roast_db_int_or(row, 4, -1, &out->tree_uncompressed_bytes) ||
        !roast_dictionary_set(dictionary, row, 5, &there, &names, &out->n_branches) || !there)
        return ROAST_ECORRUPT;
    if (file > 0) {
        out->name = dictionary->files[file - 1].name;
        out->uuid = dictionary->files[file - 1].uuid;
        out->treename = dictionary->files[file - 1].treename;
    }
    void *sizes = store->tails.sizes;
    roast_status status = roast_array_reserve(&sizes, &store->tails.sizes_capacity,
                                              sizeof(roast_branch_size), out->n_branches);
    store->tails.sizes = sizes;
    ROAST_TRY(status);
    out->branches = store->tails.sizes;
    return get_sizes(row, names, out->n_branches, store->tails.sizes) ? ROAST_OK : ROAST_ECORRUPT;
}

roast_status roast_store_next_file(roast_store *store, roast_file *out, bool *there,
                                   roast_error *err) {
    *there = false;
    if (store->files != NULL && store->next_file < 0)
        return ROAST_OK;
    ROAST_TRY(next_row(store, &store->files, "SELECT * FROM file_rows ORDER BY id", there, err));
    if (!*there) {
        store->next_file = -1;
        return ROAST_OK;
    }
    roast_status status = read_file_row(store, store->files, out);
    *there = status == ROAST_OK;
    store->next_file++;
    if (status == ROAST_ECORRUPT)
        return roast_db_damaged(&store->db, "file_rows", store->next_file, err);
    return status == ROAST_OK ? ROAST_OK : no_memory(err);
}

void roast_store_rewind_files(roast_store *store) {
    end_walk(&store->files);
    store->next_file = 0;
}
