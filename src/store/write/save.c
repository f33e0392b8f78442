/* Saving a run as a measurement, at once. */
#include <string.h>

#include "store/write/write.h"

/* ---- input of the caller ---- */

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

static roast_status fill_database(sqlite3 *db, const roast_run *run,
                                  const roast_store_options *options, roast_error *err) {
    ROAST_TRY(roast_write_extras(db, options, err));
    if (run != NULL) {
        ROAST_TRY(roast_write_run(db, run, false, err));
        ROAST_TRY(
            roast_part_put(db, ROAST_PART_END, (roast_str){NULL, 0}, ROAST_PART_APPENDED, err));
    }
    return roast_db_exec(db, "COMMIT", err);
}

static roast_status save_database(const roast_target *place, const roast_temporary *temporary,
                                  const roast_run *run, const roast_store_options *options,
                                  roast_error *err) {
    sqlite3 *db;
    char *path = roast_target_inside(place, temporary, ROAST_STORE_DATABASE);
    if (path == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "roast_store_save", -1, "no memory for a path");
    roast_status status = roast_db_create(&db, path, err);
    roast_free(path);
    if (status != ROAST_OK)
        return status;
    status = fill_database(db, run, options, err);
    roast_status closed = roast_db_close(db, status == ROAST_OK ? err : NULL);
    return status == ROAST_OK ? closed : status;
}

roast_status roast_save_directory(const roast_target *place, const roast_temporary *temporary,
                                  const roast_run *run, const roast_store_options *options,
                                  roast_error *err) {
    ROAST_TRY(save_database(place, temporary, run, options, err));
    for (uint32_t i = 0; i < options->n_files; i++)
        ROAST_TRY(roast_temporary_write(temporary, options->files[i].name, options->files[i].bytes,
                                        options->files[i].len, err));
    return ROAST_OK;
}

static roast_status save_at(const roast_target *place, const roast_run *run,
                            const roast_store_options *options, roast_error *err) {
    roast_temporary temporary;
    ROAST_TRY(roast_target_check(place, options->overwrite, err));
    ROAST_TRY(roast_target_begin(place, &temporary, err));
    roast_status status = roast_save_directory(place, &temporary, run, options, err);
    if (status == ROAST_OK)
        status = roast_temporary_sync(&temporary, ROAST_STORE_DATABASE, err);
    if (status == ROAST_OK)
        status = roast_target_commit(place, &temporary, options->overwrite, err);
    roast_target_discard(place, &temporary);
    return status;
}

roast_status roast_store_save(const roast_run *run, const roast_store_options *options,
                              roast_error *err) {
    roast_target place;
    ROAST_TRY(roast_save_check(options, err));
    ROAST_TRY(roast_target_open(&place, options->path, err));
    roast_status status = save_at(&place, run, options, err);
    roast_target_close(&place);
    return status;
}
