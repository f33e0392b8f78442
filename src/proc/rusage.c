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

/* getrusage brings its CPU times up to date at a tick of the scheduler, some milliseconds apart: longer
 * than many a chunk. The clock is exact; getrusage then only says how much of it was the kernel's. */
static void fill_cpu(int who, const struct rusage *usage, roast_reading *out) {
    uint64_t user = nanoseconds(usage->ru_utime), system = nanoseconds(usage->ru_stime);
    clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
#ifdef RUSAGE_THREAD
    if (who == RUSAGE_THREAD)
        clock = CLOCK_THREAD_CPUTIME_ID;
#endif
    struct timespec exact;
    if (clock_gettime(clock, &exact) == 0) {
        uint64_t total = (uint64_t)exact.tv_sec * UINT64_C(1000000000) + (uint64_t)exact.tv_nsec;
        if (system > total)
            system = total;
        user = total - system;
    }
    (void)who;
    ROAST_READING_SET(out, cpu_user_ns, user);
    ROAST_READING_SET(out, cpu_system_ns, system);
}

void roast_rusage_fill(int who, unsigned groups, roast_reading *out) {
    struct rusage usage;
    if (getrusage(who, &usage) != 0)
        return;
    if ((groups & ROAST_READ_PEAK) && usage.ru_maxrss > 0)
        ROAST_READING_SET(out, peak_rss_bytes, (uint64_t)usage.ru_maxrss * MAXRSS_UNIT);
    if (!(groups & ROAST_READ_USAGE))
        return;
    fill_cpu(who, &usage, out);
    ROAST_READING_SET(out, minor_faults, (uint64_t)usage.ru_minflt);
    ROAST_READING_SET(out, major_faults, (uint64_t)usage.ru_majflt);
    ROAST_READING_SET(out, voluntary_switches, (uint64_t)usage.ru_nvcsw);
    ROAST_READING_SET(out, involuntary_switches, (uint64_t)usage.ru_nivcsw);
}
