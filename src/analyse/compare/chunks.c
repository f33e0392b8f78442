/* The numbers of the chunks of one run. */
#include "analyse/budget/chunk_names.h"
#include "analyse/compare/internal.h"

/* All that is read of a chunk. */
#define FIELDS                                                                                     \
    (ROAST_CHUNK_HAS(duration_ns) | ROAST_CHUNK_HAS(num_events) | ROAST_CHUNK_HAS(entry_start) |   \
     ROAST_CHUNK_HAS(entry_stop) | ROAST_CHUNK_HAS(cpu_user_ns) | ROAST_CHUNK_HAS(cpu_system_ns) | \
     ROAST_CHUNK_HAS(before_process_ns))
#define SECONDS(chunk, field)                                                                      \
    ((chunk)->have & ROAST_CHUNK_HAS(field) ? (float)((double)(chunk)->field / 1e9) : NAN)

/* What makes a piece of work. */
typedef struct piece {
    uint32_t dataset, file;
    int64_t start, stop;
} piece;

/* The pieces of the chunks that were taken last. */
enum { PIECES = 64 };
typedef struct taken {
    roast_comparison *comparison;
    roast_compared_side *side;
    const roast_chunklog *log;
    piece pieces[PIECES];
    size_t n_pieces;
} taken;

static roast_str bytes_of(const piece *one) {
    return (roast_str){(const char *)one, sizeof *one};
}

/* Together: a million pieces are in no cache, and the processor waits for all of them at the same time. */
static roast_status number_pieces(taken *t) {
    roast_intern *pieces = &t->comparison->pieces;
    roast_compared_chunk *chunks = t->side->chunks + t->side->n_chunks - t->n_pieces;
    for (size_t i = 0; i < t->n_pieces; i++)
        roast_intern_expect(pieces, bytes_of(&t->pieces[i]));
    for (size_t i = 0; i < t->n_pieces; i++)
        ROAST_TRY(roast_intern_add(pieces, bytes_of(&t->pieces[i]), &chunks[i].piece));
    t->n_pieces = 0;
    return ROAST_OK;
}

static roast_status name_chunk(taken *t, const roast_chunk *chunk, roast_compared_chunk *out) {
    const roast_chunk_names of = roast_chunk_names_of(chunk);
    for (int by = 0; by < ROAST_SPLIT_COUNT; by++) {
        out->names[by] = ROAST_NO_GROUP;
        if (of.names[by].data != NULL)
            ROAST_TRY(roast_groups_find_ref(&t->comparison->names[by], of.refs[by], of.names[by],
                                            &out->names[by]));
    }
    t->pieces[t->n_pieces++] =
        (piece){out->names[ROAST_BY_dataset], out->names[ROAST_BY_file],
                chunk->have & ROAST_CHUNK_HAS(entry_start) ? chunk->entry_start : -1,
                chunk->have & ROAST_CHUNK_HAS(entry_stop) ? chunk->entry_stop : -1};
    return ROAST_OK;
}

static float sum_reads(taken *t, const roast_chunk *chunk, roast_status *status) {
    roast_compared_side *side = t->side;
    roast_tail_cursor cursor;
    roast_read read;
    double sum = 0;
    if (!chunk->has_reads)
        return NAN;
    roast_chunk_reads(t->log, chunk, &cursor);
    while (*status == ROAST_OK && roast_chunk_next_read(&cursor, &read)) {
        uint32_t id;
        if (read.time_ns < 0)
            continue;
        sum += (double)read.time_ns / 1e9;
        *status = roast_groups_find_listed(&t->comparison->branches, chunk->packed.reads,
                                           chunk->n_reads, cursor.index - 1, read.branch, &id);
        void *branches = side->branches;
        if (*status == ROAST_OK)
            *status = roast_array_reserve_zero(&branches, &side->branches_capacity,
                                               sizeof *side->branches, (size_t)id + 1);
        side->branches = branches;
        if (*status == ROAST_OK)
            side->branches[id] += (double)read.time_ns / 1e9;
    }
    return (float)sum;
}

/* Adds one entry for each section of the chunk; what is inside a section is then taken off its entry. */
static roast_status take_sections(taken *t, const roast_chunk *chunk) {
    roast_compared_side *side = t->side;
    void *uses = side->uses;
    size_t first = side->n_uses;
    roast_tail_cursor cursor;
    roast_section section;
    ROAST_TRY(roast_array_reserve(&uses, &side->uses_capacity, sizeof *side->uses,
                                  first + chunk->n_sections));
    side->uses = uses;
    roast_chunk_sections(t->log, chunk, &cursor);
    for (size_t i = 0; i < chunk->n_sections && roast_chunk_next_section(&cursor, &section); i++) {
        roast_compared_use *use = &side->uses[side->n_uses++];
        *use = (roast_compared_use){(uint32_t)side->n_chunks, ROAST_NO_GROUP, 0};
        if (section.kind != ROAST_SECTION_TIME)
            continue;
        ROAST_TRY(roast_groups_find_listed(&t->comparison->sections, chunk->packed.layout,
                                           chunk->n_sections, (uint32_t)i, section.name,
                                           &use->section));
        use->seconds += (float)((double)section.value / 1e9);
        if (section.parent >= 0 && (size_t)section.parent < i)
            side->uses[first + (size_t)section.parent].seconds -=
                (float)((double)section.value / 1e9);
    }
    size_t kept = first; /* entries of memory and bytes were only there to find parents by number */
    for (size_t i = first; i < side->n_uses; i++)
        if (side->uses[i].section != ROAST_NO_GROUP)
            side->uses[kept++] = side->uses[i];
    side->n_uses = kept;
    return ROAST_OK;
}

static roast_status take_chunk(taken *t, const roast_chunk *chunk) {
    roast_status status = ROAST_OK;
    roast_compared_chunk out = {
        .events = chunk->have & ROAST_CHUNK_HAS(num_events) ? (float)chunk->num_events : NAN};
    ROAST_TRY(name_chunk(t, chunk, &out));
    float before = SECONDS(chunk, before_process_ns), process = SECONDS(chunk, duration_ns);
    out.costs[ROAST_COST_before] = before;
    out.costs[ROAST_COST_process] = process;
    out.costs[ROAST_COST_all] = isnan(before) ? process : before + process;
    out.costs[ROAST_COST_cpu] = SECONDS(chunk, cpu_user_ns) + SECONDS(chunk, cpu_system_ns);
    out.costs[ROAST_COST_read] = sum_reads(t, chunk, &status);
    ROAST_TRY(status);
    ROAST_TRY(take_sections(t, chunk));
    t->side->chunks[t->side->n_chunks++] = out;
    return t->n_pieces < PIECES ? ROAST_OK : number_pieces(t);
}

roast_status roast_comparison_take_chunks(roast_comparison *comparison, unsigned side,
                                          const roast_chunklog *log) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    for (int by = 0; by < ROAST_SPLIT_COUNT; by++)
        roast_groups_forget_refs(&comparison->names[by]);
    roast_groups_forget_refs(&comparison->sections);
    roast_groups_forget_refs(&comparison->branches);
    roast_compared_side *to = &comparison->sides[side];
    taken t = {.comparison = comparison, .side = to, .log = log};
    uint64_t count = roast_chunklog_count(log);
    void *chunks = to->chunks;
    ROAST_TRY(roast_array_reserve(&chunks, &to->chunks_capacity, sizeof *to->chunks,
                                  to->n_chunks + (size_t)count));
    to->chunks = chunks;
    roast_chunk_cursor_init_some(&cursor, log, FIELDS);
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        if (chunk.error_type.data == NULL && chunk.have & ROAST_CHUNK_HAS(duration_ns))
            ROAST_TRY(take_chunk(&t, &chunk));
    }
    return number_pieces(&t);
}
