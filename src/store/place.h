/* Where a measurement lies: its directory is written under a temporary name beside it and takes its
 * place in one step. Everything is done relative to the folder above, which stays open. */
#ifndef ROAST_STORE_PLACE_H
#define ROAST_STORE_PLACE_H

#include "roast/base.h"
#include "roast/store.h"

#define ROAST_STORE_DATABASE "run.sqlite"
#define ROAST_STORE_MARKER   "live"

typedef struct roast_place {
    char *folder;     /* the folder above */
    const char *name; /* of the measurement in it */
    char *path;       /* both */
    int folder_fd;
} roast_place;

enum { ROAST_TEMPORARY_NAME = 64 };

/* A directory with a temporary name, locked for as long as it is open. */
typedef struct roast_temporary {
    char name[ROAST_TEMPORARY_NAME];
    int fd; /* -1: none */
} roast_temporary;

/* Folders above it are made where they are missing. */
roast_status roast_place_open(roast_place *place, const char *path, roast_error *err);
void roast_place_close(roast_place *place);
/* Whether there may be a new measurement; what is there stays. */
roast_status roast_place_check(const roast_place *place, bool overwrite, roast_error *err);

/* Removes what killed saves of this name left, and makes a new temporary directory. */
roast_status roast_place_begin(const roast_place *place, roast_temporary *temporary,
                               roast_error *err);
/* The path of a file in it; to be freed. NULL: no memory. */
char *roast_place_inside(const roast_place *place, const roast_temporary *temporary,
                         const char *file);
roast_status roast_temporary_write(const roast_temporary *temporary, const char *name,
                                   const void *bytes, size_t len, roast_error *err);
/* Makes sure that a file of it is on the disk. */
roast_status roast_temporary_sync(const roast_temporary *temporary, const char *name,
                                  roast_error *err);
/* Puts the temporary directory in its place, then removes what it replaced. */
roast_status roast_place_commit(const roast_place *place, roast_temporary *temporary,
                                bool overwrite, roast_error *err);
/* Removes it. */
void roast_place_discard(const roast_place *place, roast_temporary *temporary);
/* Removes the measurement; what else lies in its directory stays, and the directory with it. */
void roast_place_remove(const roast_place *place);

/* "DIR/name", to be freed; NULL: no memory. */
char *roast_path_join(const char *directory, const char *name);
/* All of a regular file. ROAST_ENOTFOUND names it; ROAST_ECORRUPT: longer than `limit`. A
 * terminator is put behind the bytes, which are the caller's. */
roast_status roast_path_read(const char *directory, const char *name, size_t limit, char **bytes,
                             size_t *len, roast_error *err);

#endif
