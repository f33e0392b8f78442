#include "proc/procfs.h"

#include "proc/probe.h"

static bool scaled_number(const roast_cursor *cursor, uint64_t factor, uint64_t *out) {
    uint64_t value;
    return roast_cursor_number(cursor, &value) && !__builtin_mul_overflow(value, factor, out);
}

/* size resident shared ... */
bool roast_procfs_rss(roast_cursor text, uint64_t page_bytes, uint64_t *out) {
    uint64_t size;
    /* A process that has ended, and a thread of the kernel, have no memory: all zeros. */
    if (!roast_cursor_number(&text, &size) || size == 0)
        return false;
    while (*text.at != ' ' && text.at + 1 < text.end)
        text.at++;
    text.at++;
    return scaled_number(&text, page_bytes, out);
}

void roast_procfs_statm(roast_cursor text, uint64_t page_bytes, roast_reading *out) {
    uint64_t resident;
    if (roast_procfs_rss(text, page_bytes, &resident))
        ROAST_READING_SET(out, rss_bytes, resident);
}

bool roast_procfs_after_name(roast_cursor *text) {
    const char *at = text->end;
    while (at > text->at && at[-1] != ')')
        at--;
    if (at == text->at)
        return false;
    text->at = at;
    return roast_cursor_skip(text, 1); /* at field 3, the state */
}

void roast_procfs_stat(roast_cursor text, uint64_t tick_ns, unsigned groups, roast_reading *out) {
    uint64_t value;
    if (!roast_procfs_after_name(&text))
        return;
    if (groups & ROAST_READ_USAGE) {
        if (roast_cursor_skip(&text, 10 - 3) && roast_cursor_number(&text, &value))
            ROAST_READING_SET(out, minor_faults, value);
        if (roast_cursor_skip(&text, 12 - 10) && roast_cursor_number(&text, &value))
            ROAST_READING_SET(out, major_faults, value);
        if (roast_cursor_skip(&text, 14 - 12) && scaled_number(&text, tick_ns, &value))
            ROAST_READING_SET(out, cpu_user_ns, value);
        if (roast_cursor_skip(&text, 15 - 14) && scaled_number(&text, tick_ns, &value))
            ROAST_READING_SET(out, cpu_system_ns, value);
    }
    if (groups & ROAST_READ_DELAY) {
        unsigned field = groups & ROAST_READ_USAGE ? 15 : 3;
        if (roast_cursor_skip(&text, 42 - field) && scaled_number(&text, tick_ns, &value))
            ROAST_READING_SET(out, io_wait_ns, value);
    }
}

/* run wait timeslices */
void roast_procfs_schedstat(roast_cursor text, roast_reading *out) {
    uint64_t run, wait, slices;
    if (!roast_cursor_number(&text, &run) || !roast_cursor_skip(&text, 1) ||
        !roast_cursor_number(&text, &wait))
        return;
    /* A kernel that does not keep it writes zeros; a thread that can be asked has run at least
     * once. */
    bool kept =
        run != 0 || wait != 0 ||
        !(roast_cursor_skip(&text, 1) && roast_cursor_number(&text, &slices) && slices == 0);
    if (kept)
        ROAST_READING_SET(out, runqueue_wait_ns, wait);
}

/* True if the line is "key:<blanks>number"; the key with its colon. */
static bool line_value(roast_cursor line, const char *key, size_t len, uint64_t factor,
                       uint64_t *out) {
    if (!roast_cursor_eat(&line, key, len))
        return false;
    roast_cursor_blanks(&line);
    return scaled_number(&line, factor, out);
}
#define LINE_VALUE(line, key, factor, out) line_value(line, key, sizeof key - 1, factor, out)

void roast_procfs_status(roast_cursor text, bool thread, unsigned groups, roast_reading *out) {
    roast_cursor line;
    uint64_t value;
    while (roast_cursor_line(&text, &line)) {
        if ((groups & ROAST_READ_PEAK) && LINE_VALUE(line, "VmHWM:", 1024, &value))
            ROAST_READING_SET(out, peak_rss_bytes, value);
        if (!thread || !(groups & ROAST_READ_USAGE))
            continue;
        if (LINE_VALUE(line, "voluntary_ctxt_switches:", 1, &value))
            ROAST_READING_SET(out, voluntary_switches, value);
        else if (LINE_VALUE(line, "nonvoluntary_ctxt_switches:", 1, &value))
            ROAST_READING_SET(out, involuntary_switches, value);
    }
}

static const struct io_key {
    const char *text;
    size_t len, offset;
    uint32_t have;
} io_keys[] = {
#define KEY(text, field)                                                                           \
    { text, sizeof text - 1, offsetof(roast_reading, field), ROAST_HAVE(field) }
    KEY("rchar:", read_chars),  KEY("wchar:", write_chars),     KEY("syscr:", read_calls),
    KEY("syscw:", write_calls), KEY("read_bytes:", read_bytes), KEY("write_bytes:", write_bytes),
#undef KEY
};
enum { IO_KEYS = sizeof io_keys / sizeof *io_keys };

/* The lines come in the order of the table, so the next key mostly fits at once. */
void roast_procfs_io(roast_cursor text, roast_reading *out) {
    roast_cursor line;
    uint64_t value;
    for (size_t next = 0; roast_cursor_line(&text, &line); next++)
        for (size_t tried = 0; tried < IO_KEYS; tried++, next++) {
            const struct io_key *key = &io_keys[next % IO_KEYS];
            if (!line_value(line, key->text, key->len, 1, &value))
                continue;
            memcpy((char *)out + key->offset, &value, sizeof value);
            out->have |= key->have;
            break;
        }
}
