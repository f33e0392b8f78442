/* Loads of a known size, to check the truth of figures. */
#ifndef ROAST_TESTS_BURN_LOAD_H
#define ROAST_TESTS_BURN_LOAD_H

#include <stdbool.h>
#include <stddef.h>

enum { BURN_READ_BYTES = 4096 };

/* Computes until the calling thread has used so much CPU time, nearly all of it in user mode. */
void burn_cpu(double seconds);
void burn_sleep(double seconds);
/* Maps `bytes` and touches every page, calls `hold`, gives it all back. False if there is no
 * memory. */
bool burn_memory(size_t bytes, void (*hold)(void *context), void *context);
/* Reads the file from its start to its end with preads of BURN_READ_BYTES; how many calls it
 * took (the one that found the end included) and how many bytes came. False if it cannot be
 * read. */
bool burn_read(const char *path, size_t *calls, size_t *bytes);

#endif
