/* A measurement that grows while a run goes on. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "store/write/write.h"

struct roast_store_live {
    roast_target place;
    char *path;     /* of the measurement, absolute */
    bool overwrite; /* whether the caller allows that another measurement is replaced */
    sqlite3 *db;
    int marker; /* locked for as long as we write */
};

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "measurement", -1, "no memory for the measurement");
}

/* ---- beginning ---- */

static roast_status find_path(roast_store_live *live, roast_error *err) {
    live->path = roast_path_join(live->place.folder, live->place.name);
    if (live->path == NULL)
        return no_memory(err);
    return roast_db_check_path(live->path, err);
}

/* From now on SQLite keeps a log next to the file, and readers do not wait. */
static roast_status switch_to_log(const roast_store_live *live, const roast_temporary *temporary,
                                  roast_error *err) {
    sqlite3 *db;
    char *path = roast_target_inside(&live->place, temporary, ROAST_STORE_DATABASE);
    if (path == NULL)
        return no_memory(err);
    roast_status status = roast_db_open_live(&db, path, err);
    roast_free(path);
    return status == ROAST_OK ? roast_db_close(db, err) : status;
}

/* Locked before anybody can see it. */
static roast_status mark(roast_store_live *live, const roast_temporary *temporary,
                         roast_error *err) {
    static const char text[] = "This measurement is being written, or its writer was killed.\n";
    ROAST_TRY(roast_temporary_write(temporary, ROAST_STORE_MARKER, text, sizeof text - 1, err));
    /* For writing: NFS locks no file exclusively that is open for reading alone. */
    live->marker = openat(temporary->fd, ROAST_STORE_MARKER, O_RDWR | O_CLOEXEC);
    if (live->marker < 0)
        return roast_error_set(err, ROAST_EIO, "measurement", -1, "%s: %s", ROAST_STORE_MARKER,
                               strerror(errno));
    flock(live->marker, LOCK_EX | LOCK_NB); /* where there are no locks it counts as unfinished */
    return ROAST_OK;
}

static roast_status make(roast_store_live *live, const roast_store_options *options,
                         roast_error *err) {
    roast_temporary temporary;
    ROAST_TRY(roast_target_check(&live->place, options->overwrite, err));
    ROAST_TRY(roast_target_begin(&live->place, &temporary, err));
    roast_status status = roast_save_directory(&live->place, &temporary, NULL, options, err);
    if (status == ROAST_OK)
        status = switch_to_log(live, &temporary, err);
    if (status == ROAST_OK)
        status = mark(live, &temporary, err);
    if (status == ROAST_OK)
        status = roast_temporary_sync(&temporary, ROAST_STORE_DATABASE, err);
    if (status == ROAST_OK)
        status = roast_target_commit(&live->place, &temporary, options->overwrite, err);
    roast_target_discard(&live->place, &temporary);
    return status;
}

static roast_status open_made(roast_store_live *live, roast_error *err) {
    char *database = roast_path_join(live->path, ROAST_STORE_DATABASE);
    if (database == NULL)
        return no_memory(err);
    roast_status status = roast_db_open_live(&live->db, database, err);
    roast_free(database);
    return status;
}

/* Another process may have put another measurement there. */
static bool is_ours(const roast_store_live *live) {
    return roast_target_has(&live->place, ROAST_STORE_MARKER, live->marker);
}

static void remove_ours(const roast_store_live *live) {
    if (is_ours(live))
        roast_target_remove(&live->place);
}

static void close_database(roast_store_live *live) {
    roast_db_close(live->db, NULL);
    live->db = NULL;
}

static void free_live(roast_store_live *live) {
    close_database(live);
    if (live->marker >= 0)
        close(live->marker);
    roast_target_close(&live->place);
    roast_free(live->path);
    roast_free(live);
}

roast_status roast_store_live_begin(const roast_store_options *options, roast_store_live **out,
                                    roast_error *err) {
    ROAST_TRY(roast_save_check(options, err));
    roast_store_live *live = roast_alloc_zero(sizeof *live);
    if (live == NULL)
        return no_memory(err);
    live->marker = -1;
    live->place.folder_fd = -1;
    live->overwrite = options->overwrite;
    roast_status status = roast_target_open(&live->place, options->path, err);
    if (status == ROAST_OK)
        status = find_path(live, err);
    if (status == ROAST_OK)
        status = make(live, options, err);
    if (status == ROAST_OK) {
        status = open_made(live, err);
        if (status != ROAST_OK)
            remove_ours(live);
    }
    if (status != ROAST_OK) {
        free_live(live);
        return status;
    }
    *out = live;
    return ROAST_OK;
}

/* ---- adding ---- */

roast_status roast_store_live_append(roast_store_live *live, const roast_run *delta,
                                     roast_error *err) {
    if (live->db == NULL)
        ROAST_TRY(open_made(live, err));
    ROAST_TRY(roast_db_exec(live->db, "BEGIN IMMEDIATE", err));
    roast_status status = roast_write_run(live->db, delta, true, err);
    if (status == ROAST_OK)
        status = roast_db_exec(live->db, "COMMIT", err);
    if (status != ROAST_OK)
        roast_db_exec(live->db, "ROLLBACK", NULL);
    return status;
}

/* ---- the end ---- */

roast_status roast_store_live_finish(roast_store_live *live, const roast_run *run,
                                     const roast_store_options *options, roast_error *err) {
    /* Closed first: SQLite removes its log by its name. */
    close_database(live);
    roast_store_options final = *options;
    final.path = live->path;
    final.overwrite = live->overwrite || is_ours(live);
    ROAST_TRY(roast_store_save(run, &final, err));
    free_live(live);
    return ROAST_OK;
}

void roast_store_live_close(roast_store_live *live) {
    if (live != NULL)
        free_live(live);
}

void roast_store_live_abandon(roast_store_live *live) {
    if (live == NULL)
        return;
    close_database(live);
    remove_ours(live);
    free_live(live);
}
