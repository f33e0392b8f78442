/* Shared by the files of "roast top". */
#ifndef ROAST_CLI_TOP_H
#define ROAST_CLI_TOP_H

#include "cli.h"
#include "measured.h"

/* A look at a run; the rate of now is that since the look before. */
typedef struct top_look {
    double when, events; /* s of the run; NaN: not known */
} top_look;

/* One line: how much is done, how fast, how long it takes still. `before` is replaced. */
void top_put_line(const measured *it, top_look *before, roast_sink *out);
/* A screen: the line with a bar above it, the budget, sections, workers and the last failures. */
roast_status top_put_screen(const measured *it, const char *name, top_look *before, unsigned width,
                            bool color, roast_sink *out, roast_error *err);

#endif
