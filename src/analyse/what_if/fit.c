/* What the recorded chunks cost: the fixed part, the part for each event, cold starts, and how much it varies. */
#include <math.h>

#include "analyse/diagnose/internal.h"
#include "analyse/statistics/intervals.h"
#include "analyse/what_if/internal.h"

/* ---- datasets ---- */

static bool tells_events(const roast_past *past, const roast_past_chunk *chunk) {
    return chunk->dataset < past->n_datasets && !isnan(chunk->events);
}

/* Without enough warm chunks nothing tells how much longer the cold ones take. */
static void decide_cold(roast_past *past) {
    size_t cold = 0;
    for (size_t i = 0; i < past->n_chunks; i++)
        cold += past->chunks[i].first;
    if (past->n_chunks >= 3 * cold && past->n_chunks >= cold + 3)
        return;
    for (size_t i = 0; i < past->n_chunks; i++)
        past->chunks[i].first = false;
}

static void sum_datasets(roast_past *past) {
    for (size_t i = 0; i < past->n_chunks; i++) {
        const roast_past_chunk *chunk = &past->chunks[i];
        if (chunk->first || !tells_events(past, chunk))
            continue;
        roast_past_dataset *dataset = &past->datasets[chunk->dataset];
        roast_line_add(&dataset->line, chunk->events, chunk->cost);
        dataset->chunks++;
        dataset->cost += chunk->cost;
        dataset->events += chunk->events;
        dataset->before += (double)chunk->before;
        dataset->after += (double)chunk->after;
    }
}

/* Chunks of one size give no fixed cost: the time outside of process() is used instead. How much of process() is a
 * fixed cost as well is not known: nothing, all of it, or anything between. */
static void fit_dataset(roast_past_dataset *dataset) {
    double chunks = (double)dataset->chunks;
    roast_chunk_cost cost;
    if (dataset->chunks == 0)
        return;
    dataset->fitted = roast_chunk_cost_fit(&dataset->line, &cost);
    if (dataset->fitted) {
        dataset->fixed = dataset->fixed_most = cost.fixed;
        dataset->error = cost.error;
    } else {
        dataset->fixed = (dataset->before + dataset->after) / chunks;
        dataset->fixed_most = dataset->cost / chunks;
    }
    dataset->slope = fmax(0, dataset->cost - dataset->fixed * chunks) / dataset->events;
}

/* ---- what is usual ---- */

typedef struct file_sums {
    uint32_t chunks, warm;
    double all_events;
    double over, events; /* cost of warm chunks beyond the fixed one */
} file_sums;

static void sum_files(const roast_past *past, file_sums *files) {
    for (size_t i = 0; i < past->n_chunks; i++) {
        const roast_past_chunk *chunk = &past->chunks[i];
        if (chunk->file == UINT32_MAX || !tells_events(past, chunk))
            continue;
        file_sums *file = &files[chunk->file];
        file->chunks++;
        file->all_events += chunk->events;
        if (chunk->first)
            continue;
        file->warm++;
        file->over += chunk->cost - past->datasets[chunk->dataset].fixed;
        file->events += chunk->events;
    }
}

/* A file with enough chunks has a cost per event of its own. */
static void find_usual(roast_past *past, const file_sums *files, uint32_t n_files) {
    double sum = 0;
    for (size_t i = 0; i < past->n_chunks; i++)
        sum += past->chunks[i].cost;
    for (size_t i = 0; i < past->n_chunks; i++) {
        roast_past_chunk *chunk = &past->chunks[i];
        const file_sums *file = chunk->file < n_files ? &files[chunk->file] : NULL;
        chunk->usual = fmax(sum / (double)past->n_chunks, 1e-9);
        chunk->drawn_from = n_files + past->n_datasets;
        if (!tells_events(past, chunk))
            continue;
        const roast_past_dataset *dataset = &past->datasets[chunk->dataset];
        double slope = dataset->slope;
        chunk->drawn_from = n_files + chunk->dataset;
        if (file != NULL)
            chunk->share = (float)(chunk->events / file->all_events);
        if (file != NULL && file->chunks >= roast_limit.group_chunks)
            chunk->drawn_from = chunk->file;
        if (file != NULL && file->warm >= roast_limit.group_chunks)
            slope = fmax(0, file->over) / file->events;
        if (dataset->chunks > 0 && dataset->fixed + slope * chunk->events > 0)
            chunk->usual = dataset->fixed + slope * chunk->events;
    }
}

/* ---- cold starts ---- */

static void find_cold(roast_past *past) {
    roast_stats excess = {0}, rest = {0};
    for (size_t i = 0; i < past->n_chunks; i++)
        roast_stats_add(past->chunks[i].first ? &excess : &rest,
                        past->chunks[i].cost - past->chunks[i].usual);
    if (excess.count == 0)
        return;
    double count = (double)excess.count, spread = roast_stats_std(&rest);
    /* Within two standard errors it is chance. */
    if (!(excess.mean > 2 * spread / sqrt(count)))
        return;
    past->cold_error = fmax(spread, roast_stats_std(&excess)) / sqrt(count);
    /* What is taken from the chunks is given to the threads, all of it: some were warm already. */
    for (size_t i = 0; i < past->n_chunks; i++) {
        roast_past_chunk *chunk = &past->chunks[i];
        double less = fmax(0, chunk->cost - chunk->usual);
        if (!chunk->first)
            continue;
        chunk->cost -= less;
        chunk->before = (float)fmax(0, (double)chunk->before - less);
        past->cold += less / count;
    }
}

/* ---- how much it varies ---- */

/* A machine is slower for some minutes, then faster: chunks that run one after the other vary together. Another run as
 * a whole is at least as far from this one as its stretches are from each other: what changes slowly does not average
 * out. */
static void find_drift(roast_past *past) {
    enum { MOST_BLOCKS = 16, LEAST_IN_BLOCK = 4 };
    size_t blocks = past->n_chunks / LEAST_IN_BLOCK;
    blocks = blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks;
    roast_stats ratios = {0};
    for (size_t block = 0; block < blocks; block++) {
        double cost = 0, usual = 0;
        for (size_t i = past->n_chunks * block / blocks; i < past->n_chunks * (block + 1) / blocks;
             i++) {
            cost += past->chunks[i].cost;
            usual += past->chunks[i].usual;
        }
        if (usual > 0)
            roast_stats_add(&ratios, cost / usual);
    }
    if (ratios.count > 1)
        past->drift = roast_stats_std(&ratios);
    /* Nine of ten other runs wait for cores half as long to half as long again. */
    double queue = past->queued / 2 / roast_normal_above(0.05);
    past->drift = sqrt(past->drift * past->drift + queue * queue);
}

roast_status roast_past_fit(roast_past *past) {
    uint32_t n_files;
    roast_budget_rows(past->budget, ROAST_BY_file, &n_files);
    file_sums *files = roast_alloc_zero(((size_t)n_files + 1) * sizeof *files);
    if (files == NULL)
        return ROAST_ENOMEM;
    decide_cold(past);
    sum_datasets(past);
    for (uint32_t i = 0; i < past->n_datasets; i++)
        fit_dataset(&past->datasets[i]);
    sum_files(past, files);
    find_usual(past, files, n_files);
    roast_free(files);
    find_cold(past);
    find_drift(past);
    return ROAST_OK;
}
