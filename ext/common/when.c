#include "common/when.h"

#include <datetime.h>
#include <math.h>
#include <time.h>

#define SECOND INT64_C(1000000000)
#define DAY    INT64_C(86400)

/* The interpreter's datetime module, looked up once. */
static int need_datetime(void) {
    if (PyDateTimeAPI == NULL)
        PyDateTime_IMPORT;
    return PyDateTimeAPI != NULL ? 0 : -1;
}

/* ---- in ---- */

static int out_of_range(const char *what) {
    PyErr_Format(PyExc_ValueError, "%s: a time out of range (years 1678 to 2261)", what);
    return -1;
}

/* Whole seconds and what is left, which may be beyond a second. */
static int join_parts(int64_t seconds, int64_t ns, const char *what, roast_utc *out) {
    int64_t whole;
    if (__builtin_mul_overflow(seconds, SECOND, &whole) ||
        __builtin_add_overflow(whole, ns, &out->ns))
        return out_of_range(what);
    return 0;
}

/* Seconds and microseconds by which the local time is ahead of UTC. */
static int offset_of(PyObject *value, int64_t *seconds, int64_t *us) {
    *seconds = *us = 0;
    if (PyDateTime_DATE_GET_TZINFO(value) == Py_None ||
        PyDateTime_DATE_GET_TZINFO(value) == PyDateTime_TimeZone_UTC)
        return 0;
    PyObject *offset = PyObject_CallMethod(value, "utcoffset", NULL);
    if (offset == NULL)
        return -1;
    if (PyDelta_Check(offset)) {
        *seconds = PyDateTime_DELTA_GET_DAYS(offset) * DAY + PyDateTime_DELTA_GET_SECONDS(offset);
        *us = PyDateTime_DELTA_GET_MICROSECONDS(offset);
    }
    Py_DECREF(offset);
    return 0;
}

/* Days from 1970 to a date of years 1 to 9999. timegm takes 20 times as long, and tracking data of a large cluster has
 * millions of times. */
static int64_t days_since_1970(int year, int month, int day) {
    year -= month <= 2; /* years begin in March: the leap day is their last */
    int era = year / 400, of_era = year % 400;
    int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return (int64_t)era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719468;
}

static int parse_datetime(PyObject *value, const char *what, roast_utc *out) {
    int64_t ahead, ahead_us;
    if (offset_of(value, &ahead, &ahead_us) != 0)
        return -1;
    int64_t days = days_since_1970(PyDateTime_GET_YEAR(value), PyDateTime_GET_MONTH(value),
                                   PyDateTime_GET_DAY(value));
    int64_t seconds = days * DAY + PyDateTime_DATE_GET_HOUR(value) * 3600 +
                      PyDateTime_DATE_GET_MINUTE(value) * 60 + PyDateTime_DATE_GET_SECOND(value);
    return join_parts(seconds - ahead, (PyDateTime_DATE_GET_MICROSECOND(value) - ahead_us) * 1000,
                      what, out);
}

static int parse_text(PyObject *value, const char *what, roast_utc *out) {
    PyObject *parsed =
        PyObject_CallMethod((PyObject *)PyDateTimeAPI->DateTimeType, "fromisoformat", "O", value);
    if (parsed == NULL) {
        if (PyErr_ExceptionMatches(PyExc_ValueError))
            PyErr_Format(PyExc_ValueError, "%s: %R is no time in ISO form", what, value);
        return -1;
    }
    int result = parse_datetime(parsed, what, out);
    Py_DECREF(parsed);
    return result;
}

static int parse_number(PyObject *value, const char *what, roast_utc *out) {
    double seconds = PyFloat_AsDouble(value);
    if (seconds == -1.0 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError,
                         "%s: a datetime, a text in ISO form or seconds since 1970 are expected, "
                         "not %s",
                         what, Py_TYPE(value)->tp_name);
        return -1;
    }
    double whole = floor(seconds);
    if (!(whole > -9.3e9 && whole < 9.3e9))
        return out_of_range(what);
    return join_parts((int64_t)whole, llround((seconds - whole) * 1e9), what, out);
}

int ext_when_parse(PyObject *value, const char *what, roast_utc *out) {
    if (need_datetime() != 0)
        return -1;
    if (PyDateTime_Check(value))
        return parse_datetime(value, what, out);
    if (PyUnicode_Check(value))
        return parse_text(value, what, out);
    return parse_number(value, what, out);
}

/* ---- out ---- */

PyObject *ext_when_object(roast_utc when) {
    if (need_datetime() != 0)
        return NULL;
    time_t seconds = when.ns / SECOND - (when.ns % SECOND < 0);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    return PyDateTimeAPI->DateTime_FromDateAndTime(
        parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
        parts.tm_sec, (int)((when.ns - seconds * SECOND) / 1000), PyDateTime_TimeZone_UTC,
        PyDateTimeAPI->DateTimeType);
}
