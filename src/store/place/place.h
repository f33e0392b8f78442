/* The folder of a measurement: its directory is written under a temporary name in the same folder, and then
 * renamed in one step. Everything is done relative to the folder, which stays open. */
#ifndef ROAST_STORE_PLACE_H
#define ROAST_STORE_PLACE_H

#include "base/buffer.h"
#include "roast/store.h"

#define ROAST_STORE_DATABASE "run.sqlite"
#define ROAST_STORE_MARKER   "live"

typedef struct roast_target {
    char *folder;     /* the folder above, absolute */
    const char *name; /* of the measurement in it */
    char *path;       /* both, as the caller wrote them: for messages */
    int folder_fd;
} roast_target;

enum { ROAST_TEMPORARY_NAME = 64 };

/* A directory with a temporary name, locked for as long as it is open. */
typedef struct roast_temporary {
    char name[ROAST_TEMPORARY_NAME];
    int fd; /* -1: none */
} roast_temporary;

/* Folders above it are made where they are missing. */
roast_status roast_target_open(roast_target *place, const char *path, roast_error *err);
void roast_target_close(roast_target *place);
/* As roast_store_is_measurement, of a directory of an open folder. */
roast_store_kind roast_target_kind(int folder_fd, const char *name);
/* Whether a new measurement may be written; changes nothing. */
roast_status roast_target_check(const roast_target *place, bool overwrite, roast_error *err);

/* Removes the leftovers of killed saves of this name, and makes a new temporary directory. */
roast_status roast_target_begin(const roast_target *place, roast_temporary *temporary,
                                roast_error *err);
/* The path of a file in it; to be freed. NULL: no memory. */
char *roast_target_inside(const roast_target *place, const roast_temporary *temporary,
                          const char *file);
roast_status roast_temporary_write(const roast_temporary *temporary, const char *name,
                                   const void *bytes, size_t len, roast_error *err);
/* Makes sure that a file of it is on the disk. */
roast_status roast_temporary_sync(const roast_temporary *temporary, const char *name,
                                  roast_error *err);
/* Renames the temporary directory to its final name, then removes the replaced one. */
roast_status roast_target_commit(const roast_target *place, roast_temporary *temporary,
                                 bool overwrite, roast_error *err);
/* Removes it. */
void roast_target_discard(const roast_target *place, roast_temporary *temporary);
/* Whether `file` in the measurement is the one that is open: another process may have put another measurement there. */
bool roast_target_has(const roast_target *place, const char *file, int open_fd);
/* Removes the measurement. If its directory has other files, they and the directory stay. */
void roast_target_remove(const roast_target *place);

/* "DIR/name", to be freed; NULL: no memory. */
char *roast_path_join(const char *directory, const char *name);
/* A regular file of at most `limit` bytes, opened for reading. ROAST_ENOTFOUND, ROAST_ECORRUPT (it is a directory, a
 * pipe, ...), ROAST_ELIMIT and ROAST_EIO name it. */
roast_status roast_path_open(const char *directory, const char *name, size_t limit, int *fd,
                             size_t *size, roast_error *err);
/* Reads until `out` holds the first `size` bytes of a file, or the whole shorter file; a terminator follows them.
 * `name` is for messages. */
roast_status roast_path_read_front(int fd, const char *name, size_t size, roast_buffer *out,
                                   roast_error *err);
/* All of a file into an empty buffer; errors as of roast_path_open. */
roast_status roast_path_read(const char *directory, const char *name, size_t limit,
                             roast_buffer *out, roast_error *err);

#endif
