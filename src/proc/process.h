/* What tells this process and its threads from others: the count of forks, a number for each
 * thread. */
#ifndef ROAST_PROC_PROCESS_H
#define ROAST_PROC_PROCESS_H

#include <stdatomic.h>

#include "roast/base.h"

/* Read it with the function below. */
extern _Atomic unsigned roast_fork_count;

/* Makes the count follow every fork from now on. */
void roast_fork_watch(void);
/* Differs from that of the process this one was forked from, once roast_fork_watch() was called. */
static inline unsigned roast_fork_generation(void) {
    return atomic_load_explicit(&roast_fork_count, memory_order_relaxed);
}

/* Never 0, never given to two threads; the thread that forked keeps its number in the child. */
uint64_t roast_thread_serial(void);

#endif
