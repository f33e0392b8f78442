/* Numbers and names as people read them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyse/diagnose/internal.h"
#include "base/utf8.h"
#include "metrics/format.h"

static const char mark[] = "…";

static void say(roast_words *words, const char *format, va_list args) {
    size_t left = sizeof words->text - words->len;
    int len = vsnprintf(words->text + words->len, left, format, args);
    if (len < 0)
        return;
    if ((size_t)len < left) {
        words->len += (size_t)len;
        return;
    }
    /* A cut is made between characters, and marked. */
    roast_str all = {words->text, sizeof words->text - 1};
    words->len = roast_utf8_cut(all, sizeof words->text - sizeof mark).len;
    memcpy(words->text + words->len, mark, sizeof mark);
    words->len += sizeof mark - 1;
}

void roast_say(roast_words *words, const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(words, format, args);
    va_end(args);
}

void roast_say_next(roast_words *words, const char *format, ...) {
    va_list args;
    if (words->len > 0)
        roast_say(words, "; ");
    va_start(args, format);
    say(words, format, args);
    va_end(args);
}

/* More than are used in one sentence. */
enum { BUFFERS = 16, BUFFER = 320 }; /* a note, or the path of a file, is seldom longer */

static char *next_buffer(void) {
    static _Thread_local char buffers[BUFFERS][BUFFER];
    static _Thread_local unsigned used;
    return buffers[used++ % BUFFERS];
}

static const char *short_number(double value, roast_short_unit unit) {
    char *out = next_buffer();
    roast_format_short(value, unit, out, BUFFER);
    return out;
}

const char *roast_say_time(double seconds) {
    return short_number(seconds, ROAST_SHORT_TIME);
}

const char *roast_say_bytes(double bytes) {
    return short_number(bytes, ROAST_SHORT_BYTES);
}

const char *roast_say_times(double ratio) {
    return short_number(ratio, ROAST_SHORT_RATIO);
}

static const char *grouped(double count, char between) {
    char *out = next_buffer();
    roast_format_count(count, between, out, BUFFER);
    return out;
}

const char *roast_say_count(double count) {
    return grouped(count, ',');
}

const char *roast_say_code(double count) {
    return grouped(count, '_');
}

const char *roast_say_many(double count, const char *thing) {
    char number[40], *out = next_buffer();
    roast_format_count(count, ',', number, sizeof number);
    snprintf(out, BUFFER, "%s %s%s", number, thing, strcmp(number, "1") == 0 ? "" : "s");
    return out;
}

const char *roast_say_percent(double share) {
    return short_number(share, ROAST_SHORT_SHARE);
}

const char *roast_say_name(roast_str name) {
    char *out = next_buffer(), *at = out;
    if (name.data == NULL)
        return "unknown";
    roast_str shown = roast_utf8_cut(name, BUFFER - sizeof mark);
    for (size_t i = 0; i < shown.len; i++)
        *at++ = (unsigned char)shown.data[i] < 0x20 ? ' ' : shown.data[i];
    memcpy(at, shown.len < name.len ? mark : "", shown.len < name.len ? sizeof mark : 1);
    return out;
}

/* The last part of a long path. */
static roast_str short_path(roast_str path) {
    enum { LONG = 60 };
    size_t from = path.len;
    while (from > 0 && path.data[from - 1] != '/')
        from--;
    return path.len > LONG && from < path.len ? (roast_str){path.data + from, path.len - from}
                                              : path;
}

const char *roast_say_file(roast_str path) {
    return roast_say_name(path.data != NULL ? short_path(path) : path);
}

void roast_say_path(roast_words *words, roast_str path) {
    if (path.data != NULL && short_path(path).len < path.len)
        roast_say(words, " Its path is %s.", roast_say_name(path));
}
