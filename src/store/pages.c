#include "store/pages.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"

enum { SMALLEST_PAGE = 512, LARGEST_PAGE = 65536, HEADER = 100 };
/* SQLite locks bytes here and never uses the page that they are in. */
#define LOCK_BYTE INT64_C(0x40000000)

/* ---- the checksum of a page ---- */

static uint32_t checksum_of(const uint8_t *page, size_t size, uint64_t number) {
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    return roast_crc32c(roast_crc32c(0, bytes, sizeof bytes), page, size - ROAST_PAGE_CHECKSUM);
}

static void seal(uint8_t *page, size_t size, uint64_t number) {
    uint32_t crc = checksum_of(page, size, number);
    for (unsigned i = 0; i < ROAST_PAGE_CHECKSUM; i++)
        page[size - ROAST_PAGE_CHECKSUM + i] = (uint8_t)(crc >> 8 * i);
}

static bool is_whole(const uint8_t *page, size_t size, uint64_t number) {
    uint32_t crc = checksum_of(page, size, number), stored = 0;
    for (unsigned i = 0; i < ROAST_PAGE_CHECKSUM; i++)
        stored |= (uint32_t)page[size - ROAST_PAGE_CHECKSUM + i] << 8 * i;
    return crc == stored;
}

/* Apart from pages SQLite reads and writes only a few bytes of the header. */
static bool is_page(int size, sqlite3_int64 offset) {
    return size >= SMALLEST_PAGE && size <= LARGEST_PAGE && (size & (size - 1)) == 0 &&
           offset % size == 0;
}

/* ---- files: all goes to the file of the system's VFS, which lies behind ours ---- */

typedef struct page_file {
    sqlite3_file base;
    bool checked;     /* the database itself; not its journal or log */
    bool finished;    /* does not change any more */
    uint32_t damaged; /* the page that was found damaged last */
    uint8_t *scratch; /* where a page gets its checksum before it is written */
    const char *name; /* SQLite's, as long as the file is open; NULL: it has none */
} page_file;

_Static_assert(sizeof(page_file) % 8 == 0, "what lies behind it is aligned");

static sqlite3_file *real_of(sqlite3_file *file) {
    return (sqlite3_file *)(void *)((page_file *)file + 1);
}

#define CALL(file, method, ...) (real_of(file)->pMethods->method(real_of(file), ##__VA_ARGS__))

static int close_file(sqlite3_file *file) {
    page_file *own = (page_file *)file;
    roast_free(own->scratch);
    own->scratch = NULL;
    return CALL(file, xClose);
}

static int read_file(sqlite3_file *file, void *out, int size, sqlite3_int64 offset) {
    page_file *own = (page_file *)file;
    int code = CALL(file, xRead, out, size, offset);
    if (code != SQLITE_OK || !own->checked || !is_page(size, offset))
        return code;
    uint64_t number = (uint64_t)(offset / size) + 1;
    if (is_whole(out, (size_t)size, number))
        return SQLITE_OK;
    own->damaged = (uint32_t)number;
    return SQLITE_IOERR_DATA;
}

static int write_file(sqlite3_file *file, const void *data, int size, sqlite3_int64 offset) {
    page_file *own = (page_file *)file;
    if (!own->checked || !is_page(size, offset))
        return CALL(file, xWrite, data, size, offset);
    memcpy(own->scratch, data, (size_t)size);
    seal(own->scratch, (size_t)size, (uint64_t)(offset / size) + 1);
    return CALL(file, xWrite, own->scratch, size, offset);
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size) {
    return CALL(file, xTruncate, size);
}

static int sync_file(sqlite3_file *file, int flags) {
    return CALL(file, xSync, flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return CALL(file, xFileSize, size);
}

static int lock_file(sqlite3_file *file, int level) {
    return CALL(file, xLock, level);
}

static int unlock_file(sqlite3_file *file, int level) {
    return CALL(file, xUnlock, level);
}

static int check_lock(sqlite3_file *file, int *out) {
    return CALL(file, xCheckReservedLock, out);
}

static int control_file(sqlite3_file *file, int operation, void *argument) {
    if (operation != ROAST_PAGES_DAMAGED)
        return CALL(file, xFileControl, operation, argument);
    memcpy(argument, &((page_file *)file)->damaged, sizeof(uint32_t));
    return SQLITE_OK;
}

static int sector_size(sqlite3_file *file) {
    return CALL(file, xSectorSize);
}

static int characteristics(sqlite3_file *file) {
    page_file *own = (page_file *)file;
    int known = CALL(file, xDeviceCharacteristics);
    return own->checked && own->finished ? known | SQLITE_IOCAP_IMMUTABLE : known;
}

/* Opening a pipe would wait for its other end. */
static bool may_open(const char *name) {
    struct stat info;
    return name == NULL || stat(name, &info) != 0 || S_ISREG(info.st_mode);
}

/* The system's VFS opens this file by itself. */
static int map_shared(sqlite3_file *file, int region, int size, int extend, void volatile **out) {
    char name[ROAST_PAGES_MAX_PATH + sizeof "-shm"];
    *out = NULL;
    snprintf(name, sizeof name, "%s-shm", ((page_file *)file)->name);
    if (region == 0 && !may_open(name))
        return SQLITE_CANTOPEN;
    return CALL(file, xShmMap, region, size, extend, out);
}

static int lock_shared(sqlite3_file *file, int offset, int n, int flags) {
    return CALL(file, xShmLock, offset, n, flags);
}

static void shared_barrier(sqlite3_file *file) {
    CALL(file, xShmBarrier);
}

static int unmap_shared(sqlite3_file *file, int remove) {
    return CALL(file, xShmUnmap, remove);
}

/* No page is mapped: it would be read without a check. */
static int fetch(sqlite3_file *file, sqlite3_int64 offset, int size, void **out) {
    (void)file, (void)offset, (void)size;
    *out = NULL;
    return SQLITE_OK;
}

static int unfetch(sqlite3_file *file, sqlite3_int64 offset, void *page) {
    (void)file, (void)offset, (void)page;
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 3,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = file_size,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_lock,
    .xFileControl = control_file,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = map_shared,
    .xShmLock = lock_shared,
    .xShmBarrier = shared_barrier,
    .xShmUnmap = unmap_shared,
    .xFetch = fetch,
    .xUnfetch = unfetch,
};

/* ---- the VFS: the system's, but for the opening of files ---- */

static sqlite3_vfs *below; /* the system's */
static sqlite3_vfs layer[2];
static bool registered;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *out_flags) {
    page_file *own = (page_file *)file;
    memset(own, 0, sizeof *own);
    if (!may_open(name))
        return SQLITE_CANTOPEN;
    own->name = name;
    own->checked = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    own->finished = vfs == &layer[true];
    if (own->checked && (flags & SQLITE_OPEN_READONLY) == 0) {
        own->scratch = roast_alloc(LARGEST_PAGE);
        if (own->scratch == NULL)
            return SQLITE_NOMEM;
    }
    int code = below->xOpen(below, name, real_of(file), flags, out_flags);
    /* SQLite closes what has methods, also after a failure. */
    if (real_of(file)->pMethods != NULL) {
        own->base.pMethods = &methods;
    } else {
        roast_free(own->scratch);
        own->scratch = NULL;
    }
    return code;
}

/* As it is: the system's way knows no path beyond 512 bytes, and a measurement may lie deeper. */
static int full_path(sqlite3_vfs *vfs, const char *name, int size, char *out) {
    (void)vfs;
    size_t len = strlen(name);
    if (len >= (size_t)size)
        return SQLITE_CANTOPEN;
    memcpy(out, name, len + 1);
    return SQLITE_OK;
}

static void register_layers(void) {
    static const char *const names[] = {"roast-pages", "roast-pages-finished"};
    below = sqlite3_vfs_find(NULL);
    if (below == NULL || below->iVersion < 2)
        return;
    registered = true;
    for (int i = 0; i < 2; i++) {
        layer[i] = *below;
        layer[i].zName = names[i];
        layer[i].pNext = NULL;
        layer[i].szOsFile = (int)sizeof(page_file) + below->szOsFile;
        layer[i].mxPathname = ROAST_PAGES_MAX_PATH;
        layer[i].xOpen = open_file;
        layer[i].xFullPathname = full_path;
        registered = registered && sqlite3_vfs_register(&layer[i], 0) == SQLITE_OK;
    }
}

const char *roast_pages_vfs(bool finished) {
    pthread_once(&once, register_layers);
    return registered ? layer[finished].zName : NULL;
}

/* ---- all pages of a file ---- */

static ssize_t read_fully(int fd, uint8_t *out, size_t size, off_t offset) {
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(fd, out + done, size - done, offset + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static bool all_zero(const uint8_t *page, size_t size) {
    return page[0] == 0 && memcmp(page, page + 1, size - 1) == 0;
}

/* What the header says of the file. */
typedef struct page_layout {
    size_t page_size;
    uint64_t pages;
} page_layout;

static roast_status read_shape(int fd, const char *name, page_layout *out, roast_error *err) {
    uint8_t header[HEADER];
    ssize_t got = read_fully(fd, header, sizeof header, 0);
    if (got < 0)
        return roast_error_set(err, ROAST_EIO, name, -1, "%s cannot be read: %s", name,
                               strerror(errno));
    if (got < HEADER)
        return roast_error_set(err, ROAST_ECORRUPT, name, got, "%s is damaged: it ends at byte %d",
                               name, (int)got);
    size_t size = (size_t)header[16] << 8 | header[17];
    *out = (page_layout){size == 1 ? LARGEST_PAGE : size,
                         (uint64_t)header[28] << 24 | (uint64_t)header[29] << 16 |
                             (uint64_t)header[30] << 8 | header[31]};
    if (out->page_size < SMALLEST_PAGE || (out->page_size & (out->page_size - 1)) != 0 ||
        header[20] != ROAST_PAGE_CHECKSUM)
        return roast_error_set(err, ROAST_ECORRUPT, name, 16,
                               "%s is damaged: its header does not say how its pages are laid out",
                               name);
    return ROAST_OK;
}

static roast_status verify_block(const uint8_t *block, size_t got, const page_layout *shape,
                                 uint64_t first, const char *name, roast_error *err) {
    size_t size = shape->page_size;
    for (size_t at = 0; at < got; at += size) {
        uint64_t number = first + at / size, locked = (uint64_t)LOCK_BYTE / size + 1;
        bool whole = at + size <= got && number <= shape->pages;
        if (whole &&
            (number == locked ? all_zero(block + at, size) : is_whole(block + at, size, number)))
            continue;
        int64_t position = (int64_t)((number - 1) * size);
        return roast_error_set(err, ROAST_ECORRUPT, name, position,
                               number > shape->pages || at + size > got
                                   ? "%s is damaged: it has another length than it says (byte %lld)"
                                   : "%s is damaged: a page has a wrong checksum (byte %lld)",
                               name, (long long)position);
    }
    return ROAST_OK;
}

roast_status roast_pages_verify(int fd, const char *name, roast_error *err) {
    enum { BLOCK = 1 << 20 };
    page_layout shape = {0, 0};
    ROAST_TRY(read_shape(fd, name, &shape, err));
    uint8_t *block = roast_alloc(BLOCK);
    if (block == NULL)
        return roast_error_set(err, ROAST_ENOMEM, name, -1, "no memory to check %s", name);
    roast_status status = ROAST_OK;
    int64_t offset = 0;
    ssize_t got = BLOCK;
    for (; status == ROAST_OK && got == BLOCK; offset += got) {
        got = read_fully(fd, block, BLOCK, (off_t)offset);
        if (got < 0)
            status = roast_error_set(err, ROAST_EIO, name, offset, "%s cannot be read: %s", name,
                                     strerror(errno));
        else
            status = verify_block(block, (size_t)got, &shape,
                                  (uint64_t)offset / shape.page_size + 1, name, err);
    }
    roast_free(block);
    if (status == ROAST_OK && (uint64_t)offset != shape.pages * shape.page_size)
        return roast_error_set(
            err, ROAST_ECORRUPT, name, offset, "%s is damaged: it ends at byte %lld of %llu", name,
            (long long)offset, (unsigned long long)(shape.pages * shape.page_size));
    return status;
}
