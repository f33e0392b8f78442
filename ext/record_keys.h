/* The keys of a chunk mapping, as they stand in roast/columns.h: how each is made from the record, and how
 * a record is made from it.
 *
 *   REAL(key, field, per)    a number of the record, so many to the unit of the key
 *   INT(key, field)          a whole number of the record
 *   TEXT(key, member)        a string of the record
 *   OTHER(key, function)     made by a function of record_values.c */
#ifndef ROAST_EXT_RECORD_KEYS_H
#define ROAST_EXT_RECORD_KEYS_H

#include "roast/columns.h"

#define EXT_RECORD_KEYS(REAL, INT, TEXT, OTHER)                                                    \
    ROAST_CHUNK_KEYS(REAL, INT, TEXT, OTHER, OTHER, OTHER, OTHER)

#endif
