/* From the Python objects that a run was collected in to a roast_run. */
#ifndef ROAST_EXT_CONVERT_RUN_H
#define ROAST_EXT_CONVERT_RUN_H

#include "chunk_log.h"
#include "shared.h"
#include "state.h"
#include "roast/metrics.h"
#include "roast/run.h"

typedef struct run_input {
    ext_state *state;
    roast_run *run;
    /* Parts that are lent to the run, and held as long as the input: so they do not change. NULL: none. */
    log_core *chunks;
    ext_shared *series;
    ext_shared *attempts;
    roast_metrics *metrics; /* of the run: once somebody asked for them, or they came with it */
} run_input;

/* All of these: 0, or -1 with an exception set. None (or NULL) for an object is "not there". */
int run_input_init(run_input *input, ext_state *state);
void run_input_reset(run_input *input);
int run_input_set_clock(run_input *input, PyObject *start, PyObject *end);
/* `custom` is {dataset: {"entries", "duration", "performance_counters": {"num_requested_bytes"}}}: its
 * sums stand instead of the report's. */
int run_input_set_report(run_input *input, PyObject *report, PyObject *custom);
/* A dict, or a WorkerSeries. */
int run_input_set_tracking(run_input *input, PyObject *tracking);
/* {(context, prefix, activity, unit): value}, or a dict that has it as "cumulative_worker_metrics". */
int run_input_set_spans(run_input *input, PyObject *spans, PyObject *processor);
int run_input_set_sections(run_input *input, PyObject *sections);
int run_input_set_chunks(run_input *input, PyObject *chunks);

/* Whether the object is None or NULL. */
bool ext_is_none(PyObject *object);
/* An entry of a mapping, None counted as missing: *out is a new reference or NULL. */
int ext_entry(PyObject *mapping, const char *key, PyObject **out);
/* TypeError that names `what` unless it is a mapping. */
int ext_check_mapping(PyObject *object, const char *what);
/* A number; TypeError names `what`. */
int ext_real(PyObject *value, const char *what, double *out);

#endif
