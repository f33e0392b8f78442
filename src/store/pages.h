/* Pages of a database with a checksum each: a VFS for SQLite that writes and checks them.
 *
 * SQLite leaves the last ROAST_PAGE_CHECKSUM bytes of a page alone ("reserved bytes"), so that any
 * SQLite reads the file. They hold the CRC-32C of the page's number and of the rest of the page. */
#ifndef ROAST_STORE_PAGES_H
#define ROAST_STORE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "roast/base.h"

enum {
    ROAST_PAGE_CHECKSUM = 4,
    ROAST_PAGES_MAX_PATH = 4096,
    ROAST_PAGES_MAX_LIVE_PATH = 480, /* of a file with a log beside it: SQLite's own limit */
};

/* Operation of sqlite3_file_control: a uint32_t gets the page whose checksum was wrong last, or 0. */
#define ROAST_PAGES_DAMAGED 0x526f6173

/* Name of the VFS, which is registered at the first call; NULL where SQLite does not work.
 * `finished`: the file does not change any more, so there are no locks, no journal and no log
 * beside it that count. */
const char *roast_pages_vfs(bool finished);

/* Checks every page of the file open at `fd`, which does not change meanwhile. `name` is for
 * messages. */
roast_status roast_pages_verify(int fd, const char *name, roast_error *err);

#endif
