#include "render/json_writer.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "render/moment.h"
#include "render/unicode.h"

void roast_json_init(roast_json *json, roast_sink *sink, unsigned open) {
    *json = (roast_json){.sink = sink, .open = open};
}

void roast_json_end(roast_json *json) {
    roast_sink_puts(json->sink, "\n");
}

/* ---- separators and indentation ---- */

static void new_line(roast_json *json) {
    roast_sink_puts(json->sink, "\n");
    for (unsigned i = 0; i < json->depth; i++)
        roast_sink_puts(json->sink, "  ");
}

static void before_item(roast_json *json) {
    if (json->behind_a_key) {
        json->behind_a_key = false;
        return;
    }
    if (json->depth == 0)
        return;
    uint64_t bit = UINT64_C(1) << (json->depth - 1);
    bool lines = json->depth <= json->open, first = (json->filled & bit) == 0;
    if (!first)
        roast_sink_puts(json->sink, lines || json->open == 0 ? "," : ", ");
    if (lines)
        new_line(json);
    json->filled |= bit;
}

static void begin(roast_json *json, const char *bracket) {
    before_item(json);
    if (json->depth == ROAST_JSON_DEPTH) {
        roast_sink_fail(json->sink, ROAST_ELIMIT, "the JSON is too deep");
        return;
    }
    roast_sink_puts(json->sink, bracket);
    json->filled &= ~(UINT64_C(1) << json->depth);
    json->depth++;
}

static void end(roast_json *json, const char *bracket) {
    if (json->depth == 0) {
        roast_sink_fail(json->sink, ROAST_ESTATE, "more JSON is ended than was begun");
        return;
    }
    json->depth--;
    if (json->depth < json->open && json->filled >> json->depth & 1)
        new_line(json);
    roast_sink_puts(json->sink, bracket);
}

void roast_json_begin_object(roast_json *json) {
    begin(json, "{");
}

void roast_json_end_object(roast_json *json) {
    end(json, "}");
}

void roast_json_begin_array(roast_json *json) {
    begin(json, "[");
}

void roast_json_end_array(roast_json *json) {
    end(json, "]");
}

/* ---- texts ---- */

/* A character inside a string. */
static void put_character(roast_sink *sink, uint32_t code, roast_str bytes) {
    static const char known[] = "\bb\ff\nn\rr\tt";
    const char *letter = code != 0 && code < 0x20 ? strchr(known, (int)code) : NULL;
    if (code == ROAST_BROKEN)
        roast_sink_puts(sink, ROAST_UTF8_REPLACEMENT);
    else if (code == '"' || code == '\\')
        roast_sink_printf(sink, "\\%c", (char)code);
    else if (letter != NULL)
        roast_sink_printf(sink, "\\%c", letter[1]);
    else if (roast_code_is_unsafe(code))
        roast_sink_printf(sink, "\\u%04x", (unsigned)code);
    else
        roast_sink_str(sink, bytes);
}

static void put_string(roast_sink *sink, roast_str text) {
    roast_sink_puts(sink, "\"");
    roast_text_put_by(sink, text, "\"\\", put_character);
    roast_sink_puts(sink, "\"");
}

void roast_json_key_str(roast_json *json, roast_str key) {
    before_item(json);
    put_string(json->sink, key);
    roast_sink_puts(json->sink, json->open == 0 ? ":" : ": ");
    json->behind_a_key = true;
}

void roast_json_key(roast_json *json, const char *key) {
    roast_json_key_str(json, roast_str_of(key));
}

void roast_json_put_object(roast_json *json, const char *key) {
    roast_json_key(json, key);
    roast_json_begin_object(json);
}

void roast_json_put_array(roast_json *json, const char *key) {
    roast_json_key(json, key);
    roast_json_begin_array(json);
}

void roast_json_str(roast_json *json, roast_str text) {
    before_item(json);
    if (text.data == NULL)
        roast_sink_puts(json->sink, "null");
    else
        put_string(json->sink, text);
}

void roast_json_time(roast_json *json, roast_utc when) {
    char text[ROAST_MOMENT_TEXT];
    roast_moment_text(when, "+00:00", text);
    roast_json_str(json, roast_str_of(text));
}

/* ---- numbers and words ---- */

static void put_word(roast_json *json, const char *word) {
    before_item(json);
    roast_sink_puts(json->sink, word);
}

void roast_json_null(roast_json *json) {
    put_word(json, "null");
}

void roast_json_bool(roast_json *json, bool value) {
    put_word(json, value ? "true" : "false");
}

void roast_json_int(roast_json *json, int64_t value) {
    before_item(json);
    roast_sink_printf(json->sink, "%" PRId64, value);
}

void roast_json_uint(roast_json *json, uint64_t value) {
    before_item(json);
    roast_sink_printf(json->sink, "%" PRIu64, value);
}

void roast_json_real(roast_json *json, double value) {
    char text[ROAST_NUMBER_TEXT];
    if (!isfinite(value)) {
        roast_json_null(json);
        return;
    }
    roast_number_text(value, text);
    put_word(json, text);
}

/* ---- members that may be absent ---- */

void roast_json_put_value(roast_json *json, const char *key, roast_value value) {
    if (value.kind == ROAST_VALUE_NONE || !isfinite(roast_value_number(value)))
        return;
    roast_json_key(json, key);
    if (value.kind == ROAST_VALUE_INT)
        roast_json_int(json, value.integer);
    else
        roast_json_real(json, value.real);
}

void roast_json_put_int(roast_json *json, const char *key, int64_t value) {
    roast_json_put_value(json, key, roast_value_int(value));
}

void roast_json_put_count(roast_json *json, const char *key, int64_t value) {
    if (value >= 0)
        roast_json_put_int(json, key, value);
}

void roast_json_put_real(roast_json *json, const char *key, double value) {
    roast_json_put_value(json, key, roast_value_real(value));
}

void roast_json_put_str(roast_json *json, const char *key, roast_str text) {
    if (text.data == NULL)
        return;
    roast_json_key(json, key);
    roast_json_str(json, text);
}

void roast_json_put_text(roast_json *json, const char *key, const char *text) {
    roast_json_put_str(json, key, roast_str_of(text));
}

/* ---- JSON that is there already ---- */

/* Bytes of the string that begins here, with its quotes. */
static size_t string_length(const char *at, size_t left) {
    size_t len = 1;
    while (len < left && at[len] != '"')
        len += at[len] == '\\' ? 2 : 1;
    return len < left ? len + 1 : left;
}

/* A character of a string that is JSON already: its escapes stay. A control character stays too: such a text is no
 * JSON. */
static void copy_character(roast_sink *sink, uint32_t code, roast_str bytes) {
    if (code < 0x20)
        roast_sink_str(sink, bytes);
    else
        put_character(sink, code, bytes);
}

static void copy_json(roast_sink *sink, roast_str text) {
    const char *at = text.data;
    for (size_t left = text.len, len; left > 0; at += len, left -= len) {
        if (*at == '"') {
            len = string_length(at, left);
            roast_text_put_by(sink, (roast_str){at, len}, "", copy_character);
        } else if ((len = roast_number_unknown_to_json(at, left)) > 0) {
            roast_sink_puts(sink, "null");
        } else {
            len = 1; /* A line feed would break what has one line a record. */
            roast_sink_write(sink, *at == '\n' || *at == '\r' ? " " : at, 1);
        }
    }
}

static bool is_json(roast_str text) {
    json_t *value = json_loadb(text.data, text.len,
                               JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
    json_decref(value);
    /* jansson takes a NUL for the end of the text. */
    return value != NULL && memchr(text.data, '\0', text.len) == NULL;
}

void roast_json_raw(roast_json *json, roast_str text) {
    roast_sink *copy;
    roast_error err;
    if (roast_sink_new_memory(&copy, &err) != ROAST_OK) {
        roast_sink_fail(json->sink, err.status, err.message);
        return;
    }
    copy_json(copy, text);
    if (roast_sink_finish(copy, &err) != ROAST_OK) {
        roast_sink_fail(json->sink, err.status, err.message);
    } else if (is_json(roast_sink_memory(copy))) {
        before_item(json);
        roast_sink_str(json->sink, roast_sink_memory(copy));
    } else {
        roast_json_str(json, text);
    }
    roast_sink_free(copy);
}
