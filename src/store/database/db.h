/* run.sqlite: opened defensively, its one table of parts, SQLite's failures as ours. docs/format/measurement.md
 * specifies the file. */
#ifndef ROAST_STORE_DB_H
#define ROAST_STORE_DB_H

#include <sqlite3.h>

#include "base/buffer.h"
#include "base/frame.h"
#include "roast/base.h"

enum {
    ROAST_STORE_APPLICATION = 0x726f6173, /* "roas": the application id in the header of the file */
    ROAST_STORE_VERSION = 2,              /* raised with every change of the table or of a part */
    ROAST_DB_MAX_PATH = 468, /* bytes: SQLite's own limit, less the names of its files */
};

/* ROAST_EIO: the path of a measurement in which SQLite could not open a database. */
roast_status roast_db_check_path(const char *directory, roast_error *err);
/* A new file with an empty table, in a transaction. A crash may destroy the file until it is closed and synced:
 * there is no journal. */
roast_status roast_db_create(sqlite3 **out, const char *path, roast_error *err);
/* A file for reading, in one transaction: ROAST_ECORRUPT where it holds anything but our table. `finished`: no
 * program writes to the file any more, so SQLite needs no locks and no log. */
roast_status roast_db_open(sqlite3 **out, const char *path, bool finished, roast_error *err);
/* A file to which parts are added while others read it. */
roast_status roast_db_open_live(sqlite3 **out, const char *path, roast_error *err);
/* Statements must be finalized before. NULL is fine. Tells a failure of the last write. */
roast_status roast_db_close(sqlite3 *db, roast_error *err);

/* The error for a code that SQLite returned; db may be NULL. */
roast_status roast_db_fail(sqlite3 *db, int code, roast_error *err);
roast_status roast_db_damaged(roast_error *err, const char *format, ...) ROAST_PRINTF(2, 3);
roast_status roast_db_exec(sqlite3 *db, const char *sql, roast_error *err);

/* The first number of the first row. */
roast_status roast_db_number(sqlite3 *db, const char *sql, int64_t *out, roast_error *err);

/* ---- parts ---- */

/* Bytes of a part, uncompressed: SQLite keeps values of up to 10^9 bytes. */
#define ROAST_PART_MAX  ((size_t)900 << 20)
#define ROAST_PART_END  "end"   /* the last part of a finished file; it has no bytes */
#define ROAST_PART_BLOB "blob:" /* and the name of a blob of the caller */

/* The frame of the parts that are lists of values. */
extern const roast_frame roast_part_frame;

/* The numbers of the large parts of a live measurement begin here; those of its small parts are below. A reader finds
 * the small ones without a look at the large ones, however many were appended. */
#define ROAST_PART_FIRST_LARGE ((int64_t)1 << 20)

typedef enum roast_part_place {
    ROAST_PART_APPENDED,   /* after the last part */
    ROAST_PART_LIVE_SMALL, /* in place of the part of the same name, or after the small ones */
    ROAST_PART_LIVE_LARGE, /* after the last part, and after the numbers of the small ones */
} roast_part_place;

/* Writes a part. ROAST_ELIMIT for more than ROAST_PART_MAX bytes. */
roast_status roast_part_put(sqlite3 *db, const char *name, roast_str bytes, roast_part_place place,
                            roast_error *err);

/* Walks over the parts in their order; zeroed storage is before the first. */
typedef struct roast_part_walk {
    sqlite3_stmt *statement;
    roast_str name;     /* of the part; borrowed until the next call, as are the bytes */
    roast_buffer bytes; /* uncompressed */
    int64_t id;         /* of the part */
    int64_t passed;     /* parts so far, those with other names included */
} roast_part_walk;

typedef enum roast_part_kind {
    ROAST_PARTS_SMALL,      /* all but the large ones */
    ROAST_PARTS_LIVE_SMALL, /* of a live measurement */
    ROAST_PARTS_LARGE,      /* "chunks", "series", "attempts" */
} roast_part_kind;

/* Begins a walk over the parts of a kind whose number is above `after`. */
roast_status roast_part_walk_begin(roast_part_walk *walk, sqlite3 *db, roast_part_kind kind,
                                   int64_t after, roast_error *err);
/* The next part, its checksum checked. *there is false after the last one. */
roast_status roast_part_walk_next(roast_part_walk *walk, bool *there, roast_error *err);
void roast_part_walk_end(roast_part_walk *walk);

#endif
