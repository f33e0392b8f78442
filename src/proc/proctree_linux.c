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

static uint64_t tick_ns(void) {
    return UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* ---- files of a process ---- */

static int open_file(const roast_proctree *tree, int64_t pid, const char *name) {
    char path[48];
    snprintf(path, sizeof path, "%lld/%s", (long long)pid, name);
    return openat(tree->directory, path, O_RDONLY | O_CLOEXEC);
}

/* What a file says, from its start, at most `size` bytes; empty with errno set if it cannot be read. */
static roast_cursor read_open(int file, char *buffer, size_t size) {
    ssize_t got = file >= 0 ? pread(file, buffer, size, 0) : -1;
    return (roast_cursor){buffer, buffer + (got > 0 ? got : 0)};
}

static roast_cursor read_file(const roast_proctree *tree, int64_t pid, const char *name,
                              char *buffer, size_t size) {
    int file = open_file(tree, pid, name);
    roast_cursor text = read_open(file, buffer, size);
    int saved = errno;
    if (file >= 0)
        close(file);
    errno = saved;
    return text;
}

/* pid (name) state parent ... start: fields 3, 4 and 22, counted from behind the name. False: there is no
 * such process, or it has ended. */
static bool read_stat(const roast_proctree *tree, roast_proctree_row *row) {
    char buffer[2048];
    uint64_t parent;
    errno = 0;
    roast_cursor text = read_file(tree, row->pid, "stat", buffer, sizeof buffer);
    if (text.at == text.end)
        return errno == EACCES || errno == EPERM; /* somebody else's, and so none of ours */
    if (!roast_procfs_after_name(&text) || text.at == text.end || strchr("ZXx", *text.at) != NULL)
        return false;
    if (!roast_cursor_skip(&text, 1) || !roast_cursor_number(&text, &parent) ||
        parent > INT64_MAX || !roast_cursor_skip(&text, 22 - 4) ||
        !roast_cursor_number(&text, &row->start_ticks))
        return false;
    row->parent = (int64_t)parent;
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
    roast_proctree_row row = {.pid = tree->pid};
    if (!read_stat(tree, &row))
        return roast_error_set(err, ROAST_ENOTFOUND, where, -1, "%s/%lld: no such process", root,
                               (long long)tree->pid);
    return ROAST_OK;
}

/* ---- files that stay open ---- */

static void let_go(roast_proctree_files *files) {
    if (files->pid != 0 && files->statm >= 0)
        close(files->statm);
    if (files->pid != 0 && files->io >= 0)
        close(files->io);
    *files = (roast_proctree_files){0};
}

/* Closes what the last look did not use: those processes have ended. */
static void let_go_unused(roast_proctree *tree) {
    for (size_t i = 0; i < ROAST_PROCTREE_HELD; i++) {
        if (!tree->held[i].used)
            let_go(&tree->held[i]);
        tree->held[i].used = false;
    }
}

/* NULL: no place is free, or statm cannot be opened (errno). */
static roast_proctree_files *files_of(roast_proctree *tree, const roast_process *process) {
    roast_proctree_files *place = NULL;
    for (size_t i = 0; i < ROAST_PROCTREE_HELD; i++) {
        roast_proctree_files *files = &tree->held[i];
        if (files->pid == process->pid && files->start_ticks == process->start_ticks)
            return files;
        if (files->pid == 0 && place == NULL)
            place = files;
    }
    int statm = place != NULL ? open_file(tree, process->pid, "statm") : -1;
    if (statm < 0)
        return NULL;
    *place = (roast_proctree_files){.pid = process->pid,
                                    .start_ticks = process->start_ticks,
                                    .statm = statm,
                                    .io = open_file(tree, process->pid, "io")};
    return place;
}

void roast_proctree_detach(roast_proctree *tree) {
    for (size_t i = 0; i < ROAST_PROCTREE_HELD; i++)
        let_go(&tree->held[i]);
    if (tree->directory >= 0)
        close(tree->directory);
    tree->directory = -1;
}

/* ---- the list ---- */

/* As the kernel gives them; the C library's opendir would allocate behind our hook. */
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

static roast_status add_names(roast_proctree_rows *rows, const char *buffer, size_t len,
                              roast_error *err) {
    for (size_t at = 0; at < len;) {
        const struct entry *entry = (const struct entry *)(const void *)(buffer + at);
        int64_t pid;
        at += entry->size;
        if (!number_of(entry->name, &pid))
            continue;
        if (!roast_proctree_rows_grow(rows))
            return roast_error_set(err, ROAST_ENOMEM, "roast_proctree_look", -1,
                                   "no memory for the processes");
        /* procfs gives 1 where it could not make the inode */
        rows->at[rows->count++] = (roast_proctree_row){
            .pid = pid, .inode = entry->inode > 1 ? entry->inode : 0, .fresh = true};
    }
    return ROAST_OK;
}

static int compare_rows(const void *a, const void *b) {
    int64_t first = ((const roast_proctree_row *)a)->pid;
    int64_t second = ((const roast_proctree_row *)b)->pid;
    return (first > second) - (first < second);
}

static roast_status list_names(roast_proctree *tree, roast_proctree_rows *rows, roast_error *err) {
    _Alignas(struct entry) char buffer[16384];
    long got;
    rows->count = 0;
    if (lseek(tree->directory, 0, SEEK_SET) < 0)
        return roast_error_set(err, ROAST_EIO, "roast_proctree_look", -1, "%s", strerror(errno));
    while ((got = syscall(SYS_getdents64, tree->directory, buffer, sizeof buffer)) > 0)
        ROAST_TRY(add_names(rows, buffer, (size_t)got, err));
    if (got < 0)
        return roast_error_set(err, ROAST_EIO, "roast_proctree_look", -1, "%s", strerror(errno));
    /* procfs lists by number; a folder of files does not */
    for (size_t i = 1; i < rows->count; i++) {
        if (rows->at[i - 1].pid > rows->at[i].pid) {
            qsort(rows->at, rows->count, sizeof *rows->at, compare_rows);
            break;
        }
    }
    return ROAST_OK;
}

/* Takes over what is known of the process, or reads it. False: it has ended meanwhile. */
static bool complete(const roast_proctree *tree, roast_proctree_row *row,
                     const roast_proctree_row *known) {
    if (known != NULL && known->inode == row->inode && row->inode != 0) {
        *row = *known;
        row->fresh = false;
        return true;
    }
    if (!read_stat(tree, row))
        return false;
    /* The kernel may forget the inode of a process that lives. */
    if (known != NULL && known->start_ticks == row->start_ticks && row->start_ticks != 0) {
        row->parent = known->parent;
        row->member = known->member;
        row->fresh = false;
    }
    return true;
}

roast_status roast_proctree_list(roast_proctree *tree, roast_error *err) {
    roast_proctree_rows *rows = &tree->spare;
    const roast_proctree_rows *before = &tree->rows;
    let_go_unused(tree);
    ROAST_TRY(list_names(tree, rows, err));
    size_t kept = 0, at = 0;
    for (size_t i = 0; i < rows->count; i++) {
        roast_proctree_row row = rows->at[i];
        while (at < before->count && before->at[at].pid < row.pid)
            at++;
        bool known = at < before->count && before->at[at].pid == row.pid;
        if (complete(tree, &row, known ? &before->at[at] : NULL))
            rows->at[kept++] = row;
    }
    rows->count = kept;
    return ROAST_OK;
}

/* ---- one process ---- */

/* To the nanosecond, and cheaper than `stat`. */
static bool read_clock(roast_process *out) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid((pid_t)out->pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return false;
    out->cpu_ns = (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
    return true;
}

static bool read_usage(const roast_proctree *tree, roast_process *out) {
    char buffer[2048];
    roast_reading usage = {0};
    roast_procfs_stat(read_file(tree, out->pid, "stat", buffer, sizeof buffer), tick_ns(),
                      ROAST_READ_USAGE, &usage);
    const uint32_t both = ROAST_HAVE(cpu_user_ns) | ROAST_HAVE(cpu_system_ns);
    return (usage.have & both) == both &&
           !__builtin_add_overflow(usage.cpu_user_ns, usage.cpu_system_ns, &out->cpu_ns);
}

/* A process that has ended has no files; one that was not waited for yet has them, but no memory. Where
 * we are out of descriptors it is there, and nothing is known of it. */
static bool has_ended(roast_cursor statm, int why) {
    return statm.at != statm.end || why == ENOENT || why == ESRCH || why == 0;
}

bool roast_proctree_read(roast_proctree *tree, roast_process *out) {
    char buffer[512];
    errno = 0;
    roast_proctree_files *held = files_of(tree, out);
    roast_cursor text = held != NULL ? read_open(held->statm, buffer, sizeof buffer)
                                     : read_file(tree, out->pid, "statm", buffer, sizeof buffer);
    int why = errno;
    roast_procfs_statm(text, (uint64_t)sysconf(_SC_PAGESIZE), &out->reading);
    if (!(out->reading.have & ROAST_HAVE(rss_bytes)) && has_ended(text, why))
        return false;
    out->have_cpu = (tree->clocks && read_clock(out)) || read_usage(tree, out);
    text = held != NULL ? read_open(held->io, buffer, sizeof buffer)
                        : read_file(tree, out->pid, "io", buffer, sizeof buffer);
    roast_procfs_io(text, &out->reading);
    if (held != NULL)
        held->used = true;
    return true;
}

roast_utc roast_proctree_started(const roast_proctree *tree, uint64_t start_ticks) {
    struct timespec since_boot;
    uint64_t ticks_ns;
    if (tree->root != NULL || clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0 ||
        __builtin_mul_overflow(start_ticks, tick_ns(), &ticks_ns) || ticks_ns > INT64_MAX / 2)
        return (roast_utc){0};
    int64_t age =
        (int64_t)since_boot.tv_sec * INT64_C(1000000000) + since_boot.tv_nsec - (int64_t)ticks_ns;
    return (roast_utc){roast_utc_now().ns - age};
}
