#include "render/unicode.h"

#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wchar.h>

#include "base/utf8.h"
#include "roast/grid.h"

static locale_t utf8_locale;

static void make_locale(void) {
    utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* The C library knows the widths, in a locale of UTF-8 alone; the one of the program stays as it is. Where there is no
 * such locale every character counts as one column. */
unsigned roast_code_width(uint32_t code) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (code < 0x300 || code > 0x10ffff)
        return 1;
    pthread_once(&once, make_locale);
    if (utf8_locale == (locale_t)0)
        return 1;
    locale_t before = uselocale(utf8_locale);
    int width = wcwidth((wchar_t)code);
    uselocale(before);
    return width >= 0 ? (unsigned)width : 1;
}

size_t roast_utf8_next(roast_str text, size_t at, uint32_t *code) {
    const uint8_t *bytes = (const uint8_t *)text.data + at;
    size_t len;
    if (!roast_utf8_character(bytes, text.len - at, &len)) {
        *code = ROAST_BROKEN;
        return len;
    }
    static const uint8_t first[] = {0, 0x7f, 0x1f, 0x0f, 0x07}; /* bits that a first byte gives */
    uint32_t value = bytes[0] & first[len];
    for (size_t i = 1; i < len; i++)
        value = value << 6 | (bytes[i] & 0x3f);
    *code = value;
    return len;
}

size_t roast_text_head(roast_str text, size_t columns, size_t *taken) {
    size_t at = 0, used = 0;
    while (at < text.len) {
        uint32_t code;
        size_t len = roast_utf8_next(text, at, &code);
        unsigned width = roast_code_width(code);
        if (used + width > columns)
            break;
        used += width;
        at += len;
    }
    if (taken != NULL)
        *taken = used;
    return at;
}

size_t roast_text_width(roast_str text) {
    size_t width = 0;
    for (size_t at = 0; at < text.len;) {
        uint32_t code;
        at += roast_utf8_next(text, at, &code);
        width += roast_code_width(code);
    }
    return width;
}

bool roast_code_is_unsafe(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0x61c;
}

void roast_text_put_by(roast_sink *sink, roast_str text, const char *special,
                       roast_character_writer put) {
    size_t plain = 0; /* bytes before this one are written */
    for (size_t at = 0, len; at < text.len; at += len) {
        uint32_t code = (unsigned char)text.data[at];
        len = 1;
        if (code >= 0x20 && code < 0x7f && strchr(special, (int)code) == NULL)
            continue;
        if (code >= 0x7f)
            len = roast_utf8_next(text, at, &code);
        roast_sink_write(sink, text.data + plain, at - plain);
        put(sink, code, (roast_str){text.data + at, len});
        plain = at + len;
    }
    roast_sink_write(sink, text.data + plain, text.len - plain);
}

/* ---- characters that are safe to show ---- */

void roast_put_clean_code(roast_sink *sink, uint32_t code, roast_str bytes) {
    static const char known[] = "\aa\bb\tt\nn\vv\ff\rr";
    const char *letter = code != 0 && code < 0x20 ? strchr(known, (int)code) : NULL;
    if (code == ROAST_BROKEN)
        roast_sink_puts(sink, ROAST_UTF8_REPLACEMENT);
    else if (!roast_code_is_unsafe(code))
        roast_sink_str(sink, bytes);
    else if (letter != NULL)
        roast_sink_printf(sink, "\\%c", letter[1]);
    else
        roast_sink_printf(sink, code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code);
}

void roast_text_put_clean(roast_sink *sink, roast_str text) {
    roast_text_put_by(sink, text, "", roast_put_clean_code);
}
