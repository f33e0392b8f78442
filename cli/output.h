/* A file that an answer goes to: whole, or not at all. */
#ifndef ROAST_CLI_OUTPUT_H
#define ROAST_CLI_OUTPUT_H

#include "roast/sink.h"

typedef struct output {
    char *path; /* what it will be called */
    char *
        temporary; /* what it is called until then; NULL: it is written where it is (a pipe, a device) */
    int fd;
    roast_sink *sink;
} output;

/* ROAST_EIO where the file cannot be made. */
roast_status output_open(output *to, const char *path, roast_error *err);
/* Puts the file in its place if `whole`, and away if not. Tells what could not be written. */
roast_status output_close(output *to, bool whole, roast_error *err);

#endif
