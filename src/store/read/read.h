/* Reads the parts of run.sqlite; nothing in them is trusted. */
#ifndef ROAST_STORE_READ_H
#define ROAST_STORE_READ_H

#include "base/arena.h"
#include "roast/store.h"
#include "store/database/db.h"

typedef struct roast_stored_file { /* a small file, as run.sqlite knows it */
    roast_str name;
    uint64_t len, checksum;
} roast_stored_file;

typedef struct roast_stored_blob {
    roast_str name, bytes;
} roast_stored_blob;

struct roast_store {
    sqlite3 *db;
    char *directory;
    roast_store_state state;
    roast_run *head;   /* NULL: it was taken */
    roast_arena texts; /* of the blobs, and the names of the files */
    roast_stored_blob *blobs;
    size_t blobs_capacity;
    uint32_t n_blobs;
    size_t bytes_of_blobs;
    roast_stored_file *files;
    size_t files_capacity;
    uint32_t n_files;
};

/* Reads all parts but the large ones: head, blobs and files. */
roast_status roast_read_small(roast_store *store, roast_error *err);
/* Puts the large ones whose number is above *after into the head; *after becomes the number of the last one. */
roast_status roast_read_large(roast_store *store, int64_t *after, roast_error *err);
/* The next part of a walk. `err` is cleared, so that what it says later is of this part. */
roast_status roast_read_next(roast_part_walk *walk, bool *there, roast_error *err);
/* `status` is the result of a decoder, or of the run, for the contents of a part; `err` may say why. Anything but a lack
 * of memory and another version is damage of that part. */
roast_status roast_read_result(int64_t id, roast_str name, roast_status status, roast_error *err);

#endif
