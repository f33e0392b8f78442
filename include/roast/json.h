/* A writer of JSON: each call writes the next part of the document.
 *
 * The functions do not fail: the sink keeps the first failure. Texts may be any bytes; those that are not UTF-8
 * become U+FFFD. Numbers read back as the same number; one that is not finite becomes null. */
#ifndef ROAST_JSON_H
#define ROAST_JSON_H

#include "roast/base.h"
#include "roast/metrics.h"
#include "roast/sink.h"

#define ROAST_JSON_DEPTH                                                                           \
    64u /* containers inside each other; more fail the sink with ROAST_ELIMIT */

typedef struct roast_json {
    roast_sink *sink;
    unsigned open;     /* levels whose items stand on lines of their own */
    unsigned depth;    /* of the container that is open now */
    uint64_t filled;   /* one bit per level: the container has an item already */
    bool behind_a_key; /* a key was written, its value comes next */
} roast_json;

/* In containers down to the level `open` each item stands on a line of its own; deeper ones are one line. 0 writes no
 * blank at all. The sink is borrowed. */
void roast_json_init(roast_json *json, roast_sink *sink, unsigned open);
/* Ends the document with a line feed. */
void roast_json_end(roast_json *json);

void roast_json_begin_object(roast_json *json);
void roast_json_end_object(roast_json *json);
void roast_json_begin_array(roast_json *json);
void roast_json_end_array(roast_json *json);
/* Before each value of an object. */
void roast_json_key(roast_json *json, const char *key);
/* A key, and the beginning of its value. */
void roast_json_put_array(roast_json *json, const char *key);

void roast_json_int(roast_json *json, int64_t value);
void roast_json_real(roast_json *json, double value);
/* The absent string is null. */
void roast_json_str(roast_json *json, roast_str text);
/* "2026-01-31T12:00:00.123456+00:00": as Python's isoformat(), with nine decimals where six are not enough. */
void roast_json_time(roast_json *json, roast_utc when);

/* A key and its value; nothing if the value was not measured, or is absent or NaN. */
void roast_json_put_value(roast_json *json, const char *key, roast_value value);
void roast_json_put_real(roast_json *json, const char *key, double value);
void roast_json_put_str(roast_json *json, const char *key, roast_str text);
void roast_json_put_text(roast_json *json, const char *key, const char *text);

#endif
