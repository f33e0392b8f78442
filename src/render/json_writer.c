#include "roast/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "render/json_check.h"
#include "render/moment.h"
#include "render/unicode.h"

void roast_json_init(roast_json *json, roast_sink *sink, unsigned open) {
    *json = (roast_json){.sink = sink, .open = open};
}

void roast_json_end(roast_json *json) {
    roast_sink_puts(json->sink, "\n");
}

/* ---- where a value stands ---- */

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

/* Bytes from `at` on that stand for themselves in a string. */
static size_t plain_run(const uint8_t *at, size_t left) {
    size_t len = 0;
    while (len < left && at[len] >= 0x20 && at[len] < 0x7f && at[len] != '"' && at[len] != '\\')
        len++;
    return len;
}

size_t roast_json_put_character(roast_sink *sink, roast_str text) {
    uint32_t code;
    size_t len = roast_utf8_next(text, 0, &code);
    if (code == ROAST_BROKEN)
        roast_sink_puts(sink, ROAST_UTF8_REPLACEMENT);
    else if (roast_code_is_unsafe(code))
        roast_sink_printf(sink, "\\u%04x", (unsigned)code);
    else
        roast_sink_write(sink, text.data, len);
    return len;
}

static void put_escape(roast_sink *sink, uint8_t byte) {
    static const char short_of[0x20] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    if (byte == '"' || byte == '\\')
        roast_sink_printf(sink, "\\%c", byte);
    else if (byte < 0x20 && short_of[byte] != 0)
        roast_sink_printf(sink, "\\%c", short_of[byte]);
    else
        roast_sink_printf(sink, "\\u%04x", byte);
}

static void put_string(roast_sink *sink, roast_str text) {
    const uint8_t *at = (const uint8_t *)text.data;
    roast_sink_puts(sink, "\"");
    for (size_t left = text.len, len; left > 0; at += len, left -= len) {
        len = plain_run(at, left);
        if (len > 0) {
            roast_sink_write(sink, at, len);
        } else if (*at < 0x7f) {
            put_escape(sink, *at);
            len = 1;
        } else {
            len = roast_json_put_character(sink, (roast_str){(const char *)at, left});
        }
    }
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

void roast_json_str(roast_json *json, roast_str text) {
    before_item(json);
    if (text.data == NULL)
        roast_sink_puts(json->sink, "null");
    else
        put_string(json->sink, text);
}

void roast_json_text(roast_json *json, const char *text) {
    roast_json_str(json, roast_str_of(text));
}

void roast_json_time(roast_json *json, roast_utc when) {
    char text[ROAST_MOMENT_TEXT];
    roast_moment_text(when, "+00:00", text);
    roast_json_text(json, text);
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

void roast_json_fixed(roast_json *json, int64_t value, unsigned places) {
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, scale = 1;
    places = places > 18 ? 18 : places;
    for (unsigned i = 0; i < places; i++)
        scale *= 10;
    uint64_t rest = magnitude % scale;
    for (; places > 0 && rest % 10 == 0; places--)
        rest /= 10;
    before_item(json);
    roast_sink_printf(json->sink, "%s%" PRIu64, value < 0 ? "-" : "", magnitude / scale);
    if (places > 0)
        roast_sink_printf(json->sink, ".%0*" PRIu64, (int)places, rest);
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

void roast_json_put_real(roast_json *json, const char *key, double value) {
    roast_json_put_value(json, key, roast_value_real(value));
}

void roast_json_put_str(roast_json *json, const char *key, roast_str text) {
    if (text.data == NULL)
        return;
    roast_json_key(json, key);
    roast_json_str(json, text);
}

/* ---- JSON that is there already ---- */

void roast_json_raw(roast_json *json, roast_str text) {
    if (!roast_json_is_valid(text)) {
        roast_json_str(json, text);
        return;
    }
    before_item(json);
    roast_json_copy(json->sink, text);
}
