/* What the marked sections of the analysis cost, over all chunks. */
#include <math.h>

#include "base/buffer.h"
#include "metrics/formulas.h"
#include "metrics/names.h"

/* Whole nanoseconds and bytes, so that a section and those inside it add up exactly. */
typedef struct section_total {
    uint32_t name;
    roast_section_kind kind;
    uint64_t count;
    int64_t value, inside; /* inside: time sections whose nearest time section around is this one */
    double min, max;       /* of one use */
} section_total;

/* A section of the chunk at hand. */
typedef struct open_section {
    uint32_t total;   /* its place among the totals */
    int32_t ancestor; /* nearest time section around it, -1 if there is none */
    bool timed;
} open_section;

struct roast_section_totals {
    roast_names names;
    section_total *totals;
    size_t count, capacity;
    /* Place among the totals + 1, by name and kind: 0 is "none yet". */
    uint32_t (*by_name)[ROAST_SECTION_KINDS];
    size_t by_name_capacity, by_name_filled;
    open_section *chunk;
    size_t chunk_capacity;
    /* Whose sections `chunk` has: most chunks have those of the one before. */
    const roast_chunklog *log;
    uint32_t layout, known; /* known: of the first so many the totals */
};

roast_status roast_section_totals_new(roast_section_totals **out) {
    *out = roast_alloc_zero(sizeof **out);
    return *out != NULL ? ROAST_OK : ROAST_ENOMEM;
}

void roast_section_totals_free(roast_section_totals *totals) {
    if (totals == NULL)
        return;
    roast_names_reset(&totals->names);
    roast_free(totals->totals);
    roast_free(totals->by_name);
    roast_free(totals->chunk);
    roast_free(totals);
}

/* ---- one chunk ---- */

static roast_status new_total(roast_section_totals *all, uint32_t name, roast_section_kind kind) {
    void *memory = all->totals;
    ROAST_TRY(roast_array_reserve(&memory, &all->capacity, sizeof *all->totals, all->count + 1));
    all->totals = memory;
    all->totals[all->count++] =
        (section_total){.name = name, .kind = kind, .min = INFINITY, .max = -INFINITY};
    all->by_name[name][kind] = (uint32_t)all->count;
    return ROAST_OK;
}

static roast_status find_total(roast_section_totals *all, const roast_section *section,
                               uint32_t *out) {
    uint32_t name;
    roast_str text = section->name.data != NULL ? section->name : roast_str_of("");
    ROAST_TRY(roast_names_id(&all->names, text, &name));
    if (name >= all->by_name_filled) {
        void *memory = all->by_name;
        ROAST_TRY(roast_array_reserve(&memory, &all->by_name_capacity, sizeof *all->by_name,
                                      (size_t)name + 1));
        all->by_name = memory;
        for (; all->by_name_filled <= name; all->by_name_filled++)
            memset(all->by_name[all->by_name_filled], 0, sizeof *all->by_name);
    }
    if (all->by_name[name][section->kind] == 0)
        ROAST_TRY(new_total(all, name, section->kind));
    *out = all->by_name[name][section->kind] - 1;
    return ROAST_OK;
}

/* The nearest time section around the one at `index`; sections come after those around them. */
static int32_t ancestor_of(const open_section *chunk, uint32_t index, int32_t parent) {
    if (parent < 0 || (uint32_t)parent >= index)
        return -1;
    return chunk[parent].timed ? parent : chunk[parent].ancestor;
}

static void add_use(roast_section_totals *all, const open_section *open,
                    const roast_section *section) {
    section_total *total = &all->totals[open->total];
    total->count = roast_add_u64(total->count, section->count);
    total->value = roast_add_i64(total->value, section->value);
    if (open->timed && open->ancestor >= 0) {
        section_total *around = &all->totals[all->chunk[open->ancestor].total];
        around->inside = roast_add_i64(around->inside, section->value);
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
    if (all->log != log || all->layout != chunk->packed.layout)
        all->known = 0;
    all->log = log;
    all->layout = chunk->packed.layout;
    roast_tail_cursor cursor;
    roast_section section;
    roast_chunk_sections(log, chunk, &cursor);
    for (uint32_t i = 0; i < chunk->n_sections && roast_chunk_next_section(&cursor, &section);
         i++) {
        open_section *open = &all->chunk[i];
        if (section.kind >= ROAST_SECTION_KINDS)
            return ROAST_ECORRUPT;
        if (i >= all->known) {
            ROAST_TRY(find_total(all, &section, &open->total));
            open->timed = section.kind == ROAST_SECTION_TIME;
            open->ancestor = ancestor_of(all->chunk, i, section.parent);
            all->known = i + 1;
        }
        add_use(all, open, &section);
    }
    return ROAST_OK;
}

/* ---- the end ---- */

static roast_section_row section_row(roast_str name, const section_total *total) {
    double count = (double)(total->count > 0 ? total->count : 1), value = (double)total->value;
    roast_section_row row = {.name = name,
                             .kind = total->kind,
                             .count = total->count,
                             .total_duration = NAN,
                             .self_duration = NAN,
                             .mean_duration = NAN,
                             .mean_mem_delta_mb = NAN,
                             .max_mem_delta_mb = NAN,
                             .min_mem_delta_mb = NAN};
    switch (total->kind) {
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
        row.total_bytes = total->value;
        break;
    }
    return row;
}

roast_status roast_section_totals_finish(roast_section_totals *all, roast_metrics *metrics) {
    void *memory;
    ROAST_TRY(roast_metrics_table(metrics, all->count, sizeof(roast_section_row), &memory));
    roast_section_row *rows = memory;
    for (size_t i = 0; i < all->count; i++) {
        roast_str name;
        ROAST_TRY(roast_arena_str(&metrics->arena,
                                  roast_names_get(&all->names, all->totals[i].name), &name));
        rows[i] = section_row(name, &all->totals[i]);
    }
    metrics->sections = rows;
    metrics->n_sections = (uint32_t)all->count;
    return ROAST_OK;
}
