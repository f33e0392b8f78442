#include "render/json_check.h"

#include <string.h>

#include "base/utf8.h"

enum { MAX_DEPTH = 512 };

/* ---- one token; each of these moves *at behind it, or answers false ---- */

static bool take(const char **at, const char *end, char wanted) {
    if (*at == end || **at != wanted)
        return false;
    ++*at;
    return true;
}

static bool take_word(const char **at, const char *end, const char *word) {
    size_t len = strlen(word);
    if ((size_t)(end - *at) < len || memcmp(*at, word, len) != 0)
        return false;
    *at += len;
    return true;
}

static void skip_blanks(const char **at, const char *end) {
    while (*at < end && strchr(" \t\r\n", **at) != NULL && **at != '\0')
        ++*at;
}

static bool take_digits(const char **at, const char *end) {
    const char *first = *at;
    while (*at < end && **at >= '0' && **at <= '9')
        ++*at;
    return *at > first;
}

static bool take_number(const char **at, const char *end) {
    take(at, end, '-');
    if (!take(at, end, '0') && !take_digits(at, end))
        return false;
    if (take(at, end, '.') && !take_digits(at, end))
        return false;
    if (take(at, end, 'e') || take(at, end, 'E')) {
        if (!take(at, end, '+'))
            take(at, end, '-');
        return take_digits(at, end);
    }
    return true;
}

static bool take_hex(const char **at, const char *end) {
    for (int i = 0; i < 4; i++, ++*at)
        if (*at == end || **at == '\0' || strchr("0123456789abcdefABCDEF", **at) == NULL)
            return false;
    return true;
}

static bool take_string(const char **at, const char *end) {
    if (!take(at, end, '"'))
        return false;
    while (*at < end && **at != '"') {
        char letter = *(*at)++;
        if ((unsigned char)letter < 0x20)
            return false;
        if (letter != '\\')
            continue;
        if (take(at, end, 'u')) {
            if (!take_hex(at, end))
                return false;
        } else if (*at == end || **at == '\0' || strchr("\"\\/bfnrt", *(*at)++) == NULL) {
            return false;
        }
    }
    return take(at, end, '"');
}

static const char *const no_numbers[] = {"NaN", "Infinity", "-Infinity"};
enum { NO_NUMBERS = sizeof no_numbers / sizeof *no_numbers };

static bool take_no_number(const char **at, const char *end) {
    for (int i = 0; i < NO_NUMBERS; i++)
        if (take_word(at, end, no_numbers[i]))
            return true;
    return false;
}

static bool take_scalar(const char **at, const char *end) {
    return take_word(at, end, "null") || take_word(at, end, "true") ||
           take_word(at, end, "false") || take_no_number(at, end) || take_string(at, end) ||
           take_number(at, end);
}

/* ---- the whole ---- */

/* A bit a level: it is an object. */
typedef struct nesting {
    uint64_t objects[MAX_DEPTH / 64];
    unsigned depth;
} nesting;

static bool in_object(const nesting *levels) {
    unsigned level = levels->depth - 1;
    return levels->objects[level / 64] >> level % 64 & 1;
}

static bool descend(nesting *levels, bool object) {
    unsigned level = levels->depth;
    uint64_t bit = UINT64_C(1) << level % 64;
    if (level == MAX_DEPTH)
        return false;
    uint64_t *word = &levels->objects[level / 64];
    *word = object ? *word | bit : *word & ~bit;
    levels->depth++;
    return true;
}

static bool take_key(const char **at, const char *end) {
    skip_blanks(at, end);
    if (!take_string(at, end))
        return false;
    skip_blanks(at, end);
    return take(at, end, ':');
}

/* Behind a value: closes what ends here. *more: another value follows. */
static bool take_ends(const char **at, const char *end, nesting *levels, bool *more) {
    *more = false;
    while (levels->depth > 0) {
        skip_blanks(at, end);
        if (take(at, end, ',')) {
            *more = true;
            return !in_object(levels) || take_key(at, end);
        }
        if (!take(at, end, in_object(levels) ? '}' : ']'))
            return false;
        levels->depth--;
    }
    return true;
}

/* At the beginning of a container: whether its first value follows, or it is empty. */
static bool take_begin(const char **at, const char *end, nesting *levels, bool object,
                       bool *empty) {
    const char *behind = *at;
    skip_blanks(&behind, end);
    *empty = take(&behind, end, object ? '}' : ']');
    if (*empty)
        *at = behind;
    else if (!descend(levels, object) || (object && !take_key(at, end)))
        return false;
    return true;
}

bool roast_json_is_valid(roast_str text) {
    nesting levels = {.depth = 0};
    const char *at = text.data, *end = at + text.len;
    if (at == NULL)
        return false;
    for (bool more = true; more;) {
        skip_blanks(&at, end);
        bool object = take(&at, end, '{'), array = !object && take(&at, end, '['), whole = true;
        if (object || array) {
            if (!take_begin(&at, end, &levels, object, &whole))
                return false;
        } else if (!take_scalar(&at, end)) {
            return false;
        }
        if (whole && !take_ends(&at, end, &levels, &more))
            return false;
    }
    skip_blanks(&at, end);
    return at == end;
}

/* ---- copying ---- */

static void copy_utf8(roast_sink *sink, const char *from, size_t left) {
    const uint8_t *at = (const uint8_t *)from;
    for (size_t len; left > 0; at += len, left -= len) {
        for (len = 0; len < left && at[len] < 0x7f;)
            len++;
        if (len > 0)
            roast_sink_write(sink, at, len);
        else
            len = roast_json_put_character(sink, (roast_str){(const char *)at, left});
    }
}

void roast_json_copy(roast_sink *sink, roast_str text) {
    const char *at = text.data, *end = at + text.len;
    while (at < end) {
        const char *first = at;
        if (*at == '"') {
            take_string(&at, end);
            copy_utf8(sink, first, (size_t)(at - first));
        } else if (take_no_number(&at, end)) {
            roast_sink_puts(sink, "null");
        } else {
            /* A line feed would break what has one line a record. */
            roast_sink_write(sink, strchr("\r\n", *at) != NULL ? " " : at, 1);
            at++;
        }
    }
}
