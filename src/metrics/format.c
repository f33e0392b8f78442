#include "metrics/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* From large to small; the last one takes whatever is left. */
typedef struct scale {
    double least; /* in the unit of the list's first column of values */
    double factor;
    const char *name;
} scale;

static const scale seconds[] = {{3600, 1.0 / 3600, "h"}, {60, 1.0 / 60, "min"}, {1, 1, "s"},
                                {1e-3, 1e3, "ms"},       {1e-6, 1e6, "µs"},     {0, 1e9, "ns"}};
static const scale bytes[] = {
    {1e12, 1e-12, "TB"}, {1e9, 1e-9, "GB"}, {1e6, 1e-6, "MB"}, {1e3, 1e-3, "kB"}, {0, 1, "B"}};
static const scale byte_rates[] = {
    {1e9, 1e-9, "GB/s"}, {1e6, 1e-6, "MB/s"}, {1e3, 1e-3, "kB/s"}, {0, 1, "B/s"}};
static const scale bit_rates[] = {
    {1e9, 1e-9, "Gbps"}, {1e6, 1e-6, "Mbps"}, {1e3, 1e-3, "kbps"}, {0, 1, "bps"}};
static const scale frequencies[] = {{1e6, 1e-6, "MHz"}, {1e3, 1e-3, "kHz"}, {0, 1, "Hz"}};

/* A unit of the catalogue: the list it is shown with, and how much of the list's own unit it is. */
static const struct {
    const char *unit;
    const scale *scales;
    double is;
} families[] = {
    {"s", seconds, 1},          {"ms", seconds, 1e-3},      {"us", seconds, 1e-6},
    {"µs", seconds, 1e-6},      {"bytes", bytes, 1},        {"MB", bytes, 1e6},
    {"GB", bytes, 1e9},         {"bytes/s", byte_rates, 1}, {"MB/s", byte_rates, 1e6},
    {"Gbit/s", bit_rates, 1e9}, {"Hz", frequencies, 1},     {"kHz", frequencies, 1e3},
};

/* Three digits: 1,234  123  12.3  1.23  0.123; below that with an exponent. */
static int put_number(char *out, size_t size, double value) {
    double magnitude = fabs(value);
    if (value == 0)
        return snprintf(out, size, "0");
    if ((magnitude < 1e-3 || magnitude >= 1e6))
        return snprintf(out, size, "%.2e", value);
    if (magnitude >= 999.5)
        return snprintf(out, size, "%s%d,%03d", value < 0 ? "-" : "",
                        (int)(nearbyint(magnitude) / 1000), (int)fmod(nearbyint(magnitude), 1000));
    int decimals = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : magnitude >= 0.9995 ? 2 : 3;
    return snprintf(out, size, "%.*f", decimals, value);
}

static const scale *scale_named(const scale *scales, const char *name) {
    while (strcmp(scales->name, name) != 0) {
        if (scales->least == 0)
            return NULL;
        scales++;
    }
    return scales;
}

/* 1,234,567: the digits of a whole number, with a sign before them or not. `between`: the comma. */
static void put_grouped(char *out, size_t size, const char *digits, char between) {
    char grouped[64];
    size_t used = 0, left = strlen(digits);
    if (*digits == '-') {
        grouped[used++] = *digits++;
        left--;
    }
    for (; left > 0 && used + 2 < sizeof grouped; left--) {
        grouped[used++] = *digits++;
        if (left > 1 && left % 3 == 1)
            grouped[used++] = between;
    }
    grouped[used] = '\0';
    snprintf(out, size, "%s", grouped);
}

void roast_format_count(double count, char between, char *out, size_t size) {
    char digits[32];
    snprintf(digits, sizeof digits, "%.0f", fmax(-1e18, fmin(count, 1e18)));
    put_grouped(out, size, digits, between);
}

static const scale *scale_for(const scale *scales, double magnitude, double rounded_up) {
    while (scales->least > 0 && magnitude < scales->least * rounded_up)
        scales++;
    return scales;
}

void roast_format_short(double value, roast_short_unit unit, char *out, size_t size) {
    const scale *of = unit == ROAST_SHORT_TIME ? seconds : bytes;
    const scale *as = value == 0 ? scale_named(of, unit == ROAST_SHORT_TIME ? "s" : "B")
                                 : scale_for(of, fabs(value), 0.995);
    /* 100 s say more than 1.7 min. */
    if (unit == ROAST_SHORT_TIME && value >= 60 && value < 120)
        as = scale_named(of, "s");
    double shown = unit == ROAST_SHORT_RATIO ? value : value * as->factor, digits = fabs(shown);
    int decimals = digits == 0 || digits >= 9.95 ? 0
                   : digits >= 0.995             ? 1
                   : digits >= 0.0995            ? 2
                                                 : 3;
    snprintf(out, size, "%.*f%s%s", decimals, shown, unit == ROAST_SHORT_RATIO ? "" : " ",
             unit == ROAST_SHORT_RATIO ? "" : as->name);
}

static int put_scaled(char *out, size_t size, const scale *scales, double value) {
    double magnitude = fabs(value);
    /* A value that would be rounded up to 1000 of a unit is one of the next. */
    scales = scale_for(scales, magnitude, 0.9995);
    if (value == 0)
        while (scales->factor != 1) /* the list's own unit */
            scales--;
    char number[64];
    put_number(number, sizeof number, value * scales->factor);
    return snprintf(out, size, "%s %s", number, scales->name);
}

/* "kHz/core" is shown as kHz, followed by "/core". */
static size_t base_length(const char *unit) {
    size_t len = strlen(unit);
    return len > 5 && strcmp(unit + len - 5, "/core") == 0 ? len - 5 : len;
}

static void put_value(char *out, size_t size, roast_value value, const char *unit) {
    double number = roast_value_number(value);
    size_t len = base_length(unit);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strlen(families[i].unit) == len && memcmp(unit, families[i].unit, len) == 0) {
            char text[80];
            put_scaled(text, sizeof text, families[i].scales, number * families[i].is);
            snprintf(out, size, "%s%s", text, unit + len);
            return;
        }
    bool bare = strcmp(unit, "1") == 0 || strcmp(unit, "ratio") == 0 || unit[0] == '\0';
    char text[64];
    if (value.kind == ROAST_VALUE_INT) {
        char digits[32];
        snprintf(digits, sizeof digits, "%" PRId64, value.integer);
        put_grouped(text, sizeof text, digits, ',');
    } else
        put_number(text, sizeof text, number);
    snprintf(out, size, "%s%s%s", text, bare ? "" : " ", bare ? "" : unit);
}

/* Three digits that say something, however small the number: 0.000123. */
static void put_significant(char *out, size_t size, double value) {
    double magnitude = fabs(value);
    int decimals = 3;
    if (magnitude >= 0.1 || magnitude < 1e-6) {
        put_number(out, size, value);
        return;
    }
    for (double least = 0.1; magnitude < least * 0.9995; least /= 10)
        decimals++;
    snprintf(out, size, "%.*f", decimals, value);
}

/* The number in another unit of its family; the unit itself where it has none of that name. */
static void put_value_as(char *out, size_t size, roast_value value, const char *unit,
                         const char *shown) {
    double number = roast_value_number(value);
    size_t len = base_length(unit);
    char text[64];
    if (shown[0] == '\0') {
        put_number(text, sizeof text, number);
        snprintf(out, size, "%s", text);
        return;
    }
    if (strcmp(unit, "ratio") == 0 && strcmp(shown, "%") == 0) {
        put_number(text, sizeof text, number * 100);
        snprintf(out, size, "%s %%", text);
        return;
    }
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const scale *as = scale_named(families[i].scales, shown);
        if (as == NULL || strlen(families[i].unit) != len ||
            memcmp(unit, families[i].unit, len) != 0)
            continue;
        put_significant(text, sizeof text, number * families[i].is * as->factor);
        snprintf(out, size, "%s %s%s", text, shown, unit + len);
        return;
    }
    put_value(out, size, value, unit);
}

size_t roast_format_value_as(roast_value value, const char *unit, const char *shown, char *out,
                             size_t size) {
    char text[160] = "-";
    if (value.kind != ROAST_VALUE_NONE && isfinite(roast_value_number(value)))
        put_value_as(text, sizeof text, value, unit, shown);
    snprintf(out, size, "%s", text);
    return strlen(text);
}

size_t roast_format_value(roast_value value, const char *unit, char *out, size_t size) {
    char text[160] = "-";
    if (value.kind != ROAST_VALUE_NONE && isfinite(roast_value_number(value)))
        put_value(text, sizeof text, value, unit);
    snprintf(out, size, "%s", text);
    return strlen(text);
}
