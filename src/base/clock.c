#include "roast/base.h"

#include <time.h>

static int64_t read_clock(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

roast_mono roast_mono_now(void) {
    return (roast_mono){read_clock(CLOCK_MONOTONIC)};
}

roast_utc roast_utc_now(void) {
    return (roast_utc){read_clock(CLOCK_REALTIME)};
}

int64_t roast_thread_cpu_now(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0)
        return -1;
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t roast_mono_since(roast_mono earlier, roast_mono later) {
    return later.ns - earlier.ns;
}
