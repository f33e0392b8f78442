#include "roast/treelog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "proc/proctree.h"

/* What roast_treelog_news has reported about a process. */
typedef struct told_life {
    bool known; /* the cursor is one */
    bool joined, left;
    roast_series_cursor cursor;
} told_life;

enum { EXTRA_LOOKS = 64 };
static const double SOON = 0.02; /* seconds */

struct roast_treelog {
    roast_proctree *tree;
    roast_series *series;      /* memory, cpu and disk rates of all processes ... */
    roast_process_life *lives; /* ... whose numbers are their places here */
    size_t n_lives, lives_capacity;
    roast_series *sums; /* the same of all processes together: one worker */
    told_life *told;    /* of the first n_told lives */
    size_t n_told, told_capacity;
    uint64_t told_ticks;
    double memory_limit, peak_memory;
    double pause;    /* until the next look, should the interval be longer */
    int extra_looks; /* that are left */
    roast_mono last_look;
    double last_read, last_written; /* bytes of all processes at the last look; NaN */
};

/* ---- life ---- */

static double memory_limit_of(const char *root, int64_t pid) {
    roast_limits limits = {0};
    long pages = sysconf(_SC_PHYS_PAGES);
    double physical = pages > 0 ? (double)pages * (double)sysconf(_SC_PAGESIZE) : NAN;
    (void)roast_limits_read(root, NULL, pid, &limits, NULL);
    return limits.have_memory ? fmin((double)limits.memory_bytes, physical) : physical;
}

roast_status roast_treelog_new(const char *root, int64_t pid, roast_treelog **out,
                               roast_error *err) {
    roast_treelog *log = roast_alloc_zero(sizeof *log);
    if (log == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "process tree", -1, "no memory for the log");
    log->memory_limit = memory_limit_of(root, pid > 0 ? pid : 0);
    log->pause = SOON;
    log->extra_looks = EXTRA_LOOKS;
    log->peak_memory = log->last_read = log->last_written = NAN;
    roast_status status = roast_proctree_new(root, pid, &log->tree, err);
    if (status == ROAST_OK)
        status = roast_series_new(&log->series, err);
    if (status == ROAST_OK)
        status = roast_series_new(&log->sums, err);
    if (status != ROAST_OK) {
        roast_treelog_free(log);
        return status;
    }
    *out = log;
    return ROAST_OK;
}

void roast_treelog_free(roast_treelog *log) {
    if (log == NULL)
        return;
    roast_proctree_free(log->tree);
    roast_series_free(log->series);
    roast_series_free(log->sums);
    roast_free(log->lives);
    roast_free(log->told);
    roast_free(log);
}

/* ---- a look ---- */

/* The place of a process in the list, which it gets at its first look. */
static roast_status number_of(roast_treelog *log, const roast_tree_process *process,
                              uint32_t *number, roast_error *err) {
    char name[48];
    int len = snprintf(name, sizeof name, "%lld@%llu", (long long)process->pid,
                       (unsigned long long)process->start_ticks);
    return roast_series_worker(log->series, (roast_str){name, (size_t)len}, number, err);
}

/* When it joined: at the first look if it was there, else when it started. */
static roast_utc join_time(const roast_treelog *log, const roast_tree_process *process,
                           roast_utc now) {
    uint64_t ticks = roast_series_tick_count(log->series);
    roast_utc last = ticks > 1 ? roast_series_tick_time(log->series, ticks - 2) : now;
    roast_utc when = process->started.ns != 0 ? process->started : now;
    /* Start times are in clock ticks, and the clock may have been set back. */
    if (when.ns < last.ns)
        when = last;
    return when.ns > now.ns ? now : when;
}

static roast_status enlist(roast_treelog *log, const roast_tree_process *process, roast_utc now,
                           roast_error *err) {
    void *lives = log->lives;
    if (roast_array_reserve(&lives, &log->lives_capacity, sizeof *log->lives, log->n_lives + 1) !=
        ROAST_OK)
        return roast_error_set(err, ROAST_ENOMEM, "process tree", -1,
                               "no memory for the processes");
    log->lives = lives;
    log->lives[log->n_lives++] = (roast_process_life){
        .pid = process->pid, .parent = process->parent, .joined = join_time(log, process, now)};
    return ROAST_OK;
}

static void update_life(roast_process_life *life, const roast_tree_process *process) {
    const uint64_t io = ROAST_HAVE(read_bytes) | ROAST_HAVE(write_bytes);
    life->left = (roast_utc){0};
    life->looks++;
    if (process->have_cpu) {
        life->have_cpu = true;
        life->cpu_ns = process->cpu_ns;
    }
    if ((process->reading.have & io) == io) {
        life->have_io = true;
        life->read_bytes = (uint64_t)process->reading.read_bytes;
        life->write_bytes = (uint64_t)process->reading.write_bytes;
    }
}

static roast_status add_row(roast_treelog *log, const roast_tree_process *process, roast_utc now,
                            bool *changed, roast_error *err) {
    uint32_t number;
    double value[ROAST_COLUMNS];
    ROAST_TRY(number_of(log, process, &number, err));
    if (number == log->n_lives) {
        ROAST_TRY(enlist(log, process, now, err));
        *changed = true;
    }
    update_life(&log->lives[number], process);
    for (int column = 0; column < ROAST_COLUMNS; column++)
        value[column] = NAN;
    if (process->reading.have & ROAST_HAVE(rss_bytes))
        value[ROAST_COLUMN_memory] = (double)process->reading.rss_bytes;
    value[ROAST_COLUMN_cpu] = process->cpu_percent;
    value[ROAST_COLUMN_disk_read_bps] = process->read_bps;
    value[ROAST_COLUMN_disk_write_bps] = process->write_bps;
    return roast_series_append(log->series, number, value, err);
}

/* Each tick has a time of its own, by which rows and ticks find each other again. */
static roast_utc next_moment(const roast_treelog *log) {
    roast_utc now = roast_utc_now();
    uint64_t ticks = roast_series_tick_count(log->series);
    if (ticks == 0)
        return now;
    roast_utc last = roast_series_tick_time(log->series, ticks - 1);
    return now.ns > last.ns ? now : (roast_utc){last.ns + 1};
}

/* ---- sums over the processes of a look ---- */

/* Adds to a sum that is NaN as long as nothing was there. */
static void add_to(double *sum, bool there, double value) {
    if (there && !isnan(value))
        *sum = (isnan(*sum) ? 0 : *sum) + value;
}

/* The counters of a process include those of a child that it waited for: the sum over all living processes does
 * not fall when one ends, unless no process waited for it. */
static double rate_of(double *last, double now, double seconds) {
    double rate = (now - *last) / seconds;
    *last = now;
    if (!(seconds > 0))
        return NAN;
    return rate < 0 ? 0 : rate; /* NaN stays */
}

static roast_status record_sums(roast_treelog *log, roast_utc now, roast_error *err) {
    double value[ROAST_COLUMNS], read = NAN, written = NAN;
    roast_mono moment = roast_mono_now();
    uint32_t worker;
    for (int column = 0; column < ROAST_COLUMNS; column++)
        value[column] = NAN;
    for (size_t i = 0; i < log->tree->now.count; i++) {
        const roast_tree_process *process = &log->tree->now.at[i];
        const roast_reading *reading = &process->reading;
        add_to(&value[ROAST_COLUMN_memory], reading->have & ROAST_HAVE(rss_bytes),
               (double)reading->rss_bytes);
        add_to(&value[ROAST_COLUMN_cpu], true, process->cpu_percent);
        add_to(&read, reading->have & ROAST_HAVE(read_bytes), (double)reading->read_bytes);
        add_to(&written, reading->have & ROAST_HAVE(write_bytes), (double)reading->write_bytes);
    }
    double seconds = (double)roast_mono_since(log->last_look, moment) / 1e9;
    log->last_look = moment;
    value[ROAST_COLUMN_disk_read_bps] = rate_of(&log->last_read, read, seconds);
    value[ROAST_COLUMN_disk_write_bps] = rate_of(&log->last_written, written, seconds);
    log->peak_memory =
        fmax(log->peak_memory, value[ROAST_COLUMN_memory]); /* the other one if one is NaN */
    ROAST_TRY(roast_series_worker(log->sums, roast_str_of("all"), &worker, err));
    ROAST_TRY(roast_series_tick(log->sums, now, 1, err));
    return roast_series_append(log->sums, worker, value, err);
}

static roast_status record(roast_treelog *log, bool *changed, roast_error *err) {
    size_t count = log->tree->now.count;
    roast_utc now = next_moment(log);
    ROAST_TRY(roast_series_tick(log->series, now, (uint32_t)count, err));
    for (size_t i = 0; i < log->tree->ended.count; i++) {
        uint32_t number;
        ROAST_TRY(number_of(log, &log->tree->ended.at[i], &number, err));
        /* One that could not be enlisted is not known. */
        if (number < log->n_lives)
            log->lives[number].left = now;
        *changed = true;
    }
    for (size_t i = 0; i < count; i++)
        ROAST_TRY(add_row(log, &log->tree->now.at[i], now, changed, err));
    return record_sums(log, now, err);
}

roast_status roast_treelog_look(roast_treelog *log, bool *changed, roast_error *err) {
    bool unasked = false;
    if (changed == NULL)
        changed = &unasked;
    *changed = false;
    log->pause *= 2;
    ROAST_TRY(roast_proctree_look(log->tree, NULL, err));
    roast_status status = record(log, changed, err);
    if (*changed)
        log->pause = SOON;
    return status;
}

double roast_treelog_pause(roast_treelog *log, double interval) {
    if (!(log->pause < interval) || log->extra_looks == 0)
        return interval;
    log->extra_looks--;
    return log->pause;
}

/* ---- processes that were seen ---- */

size_t roast_treelog_count(const roast_treelog *log) {
    return log->n_lives;
}

const roast_process_life *roast_treelog_at(const roast_treelog *log, size_t index) {
    return index < log->n_lives ? &log->lives[index] : NULL;
}

double roast_treelog_peak_memory(const roast_treelog *log) {
    return log->peak_memory;
}

/* ---- all of them as one ---- */

static roast_status copy_sums(const roast_treelog *log, uint32_t worker, int32_t cores,
                              roast_series *out, roast_error *err) {
    roast_series_cursor cursor;
    roast_sample sample;
    if (roast_series_tick_count(log->sums) == 0)
        return ROAST_OK;
    roast_utc start = roast_series_tick_time(log->sums, 0);
    ROAST_TRY(roast_series_change(out, worker, ROAST_WORKER_JOINED, start, cores, err));
    roast_series_cursor_init(&cursor, log->sums, 0);
    while (roast_series_cursor_next(&cursor, &sample)) {
        sample.value[ROAST_COLUMN_memory_limit] = log->memory_limit;
        sample.value[ROAST_COLUMN_cores] = cores;
        sample.value[ROAST_COLUMN_last_seen] = (double)sample.when.ns / 1e9;
        ROAST_TRY(roast_series_tick(out, sample.when, 1, err));
        ROAST_TRY(roast_series_append(out, worker, sample.value, err));
    }
    return ROAST_OK;
}

roast_status roast_treelog_tree(const roast_treelog *log, roast_str name, roast_str host,
                                int32_t cores, roast_series **out, roast_error *err) {
    roast_series *series;
    uint32_t worker;
    ROAST_TRY(roast_series_new(&series, err));
    roast_status status = roast_series_worker(series, name, &worker, err);
    if (status == ROAST_OK)
        status = roast_series_set_host(series, worker, host, err);
    if (status == ROAST_OK)
        status = copy_sums(log, worker, cores, series, err);
    if (status == ROAST_OK)
        *out = series;
    else
        roast_series_free(series);
    return status;
}

/* ---- the series of some of them ---- */

/* A process that is in the result. */
typedef struct chosen {
    const roast_process_life *life;
    uint32_t worker; /* its number in the result */
    int cores;       /* 0: it is there to be seen, but no worker */
    told_life told;
    roast_sample sample;
    bool more; /* `sample` holds its next row */
} chosen;

typedef struct selection {
    chosen *items;
    size_t count;
    uint64_t from_tick;
} selection;

static bool step(chosen *item) {
    return item->more = roast_series_cursor_next(&item->told.cursor, &item->sample);
}

/* Chooses a process, of which so much was reported. */
static void choose_one(const roast_treelog *log, size_t number, const told_life *told,
                       selection *picked, int cores) {
    chosen *item = &picked->items[picked->count++];
    item->life = &log->lives[number];
    item->cores = cores;
    if (told != NULL)
        item->told = *told;
    if (!item->told.known)
        roast_series_cursor_init(&item->told.cursor, log->series, (uint32_t)number);
    item->told.known = true;
    roast_utc first = roast_series_tick_time(log->series, picked->from_tick);
    while (step(item) && item->sample.when.ns < first.ns)
        ;
}

/* `told`: what was reported of each process before, or NULL. */
static roast_status choose_all(const roast_treelog *log, roast_treelog_choice choose, void *context,
                               const told_life *told, selection *picked, roast_error *err) {
    picked->items = roast_alloc_zero((log->n_lives + 1) * sizeof *picked->items);
    if (picked->items == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "process tree", -1,
                               "no memory for the processes");
    for (size_t i = 0; i < log->n_lives; i++) {
        int cores = choose(context, &log->lives[i]);
        if (cores >= 0)
            choose_one(log, i, told != NULL ? &told[i] : NULL, picked, cores);
    }
    return ROAST_OK;
}

static roast_status name_workers(selection *picked, roast_series *out, roast_str host,
                                 roast_error *err) {
    char name[ROAST_MAX_WORKER_NAME + 1];
    for (size_t i = 0; i < picked->count; i++) {
        chosen *item = &picked->items[i];
        int len = snprintf(name, sizeof name, "%.*s:%lld", (int)host.len, host.data,
                           (long long)item->life->pid);
        ROAST_TRY(roast_series_worker(out, (roast_str){name, (size_t)len}, &item->worker, err));
        ROAST_TRY(roast_series_set_host(out, item->worker, host, err));
    }
    return ROAST_OK;
}

typedef struct change {
    uint32_t worker;
    roast_worker_change_kind kind;
    roast_utc when;
    int cores;
} change;

static int compare_changes(const void *a, const void *b) {
    int64_t first = ((const change *)a)->when.ns, second = ((const change *)b)->when.ns;
    return (first > second) - (first < second);
}

/* Joins and leaves of a worker that were not reported yet. */
static size_t changes_of(chosen *item, change *out) {
    size_t count = 0;
    bool left = item->life->left.ns != 0;
    if (item->cores == 0)
        return 0;
    if (!item->told.joined)
        out[count++] = (change){item->worker, ROAST_WORKER_JOINED, item->life->joined, item->cores};
    if (left && !item->told.left)
        out[count++] = (change){item->worker, ROAST_WORKER_LEFT, item->life->left, 0};
    item->told.joined = true;
    item->told.left = left;
    return count;
}

/* All of them, in order of time. */
static roast_status add_changes(selection *picked, roast_series *out, roast_error *err) {
    change *changes = roast_alloc((2 * picked->count + 1) * sizeof *changes);
    size_t count = 0;
    if (changes == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "process tree", -1, "no memory for the changes");
    for (size_t i = 0; i < picked->count; i++)
        count += changes_of(&picked->items[i], changes + count);
    qsort(changes, count, sizeof *changes, compare_changes);
    roast_status status = ROAST_OK;
    for (size_t i = 0; i < count && status == ROAST_OK; i++)
        status = roast_series_change(out, changes[i].worker, changes[i].kind, changes[i].when,
                                     changes[i].cores, err);
    roast_free(changes);
    return status;
}

static bool has_row(const chosen *item, roast_utc when) {
    return item->more && item->sample.when.ns == when.ns;
}

static roast_status copy_tick(const roast_treelog *log, const selection *picked, roast_utc when,
                              roast_series *out, roast_error *err) {
    uint32_t workers = 0;
    for (size_t i = 0; i < picked->count; i++)
        workers += has_row(&picked->items[i], when) && picked->items[i].cores > 0;
    ROAST_TRY(roast_series_tick(out, when, workers, err));
    for (size_t i = 0; i < picked->count; i++) {
        chosen *item = &picked->items[i];
        if (!has_row(item, when))
            continue;
        item->sample.value[ROAST_COLUMN_memory_limit] = log->memory_limit;
        item->sample.value[ROAST_COLUMN_last_seen] = (double)when.ns / 1e9;
        if (item->cores > 0)
            item->sample.value[ROAST_COLUMN_cores] = item->cores;
        ROAST_TRY(roast_series_append(out, item->worker, item->sample.value, err));
        step(item);
    }
    return ROAST_OK;
}

static roast_status copy_chosen(const roast_treelog *log, selection *picked, roast_str host,
                                roast_series *out, roast_error *err) {
    ROAST_TRY(name_workers(picked, out, host, err));
    ROAST_TRY(add_changes(picked, out, err));
    for (uint64_t tick = picked->from_tick; tick < roast_series_tick_count(log->series); tick++)
        ROAST_TRY(copy_tick(log, picked, roast_series_tick_time(log->series, tick), out, err));
    return ROAST_OK;
}

/* A series of those that `choose` takes, from the tick in `picked` on. */
static roast_status make_series(const roast_treelog *log, roast_treelog_choice choose,
                                void *context, const told_life *told, selection *picked,
                                roast_str host, roast_series **out, roast_error *err) {
    roast_series *series = NULL;
    if (host.len > ROAST_MAX_WORKER_NAME - 32) /* space for the number after it */
        return roast_error_set(err, ROAST_EINVAL, "process tree", -1,
                               "the host's name is longer than %u bytes",
                               ROAST_MAX_WORKER_NAME - 32);
    roast_status status = choose_all(log, choose, context, told, picked, err);
    if (status == ROAST_OK)
        status = roast_series_new(&series, err);
    if (status == ROAST_OK)
        status = copy_chosen(log, picked, host, series, err);
    if (status == ROAST_OK)
        *out = series;
    else
        roast_series_free(series);
    return status;
}

roast_status roast_treelog_series(const roast_treelog *log, roast_treelog_choice choose,
                                  void *context, roast_str host, roast_series **out,
                                  roast_error *err) {
    selection picked = {0};
    roast_status status = make_series(log, choose, context, NULL, &picked, host, out, err);
    roast_free(picked.items);
    return status;
}

/* ---- news ---- */

static roast_status make_room_to_tell(roast_treelog *log, roast_error *err) {
    void *told = log->told;
    if (roast_array_reserve(&told, &log->told_capacity, sizeof *log->told, log->n_lives + 1) !=
        ROAST_OK)
        return roast_error_set(err, ROAST_ENOMEM, "process tree", -1,
                               "no memory for the processes");
    log->told = told;
    for (; log->n_told < log->n_lives; log->n_told++)
        log->told[log->n_told] = (told_life){0};
    return ROAST_OK;
}

roast_status roast_treelog_news(roast_treelog *log, roast_treelog_choice choose, void *context,
                                roast_str host, roast_series **out, roast_error *err) {
    selection picked = {.from_tick = log->told_ticks};
    ROAST_TRY(make_room_to_tell(log, err));
    roast_status status = make_series(log, choose, context, log->told, &picked, host, out, err);
    if (status == ROAST_OK) {
        for (size_t i = 0; i < picked.count; i++)
            log->told[picked.items[i].life - log->lives] = picked.items[i].told;
        log->told_ticks = roast_series_tick_count(log->series);
    }
    roast_free(picked.items);
    return status;
}
