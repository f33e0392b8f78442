#include "metrics/formulas.h"

#include <math.h>

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

void roast_stats_merge(roast_stats *stats, const roast_stats *other) {
    if (other->count == 0)
        return;
    if (stats->count == 0) {
        *stats = *other;
        return;
    }
    double mine = (double)stats->count, theirs = (double)other->count;
    double delta = other->mean - stats->mean;
    stats->count += other->count;
    stats->mean += delta * (theirs / (mine + theirs));
    stats->m2 += other->m2 + delta * delta * (mine * theirs / (mine + theirs));
    if (other->min < stats->min)
        stats->min = other->min;
    if (other->max > stats->max)
        stats->max = other->max;
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

bool roast_line_correlation(const roast_line *line, double *r) {
    if (line->count < 2 || !(line->m2_x > 0) || !(line->m2_y > 0))
        return false;
    double value = line->c_xy / (sqrt(line->m2_x) * sqrt(line->m2_y));
    *r = value > 1 ? 1 : value < -1 ? -1 : value; /* rounding may lead a little beyond */
    return true;
}

/* ---- mean over time ---- */

void roast_time_average_add(roast_time_average *average, double time, double value) {
    roast_average_add(average, time, value);
}

double roast_time_average_get(const roast_time_average *average) {
    if (average->count == 0)
        return NAN;
    double span = average->last - average->first;
    return span > 0 ? average->integral / span : average->last_value;
}
