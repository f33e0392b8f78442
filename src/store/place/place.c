#include "store/place/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/intern.h"
#include "store/database/db.h"
#include "store/place/temporary.h"

static roast_status failed(const char *path, const char *what, roast_error *err) {
    int number = errno;
    const char *reason = strerror(number);
    errno = number;
    return roast_error_set(err, ROAST_EIO, what, -1, "%s: %s", path, reason);
}

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "measurement", -1, "no memory for a path");
}

/* ---- paths ---- */

char *roast_path_join(const char *directory, const char *name) {
    size_t a = strlen(directory), b = strlen(name);
    char *path = roast_alloc(a + b + 2);
    if (path == NULL)
        return NULL;
    memcpy(path, directory, a);
    path[a] = '/';
    memcpy(path + a + 1, name, b + 1);
    return path;
}

static char *copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = roast_alloc(size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* The path without slashes at its end; of a link, where it leads. */
static char *clean_path(const char *path) {
    char real[PATH_MAX];
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && realpath(path, real) != NULL)
        path = real;
    char *clean = copy_text(path);
    if (clean == NULL)
        return NULL;
    for (size_t len = strlen(clean); len > 1 && clean[len - 1] == '/'; len--)
        clean[len - 1] = '\0';
    return clean;
}

static roast_status split(roast_target *place, roast_error *err) {
    char *slash = strrchr(place->path, '/');
    place->name = slash == NULL ? place->path : slash + 1;
    if (*place->name == '\0' || strcmp(place->name, ".") == 0 || strcmp(place->name, "..") == 0)
        return roast_error_set(err, ROAST_EINVAL, "measurement", -1,
                               "'%s' is no name for a measurement", place->path);
    if (roast_temporary_is(place->name))
        return roast_error_set(err, ROAST_EINVAL, "measurement", -1,
                               "'%s' is the name of a temporary directory", place->name);
    size_t len = slash == NULL ? 0 : (size_t)(slash - place->path);
    if (slash == NULL)
        place->folder = copy_text(".");
    else
        place->folder = copy_text(len == 0 ? "/" : place->path);
    if (place->folder == NULL)
        return no_memory(err);
    if (len > 0)
        place->folder[len] = '\0';
    return ROAST_OK;
}

static roast_status make_folders(char *folder, roast_error *err) {
    struct stat info;
    if (stat(folder, &info) == 0)
        return ROAST_OK; /* if it is no directory, opening it says so */
    for (char *at = folder + 1;; at++) {
        char end = *at;
        if (end != '/' && end != '\0')
            continue;
        *at = '\0';
        int made = mkdir(folder, 0777);
        if (made != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return failed(folder, "mkdir", err);
        *at = end;
        if (end == '\0')
            return ROAST_OK;
    }
}

/* The user may change the working directory. */
static roast_status make_absolute(roast_target *place, roast_error *err) {
    char real[PATH_MAX];
    if (realpath(place->folder, real) == NULL)
        return failed(place->folder, "open", err);
    roast_free(place->folder);
    place->folder = copy_text(real);
    return place->folder == NULL ? no_memory(err) : ROAST_OK;
}

roast_status roast_target_open(roast_target *place, const char *path, roast_error *err) {
    *place = (roast_target){.folder_fd = -1};
    if (path == NULL || *path == '\0')
        return roast_error_set(err, ROAST_EINVAL, "measurement", -1, "a measurement needs a path");
    place->path = clean_path(path);
    roast_status status = place->path == NULL ? no_memory(err) : split(place, err);
    if (status == ROAST_OK)
        status = make_folders(place->folder, err);
    if (status == ROAST_OK)
        status = make_absolute(place, err);
    if (status == ROAST_OK) {
        place->folder_fd = open(place->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (place->folder_fd < 0)
            status = failed(place->folder, "open", err);
    }
    if (status != ROAST_OK)
        roast_target_close(place);
    return status;
}

void roast_target_close(roast_target *place) {
    if (place->folder_fd >= 0)
        close(place->folder_fd);
    roast_free(place->folder);
    roast_free(place->path);
    *place = (roast_target){.folder_fd = -1};
}

/* ---- what is there ---- */

static bool is_empty(const roast_target *place) {
    bool empty = true;
    int fd = openat(place->folder_fd, place->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (directory == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    for (struct dirent *entry; empty && (entry = readdir(directory)) != NULL;)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    closedir(directory);
    return empty;
}

typedef enum occupant { NOBODY, EMPTY_DIRECTORY, MEASUREMENT, SOMETHING_ELSE } occupant;

static occupant look_once(const roast_target *place, struct stat *info) {
    if (fstatat(place->folder_fd, place->name, info, AT_SYMLINK_NOFOLLOW) != 0)
        return NOBODY; /* or not visible to us: then the rename fails */
    if (!S_ISDIR(info->st_mode))
        return SOMETHING_ELSE;
    if (roast_target_kind(place->folder_fd, place->name) != ROAST_STORE_NONE)
        return MEASUREMENT;
    return is_empty(place) ? EMPTY_DIRECTORY : SOMETHING_ELSE;
}

static occupant occupant_of(const roast_target *place) {
    enum { LOOKS = 1000 };
    struct stat before, after;
    occupant there = look_once(place, &before);
    /* A measurement that another process has just replaced is already half removed when it is looked into:
     * then there is another directory of that name by now. */
    for (int look = 1; there != NOBODY && there != MEASUREMENT && look < LOOKS; look++) {
        if (fstatat(place->folder_fd, place->name, &after, AT_SYMLINK_NOFOLLOW) == 0 &&
            after.st_dev == before.st_dev && after.st_ino == before.st_ino)
            break;
        there = look_once(place, &before);
    }
    return there;
}

static roast_status refuse(const roast_target *place, occupant there, roast_error *err) {
    errno = EEXIST;
    return roast_error_set(err, ROAST_EIO, "measurement", -1,
                           there == MEASUREMENT
                               ? "%s exists, and it is not to be overwritten"
                               : "%s exists and is not a measurement: it is left alone",
                           place->path);
}

static bool may_take(occupant there, bool overwrite) {
    return there == NOBODY || there == EMPTY_DIRECTORY || (there == MEASUREMENT && overwrite);
}

roast_status roast_target_check(const roast_target *place, bool overwrite, roast_error *err) {
    ROAST_TRY(roast_db_check_path(place->path, err));
    occupant there = occupant_of(place);
    return may_take(there, overwrite) ? ROAST_OK : refuse(place, there, err);
}

/* ---- writing ---- */

roast_status roast_target_begin(const roast_target *place, roast_temporary *temporary,
                                roast_error *err) {
    roast_temporary_sweep(place);
    for (int tries = 0; tries < 16; tries++) {
        if (roast_temporary_make(place, temporary))
            return ROAST_OK;
        if (errno != EEXIST && errno != ENOENT && errno != EWOULDBLOCK)
            break;
    }
    return failed(place->folder, "mkdir", err);
}

char *roast_target_inside(const roast_target *place, const roast_temporary *temporary,
                          const char *file) {
    char *directory = roast_path_join(place->folder, temporary->name);
    char *path = directory == NULL ? NULL : roast_path_join(directory, file);
    roast_free(directory);
    return path;
}

static bool write_all(int fd, const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t written = write(fd, bytes, len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            errno = written == 0 ? ENOSPC : errno;
            return false;
        }
        bytes += written;
        len -= (size_t)written;
    }
    return true;
}

/* Closes without losing the reason of a failure before. */
static bool close_after(int fd, bool fine) {
    int number = errno;
    bool closed = close(fd) == 0;
    if (!fine)
        errno = number;
    return fine && closed;
}

roast_status roast_temporary_write(const roast_temporary *temporary, const char *name,
                                   const void *bytes, size_t len, roast_error *err) {
    int fd = openat(temporary->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return failed(name, "open", err);
    bool written = write_all(fd, bytes, len) && fsync(fd) == 0;
    return close_after(fd, written) ? ROAST_OK : failed(name, "write", err);
}

roast_status roast_temporary_sync(const roast_temporary *temporary, const char *name,
                                  roast_error *err) {
    int fd = openat(temporary->fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return failed(name, "open", err);
    bool synced = fsync(fd) == 0;
    return close_after(fd, synced) ? ROAST_OK : failed(name, "fsync", err);
}

/* ---- taking the place ---- */

static int rename_with(int folder, const char *from, const char *to, unsigned flags) {
#ifdef RENAME_EXCHANGE
    return renameat2(folder, from, folder, to, flags);
#else
    (void)folder, (void)from, (void)to, (void)flags;
    errno = ENOSYS;
    return -1;
#endif
}

#ifndef RENAME_EXCHANGE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE  2
#endif

static bool not_known(int number) {
    return number == EINVAL || number == ENOSYS || number == ENOTSUP;
}

/* In two steps, for file systems that cannot exchange two names: a crash between them leaves none. */
static bool swap_in_steps(const roast_target *place, const char *name, char old[]) {
    int folder = place->folder_fd;
    if (!roast_temporary_name(place, old) || renameat(folder, place->name, folder, old) != 0)
        return false;
    if (renameat(folder, name, folder, place->name) == 0)
        return true;
    int number = errno;
    renameat(folder, old, folder, place->name);
    errno = number;
    return false;
}

static bool take_free_place(const roast_target *place, const char *name) {
    if (rename_with(place->folder_fd, name, place->name, RENAME_NOREPLACE) == 0)
        return true;
    /* A plain rename replaces an empty directory at most. */
    return not_known(errno) && renameat(place->folder_fd, name, place->folder_fd, place->name) == 0;
}

/* `old` gets the name of the directory that was replaced, if one was. */
static bool take_place(const roast_target *place, const char *name, occupant there, char old[]) {
    old[0] = '\0';
    if (there == NOBODY)
        return take_free_place(place, name);
    if (there == EMPTY_DIRECTORY)
        return renameat(place->folder_fd, name, place->folder_fd, place->name) == 0;
    if (rename_with(place->folder_fd, name, place->name, RENAME_EXCHANGE) == 0) {
        snprintf(old, ROAST_TEMPORARY_NAME, "%s", name);
        return true;
    }
    return not_known(errno) && swap_in_steps(place, name, old);
}

static bool lost_a_race(int number) {
    return number == EEXIST || number == ENOTEMPTY || number == ENOENT;
}

roast_status roast_target_commit(const roast_target *place, roast_temporary *temporary,
                                 bool overwrite, roast_error *err) {
    char old[ROAST_TEMPORARY_NAME];
    if (fsync(temporary->fd) != 0)
        return failed(place->path, "fsync", err);
    for (int tries = 0; tries < 16; tries++) {
        occupant there = occupant_of(place);
        if (!may_take(there, overwrite))
            return refuse(place, there, err);
        if (take_place(place, temporary->name, there, old)) {
            fsync(place->folder_fd); /* it is done; a folder that cannot be synced undoes nothing */
            if (old[0] != '\0')
                roast_temporary_retire(place, old);
            close(temporary->fd);
            temporary->fd = -1;
            return ROAST_OK;
        }
        if (!lost_a_race(errno))
            break;
    }
    return failed(place->path, "rename", err);
}

void roast_target_discard(const roast_target *place, roast_temporary *temporary) {
    if (temporary->fd < 0)
        return;
    int number = errno;
    roast_temporary_retire(place, temporary->name);
    close(temporary->fd);
    temporary->fd = -1;
    errno = number;
}

static bool is_same_file(int directory, const char *name, int open_fd) {
    struct stat there, ours;
    return fstatat(directory, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(open_fd, &ours) == 0 && there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
}

bool roast_target_has(const roast_target *place, const char *file, int open_fd) {
    int directory = openat(place->folder_fd, place->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return false;
    bool has = open_fd >= 0 && is_same_file(directory, file, open_fd);
    close(directory);
    return has;
}

void roast_target_remove(const roast_target *place) {
    roast_temporary_empty(place, place->name, NULL);
}

/* ---- reading ---- */

/* A path in a message of limited length: its end matters more than its beginning. */
static const char *shown(const char *path) {
    enum { SHOWN = 150 };
    size_t len = strlen(path);
    return len <= SHOWN ? path : path + len - SHOWN;
}

static roast_status check_file(int fd, const char *path, size_t limit, size_t *size,
                               roast_error *err) {
    struct stat info;
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        int number = errno;
        roast_error_set(err, ROAST_ENOTFOUND, "measurement", -1, "%s does not exist", shown(path));
        if (err != NULL)
            err->os_errno = number;
        return ROAST_ENOTFOUND;
    }
    if (fd < 0 || fstat(fd, &info) != 0)
        return failed(shown(path), "open", err);
    if (!S_ISREG(info.st_mode))
        return roast_error_set(err, ROAST_ECORRUPT, "measurement", -1, "%s is no file",
                               shown(path));
    if ((uint64_t)info.st_size > limit)
        return roast_error_set(err, ROAST_ELIMIT, "measurement", -1,
                               "%s: %lld bytes, the limit is %zu", shown(path),
                               (long long)info.st_size, limit);
    *size = (size_t)info.st_size;
    return ROAST_OK;
}

roast_status roast_path_open(const char *directory, const char *name, size_t limit, int *fd,
                             size_t *size, roast_error *err) {
    char *path = roast_path_join(directory, name);
    if (path == NULL)
        return no_memory(err);
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait for the end of a pipe */
    roast_status status = check_file(*fd, path, limit, size, err);
    if (status != ROAST_OK && *fd >= 0)
        close(*fd);
    roast_free(path);
    return status;
}

roast_status roast_path_read_front(int fd, const char *name, size_t size, roast_buffer *out,
                                   roast_error *err) {
    if (roast_buffer_reserve(out, size + 1 - out->len) != ROAST_OK)
        return roast_error_set(err, ROAST_ENOMEM, name, -1, "no memory for %s", name);
    while (out->len < size) {
        ssize_t got = pread(fd, out->data + out->len, size - out->len, (off_t)out->len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return failed(name, "read", err);
        if (got == 0)
            break; /* it was cut meanwhile */
        out->len += (size_t)got;
    }
    out->data[out->len] = '\0';
    return ROAST_OK;
}

roast_status roast_path_read(const char *directory, const char *name, size_t limit,
                             roast_buffer *out, roast_error *err) {
    int fd = -1;
    size_t size = 0;
    ROAST_TRY(roast_path_open(directory, name, limit, &fd, &size, err));
    roast_status status = roast_path_read_front(fd, name, size, out, err);
    close(fd);
    return status;
}
