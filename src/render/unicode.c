#include "render/unicode.h"

#include "base/utf8.h"
#include "roast/grid.h"

typedef struct width_range {
    uint32_t first, last;
} width_range;

#include "render/width_ranges.def"

static bool is_in(const width_range *ranges, size_t count, uint32_t code) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (code > ranges[middle].last)
            low = middle + 1;
        else if (code < ranges[middle].first)
            high = middle;
        else
            return true;
    }
    return false;
}

unsigned roast_code_width(uint32_t code) {
    if (code < 0x300)
        return 1;
    if (is_in(no_column, sizeof no_column / sizeof *no_column, code))
        return 0;
    return is_in(two_columns, sizeof two_columns / sizeof *two_columns, code) ? 2 : 1;
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

size_t roast_text_tail(roast_str text, size_t columns, size_t *taken) {
    size_t skip = roast_text_width(text), at = 0;
    skip = skip > columns ? skip - columns : 0;
    size_t skipped = 0;
    while (at < text.len) {
        uint32_t code;
        size_t len = roast_utf8_next(text, at, &code);
        unsigned width = roast_code_width(code);
        /* A combining character goes where the one before it went. */
        if (skipped >= skip && width > 0)
            break;
        skipped += width;
        at += len;
    }
    if (taken != NULL)
        *taken = roast_text_width((roast_str){text.data + at, text.len - at});
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

/* ---- what is safe to show ---- */

bool roast_code_is_unsafe(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0x61c;
}

static void put_escaped(roast_sink *sink, uint32_t code) {
    static const char known[] = "\aa\bb\tt\nn\vv\ff\rr";
    for (size_t i = 0; i + 1 < sizeof known; i += 2) {
        if ((uint32_t)known[i] == code) {
            roast_sink_printf(sink, "\\%c", known[i + 1]);
            return;
        }
    }
    roast_sink_printf(sink, code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code);
}

void roast_text_put_clean(roast_sink *sink, roast_str text) {
    size_t clean = 0; /* bytes before this one are written */
    for (size_t at = 0; at < text.len;) {
        uint32_t code;
        size_t len = roast_utf8_next(text, at, &code);
        if (code == ROAST_BROKEN || roast_code_is_unsafe(code)) {
            roast_sink_write(sink, text.data + clean, at - clean);
            if (code == ROAST_BROKEN)
                roast_sink_puts(sink, ROAST_UTF8_REPLACEMENT);
            else
                put_escaped(sink, code);
            clean = at + len;
        }
        at += len;
    }
    roast_sink_write(sink, text.data + clean, text.len - clean);
}
