/* Reads JSON member by member, without memory of its own: for lines of a log of which few values are needed. A parser
 * that makes a tree takes twenty times as long.
 *
 * A text that is no JSON never does harm: the scan ends, and `failed` says so. Values that are skipped are checked
 * only for their brackets and quotes. */
#ifndef ROAST_BASE_JSON_SCAN_H
#define ROAST_BASE_JSON_SCAN_H

#include "roast/base.h"

typedef struct roast_json_scan {
    const char *at, *end;
    char closing; /* of the container */
    bool first, failed;
} roast_json_scan;

/* Begins with the text of an object or an array. */
roast_json_scan roast_json_scan_begin(roast_str text);
/* The next member of an object: its key without quotes, escapes as they are, and the text of its value. false at the
 * end, and where it failed. */
bool roast_json_scan_member(roast_json_scan *scan, roast_str *key, roast_str *value);
/* The next item of an array. */
bool roast_json_scan_item(roast_json_scan *scan, roast_str *value);

typedef struct roast_json_number {
    bool whole;
    int64_t integer;
    double real; /* of a whole one too */
} roast_json_number;
/* false: the value is no number. A point is a point in every locale. */
bool roast_json_scan_number(roast_str value, roast_json_number *out);

#endif
