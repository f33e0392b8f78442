/* Converts the collected Python objects to a roast_run. */
#ifndef ROAST_EXT_CONVERT_RUN_H
#define ROAST_EXT_CONVERT_RUN_H

#include "records/chunk_log.h"
#include "records/part.h"
#include "state.h"
#include "roast/diagnose.h"
#include "roast/metrics.h"
#include "roast/run.h"

typedef struct run_input {
    ext_state *state;
    roast_run *run;
    /* Parts that the run borrows, held as long as the input: so they do not change. NULL: none. */
    log_core *chunks;
    ext_shared *series;
    ext_shared *attempts;
    roast_metrics
        *metrics; /* of the run: after the first request, or if they were loaded with it */
    roast_findings *findings; /* likewise */
} run_input;

/* Borrowed; computed once. NULL with an exception set. */
const roast_metrics *run_input_metrics(run_input *input);
const roast_findings *run_input_findings(run_input *input);

/* All of these: 0, or -1 with an exception set. None (or NULL) for an object is "not there". */
int run_input_init(run_input *input, ext_state *state);
void run_input_reset(run_input *input);
int run_input_set_clock(run_input *input, PyObject *start, PyObject *end);
/* `custom` is {dataset: {"entries", "duration", "performance_counters": {"num_requested_bytes"}}}: its sums
 * replace those of the report. */
int run_input_set_report(run_input *input, PyObject *report, PyObject *custom);
/* A dict, or a WorkerSeries. */
int run_input_set_tracking(run_input *input, PyObject *tracking);
/* {(context, prefix, activity, unit): value}, or a dict that has it as "cumulative_worker_metrics". */
int run_input_set_spans(run_input *input, PyObject *spans, PyObject *processor);
int run_input_set_sections(run_input *input, PyObject *sections);
int run_input_set_chunks(run_input *input, PyObject *chunks);

#endif
