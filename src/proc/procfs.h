/* The text of the files under /proc/<pid>, into a reading. What is missing, cut short, not a
 * number or too large is left out. */
#ifndef ROAST_PROC_PROCFS_H
#define ROAST_PROC_PROCFS_H

#include "proc/parse.h"
#include "roast/proc.h"

/* Moves behind "pid (name) ", to the state; false if there is no name. The name may hold blanks and
 * brackets, what follows it cannot. */
bool roast_procfs_after_name(roast_cursor *text);
/* The memory in use alone, without a call of the C library: for the sampler's thread, which finds every
 * line of memory cold. */
bool roast_procfs_rss(roast_cursor text, uint64_t page_bytes, uint64_t *out);
void roast_procfs_statm(roast_cursor text, uint64_t page_bytes, roast_reading *out);
void roast_procfs_stat(roast_cursor text, uint64_t tick_ns, unsigned groups, roast_reading *out);
/* `thread`: the switches too; in a process's own file they are those of its first thread alone. */
void roast_procfs_status(roast_cursor text, bool thread, unsigned groups, roast_reading *out);
void roast_procfs_schedstat(roast_cursor text, roast_reading *out);
void roast_procfs_io(roast_cursor text, roast_reading *out);

#endif
