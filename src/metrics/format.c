#include "metrics/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

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

/* 1,234,567: the digits of a whole number, with a sign before them or not, and a fraction behind them or not.
 * `between`: the comma. */
static void put_grouped(char *out, size_t size, const char *digits, char between) {
    char grouped[64];
    size_t used = 0, left = strcspn(digits, ".");
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
    snprintf(out, size, "%s%s", grouped, digits);
}

void roast_format_count(double count, char between, char *out, size_t size) {
    char digits[32];
    snprintf(digits, sizeof digits, "%.0f", fmax(-1e18, fmin(count, 1e18)));
    put_grouped(out, size, digits, between);
}

/* So many decimals. A number other than 0 that would show as 0 is "< 0.01", a negative one "> -0.01". */
static void put_fixed(char *out, size_t size, double value, int decimals) {
    static const double halves[] = {0.5, 0.05, 0.005, 0.0005};
    static const char *const least[] = {"1", "0.1", "0.01", "0.001"};
    char digits[48];
    if (value == 0)
        snprintf(out, size, "0");
    else if (fabs(value) < halves[decimals])
        snprintf(out, size, value < 0 ? "> -%s" : "< %s", least[decimals]);
    else {
        roast_number_print(digits, sizeof digits, "%.*f", decimals, fmax(-1e18, fmin(value, 1e18)));
        put_grouped(out, size, digits, ',');
    }
}

/* Decimals of a number of three digits. */
static int three_digits(double magnitude) {
    return magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : magnitude >= 0.9995 ? 2 : 3;
}

/* Three digits: 1,234  123  12.3  1.23  0.123 */
static void put_number(char *out, size_t size, double value) {
    put_fixed(out, size, value, three_digits(fabs(value)));
}

/* Bytes are whole, unless there are few on average: 2.5 */
static void put_bytes(char *out, size_t size, double value) {
    put_fixed(out, size, value, fabs(value) >= 9.95 || value == nearbyint(value) ? 0 : 1);
}

static const scale *scale_named(const scale *scales, const char *name) {
    while (strcmp(scales->name, name) != 0) {
        if (scales->least == 0)
            return NULL;
        scales++;
    }
    return scales;
}

static const scale *scale_for(const scale *scales, double magnitude, double rounded_up) {
    while (scales->least > 0 && magnitude < scales->least * rounded_up)
        scales++;
    return scales;
}

void roast_format_short(double value, roast_short_unit unit, char *out, size_t size) {
    static const char *const behind[] = {[ROAST_SHORT_RATIO] = "", [ROAST_SHORT_SHARE] = "%"};
    const scale *of = unit == ROAST_SHORT_TIME ? seconds : bytes;
    const scale *as = value == 0 ? scale_named(of, unit == ROAST_SHORT_TIME ? "s" : "B")
                                 : scale_for(of, fabs(value), 0.995);
    /* 100 s say more than 1.7 min. */
    if (unit == ROAST_SHORT_TIME && value >= 60 && value < 120)
        as = scale_named(of, "s");
    bool scaled = unit == ROAST_SHORT_TIME || unit == ROAST_SHORT_BYTES;
    double shown = scaled ? value * as->factor : unit == ROAST_SHORT_SHARE ? value * 100 : value;
    double digits = fabs(shown);
    int decimals = digits >= 9.95 ? 0 : digits >= 0.995 ? 1 : digits >= 0.0995 ? 2 : 3;
    if (unit == ROAST_SHORT_SHARE && decimals > 1)
        decimals = 1;
    char number[64];
    put_fixed(number, sizeof number, shown, decimals);
    snprintf(out, size, "%s%s%s", number, scaled ? " " : "", scaled ? as->name : behind[unit]);
}

/* The own unit of a list. */
static const scale *own_scale(const scale *scales) {
    while (scales->factor != 1)
        scales++;
    return scales;
}

static void put_scaled(char *out, size_t size, const scale *scales, double value) {
    /* A value that would be rounded up to 1000 of a unit is one of the next. */
    const scale *as = value == 0 ? own_scale(scales) : scale_for(scales, fabs(value), 0.9995);
    char number[64];
    if (strcmp(as->name, "B") == 0)
        put_bytes(number, sizeof number, value);
    else
        put_number(number, sizeof number, value * as->factor);
    snprintf(out, size, "%s %s", number, as->name);
}

/* "kHz/core" is shown as kHz, followed by "/core". */
static size_t base_length(const char *unit) {
    size_t len = strlen(unit);
    return len > 5 && strcmp(unit + len - 5, "/core") == 0 ? len - 5 : len;
}

/* The number of a unit's family; -1 if it has none. */
static int family_of(const char *unit) {
    size_t len = base_length(unit);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strlen(families[i].unit) == len && memcmp(unit, families[i].unit, len) == 0)
            return (int)i;
    return -1;
}

/* A large count in three digits: "1.23 G". */
static void put_count(char *out, size_t size, roast_value value) {
    static const char *const prefixes[] = {"k", "M", "G", "T", "P", "E"};
    double number = roast_value_number(value);
    size_t prefix = 0;
    if (!(number >= 99999.5)) {
        roast_format_value(value, "1", out, size);
        return;
    }
    for (number /= 1000; number >= 999.5 && prefix < 5; prefix++)
        number /= 1000;
    roast_number_print(out, size, "%.*f %s",
                       number < 9.995   ? 2
                       : number < 99.95 ? 1
                                        : 0,
                       number, prefixes[prefix]);
}

static void put_value(char *out, size_t size, roast_value value, const char *unit) {
    double number = roast_value_number(value);
    int family = family_of(unit);
    char text[80];
    if (strcmp(unit, "count") == 0) {
        put_count(out, size, value);
        return;
    }
    if (family >= 0) {
        put_scaled(text, sizeof text, families[family].scales, number * families[family].is);
        snprintf(out, size, "%s%s", text, unit + base_length(unit));
        return;
    }
    bool bare = strcmp(unit, "1") == 0 || strcmp(unit, "ratio") == 0 || unit[0] == '\0';
    if (strcmp(unit, "%") == 0) {
        put_fixed(text, sizeof text, number, 1);
    } else if (value.kind == ROAST_VALUE_INT) {
        char digits[32];
        snprintf(digits, sizeof digits, "%" PRId64, value.integer);
        put_grouped(text, sizeof text, digits, ',');
    } else if (strcmp(unit, "1") == 0 && fabs(number - nearbyint(number)) < 0.0005 * fabs(number)) {
        put_fixed(text, sizeof text, number, 0); /* "4 cores", though they are an average */
    } else
        put_number(text, sizeof text, number);
    snprintf(out, size, "%s%s%s", text, bare ? "" : " ", bare ? "" : unit);
}

static bool is_shown(roast_value value) {
    return value.kind != ROAST_VALUE_NONE && isfinite(roast_value_number(value));
}

size_t roast_format_value(roast_value value, const char *unit, char *out, size_t size) {
    char text[160] = "-";
    if (is_shown(value))
        put_value(text, sizeof text, value, unit);
    snprintf(out, size, "%s", text);
    return strlen(text);
}

/* ---- columns ---- */

void roast_format_column_add(roast_format_column *column, roast_value value) {
    double magnitude = is_shown(value) ? fabs(roast_value_number(value)) : 0;
    if (magnitude == 0)
        return;
    column->most = fmax(column->most, magnitude);
    column->least = column->least > 0 ? fmin(column->least, magnitude) : magnitude;
}

/* The unit of the largest value; the next smaller one where it makes the least value readable and the largest one not
 * too long. Minutes and hours only where seconds would be too long: parts of a minute are hard to add up. */
static const scale *column_scale(const scale *scales, double least, double most) {
    const double long_number = 9999.5, unreadable = 0.01, readable = 0.1;
    const scale *as = scale_for(scales, most, 0.9995);
    while (scales == seconds && as->least > 1 && most * as[1].factor < long_number)
        as++;
    bool smaller = as->least > 0 && most * as[1].factor < long_number &&
                   least * as->factor < unreadable && least * as[1].factor >= readable;
    return smaller ? as + 1 : as;
}

static void put_in_column(const roast_format_column *column, const scale *scales, double is,
                          double value, char *out, size_t size) {
    double least = column->least * is, most = column->most * is;
    const scale *as = column_scale(scales, least, most);
    double small = least * as->factor;
    /* Three digits of the largest value; one more where the least one would have less than two. */
    int decimals = three_digits(most * as->factor), two = small >= 9.95    ? 0
                                                          : small >= 0.995 ? 1
                                                                           : 2;
    decimals += two > decimals;
    if (decimals > 2)
        decimals = 2;
    if (strcmp(as->name, "B") == 0)
        decimals = 0;
    char number[64];
    put_fixed(number, sizeof number, value * is * as->factor, decimals);
    snprintf(out, size, "%s %s", number, as->name);
}

size_t roast_format_in_column(const roast_format_column *column, roast_value value, char *out,
                              size_t size) {
    int family = family_of(column->unit);
    char text[160];
    if (family < 0 || !is_shown(value) || !(column->most > 0))
        return roast_format_value(value, column->unit, out, size);
    put_in_column(column, families[family].scales, families[family].is, roast_value_number(value),
                  text, sizeof text);
    int len = snprintf(out, size, "%s%s", text, column->unit + base_length(column->unit));
    return (size_t)len;
}
