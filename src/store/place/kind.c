/* The kind of a directory, and a free name for a new one. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/database/db.h"
#include "store/place/temporary.h"

static const char *last_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* The first bytes of a file; -1 where it cannot be read. Without an allocation: a failure of one must
 * not look like a directory that is no measurement. */
static ssize_t read_front(int directory, const char *name, void *out, size_t size) {
    struct stat info;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    ssize_t got = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? pread(fd, out, size, 0) : -1;
    close(fd);
    return got;
}

/* SQLite's magic, and our id at byte 68. */
static bool has_our_database(int directory) {
    enum { ID_AT = 68, NEEDED = 72 };
    static const char magic[] = "SQLite format 3";
    uint8_t header[NEEDED];
    uint32_t id = 0;
    if (read_front(directory, ROAST_STORE_DATABASE, header, sizeof header) != NEEDED ||
        memcmp(header, magic, sizeof magic) != 0)
        return false;
    for (int i = 0; i < 4; i++)
        id = id << 8 | header[ID_AT + i];
    return id == ROAST_STORE_APPLICATION;
}

/* metadata.json of 0.1.x names its format, and everything else is in metrics.json. */
static bool is_legacy(int directory) {
    static const char format[] = "\"roastcoffea_measurement_v1\"";
    char front[4096], byte;
    ssize_t got = read_front(directory, "metadata.json", front, sizeof front);
    return got > 0 && read_front(directory, "metrics.json", &byte, 1) >= 0 &&
           memmem(front, (size_t)got, format, sizeof format - 1) != NULL;
}

roast_store_kind roast_target_kind(int folder_fd, const char *name) {
    if (roast_temporary_is(last_name(name)))
        return ROAST_STORE_NONE;
    int directory = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return ROAST_STORE_NONE;
    roast_store_kind kind = has_our_database(directory) ? ROAST_STORE_OURS
                            : is_legacy(directory)      ? ROAST_STORE_LEGACY
                                                        : ROAST_STORE_NONE;
    close(directory);
    return kind;
}

roast_store_kind roast_store_is_measurement(const char *path) {
    return path == NULL ? ROAST_STORE_NONE : roast_target_kind(AT_FDCWD, path);
}

size_t roast_store_new_name(const char *folder, roast_utc when, char *out, size_t size) {
    time_t seconds = (time_t)(when.ns / 1000000000 - (when.ns % 1000000000 < 0));
    struct tm parts;
    char name[64];
    if (gmtime_r(&seconds, &parts) == NULL)
        memset(&parts, 0, sizeof parts);
    size_t len = strftime(name, sizeof name, "%Y-%m-%d_%H-%M-%S", &parts);
    for (unsigned n = 2;; n++) {
        struct stat info;
        char *path = roast_path_join(folder, name);
        bool taken = path != NULL && lstat(path, &info) == 0;
        roast_free(path);
        if (!taken)
            break;
        snprintf(name + len, sizeof name - len, "_%u", n);
    }
    return (size_t)snprintf(out, size, "%s", name);
}
