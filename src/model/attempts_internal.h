/* How attempts are kept; shared by the files of this module. The bytes are specified in
 * docs/format/attempts.md. */
#ifndef ROAST_MODEL_ATTEMPTS_INTERNAL_H
#define ROAST_MODEL_ATTEMPTS_INTERNAL_H

#include "base/intern.h"
#include "base/varint.h"
#include "roast/attempts.h"

enum {
    ROAST_KEY_HASH_BYTES = 16,
    ROAST_ATTEMPT_ROW_MAX = 2 + 17 * ROAST_VARINT_MAX + ROAST_MAX_KEY,
};

/* How a key is kept. */
typedef enum roast_key_form {
    ROAST_KEY_NONE,
    ROAST_KEY_TEXT,     /* as it is */
    ROAST_KEY_HASHED,   /* a stem, and 16 bytes */
    ROAST_KEY_NUMBERED, /* a stem, and a number */
} roast_key_form;

/* The first byte of a row: outcome, form of the key, and these. */
enum {
    ROAST_ROW_OUTCOME = 3,
    ROAST_ROW_FORM_SHIFT = 2,
    ROAST_ROW_COMPUTE = 1 << 4, /* start_us and stop_us */
    ROAST_ROW_ERROR = 1 << 5,
    ROAST_ROW_DEPARTURE = 1 << 6,
    ROAST_ROW_FOREIGN = 1 << 7,
};
/* The second byte: which of the others are there. */
enum {
    ROAST_ROW_WORKER = 1 << 0,
    ROAST_ROW_THREAD = 1 << 1,
    ROAST_ROW_SENT = 1 << 2,
    ROAST_ROW_READY = 1 << 3,
    ROAST_ROW_TRANSFER = 1 << 4,
    ROAST_ROW_DESERIALIZE = 1 << 5,
    ROAST_ROW_DISK = 1 << 6,
    ROAST_ROW_NBYTES = 1 << 7,
};

struct roast_attempts {
    roast_intern prefixes;
    uint8_t *kinds; /* of the prefixes */
    size_t kinds_capacity;
    roast_intern stems;   /* beginnings of keys */
    roast_intern workers; /* a worker's number is that of its name */
    roast_intern threads; /* each as 8 bytes */
    roast_intern texts;   /* types and messages of exceptions */
    roast_buffer rows;
    uint64_t count;
    int64_t last_us; /* ended_us of the last row */
    roast_departure *departures;
    size_t departures_capacity;
    uint32_t departure_count;
    roast_intern lost;     /* keys whose result was lost */
    uint64_t *lost_before; /* how many rows there were then */
    size_t lost_capacity;
};

/* A key taken apart; the strings are borrowed from it, the hash is in `hash`. */
typedef struct roast_split_key {
    roast_key_form form;
    roast_str stem; /* or the whole key */
    uint8_t hash[ROAST_KEY_HASH_BYTES];
    uint64_t number;
} roast_split_key;
void roast_key_split(roast_str key, roast_split_key *out);

/* Reads the row at *at, which moves on. Gives NULL, or what is wrong with it. `last_us` is that of
 * the row before. */
const char *roast_attempt_row_read(const roast_attempts *attempts, int64_t last_us,
                                   const uint8_t **at, const uint8_t *end, roast_attempt *out);
/* A prefix that is new is "other". */
roast_status roast_attempts_prefix(roast_attempts *attempts, roast_str prefix, uint32_t *id);

#endif
