#include "analyse/statistics/intervals.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/formulas.h"

/* ---- distributions ---- */

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

/* ---- the number of a value among all differences ---- */

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* All means of two values (i <= j), or all differences b - a: there may be too many of them to make, but those up to
 * a limit can be counted in one walk, as the values are sorted. */
typedef struct all_pairs {
    const double *a, *b; /* b is NULL: means of two values of a */
    size_t n_a, n_b;
} all_pairs;

static double count_up_to(const all_pairs *all, double limit) {
    double count = 0;
    if (all->b == NULL) {
        size_t end = all->n_a; /* of the values that are small enough for a[i] */
        for (size_t i = 0; i < all->n_a; i++) {
            while (end > 0 && (all->a[i] + all->a[end - 1]) / 2 > limit)
                end--;
            if (end > i)
                count += (double)(end - i);
        }
        return count;
    }
    size_t end = 0;
    for (size_t i = 0; i < all->n_a; i++) {
        while (end < all->n_b && all->b[end] - all->a[i] <= limit)
            end++;
        count += (double)end;
    }
    return count;
}

/* The value in a place, counted from 1, if all were sorted. */
static double value_in_place(const all_pairs *all, double place) {
    double low = all->b == NULL ? all->a[0] : all->b[0] - all->a[all->n_a - 1];
    double high = all->b == NULL ? all->a[all->n_a - 1] : all->b[all->n_b - 1] - all->a[0];
    if (count_up_to(all, low) >= place)
        return low;
    for (int round = 0; round < 100; round++) {
        double middle = low + (high - low) / 2;
        if (middle == low || middle == high || high - low <= 1e-12 * fmax(fabs(low), fabs(high)))
            break;
        if (count_up_to(all, middle) >= place)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* `out`: how many of the smallest, and of the largest, lie outside of the interval; less than 1: too few values. */
static roast_interval between(const all_pairs *all, double count, double outside) {
    double lower = value_in_place(all, ceil(count / 2));
    double upper = fmod(count, 2) == 0 ? value_in_place(all, count / 2 + 1) : lower;
    roast_interval found = {(lower + upper) / 2, NAN, NAN};
    if (outside >= 1) {
        found.low = value_in_place(all, outside);
        found.high = value_in_place(all, count - outside + 1);
    }
    return found;
}

/* ---- pairs ---- */

/* Up to here the distribution of the statistic is counted, beyond it is near enough to a normal one. */
enum { MOST_COUNTED = 50, MOST_SUMS = MOST_COUNTED * (MOST_COUNTED + 1) / 2 };

/* The largest k with P(statistic < k) <= tail, from the probability of each value of the statistic. */
static double count_tail(const double *chances, size_t count, double tail) {
    double below = 0;
    size_t k = 0;
    while (k < count && below + chances[k] <= tail)
        below += chances[k++];
    return (double)k;
}

/* The sums of ranks 1 to n where each rank counts or not, with equal chances. */
static double signed_rank_outside(size_t n, double alpha) {
    double chances[MOST_SUMS + 1] = {1};
    size_t top = 0;
    if (n > MOST_COUNTED) {
        double count = (double)n, all = count * (count + 1) / 2;
        double spread = sqrt(count * (count + 1) * (2 * count + 1) / 24);
        return floor(all / 2 - roast_normal_above(alpha / 2) * spread + 0.5);
    }
    for (size_t rank = 1; rank <= n; rank++) {
        top += rank;
        for (size_t sum = top + 1; sum-- > 0;)
            chances[sum] = (chances[sum] + (sum >= rank ? chances[sum - rank] : 0)) / 2;
    }
    return count_tail(chances, top + 1, alpha / 2);
}

roast_interval roast_signed_rank_interval(double *differences, size_t count, double alpha) {
    const all_pairs all = {differences, NULL, count, 0};
    if (count == 0)
        return (roast_interval){NAN, NAN, NAN};
    qsort(differences, count, sizeof *differences, ascending);
    return between(&all, (double)count * ((double)count + 1) / 2,
                   signed_rank_outside(count, alpha));
}

/* ---- two groups ---- */

enum { MOST_EACH = 20 };

/* The number of pairs in which b is smaller, for each arrangement of both groups, by their sizes. */
static double rank_sum_outside(size_t n_a, size_t n_b, double alpha) {
    double chances[MOST_EACH + 1][MOST_EACH * MOST_EACH + 1];
    double a = (double)n_a, b = (double)n_b;
    if (n_a > MOST_EACH || n_b > MOST_EACH) {
        double spread = sqrt(a * b * (a + b + 1) / 12);
        return floor(a * b / 2 - roast_normal_above(alpha / 2) * spread + 0.5);
    }
    memset(chances, 0, sizeof chances);
    for (size_t j = 0; j <= n_b; j++)
        chances[j][0] = 1; /* without a there are no pairs */
    for (size_t i = 1; i <= n_a; i++)
        for (size_t j = 1; j <= n_b; j++) {
            /* The largest of all is one of a, and has j smaller ones of b, or it is one of b. chances[j] still holds
             * the row of i - 1, chances[j - 1] that of i. */
            double from_a = (double)i / (double)(i + j);
            for (size_t u = i * j + 1; u-- > 0;)
                chances[j][u] =
                    from_a * (u >= j ? chances[j][u - j] : 0) + (1 - from_a) * chances[j - 1][u];
        }
    return count_tail(chances[n_b], n_a * n_b + 1, alpha / 2);
}

roast_interval roast_rank_sum_interval(double *a, size_t n_a, double *b, size_t n_b, double alpha) {
    const all_pairs all = {a, b, n_a, n_b};
    if (n_a == 0 || n_b == 0)
        return (roast_interval){NAN, NAN, NAN};
    qsort(a, n_a, sizeof *a, ascending);
    qsort(b, n_b, sizeof *b, ascending);
    return between(&all, (double)n_a * (double)n_b, rank_sum_outside(n_a, n_b, alpha));
}

/* ---- few values ---- */

static roast_stats stats_of(const double *values, size_t count) {
    roast_stats stats = {0};
    for (size_t i = 0; i < count; i++)
        roast_stats_add(&stats, values[i]);
    return stats;
}

roast_interval roast_welch_interval(const double *a, size_t n_a, const double *b, size_t n_b,
                                    double alpha) {
    if (n_a == 0 || n_b == 0)
        return (roast_interval){NAN, NAN, NAN};
    roast_stats of_a = stats_of(a, n_a), of_b = stats_of(b, n_b);
    roast_interval found = {of_b.mean - of_a.mean, NAN, NAN};
    if (n_a < 2 || n_b < 2)
        return found;
    double error_a = of_a.m2 / (double)(n_a - 1) / (double)n_a;
    double error_b = of_b.m2 / (double)(n_b - 1) / (double)n_b;
    double error = error_a + error_b, reach = 0;
    if (error > 0) {
        double degrees =
            error * error /
            (error_a * error_a / (double)(n_a - 1) + error_b * error_b / (double)(n_b - 1));
        reach = sqrt(error) * roast_student_above(alpha / 2, degrees);
    }
    found.low = found.at - reach;
    found.high = found.at + reach;
    return found;
}
