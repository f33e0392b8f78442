#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/number.h"
#include "store/legacy/internal.h"

#define SECOND INT64_C(1000000000)

/* ---- times ---- */

typedef struct reader {
    const char *at, *end;
} reader;

/* Of an absent text nothing can be read. */
static reader reader_of(roast_str text) {
    return text.data != NULL ? (reader){text.data, text.data + text.len} : (reader){NULL, NULL};
}

static bool take(reader *in, char c) {
    if (in->at == in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

/* Exactly so many digits. */
static bool take_digits(reader *in, int count, int *out) {
    *out = 0;
    for (int i = 0; i < count; i++, in->at++) {
        if (in->at == in->end || *in->at < '0' || *in->at > '9')
            return false;
        *out = *out * 10 + (*in->at - '0');
    }
    return true;
}

/* Up to nine digits after a point. */
static bool take_fraction(reader *in, int64_t *ns) {
    int64_t step = SECOND;
    *ns = 0;
    if (!take(in, '.'))
        return true;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9' && step > 1) {
        step /= 10;
        *ns += (*in->at++ - '0') * step;
    }
    return step < SECOND;
}

/* Seconds that the zone is ahead of UTC. */
static bool take_zone(reader *in, bool *local, int64_t *ahead) {
    int hours, minutes, seconds = 0;
    *ahead = 0;
    *local = in->at == in->end;
    if (*local || take(in, 'Z'))
        return true;
    int sign = take(in, '-') ? -1 : 1;
    if (sign == 1 && !take(in, '+'))
        return false;
    if (!take_digits(in, 2, &hours) || !take(in, ':') || !take_digits(in, 2, &minutes) ||
        (take(in, ':') && !take_digits(in, 2, &seconds)) || hours > 23 || minutes > 59 ||
        seconds > 59)
        return false;
    *ahead = sign * (hours * INT64_C(3600) + minutes * 60 + seconds);
    return true;
}

/* Seconds since 1970; false: there is no such day or time. */
static bool seconds_of(const struct tm *parts, int64_t *out) {
    struct tm day = *parts;
    *out = timegm(&day); /* makes March 2 of February 30 */
    return day.tm_year == parts->tm_year && day.tm_mon == parts->tm_mon &&
           day.tm_mday == parts->tm_mday && day.tm_hour == parts->tm_hour &&
           day.tm_min == parts->tm_min && day.tm_sec == parts->tm_sec;
}

bool roast_legacy_time(roast_str text, roast_utc *out, bool *local) {
    reader in = reader_of(text);
    int year, month, day, hour, minute, second = 0;
    int64_t ns = 0, ahead;
    if (!take_digits(&in, 4, &year) || !take(&in, '-') || !take_digits(&in, 2, &month) ||
        !take(&in, '-') || !take_digits(&in, 2, &day) || !(take(&in, 'T') || take(&in, ' ')) ||
        !take_digits(&in, 2, &hour) || !take(&in, ':') || !take_digits(&in, 2, &minute))
        return false;
    if (take(&in, ':') && (!take_digits(&in, 2, &second) || !take_fraction(&in, &ns)))
        return false;
    const struct tm parts = {.tm_year = year - 1900,
                             .tm_mon = month - 1,
                             .tm_mday = day,
                             .tm_hour = hour,
                             .tm_min = minute,
                             .tm_sec = second};
    int64_t seconds;
    return take_zone(&in, local, &ahead) && in.at == in.end && seconds_of(&parts, &seconds) &&
           !__builtin_mul_overflow(seconds - ahead, SECOND, &seconds) &&
           !__builtin_add_overflow(seconds, ns, &out->ns);
}

roast_utc roast_legacy_from_local(roast_utc local) {
    int64_t ns = local.ns % SECOND, seconds = local.ns / SECOND;
    if (ns < 0) {
        ns += SECOND;
        seconds--;
    }
    struct tm parts;
    time_t as_utc = (time_t)seconds;
    if (gmtime_r(&as_utc, &parts) == NULL)
        return local;
    parts.tm_isdst = -1;
    time_t real = mktime(&parts);
    /* -1 is also a second before 1970, of which there are no measurements. */
    int64_t whole;
    if (real == (time_t)-1 || __builtin_mul_overflow((int64_t)real, SECOND, &whole))
        return local;
    return (roast_utc){whole + ns};
}

/* ---- tuples ---- */

static void skip_blanks(reader *in) {
    while (in->at < in->end && *in->at == ' ')
        in->at++;
}

static int hex_digits(reader *in, int count) {
    int code = 0;
    for (int i = 0; i < count; i++, in->at++) {
        char c = in->at < in->end ? *in->at : '\0';
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

static char *put_utf8(char *to, int code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* The character of an escape; never longer than its spelling. NULL: not an escape of Python. */
static char *put_escape(reader *in, char *to) {
    if (in->at == in->end)
        return NULL;
    char c = *in->at++;
    int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits > 0) {
        int code =
            digits == 8 && in->end - in->at >= 8 && *in->at != '0' ? -1 : hex_digits(in, digits);
        return code >= 0 && code <= 0x10ffff ? put_utf8(to, code) : NULL;
    }
    switch (c) {
    case 'n':
        c = '\n';
        break;
    case 'r':
        c = '\r';
        break;
    case 't':
        c = '\t';
        break;
    case '\\':
    case '\'':
    case '"':
        break;
    default:
        return NULL;
    }
    *to++ = c;
    return to;
}

/* A quoted text; *to moves past it. */
static bool take_quoted(reader *in, char **to, roast_str *out) {
    char quote = *in->at++;
    char *begin = *to;
    while (in->at < in->end && *in->at != quote) {
        if (*in->at != '\\') {
            *(*to)++ = *in->at++;
            continue;
        }
        in->at++;
        if ((*to = put_escape(in, *to)) == NULL)
            return false;
    }
    *out = (roast_str){begin, (size_t)(*to - begin)};
    return take(in, quote);
}

/* None, or the text of a number. */
static bool take_word(reader *in, roast_str *out) {
    const char *begin = in->at;
    while (in->at < in->end && *in->at != ',' && *in->at != ')' && *in->at != ' ')
        in->at++;
    *out = (roast_str){begin, (size_t)(in->at - begin)};
    if (roast_str_equal(*out, roast_str_of("None")))
        *out = (roast_str){NULL, 0};
    return in->at > begin && memchr(begin, '(', (size_t)(in->at - begin)) == NULL;
}

int roast_legacy_tuple(roast_str text, char *bytes, roast_str *out, int max) {
    reader in = reader_of(text);
    int count = 0;
    if (!take(&in, '('))
        return -1;
    for (;;) {
        skip_blanks(&in);
        if (take(&in, ')'))
            break;
        if (count == max || in.at == in.end)
            return -1;
        bool quoted = *in.at == '\'' || *in.at == '"';
        if (!(quoted ? take_quoted(&in, &bytes, &out[count]) : take_word(&in, &out[count])))
            return -1;
        count++;
        skip_blanks(&in);
        if (take(&in, ',') || (in.at < in.end && *in.at == ')'))
            continue;
        return -1;
    }
    return in.at == in.end ? count : -1;
}

/* ---- start and end ---- */

static bool take_real(const char **at, double *out) {
    char *end;
    *out = roast_number_read(*at, &end);
    if (end == *at || !isfinite(*out))
        return false;
    *at = end + strspn(end, " \t\r\n");
    return true;
}

bool roast_legacy_times(roast_str text, double *start, double *end) {
    char copy[128];
    if (text.data == NULL || text.len >= sizeof copy || memchr(text.data, '\0', text.len) != NULL)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    const char *at = copy;
    return take_real(&at, start) && *at++ == ',' && take_real(&at, end) && *at == '\0';
}
