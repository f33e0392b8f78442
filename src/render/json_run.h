/* Shared by the two JSON documents. */
#ifndef ROAST_RENDER_JSON_RUN_H
#define ROAST_RENDER_JSON_RUN_H

#include "base/buffer.h"
#include "model/keys.h"
#include "render/json_writer.h"
#include "roast/export.h"
#include "roast/measurement.h"

/* The metrics of a run in one small object: every number under all its names, the tables of the metrics as objects
 * by name, the lists `compression_ratios` and `bytes_read_percent_per_file`, of the run how it ended, `meta` and
 * `notes`, and the user's own metrics. A value that was not measured is absent. ROAST_ENOMEM. */
roast_status roast_json_metrics(const roast_measured *from, roast_sink *sink, roast_error *err);

/* The members of the metrics, and of the run its texts and notes, into an object that is open. */
roast_status roast_json_put_metrics(roast_json *json, const roast_metrics *metrics);
/* The texts about the run as an object under `name`. */
void roast_json_put_meta(roast_json *json, const char *name, const roast_run *run);
void roast_json_put_head(roast_json *json, const roast_run *run);

/* The state of writing one chunk after the other. Zeroed storage with json and log set is at the beginning. */
typedef struct roast_json_chunks {
    roast_json *json;
    const roast_chunklog *log;
    roast_file_sizes files;
    uint64_t count; /* chunks so far */
    roast_buffer text;
    roast_intern names; /* of the sums */
    struct roast_json_sum *sums;
    size_t sums_capacity;
    uint32_t *depth; /* of the sections of one chunk */
    size_t depth_capacity;
} roast_json_chunks;
void roast_json_chunks_reset(roast_json_chunks *chunks);
/* The keys of ROAST_CHUNK_KEYS in their order, into an object that is open. */
roast_status roast_json_put_chunk(roast_json_chunks *chunks, const roast_chunk *chunk);

#endif
