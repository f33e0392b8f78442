/* The output of every writer of the library: memory, a file descriptor, or a mere count.
 *
 * The first failure sticks: later writes do nothing, so a writer checks once, at its end. */
#ifndef ROAST_SINK_H
#define ROAST_SINK_H

#include "roast/base.h"

typedef struct roast_sink roast_sink;

/* Keeps the bytes; see roast_sink_memory. */
roast_status roast_sink_new_memory(roast_sink **out, roast_error *err);
/* Writes to fd through a 64 kB buffer. The descriptor stays the caller's and is not closed. */
roast_status roast_sink_new_fd(int fd, roast_sink **out, roast_error *err);
/* Counts the bytes and forgets them. */
roast_status roast_sink_new_count(roast_sink **out, roast_error *err);
/* Does not flush: call roast_sink_finish first. */
void roast_sink_free(roast_sink *sink);

void roast_sink_write(roast_sink *sink, const void *data, size_t len);
void roast_sink_puts(roast_sink *sink, const char *text);
void roast_sink_str(roast_sink *sink, roast_str text);
void roast_sink_printf(roast_sink *sink, const char *format, ...) ROAST_PRINTF(2, 3);

/* Flushes, then returns the first failure of the sink, or ROAST_OK. */
roast_status roast_sink_finish(roast_sink *sink, roast_error *err);
/* Records a failure of the writer itself. */
void roast_sink_fail(roast_sink *sink, roast_status status, const char *message);
/* Bytes accepted so far. */
uint64_t roast_sink_count(const roast_sink *sink);
/* The bytes of a memory sink; borrowed until the next write. Empty for other sinks. */
roast_str roast_sink_memory(const roast_sink *sink);

#endif
