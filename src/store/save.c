/* Saving a run as a measurement, at once. */
#include <errno.h>
#include <string.h>

#include "base/crc32c.h"
#include "store/save.h"
#include "store/schema.h"

/* ---- what the caller gives ---- */

static bool is_known_file(const char *name) {
    static const char *const known[] = {
#define X(key, file) file,
        ROAST_STORE_FILES(X)
#undef X
    };
    for (size_t i = 0; name != NULL && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], name) == 0)
            return true;
    return false;
}

static bool is_repeated(const roast_store_options *options, uint32_t file) {
    for (uint32_t i = 0; i < file; i++)
        if (strcmp(options->files[i].name, options->files[file].name) == 0)
            return true;
    return false;
}

roast_status roast_save_check(const roast_store_options *options, roast_error *err) {
    const char *where = "roast_store_save";
    for (uint32_t i = 0; i < options->n_files; i++) {
        if (!is_known_file(options->files[i].name) || is_repeated(options, i))
            return roast_error_set(err, ROAST_EINVAL, where, -1,
                                   "a measurement has no file '%s', or has it once",
                                   options->files[i].name);
        if (options->files[i].len > ROAST_STORE_MAX_FILE)
            return roast_error_set(err, ROAST_ELIMIT, where, -1, "%s is too long",
                                   options->files[i].name);
    }
    for (uint32_t i = 0; i < options->n_blobs; i++) {
        const roast_store_blob_in *blob = &options->blobs[i];
        if (blob->name == NULL || *blob->name == '\0' || strlen(blob->name) > ROAST_STORE_MAX_NAME)
            return roast_error_set(err, ROAST_EINVAL, where, -1, "a blob needs a name");
        if (blob->len > ROAST_STORE_MAX_FILE)
            return roast_error_set(err, ROAST_ELIMIT, where, -1, "'%s' is too long", blob->name);
    }
    return ROAST_OK;
}

/* ---- writing ---- */

roast_status roast_save_extras(roast_writer *writer, const roast_store_options *options,
                               roast_error *err) {
    for (uint32_t i = 0; i < options->n_files; i++) {
        const roast_store_file *file = &options->files[i];
        sqlite3_stmt *insert;
        ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_small_files, &insert, err));
        roast_db_bind_text(insert, 1, roast_str_of(file->name));
        sqlite3_bind_int64(insert, 2, (int64_t)file->len);
        sqlite3_bind_int64(insert, 3, roast_crc32c(0, file->bytes, file->len));
        ROAST_TRY(roast_writer_run(writer, insert, err));
    }
    for (uint32_t i = 0; i < options->n_blobs; i++) {
        const roast_store_blob_in *blob = &options->blobs[i];
        roast_str bytes = {blob->len == 0 ? "" : blob->bytes, blob->len};
        ROAST_TRY(
            roast_write_bytes(writer, ROAST_INSERT_blobs, (int64_t)i + 1, blob->name, bytes, err));
    }
    return ROAST_OK;
}

/* Pages of 4 kB make a small run small: each of some 25 tables has one at least. Large ones spare
 * time and room where there is much. */
static int page_size_for(const roast_run *run) {
    const roast_chunklog *chunks = run == NULL ? NULL : roast_run_chunks_view(run);
    const roast_series *series = run == NULL ? NULL : roast_run_series_view(run);
    uint64_t rows = (chunks == NULL ? 0 : roast_chunklog_count(chunks)) +
                    (series == NULL ? 0 : roast_series_sample_count(series) / 16);
    return rows < 2000 ? 4096 : 8192;
}

static roast_status fill_database(roast_db *db, const roast_run *run,
                                  const roast_store_options *options, roast_error *err) {
    roast_writer writer = {.db = db};
    roast_status status = roast_save_extras(&writer, options, err);
    if (status == ROAST_OK && run != NULL)
        status = roast_write_run(&writer, run, false, err);
    roast_writer_reset(&writer);
    if (status == ROAST_OK)
        status = roast_db_exec(db, "COMMIT", err);
    return status;
}

roast_status roast_save_database(const roast_place *place, const roast_temporary *temporary,
                                 const roast_run *run, const roast_store_options *options,
                                 roast_error *err) {
    roast_db db;
    char *path = roast_place_inside(place, temporary, ROAST_STORE_DATABASE);
    if (path == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "roast_store_save", -1, "no memory for a path");
    roast_status status = roast_db_create(&db, path, page_size_for(run), err);
    roast_free(path);
    if (status != ROAST_OK)
        return status;
    status = fill_database(&db, run, options, err);
    roast_status closed = roast_db_close(&db, status == ROAST_OK ? err : NULL);
    return status == ROAST_OK ? closed : status;
}

roast_status roast_save_files(const roast_temporary *temporary, const roast_store_options *options,
                              roast_error *err) {
    for (uint32_t i = 0; i < options->n_files; i++)
        ROAST_TRY(roast_temporary_write(temporary, options->files[i].name, options->files[i].bytes,
                                        options->files[i].len, err));
    return ROAST_OK;
}

static roast_status save_at(const roast_place *place, const roast_run *run,
                            const roast_store_options *options, roast_error *err) {
    roast_temporary temporary;
    ROAST_TRY(roast_place_check(place, options->overwrite, err));
    ROAST_TRY(roast_place_begin(place, &temporary, err));
    roast_status status = roast_save_database(place, &temporary, run, options, err);
    if (status == ROAST_OK)
        status = roast_save_files(&temporary, options, err);
    if (status == ROAST_OK)
        status = roast_temporary_sync(&temporary, ROAST_STORE_DATABASE, err);
    if (status == ROAST_OK)
        status = roast_place_commit(place, &temporary, options->overwrite, err);
    roast_place_discard(place, &temporary);
    return status;
}

roast_status roast_store_save(const roast_run *run, const roast_store_options *options,
                              roast_error *err) {
    roast_place place;
    ROAST_TRY(roast_save_check(options, err));
    ROAST_TRY(roast_place_open(&place, options->path, err));
    roast_status status = save_at(&place, run, options, err);
    roast_place_close(&place);
    return status;
}
