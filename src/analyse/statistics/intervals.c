#include "analyse/statistics/intervals.h"

#include <math.h>

/* Where a falling function crosses `p`. */
static double crossing(double (*function)(double at, double with), double with, double p,
                       double low, double high) {
    for (int round = 0; round < 200 && low < high; round++) {
        double middle = low + (high - low) / 2;
        if (middle == low || middle == high)
            break;
        if (function(middle, with) > p)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

static double normal_tail(double at, double with) {
    (void)with;
    return erfc(at / sqrt(2)) / 2;
}

double roast_normal_above(double p) {
    return crossing(normal_tail, 0, p, -40, 40);
}
