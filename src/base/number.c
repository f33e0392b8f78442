#include "base/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roast/base.h"

/* ---- as text ---- */

static locale_t plain_locale; /* 0: memory is short */
static pthread_once_t plain_once = PTHREAD_ONCE_INIT;

static void make_locale(void) {
    plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

int roast_number_print(char *out, size_t size, const char *format, ...) {
    va_list values;
    pthread_once(&plain_once, make_locale);
    locale_t before = uselocale(plain_locale); /* of this thread; with 0 it stays */
    va_start(values, format);
    int len = vsnprintf(out, size, format, values);
    va_end(values);
    uselocale(before);
    return len;
}

double roast_number_read(const char *text, char **end) {
    pthread_once(&plain_once, make_locale);
    return plain_locale != (locale_t)0 ? strtod_l(text, end, plain_locale) : strtod(text, end);
}

/* The fewest digits that read back as the same number. Up to DBL_DIG of them survive the way through
 * a double, so that printing so many finds any shorter form too, its zeros being cut; below DBL_MIN
 * that does not hold. */
static void print_shortest(double value, char out[ROAST_NUMBER_TEXT]) {
    int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG;
    do
        roast_number_print(out, ROAST_NUMBER_TEXT, "%.*g", digits, value);
    while (digits++ < DBL_DECIMAL_DIG && roast_number_read(out, NULL) != value);
}

size_t roast_number_text(double value, char out[ROAST_NUMBER_TEXT]) {
    if (!isfinite(value)) {
        strcpy(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return strlen(out);
    }
    print_shortest(value, out);
    if (strpbrk(out, ".e") == NULL)
        strcat(out, ".0");
    return strlen(out);
}

size_t roast_number_unknown_to_json(const char *at, size_t left) {
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (left >= strlen(words[i]) && memcmp(at, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
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
