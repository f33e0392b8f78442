/* Temporary directories of saves, also those of killed saves. */
#ifndef ROAST_STORE_TEMPORARY_H
#define ROAST_STORE_TEMPORARY_H

#include "store/place/place.h"

/* Whether a name is that of a temporary directory of ours. */
bool roast_temporary_is(const char *name);
/* A new name for a temporary directory of this place. false: see errno. */
bool roast_temporary_name(const roast_target *place, char out[ROAST_TEMPORARY_NAME]);
/* Makes and locks one; false: see errno. */
bool roast_temporary_make(const roast_target *place, roast_temporary *out);
/* Removes the files of a measurement that lie in `name`, a directory of the place's folder, and the directory, if
 * nothing else is in it. Other files move to the directory `heir`, if there is one. */
void roast_temporary_empty(const roast_target *place, const char *name, const char *heir);
/* The same for a directory that was replaced, or never took the place. */
void roast_temporary_retire(const roast_target *place, const char *name);
/* Retires the temporary directories of this place without a lock. */
void roast_temporary_sweep(const roast_target *place);

#endif
