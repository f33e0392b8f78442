/* Facts from the chunks, in one walk over them. */
#include <math.h>
#include <stdlib.h>

#include "analyse/diagnose/chunk_cost.h"
#include "analyse/budget/chunk_names.h"
#include "analyse/diagnose/internal.h"

/* ---- groups ---- */

static roast_status find_group(roast_facts *facts, roast_budget_split by, uint32_t ref,
                               roast_str name, uint32_t *id) {
    *id = ROAST_NOBODY;
    if (name.data == NULL)
        return ROAST_OK;
    facts->by[by].size = sizeof(roast_fact_group);
    return roast_groups_find_ref(&facts->by[by], ref, name, id);
}

roast_status roast_facts_group(roast_facts *facts, roast_budget_split by, roast_str name,
                               uint32_t *id) {
    return find_group(facts, by, 0, name, id);
}

static roast_status name_groups(roast_facts *facts, const roast_chunk *chunk, roast_fact *fact) {
    const roast_chunk_names of = roast_chunk_names_of(chunk);
    for (int by = 0; by < ROAST_SPLIT_COUNT; by++)
        ROAST_TRY(
            find_group(facts, (roast_budget_split)by, of.refs[by], of.names[by], &fact->group[by]));
    facts->storages.size = sizeof(roast_fact_group);
    return chunk->file.data == NULL
               ? ROAST_OK
               : roast_groups_find_storage(&facts->storages, chunk->packed.file, chunk->file,
                                           &fact->storage);
}

static void add_to_group(roast_fact_group *group, const roast_fact *fact) {
    double cost = roast_fact_cost(fact);
    group->chunks++;
    group->cost += cost;
    group->last_end = fmax(group->last_end, fact->start + (double)fact->duration);
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

/* `off`: how long the chunk was neither on the CPU, nor waiting for a core, nor reading. Which section waited is
 * not measured: at least the part that exceeds the rest of the chunk, at most all of it. */
static roast_status add_sections(roast_facts *facts, const roast_chunklog *log,
                                 const roast_chunk *chunk, double duration, double off) {
    void *open = facts->open;
    ROAST_TRY(roast_array_reserve(&open, &facts->open_capacity, sizeof *facts->open,
                                  (size_t)chunk->n_sections + 1));
    facts->open = open;
    facts->sections.size = sizeof(roast_fact_section);
    uint32_t count = own_times(facts, log, chunk), id;
    for (uint32_t i = 0; i < count; i++) {
        double self = (double)facts->open[i].own / 1e9;
        if (facts->open[i].name.data == NULL || !(self > 0))
            continue;
        ROAST_TRY(roast_groups_find_listed(&facts->sections, chunk->packed.layout,
                                           chunk->n_sections, i, facts->open[i].name, &id));
        roast_fact_section *section = roast_groups_item(&facts->sections, id);
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

/* Splits the time in process(); how long it was off the CPU for a reason that is none of the others. */
static double add_times(roast_facts *facts, const roast_fact *fact, const roast_chunk *chunk,
                        const read_sums *reads) {
    double io_wait = SECONDS(chunk, io_wait_ns), read_cpu = SECONDS(chunk, read_cpu_ns);
    double others = SECONDS(chunk, cpu_process_ns) - (double)fact->cpu;
    double duration = (double)fact->duration, read = fmin(reads->seconds, duration);
    facts->read += read;
    if (isnan(fact->cpu))
        return 0;
    double off = fmax(0, duration - (double)fact->cpu);
    double queue = isnan(fact->queue) ? 0 : fmin((double)fact->queue, off);
    double wait = roast_waiting_reads(read, read_cpu, off, queue);
    facts->timed += duration;
    facts->cpu += fmin((double)fact->cpu, duration);
    facts->queue += queue;
    double helped = others > 0 ? fmin(others, wait) : 0;
    facts->read_wait += wait - helped;
    facts->read_others += helped;
    facts->read_busy += isnan(read_cpu) ? fmax(0, read - wait - queue) : fmin(read, read_cpu);
    facts->rest += off - queue - wait;
    facts->io_wait += isnan(io_wait) ? 0 : io_wait;
    return off - queue - wait;
}

static void add_memory(roast_facts *facts, const roast_chunk *chunk, uint32_t worker) {
    uint64_t wanted =
        ROAST_CHUNK_HAS(rss_before) | ROAST_CHUNK_HAS(rss_peak) | ROAST_CHUNK_HAS(num_events);
    if (worker != ROAST_NOBODY && chunk->have & ROAST_CHUNK_HAS(rss_peak)) {
        roast_fact_group *group = roast_fact_group_at(&facts->workers, worker);
        group->rss_peak = fmax(group->rss_peak, (double)chunk->rss_peak);
    }
    if ((chunk->have & wanted) != wanted || chunk->num_events <= 0)
        return;
    roast_stats_add(&facts->rss_before, (double)chunk->rss_before);
    roast_stats_add(&facts->rss_growth,
                    fmax(0, (double)chunk->rss_peak - (double)chunk->rss_before) /
                        (double)chunk->num_events);
}

/* Bytes of columns read before process() was entered. */
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
    double off = add_times(facts, &fact, chunk, &reads);
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
        for (int by = 0; by < ROAST_SPLIT_COUNT; by++)
            if (fact->group[by] != ROAST_NOBODY)
                add_to_group(roast_fact_group_at(&facts->by[by], fact->group[by]), fact);
    }
}

static roast_status find_medians(roast_facts *facts) {
    double *values = roast_alloc((facts->count + 1) * sizeof *values);
    if (values == NULL)
        return ROAST_ENOMEM;
    size_t known = 0;
    for (size_t i = 0; i < facts->count; i++)
        values[i] = roast_fact_cost(&facts->facts[i]);
    facts->median_cost = roast_median(values, facts->count);
    for (size_t i = 0; i < facts->count; i++)
        if (facts->facts[i].before >= 0)
            values[known++] = (double)facts->facts[i].before;
    facts->median_before = roast_median(values, known);
    roast_free(values);
    return ROAST_OK;
}

roast_status roast_facts_finish(roast_facts *facts) {
    finish_times(facts);
    return find_medians(facts);
}

void roast_facts_reset(roast_facts *facts) {
    for (int by = 0; by < ROAST_SPLIT_COUNT; by++)
        roast_groups_reset(&facts->by[by]);
    roast_groups_reset(&facts->sections);
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

roast_status roast_facts_order(const roast_facts *facts, roast_budget_split by,
                               roast_fact_order *out) {
    uint32_t count = roast_groups_count(&facts->by[by]);
    uint32_t *order = roast_alloc((facts->count + 1) * sizeof *order);
    uint32_t *first = roast_alloc_zero(((size_t)count + 2) * sizeof *first);
    if (order == NULL || first == NULL) {
        roast_free(order);
        roast_free(first);
        return ROAST_ENOMEM;
    }
    /* Counted two places on: while they are filled in, first[g + 1] is the next free place of g. */
    for (size_t i = 0; i < facts->count; i++) {
        uint32_t group = facts->facts[i].group[by];
        if (group < count)
            first[group + 2]++;
    }
    for (uint32_t group = 0; group < count; group++)
        first[group + 2] += first[group + 1];
    for (size_t i = 0; i < facts->count; i++) {
        uint32_t group = facts->facts[i].group[by];
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
