/* Shared by the files of "roast top". */
#ifndef ROAST_CLI_TOP_H
#define ROAST_CLI_TOP_H

#include "cli.h"
#include "measured.h"

/* The last looks at a run. */
typedef struct top_look {
    double when, events; /* s of the run; NaN: not known, as below */
    double rate;         /* events per s, between the last two looks that saw the run go on */
    bool live;
} top_look;
void top_take(const measured *it, top_look *look);

typedef struct top_size {
    unsigned width, lines; /* lines 0: as many as are needed */
} top_size;

/* One line: how much is done, how fast, how long it takes still, how many workers. */
void top_put_line(const measured *it, const top_look *look, roast_sink *out);
/* A screen: the same with a bar, the budget, sections, workers and the last failures. Each part has a share of the
 * lines. */
roast_status top_put_screen(const measured *it, const char *name, const top_look *look,
                            top_size size, roast_sink *out, roast_error *err);

#endif
