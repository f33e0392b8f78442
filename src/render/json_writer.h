/* The writer of JSON, with functions for the documents of this folder only. */
#ifndef ROAST_RENDER_JSON_WRITER_H
#define ROAST_RENDER_JSON_WRITER_H

#include "roast/json.h"

void roast_json_key_str(roast_json *json, roast_str key);
void roast_json_put_object(roast_json *json, const char *key);

void roast_json_null(roast_json *json);
void roast_json_bool(roast_json *json, bool value);
void roast_json_uint(roast_json *json, uint64_t value);
/* A text that is JSON already. NaN and the like, which Python writes, become null. A text that is no JSON goes out
 * as a string; so does one that nests deeper than 2,048 containers. */
void roast_json_raw(roast_json *json, roast_str text);

void roast_json_put_int(roast_json *json, const char *key, int64_t value);
/* Below 0: not there, and nothing is written. */
void roast_json_put_count(roast_json *json, const char *key, int64_t value);

#endif
