#include "source.h"

#include "roast/legacy.h"
#include "roast/measurement.h"

void source_rewind(source *from) {
    if (from->store != NULL) {
        roast_store_rewind_chunks(from->store);
        roast_store_rewind_files(from->store);
        roast_store_rewind_attempts(from->store);
        roast_store_rewind_series(from->store);
    } else {
        roast_chunk_cursor_init(&from->chunks, roast_run_chunks_view(from->run));
        roast_file_cursor_init(&from->files, roast_run_chunks_view(from->run));
    }
    from->series_is_given = false;
}

roast_status source_open(source *from, const char *path, roast_error *err) {
    *from = (source){0};
    if (roast_store_is_measurement(path) == ROAST_STORE_LEGACY) {
        ROAST_TRY(roast_legacy_load(path, &from->run, err));
        from->head = from->run;
    } else {
        ROAST_TRY(roast_store_open(path, &from->store, err));
        from->head = roast_store_head(from->store);
    }
    source_rewind(from);
    return ROAST_OK;
}

void source_close(source *from) {
    roast_store_close(from->store);
    roast_run_free(from->run);
    *from = (source){0};
}

/* ---- metrics ---- */

/* *out is NULL where none were saved, or not all that this program knows. */
static roast_status saved_metrics(roast_store *store, roast_metrics **out, roast_error *err) {
    roast_str blob;
    *out = NULL;
    if (roast_store_get_state(store) != ROAST_STORE_FINISHED)
        return ROAST_OK;
    roast_status status = roast_store_blob(store, ROAST_METRICS_BLOB, &blob, err);
    if (status == ROAST_OK)
        status = roast_metrics_decode(blob.data, blob.len, out, err);
    if (status == ROAST_ENOTFOUND || status == ROAST_EVERSION)
        return ROAST_OK;
    if (status == ROAST_OK && !roast_metrics_is_current(*out)) {
        roast_metrics_free(*out);
        *out = NULL;
    }
    return status;
}

roast_status source_metrics(source *from, const char *path, roast_metrics **out, roast_error *err) {
    roast_run *run;
    if (from->store == NULL)
        return roast_metrics_compute(from->run, out, err);
    ROAST_TRY(saved_metrics(from->store, out, err));
    if (*out != NULL)
        return ROAST_OK;
    ROAST_TRY(roast_store_load(path, &run, err));
    roast_status status = roast_metrics_compute(run, out, err);
    roast_run_free(run);
    return status;
}

/* ---- walks ---- */

roast_status source_next_chunk(source *from, const roast_chunklog **log, roast_chunk *out,
                               bool *there, roast_error *err) {
    *log = NULL;
    if (from->store != NULL)
        return roast_store_next_chunk(from->store, out, there, err);
    *log = roast_run_chunks_view(from->run);
    *there = roast_chunk_cursor_next(&from->chunks, out);
    return ROAST_OK;
}

roast_status source_next_file(source *from, const roast_chunklog **log, roast_file *out,
                              bool *there, roast_error *err) {
    *log = NULL;
    if (from->store != NULL)
        return roast_store_next_file(from->store, out, there, err);
    *log = roast_run_chunks_view(from->run);
    *there = roast_file_cursor_next(&from->files, out);
    return ROAST_OK;
}

roast_status source_next_attempt(source *from, roast_attempt *out, roast_str *worker, bool *there,
                                 roast_error *err) {
    *there = false;
    *worker = (roast_str){NULL, 0};
    /* 0.1.x knew nothing of attempts. */
    if (from->store == NULL || roast_store_attempts_head(from->store) == NULL)
        return ROAST_OK;
    ROAST_TRY(roast_store_next_attempt(from->store, out, there, err));
    if (*there && out->worker != ROAST_NO_WORKER)
        *worker = roast_attempts_worker(roast_store_attempts_head(from->store), out->worker);
    return ROAST_OK;
}

roast_status source_next_series(source *from, const roast_series **piece, roast_series **own,
                                roast_error *err) {
    *own = NULL;
    *piece = NULL;
    if (from->store != NULL) {
        ROAST_TRY(roast_store_next_series(from->store, own, err));
        *piece = *own;
    } else if (!from->series_is_given) {
        *piece = roast_run_series_view(from->run);
        from->series_is_given = true;
    }
    return ROAST_OK;
}

roast_status source_series(source *from, const roast_series **all, roast_series **own,
                           roast_error *err) {
    *own = NULL;
    if (from->store != NULL)
        ROAST_TRY(roast_store_series(from->store, own, err));
    *all = from->store != NULL ? *own : roast_run_series_view(from->run);
    return ROAST_OK;
}
