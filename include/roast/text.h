/* How near a mistyped name is to a known one. */
#ifndef ROAST_TEXT_H
#define ROAST_TEXT_H

#include "roast/base.h"

/* Names longer than this are not compared. */
#define ROAST_EDIT_MAX 127u

/* How many letters must be inserted, removed, replaced, or swapped with their neighbour to turn `a` into `b`.
 * Letters are bytes. SIZE_MAX where one is longer than ROAST_EDIT_MAX or absent. */
size_t roast_edit_distance(roast_str a, roast_str b);

/* Picks the nearest of many names: init, offer each, read `found`. */
typedef struct roast_nearest {
    roast_str wanted;
    roast_str found; /* borrowed from the offer; absent while nothing is near */
    size_t distance; /* of `found`; just beyond the limit while there is none */
} roast_nearest;

/* A name is near if at most a third of the letters differ, or two; with fewer than four letters, one. The text is
 * borrowed. */
void roast_nearest_init(roast_nearest *nearest, roast_str wanted);
/* Keeps `name` if it is nearer than earlier offers. A name that begins with a `wanted` of three letters or more
 * counts as just near enough. Nothing is near to an empty text. */
void roast_nearest_offer(roast_nearest *nearest, roast_str name);

#endif
