/* Where a file is stored: the protocol and host (the server) in its name. */
#ifndef ROAST_MODEL_STORAGE_H
#define ROAST_MODEL_STORAGE_H

#include "roast/base.h"

#define ROAST_MAX_STORAGE 300u /* bytes; a longer one is cut */

/* "root://door.example.org", "https://door:8443", "s3://bucket"; "file" for a path. In small letters, without the user
 * and without the usual port of the protocol, so that one server has one name. Of a chain ("simplecache::root://...") the
 * last part counts. Written as snprintf does: the length without the terminator; an absent name gives "". */
size_t roast_storage_of(roast_str file, char *out, size_t size);

#endif
