/* The predictions of the advice: the recorded run, played again with the changes. */
#include <math.h>

#include "analyse/advise/internal.h"
#include "roast/what_if.h"

/* Adds the change of an item to the options; `files` are its names. */
static void change(roast_what_if_options *options, const roast_advice_item *item,
                   const roast_str *files) {
    switch (item->setting) {
    case ROAST_ADVICE_chunksize:
        options->chunksize = item->chunksize;
        break;
    case ROAST_ADVICE_workers:
        options->workers = item->workers;
        options->threads = item->threads;
        break;
    case ROAST_ADVICE_preload:
        options->preload = true;
        break;
    case ROAST_ADVICE_first_files:
        options->first = files;
        options->n_first = item->n_names;
        break;
    default:
        break;
    }
}

/* The names of the files of an item; NULL: no memory. */
static roast_str *files_of(roast_advice *advice, const roast_advice_item *item) {
    roast_str *files =
        roast_arena_alloc(&advice->arena, ((size_t)item->n_names + 1) * sizeof *files);
    for (uint32_t i = 0; files != NULL && i < item->n_names; i++)
        files[i] = item->names[i].name;
    return files;
}

static roast_status say_why(roast_advice *advice, const char *reason,
                            roast_advice_prediction *out) {
    return roast_arena_str(&advice->arena, roast_str_of(reason), &out->reason);
}

static roast_status no_memory(roast_status status, roast_error *err) {
    return status == ROAST_OK ? status
                              : roast_error_set(err, status, "advice", -1, "no memory for advice");
}

static roast_status play(roast_advice *advice, const roast_run *run,
                         const roast_what_if_options *options, roast_advice_prediction *out,
                         roast_error *err) {
    roast_what_if *what_if;
    roast_error why;
    roast_status status = roast_what_if_new(run, options, &what_if, &why);
    if (status == ROAST_ENOMEM) {
        if (err != NULL)
            *err = why;
        return status;
    }
    if (status != ROAST_OK)
        return no_memory(say_why(advice, why.message, out), err);
    const roast_what_if_figures *figures = roast_what_if_get(what_if);
    out->known = true;
    out->wall = figures->wall;
    out->low = figures->low;
    out->high = figures->high;
    roast_what_if_free(what_if);
    return ROAST_OK;
}

/* Findings about the wall time: a change that does not shorten the run is no advice against them. */
static bool is_about_time(roast_finding_kind kind) {
    return kind == ROAST_FINDING_chunks_too_small || kind == ROAST_FINDING_chunks_too_large ||
           kind == ROAST_FINDING_straggler_file || kind == ROAST_FINDING_long_tail ||
           kind == ROAST_FINDING_too_few_workers || kind == ROAST_FINDING_preload;
}

static bool pays(const roast_advice_item *item) {
    const roast_advice_prediction *found = &item->prediction;
    return !found->known || !is_about_time(item->kind) ||
           found->wall <= (1 - roast_limit.least_saving) * found->recorded;
}

/* Predicts one item; `all` are the options of those that pay. */
static roast_status predict_one(roast_advice *advice, const roast_run *run, roast_advice_item *item,
                                roast_what_if_options *all, roast_error *err) {
    roast_what_if_options one = {0};
    roast_str *files = files_of(advice, item);
    if (files == NULL)
        return no_memory(ROAST_ENOMEM, err);
    change(&one, item, files);
    ROAST_TRY(play(advice, run, &one, &item->prediction, err));
    if (pays(item))
        change(all, item, files);
    return ROAST_OK;
}

roast_status roast_advice_predict(roast_advice *advice, const roast_run *run, roast_error *err) {
    roast_run_clock clock = roast_run_get_clock(run);
    double recorded = clock.have ? clock.end - clock.start : (double)NAN;
    roast_what_if_options all = {0};
    uint32_t kept = 0;
    bool told = false;
    advice->together.recorded = recorded;
    for (uint32_t i = 0; i < advice->count; i++) {
        roast_advice_item *item = &advice->items[i];
        item->prediction.recorded = recorded;
        if (advice->untold[i] != NULL)
            ROAST_TRY(no_memory(say_why(advice, advice->untold[i], &item->prediction), err));
        else
            ROAST_TRY(predict_one(advice, run, item, &all, err));
        told = told || (item->prediction.known && pays(item));
        if (pays(item))
            advice->items[kept++] = *item;
    }
    advice->count = kept;
    if (!told)
        return no_memory(
            say_why(advice, kept > 0 ? "no change has a prediction" : "nothing is to be changed",
                    &advice->together),
            err);
    return play(advice, run, &all, &advice->together, err);
}
