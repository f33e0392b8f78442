/* What the two kinds of import share: measurements of 0.1.x, and logs of TaskVine. */
#ifndef ROAST_CLI_IMPORT_H
#define ROAST_CLI_IMPORT_H

#include "cli.h"

enum { IMPORT_PATH = 8192 };
/* Appended to the name of the original if no folder is given. */
#define IMPORT_SUFFIX ".imported"
/* The key of the run that names the original. */
#define IMPORT_ORIGIN "imported_from"

typedef enum import_outcome { IMPORTED, SKIPPED, FAILED, IMPORT_OUTCOMES } import_outcome;

typedef struct import_request {
    const char *output;
    bool dry_run;
    bool taskvine;
    int64_t depth;
} import_request;

/* Whether the target was imported from this original. */
bool import_was_done(const char *target, const char *origin);
/* "imported A -> B". */
void import_tell(roast_sink *out, const char *what, const char *path, const char *target);
void import_tell_counts(roast_sink *out, const import_request *wanted,
                        const size_t counts[IMPORT_OUTCOMES]);

/* Imports the logs of TaskVine: folders of logs, of runs, or files "transactions". */
cli_exit import_taskvine(roast_sink *out, const import_request *wanted, int n_args, char **args);

#endif
