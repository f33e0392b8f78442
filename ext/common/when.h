/* Points in time between Python and the engine. */
#ifndef ROAST_EXT_WHEN_H
#define ROAST_EXT_WHEN_H

#include "common/compat.h"
#include "roast/base.h"

/* From a datetime (without a time zone it is taken as UTC), a text in ISO form, or a number of seconds
 * since 1970. `what` names the value in the message. 0 or -1 with an exception set. */
int ext_when_parse(PyObject *value, const char *what, roast_utc *out);
/* A datetime in UTC, cut to microseconds. NULL with an exception set. */
PyObject *ext_when_object(roast_utc when);

#endif
