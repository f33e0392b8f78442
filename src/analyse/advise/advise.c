/* Advice: from the findings and the remedies of their rules to settings. */
#include <math.h>

#include "analyse/advise/internal.h"

static const char where[] = "advice";

/* ---- names ---- */

const char *roast_advice_setting_name(roast_advice_setting setting) {
    static const char *const names[] = {
#define X(name, what) #name,
        ROAST_ADVICE_SETTINGS(X)
#undef X
    };
    return (unsigned)setting < ROAST_ADVICE_SETTING_COUNT ? names[setting] : "unknown";
}

/* ---- the executor ---- */

static bool meta_is(const roast_run *run, const char *key, const char *value) {
    roast_str text = roast_run_meta(run, roast_str_of(key));
    return text.data != NULL && roast_str_equal(text, roast_str_of(value));
}

static roast_advice_executor executor_of(const roast_run *run) {
    if (meta_is(run, "executor", "IterativeExecutor"))
        return ROAST_ADVISED_SERIAL;
    if (meta_is(run, "executor", "FuturesExecutor"))
        return ROAST_ADVISED_FUTURES;
    return meta_is(run, "backend", "dask") ? ROAST_ADVISED_DASK : ROAST_ADVISED_OTHER;
}

/* ---- items ---- */

/* NULL: another finding, a worse one, has set it already. */
static roast_advice_item *new_item(const roast_advice *advice, roast_advice_setting setting,
                                   const roast_finding *finding, roast_advice_item *item) {
    if (roast_advice_find(advice, setting) != NULL)
        return NULL;
    *item = (roast_advice_item){.setting = setting,
                                .kind = finding->kind,
                                .saving_core_seconds = finding->saving_core_seconds};
    return item;
}

static roast_status keep_item(roast_advice *advice, const roast_advice_item *item,
                              const roast_finding *finding, const char *untold) {
    roast_advice_item *kept = &advice->items[advice->count];
    *kept = *item;
    ROAST_TRY(roast_arena_str(&advice->arena, finding->title, &kept->title));
    advice->untold[advice->count++] = untold;
    return ROAST_OK;
}

static roast_status advise_size(roast_advice *advice, const roast_diagnosis *d,
                                const roast_finding *finding) {
    double size = d->remedy[finding->kind];
    roast_advice_item item;
    if (!(size >= 1) || !(size < 1e18) ||
        new_item(advice, ROAST_ADVICE_chunksize, finding, &item) == NULL)
        return ROAST_OK;
    item.chunksize = (uint64_t)size;
    return keep_item(advice, &item, finding, NULL);
}

/* So many threads in all, on workers like those of the run. */
static void spread_threads(roast_advice_item *item, const roast_advice *advice, bool at_most,
                           double total, double workers, double each) {
    if (advice->executor == ROAST_ADVISED_FUTURES && each > 1) { /* a pool of threads */
        item->workers = (uint32_t)workers;
        item->threads = (uint32_t)fmax(1, ceil(total / workers));
    } else if (total < each) {
        item->workers = 1;
        item->threads = (uint32_t)total;
    } else {
        item->workers = (uint32_t)(at_most ? floor(total / each) : ceil(total / each));
        item->threads = (uint32_t)each;
    }
}

static roast_status advise_workers(roast_advice *advice, const roast_diagnosis *d,
                                   const roast_finding *finding) {
    double workers = roast_diagnosis_metric(d, "peak_workers");
    double each = round(roast_diagnosis_metric(d, "cores_per_worker"));
    bool lock = finding->kind == ROAST_FINDING_gil_contention;
    double total = lock ? workers * each : d->remedy[finding->kind];
    const char *untold = NULL;
    roast_advice_item item;
    if (advice->executor == ROAST_ADVISED_SERIAL || !(workers >= 1) || !(each >= 1) ||
        !(total >= 1) || !(total < 1e6) || (!lock && total == workers * each) ||
        new_item(advice, ROAST_ADVICE_workers, finding, &item) == NULL)
        return ROAST_OK;
    if (lock) {
        item.workers = (uint32_t)total;
        item.threads = 1;
        untold = "the recorded times include waiting for Python's lock, and nothing tells how long "
                 "the chunks take without it";
    } else {
        bool crowded = finding->kind == ROAST_FINDING_too_many_workers && d->crowded;
        spread_threads(&item, advice, crowded, total, workers, each);
        if (crowded)
            untold = "the recorded times include waiting for a core, and nothing tells how long "
                     "the chunks take without it";
    }
    return keep_item(advice, &item, finding, untold);
}

static roast_status advise_names(roast_advice *advice, const roast_diagnosis *d,
                                 roast_advice_setting setting, const roast_finding *finding,
                                 roast_status (*choose)(const roast_diagnosis *, roast_finding_kind,
                                                        roast_advised_names *),
                                 const char *untold) {
    roast_advised_names names = {0};
    roast_advice_item item;
    if (new_item(advice, setting, finding, &item) == NULL)
        return ROAST_OK;
    roast_status status = choose(d, finding->kind, &names);
    if (status == ROAST_OK && names.count > 0)
        status = roast_advised_names_take(&names, &advice->arena, &item);
    if (status == ROAST_OK && names.count > 0)
        status = keep_item(advice, &item, finding, untold);
    roast_advised_names_reset(&names);
    return status;
}

/* Coffea preloads from ROOT files alone. */
static roast_status advise_preload(roast_advice *advice, const roast_diagnosis *d,
                                   const roast_finding *finding) {
    return meta_is(d->run, "format", "parquet")
               ? ROAST_OK
               : advise_names(advice, d, ROAST_ADVICE_preload, finding, roast_advised_branches,
                              finding->kind == ROAST_FINDING_preload
                                  ? NULL
                                  : "nothing tells how long the reads take that are left out");
}

/* One thread takes as long in any order; one file has no other before it. */
static roast_status advise_order(roast_advice *advice, const roast_diagnosis *d,
                                 const roast_finding *finding) {
    if (advice->executor == ROAST_ADVISED_SERIAL || !(d->threads > 1.5) ||
        roast_groups_count(&d->facts.files) < 2)
        return ROAST_OK;
    ROAST_TRY(advise_names(advice, d, ROAST_ADVICE_first_files, finding, roast_advised_first_files,
                           NULL));
    const roast_advice_item *item = roast_advice_find(advice, ROAST_ADVICE_first_files);
    if (item != NULL &&
        !roast_str_equal(item->names[0].dataset, item->names[item->n_names - 1].dataset))
        advice->untold[item - advice->items] =
            "a fileset lists one dataset after the other, so that the files of the second come "
            "behind all of the first";
    return ROAST_OK;
}

static roast_status advise_exclusion(roast_advice *advice, const roast_diagnosis *d,
                                     const roast_finding *finding) {
    return advise_names(advice, d, ROAST_ADVICE_exclude_files, finding, roast_advised_bad_files,
                        finding->kind == ROAST_FINDING_lost_work
                            ? "the run failed: how long it would have taken is not known"
                            : "no chunk of these files was recorded, only that they were tried");
}

static roast_status advise_on(roast_advice *advice, const roast_diagnosis *d,
                              const roast_finding *finding) {
    switch (finding->kind) {
    case ROAST_FINDING_chunks_too_small:
    case ROAST_FINDING_chunks_too_large:
    case ROAST_FINDING_memory_pressure:
        return advise_size(advice, d, finding);
    case ROAST_FINDING_reread_branches:
        return d->remedy[finding->kind] > 0 ? advise_size(advice, d, finding)
                                            : advise_preload(advice, d, finding);
    case ROAST_FINDING_preload:
    case ROAST_FINDING_unused_branches:
        return advise_preload(advice, d, finding);
    case ROAST_FINDING_gil_contention:
    case ROAST_FINDING_too_few_workers:
    case ROAST_FINDING_too_many_workers:
        return advise_workers(advice, d, finding);
    case ROAST_FINDING_straggler_file:
        return d->remedy[finding->kind] > 0 ? advise_size(advice, d, finding)
                                            : advise_order(advice, d, finding);
    case ROAST_FINDING_long_tail:
        return advise_order(advice, d, finding);
    case ROAST_FINDING_skipped_files:
    case ROAST_FINDING_lost_work:
        return advise_exclusion(advice, d, finding);
    default: /* no setting of a Runner, its fileset or its executor helps */
        return ROAST_OK;
    }
}

static roast_status advise_on_all(const roast_diagnosis *d, void *context) {
    roast_advice *advice = context;
    for (uint32_t i = 0; i < roast_findings_count(d->findings); i++)
        ROAST_TRY(advise_on(advice, d, roast_findings_at(d->findings, i)));
    return ROAST_OK;
}

/* ---- all ---- */

roast_status roast_advise_run(const roast_run *run, const roast_metrics *metrics,
                              roast_advice **out, roast_error *err) {
    roast_advice *advice = roast_alloc_zero(sizeof *advice);
    if (advice == NULL)
        return roast_error_set(err, ROAST_ENOMEM, where, -1, "no memory for the advice");
    advice->executor = executor_of(run);
    roast_status status =
        roast_diagnose_then(run, metrics, advise_on_all, advice, &advice->findings, err);
    if (status == ROAST_OK)
        status = roast_advice_predict(advice, run, err);
    if (status != ROAST_OK) {
        roast_advice_free(advice);
        return status;
    }
    *out = advice;
    return ROAST_OK;
}

void roast_advice_free(roast_advice *advice) {
    if (advice == NULL)
        return;
    roast_findings_free(advice->findings);
    roast_arena_reset(&advice->arena);
    roast_free(advice);
}

const roast_advice_item *roast_advice_items(const roast_advice *advice, uint32_t *count) {
    *count = advice->count;
    return advice->items;
}

const roast_advice_item *roast_advice_find(const roast_advice *advice,
                                           roast_advice_setting setting) {
    for (uint32_t i = 0; i < advice->count; i++)
        if (advice->items[i].setting == setting)
            return &advice->items[i];
    return NULL;
}

const roast_advice_prediction *roast_advice_together(const roast_advice *advice) {
    return &advice->together;
}

roast_advice_executor roast_advice_get_executor(const roast_advice *advice) {
    return advice->executor;
}

const roast_findings *roast_advice_findings(const roast_advice *advice) {
    return advice->findings;
}
