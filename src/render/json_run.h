/* What the two documents of JSON share. */
#ifndef ROAST_RENDER_JSON_RUN_H
#define ROAST_RENDER_JSON_RUN_H

#include "base/buffer.h"
#include "roast/export.h"

/* The members of the metrics, and of what is small in the head, into an object that is open. */
roast_status roast_json_put_metrics(roast_json *json, const roast_metrics *metrics);
void roast_json_put_head(roast_json *json, const roast_run *head);

/* What a chunk shows, into an object that is open; see roast_json_run. */
typedef struct roast_json_chunks roast_json_chunks;
roast_status roast_json_chunks_new(roast_json_chunks **out);
void roast_json_chunks_free(roast_json_chunks *chunks);
/* *is_new: it has a name, which was not told before. */
roast_status roast_json_chunks_file(roast_json_chunks *chunks, const roast_file *file,
                                    bool *is_new);
roast_status roast_json_put_chunk(roast_json_chunks *chunks, roast_json *json,
                                  const roast_chunklog *log, const roast_chunk *chunk);

/* A value that the user stored. */
void roast_json_put_custom(roast_json *json, const roast_custom *custom);

#endif
