#include "roast/scaling.h"

#include <math.h>
#include <stdlib.h>

#include "analyse/statistics/intervals.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "metrics/formulas.h"

static const char where[] = "scaling";
/* Runs whose cores differ by less are of one size: cores are a mean over time. */
static const double same_size = 0.05;
/* So much may the events differ, or the events per core. */
static const double same_events = 0.1, same_share = 0.25;
static const double alpha = 0.05;

enum { MOST_NUMBERS = 3, LEAST_SIZES = 3 };

/* A law as least squares: cores / rate = numbers[0] + numbers[1] (N - 1) + numbers[2] N (N - 1). */
typedef struct law_fit {
    int count; /* of the numbers; 0: not known */
    double numbers[MOST_NUMBERS];
    double covariance[MOST_NUMBERS][MOST_NUMBERS];
    double reach; /* of Student's distribution; NaN: too few runs for an interval */
    double error;
} law_fit;

typedef struct kept_run {
    roast_scaling_run run;
    bool has_budget;
    roast_budget_row budget;
    size_t order;
} kept_run;

struct roast_scaling {
    roast_arena arena;
    kept_run *kept;
    size_t n_kept, kept_capacity;
    roast_scaling_run *runs;
    roast_scaling_point *points;
    uint32_t n_points;
    roast_scaling_kind kind;
    law_fit fits[ROAST_LAW_COUNT];
    roast_scaling_loss losses[ROAST_PART_COUNT];
    uint32_t n_losses;
    bool finished;
};

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, where, -1, "no memory for the scaling of runs");
}

/* ---- life ---- */

roast_status roast_scaling_new(roast_scaling **out, roast_error *err) {
    *out = roast_alloc_zero(sizeof **out);
    return *out != NULL ? ROAST_OK : no_memory(err);
}

void roast_scaling_free(roast_scaling *scaling) {
    if (scaling == NULL)
        return;
    roast_arena_reset(&scaling->arena);
    roast_free(scaling->kept);
    roast_free(scaling->runs);
    roast_free(scaling->points);
    roast_free(scaling);
}

roast_status roast_scaling_add(roast_scaling *scaling, roast_str name, const roast_metrics *metrics,
                               const roast_findings *findings, roast_error *err) {
    kept_run one = {.run.cores = roast_value_number(roast_metrics_get(metrics, "total_cores")),
                    .run.wall = roast_value_number(roast_metrics_get(metrics, "wall_time")),
                    .run.events = roast_value_number(roast_metrics_get(metrics, "total_events")),
                    .order = scaling->n_kept};
    if (scaling->finished)
        return roast_error_set(err, ROAST_ESTATE, where, -1, "the runs are already compared");
    if (!(one.run.cores > 0) || !(one.run.wall > 0) || !(one.run.events > 0))
        return roast_error_set(err, ROAST_EINVAL, where, -1,
                               "%.*s: %s not measured; scaling needs events, wall time and cores",
                               (int)name.len, name.data,
                               !(one.run.events > 0) ? "its events were"
                               : !(one.run.wall > 0) ? "its wall time was"
                                                     : "its cores were");
    one.run.rate = one.run.events / one.run.wall;
    const roast_budget_row *budget = findings != NULL ? roast_findings_budget(findings) : NULL;
    one.has_budget = budget != NULL;
    if (budget != NULL)
        one.budget = *budget;
    void *kept = scaling->kept;
    if (roast_array_reserve(&kept, &scaling->kept_capacity, sizeof *scaling->kept,
                            scaling->n_kept + 1) != ROAST_OK)
        return no_memory(err);
    scaling->kept = kept;
    if (roast_arena_str(&scaling->arena, name, &one.run.name) != ROAST_OK)
        return no_memory(err);
    scaling->kept[scaling->n_kept++] = one;
    return ROAST_OK;
}

/* ---- sizes ---- */

static int by_cores(const void *left, const void *right) {
    const kept_run *a = left, *b = right;
    if (a->run.cores != b->run.cores)
        return a->run.cores < b->run.cores ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* The runs are sorted: a size goes on as long as its cores are near those of its first run. */
static void make_points(roast_scaling *scaling) {
    for (size_t i = 0; i < scaling->n_kept;) {
        roast_scaling_point *point = &scaling->points[scaling->n_points];
        double first = scaling->kept[i].run.cores;
        roast_stats cores = {0}, rate = {0}, wall = {0}, events = {0};
        for (; i < scaling->n_kept && scaling->kept[i].run.cores < first * (1 + same_size); i++) {
            roast_scaling_run *run = &scaling->kept[i].run;
            roast_stats_add(&cores, run->cores);
            roast_stats_add(&rate, run->rate);
            roast_stats_add(&wall, run->wall);
            roast_stats_add(&events, run->events);
            run->point = scaling->n_points;
        }
        *point =
            (roast_scaling_point){.runs = (uint32_t)rate.count,
                                  .cores = cores.mean,
                                  .rate = rate.mean,
                                  .wall = wall.mean,
                                  .events = events.mean,
                                  .spread = rate.count > 1 ? roast_stats_std(&rate) : (double)NAN};
        const roast_scaling_point *smallest = &scaling->points[0];
        point->speedup = point->rate / smallest->rate * smallest->cores;
        point->efficiency = point->speedup / point->cores;
        scaling->n_points++;
    }
}

static roast_scaling_kind kind_of(const roast_scaling *scaling) {
    double events[2] = {INFINITY, 0}, shares[2] = {INFINITY, 0};
    for (uint32_t i = 0; i < scaling->n_points; i++) {
        const roast_scaling_point *point = &scaling->points[i];
        events[0] = fmin(events[0], point->events);
        events[1] = fmax(events[1], point->events);
        shares[0] = fmin(shares[0], point->events / point->cores);
        shares[1] = fmax(shares[1], point->events / point->cores);
    }
    if (scaling->n_points < 2)
        return ROAST_SCALING_unknown;
    if (events[1] <= events[0] * (1 + same_events))
        return ROAST_SCALING_strong;
    return shares[1] <= shares[0] * (1 + same_share) ? ROAST_SCALING_weak : ROAST_SCALING_unknown;
}

/* ---- the laws ---- */

static void terms_of(double cores, double out[MOST_NUMBERS]) {
    out[0] = 1;
    out[1] = cores - 1;
    out[2] = cores * (cores - 1);
}

/* Inverts a symmetric matrix of up to three rows by elimination; false: it is singular. */
static bool invert(int n, const double from[MOST_NUMBERS][MOST_NUMBERS],
                   double to[MOST_NUMBERS][MOST_NUMBERS]) {
    double work[MOST_NUMBERS][2 * MOST_NUMBERS] = {{0}};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            work[i][j] = from[i][j];
        work[i][n + i] = 1;
    }
    for (int column = 0; column < n; column++) {
        int best = column;
        for (int row = column + 1; row < n; row++)
            if (fabs(work[row][column]) > fabs(work[best][column]))
                best = row;
        if (!(fabs(work[best][column]) > 1e-300))
            return false;
        for (int j = 0; j < 2 * n; j++) {
            double moved = work[column][j];
            work[column][j] = work[best][j];
            work[best][j] = moved;
        }
        for (int row = 0; row < n; row++) {
            double factor = work[row][column] / work[column][column];
            for (int j = 0; row != column && j < 2 * n; j++)
                work[row][j] -= factor * work[column][j];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            to[i][j] = work[i][n + j] / work[i][i];
    return true;
}

/* Least squares of the relative deviations of cores / rate. */
static bool fit_numbers(const roast_scaling *scaling, int n, law_fit *out) {
    double products[MOST_NUMBERS][MOST_NUMBERS] = {{0}}, right[MOST_NUMBERS] = {0};
    double inverse[MOST_NUMBERS][MOST_NUMBERS] = {{0}}, squares = 0;
    *out = (law_fit){.count = n, .reach = NAN};
    for (size_t i = 0; i < scaling->n_kept; i++) {
        const roast_scaling_run *run = &scaling->kept[i].run;
        double terms[MOST_NUMBERS], measured = run->cores / run->rate;
        terms_of(run->cores, terms);
        for (int a = 0; a < n; a++) {
            right[a] += terms[a] / measured;
            for (int b = 0; b < n; b++)
                products[a][b] += terms[a] * terms[b] / (measured * measured);
        }
    }
    if (!invert(n, products, inverse))
        return false;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            out->numbers[a] += inverse[a][b] * right[b];
    for (size_t i = 0; i < scaling->n_kept; i++) {
        const roast_scaling_run *run = &scaling->kept[i].run;
        double terms[MOST_NUMBERS], sum = 0;
        terms_of(run->cores, terms);
        for (int a = 0; a < n; a++)
            sum += out->numbers[a] * terms[a];
        squares += pow(sum / (run->cores / run->rate) - 1, 2);
    }
    double count = (double)scaling->n_kept, left = count - n;
    out->error = sqrt(squares / count);
    if (left > 0)
        out->reach = roast_student_above(alpha / 2, left);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            out->covariance[a][b] = left > 0 ? inverse[a][b] * squares / left : 0;
    return out->numbers[0] > 0;
}

/* A part that runs in parallel better than perfectly has no meaning in these laws: such a number is 0, and the others
 * are fitted without it. */
static void fit_law(roast_scaling *scaling, roast_law law) {
    law_fit *fit = &scaling->fits[law];
    int n = law == ROAST_LAW_amdahl ? 2 : 3;
    bool found = fit_numbers(scaling, n, fit);
    if (n == 3 && (!found || fit->numbers[2] < 0 || fit->numbers[1] < 0))
        found = fit_numbers(scaling, n = 2, fit);
    if (n == 2 && (!found || fit->numbers[1] < 0))
        found = fit_numbers(scaling, 1, fit);
    if (!found)
        *fit = (law_fit){0};
}

/* ---- losses ---- */

/* Core-seconds per event of a part, over the runs of a size; NaN: a run has no budget. */
static double part_per_event(const roast_scaling *scaling, uint32_t point, int part) {
    double sum = 0, events = 0;
    for (size_t i = 0; i < scaling->n_kept; i++) {
        const kept_run *one = &scaling->kept[i];
        if (one->run.point != point)
            continue;
        if (!one->has_budget)
            return NAN;
        sum += isnan(one->budget.parts[part]) ? 0 : one->budget.parts[part];
        events += one->run.events;
    }
    return sum / events;
}

static int larger_share(const void *left, const void *right) {
    const roast_scaling_loss *a = left, *b = right;
    if (a->share != b->share)
        return a->share > b->share ? -1 : 1;
    return (a->part > b->part) - (a->part < b->part);
}

static void find_losses(roast_scaling *scaling) {
    double all = 0;
    if (scaling->n_points < 2)
        return;
    for (int part = 0; part < ROAST_PART_COUNT; part++) {
        double smallest = part_per_event(scaling, 0, part);
        double largest = part_per_event(scaling, scaling->n_points - 1, part);
        if (isnan(smallest) || isnan(largest))
            return;
        all += largest - smallest;
        scaling->losses[part] = (roast_scaling_loss){(roast_budget_part)part, smallest, largest, 0};
    }
    for (int part = 0; part < ROAST_PART_COUNT; part++) {
        roast_scaling_loss *loss = &scaling->losses[part];
        loss->share = all != 0 ? (loss->largest - loss->smallest) / all : 0;
    }
    qsort(scaling->losses, ROAST_PART_COUNT, sizeof *scaling->losses, larger_share);
    scaling->n_losses = ROAST_PART_COUNT;
}

roast_status roast_scaling_finish(roast_scaling *scaling, roast_error *err) {
    if (scaling->finished)
        return ROAST_OK;
    if (scaling->n_kept == 0)
        return roast_error_set(err, ROAST_ESTATE, where, -1, "there is no run");
    scaling->runs = roast_alloc(scaling->n_kept * sizeof *scaling->runs);
    scaling->points = roast_alloc(scaling->n_kept * sizeof *scaling->points);
    if (scaling->runs == NULL || scaling->points == NULL)
        return no_memory(err);
    qsort(scaling->kept, scaling->n_kept, sizeof *scaling->kept, by_cores);
    make_points(scaling);
    for (size_t i = 0; i < scaling->n_kept; i++)
        scaling->runs[i] = scaling->kept[i].run;
    scaling->kind = kind_of(scaling);
    for (int law = 0; scaling->n_points >= LEAST_SIZES && law < ROAST_LAW_COUNT; law++)
        fit_law(scaling, (roast_law)law);
    find_losses(scaling);
    scaling->finished = true;
    return ROAST_OK;
}

/* ---- results ---- */

const roast_scaling_run *roast_scaling_runs(const roast_scaling *scaling, uint32_t *count) {
    *count = scaling->finished ? (uint32_t)scaling->n_kept : 0;
    return scaling->runs;
}

const roast_scaling_point *roast_scaling_points(const roast_scaling *scaling, uint32_t *count) {
    *count = scaling->n_points;
    return scaling->points;
}

roast_scaling_kind roast_scaling_get_kind(const roast_scaling *scaling) {
    return scaling->kind;
}

const char *roast_scaling_kind_name(roast_scaling_kind kind) {
    static const char *const names[] = {"unknown", "strong", "weak"};
    return (unsigned)kind < ROAST_SCALING_KINDS ? names[kind] : "unknown";
}

const char *roast_law_name(roast_law law) {
    static const char *const names[] = {
#define X(name, label) #name,
        ROAST_LAWS(X)
#undef X
    };
    return (unsigned)law < ROAST_LAW_COUNT ? names[law] : "unknown";
}

const char *roast_law_label(roast_law law) {
    static const char *const labels[] = {
#define X(name, label) label,
        ROAST_LAWS(X)
#undef X
    };
    return (unsigned)law < ROAST_LAW_COUNT ? labels[law] : "unknown";
}

/* numbers[i] / numbers[0], with its error by the errors of both. */
static roast_estimate ratio_of(const law_fit *fit, int i) {
    double base = fit->numbers[0];
    if (i >= fit->count)
        return (roast_estimate){0, 0, 0};
    double ratio = fit->numbers[i] / base;
    double square = fit->covariance[i][i] - 2 * ratio * fit->covariance[0][i] +
                    ratio * ratio * fit->covariance[0][0];
    double reach = fit->reach * sqrt(fmax(0, square)) / base;
    return (roast_estimate){ratio, fmax(0, ratio - reach), ratio + reach};
}

roast_law_fit roast_scaling_fit(const roast_scaling *scaling, roast_law law) {
    roast_law_fit out = {.peak = INFINITY};
    if ((unsigned)law >= ROAST_LAW_COUNT || scaling->fits[law].count == 0)
        return out;
    const law_fit *fit = &scaling->fits[law];
    out.known = true;
    out.error = fit->error;
    out.single = roast_scaling_predict(scaling, law, 1);
    out.serial = ratio_of(fit, 1);
    out.serial.at = fmin(out.serial.at, 1);
    out.serial.high = fmin(out.serial.high, 1);
    out.crosstalk = ratio_of(fit, 2);
    if (out.crosstalk.at > 0)
        out.peak = sqrt(fmax(0, 1 - out.serial.at) / out.crosstalk.at);
    return out;
}

roast_estimate roast_scaling_predict(const roast_scaling *scaling, roast_law law, double cores) {
    double terms[MOST_NUMBERS], sum = 0, square = 0;
    if ((unsigned)law >= ROAST_LAW_COUNT || scaling->fits[law].count == 0 || !(cores > 0))
        return (roast_estimate){NAN, NAN, NAN};
    const law_fit *fit = &scaling->fits[law];
    terms_of(cores, terms);
    for (int a = 0; a < fit->count; a++) {
        sum += fit->numbers[a] * terms[a];
        for (int b = 0; b < fit->count; b++)
            square += terms[a] * terms[b] * fit->covariance[a][b];
    }
    double reach = fit->reach * sqrt(fmax(0, square));
    /* A time that may be nothing gives a rate without a limit. */
    return (roast_estimate){cores / sum, cores / (sum + reach),
                            isnan(reach)  ? (double)NAN
                            : sum > reach ? cores / (sum - reach)
                                          : (double)INFINITY};
}

const roast_scaling_loss *roast_scaling_losses(const roast_scaling *scaling, uint32_t *count) {
    *count = scaling->n_losses;
    return scaling->losses;
}
