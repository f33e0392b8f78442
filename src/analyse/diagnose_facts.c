/* What the chunks say, in one walk over them. */
#include <math.h>
#include <stdlib.h>

#include "analyse/diagnose_internal.h"

/* ---- names ---- */

/* `entry`: where the name stands in the log, or 0. */
static roast_status group_of(roast_fact_table *table, uint32_t entry, roast_str name,
                             uint32_t *id) {
    *id = ROAST_NOBODY;
    if (name.data == NULL)
        return ROAST_OK;
    void *groups = table->groups;
    ROAST_TRY(roast_array_reserve(&groups, &table->capacity, sizeof *table->groups,
                                  (size_t)table->count + 1));
    table->groups = groups;
    ROAST_TRY(roast_names_id_in(&table->names, entry, name, id));
    if (*id == table->count)
        table->groups[table->count++] = (roast_fact_group){.rss_peak = NAN};
    return ROAST_OK;
}

roast_status roast_facts_worker(roast_facts *facts, roast_str name, uint32_t *worker) {
    return group_of(&facts->workers, 0, name, worker);
}

static roast_status name_groups(roast_facts *facts, const roast_chunk *chunk, roast_fact *fact) {
    uint32_t origin = chunk->packed.origin, context = chunk->packed.context;
    ROAST_TRY(group_of(&facts->workers, origin, chunk->worker, &fact->worker));
    ROAST_TRY(group_of(&facts->hosts, origin, chunk->host, &fact->host));
    ROAST_TRY(group_of(&facts->datasets, context, chunk->dataset, &fact->dataset));
    return group_of(&facts->files, chunk->packed.file, chunk->file, &fact->file);
}

static void add_to_group(roast_fact_table *table, uint32_t id, const roast_fact *fact) {
    if (id == ROAST_NOBODY)
        return;
    roast_fact_group *group = &table->groups[id];
    double cost = roast_fact_cost(fact), end = fact->start + (double)fact->duration;
    group->chunks++;
    group->cost += cost;
    if (end > group->last_end)
        group->last_end = end;
    if (fact->events >= 0) {
        group->events += (double)fact->events;
        group->sum_duration += (double)fact->duration;
        roast_line_add(&group->line, (double)fact->events, cost);
    }
}

/* ---- reads ---- */

typedef struct read_sums {
    double seconds, bytes; /* bytes: of reads that tell them */
    double count;          /* of columns that were not preloaded */
    bool preloaded;        /* some were */
} read_sums;

static read_sums sum_reads(roast_facts *facts, const roast_chunklog *log,
                           const roast_chunk *chunk) {
    read_sums sums = {0};
    roast_tail_cursor cursor;
    roast_read read;
    roast_chunk_reads(log, chunk, &cursor);
    while (roast_chunk_next_read(&cursor, &read)) {
        double seconds = read.time_ns > 0 ? (double)read.time_ns / 1e9 : 0;
        sums.seconds += seconds;
        if (read.bytes < 0) {
            sums.preloaded = true;
            continue;
        }
        sums.bytes += (double)read.bytes;
        sums.count += read.count > 0 ? (double)read.count : 0;
        if (read.count > 1) {
            facts->reread += seconds * (double)(read.count - 1) / (double)read.count;
            facts->reread_branches += (double)(read.count - 1);
        }
    }
    return sums;
}

/* ---- sections ---- */

/* The number of a section by its place: most chunks have the sections of the one before. */
static roast_status begin_sections(roast_facts *facts, const roast_chunk *chunk) {
    void *open = facts->open;
    ROAST_TRY(roast_array_reserve(&open, &facts->open_capacity, sizeof *facts->open,
                                  (size_t)chunk->n_sections + 1));
    facts->open = open;
    if (facts->layout == chunk->packed.layout)
        return ROAST_OK;
    facts->layout = chunk->packed.layout;
    for (uint32_t i = 0; i < chunk->n_sections; i++)
        facts->open[i].id = ROAST_NOBODY;
    return ROAST_OK;
}

/* The time in each, less that in those inside it; how many sections there are. */
static uint32_t own_times(roast_facts *facts, const roast_chunklog *log, const roast_chunk *chunk) {
    roast_fact_open *open = facts->open;
    roast_tail_cursor cursor;
    roast_section section;
    uint32_t index = 0;
    roast_chunk_sections(log, chunk, &cursor);
    for (; index < chunk->n_sections && roast_chunk_next_section(&cursor, &section); index++) {
        bool timed = section.kind == ROAST_SECTION_TIME;
        open[index].own = timed ? section.value : 0;
        open[index].name = timed ? section.name : (roast_str){NULL, 0};
        if (timed && section.parent >= 0 && (uint32_t)section.parent < index)
            open[section.parent].own -= section.value;
    }
    return index;
}

static roast_status name_section(roast_facts *facts, roast_fact_open *open) {
    void *sections = facts->sections;
    uint32_t known = roast_names_count(&facts->section_names);
    ROAST_TRY(roast_array_reserve(&sections, &facts->sections_capacity, sizeof *facts->sections,
                                  (size_t)known + 1));
    facts->sections = sections;
    ROAST_TRY(roast_names_id(&facts->section_names, open->name, &open->id));
    if (open->id == known)
        facts->sections[open->id] = (roast_fact_section){0};
    return ROAST_OK;
}

/* `off`: how long the chunk was neither on the CPU, nor waiting for a core, nor reading. Which section that
 * was in is not measured: at least what is more than all the rest of the chunk, at most all of it. */
static roast_status add_sections(roast_facts *facts, const roast_chunklog *log,
                                 const roast_chunk *chunk, double duration, double off) {
    ROAST_TRY(begin_sections(facts, chunk));
    uint32_t count = own_times(facts, log, chunk);
    for (uint32_t i = 0; i < count; i++) {
        roast_fact_open *open = &facts->open[i];
        double self = (double)open->own / 1e9;
        if (open->name.data == NULL || !(self > 0))
            continue;
        if (open->id == ROAST_NOBODY)
            ROAST_TRY(name_section(facts, open));
        roast_fact_section *section = &facts->sections[open->id];
        section->self += self;
        if (off > 0) {
            section->certain += fmax(0, self - (duration - off));
            section->possible += fmin(self, off);
        }
    }
    return ROAST_OK;
}

/* ---- one chunk ---- */

#define SECONDS(chunk, field)                                                                      \
    ((chunk)->have & ROAST_CHUNK_HAS(field) ? (double)(chunk)->field / 1e9 : (double)NAN)
#define NUMBER(chunk, field)                                                                       \
    ((chunk)->have & ROAST_CHUNK_HAS(field) ? (double)(chunk)->field : (double)NAN)

/* How long reads were off the CPU to wait for data. Waiting for a core is in reads as much as elsewhere.
 * Where the CPU time of reads is not known, all waiting is in them as far as it can. */
static double waiting_reads(double read, double read_cpu, double off, double queue) {
    if (isnan(read_cpu))
        return fmin(read, off - queue);
    return off > 0 ? fmin(fmax(0, read - read_cpu), off) * (off - queue) / off : 0;
}

/* Splits the time in process(); how long it was off the CPU for a reason that is none of the others. */
static double add_times(roast_facts *facts, const roast_fact *fact, double io_wait, double read_cpu,
                        const read_sums *reads) {
    double duration = (double)fact->duration, read = fmin(reads->seconds, duration);
    facts->read += read;
    if (isnan(fact->cpu))
        return 0;
    double off = fmax(0, duration - (double)fact->cpu);
    double queue = isnan(fact->queue) ? 0 : fmin((double)fact->queue, off);
    double wait = waiting_reads(read, read_cpu, off, queue);
    facts->timed += duration;
    facts->cpu += fmin((double)fact->cpu, duration);
    facts->queue += queue;
    facts->read_wait += wait;
    facts->read_busy += isnan(read_cpu) ? fmax(0, read - wait - queue) : fmin(read, read_cpu);
    facts->rest += off - queue - wait;
    facts->io_wait += isnan(io_wait) ? 0 : io_wait;
    return off - queue - wait;
}

static void add_memory(roast_facts *facts, const roast_chunk *chunk, uint32_t worker) {
    uint64_t wanted =
        ROAST_CHUNK_HAS(rss_before) | ROAST_CHUNK_HAS(rss_peak) | ROAST_CHUNK_HAS(num_events);
    if (worker != ROAST_NOBODY && chunk->have & ROAST_CHUNK_HAS(rss_peak)) {
        roast_fact_group *group = &facts->workers.groups[worker];
        group->rss_peak = fmax(group->rss_peak, (double)chunk->rss_peak);
    }
    if ((chunk->have & wanted) != wanted || chunk->num_events <= 0)
        return;
    roast_stats_add(&facts->rss_before, (double)chunk->rss_before);
    roast_stats_add(&facts->rss_growth,
                    fmax(0, (double)chunk->rss_peak - (double)chunk->rss_before) /
                        (double)chunk->num_events);
}

/* What was read of columns before process() was entered. */
static double preloaded_bytes(const roast_chunk *chunk, const read_sums *reads) {
    double all = NUMBER(chunk, bytes_read) - NUMBER(chunk, metadata_bytes) - reads->bytes;
    return chunk->has_reads && reads->preloaded && all > 0 ? all : 0;
}

static roast_fact fact_of(const roast_chunk *chunk, double start) {
    return (roast_fact){
        .start = start,
        .before = (float)SECONDS(chunk, before_process_ns),
        .duration = (float)SECONDS(chunk, duration_ns),
        .cpu = (float)(SECONDS(chunk, cpu_user_ns) + SECONDS(chunk, cpu_system_ns)),
        .queue = (float)SECONDS(chunk, runqueue_wait_ns),
        .switches = (float)NUMBER(chunk, voluntary_switches),
        .events = chunk->have & ROAST_CHUNK_HAS(num_events) ? (float)chunk->num_events : -1,
        .accessed = (float)NUMBER(chunk, accessed_bytes),
    };
}

roast_status roast_facts_add(roast_facts *facts, const roast_chunklog *log,
                             const roast_chunk *chunk) {
    uint64_t wanted = ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns);
    if (chunk->error_type.data != NULL) {
        facts->failed++;
        facts->failed_duration += fmax(0, SECONDS(chunk, duration_ns));
        return ROAST_OK;
    }
    if ((chunk->have & wanted) != wanted || chunk->duration_ns < 0)
        return ROAST_OK;
    void *list = facts->facts;
    ROAST_TRY(roast_array_reserve(&list, &facts->capacity, sizeof *facts->facts, facts->count + 1));
    facts->facts = list;
    roast_fact fact = fact_of(chunk, (double)chunk->start_us / 1e6);
    ROAST_TRY(name_groups(facts, chunk, &fact));
    read_sums reads = {0};
    if (chunk->has_reads) {
        reads = sum_reads(facts, log, chunk);
        facts->with_reads++;
        facts->reads += reads.count;
    }
    fact.preloaded = (float)preloaded_bytes(chunk, &reads);
    double off =
        add_times(facts, &fact, SECONDS(chunk, io_wait_ns), SECONDS(chunk, read_cpu_ns), &reads);
    if (chunk->n_sections > 0)
        ROAST_TRY(add_sections(facts, log, chunk, (double)fact.duration, off));
    facts->has_queue = facts->has_queue || !isnan(fact.queue);
    facts->duration += (double)fact.duration;
    facts->cost += roast_fact_cost(&fact);
    if (fact.before >= 0) {
        facts->before += (double)fact.before;
        facts->with_before++;
    }
    facts->storage_bytes += fmax(0, NUMBER(chunk, storage_read_bytes));
    facts->os_bytes += fmax(0, NUMBER(chunk, bytes_read));
    add_memory(facts, chunk, fact.worker);
    facts->facts[facts->count++] = fact;
    return ROAST_OK;
}

/* ---- the end ---- */

/* Times since the first task began, and what belongs to groups. */
static void finish_times(roast_facts *facts) {
    facts->origin = INFINITY;
    for (size_t i = 0; i < facts->count; i++) {
        const roast_fact *fact = &facts->facts[i];
        facts->origin = fmin(facts->origin, fact->start - fmax(0, (double)fact->before));
    }
    for (size_t i = 0; i < facts->count; i++) {
        roast_fact *fact = &facts->facts[i];
        fact->start -= facts->origin;
        facts->last_end = fmax(facts->last_end, fact->start + (double)fact->duration);
        add_to_group(&facts->workers, fact->worker, fact);
        add_to_group(&facts->hosts, fact->host, fact);
        add_to_group(&facts->datasets, fact->dataset, fact);
        add_to_group(&facts->files, fact->file, fact);
    }
}

static roast_status find_medians(roast_facts *facts) {
    float *values = roast_alloc((facts->count + 1) * sizeof *values);
    if (values == NULL)
        return ROAST_ENOMEM;
    size_t known = 0;
    for (size_t i = 0; i < facts->count; i++)
        values[i] = (float)roast_fact_cost(&facts->facts[i]);
    facts->median_cost = roast_median(values, facts->count);
    for (size_t i = 0; i < facts->count; i++)
        if (facts->facts[i].before >= 0)
            values[known++] = facts->facts[i].before;
    facts->median_before = roast_median(values, known);
    roast_free(values);
    return ROAST_OK;
}

roast_status roast_facts_finish(roast_facts *facts) {
    finish_times(facts);
    return find_medians(facts);
}

static void table_reset(roast_fact_table *table) {
    roast_names_reset(&table->names);
    roast_free(table->groups);
}

void roast_facts_reset(roast_facts *facts) {
    table_reset(&facts->workers);
    table_reset(&facts->hosts);
    table_reset(&facts->datasets);
    table_reset(&facts->files);
    roast_names_reset(&facts->section_names);
    roast_free(facts->sections);
    roast_free(facts->open);
    roast_free(facts->facts);
    *facts = (roast_facts){0};
}

/* ---- tries ---- */

roast_tries roast_tries_sum(const roast_attempts *attempts) {
    roast_tries sums = {.last_reduction = NAN};
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    if (attempts == NULL)
        return sums;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt)) {
        if (attempt.kind == ROAST_KIND_foreign)
            continue;
        sums.raised += attempt.outcome == ROAST_OUTCOME_raised;
        sums.lost += attempt.outcome == ROAST_OUTCOME_lost;
        sums.recomputed += attempt.outcome == ROAST_OUTCOME_recomputed;
        if (attempt.outcome == ROAST_OUTCOME_raised && attempt.error_type.data != NULL)
            sums.error = attempt.error_type;
        if (attempt.kind == ROAST_KIND_processing && attempt.nbytes >= 0) {
            sums.result_bytes += (double)attempt.nbytes;
            sums.results++;
        }
        if (attempt.kind == ROAST_KIND_reduction && attempt.stop_us != ROAST_NO_TIME)
            sums.last_reduction = fmax(sums.last_reduction, (double)attempt.stop_us / 1e6);
    }
    return sums;
}

/* ---- sorting ---- */

roast_status roast_facts_order(const roast_facts *facts, uint32_t count,
                               uint32_t (*which)(const roast_fact *), roast_fact_order *out) {
    uint32_t *order = roast_alloc((facts->count + 1) * sizeof *order);
    uint32_t *first = roast_alloc_zero(((size_t)count + 2) * sizeof *first);
    if (order == NULL || first == NULL) {
        roast_free(order);
        roast_free(first);
        return ROAST_ENOMEM;
    }
    /* Counted two places on: while they are filled in, first[g + 1] is the next free place of g. */
    for (size_t i = 0; i < facts->count; i++) {
        uint32_t group = which(&facts->facts[i]);
        if (group < count)
            first[group + 2]++;
    }
    for (uint32_t group = 0; group < count; group++)
        first[group + 2] += first[group + 1];
    for (size_t i = 0; i < facts->count; i++) {
        uint32_t group = which(&facts->facts[i]);
        if (group < count)
            order[first[group + 1]++] = (uint32_t)i;
    }
    *out = (roast_fact_order){order, first};
    return ROAST_OK;
}

void roast_fact_order_reset(roast_fact_order *order) {
    roast_free(order->order);
    roast_free(order->first);
    *order = (roast_fact_order){0};
}

static void swap(float *a, float *b) {
    float kept = *a;
    *a = *b;
    *b = kept;
}

/* The value that would be in a place if they were sorted; smaller ones stand before it then (Hoare). */
static float select_place(float *values, size_t count, size_t place) {
    size_t low = 0, high = count - 1;
    while (low < high) {
        float pivot = values[low + (high - low) / 2];
        size_t i = low - 1, j = high + 1; /* may wrap: both are moved before they are used */
        for (;;) {
            do
                i++;
            while (values[i] < pivot);
            do
                j--;
            while (values[j] > pivot);
            if (i >= j)
                break;
            swap(&values[i], &values[j]);
        }
        if (place <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[place];
}

double roast_median(float *values, size_t count) {
    if (count == 0)
        return NAN;
    double upper = (double)select_place(values, count, count / 2);
    if (count % 2 == 1)
        return upper;
    double lower = -INFINITY;
    for (size_t i = 0; i < count / 2; i++)
        lower = fmax(lower, (double)values[i]);
    return (lower + upper) / 2;
}
