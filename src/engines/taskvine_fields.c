#include "engines/taskvine_fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "roast/attempts.h"

enum { YEAR_S = 366 * 86400 };
#define LAST_MOMENT INT64_C(9000000000000000) /* in the year 2255 */

roast_str roast_fields_next(roast_fields *fields) {
    while (fields->at < fields->end && *fields->at == ' ')
        fields->at++;
    if (fields->at == fields->end)
        return (roast_str){NULL, 0};
    const char *from = fields->at;
    const char *blank = memchr(from, ' ', (size_t)(fields->end - from));
    fields->at = blank != NULL ? blank : fields->end;
    return (roast_str){from, (size_t)(fields->at - from)};
}

roast_str roast_fields_object(roast_fields *fields) {
    const char *from = fields->at < fields->end
                           ? memchr(fields->at, '{', (size_t)(fields->end - fields->at))
                           : NULL;
    const char *to = from != NULL ? memchr(from, '}', (size_t)(fields->end - from)) : NULL;
    if (to == NULL)
        return (roast_str){NULL, 0};
    fields->at = to + 1;
    return (roast_str){from, (size_t)(to + 1 - from)};
}

bool roast_field_number(roast_str field, int64_t most, int64_t *out) {
    int64_t value = 0;
    if (field.len == 0 || field.len > 18)
        return false;
    for (size_t i = 0; i < field.len; i++) {
        if (field.data[i] < '0' || field.data[i] > '9')
            return false;
        value = value * 10 + (field.data[i] - '0');
    }
    *out = value;
    return value <= most;
}

bool roast_field_moment(roast_str field, int64_t *out) {
    return roast_field_number(field, LAST_MOMENT, out) && *out > 0;
}

int64_t roast_field_duration(roast_str field) {
    int64_t us;
    return roast_field_number(field, YEAR_S * INT64_C(1000000), &us) ? us : -1;
}

/* TaskVine writes no blanks, and units without quotes in them. The object ends with a brace, where a number ends. */
static double value_of(roast_str object, const char *name) {
    char front[64], *end;
    int len = snprintf(front, sizeof front, "\"%s\":[", name);
    const char *at = memmem(object.data, object.len, front, (size_t)len);
    if (at == NULL || strchr("-0123456789", at[len]) == NULL)
        return NAN;
    double value = roast_number_read(at + len, &end);
    return (*end == ',' || *end == ']') && isfinite(value) ? value : NAN;
}

void roast_resources_read(roast_str object, roast_resource *wanted, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        wanted[i].value = object.data != NULL ? value_of(object, wanted[i].name) : NAN;
}

int64_t roast_resource_moment(double seconds) {
    if (!(seconds > 0) || seconds > (double)LAST_MOMENT / 1e6)
        return ROAST_NO_TIME;
    return llround(seconds * 1e6);
}
