#include "base/json_scan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

static bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void skip_blanks(roast_json_scan *scan) {
    while (scan->at < scan->end && is_blank(*scan->at))
        scan->at++;
}

static bool fail(roast_json_scan *scan) {
    scan->failed = true;
    scan->at = scan->end;
    return false;
}

static bool take(roast_json_scan *scan, char c) {
    skip_blanks(scan);
    if (scan->at == scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

/* Moves behind the closing quote; `at` stands on the opening one. */
static bool skip_string(roast_json_scan *scan) {
    for (scan->at++; scan->at < scan->end; scan->at++) {
        if (*scan->at == '"') {
            scan->at++;
            return true;
        }
        if (*scan->at == '\\')
            scan->at++;
    }
    return fail(scan);
}

static bool skip_container(roast_json_scan *scan) {
    for (size_t depth = 0; scan->at < scan->end;) {
        char c = *scan->at;
        if (c == '"') {
            if (!skip_string(scan))
                return false;
            continue;
        }
        scan->at++;
        depth += c == '{' || c == '[';
        if ((c == '}' || c == ']') && --depth == 0)
            return true;
    }
    return fail(scan);
}

static bool take_value(roast_json_scan *scan, roast_str *value) {
    skip_blanks(scan);
    const char *begin = scan->at;
    if (begin == scan->end)
        return fail(scan);
    if (*begin == '"') {
        if (!skip_string(scan))
            return false;
    } else if (*begin == '{' || *begin == '[') {
        if (!skip_container(scan))
            return false;
    } else {
        while (scan->at < scan->end && !is_blank(*scan->at) && strchr(",:]}", *scan->at) == NULL)
            scan->at++;
    }
    *value = (roast_str){begin, (size_t)(scan->at - begin)};
    return value->len > 0 || fail(scan);
}

roast_json_scan roast_json_scan_begin(roast_str text) {
    roast_json_scan scan = {.failed = text.data == NULL};
    if (scan.failed)
        return scan;
    scan = (roast_json_scan){.at = text.data, .end = text.data + text.len, .first = true};
    skip_blanks(&scan);
    char opening = scan.at < scan.end ? *scan.at : '\0';
    scan.closing = opening == '[' ? ']' : '}';
    if (opening == '{' || opening == '[')
        scan.at++;
    else
        fail(&scan);
    return scan;
}

/* Whether another item follows. */
static bool goes_on(roast_json_scan *scan) {
    if (scan->failed || scan->closing == '\0')
        return false;
    if (take(scan, scan->closing)) {
        scan->closing = '\0';
        return false;
    }
    if (!scan->first && !take(scan, ','))
        return fail(scan);
    scan->first = false;
    return true;
}

bool roast_json_scan_member(roast_json_scan *scan, roast_str *key, roast_str *value) {
    roast_str quoted;
    if (!goes_on(scan) || !take_value(scan, &quoted))
        return false;
    if (quoted.data[0] != '"' || !take(scan, ':'))
        return fail(scan);
    *key = (roast_str){quoted.data + 1, quoted.len - 2};
    return take_value(scan, value);
}

bool roast_json_scan_item(roast_json_scan *scan, roast_str *value) {
    return goes_on(scan) && take_value(scan, value);
}

/* ---- numbers ---- */

bool roast_json_scan_number(roast_str value, roast_json_number *out) {
    enum { LONGEST = 64 };
    char text[LONGEST], *end;
    if (value.data == NULL || value.len == 0 || value.len >= sizeof text)
        return false;
    memcpy(text, value.data, value.len);
    text[value.len] = '\0';
    if (strspn(text, "0123456789+-.eE") != value.len) /* no "inf", no "0x1" */
        return false;
    if (strpbrk(text, ".eE") == NULL) {
        errno = 0;
        long long integer = strtoll(text, &end, 10);
        if (*end != '\0' || end == text || errno != 0)
            return false;
        *out = (roast_json_number){true, integer, (double)integer};
        return true;
    }
    *out = (roast_json_number){.real = roast_number_read(text, &end)};
    return *end == '\0' && end != text && isfinite(out->real);
}
