/* A command that is run and watched: for "roast run". */
#ifndef ROAST_CLI_CHILD_H
#define ROAST_CLI_CHILD_H

#include "roast/treelog.h"

typedef struct child_result {
    int status;           /* what a shell would say: its own, or 128 and the signal's number */
    int signal;           /* that ended it; 0: none */
    int exec_errno;       /* it could not even be started; 0: it was */
    roast_utc start;      /* when it was started */
    double wall;          /* s */
    double user, system;  /* CPU time of it and all descendants that were waited for, s */
    double max_rss;       /* bytes; of the largest single process */
    double read, written; /* bytes from and to storage; of the same processes */
    uint64_t failed_looks;
    roast_treelog *log; /* NULL: it could not be watched, see `unwatched` */
    roast_error unwatched;
} child_result;

/* Runs a command, ended by NULL, to its end; looks at it and its descendants every `interval` seconds, sooner while
 * they come and go. Signals that end a program are passed on to it. ROAST_EIO: no process could be made. */
roast_status child_run(char **command, double interval, child_result *out, roast_error *err);
void child_reset(child_result *result);

#endif
