#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/number.h"
#include "store/legacy/internal.h"

roast_status roast_legacy_damaged(roast_error *err, const char *file, const char *format, ...) {
    char what[160];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return roast_error_set(err, ROAST_ECORRUPT, "0.1.x measurement", -1, "%s: %s", file, what);
}

/* ---- forms of Python that JSON does not have ---- */

/* The code of "\uXXXX" at `at`; -1: it is not one. */
static int escape_at(roast_str text, size_t at) {
    int code = 0;
    if (text.len - at < 6 || text.data[at] != '\\' || text.data[at + 1] != 'u')
        return -1;
    for (size_t i = at + 2; i < at + 6; i++) {
        char c = text.data[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

/* Bytes of the escape at `at`; *lone: half a pair of surrogates without the other half. */
static size_t escape_len(roast_str text, size_t at, bool *lone) {
    int code = escape_at(text, at);
    *lone = false;
    if (code < 0)
        return text.len - at < 2 ? 1 : 2;
    if (code < 0xd800 || code > 0xdfff)
        return 6;
    int next = code < 0xdc00 && text.len - at >= 12 ? escape_at(text, at + 6) : -1;
    if (next >= 0xdc00 && next <= 0xdfff)
        return 12;
    *lone = true;
    return 6;
}

/* Copies `text` from *kept up to `at`, puts `word` in the place of the next `len` bytes. */
static roast_status replace(roast_str text, size_t *kept, size_t at, size_t len, const char *word,
                            roast_buffer *out) {
    ROAST_TRY(roast_buffer_append(out, text.data + *kept, at - *kept));
    ROAST_TRY(roast_buffer_append(out, word, strlen(word)));
    *kept = at + len;
    return ROAST_OK;
}

/* `out` stays empty where there is nothing to replace. */
static roast_status relax(roast_str text, roast_buffer *out) {
    size_t kept = 0;
    bool in_text = false;
    for (size_t at = 0; at < text.len;) {
        size_t len = 1;
        bool lone;
        if (text.data[at] == '"') {
            in_text = !in_text;
        } else if (in_text && text.data[at] == '\\') {
            len = escape_len(text, at, &lone);
            if (lone)
                ROAST_TRY(replace(text, &kept, at, len, "\\ufffd", out));
        } else if (!in_text &&
                   (len = roast_number_unknown_to_json(text.data + at, text.len - at)) > 0) {
            ROAST_TRY(replace(text, &kept, at, len, "null", out));
        }
        at += len > 0 ? len : 1;
    }
    return kept > 0 ? roast_buffer_append(out, text.data + kept, text.len - kept) : ROAST_OK;
}

/* ---- parsing ---- */

static json_t *load(roast_str text, json_error_t *error) {
    json_t *value = json_loadb(text.data, text.len, JSON_ALLOW_NUL, error);
    if (value == NULL && json_error_code(error) == json_error_numeric_overflow)
        value = json_loadb(text.data, text.len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, error);
    return value;
}

static roast_status no_memory(roast_error *err, const char *file) {
    return roast_error_set(err, ROAST_ENOMEM, "0.1.x measurement", -1, "no memory to read %s",
                           file);
}

roast_status roast_legacy_parse(roast_str text, const char *file, json_t **out, roast_error *err) {
    roast_buffer relaxed = {0};
    json_error_t error = {.line = -1};
    if (relax(text, &relaxed) != ROAST_OK) {
        roast_buffer_reset(&relaxed);
        return no_memory(err, file);
    }
    if (relaxed.len > 0)
        text = (roast_str){(const char *)relaxed.data, relaxed.len};
    json_t *value = load(text, &error);
    roast_buffer_reset(&relaxed);
    if (value != NULL) {
        *out = value;
        return ROAST_OK;
    }
    /* The parser has no words where memory ran short in the middle of it. */
    if (error.text[0] == '\0' || json_error_code(&error) == json_error_out_of_memory)
        return no_memory(err, file);
    return roast_legacy_damaged(err, file, "line %d, column %d: %.100s", error.line, error.column,
                                error.text);
}

roast_status roast_legacy_dump(const json_t *value, char **text, size_t *len, roast_error *err) {
    const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY;
    size_t size = json_dumpb(value, NULL, 0, flags); /* 0: it failed */
    char *bytes = size > 0 ? roast_alloc(size) : NULL;
    if (bytes == NULL || json_dumpb(value, bytes, size, flags) != size) {
        roast_free(bytes);
        return no_memory(err, "a value");
    }
    *text = bytes;
    *len = size;
    return ROAST_OK;
}

/* ---- values ---- */

const char *roast_legacy_type_name(const json_t *value) {
    if (value == NULL)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_NULL:
        return "null";
    default:
        return "true or false";
    }
}

roast_str roast_legacy_text(const json_t *value) {
    return json_is_string(value) ? (roast_str){json_string_value(value), json_string_length(value)}
                                 : (roast_str){NULL, 0};
}

double roast_legacy_number(const json_t *value) {
    return json_is_number(value) ? json_number_value(value) : NAN;
}

bool roast_legacy_steps(const json_t *value, double per, int64_t *out) {
    if (json_is_integer(value) && per == 1) {
        *out = json_integer_value(value);
        return true;
    }
    double steps = round(roast_legacy_number(value) * per);
    if (!(fabs(steps) < 9.2e18))
        return false;
    *out = (int64_t)steps;
    return true;
}
