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

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double x, double a, double b) {
    enum { MOST_TERMS = 10000 };
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < MOST_TERMS; m++) {
        const double terms[2] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                                 -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
        double factor = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + terms[i] / c;
            c = fabs(c) < tiny ? tiny : c;
            factor = c * d;
            value *= factor;
        }
        if (fabs(factor - 1) < 1e-15)
            break;
    }
    return value;
}

static double regular_beta(double x, double a, double b) {
    if (!(x > 0))
        return 0;
    if (!(x < 1))
        return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    /* The fraction converges fast on this side. */
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(1 - x, b, a) / b;
}

static double student_tail(double at, double degrees) {
    double half = regular_beta(degrees / (degrees + at * at), degrees / 2, 0.5) / 2;
    return at < 0 ? 1 - half : half;
}

double roast_student_above(double p, double degrees) {
    double bound = 2;
    while (bound < 1e300 && student_tail(bound, degrees) > fmin(p, 1 - p))
        bound *= 2;
    return crossing(student_tail, degrees, p, -bound, bound);
}
