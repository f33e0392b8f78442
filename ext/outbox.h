/* Records that also travel beside the output, so that a chunk that raised, an output that is no mapping or
 * a worker that dies later does not cost the record. */
#ifndef ROAST_EXT_OUTBOX_H
#define ROAST_EXT_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "state.h"

/* Puts a chunk into the outbox of the processor's topic, if it has one, and sends what is due; all of it, if
 * the chunk raised. Never raises itself: a fault is counted. */
void ext_outbox_put(ext_state *state, PyObject *processor, PyObject *chunk_log, bool raised);
/* The number of the run that the processor's topic stands for; 0 without a topic. Never raises. */
uint64_t ext_outbox_run(ext_state *state, PyObject *processor);
/* flush_outbox(topic=None): sends all that is held back (of one topic, or of all). */
PyObject *ext_outbox_flush(PyObject *module, PyObject *args);

#endif
