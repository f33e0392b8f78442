/* The counters of a machine: the first line of /proc/stat. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "proc/parse.h"
#include "roast/proc.h"

roast_cursor roast_read_text(const char *path, char *buffer, size_t size) {
    size_t have = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && have < size) {
        ssize_t got = read(file, buffer + have, size - have);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        have += got > 0 ? (size_t)got : 0;
    }
    if (file >= 0)
        close(file);
    return (roast_cursor){buffer, buffer + have};
}

/* "cpu  user nice system idle iowait irq softirq steal ...". The times of guests behind them are part of user and
 * nice. Older kernels have fewer numbers. */
roast_status roast_machine_parse(roast_str text, roast_machine *out, roast_error *err) {
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COUNTERS };
    uint64_t ticks, busy = 0, all = 0,
                    tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
    roast_cursor file = {text.data, text.data + text.len}, line;
    int seen = 0;
    if (roast_cursor_line(&file, &line) && roast_cursor_eat(&line, "cpu  ", 5)) {
        for (; seen < COUNTERS && roast_cursor_number(&line, &ticks); seen++) {
            bool idle = seen == IDLE || seen == IOWAIT;
            if (__builtin_mul_overflow(ticks, tick_ns, &ticks) ||
                __builtin_add_overflow(all, ticks, &all))
                break;
            busy += idle ? 0 : ticks;
            if (!roast_cursor_skip(&line, 1))
                line.at = line.end;
        }
    }
    if (seen <= IDLE)
        return roast_error_set(err, ROAST_ECORRUPT, "/proc/stat", -1,
                               "the CPU time of the machine cannot be read");
    *out = (roast_machine){busy, all};
    return ROAST_OK;
}

roast_status roast_machine_read(const char *proc_root, roast_machine *out, roast_error *err) {
    char path[PATH_MAX], text[1024];
    int len = snprintf(path, sizeof path, "%s/stat", proc_root != NULL ? proc_root : "/proc");
    roast_cursor found = {text, text};
    if (len > 0 && (size_t)len < sizeof path)
        found = roast_read_text(path, text, sizeof text);
    if (found.at == found.end)
        return roast_error_set(err, ROAST_ENOTFOUND, "/proc/stat", -1, "%s cannot be read", path);
    return roast_machine_parse((roast_str){found.at, (size_t)(found.end - found.at)}, out, err);
}
