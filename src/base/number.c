#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roast/base.h"

/* ---- as text ---- */

/* The fewest digits that read back as the same number. Up to DBL_DIG of them survive the way through
 * a double, so that printing so many finds any shorter form too, its zeros being cut; below DBL_MIN
 * that does not hold. */
static void print_shortest(double value, char out[ROAST_NUMBER_TEXT]) {
    int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG;
    do
        snprintf(out, ROAST_NUMBER_TEXT, "%.*g", digits, value);
    while (digits++ < DBL_DECIMAL_DIG && strtod(out, NULL) != value);
}

/* The locale's decimal point, of any length, becomes ours. True if there is a point or an exponent. */
static bool to_plain_point(char *text) {
    bool real = false;
    char *to = text;
    for (const char *at = text; *at != '\0';) {
        size_t plain = strspn(at, "0123456789+-e");
        real = real || memchr(at, 'e', plain) != NULL;
        memmove(to, at, plain);
        to += plain;
        at += plain;
        if (*at != '\0') {
            *to++ = '.';
            at += strcspn(at, "0123456789+-e");
            real = true;
        }
    }
    *to = '\0';
    return real;
}

size_t roast_number_text(double value, char out[ROAST_NUMBER_TEXT]) {
    if (!isfinite(value)) {
        strcpy(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return strlen(out);
    }
    print_shortest(value, out);
    if (!to_plain_point(out))
        strcat(out, ".0");
    return strlen(out);
}

/* ---- sums ---- */

int64_t roast_add_capped(int64_t a, int64_t b) {
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : b > 0 ? INT64_MAX : INT64_MIN;
}

int64_t roast_sub_capped(int64_t a, int64_t b) {
    int64_t difference;
    return !__builtin_sub_overflow(a, b, &difference) ? difference : b < 0 ? INT64_MAX : INT64_MIN;
}
