#include "proc/probe.h"

#include <sys/resource.h>
#include <time.h>

#ifdef __APPLE__
enum { MAXRSS_UNIT = 1 };
#else
enum { MAXRSS_UNIT = 1024 };
#endif

static uint64_t exact_cpu_ns(int who) {
    clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
#ifdef RUSAGE_THREAD
    if (who == RUSAGE_THREAD)
        clock = CLOCK_THREAD_CPUTIME_ID;
#endif
    (void)who;
    struct timespec exact;
    if (clock_gettime(clock, &exact) != 0)
        return 0;
    return (uint64_t)exact.tv_sec * UINT64_C(1000000000) + (uint64_t)exact.tv_nsec;
}

static uint64_t nanoseconds(struct timeval time) {
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_usec * 1000;
}

/* getrusage brings its CPU times up to date at a tick of the scheduler, some milliseconds apart: longer than many a
 * chunk. The clock is exact; getrusage then only says how much of it was the kernel's. */
static void fill_cpu(int who, const struct rusage *usage, roast_reading *out) {
    uint64_t cpu_ns = exact_cpu_ns(who), system_ns = nanoseconds(usage->ru_stime);
    if (cpu_ns == 0)
        cpu_ns = nanoseconds(usage->ru_utime) + system_ns;
    if (system_ns > cpu_ns)
        system_ns = cpu_ns;
    ROAST_READING_SET(out, cpu_user_ns, cpu_ns - system_ns);
    ROAST_READING_SET(out, cpu_system_ns, system_ns);
}

void roast_rusage_fill(int who, unsigned groups, roast_reading *out) {
    struct rusage usage;
    if (!(groups & (ROAST_READ_PEAK | ROAST_READ_USAGE)) || getrusage(who, &usage) != 0)
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
