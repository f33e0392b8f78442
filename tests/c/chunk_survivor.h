/* Buffers that may be damaged: either a clean refusal, or a log that holds together. */
#ifndef ROAST_TESTS_CHUNK_SURVIVOR_H
#define ROAST_TESTS_CHUNK_SURVIVOR_H

#include "chunk_sample.h"

enum { HEADER = 5, TRAILER = 4 };

extern roast_error refusal; /* why the last buffer was refused */

void fix_checksum(packed bytes);
/* true if the buffer decodes: then all of it is read, packed again and merged. Anything else but a
 * clean refusal fails. */
bool try_decode(packed bytes);

#endif
