/* The tree on Linux: one walk over the names in /proc, and `stat` of those that are new. */
#include "proc/proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "proc/procfs.h"

/* ---- files of a process ---- */

/* The contents of a file, at most `size` bytes; empty with errno set if it cannot be read. */
static roast_cursor read_file(const roast_proctree *tree, int64_t pid, const char *name,
                              char *buffer, size_t size) {
    char path[48];
    snprintf(path, sizeof path, "%lld/%s", (long long)pid, name);
    int file = openat(tree->directory, path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? pread(file, buffer, size, 0) : -1;
    int saved = errno;
    if (file >= 0)
        close(file);
    errno = saved;
    return (roast_cursor){buffer, buffer + (got > 0 ? got : 0)};
}

/* pid (name) state parent ... start: fields 3, 4 and 22, counted from behind the name. False: there is no
 * such process, or it has ended. */
static bool read_stat(const roast_proctree *tree, roast_listed *listed) {
    char buffer[2048];
    uint64_t parent;
    errno = 0;
    roast_cursor text = read_file(tree, listed->pid, "stat", buffer, sizeof buffer);
    if (text.at == text.end)
        return errno == EACCES || errno == EPERM; /* of another user, so not a descendant */
    if (!roast_procfs_after_name(&text) || text.at == text.end || strchr("ZXx", *text.at) != NULL)
        return false;
    if (!roast_cursor_skip(&text, 1) || !roast_cursor_number(&text, &parent) ||
        parent > INT64_MAX || !roast_cursor_skip(&text, 22 - 4) ||
        !roast_cursor_number(&text, &listed->start_ticks))
        return false;
    listed->parent = (int64_t)parent;
    return true;
}

/* ---- life ---- */

/* The number of this process as the root counts: /proc may be that of another pid namespace. */
static int64_t own_number(const roast_proctree *tree) {
    char text[24];
    uint64_t number;
    ssize_t len = readlinkat(tree->directory, "self", text, sizeof text - 1);
    if (len <= 0)
        return getpid();
    text[len] = '\n';
    roast_cursor cursor = {text, text + len + 1};
    return roast_cursor_number(&cursor, &number) && number <= INT64_MAX ? (int64_t)number
                                                                        : getpid();
}

roast_status roast_proctree_attach(roast_proctree *tree, roast_error *err) {
    static const char where[] = "roast_proctree_new";
    const char *root = tree->root != NULL ? tree->root : "/proc";
    tree->directory = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tree->directory < 0)
        return roast_error_set(err, ROAST_EIO, where, -1, "%s: %s", root, strerror(errno));
    int64_t own = tree->root == NULL ? own_number(tree) : 0;
    tree->clocks = own != 0 && own == getpid();
    if (tree->pid == 0)
        tree->pid = own;
    roast_listed listed = {.pid = tree->pid};
    if (!read_stat(tree, &listed))
        return roast_error_set(err, ROAST_ENOTFOUND, where, -1, "%s/%lld: no such process", root,
                               (long long)tree->pid);
    return ROAST_OK;
}

void roast_proctree_detach(roast_proctree *tree) {
    if (tree->directory >= 0)
        close(tree->directory);
    tree->directory = -1;
}

/* ---- the list ---- */

/* Read with the system call; the C library's opendir would allocate without our hook. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

static bool number_of(const char *name, int64_t *out) {
    int64_t value = 0;
    if (*name < '1' || *name > '9')
        return false;
    for (; *name >= '0' && *name <= '9'; name++) {
        if (value > (INT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (*name - '0');
    }
    *out = value;
    return *name == '\0';
}

static roast_status add_names(roast_listing *listing, const char *buffer, size_t len,
                              roast_error *err) {
    for (size_t at = 0; at < len;) {
        const struct entry *entry = (const struct entry *)(const void *)(buffer + at);
        int64_t pid;
        at += entry->size;
        if (!number_of(entry->name, &pid))
            continue;
        if (!roast_listing_grow(listing))
            return roast_error_set(err, ROAST_ENOMEM, "roast_proctree_look", -1,
                                   "no memory for the processes");
        /* procfs gives 1 where it could not make the inode */
        listing->at[listing->count++] =
            (roast_listed){.pid = pid, .inode = entry->inode > 1 ? entry->inode : 0, .fresh = true};
    }
    return ROAST_OK;
}

static int compare_listed(const void *a, const void *b) {
    int64_t first = ((const roast_listed *)a)->pid;
    int64_t second = ((const roast_listed *)b)->pid;
    return (first > second) - (first < second);
}

static roast_status list_names(roast_proctree *tree, roast_listing *listing, roast_error *err) {
    _Alignas(struct entry) char buffer[16384];
    long got;
    listing->count = 0;
    if (lseek(tree->directory, 0, SEEK_SET) < 0)
        return roast_error_set(err, ROAST_EIO, "roast_proctree_look", -1, "%s", strerror(errno));
    while ((got = syscall(SYS_getdents64, tree->directory, buffer, sizeof buffer)) > 0)
        ROAST_TRY(add_names(listing, buffer, (size_t)got, err));
    if (got < 0)
        return roast_error_set(err, ROAST_EIO, "roast_proctree_look", -1, "%s", strerror(errno));
    /* procfs lists by number; a folder of files does not */
    for (size_t i = 1; i < listing->count; i++) {
        if (listing->at[i - 1].pid > listing->at[i].pid) {
            qsort(listing->at, listing->count, sizeof *listing->at, compare_listed);
            break;
        }
    }
    return ROAST_OK;
}

/* Takes over what is known of the process, or reads it. False: it has ended meanwhile. */
static bool complete(const roast_proctree *tree, roast_listed *listed, const roast_listed *known) {
    if (known != NULL && known->inode == listed->inode && listed->inode != 0) {
        *listed = *known;
        listed->fresh = false;
        return true;
    }
    if (!read_stat(tree, listed))
        return false;
    /* The kernel may forget the inode of a process that lives. */
    if (known != NULL && known->start_ticks == listed->start_ticks && listed->start_ticks != 0) {
        listed->parent = known->parent;
        listed->member = known->member;
        listed->fresh = false;
    }
    return true;
}

roast_status roast_proctree_list(roast_proctree *tree, roast_error *err) {
    roast_listing *listing = &tree->spare;
    const roast_listing *before = &tree->listing;
    ROAST_TRY(list_names(tree, listing, err));
    size_t kept = 0, at = 0;
    for (size_t i = 0; i < listing->count; i++) {
        roast_listed listed = listing->at[i];
        while (at < before->count && before->at[at].pid < listed.pid)
            at++;
        bool known = at < before->count && before->at[at].pid == listed.pid;
        if (complete(tree, &listed, known ? &before->at[at] : NULL))
            listing->at[kept++] = listed;
    }
    listing->count = kept;
    return ROAST_OK;
}

/* ---- one process ---- */

/* To the nanosecond, and cheaper than `stat`. */
static bool read_clock(roast_tree_process *out) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid((pid_t)out->pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return false;
    out->cpu_ns = (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
    return true;
}

static bool read_usage(const roast_proctree *tree, roast_tree_process *out) {
    char buffer[2048];
    return roast_procfs_cpu(read_file(tree, out->pid, "stat", buffer, sizeof buffer), &out->cpu_ns);
}

/* A process that has ended has no files; one that was not waited for yet has them, but no memory. Where
 * we are out of descriptors it is there, and nothing is known of it. */
static bool has_ended(roast_cursor statm, int why) {
    return statm.at != statm.end || why == ENOENT || why == ESRCH || why == 0;
}

bool roast_proctree_read(roast_proctree *tree, roast_tree_process *out) {
    char buffer[512];
    errno = 0;
    roast_cursor text = read_file(tree, out->pid, "statm", buffer, sizeof buffer);
    int why = errno;
    roast_procfs_statm(text, &out->reading);
    if (!(out->reading.have & ROAST_HAVE(rss_bytes)) && has_ended(text, why))
        return false;
    out->have_cpu = (tree->clocks && read_clock(out)) || read_usage(tree, out);
    roast_procfs_io(read_file(tree, out->pid, "io", buffer, sizeof buffer), &out->reading);
    return true;
}

roast_utc roast_proctree_started(const roast_proctree *tree, uint64_t start_ticks) {
    struct timespec since_boot;
    uint64_t ticks_ns;
    if (tree->root != NULL || clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0 ||
        __builtin_mul_overflow(start_ticks, roast_tick_ns(), &ticks_ns) || ticks_ns > INT64_MAX / 2)
        return (roast_utc){0};
    int64_t age =
        (int64_t)since_boot.tv_sec * INT64_C(1000000000) + since_boot.tv_nsec - (int64_t)ticks_ns;
    return (roast_utc){roast_utc_now().ns - age};
}
