/* Temporary directories of saves, and what killed saves left of them. */
#ifndef ROAST_STORE_TEMPORARY_H
#define ROAST_STORE_TEMPORARY_H

#include "store/place.h"

/* Whether a name is that of a temporary directory of ours. */
bool roast_temporary_is(const char *name);
/* A new name for a temporary directory of this place. false: errno tells. */
bool roast_temporary_name(const roast_place *place, char out[ROAST_TEMPORARY_NAME]);
/* Makes and locks one; false: errno tells. */
bool roast_temporary_make(const roast_place *place, roast_temporary *out);
/* Removes the files of a measurement that lie in `name`, a directory of the place's folder, and the
 * directory, if nothing else is in it. What else is there moves to the directory `heir`, if there
 * is one. */
void roast_temporary_empty(const roast_place *place, const char *name, const char *heir);
/* The same for a directory that was replaced, or never took the place. */
void roast_temporary_retire(const roast_place *place, const char *name);
/* Retires the temporary directories of this place that nobody holds a lock on. */
void roast_temporary_sweep(const roast_place *place);

#endif
