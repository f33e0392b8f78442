#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/legacy_internal.h"

enum { PATH_SIZE = 4096 };

/* A path in a message of limited length: its end tells more than its beginning. */
static const char *shown(const char *path) {
    enum { SHOWN = 150 };
    size_t len = strlen(path);
    return len <= SHOWN ? path : path + len - SHOWN;
}

static roast_status failed(roast_error *err, const char *path) {
    int code = errno;
    bool missing = code == ENOENT || code == ENOTDIR;
    roast_error_set(err, missing ? ROAST_ENOTFOUND : ROAST_EIO, "0.1.x measurement", -1, "%s: %s",
                    shown(path), strerror(code));
    if (err != NULL)
        err->os_errno = code;
    return missing ? ROAST_ENOTFOUND : ROAST_EIO;
}

roast_status roast_legacy_damaged(roast_error *err, const char *file, const char *format, ...) {
    char what[160];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return roast_error_set(err, ROAST_ECORRUPT, "0.1.x measurement", -1, "%s: %s", file, what);
}

roast_status roast_legacy_check_folder(const char *folder, roast_error *err) {
    struct stat info;
    if (stat(folder, &info) != 0)
        return failed(err, folder);
    if (S_ISDIR(info.st_mode))
        return ROAST_OK;
    errno = ENOTDIR;
    return failed(err, folder);
}

static roast_status read_all(int fd, const char *path, size_t size, roast_buffer *out,
                             roast_error *err) {
    /* One byte more than it should have, to see its end in one go. */
    for (;;) {
        if (roast_buffer_reserve(out, size - out->len + 1) != ROAST_OK)
            return roast_error_set(err, ROAST_ENOMEM, "0.1.x measurement", -1,
                                   "no memory for %zu bytes of %s", size, shown(path));
        ssize_t got = read(fd, out->data + out->len, size - out->len + 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return failed(err, path);
        out->len += (size_t)got;
        if (got == 0)
            break;
        if (out->len > size)
            return roast_legacy_damaged(err, shown(path), "it grows while it is read");
    }
    out->data[out->len] = '\0';
    return ROAST_OK;
}

roast_status roast_legacy_read(const char *folder, const char *name, int64_t limit,
                               roast_buffer *out, roast_error *err) {
    char path[PATH_SIZE];
    struct stat info;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return roast_error_set(err, ROAST_ELIMIT, "0.1.x measurement", -1,
                               "a path is longer than %d bytes: ...%s", PATH_SIZE, shown(folder));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return failed(err, path);
    roast_status status;
    if (fstat(fd, &info) != 0)
        status = failed(err, path);
    else if (!S_ISREG(info.st_mode))
        status = roast_legacy_damaged(err, shown(path), "it is no file");
    else if (info.st_size > limit)
        status = roast_error_set(err, ROAST_ELIMIT, "0.1.x measurement", -1,
                                 "%s: %lld bytes, the limit is %lld", shown(path),
                                 (long long)info.st_size, (long long)limit);
    else
        status = read_all(fd, path, (size_t)info.st_size, out, err);
    close(fd);
    return status;
}
