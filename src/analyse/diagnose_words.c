/* Numbers and names as people read them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyse/diagnose_internal.h"
#include "metrics/format.h"

static void say(roast_words *words, const char *format, va_list args) {
    size_t left = sizeof words->text - words->len;
    int len = vsnprintf(words->text + words->len, left, format, args);
    if (len < 0)
        return;
    if ((size_t)len < left) {
        words->len += (size_t)len;
        return;
    }
    /* Cut, at the end of a character. */
    words->len = sizeof words->text - 1;
    while (words->len > 0 && ((unsigned char)words->text[words->len - 1] & 0xc0) == 0x80)
        words->len--;
    if (words->len > 0 && (unsigned char)words->text[words->len - 1] >= 0xc0)
        words->len--;
    words->text[words->len] = '\0';
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
enum { BUFFERS = 16, BUFFER = 96 };

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
    char *out = next_buffer();
    double percent = share * 100;
    snprintf(out, BUFFER, "%.*f%%", percent < 9.95 ? 1 : 0, percent);
    return out;
}

const char *roast_say_name(roast_str name) {
    static const char mark[] = "…";
    enum { SHOWN = BUFFER - sizeof mark - 1 };
    char *out = next_buffer(), *at = out;
    size_t from = 0;
    if (name.data == NULL)
        return "unknown";
    if (name.len > SHOWN) {
        from = name.len - SHOWN;
        while (from < name.len && ((unsigned char)name.data[from] & 0xc0) == 0x80)
            from++;
        memcpy(at, mark, sizeof mark - 1);
        at += sizeof mark - 1;
    }
    for (size_t i = from; i < name.len; i++)
        *at++ = (unsigned char)name.data[i] < 0x20 ? ' ' : name.data[i];
    *at = '\0';
    return out;
}
