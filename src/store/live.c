/* A measurement that grows while a run goes on. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "store/pages.h"
#include "store/save.h"

struct roast_store_live {
    roast_place place;
    char *path; /* of the measurement, absolute: the user may change the working directory */
    roast_db db;
    roast_writer writer;
    int marker; /* locked for as long as we write */
};

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "measurement", -1, "no memory for the measurement");
}

/* ---- beginning ---- */

static roast_status find_path(roast_store_live *live, roast_error *err) {
    char folder[PATH_MAX];
    if (realpath(live->place.folder, folder) == NULL)
        return roast_error_set(err, ROAST_EIO, "measurement", -1, "%s: %s", live->place.folder,
                               strerror(errno));
    live->path = roast_path_join(folder, live->place.name);
    if (live->path == NULL)
        return no_memory(err);
    if (strlen(live->path) + sizeof "/" ROAST_STORE_DATABASE <= ROAST_PAGES_MAX_LIVE_PATH)
        return ROAST_OK;
    errno = ENAMETOOLONG;
    return roast_error_set(err, ROAST_EIO, "measurement", -1,
                           "the path of a live measurement has at most %d bytes",
                           ROAST_PAGES_MAX_LIVE_PATH);
}

/* From now on there is a log beside the file, and readers do not wait. */
static roast_status switch_to_log(const roast_store_live *live, const roast_temporary *temporary,
                                  roast_error *err) {
    roast_db db;
    char *path = roast_place_inside(&live->place, temporary, ROAST_STORE_DATABASE);
    if (path == NULL)
        return no_memory(err);
    roast_status status = roast_db_open_live(&db, path, err);
    roast_free(path);
    return status == ROAST_OK ? roast_db_close(&db, err) : status;
}

/* Locked before anybody can see it. */
static roast_status mark(roast_store_live *live, const roast_temporary *temporary,
                         roast_error *err) {
    static const char text[] = "This measurement is being written, or its writer was killed.\n";
    ROAST_TRY(roast_temporary_write(temporary, ROAST_STORE_MARKER, text, sizeof text - 1, err));
    live->marker = openat(temporary->fd, ROAST_STORE_MARKER, O_RDONLY | O_CLOEXEC);
    if (live->marker < 0)
        return roast_error_set(err, ROAST_EIO, "measurement", -1, "%s: %s", ROAST_STORE_MARKER,
                               strerror(errno));
    flock(live->marker, LOCK_EX | LOCK_NB); /* where there are no locks it counts as unfinished */
    return ROAST_OK;
}

static roast_status make(roast_store_live *live, const roast_store_options *options,
                         roast_error *err) {
    roast_temporary temporary;
    ROAST_TRY(roast_place_check(&live->place, options->overwrite, err));
    ROAST_TRY(roast_place_begin(&live->place, &temporary, err));
    roast_status status = roast_save_database(&live->place, &temporary, NULL, options, err);
    if (status == ROAST_OK)
        status = roast_save_files(&temporary, options, err);
    if (status == ROAST_OK)
        status = switch_to_log(live, &temporary, err);
    if (status == ROAST_OK)
        status = mark(live, &temporary, err);
    if (status == ROAST_OK)
        status = roast_temporary_sync(&temporary, ROAST_STORE_DATABASE, err);
    if (status == ROAST_OK)
        status = roast_place_commit(&live->place, &temporary, options->overwrite, err);
    roast_place_discard(&live->place, &temporary);
    return status;
}

static roast_status open_made(roast_store_live *live, roast_error *err) {
    char *database = roast_path_join(live->path, ROAST_STORE_DATABASE);
    if (database == NULL)
        return no_memory(err);
    roast_status status = roast_db_open_live(&live->db, database, err);
    roast_free(database);
    live->writer.db = &live->db;
    return status;
}

static void close_database(roast_store_live *live) {
    roast_writer_reset(&live->writer);
    roast_db_close(&live->db, NULL);
}

static void free_live(roast_store_live *live) {
    close_database(live);
    if (live->marker >= 0)
        close(live->marker);
    roast_place_close(&live->place);
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
    roast_status status = roast_place_open(&live->place, options->path, err);
    if (status == ROAST_OK)
        status = find_path(live, err);
    if (status == ROAST_OK)
        status = make(live, options, err);
    if (status == ROAST_OK) {
        status = open_made(live, err);
        if (status != ROAST_OK)
            roast_place_remove(&live->place);
    }
    if (status != ROAST_OK) {
        free_live(live);
        return status;
    }
    *out = live;
    return ROAST_OK;
}

/* ---- adding ---- */

/* What the writer has counted, so that it can be taken back. */
typedef struct counted {
    roast_writer before; /* its numbers; what it points to has grown meanwhile */
    roast_pack_state *states;
    uint32_t workers;
} counted;

static roast_status remember(const roast_writer *writer, counted *out, roast_error *err) {
    out->before = *writer;
    out->workers = writer->pack.workers;
    out->states = roast_alloc(((size_t)out->workers + 1) * sizeof *out->states);
    if (out->states == NULL)
        return no_memory(err);
    if (out->workers > 0)
        memcpy(out->states, writer->pack.states, out->workers * sizeof *out->states);
    return ROAST_OK;
}

static void take_back(roast_writer *writer, const counted *kept) {
    const roast_writer *before = &kept->before;
    roast_intern_truncate(&writer->texts, before->texts.count);
    roast_intern_truncate(&writer->processes, before->processes.count);
    roast_intern_truncate(&writer->files, before->files.count);
    roast_intern_truncate(&writer->sets, before->sets.count);
    roast_intern_truncate(&writer->layouts, before->layouts.count);
    roast_intern_truncate(&writer->workers, before->workers.count);
    roast_intern_truncate(&writer->attempt_workers, before->attempt_workers.count);
    roast_intern_truncate(&writer->prefixes, before->prefixes.count);
    writer->chunks = before->chunks;
    writer->beside = before->beside;
    writer->file_rows = before->file_rows;
    writer->ticks = before->ticks;
    writer->events = before->events;
    writer->pieces = before->pieces;
    writer->attempts = before->attempts;
    writer->departures = before->departures;
    /* Kinds and sizes may have been overwritten: they are told again. */
    if (writer->prefix_kinds_capacity > 0)
        memset(writer->prefix_kinds, 0xff, writer->prefix_kinds_capacity);
    if (writer->sizes_capacity > 0)
        memset(writer->sizes_of, 0, writer->sizes_capacity * sizeof *writer->sizes_of);
    writer->unsure = true;
    writer->pack.workers = kept->workers;
    if (kept->workers > 0)
        memcpy(writer->pack.states, kept->states, kept->workers * sizeof *kept->states);
}

roast_status roast_store_live_append(roast_store_live *live, const roast_run *delta,
                                     roast_error *err) {
    counted kept;
    ROAST_TRY(remember(&live->writer, &kept, err));
    roast_status status = roast_db_exec(&live->db, "BEGIN IMMEDIATE", err);
    if (status == ROAST_OK) {
        status = roast_write_run(&live->writer, delta, true, err);
        if (status == ROAST_OK)
            status = roast_db_exec(&live->db, "COMMIT", err);
        if (status != ROAST_OK) {
            roast_db_exec(&live->db, "ROLLBACK", NULL);
            take_back(&live->writer, &kept);
        }
    }
    roast_free(kept.states);
    return status;
}

/* ---- the end ---- */

static roast_status save_final(const roast_store_live *live, const roast_run *run,
                               const roast_store_options *options, roast_error *err) {
    roast_store_options final = options == NULL ? (roast_store_options){.path = NULL} : *options;
    roast_run *loaded = NULL;
    final.path = live->path;
    final.overwrite = true;
    if (run == NULL) {
        ROAST_TRY(roast_store_load(live->path, &loaded, err));
        run = loaded;
    }
    roast_status status = roast_store_save(run, &final, err);
    roast_run_free(loaded);
    return status;
}

roast_status roast_store_live_finish(roast_store_live *live, const roast_run *run,
                                     const roast_store_options *options, roast_error *err) {
    /* Closed first: SQLite takes away the files beside it by their names. */
    close_database(live);
    roast_status status = save_final(live, run, options, err);
    free_live(live);
    return status;
}

void roast_store_live_close(roast_store_live *live) {
    if (live != NULL)
        free_live(live);
}

void roast_store_live_abandon(roast_store_live *live) {
    if (live == NULL)
        return;
    close_database(live);
    roast_place_remove(&live->place);
    free_live(live);
}
