/* Opening a measurement. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "store/place/place.h"
#include "store/read/read.h"

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "measurement", -1, "no memory for the measurement");
}

/* ---- opening ---- */

/* Of the header of a file of SQLite. */
typedef struct database_header {
    bool finished;    /* it has no log next to it */
    uint32_t version; /* ours */
    bool whole;       /* the file has as many bytes as the header says */
} database_header;

static uint32_t number_at(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* A file that is too short for a header counts as finished: opening it says what is wrong. */
static roast_status read_header(const char *directory, database_header *out, roast_error *err) {
    enum {
        PAGE_AT = 16,
        MODE_AT = 18,
        CHANGE_AT = 24,
        PAGES_AT = 28,
        VERSION_AT = 60,
        PAGES_OF = 92,
        SIZE = 100
    };
    uint8_t header[SIZE] = {0};
    int fd = -1;
    size_t size = 0;
    ROAST_TRY(roast_path_open(directory, ROAST_STORE_DATABASE, SIZE_MAX, &fd, &size, err));
    ssize_t got = pread(fd, header, sizeof header, 0);
    close(fd);
    uint64_t page = (uint64_t)header[PAGE_AT] << 8 | header[PAGE_AT + 1];
    *out = (database_header){.finished = header[MODE_AT] != 2 || header[MODE_AT + 1] != 2,
                             .version = number_at(header + VERSION_AT)};
    /* SQLite's own rule for whether the number of pages is up to date. */
    out->whole = got == SIZE && memcmp(header + CHANGE_AT, header + PAGES_OF, 4) == 0 &&
                 (page == 1 ? 65536 : page) * number_at(header + PAGES_AT) == size;
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
    database_header header;
    store->directory = roast_path_join(path, "");
    if (store->directory == NULL)
        return no_memory(err);
    for (size_t len = strlen(store->directory); len > 1 && store->directory[len - 1] == '/'; len--)
        store->directory[len - 1] = '\0';
    ROAST_TRY(check_there(store->directory, err));
    char *database = roast_path_join(store->directory, ROAST_STORE_DATABASE);
    if (database == NULL)
        return no_memory(err);
    roast_status status = read_header(store->directory, &header, err);
    if (status == ROAST_OK && !header.finished)
        status = read_live_state(store, err);
    if (status == ROAST_OK)
        status = roast_db_open(&store->db, database, header.finished, err);
    roast_free(database);
    return status == ROAST_OK ? roast_read_small(store, err) : status;
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

void roast_store_close(roast_store *store) {
    if (store == NULL)
        return;
    roast_db_close(store->db, NULL);
    roast_run_free(store->head);
    roast_arena_reset(&store->texts);
    roast_free(store->blobs);
    roast_free(store->files);
    roast_free(store->directory);
    roast_free(store);
}

roast_store_state roast_store_get_state(const roast_store *store) {
    return store->state;
}

const roast_run *roast_store_head(const roast_store *store) {
    return store->head;
}

/* ---- small files ---- */

static roast_status read_file(const roast_store *store, const roast_stored_file *file,
                              roast_buffer *out, roast_error *err) {
    const char *name = file->name.data;
    if (name == NULL || file->len > ROAST_STORE_MAX_FILE || strchr(name, '/') != NULL)
        return roast_db_damaged(err, "it lists a file that no measurement has");
    roast_status status = roast_path_read(store->directory, name, ROAST_STORE_MAX_FILE, out, err);
    bool same = status == ROAST_OK && out->len == file->len &&
                roast_crc32c(0, out->data, out->len) == file->checksum;
    if (same || (status != ROAST_OK && status != ROAST_ELIMIT))
        return status;
    return roast_error_set(err, ROAST_ECORRUPT, name, -1,
                           "%s is damaged: its bytes are not those that were saved", name);
}

roast_status roast_store_read_file(const roast_store *store, const char *name, char **bytes,
                                   size_t *len, roast_error *err) {
    for (uint32_t i = 0; i < store->n_files; i++) {
        if (!roast_str_equal(store->files[i].name, roast_str_of(name)))
            continue;
        roast_buffer out = {0};
        roast_status status = read_file(store, &store->files[i], &out, err);
        if (status != ROAST_OK)
            roast_buffer_reset(&out);
        *bytes = (char *)out.data;
        *len = out.len;
        return status;
    }
    return roast_error_set(err, ROAST_ENOTFOUND, "measurement", -1, "the measurement has no %s",
                           name);
}

roast_status roast_store_glance(const char *path, const char *name, size_t limit, char **bytes,
                                size_t *len, roast_error *err) {
    database_header header;
    roast_buffer out = {0};
    ROAST_TRY(read_header(path, &header, err));
    if (!header.finished || !header.whole || header.version != ROAST_STORE_VERSION)
        return roast_error_set(err, ROAST_ESTATE, "measurement", -1,
                               "the measurement has to be opened to be read");
    roast_status status = roast_path_read(path, name, limit, &out, err);
    if (status != ROAST_OK)
        roast_buffer_reset(&out);
    *bytes = (char *)out.data;
    *len = out.len;
    return status;
}

static roast_status check_files(const roast_store *store, roast_error *err) {
    roast_status status = ROAST_OK;
    for (uint32_t i = 0; status == ROAST_OK && i < store->n_files; i++) {
        roast_buffer out = {0};
        status = read_file(store, &store->files[i], &out, err);
        roast_buffer_reset(&out);
    }
    return status;
}

/* ---- the run ---- */

roast_status roast_store_take_news(roast_store *store, int64_t *after, roast_run **out,
                                   roast_error *err) {
    if (store->head == NULL)
        return roast_error_set(err, ROAST_ESTATE, "measurement", -1, "the run was taken already");
    if (store->state == ROAST_STORE_FINISHED)
        ROAST_TRY(check_files(store, err));
    ROAST_TRY(roast_read_large(store, after, err));
    *out = store->head;
    store->head = NULL;
    return ROAST_OK;
}

roast_status roast_store_take_run(roast_store *store, roast_run **out, roast_error *err) {
    int64_t all = 0;
    return roast_store_take_news(store, &all, out, err);
}

roast_status roast_store_load(const char *path, roast_run **out, roast_error *err) {
    roast_store *store;
    ROAST_TRY(roast_store_open(path, &store, err));
    roast_status status = roast_store_take_run(store, out, err);
    roast_store_close(store);
    return status;
}

/* ---- blobs ---- */

roast_status roast_store_blob(const roast_store *store, const char *name, roast_str *out,
                              roast_error *err) {
    for (uint32_t i = 0; i < store->n_blobs; i++)
        if (roast_str_equal(store->blobs[i].name, roast_str_of(name))) {
            *out = store->blobs[i].bytes;
            return ROAST_OK;
        }
    return roast_error_set(err, ROAST_ENOTFOUND, "measurement", -1,
                           "the measurement holds nothing called '%s'", name);
}
