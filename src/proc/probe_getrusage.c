/* The backend for a POSIX system without a /proc that we know: this process, by getrusage. The
 * memory in use now, the run queue, block I/O and calls are not told by anything portable. */
#include "proc/probe.h"

#include "proc/process.h"

const char *roast_probe_backend(void) {
    return "getrusage";
}

roast_status roast_probe_attach(roast_probe *probe, roast_error *err) {
    if (probe->root != NULL || probe->pid != 0 || probe->tid > 0)
        return roast_error_set(err, ROAST_EUNSUPPORTED, "roast_probe_new", -1,
                               "built with getrusage: only this process and the calling thread");
    return ROAST_OK;
}

void roast_probe_detach(roast_probe *probe) {
    (void)probe;
}

static void fill_thread(const roast_probe *probe, roast_reading *out) {
#ifdef RUSAGE_THREAD
    if (probe->owner == roast_thread_serial())
        roast_rusage_fill(RUSAGE_THREAD, ROAST_READ_USAGE, out);
#else
    (void)probe;
    (void)out;
#endif
}

void roast_probe_fill(roast_probe *probe, unsigned groups, roast_reading_end end,
                      roast_reading *out) {
    (void)end; /* nothing is read besides */
    bool thread = probe->tid == -1;
    unsigned of_process = groups & (thread ? ROAST_READ_PEAK : ROAST_READ_PEAK | ROAST_READ_USAGE);
    if (of_process != 0)
        roast_rusage_fill(RUSAGE_SELF, of_process, out);
    if (thread && (groups & ROAST_READ_USAGE))
        fill_thread(probe, out);
}

bool roast_probe_fill_rss(roast_probe *probe, uint64_t *rss_bytes) {
    (void)probe;
    (void)rss_bytes;
    return false;
}
