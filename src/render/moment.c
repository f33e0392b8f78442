#include "render/moment.h"

#include <stdio.h>
#include <time.h>

void roast_moment_text(roast_utc when, const char *zone, char out[ROAST_MOMENT_TEXT]) {
    const int64_t second = 1000000000;
    int64_t rest = when.ns % second, before = rest < 0;
    rest += before * second;
    time_t whole = (time_t)(when.ns / second - before);
    struct tm date = {0};
    char fraction[16] = "";
    gmtime_r(&whole, &date);
    if (rest % 1000 != 0)
        snprintf(fraction, sizeof fraction, ".%09d", (int)rest);
    else if (rest != 0)
        snprintf(fraction, sizeof fraction, ".%06d", (int)(rest / 1000));
    snprintf(out, ROAST_MOMENT_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d%s%s", date.tm_year + 1900,
             date.tm_mon + 1, date.tm_mday, date.tm_hour, date.tm_min, date.tm_sec, fraction, zone);
}
