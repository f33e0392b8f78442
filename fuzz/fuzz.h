/* What a fuzz target gives and gets. A target is one file, fuzz_<name>.c, that defines the two
 * functions below; libFuzzer or replay.c runs it. */
#ifndef ROAST_FUZZ_H
#define ROAST_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roast/sink.h"

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
/* Adds all bytes of a text, or a number, NaN being one number, to a sum of what can be read. */
uint64_t fuzz_add_text(uint64_t sum, roast_str text);
uint64_t fuzz_add_real(uint64_t sum, double value);

/* Defines both the target and its decoder, for a packed form: a failure says why; what decodes encodes, and decodes to
 * the same `walk`, a number that depends on all that can be read. `go_on` tries what else can be done with it. */
#define FUZZ_PACKED(form, walk, go_on)                                                             \
    static bool decode(const uint8_t *data, size_t size) {                                         \
        form *it, *again;                                                                          \
        roast_sink *sink;                                                                          \
        roast_error err;                                                                           \
        roast_error_reset(&err);                                                                   \
        roast_status status = form##_decode(data, size, &it, &err);                                \
        if (status != ROAST_OK) {                                                                  \
            fuzz_require(err.status == status && err.message[0] != '\0', "a failure says why");    \
            return false;                                                                          \
        }                                                                                          \
        if (roast_sink_new_memory(&sink, NULL) == ROAST_OK) {                                      \
            fuzz_require(form##_encode(it, sink, NULL) == ROAST_OK, "it encodes");                 \
            roast_str bytes = roast_sink_memory(sink);                                             \
            fuzz_require(form##_decode(bytes.data, bytes.len, &again, NULL) == ROAST_OK,           \
                         "what was encoded decodes");                                              \
            fuzz_require(walk(it) == walk(again), "same contents");                                \
            form##_free(again);                                                                    \
            roast_sink_free(sink);                                                                 \
        }                                                                                          \
        go_on(it);                                                                                 \
        form##_free(it);                                                                           \
        return true;                                                                               \
    }                                                                                              \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {                                 \
        return fuzz_run(data, size, decode);                                                       \
    }

bool fuzz_save(const char *folder, const char *name, const void *data, size_t size);

#endif
