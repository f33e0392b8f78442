#include "proc/procfs.h"

#include <stddef.h>
#include <unistd.h>

#include "proc/probe.h"

uint64_t roast_tick_ns(void) {
    return UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
}

static bool scaled_number(const roast_cursor *cursor, uint64_t factor, uint64_t *out) {
    uint64_t value;
    return roast_cursor_number(cursor, &value) && !__builtin_mul_overflow(value, factor, out);
}

/* size resident shared ... */
void roast_procfs_statm(roast_cursor text, roast_reading *out) {
    uint64_t size, resident;
    /* A process that has ended, and a thread of the kernel, have no memory: all zeros. */
    if (roast_cursor_number(&text, &size) && size != 0 && roast_cursor_skip(&text, 1) &&
        scaled_number(&text, (uint64_t)sysconf(_SC_PAGESIZE), &resident))
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

bool roast_procfs_cpu(roast_cursor text, uint64_t *cpu_ns) {
    uint64_t user, system;
    return roast_procfs_after_name(&text) && roast_cursor_skip(&text, 14 - 3) &&
           scaled_number(&text, roast_tick_ns(), &user) && roast_cursor_skip(&text, 1) &&
           scaled_number(&text, roast_tick_ns(), &system) &&
           !__builtin_add_overflow(user, system, cpu_ns);
}

void roast_procfs_delay(roast_cursor text, roast_reading *out) {
    uint64_t value;
    if (roast_procfs_after_name(&text) && roast_cursor_skip(&text, 42 - 3) &&
        scaled_number(&text, roast_tick_ns(), &value))
        ROAST_READING_SET(out, io_wait_ns, value);
}

/* run wait timeslices */
void roast_procfs_schedstat(roast_cursor text, roast_reading *out) {
    uint64_t run, wait, slices;
    if (!roast_cursor_number(&text, &run) || !roast_cursor_skip(&text, 1) ||
        !roast_cursor_number(&text, &wait))
        return;
    /* A kernel that does not keep it writes zeros; a thread that can be asked has run at least once. */
    bool kept =
        run != 0 || wait != 0 ||
        !(roast_cursor_skip(&text, 1) && roast_cursor_number(&text, &slices) && slices == 0);
    if (kept)
        ROAST_READING_SET(out, runqueue_wait_ns, wait);
}

void roast_procfs_io(roast_cursor text, roast_reading *out) {
    roast_cursor line;
    while (roast_cursor_line(&text, &line)) {
        uint64_t value;
#define KEY(name, field)                                                                           \
    if (roast_cursor_eat(&line, name ": ", sizeof name ": " - 1)) {                                \
        if (roast_cursor_number(&line, &value))                                                    \
            ROAST_READING_SET(out, field, value);                                                  \
        continue;                                                                                  \
    }
        KEY("rchar", read_chars)
        KEY("wchar", write_chars)
        KEY("syscr", read_calls)
        KEY("syscw", write_calls)
        KEY("read_bytes", read_bytes)
        KEY("write_bytes", write_bytes)
#undef KEY
    }
}
