/* How a run ended: its outcome, the error that ended it, the pieces of work, and the files that were left out. */
#ifndef ROAST_ENDING_H
#define ROAST_ENDING_H

#include "roast/base.h"

/* The order is the wire order: append only. `unknown` is the outcome of a run that nobody saw end. */
#define ROAST_ENDS(X) X(unknown) X(done) X(failed) X(interrupted)
typedef enum roast_end {
#define X(name) ROAST_END_##name,
    ROAST_ENDS(X)
#undef X
        ROAST_END_COUNT
} roast_end;
/* "failed"; NULL for ROAST_END_unknown and for a number that is no outcome. */
const char *roast_end_name(roast_end end);
/* ROAST_END_unknown for a text that names none. */
roast_end roast_end_find(roast_str name);

/* The texts of an error, in the order of the wire: append only. */
#define ROAST_RUN_ERROR_TEXTS(X) X(type) X(message) X(traceback) X(dataset) X(file)

/* The error that ended a run. Absent texts and negative entries are not known. */
typedef struct roast_run_error {
#define X(name) roast_str name;
    ROAST_RUN_ERROR_TEXTS(X)
#undef X
    int64_t entry_start, entry_stop;
} roast_run_error;

/* A file whose events are not in the result, and why. The reason is absent if it is not known. */
typedef struct roast_skipped_file {
    roast_str dataset, file, reason;
} roast_skipped_file;

typedef struct roast_ending roast_ending;

roast_status roast_ending_new(roast_end outcome, roast_ending **out, roast_error *err);
void roast_ending_free(roast_ending *ending);
/* ROAST_END_unknown for NULL. */
roast_end roast_ending_outcome(const roast_ending *ending);

/* Copies the error. */
roast_status roast_ending_set_error(roast_ending *ending, const roast_run_error *error,
                                    roast_error *err);
/* Borrowed; NULL: the run did not raise, or `ending` is NULL. */
const roast_run_error *roast_ending_error(const roast_ending *ending);

/* The pieces of the input that a Runner had; -1: not known. */
typedef struct roast_ending_pieces {
    int64_t all;
    int64_t done;   /* processed, each once */
    int64_t failed; /* tried and never processed, without those of skipped files */
} roast_ending_pieces;
void roast_ending_set_pieces(roast_ending *ending, roast_ending_pieces pieces);
/* All -1 for NULL. */
roast_ending_pieces roast_ending_get_pieces(const roast_ending *ending);

/* Copies the texts; dataset and file are needed. */
roast_status roast_ending_add_skipped(roast_ending *ending, const roast_skipped_file *skipped,
                                      roast_error *err);
/* 0 for NULL. */
uint32_t roast_ending_skipped_count(const roast_ending *ending);
/* Borrowed. All absent beyond the end. */
roast_skipped_file roast_ending_skipped(const roast_ending *ending, uint32_t index);

#endif
