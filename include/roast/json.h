/* JSON, written as it goes: what the documents of this library and the answers of the program have in
 * common.
 *
 * Nothing here fails by itself: the sink keeps the first failure. Texts may be any bytes; what is not
 * UTF-8 becomes U+FFFD. Numbers read back as they were; one that is not finite is null. */
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
    unsigned depth;    /* containers that are open now */
    uint64_t filled;   /* a bit a level: something is in it already */
    bool behind_a_key; /* the next value belongs to the key before it */
} roast_json;

/* Containers down to the level `open` have each item on a line of its own, the others are one line; 0
 * writes no blank at all. The sink stays the caller's. */
void roast_json_init(roast_json *json, roast_sink *sink, unsigned open);
/* A line feed behind the document. */
void roast_json_end(roast_json *json);

void roast_json_begin_object(roast_json *json);
void roast_json_end_object(roast_json *json);
void roast_json_begin_array(roast_json *json);
void roast_json_end_array(roast_json *json);
/* Before each value of an object. */
void roast_json_key(roast_json *json, const char *key);
void roast_json_key_str(roast_json *json, roast_str key);

void roast_json_null(roast_json *json);
void roast_json_bool(roast_json *json, bool value);
void roast_json_int(roast_json *json, int64_t value);
void roast_json_uint(roast_json *json, uint64_t value);
void roast_json_real(roast_json *json, double value);
/* value / 10^places (at most 18), to the last digit: where a double is not exact. */
void roast_json_fixed(roast_json *json, int64_t value, unsigned places);
/* The absent string is null. */
void roast_json_str(roast_json *json, roast_str text);
void roast_json_text(roast_json *json, const char *text);
/* "2026-01-31T12:00:00.123456+00:00": as Python's isoformat(), with nine decimals where six do not
 * do. */
void roast_json_time(roast_json *json, roast_utc when);
/* A text that is JSON already. What is not goes out as a string; NaN and the like, which Python
 * writes, become null. */
void roast_json_raw(roast_json *json, roast_str text);

/* A key and its value; nothing at all where the value is not there (not measured, absent, NaN). */
void roast_json_put_value(roast_json *json, const char *key, roast_value value);
void roast_json_put_real(roast_json *json, const char *key, double value);
void roast_json_put_str(roast_json *json, const char *key, roast_str text);

#endif
