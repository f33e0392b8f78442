/* Redacted texts in memory of the library. */
#ifndef ROAST_BASE_REDACT_H
#define ROAST_BASE_REDACT_H

#include "base/arena.h"
#include "base/buffer.h"
#include "roast/redact.h"

/* roast_redact_name or roast_redact_text */
typedef size_t roast_redactor(roast_str text, char *out);

/* Replaces *text by its redacted copy in the buffer, whose old contents are lost. The absent text stays absent. */
roast_status roast_redact_in(roast_buffer *room, roast_redactor *redact, roast_str *text);
/* roast_arena_str with the redacted text. */
roast_status roast_arena_redacted(roast_arena *arena, roast_redactor *redact, roast_str text,
                                  roast_str *out);

#endif
