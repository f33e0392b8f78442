#include "store/place/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/intern.h"

/* ".roast-" HASH-OF-NAME "-" RANDOM ".tmp": of one length, however long the name is. */
#define PREFIX ".roast-"
#define SUFFIX ".tmp"

/* The files of a measurement. */
static const char *const own_files[] = {
    ROAST_STORE_DATABASE,        ROAST_STORE_DATABASE "-wal",
    ROAST_STORE_DATABASE "-shm", ROAST_STORE_DATABASE "-journal",
    ROAST_STORE_MARKER,
#define X(name, file) file,
    ROAST_STORE_FILES(X)
#undef X
};

static bool is_own_file(const char *name) {
    for (size_t i = 0; i < sizeof own_files / sizeof *own_files; i++)
        if (strcmp(own_files[i], name) == 0)
            return true;
    return false;
}

static void front_of(const roast_target *place, char out[ROAST_TEMPORARY_NAME]) {
    snprintf(out, ROAST_TEMPORARY_NAME, PREFIX "%016" PRIx64 "-",
             roast_hash(place->name, strlen(place->name)));
}

static bool ends_so(const char *name) {
    size_t len = strlen(name);
    return len > strlen(SUFFIX) && strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0;
}

bool roast_temporary_is(const char *name) {
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && ends_so(name);
}

bool roast_temporary_name(const roast_target *place, char out[ROAST_TEMPORARY_NAME]) {
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    char front[ROAST_TEMPORARY_NAME];
    front_of(place, front);
    snprintf(out, ROAST_TEMPORARY_NAME, "%.40s%016" PRIx64 SUFFIX, front, random);
    return true;
}

static void remove_and_close(const roast_target *place, roast_temporary *temporary) {
    int number = errno;
    unlinkat(place->folder_fd, temporary->name, AT_REMOVEDIR);
    if (temporary->fd >= 0)
        close(temporary->fd);
    temporary->fd = -1;
    errno = number;
}

/* On a file system without locks, leftovers are not removed either. */
static bool lock(int fd) {
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR);
}

bool roast_temporary_make(const roast_target *place, roast_temporary *out) {
    struct stat info;
    out->fd = -1;
    if (!roast_temporary_name(place, out->name) || mkdirat(place->folder_fd, out->name, 0777) != 0)
        return false;
    out->fd = openat(place->folder_fd, out->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool made = out->fd >= 0 && lock(out->fd) && fstat(out->fd, &info) == 0;
    if (made && info.st_nlink == 0) { /* another save removed it before it was locked */
        errno = ENOENT;
        made = false;
    }
    if (!made)
        remove_and_close(place, out);
    return made;
}

static void move_to(int from, int to, const char *name) {
#ifdef RENAME_NOREPLACE
    if (renameat2(from, name, to, name, RENAME_NOREPLACE) == 0 ||
        (errno != EINVAL && errno != ENOSYS))
        return;
#endif
    struct stat info;
    if (fstatat(to, name, &info, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        renameat(from, name, to, name);
}

void roast_temporary_empty(const roast_target *place, const char *name, const char *heir) {
    int fd = openat(place->folder_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    int to = -1;
    if (heir != NULL)
        to = openat(place->folder_fd, heir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    for (size_t i = 0; i < sizeof own_files / sizeof *own_files; i++)
        unlinkat(fd, own_files[i], 0);
    DIR *directory = fdopendir(fd);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        if (to >= 0 && !is_own_file(entry->d_name) && strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0)
            move_to(fd, to, entry->d_name);
    if (directory == NULL)
        close(fd);
    else
        closedir(directory);
    if (to >= 0)
        close(to);
    unlinkat(place->folder_fd, name, AT_REMOVEDIR);
}

void roast_temporary_retire(const roast_target *place, const char *name) {
    roast_temporary_empty(place, name, place->name);
}

/* If the lock is free, the writer is gone. */
static void sweep_one(const roast_target *place, const char *name) {
    int fd = openat(place->folder_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        roast_temporary_retire(place, name);
    close(fd);
}

void roast_temporary_sweep(const roast_target *place) {
    char front[ROAST_TEMPORARY_NAME];
    front_of(place, front);
    int fd = openat(place->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (directory == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (strncmp(entry->d_name, front, strlen(front)) == 0 && ends_so(entry->d_name))
            sweep_one(place, entry->d_name);
    closedir(directory);
}
