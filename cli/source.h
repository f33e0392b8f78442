/* A measurement that a verb reads bit by bit: one of ours from its file, one of 0.1.x from memory. */
#ifndef ROAST_CLI_SOURCE_H
#define ROAST_CLI_SOURCE_H

#include "roast/metrics.h"
#include "roast/run.h"
#include "roast/store.h"

/* Zeroed storage is closed. */
typedef struct source {
    roast_store *store;    /* NULL: of 0.1.x */
    roast_run *run;        /* of 0.1.x: all of it */
    const roast_run *head; /* what is small */
    /* Where the walks below are, in a run that is in memory. */
    roast_chunk_cursor chunks;
    roast_file_cursor files;
    bool series_is_given;
} source;

roast_status source_open(source *from, const char *path, roast_error *err);
void source_close(source *from);

/* As they were saved, or computed from all of the run. */
roast_status source_metrics(source *from, const char *path, roast_metrics **out, roast_error *err);

/* The next one, as the readers of roast/store.h give it; `*log` is for those who take a chunk of a log. */
roast_status source_next_chunk(source *from, const roast_chunklog **log, roast_chunk *out,
                               bool *there, roast_error *err);
roast_status source_next_file(source *from, const roast_chunklog **log, roast_file *out,
                              bool *there, roast_error *err);
/* `*worker` is its name. */
roast_status source_next_attempt(source *from, roast_attempt *out, roast_str *worker, bool *there,
                                 roast_error *err);
/* A piece of the series, NULL behind the last; `*own` is to be freed, if it is not NULL. */
roast_status source_next_series(source *from, const roast_series **piece, roast_series **own,
                                roast_error *err);
/* All of it, the same way. */
roast_status source_series(source *from, const roast_series **all, roast_series **own,
                           roast_error *err);
/* All walks are at the beginning again. */
void source_rewind(source *from);

#endif
