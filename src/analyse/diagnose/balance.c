/* How the work was spread: the tail, and how many workers there were; threads that hold each other up. */
#include <math.h>
#include <stdlib.h>

#include "analyse/diagnose/internal.h"
#include "roast/figures.h"

/* ---- the tail ---- */

static roast_status long_tail(roast_diagnosis *d) {
    double idle = roast_diagnosis_tail(d);
    double usual = d->threads * d->facts.median_cost / 2, saving = idle - usual;
    if (idle < roast_limit.tail_share * d->available || !roast_diagnosis_matters(d, saving))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_long_tail, saving, 0.7);
    roast_say(&v.title, "At the end %s of core time was idle", roast_say_time(idle));
    roast_say(&v.evidence,
              "From the start of the last chunk to the end of the chunks, %s of all core time was "
              "idle; a tail of half a chunk per thread would be %s.",
              roast_say_percent(idle / d->available), roast_say_time(usual));
    roast_say(&v.advice,
              "List the files with the longest chunks first, make chunks smaller, or stop workers "
              "as soon as nothing is queued (adaptive scaling); %s would be saved.",
              roast_say_time(saving));
    return roast_diagnosis_add(d, &v);
}

/* ---- workers ---- */

static bool has_straggler(const roast_diagnosis *d) {
    return d->made[ROAST_FINDING_straggler_worker] || d->made[ROAST_FINDING_straggler_host] ||
           d->made[ROAST_FINDING_straggler_file] || d->made[ROAST_FINDING_straggler_storage];
}

static roast_status starved(roast_diagnosis *d) {
    double paid = d->threads * d->span, busy = d->facts.cost / paid;
    double each = (double)d->facts.count / d->threads;
    double needed = fmax(1, ceil(d->facts.cost / d->span));
    double saving = (d->threads - needed) * d->span;
    if (!(busy < roast_limit.starved_share) || !(each < roast_limit.starved_chunks) ||
        !roast_diagnosis_matters(d, saving))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_too_many_workers, saving, 0.8);
    d->remedy[ROAST_FINDING_too_many_workers] = needed;
    roast_say(&v.title, "Too many workers: there were %s for %s",
              roast_say_many((double)d->facts.count, "chunk"),
              roast_say_many(round(d->threads), "thread"));
    roast_say(&v.evidence,
              "From the first chunk to the last, the threads were busy with chunks for %s of the "
              "time.",
              roast_say_percent(busy));
    roast_say(&v.advice,
              "%s → the same wall time, and %s of core time saved; or cut the input into smaller "
              "chunks.",
              roast_say_many(needed, "thread"), roast_say_time(saving));
    return roast_diagnosis_add(d, &v);
}

/* The share of process() that each worker waited for a core; *count workers have it. Chunks of this machine name no
 * worker, and count as those of one. */
static roast_status queue_shares(const roast_facts *facts, double *shares, size_t *count) {
    uint32_t workers = roast_groups_count(&facts->workers);
    double(*sums)[2] = roast_alloc_zero(((size_t)workers + 1) * sizeof *sums);
    if (sums == NULL)
        return ROAST_ENOMEM;
    for (size_t i = 0; i < facts->count; i++) {
        const roast_fact *fact = &facts->facts[i];
        if (isnan(fact->queue))
            continue;
        double *sum = sums[fact->worker != ROAST_NOBODY ? fact->worker : workers];
        sum[0] += (double)fact->duration;
        sum[1] += fmin((double)fact->queue, (double)fact->duration);
    }
    for (uint32_t i = 0; i <= workers; i++)
        if (sums[i][0] > 0)
            shares[(*count)++] = sums[i][1] / sums[i][0];
    roast_free(sums);
    return ROAST_OK;
}

/* In the median of the workers; of two in the middle the lower one: one crowded worker of two is a
 * straggler. */
static roast_status median_queue_share(const roast_facts *facts, double *share) {
    double *shares =
        roast_alloc(((size_t)roast_groups_count(&facts->workers) + 3) * sizeof *shares);
    size_t count = 0;
    if (shares == NULL)
        return ROAST_ENOMEM;
    roast_status status = queue_shares(facts, shares, &count);
    if (count > 0 && count % 2 == 0)
        shares[count++] = -1; /* so that the lower one is in the middle */
    *share = roast_median(shares, count);
    roast_free(shares);
    return status;
}

/* Who took the cores that threads waited for. */
typedef struct crowd {
    bool known;
    bool own, others;            /* more threads than cores; much work of others */
    double threads, cores, work; /* of others: a share of the cores */
} crowd;

static crowd crowd_of(const roast_diagnosis *d) {
    double cores = roast_diagnosis_metric(d, "machine_cores");
    double percent = roast_diagnosis_metric(d, "other_work_percent");
    crowd why = {.threads = round(d->threads), .cores = cores, .work = percent / 100};
    why.known = why.threads > 0 && cores > 0 && percent >= 0;
    why.own = why.known && why.threads > cores;
    why.others = why.known && percent >= roast_limit.other_work;
    return why;
}

static void say_crowd(roast_words *words, const crowd *why) {
    if (why->known)
        roast_say(words, " There were %s for %s; other work on the machines took %s of the cores.",
                  roast_say_many(why->threads, "thread"), roast_say_many(why->cores, "core"),
                  roast_say_percent(why->work));
}

static double free_cores(const crowd *why) {
    return fmax(1, floor(why->cores * (1 - why->work)));
}

static void advise_crowd(roast_words *words, const crowd *why, double threads, double part) {
    if (why->own && why->others)
        roast_say(words, "Start no more than %s, or find what else runs there.",
                  roast_say_many(free_cores(why), "thread"));
    else if (why->own)
        roast_say(words, "Start no more than %s.", roast_say_many(why->cores, "thread"));
    else if (why->others)
        roast_say(words,
                  "Find what else runs there, or run when or where the cores are free; fewer "
                  "threads would not help.");
    else if (why->known)
        roast_say(words,
                  "A limit of CPU time is likely (of a container or a batch job): start no more "
                  "threads than it has cores.");
    else if (threads > 0)
        roast_say(words,
                  "Only %s of %s had a core; start no more than there are free cores, or find what "
                  "else runs there.",
                  roast_say_many(fmax(1, round(threads * (1 - part))), "thread"),
                  roast_say_count(threads));
    else
        roast_say(words, "Start no more threads than there are free cores, or find what else runs "
                         "there.");
}

static roast_status crowded(roast_diagnosis *d) {
    double share;
    ROAST_TRY(median_queue_share(&d->facts, &share));
    /* The share common to all workers; longer waits of some are findings of their own. */
    double part = share, saving = share * fmax(0, d->facts.timed - d->straggled);
    if (!(share >= roast_limit.queue_share) || d->facts.count < roast_limit.least_chunks ||
        !roast_diagnosis_matters(d, saving))
        return ROAST_OK;
    crowd why = crowd_of(d);
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_too_many_workers, saving, 0.7);
    d->crowded = true;
    if (why.own)
        d->remedy[ROAST_FINDING_too_many_workers] = why.others ? free_cores(&why) : why.cores;
    const char *waited = roast_say_percent(part);
    if (why.own || !why.known)
        roast_say(&v.title, "More threads than cores: chunks waited %s of process() for a core",
                  waited);
    else
        roast_say(&v.title, "%s waited %s of process() for a core",
                  why.others ? "The machines were busy with other work: chunks" : "Chunks", waited);
    roast_say(&v.evidence,
              "In the median worker, threads waited for a free core for %s of the time in "
              "process(); %s in total.",
              roast_say_percent(share), roast_say_time(saving));
    say_crowd(&v.evidence, &why);
    advise_crowd(&v.advice, &why, d->threads, part);
    return roast_diagnosis_add(d, &v);
}

static roast_status too_few(roast_diagnosis *d) {
    double busy = d->facts.cost / (d->threads * d->span);
    double each = (double)d->facts.count / d->threads;
    if (!(busy >= roast_limit.busy_share) || !(each >= roast_limit.many_chunks) ||
        !(d->wall >= roast_limit.long_run))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_too_few_workers, 0, 0.7);
    d->remedy[ROAST_FINDING_too_few_workers] = 2 * round(d->threads);
    roast_say(&v.title, "More workers would have ended the run sooner");
    roast_say(&v.evidence,
              "From the first chunk to the last, the %s threads were busy with chunks for %s of "
              "the time, with %s chunks each.",
              roast_say_count(d->threads), roast_say_percent(busy), roast_say_count(each));
    roast_say(&v.advice,
              "%s threads → predicted wall time %s (now %s), at the same core time, as long as "
              "storage and network keep up.",
              roast_say_count(2 * d->threads), roast_say_time(d->wall - d->span / 2),
              roast_say_time(d->wall));
    return roast_diagnosis_add(d, &v);
}

roast_status roast_rules_balance(roast_diagnosis *d) {
    if (d->facts.count == 0)
        return ROAST_OK;
    if (d->budget != NULL && d->span > 0 && d->threads > 0) {
        bool explained = has_straggler(d) || d->made[ROAST_FINDING_chunks_too_large];
        if (!explained)
            ROAST_TRY(starved(d));
        if (!explained && !d->made[ROAST_FINDING_too_many_workers])
            ROAST_TRY(long_tail(d));
        ROAST_TRY(too_few(d));
    }
    if (d->facts.has_queue && !d->made[ROAST_FINDING_too_many_workers])
        ROAST_TRY(crowded(d));
    return ROAST_OK;
}

/* ---- Python's lock ---- */

typedef struct stretch {
    double from, to;
} stretch;

static int by_start(const void *a, const void *b) {
    const stretch *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Seconds in which at least one of them ran; they are sorted. */
static double covered(stretch *stretches, size_t count) {
    double all = 0, until = -INFINITY;
    qsort(stretches, count, sizeof *stretches, by_start);
    for (size_t i = 0; i < count; i++) {
        double from = fmax(stretches[i].from, until);
        if (stretches[i].to > from)
            all += stretches[i].to - from;
        until = fmax(until, stretches[i].to);
    }
    return all;
}

/* Of the workers that have several threads at work. */
typedef struct lock_sums {
    double covered, inside; /* s: worker time; in process() */
    double cpu, queue, off; /* of it: on the CPU; waiting for a core; neither */
    double switches;        /* NaN: not known */
    uint32_t workers;
} lock_sums;

/* The chunks of one worker; members: NULL for all of them. `whole`: also the time before process(), of which no CPU
 * time is known. */
static void add_worker(const roast_facts *facts, const uint32_t *members, size_t number, bool whole,
                       stretch *stretches, lock_sums *sums) {
    double inside = 0, cpu = 0, queue = 0, switches = 0;
    size_t count = 0;
    for (size_t i = 0; i < number; i++) {
        const roast_fact *fact = &facts->facts[members != NULL ? members[i] : i];
        double before = whole && fact->before > 0 ? (double)fact->before : 0;
        if (isnan(fact->cpu))
            continue;
        stretches[count++] = (stretch){fact->start - before, fact->start + (double)fact->duration};
        inside += before + (double)fact->duration;
        cpu += fmin((double)fact->cpu, (double)fact->duration);
        queue += fact->queue > 0 ? (double)fact->queue : 0;
        switches += (double)fact->switches;
    }
    if (count < roast_limit.group_chunks)
        return;
    double once = covered(stretches, count);
    if (!(once > 0) || inside < roast_limit.gil_threads * once)
        return;
    sums->covered += once;
    sums->inside += inside;
    sums->cpu += cpu;
    sums->queue += queue;
    sums->off += fmax(0, inside - cpu - queue);
    sums->switches += switches;
    sums->workers++;
}

/* Chunks of a pool of this machine name no worker; those of a pool of threads have the same one. */
static bool is_pool_of_threads(const roast_diagnosis *d) {
    return roast_groups_count(&d->facts.workers) == 0 &&
           roast_diagnosis_metric(d, "peak_workers") == 1;
}

static roast_status sum_locks(const roast_diagnosis *d, bool whole, lock_sums *sums) {
    const roast_facts *facts = &d->facts;
    roast_fact_order order = {0};
    stretch *stretches = roast_alloc((facts->count + 1) * sizeof *stretches);
    roast_status status =
        stretches != NULL ? roast_facts_order(facts, ROAST_BY_worker, &order) : ROAST_ENOMEM;
    for (uint32_t i = 0; status == ROAST_OK && i < roast_groups_count(&facts->workers); i++)
        add_worker(facts, order.order + order.first[i], order.first[i + 1] - order.first[i], whole,
                   stretches, sums);
    if (status == ROAST_OK && is_pool_of_threads(d))
        add_worker(facts, NULL, facts->count, whole, stretches, sums);
    roast_fact_order_reset(&order);
    roast_free(stretches);
    return status;
}

static void say_fewer_threads(const roast_diagnosis *d, roast_words *words, double threads,
                              double at_once, double off) {
    if (is_pool_of_threads(d))
        roast_say(words, "A pool of processes in place of threads, as FuturesExecutor(workers=%s)",
                  roast_say_count(threads));
    else
        roast_say(words, "threads_per_worker=1 and %s times as many workers",
                  roast_say_times(threads > 1 ? threads : at_once));
    roast_say(words, " (Python's lock lets one thread run at a time); %s would be saved.",
              roast_say_time(off));
}

/* Task time, and the CPU time in it: of processing tasks, as the engine counts them; of a pool of threads, which
 * counts no tasks, by the budget and the process. */
static void time_of_tasks(const roast_diagnosis *d, double *all, double *cpu) {
    *all = *cpu = 0;
    for (uint32_t i = 0; i < roast_run_figure_count(d->run); i++) {
        roast_figure figure = roast_run_figure(d->run, i);
        bool on = figure.activity == ROAST_ACTIVITY_cpu;
        if (figure.kind != ROAST_KIND_processing ||
            (!on && figure.activity != ROAST_ACTIVITY_noncpu))
            continue;
        *all += figure.value;
        *cpu += on ? figure.value : 0;
    }
    if (*all > 0 || !is_pool_of_threads(d))
        return;
    *all = d->facts.cost + roast_diagnosis_part(d, ROAST_PART_preprocessing);
    *cpu = roast_diagnosis_metric(d, "worker_cpu_seconds");
}

/* Threads that open files compete before process(). */
static roast_status opening(roast_diagnosis *d, double threads) {
    lock_sums sums = {0};
    double all, cpu;
    time_of_tasks(d, &all, &cpu);
    if (!(all > 0) || !(cpu > 0) || d->facts.before < roast_limit.gil_share * d->facts.cost)
        return ROAST_OK;
    if (is_pool_of_threads(d)) /* its chunks do not tell when their tasks began */
        sums = (lock_sums){.workers = 1, .covered = d->wall, .inside = all};
    else
        ROAST_TRY(sum_locks(d, true, &sums));
    double share = 1 - cpu / all, at_once = sums.inside / sums.covered;
    double cores = at_once * cpu / all, off = sums.inside * share;
    if (sums.workers == 0 || cores < roast_limit.gil_least_cores ||
        cores > roast_limit.gil_most_cores || share < roast_limit.gil_share ||
        !roast_diagnosis_matters(d, off))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_gil_contention, off, 0.6);
    roast_say(
        &v.title,
        "Threads of a worker wait for each other while they open files: %s at once use %s cores",
        roast_say_times(at_once), roast_say_times(cores));
    roast_say(&v.evidence,
              "In %s, %s tasks ran at once on average and kept %s cores busy; %s of the task time "
              "is before "
              "process(). For %s of the task time they did not run.",
              roast_say_many(sums.workers, "worker"), roast_say_times(at_once),
              roast_say_times(cores), roast_say_percent(d->facts.before / d->facts.cost),
              roast_say_percent(share));
    say_fewer_threads(d, &v.advice, threads, at_once, off);
    return roast_diagnosis_add(d, &v);
}

static roast_status processing(roast_diagnosis *d, double threads) {
    lock_sums sums = {0};
    ROAST_TRY(sum_locks(d, false, &sums));
    double cores = sums.cpu / sums.covered, at_once = sums.inside / sums.covered;
    double share = sums.off / sums.inside, wakes = sums.switches / sums.off;
    /* The holder of the lock may wait for a core on a busy machine. */
    double wanted = cores + sums.queue / sums.covered;
    if (sums.workers == 0 || !(wanted >= roast_limit.gil_least_cores) ||
        cores > roast_limit.gil_most_cores || !(share >= roast_limit.gil_share) ||
        d->facts.rest < roast_limit.gil_share * d->facts.timed || wakes < roast_limit.gil_wakes ||
        !roast_diagnosis_matters(d, sums.off))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_gil_contention, sums.off, isnan(wakes) ? 0.6 : 0.9);
    roast_say(&v.title, "Threads of a worker wait for each other: %s at once use %s cores",
              roast_say_times(at_once), roast_say_times(cores));
    roast_say(&v.evidence,
              "In %s, %s chunks were inside process() at once on average and kept %s cores busy. "
              "For %s of "
              "that time they neither ran nor waited for a core.",
              roast_say_many(sums.workers, "worker"), roast_say_times(at_once),
              roast_say_times(cores), roast_say_percent(share));
    say_fewer_threads(d, &v.advice, threads, at_once, sums.off);
    return roast_diagnosis_add(d, &v);
}

roast_status roast_rules_threads(roast_diagnosis *d) {
    double threads = roast_diagnosis_metric(d, "cores_per_worker");
    if (threads < roast_limit.gil_threads) /* known, and too few */
        return ROAST_OK;
    ROAST_TRY(processing(d, threads));
    return d->made[ROAST_FINDING_gil_contention] ? ROAST_OK : opening(d, threads);
}
