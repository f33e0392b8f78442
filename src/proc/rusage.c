#include "proc/probe.h"

#ifdef __APPLE__
enum { MAXRSS_UNIT = 1 };
#else
enum { MAXRSS_UNIT = 1024 };
#endif

static uint64_t nanoseconds(struct timeval time) {
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_usec * 1000;
}

void roast_rusage_fill(int who, unsigned groups, roast_reading *out) {
    struct rusage usage;
    if (getrusage(who, &usage) != 0)
        return;
    if ((groups & ROAST_READ_PEAK) && usage.ru_maxrss > 0)
        ROAST_READING_SET(out, peak_rss_bytes, (uint64_t)usage.ru_maxrss * MAXRSS_UNIT);
    if (!(groups & ROAST_READ_USAGE))
        return;
    ROAST_READING_SET(out, cpu_user_ns, nanoseconds(usage.ru_utime));
    ROAST_READING_SET(out, cpu_system_ns, nanoseconds(usage.ru_stime));
    ROAST_READING_SET(out, minor_faults, (uint64_t)usage.ru_minflt);
    ROAST_READING_SET(out, major_faults, (uint64_t)usage.ru_majflt);
    ROAST_READING_SET(out, voluntary_switches, (uint64_t)usage.ru_nvcsw);
    ROAST_READING_SET(out, involuntary_switches, (uint64_t)usage.ru_nivcsw);
}
