#include "roast/base.h"

#include <stdatomic.h>
#include <time.h>

/* It also counts the time in which a laptop sleeps. */
#ifdef CLOCK_BOOTTIME
#define STEADY_CLOCK CLOCK_BOOTTIME
#else
#define STEADY_CLOCK CLOCK_MONOTONIC
#endif

/* UTC at the zero of the steady clock; 0: not asked for yet. */
static _Atomic int64_t epoch_ns;

static int64_t read_clock(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

roast_mono roast_mono_now(void) {
    return (roast_mono){read_clock(CLOCK_MONOTONIC)};
}

roast_utc roast_system_now(void) {
    return (roast_utc){read_clock(CLOCK_REALTIME)};
}

static int64_t look_for_epoch(void) {
    int64_t before = read_clock(STEADY_CLOCK);
    roast_utc now = roast_system_now();
    int64_t after = read_clock(STEADY_CLOCK);
    return now.ns - (before + (after - before) / 2);
}

void roast_utc_sync(void) {
    atomic_store(&epoch_ns, look_for_epoch());
}

roast_utc roast_utc_now(void) {
    int64_t epoch = atomic_load_explicit(&epoch_ns, memory_order_relaxed);
    if (epoch == 0) {
        int64_t found = look_for_epoch();
        /* Where another thread was first, its epoch counts. */
        if (atomic_compare_exchange_strong(&epoch_ns, &epoch, found))
            epoch = found;
    }
    return (roast_utc){epoch + read_clock(STEADY_CLOCK)};
}

roast_utc roast_utc_of_system(roast_utc moment) {
    /* More than the difference between two readings of two clocks; a clock set by less does no harm. */
    const int64_t was_set_ns = INT64_C(100000000);
    int64_t ahead = roast_system_now().ns - roast_utc_now().ns;
    return ahead > was_set_ns || ahead < -was_set_ns ? (roast_utc){moment.ns - ahead} : moment;
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
