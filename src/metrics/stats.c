#include "metrics/formulas.h"

#include <stdlib.h>

/* ---- mean, spread, extremes ---- */

void roast_stats_add(roast_stats *stats, double value) {
    if (stats->count == 0 || value < stats->min)
        stats->min = value;
    if (stats->count == 0 || value > stats->max)
        stats->max = value;
    stats->count++;
    double delta = value - stats->mean;
    stats->mean += delta / (double)stats->count;
    stats->m2 += delta * (value - stats->mean);
}

double roast_stats_std(const roast_stats *stats) {
    return stats->count < 2 ? 0 : sqrt(stats->m2 / (double)(stats->count - 1));
}

/* ---- a line ---- */

void roast_line_add(roast_line *line, double x, double y) {
    line->count++;
    double share = 1 / (double)line->count;
    double dx = x - line->mean_x, dy = y - line->mean_y;
    line->mean_x += dx * share;
    line->mean_y += dy * share;
    line->m2_x += dx * (x - line->mean_x);
    line->m2_y += dy * (y - line->mean_y);
    line->c_xy += dx * (y - line->mean_y);
}

bool roast_line_fit(const roast_line *line, double *intercept, double *slope) {
    if (line->count < 2 || !(line->m2_x > 0))
        return false;
    *slope = line->c_xy / line->m2_x;
    *intercept = line->mean_y - *slope * line->mean_x;
    return true;
}

double roast_line_intercept_error(const roast_line *line) {
    double n = (double)line->count;
    if (line->count < 3 || !(line->m2_x > 0))
        return NAN;
    double left = fmax(0, line->m2_y - line->c_xy * line->c_xy / line->m2_x) / (n - 2);
    return sqrt(left * (1 / n + line->mean_x * line->mean_x / line->m2_x));
}

bool roast_line_correlation(const roast_line *line, double *r) {
    if (line->count < 2 || !(line->m2_x > 0) || !(line->m2_y > 0))
        return false;
    double value = line->c_xy / (sqrt(line->m2_x) * sqrt(line->m2_y));
    *r = value > 1 ? 1 : value < -1 ? -1 : value; /* rounding may lead a little beyond */
    return true;
}

/* ---- mean over time ---- */

void roast_time_average_add(roast_time_average *average, double time, double value) {
    if (average->count == 0)
        average->first = average->last = time;
    if (time > average->last) {
        average->integral += (average->last_value + value) / 2 * (time - average->last);
        average->last = time;
    }
    average->last_value = value;
    average->count++;
}

double roast_time_average_get(const roast_time_average *average) {
    if (average->count == 0)
        return NAN;
    double span = average->last - average->first;
    return span > 0 ? average->integral / span : average->last_value;
}

/* ---- the value in a place ---- */

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Hoare's selection: the values are split at a pivot, and the part with the place is split again. Values that always
 * split badly would take a quadratic time: after some rounds that part is sorted. */
double roast_select(double *values, size_t count, size_t place) {
    enum { ROUNDS = 64 };
    size_t low = 0, high = count - 1;
    for (int round = 0; low < high; round++) {
        if (round == ROUNDS) {
            qsort(values + low, high - low + 1, sizeof *values, ascending);
            break;
        }
        double pivot = values[low + (high - low) / 2];
        size_t i = low - 1, j = high + 1; /* may wrap: both are moved before they are used */
        for (;;) {
            do
                i++;
            while (values[i] < pivot);
            do
                j--;
            while (values[j] > pivot);
            if (i >= j)
                break;
            double kept = values[i];
            values[i] = values[j];
            values[j] = kept;
        }
        if (place <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[place];
}

double roast_median(double *values, size_t count) {
    if (count == 0)
        return NAN;
    double upper = roast_select(values, count, count / 2), lower = -INFINITY;
    if (count % 2 == 1)
        return upper;
    for (size_t i = 0; i < count / 2; i++)
        lower = values[i] > lower ? values[i] : lower;
    return (lower + upper) / 2;
}
