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

/* ---- texts ---- */

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 87 : -1;
}

/* The character of "uXXXX" as UTF-8; 0: there is none. */
static size_t unicode_escape(const char *at, size_t left, char out[3]) {
    int code = 0;
    for (size_t i = 1; i < 5; i++) {
        int digit = i < left ? hex_digit(at[i]) : -1;
        if (digit < 0)
            return 0;
        code = code * 16 + digit;
    }
    if (code >= 0xd800 && code <= 0xdfff)
        return 0;
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    out[0] = (char)(0xe0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 0x3f));
    out[2] = (char)(0x80 | (code & 0x3f));
    return 3;
}

/* Appends the character of the escape behind the backslash at `at`, and counts the bytes of its spelling. */
static roast_status put_escape(const char *at, size_t left, size_t *used, roast_buffer *out) {
    static const char names[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
    char utf8[3];
    const char *name = left > 0 && *at != '\0' ? strchr(names, *at) : NULL;
    if (name != NULL) {
        *used = 1;
        return roast_buffer_append(out, &characters[name - names], 1);
    }
    size_t len = left > 0 && *at == 'u' ? unicode_escape(at, left, utf8) : 0;
    *used = 5;
    return len > 0 ? roast_buffer_append(out, utf8, len) : ROAST_ECORRUPT;
}

roast_status roast_json_scan_text(roast_str value, roast_buffer *out) {
    if (value.data == NULL || value.len < 2 || value.data[0] != '"')
        return ROAST_ECORRUPT;
    const char *at = value.data + 1, *end = value.data + value.len - 1;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((escape != NULL ? escape : end) - at), used;
        ROAST_TRY(roast_buffer_append(out, at, plain));
        at += plain;
        if (escape == NULL)
            break;
        ROAST_TRY(put_escape(at + 1, (size_t)(end - at - 1), &used, out));
        at += 1 + used;
    }
    return ROAST_OK;
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
