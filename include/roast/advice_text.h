/* Advice as text and as JSON: what "roast advise" and advice() show. */
#ifndef ROAST_ADVICE_TEXT_H
#define ROAST_ADVICE_TEXT_H

#include "roast/advise.h"
#include "roast/sink.h"

/* One line: "2 changes for the next run: predicted wall time 41 s (now 2.1 min)." A run without advice has only this
 * line. */
#define ROAST_ADVICE_HEADLINE 512u
void roast_advice_headline(const roast_advice *advice, char *out, size_t size);
/* The headline, each change with its finding and its prediction, and how a program uses them. */
void roast_advice_draw(const roast_advice *advice, unsigned width, roast_sink *sink);
/* With the arguments as Coffea takes them: "runner_arguments", "executor_arguments", "cluster_arguments", "preload",
 * "exclude_files", "first_files". */
void roast_advice_json(const roast_advice *advice, roast_sink *sink);

#endif
