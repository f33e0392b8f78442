/* The backend for a POSIX system without a /proc that we know: getrusage alone. There is no portable source for
 * the present memory, the run queue, block I/O and calls. */
#include "proc/probe.h"

#include <sys/resource.h>

const char *roast_probe_backend(void) {
    return "getrusage";
}

void roast_probe_read(unsigned groups, roast_reading *out) {
#ifdef RUSAGE_THREAD
    roast_rusage_fill(RUSAGE_THREAD, groups, out);
#else
    roast_rusage_fill(RUSAGE_SELF, groups & ROAST_READ_PEAK, out);
#endif
}

int roast_rss_open(const char *root) {
    (void)root;
    return -1;
}

bool roast_rss_read(int file, uint64_t *rss_bytes) {
    (void)file;
    (void)rss_bytes;
    return false;
}
