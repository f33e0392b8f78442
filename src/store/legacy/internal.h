/* Shared by the files that read 0.1.x measurements. */
#ifndef ROAST_STORE_LEGACY_INTERNAL_H
#define ROAST_STORE_LEGACY_INTERNAL_H

#include <jansson.h>

#include "base/buffer.h"
#include "roast/legacy.h"
#include "roast/points.h"

enum { ROAST_LEGACY_MAX_SMALL_FILE = 16 << 20 }; /* bytes of the files but metrics.json */

/* ROAST_ECORRUPT, with the fault of a file. */
roast_status roast_legacy_damaged(roast_error *err, const char *file, const char *format, ...)
    ROAST_PRINTF(3, 4);

/* ---- JSON (json.c) ---- */
/* JSON as Python writes it: NaN and Infinity are read as null, a lone surrogate as U+FFFD, a whole number beyond 64
 * bits as a real. The result is the caller's. */
roast_status roast_legacy_parse(roast_str text, const char *file, json_t **out, roast_error *err);
/* The value as one line of JSON; *text is the caller's, to be given back with roast_free. */
roast_status roast_legacy_dump(const json_t *value, char **text, size_t *len, roast_error *err);
/* "an object", "a list", "a text", ... */
const char *roast_legacy_type_name(const json_t *value);
/* The text of a JSON string. */
roast_str roast_legacy_text(const json_t *value);
/* A number; NaN for anything else. */
double roast_legacy_number(const json_t *value);
/* value * per as a whole number; false: out of range, or no number. */
bool roast_legacy_steps(const json_t *value, double per, int64_t *out);

/* ---- texts (texts.c) ---- */
/* "2026-11-16T00:05:54.474421", with or without a zone. `local`: without a zone; the time is read as UTC. false:
 * malformed. */
bool roast_legacy_time(roast_str text, roast_utc *out, bool *local);
/* UTC of a local time of this machine, which was read as if it were UTC. */
roast_utc roast_legacy_from_local(roast_utc local);
/* "('execute', 'f', None, 3)", a tuple as Python shows it: its items as texts in `out` (None as the absent
 * string). Texts are written to `bytes`, of at least text.len bytes. Returns how many there are; -1: it is no
 * tuple, or has more than `max`. */
int roast_legacy_tuple(roast_str text, char *bytes, roast_str *out, int max);

/* ---- the parts of a run ---- */
typedef struct legacy_input {
    roast_run *run;
    json_t *metrics; /* the object of metrics.json */
    bool have_saved; /* metadata.json has a time ... */
    roast_utc saved; /* ... this one, UTC once the shift is known */
    bool saved_is_local;
    int64_t shift_ns;    /* local time less UTC, where a time has no zone */
    bool shift_known;    /* from the workers; otherwise this machine's zone is used */
    double first_seen;   /* s since 1970: of a worker, or of a chunk; NaN */
    double last_chunk;   /* when the last one ended; NaN */
    uint64_t odd_values; /* of chunks and sections, left out since their type is another one */
} legacy_input;

roast_status roast_legacy_series(legacy_input *input, roast_error *err);
roast_status roast_legacy_chunks(legacy_input *input, roast_error *err);
roast_status roast_legacy_sections(legacy_input *input, roast_error *err);

#endif
