/* Workers, hosts and files that are slower than the others.
 *
 * Each chunk is compared with what its dataset's chunks take for as many events; a group is slow if the
 * median of its chunks is far above that of the other groups: by a factor that matters, and by many times
 * what chance makes of it. */
#include <math.h>
#include <stdlib.h>

#include "analyse/diagnose/internal.h"

/* From a median absolute deviation to a standard deviation, and to the standard error of a median. */
#define MAD_TO_SIGMA    1.4826
#define MEDIAN_TO_ERROR 1.2533

/* The chunks of a dataset, and their cost over their events. */
typedef struct usual_cost {
    double sum;
    uint64_t chunks;
    roast_line line;
} usual_cost;

typedef struct comparison {
    roast_diagnosis *d;
    double (*cost)(const roast_fact *fact); /* what is compared */
    const char *where;                      /* it is spent: "" for all of a task */
    double *excess; /* of each chunk: log of its cost over what is expected; NaN: nothing is */
    double *space;  /* as many */
} comparison;

/* A group against the others. */
typedef struct standing {
    uint32_t group;
    uint32_t chunks;
    double middle; /* median of the excess */
    double factor; /* times as slow as the others */
    double confidence;
} standing;

typedef struct grouping {
    roast_budget_split by;
    double slow; /* factor from which on it matters */
    roast_fact_order order;
    standing *standings; /* of the groups with enough chunks, slowest first */
    uint32_t count;
    double scatter;   /* of a chunk within its group */
    uint32_t flagged; /* the first so many are slow */
} grouping;

/* ---- the expected cost ---- */

static double expected_cost(const usual_cost *dataset, double events) {
    double intercept, slope, mean = dataset->sum / (double)dataset->chunks;
    double spread =
        dataset->line.mean_x > 0
            ? sqrt(dataset->line.m2_x / (double)dataset->line.count) / dataset->line.mean_x
            : 0;
    /* Chunks that are much alike make no line; a few per cent more events are as much more time. */
    if (dataset->line.count < 3 || !(events >= 0) || !(dataset->line.mean_x > 0))
        return mean;
    if (spread < roast_limit.fit_spread)
        return mean * fmax(events, 1) / dataset->line.mean_x;
    if (!roast_line_fit(&dataset->line, &intercept, &slope) || !(slope > 0))
        return mean;
    return fmax(intercept, 0) + slope * fmax(events, 1);
}

/* Of those of its chunks that have an excess; *chunks: how many they are. */
static double group_median(const comparison *c, const roast_fact_order *order, uint32_t group,
                           uint32_t *chunks) {
    uint32_t count = 0;
    for (uint32_t at = order->first[group]; at < order->first[group + 1]; at++) {
        double excess = c->excess[order->order[at]];
        if (!isnan(excess))
            c->space[count++] = excess;
    }
    *chunks = count;
    return roast_median(c->space, count);
}

/* The expected cost is a mean, which a slow worker raises in the datasets that it had most of. Then the others
 * seem quick in one dataset and usual in the next, and no worker stands out. So the medians of datasets and
 * workers are subtracted in turns (Tukey's median polish), until that of each dataset is 0. */
typedef struct polish {
    roast_fact_order workers, datasets;
    double *by_worker; /* median of its chunks */
} polish;

static void find_medians_of_workers(const comparison *c, polish *p) {
    uint32_t chunks;
    for (uint32_t worker = 0; worker < roast_groups_count(&c->d->facts.workers); worker++)
        p->by_worker[worker] = group_median(c, &p->workers, worker, &chunks);
}

static void center_dataset(const comparison *c, const polish *p, uint32_t dataset) {
    const uint32_t *from = p->datasets.order + p->datasets.first[dataset];
    const uint32_t *to = p->datasets.order + p->datasets.first[dataset + 1];
    size_t count = 0;
    for (const uint32_t *at = from; at < to; at++) {
        uint32_t worker = c->d->facts.facts[*at].worker;
        if (!isnan(c->excess[*at]))
            c->space[count++] =
                c->excess[*at] - (worker != ROAST_NOBODY ? p->by_worker[worker] : 0);
    }
    if (count == 0)
        return;
    double middle = roast_median(c->space, count);
    for (const uint32_t *at = from; at < to; at++)
        c->excess[*at] -= middle;
}

static roast_status center_datasets(const comparison *c) {
    enum { TURNS = 2 };
    const roast_facts *facts = &c->d->facts;
    polish p = {.by_worker = roast_alloc(((size_t)roast_groups_count(&facts->workers) + 1) *
                                         sizeof(double))};
    roast_status status =
        p.by_worker != NULL ? roast_facts_order(facts, ROAST_BY_worker, &p.workers) : ROAST_ENOMEM;
    if (status == ROAST_OK)
        status = roast_facts_order(facts, ROAST_BY_dataset, &p.datasets);
    for (int turn = 0; status == ROAST_OK && turn < TURNS; turn++) {
        find_medians_of_workers(c, &p);
        for (uint32_t dataset = 0; dataset < roast_groups_count(&facts->datasets); dataset++)
            center_dataset(c, &p, dataset);
    }
    roast_fact_order_reset(&p.workers);
    roast_fact_order_reset(&p.datasets);
    roast_free(p.by_worker);
    return status;
}

static void find_usual_costs(const comparison *c, usual_cost *datasets) {
    for (size_t i = 0; i < c->d->facts.count; i++) {
        const roast_fact *fact = &c->d->facts.facts[i];
        if (fact->dataset == ROAST_NOBODY)
            continue;
        usual_cost *dataset = &datasets[fact->dataset];
        dataset->sum += c->cost(fact);
        dataset->chunks++;
        if (fact->events >= 0)
            roast_line_add(&dataset->line, (double)fact->events, c->cost(fact));
    }
}

static roast_status compare_all(const comparison *c) {
    const roast_facts *facts = &c->d->facts;
    usual_cost *datasets =
        roast_alloc_zero(((size_t)roast_groups_count(&facts->datasets) + 1) * sizeof *datasets);
    if (datasets == NULL)
        return ROAST_ENOMEM;
    find_usual_costs(c, datasets);
    for (size_t i = 0; i < facts->count; i++) {
        const roast_fact *fact = &facts->facts[i];
        c->excess[i] = NAN;
        if (fact->dataset == ROAST_NOBODY)
            continue;
        double cost = c->cost(fact);
        double expected = expected_cost(&datasets[fact->dataset], (double)fact->events);
        if (cost > 0 && expected > 0)
            c->excess[i] = log(cost / expected);
    }
    roast_free(datasets);
    return ROAST_OK;
}

/* ---- groups ---- */

static int slowest_first(const void *a, const void *b) {
    const standing *x = a, *y = b;
    if (x->middle != y->middle)
        return x->middle < y->middle ? 1 : -1;
    return (x->group > y->group) - (x->group < y->group);
}

static roast_status stand(const comparison *c, grouping *g) {
    const roast_facts *facts = &c->d->facts;
    uint32_t groups = roast_groups_count(&facts->by[g->by]);
    ROAST_TRY(roast_facts_order(facts, g->by, &g->order));
    g->standings = roast_alloc(((size_t)groups + 1) * sizeof *g->standings);
    if (g->standings == NULL)
        return ROAST_ENOMEM;
    for (uint32_t group = 0; group < groups; group++) {
        standing s = {.group = group};
        s.middle = group_median(c, &g->order, group, &s.chunks);
        if (s.chunks >= roast_limit.group_chunks)
            g->standings[g->count++] = s;
    }
    if (g->count > 0)
        qsort(g->standings, g->count, sizeof *g->standings, slowest_first);
    return ROAST_OK;
}

/* How far a chunk is from the middle of its own group, in the median. */
static void find_scatter(const comparison *c, grouping *g) {
    size_t count = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        const standing *s = &g->standings[i];
        for (uint32_t at = g->order.first[s->group]; at < g->order.first[s->group + 1]; at++) {
            double excess = c->excess[g->order.order[at]];
            if (!isnan(excess))
                c->space[count++] = fabs(excess - s->middle);
        }
    }
    g->scatter = fmax(MAD_TO_SIGMA * roast_median(c->space, count), roast_limit.least_scatter);
}

/* The middle of all groups but one, which stand in order. */
static double middle_of_others(const grouping *g, uint32_t place) {
    uint32_t others = g->count - 1, low = (others - 1) / 2, high = others / 2;
    low += low >= place;
    high += high >= place;
    return (g->standings[low].middle + g->standings[high].middle) / 2;
}

/* How far the groups are apart from each other anyway; 0 where there are too few to say. */
static double scatter_of_groups(const comparison *c, const grouping *g) {
    if (g->count < roast_limit.group_chunks)
        return 0;
    double middle = g->standings[g->count / 2].middle;
    for (uint32_t i = 0; i < g->count; i++)
        c->space[i] = fabs(g->standings[i].middle - middle);
    return MAD_TO_SIGMA * roast_median(c->space, g->count);
}

static void flag_slow(const comparison *c, grouping *g) {
    if (g->count < 2)
        return;
    double between = scatter_of_groups(c, g);
    find_scatter(c, g);
    uint32_t most = (uint32_t)(roast_limit.straggler_part * (double)g->count);
    while (g->flagged < g->count) {
        standing *s = &g->standings[g->flagged];
        double above = s->middle - middle_of_others(g, g->flagged);
        double error = MEDIAN_TO_ERROR * g->scatter / sqrt((double)s->chunks);
        s->factor = exp(above);
        /* Groups are apart by chance as well: `between` has the error in it. */
        if (s->factor < g->slow || above < roast_limit.significance * fmax(error, between))
            break;
        g->flagged++;
    }
    /* Too many to be exceptions; but one of few is one. */
    if (g->flagged > 1 && g->flagged > most)
        g->flagged = 0;
}

static void grouping_reset(grouping *g) {
    roast_fact_order_reset(&g->order);
    roast_free(g->standings);
}

static double seconds_lost(const comparison *c, const grouping *g, const standing *s) {
    double lost = 0;
    for (uint32_t at = g->order.first[s->group]; at < g->order.first[s->group + 1]; at++)
        lost += c->cost(&c->d->facts.facts[g->order.order[at]]) * (1 - 1 / s->factor);
    return lost;
}

/* The slowness of these groups is explained: from now on their chunks count as quick as the others. */
static void excuse(const comparison *c, const grouping *g) {
    for (uint32_t i = 0; i < g->flagged; i++) {
        const standing *s = &g->standings[i];
        for (uint32_t at = g->order.first[s->group]; at < g->order.first[s->group + 1]; at++)
            c->excess[g->order.order[at]] -= log(s->factor);
    }
}

/* ---- workers and hosts ---- */

/* How much of process() was waiting for a core: in a group, and in all others. NaN: not known. */
static void queue_shares(const comparison *c, const grouping *g, uint32_t group, double *own,
                         double *others) {
    double sums[2][2] = {{0}};
    for (size_t i = 0; i < c->d->facts.count; i++) {
        const roast_fact *fact = &c->d->facts.facts[i];
        double *sum = sums[fact->group[g->by] == group];
        if (isnan(fact->queue))
            continue;
        sum[0] += (double)fact->duration;
        sum[1] += (double)fact->queue;
    }
    *own = sums[1][0] > 0 ? sums[1][1] / sums[1][0] : NAN;
    *others = sums[0][0] > 0 ? sums[0][1] / sums[0][0] : NAN;
}

static roast_status tell_place(const comparison *c, const grouping *g, roast_finding_kind kind,
                               const char *what) {
    const standing *worst = &g->standings[0];
    const char *name = roast_say_name(roast_groups_name(&c->d->facts.by[g->by], worst->group));
    double lost = 0, queue, queue_others;
    for (uint32_t i = 0; i < g->flagged; i++)
        lost += seconds_lost(c, g, &g->standings[i]);
    if (!roast_diagnosis_matters(c->d, lost))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, kind, lost, worst->chunks >= 2 * roast_limit.group_chunks ? 0.9 : 0.7);
    roast_say(&v.title, "%s %s is %s times as slow as the others", what, name,
              roast_say_times(worst->factor));
    if (g->flagged > 1)
        roast_say(&v.title, " (and %u more)", (unsigned)(g->flagged - 1));
    roast_say(&v.evidence,
              "Its median chunk takes %s times as long as chunks of the same dataset and size "
              "elsewhere (%u chunks).",
              roast_say_times(worst->factor), (unsigned)worst->chunks);
    queue_shares(c, g, worst->group, &queue, &queue_others);
    bool taken = queue > roast_limit.queue_share && !(queue_others > queue / 2);
    if (queue >= 0 && queue_others >= 0)
        roast_say(&v.evidence, " Its threads waited for a core for %s of process(), others %s.",
                  roast_say_percent(queue), roast_say_percent(queue_others));
    if (taken)
        roast_say(&v.advice,
                  "Something else runs on its cores: find it (top), give the worker cores of its "
                  "own, or leave it out; %s would be saved.",
                  roast_say_time(lost));
    else
        roast_say(&v.advice,
                  "Check this %s: slower or throttled CPU, slower storage or network. Without it, "
                  "or at the speed of the others, %s would be saved.",
                  kind == ROAST_FINDING_straggler_host ? "machine" : "worker",
                  roast_say_time(lost));
    c->d->straggled += lost;
    return roast_diagnosis_add(c->d, &v);
}

/* Whether a worker is slow on files on which others were quick, and not because it got slow files. Without common
 * files it must have been slow on more than one. */
static bool is_slow_anywhere(const comparison *c, const grouping *workers, const grouping *files,
                             const standing *s) {
    const roast_facts *facts = &c->d->facts;
    uint32_t compared = 0, slower = 0, last = ROAST_NOBODY;
    bool several = false;
    for (uint32_t at = workers->order.first[s->group]; at < workers->order.first[s->group + 1];
         at++) {
        uint32_t index = workers->order.order[at], file = facts->facts[index].file, others = 0;
        if (file == ROAST_NOBODY || isnan(c->excess[index]))
            continue;
        several = several || (last != ROAST_NOBODY && last != file);
        last = file;
        /* Some of them are enough: a file may have thousands of chunks. */
        enum { ENOUGH = 64 };
        for (uint32_t i = files->order.first[file];
             i < files->order.first[file + 1] && others < ENOUGH; i++) {
            uint32_t other = files->order.order[i];
            if (facts->facts[other].worker != s->group && !isnan(c->excess[other]))
                c->space[others++] = c->excess[other];
        }
        if (others == 0)
            continue;
        compared++;
        slower +=
            c->excess[index] - roast_median(c->space, others) > log(roast_limit.slow_place) / 2;
    }
    return compared > 0 ? slower * 2 > compared : several || last == ROAST_NOBODY;
}

/* Keeps those that are slow by themselves. */
static void check_workers(const comparison *c, grouping *workers, const grouping *files) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < workers->flagged; i++) {
        standing s = workers->standings[i];
        if (is_slow_anywhere(c, workers, files, &s))
            workers->standings[kept++] = s;
    }
    workers->flagged = kept;
}

static roast_status hosts_and_workers(const comparison *c) {
    roast_facts *facts = &c->d->facts;
    grouping hosts = {.by = ROAST_BY_host, .slow = roast_limit.slow_place};
    grouping workers = {.by = ROAST_BY_worker, .slow = roast_limit.slow_place};
    grouping files = {.by = ROAST_BY_file, .slow = roast_limit.slow_file};
    roast_status status = stand(c, &hosts);
    /* A host with one worker is that worker. */
    if (status == ROAST_OK &&
        roast_groups_count(&facts->workers) > roast_groups_count(&facts->hosts)) {
        flag_slow(c, &hosts);
        if (hosts.flagged > 0)
            status = tell_place(c, &hosts, ROAST_FINDING_straggler_host, "Host");
        if (status == ROAST_OK)
            excuse(c, &hosts);
    }
    if (status == ROAST_OK)
        status = stand(c, &workers);
    if (status == ROAST_OK)
        status = roast_facts_order(facts, ROAST_BY_file, &files.order);
    if (status == ROAST_OK) {
        flag_slow(c, &workers);
        check_workers(c, &workers, &files);
        if (workers.flagged > 0)
            status = tell_place(c, &workers, ROAST_FINDING_straggler_worker, "Worker");
    }
    if (status == ROAST_OK)
        excuse(c, &workers);
    grouping_reset(&hosts);
    grouping_reset(&workers);
    grouping_reset(&files);
    return status;
}

/* ---- files ---- */

/* The file whose chunks were the last, and how long it went on when all others had ended. */
typedef struct last_file {
    uint32_t file;
    double alone;   /* s */
    double longest; /* s, cost of its longest chunk */
    double events;  /* of that chunk */
    double threads; /* that it kept busy meanwhile, at most */
} last_file;

static last_file find_last_file(const roast_facts *facts) {
    last_file found = {.file = ROAST_NOBODY};
    double last = -1, second = -1;
    for (uint32_t i = 0; i < roast_groups_count(&facts->files); i++) {
        double end = roast_fact_group_at(&facts->files, i)->last_end;
        if (end > last) {
            second = last;
            last = end;
            found.file = i;
        } else if (end > second) {
            second = end;
        }
    }
    if (found.file == ROAST_NOBODY || second < 0)
        return (last_file){.file = ROAST_NOBODY};
    found.alone = last - second;
    for (size_t i = 0; i < facts->count; i++) {
        const roast_fact *fact = &facts->facts[i];
        if (fact->file != found.file)
            continue;
        if (fact->start + (double)fact->duration > second)
            found.threads++;
        if (roast_fact_cost(fact) > found.longest) {
            found.longest = roast_fact_cost(fact);
            found.events = (double)fact->events;
        }
    }
    return found;
}

/* One file that goes on alone, because it is one huge chunk, or a slow one. */
static roast_status tell_last_file(roast_diagnosis *d, const last_file *last) {
    const roast_facts *facts = &d->facts;
    const roast_fact_group *file = roast_fact_group_at(&facts->files, last->file);
    double others = (facts->cost - file->cost) / (double)(facts->count - file->chunks);
    double idle = last->alone * fmax(0, d->threads - last->threads);
    double mean_events = roast_groups_count(&facts->files) > 1
                             ? roast_diagnosis_metric(d, "chunk_events_mean")
                             : NAN;
    bool huge = last->events > roast_limit.oversized * mean_events;
    roast_str path = roast_groups_name(&facts->files, last->file);
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_straggler_file, idle, 0.9);
    roast_say(&v.title, "File %s delays the end of the run by %s", roast_say_file(path),
              roast_say_time(last->alone));
    roast_say(
        &v.evidence,
        "Its longest chunk takes %s, the chunks of the other files take %s on average. After all "
        "others had ended it ran for another %s, on %s of %s threads.",
        roast_say_time(last->longest), roast_say_time(others), roast_say_time(last->alone),
        roast_say_count(fmin(last->threads, d->threads)), roast_say_count(d->threads));
    roast_say_path(&v.evidence, path);
    d->slow_files[0] = last->file;
    d->n_slow_files = 1;
    if (huge) {
        double size = roast_round_events(floor(last->events / (last->longest / others)));
        d->remedy[ROAST_FINDING_straggler_file] = size;
        roast_say(&v.evidence, " That chunk has %s events, the average chunk has %s.",
                  roast_say_count(last->events), roast_say_count(mean_events));
        roast_say(&v.advice,
                  "chunksize=%s cuts it into chunks as long as the others → predicted wall time %s "
                  "(now %s).",
                  roast_say_code(size), roast_say_time(d->wall - idle / d->threads),
                  roast_say_time(d->wall));
    } else {
        roast_say(
            &v.advice,
            "Its events are slower than those of others: check where it is stored and how it "
            "was written, copy it elsewhere, or list it first in the fileset, so that it starts "
            "early → predicted wall time %s (now %s).",
            roast_say_time(d->wall - idle / d->threads), roast_say_time(d->wall));
    }
    return roast_diagnosis_add(d, &v);
}

static roast_status tell_slow_files(const comparison *c, const grouping *g) {
    const standing *worst = &g->standings[0];
    double lost = 0;
    for (uint32_t i = 0; i < g->flagged; i++)
        lost += seconds_lost(c, g, &g->standings[i]);
    if (!roast_diagnosis_matters(c->d, lost))
        return ROAST_OK;
    for (c->d->n_slow_files = 0; c->d->n_slow_files < g->flagged; c->d->n_slow_files++)
        c->d->slow_files[c->d->n_slow_files] = g->standings[c->d->n_slow_files].group;
    roast_str path = roast_groups_name(&c->d->facts.by[g->by], worst->group);
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_straggler_file, lost, worst->confidence);
    roast_say(&v.title, "File %s takes %s times as long per event%s as the others",
              roast_say_file(path), roast_say_times(worst->factor), c->where);
    if (g->flagged > 1)
        roast_say(&v.title, " (and %u more)", (unsigned)(g->flagged - 1));
    roast_say(&v.evidence,
              "The median of its %u chunks takes %s times as long%s as chunks of the same dataset "
              "and size in other files.",
              (unsigned)worst->chunks, roast_say_times(worst->factor), c->where);
    roast_say_path(&v.evidence, path);
    roast_say(&v.advice,
              "Check where it is stored and how it was written (small baskets, another "
              "compression), copy it elsewhere or write it again; at the speed of the others %s "
              "would be saved.",
              roast_say_time(lost));
    return roast_diagnosis_add(c->d, &v);
}

/* Median CPU time per event in a file, or in all others. NaN: not known. */
static double median_cpu(const comparison *c, uint32_t file, bool of_it) {
    const roast_facts *facts = &c->d->facts;
    size_t count = 0;
    for (size_t i = 0; i < facts->count; i++) {
        const roast_fact *fact = &facts->facts[i];
        if ((fact->file == file) == of_it && fact->events > 0 && !isnan(fact->cpu))
            c->space[count++] = (double)(fact->cpu / fact->events);
    }
    return roast_median(c->space, count);
}

/* Whether all chunks of a file ran on one worker, which had hardly any other: then nobody can tell which of
 * the two is slow. */
static bool is_one_with_its_worker(const comparison *c, const grouping *g, uint32_t file) {
    const roast_facts *facts = &c->d->facts;
    uint32_t from = g->order.first[file], to = g->order.first[file + 1];
    uint32_t worker = facts->facts[g->order.order[from]].worker;
    if (worker == ROAST_NOBODY || roast_groups_count(&facts->workers) < 2)
        return false;
    for (uint32_t at = from; at < to; at++)
        if (facts->facts[g->order.order[at]].worker != worker)
            return false;
    return (double)roast_fact_group_at(&facts->workers, worker)->chunks <
           (double)(to - from) + roast_limit.group_chunks;
}

/* The chunks at the edges of a file's time: its first and its last one, and those of other files next to them. */
typedef struct file_edges {
    size_t first, last, previous, next; /* NOWHERE: there is none */
    double from, to;                    /* the file's time */
} file_edges;

#define NOWHERE SIZE_MAX

static double middle_of(const roast_fact *fact) {
    return fact->start + (double)fact->duration / 2;
}

static file_edges find_edges(const comparison *c, const grouping *g, uint32_t file) {
    const roast_facts *facts = &c->d->facts;
    file_edges e = {NOWHERE, NOWHERE, NOWHERE, NOWHERE, INFINITY, -INFINITY};
    for (uint32_t at = g->order.first[file]; at < g->order.first[file + 1]; at++) {
        size_t i = g->order.order[at];
        const roast_fact *fact = &facts->facts[i];
        double end = fact->start + (double)fact->duration;
        if (fact->start < e.from) {
            e.from = fact->start;
            e.first = i;
        }
        if (end > e.to) {
            e.to = end;
            e.last = i;
        }
    }
    for (size_t i = 0; i < facts->count; i++) {
        double middle = middle_of(&facts->facts[i]);
        if (facts->facts[i].file == file || isnan(c->excess[i]))
            continue;
        if (middle < e.from &&
            (e.previous == NOWHERE || middle > middle_of(&facts->facts[e.previous])))
            e.previous = i;
        if (middle > e.to && (e.next == NOWHERE || middle < middle_of(&facts->facts[e.next])))
            e.next = i;
    }
    return e;
}

/* Confidence that a file is slow which ran alone, as all do on one thread. A slow time of the machine would hardly begin
 * with the file's first chunk and end with its last one. */
static double slow_between_edges(const comparison *c, const grouping *g, const standing *s,
                                 const file_edges *e) {
    double limit = s->middle - log(g->slow);
    bool before = e->previous != NOWHERE, after = e->next != NOWHERE;
    if (!(c->excess[e->first] > limit) || !(c->excess[e->last] > limit) ||
        (before && c->excess[e->previous] > limit) || (after && c->excess[e->next] > limit))
        return 0;
    return before && after ? 0.7 : 0.5;
}

/* Confidence that a file is slow, and not the time at which it was read: chunks of other files that ran meanwhile were
 * quicker, or, where hardly any did, its events take more CPU time, or it is slow from its first chunk to its last. */
static double slow_at_any_time(const comparison *c, const grouping *g, const standing *s) {
    const roast_facts *facts = &c->d->facts;
    file_edges e = find_edges(c, g, s->group);
    size_t others = 0;
    for (size_t i = 0; i < facts->count; i++) {
        double middle = middle_of(&facts->facts[i]);
        if (facts->facts[i].file != s->group && middle > e.from && middle < e.to &&
            !isnan(c->excess[i]))
            c->space[others++] = c->excess[i];
    }
    if (others >= roast_limit.group_chunks && others * 2 >= s->chunks)
        return s->middle - roast_median(c->space, others) >= log(g->slow) ? 0.8 : 0;
    double own = median_cpu(c, s->group, true);
    if (own >= g->slow * median_cpu(c, s->group, false))
        return 0.8;
    return others == 0 ? slow_between_edges(c, g, s, &e) : 0;
}

/* Keeps those that are slow by themselves. A look at each takes a walk over all chunks: a few are enough. */
static void check_files(const comparison *c, grouping *g) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->flagged && i < ROAST_SLOW_FILES; i++) {
        standing s = g->standings[i];
        s.confidence = slow_at_any_time(c, g, &s);
        if (!is_one_with_its_worker(c, g, s.group) && s.confidence > 0)
            g->standings[kept++] = s;
    }
    g->flagged = kept;
}

static roast_status slow_files(const comparison *c) {
    grouping files = {.by = ROAST_BY_file, .slow = roast_limit.slow_file};
    roast_status status = stand(c, &files);
    if (status == ROAST_OK) {
        flag_slow(c, &files);
        check_files(c, &files);
        if (files.flagged > 0)
            status = tell_slow_files(c, &files);
    }
    grouping_reset(&files);
    return status;
}

static roast_status files(const comparison *c) {
    roast_diagnosis *d = c->d;
    last_file last = find_last_file(&d->facts);
    if (last.file != ROAST_NOBODY && d->threads > 0 && d->facts.count >= roast_limit.group_chunks &&
        last.longest >= roast_limit.oversized * d->facts.median_cost &&
        roast_fact_group_at(&d->facts.files, last.file)->chunks < d->facts.count &&
        last.alone * fmax(0, d->threads - last.threads) >= roast_limit.tail_share * d->available &&
        !d->made[ROAST_FINDING_straggler_worker] && !d->made[ROAST_FINDING_straggler_host] &&
        !d->made[ROAST_FINDING_straggler_storage])
        return tell_last_file(d, &last);
    return slow_files(c);
}

static double duration_of(const roast_fact *fact) {
    return (double)fact->duration;
}

static roast_status find_stragglers(comparison *c) {
    const bool *made = c->d->made;
    ROAST_TRY(compare_all(c));
    ROAST_TRY(roast_straggler_storages(c->d, c->cost, c->where, c->excess));
    ROAST_TRY(center_datasets(c));
    ROAST_TRY(hosts_and_workers(c));
    ROAST_TRY(files(c));
    if (made[ROAST_FINDING_straggler_host] || made[ROAST_FINDING_straggler_worker] ||
        made[ROAST_FINDING_straggler_file] || made[ROAST_FINDING_straggler_storage])
        return ROAST_OK;
    /* Opening takes the same time for all files: where that is long, a slow file hides behind it. */
    c->cost = duration_of;
    c->where = " in process()";
    ROAST_TRY(compare_all(c));
    ROAST_TRY(roast_straggler_storages(c->d, c->cost, c->where, c->excess));
    ROAST_TRY(center_datasets(c));
    return slow_files(c);
}

roast_status roast_rules_stragglers(roast_diagnosis *d) {
    comparison c = {.d = d, .cost = roast_fact_cost, .where = ""};
    if (d->facts.count < roast_limit.group_chunks)
        return ROAST_OK;
    c.excess = roast_alloc((d->facts.count + 1) * sizeof *c.excess);
    c.space = roast_alloc((d->facts.count + 1) * sizeof *c.space);
    roast_status status = c.excess != NULL && c.space != NULL ? find_stragglers(&c) : ROAST_ENOMEM;
    roast_free(c.excess);
    roast_free(c.space);
    return status;
}
