/* The text of the files under /proc/<pid>, into a reading. A value that is missing, cut short, not a number or too
 * large is left out. */
#ifndef ROAST_PROC_PROCFS_H
#define ROAST_PROC_PROCFS_H

#include "proc/parse.h"
#include "roast/proc.h"

/* Nanoseconds of a clock tick, the unit of times in stat. */
uint64_t roast_tick_ns(void);
/* Skips "pid (name) ", up to the state; false if there is no name. The name may hold blanks and brackets, the rest
 * cannot. */
bool roast_procfs_after_name(roast_cursor *text);
/* CPU time of a process, from its stat. */
bool roast_procfs_cpu(roast_cursor stat, uint64_t *cpu_ns);
void roast_procfs_delay(roast_cursor stat, roast_reading *out);
void roast_procfs_statm(roast_cursor text, roast_reading *out);
void roast_procfs_schedstat(roast_cursor text, roast_reading *out);
void roast_procfs_io(roast_cursor text, roast_reading *out);

#endif
