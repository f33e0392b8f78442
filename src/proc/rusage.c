#include "proc/probe.h"

#include <time.h>

#ifdef __APPLE__
enum { MAXRSS_UNIT = 1 };
#else
enum { MAXRSS_UNIT = 1024 };
#endif

static uint64_t nanoseconds(struct timeval time) {
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_usec * 1000;
}

bool roast_rusage_call(int who, unsigned groups, roast_reading *out) {
    struct rusage usage;
    if (getrusage(who, &usage) != 0)
        return false;
    if ((groups & ROAST_READ_PEAK) && usage.ru_maxrss > 0)
        ROAST_READING_SET(out, peak_rss_bytes, (uint64_t)usage.ru_maxrss * MAXRSS_UNIT);
    if (!(groups & ROAST_READ_USAGE))
        return true;
    ROAST_READING_SET(out, cpu_user_ns, nanoseconds(usage.ru_utime));
    ROAST_READING_SET(out, cpu_system_ns, nanoseconds(usage.ru_stime));
    ROAST_READING_SET(out, minor_faults, (uint64_t)usage.ru_minflt);
    ROAST_READING_SET(out, major_faults, (uint64_t)usage.ru_majflt);
    ROAST_READING_SET(out, voluntary_switches, (uint64_t)usage.ru_nvcsw);
    ROAST_READING_SET(out, involuntary_switches, (uint64_t)usage.ru_nivcsw);
    return true;
}

bool roast_rusage_clock(int who, uint64_t *cpu_ns) {
    clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
#ifdef RUSAGE_THREAD
    if (who == RUSAGE_THREAD)
        clock = CLOCK_THREAD_CPUTIME_ID;
#endif
    (void)who;
    struct timespec exact;
    if (clock_gettime(clock, &exact) != 0)
        return false;
    *cpu_ns = (uint64_t)exact.tv_sec * UINT64_C(1000000000) + (uint64_t)exact.tv_nsec;
    return true;
}

/* getrusage brings its CPU times up to date at a tick of the scheduler, some milliseconds apart: longer
 * than many a chunk. The clock is exact; getrusage then only says how much of it was the kernel's. */
void roast_rusage_part(uint64_t cpu_ns, roast_reading *out) {
    if (out->cpu_system_ns > cpu_ns)
        out->cpu_system_ns = cpu_ns;
    out->cpu_user_ns = cpu_ns - out->cpu_system_ns;
}

void roast_rusage_fill(int who, unsigned groups, roast_reading *out) {
    uint64_t cpu_ns;
    if (roast_rusage_call(who, groups, out) && (groups & ROAST_READ_USAGE) &&
        roast_rusage_clock(who, &cpu_ns))
        roast_rusage_part(cpu_ns, out);
}
