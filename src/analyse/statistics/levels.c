#include "analyse/statistics/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "metrics/formulas.h"

enum {
    DEEPEST = 24,       /* bounds the effort, however uneven the division is */
    LEAST_ORDERS = 499, /* random orders of a test */
    PER_RATE = 5,       /* orders as clear as what was measured that are allowed, at least */
    NARROWEST = 4,      /* window */
    NEAREST = 16        /* values on each side of a step that place it */
};

typedef struct ranked {
    double value;
    size_t at;
} ranked;

typedef struct search {
    const double *values;
    double error_rate;
    size_t orders;
    ranked *sorted;  /* of the part under test, as the following */
    double *ranks;   /* less their mean */
    double *sums;    /* of the first k ranks */
    double *weights; /* of the place k: 1 / (k (n - k)) */
    roast_step *steps;
    size_t n_steps;
} search;

/* ---- ranks ---- */

static int by_value(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

/* Equal values share their mean rank. Twice the rank less its mean is a whole number, so that sums are exact. */
static void rank(search *s, size_t first, size_t count) {
    for (size_t i = 0; i < count; i++)
        s->sorted[i] = (ranked){s->values[first + i], i};
    qsort(s->sorted, count, sizeof *s->sorted, by_value);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && s->sorted[next].value == s->sorted[i].value; next++)
            ;
        for (size_t j = i; j < next; j++)
            s->ranks[s->sorted[j].at] = (double)(i + next - 1) - (double)(count - 1);
    }
    for (size_t k = 1; k < count; k++)
        s->weights[k] = 1 / ((double)k * (double)(count - k));
}

static void add_up(search *s, size_t count) {
    s->sums[0] = 0;
    for (size_t k = 0; k < count; k++)
        s->sums[k + 1] = s->sums[k] + s->ranks[k];
}

/* ---- the statistic ---- */

/* The squares of standardized differences, all up to the same factor. */

/* All values before the place k against all after it. */
static double square_at(const search *s, size_t k) {
    return s->sums[k] * s->sums[k] * s->weights[k];
}

/* As many before it as after it, `width`; not yet divided by 2 * width * count. */
static double window_square_at(const search *s, size_t k, size_t width) {
    double difference = s->sums[k + width] + s->sums[k - width] - 2 * s->sums[k];
    return difference * difference;
}

/* Of the clearest place of all values against all others. */
static double clearest_split(const search *s, size_t count, size_t *at) {
    double best = 0;
    for (size_t k = 1; k < count; k++) {
        double square = square_at(s, k);
        if (square > best) {
            best = square;
            *at = k;
        }
    }
    return best;
}

/* Of the clearest place. */
static double clearest(const search *s, size_t count, size_t *at) {
    double best = clearest_split(s, count, at);
    for (size_t width = NARROWEST; 4 * width <= count; width *= 2)
        for (size_t k = width; k + width <= count; k++) {
            double square = window_square_at(s, k, width) / (2 * (double)width * (double)count);
            if (square > best) {
                best = square;
                *at = k;
            }
        }
    return best;
}

/* Whether any place is as clear as `least`. Without a branch in the loops, which are most of the work. */
static bool reaches(const search *s, size_t count, double least) {
    bool reached = false;
    for (size_t k = 1; k < count; k++)
        reached |= square_at(s, k) >= least;
    for (size_t width = NARROWEST; 4 * width <= count && !reached; width *= 2) {
        double enough = least * (2 * (double)width * (double)count);
        for (size_t k = width; k + width <= count; k++)
            reached |= window_square_at(s, k, width) >= enough;
    }
    return reached;
}

/* ---- the test ---- */

/* Each order is made from the one before. */
static void shuffle(search *s, size_t count, uint64_t *state) {
    for (size_t i = 0; i + 1 < count; i++) {
        size_t other = i + (size_t)roast_random_below(state, count - i);
        double moved = s->ranks[other];
        s->ranks[other] = s->ranks[i];
        s->ranks[i] = moved;
    }
}

/* The place of a step that was found at `at`. Ranks tell that there is a step, and miss its place by some runs if one side
 * is much longer. So each value goes to the median that it is nearer to, with the least sum of distances. */
static size_t place_step(search *s, size_t from, size_t at, size_t to) {
    double *copy = s->weights; /* of the test before; as long as all values */
    memcpy(copy, s->values + from, (to - from) * sizeof *copy);
    double before = roast_median(copy, at - from);
    double after = roast_median(copy + (at - from), to - at);
    double sum = 0, least = INFINITY;
    for (size_t k = from; k + 1 < to; k++) {
        sum += fabs(s->values[k] - before) - fabs(s->values[k] - after);
        if (sum < least) {
            least = sum;
            at = k + 1;
        }
    }
    return at;
}

static bool find_step(search *s, size_t first, size_t count, roast_step *out) {
    uint64_t state = UINT64_C(0x726f617374); /* any; fixed, so that the answer is */
    const double rounding = 1 - 1e-9;
    size_t at = 0, reached = 0;
    double most = s->error_rate * (double)(s->orders + 1) * (1 + 1e-9);
    rank(s, first, count);
    add_up(s, count);
    double measured = clearest(s, count, &at);
    if (!(measured > 0)) /* all values are equal */
        return false;
    for (size_t i = 0; i < s->orders; i++) {
        shuffle(s, count, &state);
        add_up(s, count);
        reached += reaches(s, count, measured * rounding);
        if ((double)(reached + 1) > most)
            return false;
    }
    /* The nearest values: others may belong to other levels. */
    size_t from = at > NEAREST ? at - NEAREST : 0;
    size_t to = count - at > NEAREST ? at + NEAREST : count;
    *out = (roast_step){place_step(s, first + from, first + at, first + to),
                        (double)(reached + 1) / (double)(s->orders + 1)};
    return true;
}

static void divide(search *s, size_t first, size_t count, unsigned depth) {
    roast_step step;
    if (depth == DEEPEST || count < 4 || !find_step(s, first, count, &step))
        return;
    divide(s, first, step.at - first, depth + 1);
    s->steps[s->n_steps++] = step;
    divide(s, step.at, first + count - step.at, depth + 1);
}

/* All steps once more, each between its neighbours: by now these are levels, with medians of their own. */
static void place_steps(search *s, size_t count) {
    for (size_t i = 0; i < s->n_steps; i++) {
        size_t from = i > 0 ? s->steps[i - 1].at : 0;
        size_t to = i + 1 < s->n_steps ? s->steps[i + 1].at : count;
        s->steps[i].at = place_step(s, from, s->steps[i].at, to);
    }
}

roast_status roast_levels_find(const double *values, size_t count, double error_rate,
                               roast_step *steps, size_t *n_steps, roast_error *err) {
    if (!(error_rate > 0) || !(error_rate < 1) || count > UINT32_MAX)
        return roast_error_set(err, ROAST_EINVAL, "levels", -1,
                               "an error rate is above 0 and below 1");
    search s = {.values = values, .error_rate = error_rate, .steps = steps};
    s.orders = (size_t)fmax(LEAST_ORDERS, ceil(PER_RATE / error_rate) - 1);
    s.sorted = roast_alloc((count + 1) * sizeof *s.sorted);
    s.ranks = roast_alloc((count + 1) * sizeof *s.ranks);
    s.sums = roast_alloc((count + 1) * sizeof *s.sums);
    s.weights = roast_alloc((count + 1) * sizeof *s.weights);
    bool whole = s.sorted != NULL && s.ranks != NULL && s.sums != NULL && s.weights != NULL;
    if (whole) {
        divide(&s, 0, count, 0);
        place_steps(&s, count);
    }
    roast_free(s.sorted);
    roast_free(s.ranks);
    roast_free(s.sums);
    roast_free(s.weights);
    *n_steps = s.n_steps;
    return whole ? ROAST_OK
                 : roast_error_set(err, ROAST_ENOMEM, "levels", -1, "no memory for the levels");
}

roast_status roast_levels_least(double error_rate, size_t *out, roast_error *err) {
    enum { ENOUGH = 64 }; /* for every rate in use: 1e-15 of all orders are as clear */
    double values[ENOUGH];
    roast_step steps[ENOUGH];
    size_t found = 0, count = 3;
    for (size_t i = 0; i < ENOUGH; i++)
        values[i] = (double)i;
    while (found == 0 && ++count < ENOUGH)
        ROAST_TRY(roast_levels_find(values, count, error_rate, steps, &found, err));
    *out = count;
    return ROAST_OK;
}
