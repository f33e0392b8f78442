/* Fields of a line of TaskVine's log. */
#ifndef ROAST_ENGINES_TASKVINE_FIELDS_H
#define ROAST_ENGINES_TASKVINE_FIELDS_H

#include <string.h>

#include "roast/base.h"

/* The rest of a line. */
typedef struct roast_fields {
    const char *at, *end;
} roast_fields;

/* The next field; its data is NULL at the end. Fields are separated by one blank or more. */
roast_str roast_fields_next(roast_fields *fields);
/* The next {...}, which holds no other; data NULL: there is none. */
roast_str roast_fields_object(roast_fields *fields);
/* A field that is a whole number of at most `most`. false for anything else. */
bool roast_field_number(roast_str field, int64_t most, int64_t *out);
/* A moment in microseconds since 1970: above 0, and so that its nanoseconds fit into 64 bits. */
bool roast_field_moment(roast_str field, int64_t *out);
/* A duration in microseconds; -1: more than a year, which is a fault of the log, or no number. */
int64_t roast_field_duration(roast_str field);

/* Inline, so that the length of a literal is known to the compiler. */
static inline bool roast_field_is(roast_str field, const char *text) {
    size_t len = strlen(text);
    return field.len == len && len > 0 && memcmp(field.data, text, len) == 0;
}

/* A resource, {"name":[value,"unit"]}. */
typedef struct roast_resource {
    const char *name;
    double value; /* NaN: it is not there */
} roast_resource;
/* Reads the wanted resources of an object. */
void roast_resources_read(roast_str object, roast_resource *wanted, unsigned count);
/* Seconds since 1970 in microseconds; ROAST_NO_TIME for 0, NaN, and what is no moment. */
int64_t roast_resource_moment(double seconds);

#endif
