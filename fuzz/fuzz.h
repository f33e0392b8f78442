/* What a fuzz target gives and gets. A target is one file, fuzz_<name>.c, that defines the two
 * functions below; libFuzzer or replay.c runs it. */
#ifndef ROAST_FUZZ_H
#define ROAST_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs the decoder over one input; never fails, a fault is a crash. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Writes the seeds of the target's corpus; false if that did not work. */
bool fuzz_make_corpus(const char *folder);

/* ---- for targets (support.c) ---- */
/* How many inputs decoded as they were given. */
extern unsigned long fuzz_accepted;

/* Calls `decode` with the input as it is, then with the checksum in the last four bytes put right:
 * a changed byte would otherwise never get past it. decode tells whether the input was good. */
int fuzz_run(const uint8_t *data, size_t size, bool (*decode)(const uint8_t *data, size_t size));
/* Stops the program: a property of the decoder does not hold. */
void fuzz_require(bool holds, const char *what);
bool fuzz_save(const char *folder, const char *name, const void *data, size_t size);

#endif
