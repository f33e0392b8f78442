/* Numbers and names as people read them. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyse/diagnose_internal.h"

void roast_say(roast_words *words, const char *format, ...) {
    va_list args;
    va_start(args, format);
    size_t left = sizeof words->text - words->len;
    int len = vsnprintf(words->text + words->len, left, format, args);
    va_end(args);
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

/* More than are used in one sentence. */
enum { ROOMS = 16, ROOM = 96 };

static char *next_room(void) {
    static _Thread_local char rooms[ROOMS][ROOM];
    static _Thread_local unsigned used;
    return rooms[used++ % ROOMS];
}

/* Two digits that say something: 0.12, 1.2, 12, 123. */
static const char *short_number(double value, const char *unit) {
    char *out = next_room();
    double size = fabs(value);
    int decimals = size == 0 || size >= 9.95 ? 0 : size >= 0.995 ? 1 : size >= 0.0995 ? 2 : 3;
    snprintf(out, ROOM, "%.*f%s%s", decimals, value, unit[0] != '\0' ? " " : "", unit);
    return out;
}

typedef struct scale {
    double least;
    const char *unit;
} scale;

static const char *scaled(double value, const scale *scales, size_t count) {
    size_t i = 0;
    while (i + 1 < count && value < scales[i].least * 0.995)
        i++;
    return short_number(value / scales[i].least, scales[i].unit);
}

const char *roast_say_time(double seconds) {
    static const scale scales[] = {{3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}};
    /* 100 s say more than 1.7 min. */
    if (seconds >= 60 && seconds < 120)
        return short_number(seconds, "s");
    return scaled(seconds, scales, sizeof scales / sizeof *scales);
}

const char *roast_say_bytes(double bytes) {
    static const scale scales[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
    return scaled(bytes, scales, sizeof scales / sizeof *scales);
}

static const char *grouped(double count, char between) {
    char digits[40];
    char *out = next_room();
    int n = snprintf(digits, sizeof digits, "%.0f", fmin(count, 1e18)), used = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            out[used++] = between;
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

const char *roast_say_count(double count) {
    return grouped(count, ',');
}

const char *roast_say_many(double count, const char *thing) {
    char number[ROOM];
    snprintf(number, sizeof number, "%s", grouped(count, ','));
    char *out = next_room();
    snprintf(out, ROOM, "%.30s %s%s", number, thing, strcmp(number, "1") == 0 ? "" : "s");
    return out;
}

const char *roast_say_code(double count) {
    return grouped(count, '_');
}

const char *roast_say_percent(double share) {
    char *out = next_room();
    double percent = share * 100;
    snprintf(out, ROOM, "%.*f%%", percent < 9.95 ? 1 : 0, percent);
    return out;
}

const char *roast_say_times(double ratio) {
    return short_number(ratio, "");
}

const char *roast_say_name(roast_str name) {
    static const char mark[] = "…";
    enum { SHOWN = ROOM - sizeof mark - 1 };
    char *out = next_room(), *at = out;
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
