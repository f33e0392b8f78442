/* cgroup v2: the group of a process, and the tightest limits on the path from it to the root. */
#include "roast/proc.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "proc/parse.h"

static const char where[] = "roast_limits_read";

/* A path longer than the kernel takes cannot exist. */
static bool join(char path[PATH_MAX], const char *a, const char *b, const char *c) {
    int len = snprintf(path, PATH_MAX, "%s/%s/%s", a, b, c);
    return len > 0 && len < PATH_MAX;
}

/* The line "0::/path" of /proc/<pid>/cgroup, without its line end. The others are of version 1. */
static bool group_path(roast_cursor text, roast_str *out) {
    roast_cursor line;
    while (roast_cursor_line(&text, &line)) {
        if (!roast_cursor_eat(&line, "0::", 3) || line.at == line.end || *line.at != '/')
            continue;
        if (line.end[-1] != '\n')
            return false; /* cut short: it might name another group */
        *out = (roast_str){line.at, (size_t)(line.end - line.at) - 1};
        return memchr(out->data, '\0', out->len) == NULL;
    }
    return false;
}

/* "/..": the group lies outside of what this namespace shows. */
static bool climbs(const char *path) {
    for (const char *at = strstr(path, "/.."); at != NULL; at = strstr(at + 1, "/.."))
        if (at[3] == '/' || at[3] == '\0')
            return true;
    return false;
}

static void tighten_memory(const char *path, roast_limits *limits) {
    char buffer[64];
    uint64_t bytes;
    roast_cursor text = roast_read_text(path, buffer, sizeof buffer);
    /* "max" is no number, and no process lives within 0 bytes. */
    if (!roast_cursor_number(&text, &bytes) || bytes == 0)
        return;
    if (!limits->have_memory || bytes < limits->memory_bytes)
        limits->memory_bytes = bytes;
    limits->have_memory = true;
}

/* "quota period" in microseconds, or "max period". */
static void tighten_cpu(const char *path, roast_limits *limits) {
    char buffer[64];
    uint64_t quota, period;
    roast_cursor text = roast_read_text(path, buffer, sizeof buffer);
    if (!roast_cursor_number(&text, &quota) || quota == 0 || !roast_cursor_skip(&text, 1) ||
        !roast_cursor_number(&text, &period) || period == 0)
        return;
    double cores = (double)quota / (double)period;
    if (!limits->have_cpu || cores < limits->cpu_cores)
        limits->cpu_cores = cores;
    limits->have_cpu = true;
}

/* The limits at `group` ("" is the root) and all above it. `group` is used up. */
static void climb(const char *cgroup_root, char *group, roast_limits *limits) {
    char path[PATH_MAX];
    for (;;) {
        if (join(path, cgroup_root, group, "memory.max"))
            tighten_memory(path, limits);
        if (join(path, cgroup_root, group, "cpu.max"))
            tighten_cpu(path, limits);
        char *slash = strrchr(group, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

static bool exists(const char *a, const char *b, const char *c) {
    char path[PATH_MAX];
    struct stat status;
    return join(path, a, b, c) && stat(path, &status) == 0;
}

/* On a hybrid system version 2 is mounted in a folder among those of version 1. */
static bool is_hybrid(const char *cgroup_root) {
    return !exists(cgroup_root, ".", "cgroup.controllers") &&
           exists(cgroup_root, "unified", "cgroup.controllers");
}

roast_status roast_limits_read(const char *proc_root, const char *cgroup_root, int64_t pid,
                               roast_limits *out, roast_error *err) {
    char path[PATH_MAX], hybrid_root[PATH_MAX], text[16384], process[24] = "self";
    if (pid < 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "%lld is no process", (long long)pid);
    proc_root = proc_root != NULL ? proc_root : "/proc";
    cgroup_root = cgroup_root != NULL ? cgroup_root : "/sys/fs/cgroup";
    if (pid > 0)
        snprintf(process, sizeof process, "%lld", (long long)pid);
    if (!join(path, proc_root, process, "cgroup"))
        return roast_error_set(err, ROAST_ELIMIT, where, -1, "the path of the root is too long");
    if (pid > 0 && !exists(proc_root, process, "."))
        return roast_error_set(err, ROAST_ENOTFOUND, where, -1, "%s/%s: no such process", proc_root,
                               process);
    roast_limits limits = {0};
    roast_str group;
    if (group_path(roast_read_text(path, text, sizeof text), &group) && group.len < sizeof path) {
        memcpy(path, group.data, group.len);
        path[group.len] = '\0';
        if (climbs(path) || path[1] == '\0')
            path[0] = '\0';
        if (is_hybrid(cgroup_root) && join(hybrid_root, cgroup_root, "unified", "."))
            cgroup_root = hybrid_root;
        climb(cgroup_root, path, &limits);
    }
    *out = limits;
    return ROAST_OK;
}
