/* The cost of the marked sections of the analysis, over all chunks. */
#include "metrics/formulas.h"

/* Whole nanoseconds and bytes, so that a section and those inside it add up exactly. */
typedef struct section_total {
    uint32_t place; /* among the rows, counted from 1; 0: not seen */
    uint64_t count;
    int64_t value, inside; /* inside: time sections whose nearest time section around is this one */
    double min, max;       /* of one use */
} section_total;

/* A section of the chunk at hand. */
struct roast_section_place {
    uint32_t name;
    int32_t ancestor; /* nearest time section around it, -1 if there is none */
    bool timed;
};

void roast_section_totals_init(roast_section_totals *totals) {
    *totals = (roast_section_totals){.names = ROAST_GROUPS(section_total[ROAST_SECTION_KINDS])};
}

void roast_section_totals_reset(roast_section_totals *totals) {
    roast_groups_reset(&totals->names);
    roast_free(totals->chunk);
}

/* ---- one chunk ---- */

static section_total *total_of(const roast_section_totals *all, uint32_t name,
                               roast_section_kind kind) {
    return (section_total *)roast_groups_item(&all->names, name) + kind;
}

/* The nearest time section around the one at `index`; sections come after those around them. */
static int32_t ancestor_of(const struct roast_section_place *chunk, uint32_t index,
                           int32_t parent) {
    if (parent < 0 || (uint32_t)parent >= index)
        return -1;
    return chunk[parent].timed ? parent : chunk[parent].ancestor;
}

static void add_use(roast_section_totals *all, const struct roast_section_place *open,
                    const roast_section *section) {
    section_total *total = total_of(all, open->name, section->kind);
    if (total->place == 0)
        *total = (section_total){.place = ++all->count, .min = INFINITY, .max = -INFINITY};
    total->count = roast_add_u64(total->count, section->count);
    total->value = roast_add_capped(total->value, section->value);
    if (open->timed && open->ancestor >= 0) {
        section_total *around = total_of(all, all->chunk[open->ancestor].name, ROAST_SECTION_TIME);
        around->inside = roast_add_capped(around->inside, section->value);
    }
    if (section->kind == ROAST_SECTION_MEMORY) {
        double use = (double)section->value / (double)(section->count > 0 ? section->count : 1);
        total->min = fmin(total->min, use);
        total->max = fmax(total->max, use);
    }
}

roast_status roast_section_totals_add(roast_section_totals *all, const roast_chunklog *log,
                                      const roast_chunk *chunk) {
    if (chunk->n_sections == 0)
        return ROAST_OK;
    void *memory = all->chunk;
    ROAST_TRY(
        roast_array_reserve(&memory, &all->chunk_capacity, sizeof *all->chunk, chunk->n_sections));
    all->chunk = memory;
    roast_tail_cursor cursor;
    roast_section section;
    roast_chunk_sections(log, chunk, &cursor);
    for (uint32_t i = 0; i < chunk->n_sections && roast_chunk_next_section(&cursor, &section);
         i++) {
        struct roast_section_place *open = &all->chunk[i];
        if (section.kind >= ROAST_SECTION_KINDS)
            return ROAST_ECORRUPT;
        ROAST_TRY(roast_groups_find_listed(&all->names, chunk->packed.layout, chunk->n_sections, i,
                                           section.name, &open->name));
        open->timed = section.kind == ROAST_SECTION_TIME;
        open->ancestor = ancestor_of(all->chunk, i, section.parent);
        add_use(all, open, &section);
    }
    return ROAST_OK;
}

roast_status roast_section_totals_add_all(roast_section_totals *all, const roast_chunklog *log) {
    roast_chunk_cursor cursor;
    roast_chunk record;
    if (log == NULL)
        return ROAST_OK;
    roast_groups_forget_refs(&all->names);
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &record))
        ROAST_TRY(roast_section_totals_add(all, log, &record));
    return ROAST_OK;
}

/* ---- the end ---- */

static roast_section_row section_row(roast_section_kind kind, const section_total *total) {
    double count = (double)(total->count > 0 ? total->count : 1), value = (double)total->value;
    roast_section_row row = {.kind = kind,
                             .count = total->count,
                             .total_duration = NAN,
                             .self_duration = NAN,
                             .mean_duration = NAN,
                             .mean_mem_delta_mb = NAN,
                             .max_mem_delta_mb = NAN,
                             .min_mem_delta_mb = NAN};
    switch (kind) {
    case ROAST_SECTION_TIME:
        row.total_duration = value / 1e9;
        row.mean_duration = value / 1e9 / count;
        /* Clocks are read one after the other: those inside may sum up to a little more. */
        row.self_duration = fmax(0, (value - (double)total->inside) / 1e9);
        break;
    case ROAST_SECTION_MEMORY:
        row.mean_mem_delta_mb = value / 1e6 / count;
        row.max_mem_delta_mb = total->max / 1e6;
        row.min_mem_delta_mb = total->min / 1e6;
        break;
    case ROAST_SECTION_BYTES:
    case ROAST_SECTION_KINDS:
        row.total_bytes = roast_value_int(total->value);
        break;
    }
    return row;
}

roast_status roast_section_totals_finish(roast_section_totals *all, roast_metrics *metrics) {
    roast_section_row *rows = roast_metrics_make_rows(metrics, ROAST_ROWS_sections, all->count);
    if (rows == NULL)
        return ROAST_ENOMEM;
    for (uint32_t name = 0; name < roast_groups_count(&all->names); name++) {
        roast_str text;
        ROAST_TRY(roast_arena_str(&metrics->arena, roast_groups_name(&all->names, name), &text));
        for (int kind = 0; kind < ROAST_SECTION_KINDS; kind++) {
            const section_total *total = total_of(all, name, (roast_section_kind)kind);
            if (total->place == 0)
                continue;
            rows[total->place - 1] = section_row((roast_section_kind)kind, total);
            rows[total->place - 1].name = text;
        }
    }
    return ROAST_OK;
}
