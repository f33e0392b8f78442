/* Numbers in the kernel's text files, without a copy and without the C library's locale. */
#ifndef ROAST_PROC_PARSE_H
#define ROAST_PROC_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The rest of a buffer. */
typedef struct roast_cursor {
    const char *at, *end;
} roast_cursor;

/* The contents of a file, at most `size` bytes; empty if it cannot be read. */
roast_cursor roast_read_text(const char *path, char *buffer, size_t size);

/* The number at the cursor, which does not move. It must be followed by a blank or a line end:
 * one that runs into the end of the buffer may have lost digits. False also if it does not fit
 * 64 bits. */
static inline bool roast_cursor_number(const roast_cursor *cursor, uint64_t *out) {
    const char *at = cursor->at;
    uint64_t value = 0;
    for (; at < cursor->end; at++) {
        unsigned digit = (unsigned)(unsigned char)*at - '0';
        if (digit > 9)
            break;
        if (value >= UINT64_MAX / 10 && (value > UINT64_MAX / 10 || digit > UINT64_MAX % 10))
            return false;
        value = value * 10 + digit;
    }
    if (at == cursor->at || at == cursor->end || (*at != ' ' && *at != '\n' && *at != '\t'))
        return false;
    *out = value;
    return true;
}

/* Moves over `count` fields that are parted by single blanks. */
static inline bool roast_cursor_skip(roast_cursor *cursor, unsigned count) {
    for (; count > 0; count--) {
        const char *blank = memchr(cursor->at, ' ', (size_t)(cursor->end - cursor->at));
        if (blank == NULL)
            return false;
        cursor->at = blank + 1;
    }
    return true;
}

/* Takes the next line, its line end included; a last one without it is taken too. */
static inline bool roast_cursor_line(roast_cursor *cursor, roast_cursor *line) {
    if (cursor->at == cursor->end)
        return false;
    const char *end = memchr(cursor->at, '\n', (size_t)(cursor->end - cursor->at));
    *line = (roast_cursor){cursor->at, end != NULL ? end + 1 : cursor->end};
    cursor->at = line->end;
    return true;
}

/* Skips `text` if it is next. */
static inline bool roast_cursor_eat(roast_cursor *cursor, const char *text, size_t len) {
    if ((size_t)(cursor->end - cursor->at) < len || memcmp(cursor->at, text, len) != 0)
        return false;
    cursor->at += len;
    return true;
}

#endif
