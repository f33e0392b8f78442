/* Threads of the library. */
#ifndef ROAST_BASE_THREAD_H
#define ROAST_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread that takes no signal: they are for the program's own threads. False: no thread can be had. */
bool roast_thread_start(pthread_t *thread, void *(*run)(void *), void *context);

#endif
