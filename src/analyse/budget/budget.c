#include <math.h>
#include <string.h>

#include "analyse/budget/internal.h"
#include "base/names.h"
#include "metrics/catalogue.h"
#include "roast/figures.h"

ROAST_NAMES(roast_budget_part_name, roast_budget_part, ROAST_BUDGET_PARTS, ROAST_NAME_ITSELF)

const char *roast_budget_part_label(roast_budget_part part) {
    static const uint32_t rows[] = {
#define X(name) ROAST_M_budget_##name,
        ROAST_BUDGET_PARTS(X)
#undef X
    };
    return (unsigned)part < ROAST_PART_COUNT ? roast_catalogue_at(rows[part])->label : "unknown";
}

ROAST_NAMES(roast_budget_split_name, roast_budget_split, ROAST_BUDGET_SPLITS, ROAST_NAME_ITSELF)

/* ---- rows ---- */

unsigned roast_budget_rows_of(roast_budget_work *work, uint32_t worker,
                              const roast_budget_clocks *chunk,
                              roast_budget_row *rows[ROAST_BUDGET_ROWS]) {
    roast_budget_table *tables = work->budget->tables;
    unsigned count = 0;
    rows[count++] = &work->budget->total;
    rows[count++] = roast_budget_row_at(&tables[ROAST_BY_worker], worker);
    if (work->workers[worker].host != ROAST_NONE)
        rows[count++] = roast_budget_row_at(&tables[ROAST_BY_host], work->workers[worker].host);
    if (chunk != NULL && chunk->dataset != ROAST_NONE)
        rows[count++] = roast_budget_row_at(&tables[ROAST_BY_dataset], chunk->dataset);
    if (chunk != NULL && chunk->file != ROAST_NONE)
        rows[count++] = roast_budget_row_at(&tables[ROAST_BY_file], chunk->file);
    if (chunk != NULL && chunk->storage != ROAST_NONE)
        rows[count++] = roast_budget_row_at(&tables[ROAST_BY_storage], chunk->storage);
    return count;
}

void roast_budget_add(roast_budget_work *work, roast_budget_part part, double seconds,
                      uint32_t worker, const roast_budget_clocks *chunk) {
    roast_budget_row *rows[ROAST_BUDGET_ROWS] = {NULL};
    unsigned count = roast_budget_rows_of(work, worker, chunk, rows);
    for (unsigned i = 0; i < count; i++)
        rows[i]->parts[part] += seconds;
}

static double sum_of_parts(const roast_budget_row *row) {
    double sum = 0;
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        sum += row->parts[part];
    return sum;
}

/* ---- what is available ---- */

static void add_available(roast_budget_work *work) {
    for (size_t i = 0; i < work->life_count; i++) {
        const roast_budget_life *life = &work->lives[i];
        roast_budget_row *rows[ROAST_BUDGET_ROWS] = {NULL};
        unsigned count = roast_budget_rows_of(work, life->worker, NULL, rows);
        for (unsigned row = 0; row < count; row++)
            rows[row]->available += (double)life->threads * (double)(life->to - life->from) / 1e6;
        if (work->workers[life->worker].host == ROAST_NONE)
            work->unhosted = true;
    }
}

/* ---- figures of the spans ---- */

typedef struct span_seconds {
    double processing_cpu, processing, reduction, other;
} span_seconds;

static span_seconds sum_spans(const roast_run *run) {
    span_seconds sums = {0, 0, 0, 0};
    for (uint32_t i = 0; i < roast_run_figure_count(run); i++) {
        roast_figure figure = roast_run_figure(run, i);
        bool cpu = figure.activity == ROAST_ACTIVITY_cpu;
        if (!cpu && figure.activity != ROAST_ACTIVITY_noncpu)
            continue;
        if (figure.kind == ROAST_KIND_processing) {
            sums.processing += figure.value;
            sums.processing_cpu += cpu ? figure.value : 0;
        } else if (figure.kind == ROAST_KIND_reduction) {
            sums.reduction += figure.value;
        } else if (figure.kind == ROAST_KIND_other) {
            sums.other += figure.value;
        }
    }
    return sums;
}

/* Gives `seconds` of a worker to the tasks of the spans, in proportion. */
static void take_for_spans(roast_budget_work *work, const span_seconds *spans, double seconds,
                           uint32_t worker) {
    double processing = work->chunk_count == 0 ? spans->processing : 0;
    double all = processing + spans->reduction + spans->other;
    const struct {
        roast_budget_part part;
        double share;
    } shares[] = {{ROAST_PART_reduction, spans->reduction},
                  {ROAST_PART_other_tasks, spans->other},
                  {ROAST_PART_compute_cpu, processing > 0 ? spans->processing_cpu : 0},
                  {ROAST_PART_compute_offcpu,
                   processing > 0 ? spans->processing - spans->processing_cpu : 0}};
    for (unsigned i = 0; i < sizeof shares / sizeof *shares; i++)
        roast_budget_add(work, shares[i].part, seconds * shares[i].share / all, worker, NULL);
}

/* Without attempts the spans give the duration of tasks, but not when or where. It is taken from the idle time of all
 * workers alike; of processing tasks without records, from the time of which nothing is known. */
static void use_spans(roast_budget_work *work, span_seconds spans) {
    roast_budget_table *workers = &work->budget->tables[ROAST_BY_worker];
    const roast_budget_row *total = &work->budget->total;
    bool blind = !work->sees_idle;
    /* Reading the lengths of files is among the other tasks; it has its part already. */
    spans.other -= fmin(spans.other, total->parts[ROAST_PART_preprocessing]);
    double wanted = spans.reduction + spans.other + (blind ? spans.processing : 0);
    double idle = blind ? total->available - sum_of_parts(total) : 0;
    for (int part = ROAST_PART_idle_ramp_up; part <= ROAST_PART_idle_tail; part++)
        idle += blind ? 0 : total->parts[part];
    if (work->budget->has_attempts || !(wanted > 0) || !(idle > 0))
        return;
    double taken = wanted < idle ? wanted / idle : 1;
    for (uint32_t worker = 0; worker < roast_groups_count(&workers->rows); worker++) {
        const roast_budget_row *row = roast_budget_row_at(workers, worker);
        if (blind)
            take_for_spans(work, &spans, taken * (row->available - sum_of_parts(row)), worker);
        for (int part = ROAST_PART_idle_ramp_up; !blind && part <= ROAST_PART_idle_tail; part++) {
            double seconds = row->parts[part] * taken;
            roast_budget_add(work, (roast_budget_part)part, -seconds, worker, NULL);
            take_for_spans(work, &spans, seconds, worker);
        }
    }
}

/* ---- the end ---- */

static void finish_row(roast_budget_row *row) {
    double off = row->parts[ROAST_PART_compute_offcpu];
    row->offcpu_rest = off - (isnan(row->offcpu_io) ? 0 : row->offcpu_io) -
                       (isnan(row->offcpu_runqueue) ? 0 : row->offcpu_runqueue);
    if (row->offcpu_rest < 0)
        row->offcpu_rest = 0; /* differences of rounding */
    row->read_wait = row->parts[ROAST_PART_read] - row->read_cpu - row->read_others;
    if (row->read_wait < 0)
        row->read_wait = 0; /* likewise */
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        if (fabs(row->parts[part]) < 1e-9)
            row->parts[part] = 0; /* likewise */
}

/* The rest, except for rounding differences. */
static void find_unaccounted(roast_budget_row *row) {
    double left = row->available - sum_of_parts(row);
    row->parts[ROAST_PART_unaccounted] = fabs(left) > 1e-9 * row->available ? left : 0;
}

static void finish_places(roast_budget_table *table) {
    for (uint32_t i = 0; i < roast_groups_count(&table->rows); i++) {
        roast_budget_row *row = roast_budget_row_at(table, i);
        row->name = roast_groups_name(&table->rows, i);
        find_unaccounted(row);
        finish_row(row);
    }
}

/* Time in none of the rows gets a row without a name, so that the rows add up to the total. */
static roast_status add_rest(roast_budget_table *table, const roast_budget_row *total) {
    roast_budget_row rest = *total;
    uint32_t count = roast_groups_count(&table->rows);
    for (uint32_t i = 0; i < count; i++) {
        const roast_budget_row *row = roast_budget_row_at(table, i);
        rest.available -= row->available;
        rest.offcpu_io -= row->offcpu_io;
        rest.offcpu_runqueue -= row->offcpu_runqueue;
        rest.read_cpu -= row->read_cpu;
        rest.read_others -= row->read_others;
        for (int part = 0; part < ROAST_PART_COUNT; part++)
            rest.parts[part] -= row->parts[part];
    }
    finish_row(&rest);
    ROAST_TRY(roast_groups_reserve(&table->rows, (size_t)count + 1));
    *roast_budget_row_at(table, count) = rest;
    table->has_rest = true;
    return ROAST_OK;
}

/* A dataset or a file has no threads of its own: its available time is its used time. The rest, mostly idle time,
 * belongs to none of them. */
static roast_status finish_data(roast_budget_table *table, const roast_budget_row *total) {
    for (uint32_t i = 0; i < roast_groups_count(&table->rows); i++) {
        roast_budget_row *row = roast_budget_row_at(table, i);
        row->name = roast_groups_name(&table->rows, i);
        row->available = sum_of_parts(row);
        finish_row(row);
    }
    return add_rest(table, total);
}

/* Sets a row's parts that nobody could tell to NaN, not 0. */
static void forget_unknown(const roast_budget_work *work, roast_budget_row *row, bool whole) {
    bool attempts = work->budget->has_attempts, spans = work->has_spans;
    bool chunks = work->chunk_count > 0, idle = work->sees_idle;
    const struct {
        roast_budget_part part;
        bool known;
    } parts[] = {{ROAST_PART_preprocessing, work->has_phases},
                 {ROAST_PART_client, work->has_phases || attempts},
                 {ROAST_PART_cold_start, work->budget->total.parts[ROAST_PART_cold_start] > 0},
                 {ROAST_PART_before_process, (chunks || attempts) && !whole},
                 {ROAST_PART_read, (chunks || attempts) && !whole},
                 {ROAST_PART_compute_cpu, !whole},
                 {ROAST_PART_compute_offcpu, (chunks || attempts || spans) && !whole},
                 {ROAST_PART_after_process, attempts && !whole},
                 {ROAST_PART_worker_overhead, attempts},
                 {ROAST_PART_reduction, attempts || spans},
                 {ROAST_PART_other_tasks, attempts || spans},
                 {ROAST_PART_lost, chunks || attempts},
                 {ROAST_PART_idle_ramp_up, idle},
                 {ROAST_PART_idle_starved, idle},
                 {ROAST_PART_idle_between, idle},
                 {ROAST_PART_idle_tail, idle || chunks}};
    if (!whole)
        row->parts[ROAST_PART_processing] = NAN;
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i].known)
            row->parts[parts[i].part] = NAN;
    if (isnan(row->parts[ROAST_PART_compute_offcpu]))
        row->offcpu_io = row->offcpu_runqueue = row->offcpu_rest = NAN;
    if (isnan(row->parts[ROAST_PART_read]))
        row->read_cpu = row->read_others = row->read_wait = NAN;
}

static void forget_all_unknown(const roast_budget_work *work) {
    /* Nothing is known about the inside of the processing tasks. */
    bool whole = work->budget->total.parts[ROAST_PART_processing] > 0;
    forget_unknown(work, &work->budget->total, whole);
    for (int split = 0; split < ROAST_SPLIT_COUNT; split++) {
        uint32_t count;
        roast_budget_rows(work->budget, (roast_budget_split)split, &count);
        for (uint32_t i = 0; i < count; i++)
            forget_unknown(work, roast_budget_row_at(&work->budget->tables[split], i), whole);
    }
}

static roast_status finish(roast_budget *budget, bool unhosted) {
    find_unaccounted(&budget->total);
    finish_row(&budget->total);
    finish_places(&budget->tables[ROAST_BY_worker]);
    finish_places(&budget->tables[ROAST_BY_host]);
    if (unhosted)
        ROAST_TRY(add_rest(&budget->tables[ROAST_BY_host], &budget->total));
    ROAST_TRY(finish_data(&budget->tables[ROAST_BY_dataset], &budget->total));
    ROAST_TRY(finish_data(&budget->tables[ROAST_BY_file], &budget->total));
    return finish_data(&budget->tables[ROAST_BY_storage], &budget->total);
}

/* ---- all ---- */

/* TaskVine's Python tasks. */
static bool runs_in_own_python(const roast_run *run) {
    static const char vine[] = "TaskVine";
    roast_str engine = roast_run_meta(run, roast_str_of("engine"));
    return engine.data != NULL && engine.len >= sizeof vine - 1 &&
           memcmp(engine.data, vine, sizeof vine - 1) == 0;
}

static roast_status begin(roast_budget_work *work) {
    span_seconds spans = sum_spans(work->run);
    work->has_spans = spans.processing > 0 || spans.reduction > 0 || spans.other > 0;
    work->cpu_share = spans.processing > 0 ? spans.processing_cpu / spans.processing : NAN;
    ROAST_TRY(roast_budget_find_workers(work));
    if (work->life_count == 0)
        return ROAST_ENOTFOUND;
    work->own_python = runs_in_own_python(work->run);
    /* Chunks have numbers of 32 bits. */
    return roast_chunklog_count(roast_run_chunks_view(work->run)) < UINT32_MAX / 4 ? ROAST_OK
                                                                                   : ROAST_ELIMIT;
}

roast_status roast_budget_share(roast_budget_work *work) {
    work->shared = true;
    add_available(work);
    ROAST_TRY(roast_budget_find_phases(work));
    ROAST_TRY(roast_budget_find_tasks(work));
    ROAST_TRY(roast_budget_settle_phases(work));
    ROAST_TRY(roast_budget_sweep(work));
    use_spans(work, sum_spans(work->run));
    ROAST_TRY(finish(work->budget, work->unhosted));
    forget_all_unknown(work);
    return ROAST_OK;
}

static void reset(roast_budget_work *work) {
    roast_free(work->workers);
    roast_free(work->lives);
    roast_free(work->tasks);
    roast_free(work->order);
    roast_free(work->chunks);
    roast_free(work->by_origin);
    roast_match_reset(&work->match);
    roast_stretches *sets[] = {&work->preprocessing, &work->busy,  &work->queue, &work->client,
                               &work->waiting,       &work->tails, &work->blind};
    for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++)
        roast_stretches_reset(sets[i]);
}

static const char where[] = "budget";

static roast_status give_up(roast_budget_work *work, roast_status status, roast_error *err) {
    reset(work);
    roast_budget_free(work->budget);
    if (status == ROAST_ENOTFOUND)
        return roast_error_set(err, status, where, -1,
                               "what was available is not known: no worker was followed during "
                               "the run");
    return roast_error_set(err, status, where, -1, "the budget cannot be made: %s",
                           roast_status_text(status));
}

/* Microseconds since 1970, far within the range of the type. */
static bool is_usable(const roast_run_clock *clock) {
    return clock->have && clock->end > clock->start && fabs(clock->start) < 1e12 &&
           fabs(clock->end) < 1e12;
}

static roast_budget_work new_work(const roast_run *run, const roast_run_clock *clock) {
    return (roast_budget_work){
        .run = run, .from = (int64_t)(clock->start * 1e6), .to = (int64_t)(clock->end * 1e6)};
}

roast_status roast_budget_is_known(const roast_run *run, bool *known, roast_error *err) {
    roast_run_clock clock = roast_run_get_clock(run);
    *known = false;
    if (!is_usable(&clock))
        return ROAST_OK;
    roast_budget_work work = new_work(run, &clock);
    roast_status status = roast_budget_find_lives(&work);
    *known = work.life_count > 0;
    reset(&work);
    return status == ROAST_OK ? ROAST_OK
                              : roast_error_set(err, status, where, -1, "no memory for the budget");
}

roast_status roast_budget_begin(const roast_run *run, roast_budget_work *work, roast_error *err) {
    roast_run_clock clock = roast_run_get_clock(run);
    if (!is_usable(&clock))
        return roast_error_set(err, ROAST_ENOTFOUND, where, -1,
                               "the start and the end of the run are not known");
    roast_budget *budget = roast_alloc_zero(sizeof *budget);
    if (budget == NULL)
        return roast_error_set(err, ROAST_ENOMEM, where, -1, "no memory for the budget");
    for (int i = 0; i < ROAST_SPLIT_COUNT; i++)
        budget->tables[i].rows = ROAST_GROUPS(roast_budget_row);
    budget->wall = clock.end - clock.start;
    *work = new_work(run, &clock);
    work->budget = budget;
    roast_status status = begin(work);
    return status == ROAST_OK ? ROAST_OK : give_up(work, status, err);
}

roast_status roast_budget_end(roast_budget_work *work, roast_status status, roast_budget **out,
                              roast_error *err) {
    if (status == ROAST_OK && !work->shared)
        status = roast_budget_share(work);
    if (status != ROAST_OK)
        return give_up(work, status, err);
    reset(work);
    *out = work->budget;
    return ROAST_OK;
}

roast_status roast_budget_compute(const roast_run *run, roast_budget **out, roast_error *err) {
    const roast_chunklog *log = roast_run_chunks_view(run);
    roast_budget_work work;
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_status status = roast_budget_begin(run, &work, err);
    if (status != ROAST_OK)
        return status;
    roast_chunk_cursor_init(&cursor, log);
    while (status == ROAST_OK && roast_chunk_cursor_next(&cursor, &chunk))
        status = roast_budget_add_chunk(&work, log, &chunk);
    return roast_budget_end(&work, status, out, err);
}

void roast_budget_free(roast_budget *budget) {
    if (budget == NULL)
        return;
    for (int i = 0; i < ROAST_SPLIT_COUNT; i++)
        roast_groups_reset(&budget->tables[i].rows);
    roast_free(budget);
}

/* ---- access ---- */

const roast_budget_row *roast_budget_total(const roast_budget *budget) {
    return &budget->total;
}

const roast_budget_row *roast_budget_rows(const roast_budget *budget, roast_budget_split split,
                                          uint32_t *count) {
    if ((unsigned)split >= ROAST_SPLIT_COUNT) {
        *count = 0;
        return NULL;
    }
    const roast_budget_table *table = &budget->tables[split];
    *count = roast_groups_count(&table->rows) + table->has_rest;
    return *count > 0 ? roast_budget_row_at(table, 0) : NULL;
}

double roast_budget_saving(const roast_budget *budget, roast_budget_part part) {
    if ((unsigned)part >= ROAST_PART_COUNT || !(budget->total.available > 0))
        return 0;
    return budget->total.parts[part] * budget->wall / budget->total.available;
}

bool roast_budget_has_attempts(const roast_budget *budget) {
    return budget->has_attempts;
}
