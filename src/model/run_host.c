/* The texts of a run about its machine. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/number.h"
#include "roast/proc.h"
#include "roast/run.h"

static roast_status set_text(roast_run *run, const char *key, const char *value, roast_error *err) {
    return roast_run_set_meta(run, roast_str_of(key), roast_str_of(value), err);
}

static roast_status set_count(roast_run *run, const char *key, uint64_t value, roast_error *err) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return set_text(run, key, text, err);
}

static roast_status describe_system(roast_run *run, roast_error *err) {
    struct utsname system;
    char kernel[sizeof system.sysname + sizeof system.release + 1];
    if (uname(&system) != 0)
        return ROAST_OK;
    snprintf(kernel, sizeof kernel, "%s %s", system.sysname, system.release);
    ROAST_TRY(set_text(run, "host", system.nodename, err));
    ROAST_TRY(set_text(run, "kernel", kernel, err));
    return set_text(run, "architecture", system.machine, err);
}

static roast_status describe_size(roast_run *run, roast_error *err) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (cores > 0)
        ROAST_TRY(set_count(run, "cores", (uint64_t)cores, err));
    if (pages > 0 && page > 0)
        ROAST_TRY(set_count(run, "memory_bytes", (uint64_t)pages * (uint64_t)page, err));
    return ROAST_OK;
}

static roast_status describe_limits(roast_run *run, roast_error *err) {
    roast_limits limits;
    if (roast_limits_read(NULL, NULL, 0, &limits, NULL) != ROAST_OK)
        return ROAST_OK;
    if (limits.have_memory)
        ROAST_TRY(set_count(run, "cgroup_memory_bytes", limits.memory_bytes, err));
    if (!limits.have_cpu)
        return ROAST_OK;
    char quota[32];
    roast_number_print(quota, sizeof quota, "%g", limits.cpu_cores);
    return set_text(run, "cgroup_cpu_cores", quota, err);
}

roast_status roast_run_describe_host(roast_run *run, roast_error *err) {
    ROAST_TRY(describe_system(run, err));
    ROAST_TRY(describe_size(run, err));
    return describe_limits(run, err);
}
