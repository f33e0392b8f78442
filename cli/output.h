/* A file that an answer is written to: it appears when it is complete. */
#ifndef ROAST_CLI_OUTPUT_H
#define ROAST_CLI_OUTPUT_H

#include "roast/sink.h"

typedef struct output {
    char *path;      /* what it will be called */
    char *temporary; /* its name until then; NULL: it is written in place (a pipe, a device) */
    int fd;
    roast_sink *sink;
} output;

/* ROAST_EIO where the file cannot be made. */
roast_status output_open(output *to, const char *path, roast_error *err);
/* Renames the file to its final name if `whole`, else removes it. Reports a failed write. */
roast_status output_close(output *to, bool whole, roast_error *err);

#endif
