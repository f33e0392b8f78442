/* Ratios of costs with their intervals. */
#include <stdlib.h>

#include "analyse/compare/internal.h"

/* More values would make the interval narrower than anything that matters. */
enum { MOST_VALUES = 20000 };
/* Chunks are compared in pairs if so many of them have a partner. */
static const double enough_pairs = 0.8;

void roast_change_judge(roast_change *change) {
    change->verdict = isnan(change->low) || isnan(change->high) ? ROAST_LIKELIHOOD_unknown
                      : change->low > 1                         ? ROAST_LIKELIHOOD_more
                      : change->high < 1                        ? ROAST_LIKELIHOOD_less
                                                                : ROAST_LIKELIHOOD_chance;
}

static void set_interval(roast_change *change, roast_interval logs) {
    change->ratio = exp(logs.at);
    change->low = exp(logs.low);
    change->high = exp(logs.high);
    roast_change_judge(change);
}

/* Of more than MOST_VALUES chunks only some are used: every `step`-th on average, chosen by its piece, so that both
 * sides use the same ones, and no pattern in the order of the chunks matters. */
static uint32_t step_for(uint64_t chunks) {
    return chunks > MOST_VALUES ? (uint32_t)(chunks / MOST_VALUES) : 1;
}

static bool is_used(const roast_compared_chunk *chunk, uint32_t step) {
    return step == 1 || (chunk->piece * UINT32_C(2654435761) >> 8) % step == 0;
}

/* ---- pairs or not ---- */

static roast_status find_shared(roast_comparison *comparison) {
    uint32_t count = roast_groups_count(&comparison->names[ROAST_BY_dataset]);
    bool *seen = roast_alloc_zero((size_t)count * ROAST_SIDES + 1);
    comparison->shared = roast_alloc_zero((size_t)count + 1);
    if (seen == NULL || comparison->shared == NULL) {
        roast_free(seen);
        return ROAST_ENOMEM;
    }
    for (int i = 0; i < ROAST_SIDES; i++)
        for (size_t at = 0; at < comparison->sides[i].n_chunks; at++) {
            uint32_t dataset = comparison->sides[i].chunks[at].names[ROAST_BY_dataset];
            if (dataset != ROAST_NO_GROUP)
                seen[(size_t)dataset * ROAST_SIDES + (size_t)i] = true;
        }
    for (uint32_t id = 0; id < count; id++)
        comparison->shared[id] = seen[id * ROAST_SIDES] && seen[id * ROAST_SIDES + 1];
    roast_free(seen);
    return ROAST_OK;
}

/* Chunks without a dataset are compared with each other. */
static bool is_shared(const roast_comparison *comparison, const roast_compared_chunk *chunk) {
    uint32_t dataset = chunk->names[ROAST_BY_dataset];
    return dataset == ROAST_NO_GROUP || comparison->shared[dataset];
}

roast_status roast_comparison_pair(roast_comparison *comparison) {
    ROAST_TRY(find_shared(comparison));
    uint8_t *seen = roast_alloc_zero((size_t)comparison->pieces.count + 1);
    uint64_t pieces[ROAST_SIDES] = {0}, pairs = 0;
    if (seen == NULL)
        return ROAST_ENOMEM;
    for (unsigned i = 0; i < ROAST_SIDES; i++)
        for (size_t at = 0; at < comparison->sides[i].n_chunks; at++) {
            const roast_compared_chunk *chunk = &comparison->sides[i].chunks[at];
            uint8_t *mine = &seen[chunk->piece], bit = (uint8_t)(1u << i);
            if (!is_shared(comparison, chunk) || *mine & bit)
                continue;
            *mine |= bit;
            pieces[i]++;
            pairs += *mine == 3;
        }
    roast_free(seen);
    uint64_t more = pieces[0] > pieces[1] ? pieces[0] : pieces[1];
    comparison->paired = pairs > 0 && (double)pairs >= enough_pairs * (double)more;
    comparison->compared = comparison->paired ? pairs : pieces[ROAST_SIDE_B];
    return ROAST_OK;
}

/* ---- in pairs ---- */

static bool counts(const roast_comparison *comparison, const roast_compared_chunk *chunk,
                   uint32_t dataset) {
    return dataset == ROAST_NO_GROUP ? is_shared(comparison, chunk)
                                     : chunk->names[ROAST_BY_dataset] == dataset;
}

/* The mean of the logarithms of each piece: a piece may have been done by several runs of a side. A section may be
 * used several times in a chunk: those are added up first, they follow each other. */
static void mean_logs(const roast_comparison *comparison, const roast_cost_column *column,
                      uint32_t dataset, double *sums, uint32_t *numbers) {
    size_t count = roast_cost_count(column);
    uint32_t step = step_for(comparison->compared);
    for (size_t i = 0; i < count;) {
        const roast_compared_chunk *chunk = roast_cost_chunk(column, i);
        double seconds = 0;
        if (!is_used(chunk, step)) {
            i++;
            continue;
        }
        do
            seconds += roast_cost_value(column, i++);
        while (i < count && roast_cost_chunk(column, i) == chunk);
        if (!(seconds > 0) || !counts(comparison, chunk, dataset))
            continue;
        sums[chunk->piece] += log(seconds);
        numbers[chunk->piece]++;
    }
}

static roast_status ratio_of_pairs(const roast_comparison *comparison,
                                   const roast_cost_column columns[ROAST_SIDES], uint32_t dataset,
                                   double alpha, roast_change *change) {
    size_t pieces = comparison->pieces.count, n_logs = 0;
    double *sums[ROAST_SIDES] = {roast_alloc_zero((pieces + 1) * sizeof **sums),
                                 roast_alloc_zero((pieces + 1) * sizeof **sums)};
    uint32_t *numbers[ROAST_SIDES] = {roast_alloc_zero((pieces + 1) * sizeof **numbers),
                                      roast_alloc_zero((pieces + 1) * sizeof **numbers)};
    bool enough = sums[0] != NULL && sums[1] != NULL && numbers[0] != NULL && numbers[1] != NULL;
    for (int i = 0; enough && i < ROAST_SIDES; i++)
        mean_logs(comparison, &columns[i], dataset, sums[i], numbers[i]);
    for (size_t i = 0; enough && i < pieces; i++)
        if (numbers[0][i] > 0 && numbers[1][i] > 0)
            sums[0][n_logs++] = sums[1][i] / numbers[1][i] - sums[0][i] / numbers[0][i];
    if (enough)
        set_interval(change, roast_signed_rank_interval(sums[0], n_logs, alpha));
    for (int i = 0; i < ROAST_SIDES; i++) {
        roast_free(sums[i]);
        roast_free(numbers[i]);
    }
    return enough ? ROAST_OK : ROAST_ENOMEM;
}

/* ---- by event ---- */

/* The logarithms of the seconds per event of the chunks of a side, those of a dataset together. Chunks without a
 * dataset come last. */
typedef struct event_logs {
    double *values;
    size_t *ends;   /* of each dataset */
    double *events; /* of the chunks of each dataset */
} event_logs;

static void free_logs(event_logs *logs) {
    roast_free(logs->values);
    roast_free(logs->ends);
    roast_free(logs->events);
}

/* Calls `take` for each chunk that has the cost: a section may be used several times in a chunk. */
static void each_cost(const roast_cost_column *column, uint32_t n_datasets, event_logs *logs,
                      void (*take)(event_logs *logs, uint32_t dataset, double seconds,
                                   double events)) {
    size_t count = roast_cost_count(column);
    uint32_t step = step_for(column->side->n_chunks);
    for (size_t i = 0; i < count;) {
        const roast_compared_chunk *chunk = roast_cost_chunk(column, i);
        uint32_t dataset = chunk->names[ROAST_BY_dataset];
        double seconds = 0;
        do
            seconds += roast_cost_value(column, i++);
        while (i < count && roast_cost_chunk(column, i) == chunk);
        if (is_used(chunk, step) && seconds > 0 && chunk->events > 0)
            take(logs, dataset < n_datasets ? dataset : n_datasets, seconds, (double)chunk->events);
    }
}

static void count_cost(event_logs *logs, uint32_t dataset, double seconds, double events) {
    (void)seconds;
    logs->ends[dataset]++;
    logs->events[dataset] += events;
}

static void keep_cost(event_logs *logs, uint32_t dataset, double seconds, double events) {
    logs->values[logs->ends[dataset]++] = log(seconds / events);
}

static roast_status make_logs(const roast_cost_column *column, uint32_t n_datasets,
                              event_logs *logs) {
    size_t start = 0;
    logs->values = roast_alloc((roast_cost_count(column) + 1) * sizeof *logs->values);
    logs->ends = roast_alloc_zero(((size_t)n_datasets + 1) * sizeof *logs->ends);
    logs->events = roast_alloc_zero(((size_t)n_datasets + 1) * sizeof *logs->events);
    if (logs->values == NULL || logs->ends == NULL || logs->events == NULL)
        return ROAST_ENOMEM;
    each_cost(column, n_datasets, logs, count_cost);
    for (uint32_t id = 0; id <= n_datasets;
         id++) { /* where each begins; filling moves that to its end */
        size_t length = logs->ends[id];
        logs->ends[id] = start;
        start += length;
    }
    each_cost(column, n_datasets, logs, keep_cost);
    return ROAST_OK;
}

static roast_interval interval_of_dataset(const event_logs sides[ROAST_SIDES], uint32_t dataset,
                                          double alpha) {
    double *values[ROAST_SIDES];
    size_t counts[ROAST_SIDES];
    for (int i = 0; i < ROAST_SIDES; i++) {
        size_t start = dataset == 0 ? 0 : sides[i].ends[dataset - 1];
        values[i] = sides[i].values + start;
        counts[i] = sides[i].ends[dataset] - start;
    }
    return roast_rank_sum_interval(values[0], counts[0], values[1], counts[1], alpha);
}

/* Several datasets: the mean of their logarithms, with the events as weights. The width of the interval follows from
 * the widths of theirs; a dataset without an interval is left out. */
static roast_interval mean_interval(const event_logs sides[ROAST_SIDES], uint32_t n_datasets,
                                    double alpha) {
    double weights = 0, sum = 0, low = 0, high = 0;
    for (uint32_t id = 0; id <= n_datasets; id++) {
        roast_interval logs = interval_of_dataset(sides, id, alpha);
        double events = sides[ROAST_SIDE_B].events[id];
        if (isnan(logs.low))
            continue;
        weights += events;
        sum += events * logs.at;
        low += pow(events * (logs.at - logs.low), 2);
        high += pow(events * (logs.high - logs.at), 2);
    }
    if (!(weights > 0))
        return (roast_interval){NAN, NAN, NAN};
    return (roast_interval){sum / weights, (sum - sqrt(low)) / weights,
                            (sum + sqrt(high)) / weights};
}

static roast_status ratio_by_event(const roast_comparison *comparison,
                                   const roast_cost_column columns[ROAST_SIDES], uint32_t dataset,
                                   double alpha, roast_change *change) {
    uint32_t count = roast_groups_count(&comparison->names[ROAST_BY_dataset]);
    event_logs sides[ROAST_SIDES] = {{0}};
    roast_status status = make_logs(&columns[0], count, &sides[0]);
    if (status == ROAST_OK)
        status = make_logs(&columns[1], count, &sides[1]);
    if (status == ROAST_OK)
        set_interval(change, dataset == ROAST_NO_GROUP
                                 ? mean_interval(sides, count, alpha)
                                 : interval_of_dataset(sides, dataset, alpha));
    free_logs(&sides[0]);
    free_logs(&sides[1]);
    return status;
}

roast_status roast_comparison_ratio(const roast_comparison *comparison,
                                    const roast_cost_column columns[ROAST_SIDES], uint32_t dataset,
                                    double alpha, roast_change *change) {
    return comparison->paired ? ratio_of_pairs(comparison, columns, dataset, alpha, change)
                              : ratio_by_event(comparison, columns, dataset, alpha, change);
}
