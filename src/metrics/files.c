/* How much of each file was read: the branches that chunks accessed against what the file holds. */
#include "metrics/formulas.h"

typedef struct file_total {
    bool known;      /* meta is there */
    roast_file meta; /* the latest of this name; borrowed from the log */
    uint32_t sets;   /* the first of its branch sets + 1; 0 if there is none */
    /* The first chunk that has figures but no set: they cannot be joined with those of others. */
    bool counted;
    roast_value branches, bytes, uncompressed_bytes;
} file_total;

/* A set of branches that chunks of a file accessed; those of one file form a chain. */
typedef struct accessed_set {
    uint32_t set;  /* reference in the log */
    uint32_t next; /* place + 1 of the next one */
    /* Of these branches, as the worker knows them; -1: not known. It also knows which of them share columns. */
    int64_t bytes, uncompressed_bytes;
} accessed_set;

/* Which files accessed a branch. */
typedef struct branch_mark {
    uint32_t file; /* the last file that accessed it, counted from 1 */
    bool ever;
} branch_mark;

/* ---- files ---- */

static roast_status add_known_files(roast_file_totals *totals) {
    roast_file_cursor cursor;
    roast_file file;
    roast_file_cursor_init(&cursor, totals->log);
    while (roast_file_cursor_next(&cursor, &file)) {
        uint32_t id;
        if (file.name.data == NULL)
            continue;
        ROAST_TRY(roast_groups_find(&totals->files, file.name, &id));
        file_total *known = roast_groups_item(&totals->files, id);
        known->known = true;
        known->meta = file;
    }
    return ROAST_OK;
}

roast_status roast_file_totals_init(roast_file_totals *totals, const roast_run *run) {
    *totals = (roast_file_totals){.run = run,
                                  .log = roast_run_chunks_view(run),
                                  .files = ROAST_GROUPS(file_total),
                                  .accessed = ROAST_GROUPS(accessed_set),
                                  .branches = ROAST_GROUPS(branch_mark)};
    return add_known_files(totals);
}

void roast_file_totals_reset(roast_file_totals *totals) {
    roast_groups_reset(&totals->files);
    roast_groups_reset(&totals->accessed);
    roast_groups_reset(&totals->branches);
}

/* ---- one chunk ---- */

static roast_value number_if(const roast_chunk *chunk, uint64_t field, int64_t number) {
    return chunk->have & field ? roast_value_int(number) : roast_value_none();
}
#define NUMBER_OF(chunk, field) number_if(chunk, ROAST_CHUNK_HAS(field), (chunk)->field)

static void add_figures(file_total *file, const roast_chunk *chunk) {
    const uint64_t figures = ROAST_CHUNK_HAS(branch_count) | ROAST_CHUNK_HAS(accessed_bytes);
    if (file->counted || !(chunk->have & figures))
        return;
    file->counted = true;
    file->branches = NUMBER_OF(chunk, branch_count);
    file->bytes = NUMBER_OF(chunk, accessed_bytes);
    file->uncompressed_bytes = NUMBER_OF(chunk, accessed_uncompressed_bytes);
}

roast_status roast_file_totals_add(roast_file_totals *totals, const roast_chunk *chunk) {
    file_total *file = NULL;
    uint32_t *chain = &totals->nameless, known = roast_groups_count(&totals->accessed), id;
    uint32_t pair[2] = {0, chunk->packed.branches}; /* the file counted from 1, and the set */
    if (chunk->file.data != NULL) {
        ROAST_TRY(roast_groups_find_ref(&totals->files, chunk->packed.file, chunk->file, &id));
        file = roast_groups_item(&totals->files, id);
        chain = &file->sets;
        pair[0] = id + 1;
    }
    if (!chunk->has_branches) {
        if (file != NULL)
            add_figures(file, chunk);
        return ROAST_OK;
    }
    ROAST_TRY(
        roast_groups_find(&totals->accessed, (roast_str){(const char *)pair, sizeof pair}, &id));
    accessed_set *set = roast_groups_item(&totals->accessed, id);
    if (id == known) {
        *set = (accessed_set){chunk->packed.branches, *chain, -1, -1};
        *chain = id + 1;
    }
    if (chunk->have & ROAST_CHUNK_HAS(accessed_bytes))
        set->bytes = chunk->accessed_bytes;
    if (chunk->have & ROAST_CHUNK_HAS(accessed_uncompressed_bytes))
        set->uncompressed_bytes = chunk->accessed_uncompressed_bytes;
    return ROAST_OK;
}

/* ---- the end: which branches ---- */

/* Marks branch number `id` as accessed in file number `file`; *count grows if it was not yet. */
static void mark_branch(roast_file_totals *totals, uint32_t id, uint32_t file, uint32_t *count) {
    branch_mark *mark = roast_groups_item(&totals->branches, id);
    totals->branches_ever += !mark->ever;
    mark->ever = true;
    *count += mark->file != file;
    mark->file = file;
}

/* *whole (may be NULL): the set that has all branches of the chain; NULL if none has. */
static roast_status mark_sets(roast_file_totals *totals, uint32_t chain, uint32_t file,
                              uint32_t *count, const accessed_set **whole) {
    const accessed_set *largest = NULL;
    uint32_t most = 0;
    for (uint32_t at = chain; at != 0;) {
        const accessed_set *set = roast_groups_item(&totals->accessed, at - 1);
        roast_chunk chunk = {.has_branches = true};
        roast_tail_cursor cursor;
        roast_str branch;
        uint32_t n = 0, id;
        chunk.packed.branches = set->set;
        at = set->next;
        roast_chunk_branches(totals->log, &chunk, &cursor);
        for (; roast_chunk_next_branch(&cursor, &branch); n++) {
            ROAST_TRY(roast_groups_find_listed(&totals->branches, set->set, cursor.count, n, branch,
                                               &id));
            mark_branch(totals, id, file, count);
        }
        if (largest == NULL || n > most) {
            largest = set;
            most = n;
        }
    }
    if (whole != NULL)
        *whole = most == *count ? largest : NULL;
    return ROAST_OK;
}

/* A column is a branch and what was made of it: "Jet_pt-data", "nJet-offsets". The access logs of chunks have both
 * branches as well. */
static roast_status mark_columns(roast_file_totals *totals, uint32_t file, uint32_t *count) {
    uint32_t id;
    for (uint32_t i = 0; i < roast_run_column_count(totals->run); i++) {
        roast_str column = roast_run_column(totals->run, i);
        while (column.len > 0 && column.data[column.len - 1] != '-')
            column.len--;
        if (column.len < 2)
            continue;
        column.len--;
        ROAST_TRY(roast_groups_find(&totals->branches, column, &id));
        mark_branch(totals, id, file, count);
    }
    return ROAST_OK;
}

/* The accessed branches come from the chunks; the report's columns are used only if no chunk has them. */
static bool from_columns(const roast_file_totals *totals) {
    return roast_groups_count(&totals->accessed) == 0 && roast_run_column_count(totals->run) > 0;
}

/* ---- the end: one file ---- */

typedef struct file_read {
    roast_value branches;           /* none: what was accessed is not known */
    roast_value bytes;              /* none: a size is not known */
    roast_value uncompressed_bytes; /* the same */
} file_read;

static void add_size(roast_value *sum, int64_t bytes) {
    if (bytes < 0)
        *sum = roast_value_none();
    else if (sum->kind != ROAST_VALUE_NONE)
        *sum = roast_value_int(roast_add_capped(sum->integer, bytes));
}

/* The sum over branches; where it is not known, the size that the chunk itself tells. */
static roast_value size_or(roast_value sum, int64_t whole) {
    return sum.kind == ROAST_VALUE_NONE && whole >= 0 ? roast_value_int(whole) : sum;
}

/* Of what was marked for file number `file`: what the file holds, and its size. `whole` is as mark_sets() gives it. */
static roast_status measure_file(roast_file_totals *totals, const roast_file *meta, uint32_t file,
                                 const accessed_set *whole, file_read *read) {
    roast_tail_cursor cursor;
    roast_branch_size branch;
    uint32_t id;
    *read = (file_read){roast_value_int(0), roast_value_int(0), roast_value_int(0)};
    roast_file_branches(totals->log, meta, &cursor);
    for (uint32_t i = 0; roast_file_next_branch(&cursor, &branch); i++) {
        ROAST_TRY(roast_groups_find_listed(&totals->branches, meta->packed.names, meta->n_branches,
                                           i, branch.name, &id));
        branch_mark *mark = roast_groups_item(&totals->branches, id);
        if (mark->file != file)
            continue;
        mark->file = 0; /* a name that is there twice counts once */
        read->branches.integer++;
        add_size(&read->bytes, branch.bytes);
        add_size(&read->uncompressed_bytes, branch.uncompressed_bytes);
    }
    if (whole != NULL) {
        read->bytes = size_or(read->bytes, whole->bytes);
        read->uncompressed_bytes = size_or(read->uncompressed_bytes, whole->uncompressed_bytes);
    }
    return ROAST_OK;
}

static roast_status read_file(roast_file_totals *totals, uint32_t id, file_read *read) {
    const file_total *file = roast_groups_item(&totals->files, id);
    const accessed_set *whole = NULL;
    uint32_t count = 0;
    *read = (file_read){file->branches, file->bytes, file->uncompressed_bytes};
    if (file->sets == 0 && (file->counted || !from_columns(totals)))
        return ROAST_OK;
    if (from_columns(totals))
        ROAST_TRY(mark_columns(totals, id + 1, &count));
    else
        ROAST_TRY(mark_sets(totals, file->sets, id + 1, &count, &whole));
    if (file->known && file->meta.n_branches > 0)
        return measure_file(totals, &file->meta, id + 1, whole, read);
    /* the size of nothing is known */
    roast_value size = count == 0 ? roast_value_int(0) : roast_value_none();
    *read = (file_read){roast_value_int(count), size, size};
    return ROAST_OK;
}

static roast_value int_if(bool known, int64_t value) {
    return known && value >= 0 ? roast_value_int(value) : roast_value_none();
}

/* A share of an empty tree is not known, and must not pull down the mean over files. */
static roast_value percent_of(roast_value part, roast_value whole) {
    if (!(roast_value_number(whole) > 0))
        return roast_value_none();
    return roast_value_ratio(part, whole, 100, 1);
}

static roast_file_row file_row(const file_total *file, const file_read *read) {
    const roast_file *meta = &file->meta;
    roast_file_row row = {.name = {NULL, 0}};
    double ratio;
    row.total_branches = int_if(file->known, meta->total_branches);
    row.total_tree_bytes = int_if(file->known, meta->tree_bytes);
    row.bytes_read = read->bytes;
    row.uncompressed_bytes_read = read->uncompressed_bytes;
    row.branches_read_percent = percent_of(read->branches, row.total_branches);
    row.bytes_read_percent = percent_of(row.bytes_read, row.total_tree_bytes);
    if (file->known && roast_file_ratio(meta, &ratio))
        row.compression_ratio = roast_value_real(ratio);
    return row;
}

static roast_status make_rows(roast_file_totals *totals, roast_metrics *metrics) {
    uint32_t count = roast_groups_count(&totals->files);
    roast_file_row *rows = roast_metrics_make_rows(metrics, ROAST_ROWS_file_read_metrics, count);
    if (rows == NULL)
        return ROAST_ENOMEM;
    for (uint32_t id = 0; id < count; id++) {
        file_read read;
        ROAST_TRY(read_file(totals, id, &read));
        rows[id] = file_row(roast_groups_item(&totals->files, id), &read);
        ROAST_TRY(roast_arena_str(&metrics->arena, roast_groups_name(&totals->files, id),
                                  &rows[id].name));
    }
    return ROAST_OK;
}

static void add_percent(roast_stats *stats, roast_value percent) {
    if (percent.kind != ROAST_VALUE_NONE)
        roast_stats_add(stats, roast_value_number(percent));
}

/* The files of which it is known how large they are and how much of them was read. */
static void put_volume(roast_metrics *metrics, const roast_file_row *rows, uint32_t count) {
    int64_t there = 0, read = 0, uncompressed = 0;
    uint32_t known = 0, known_uncompressed = 0;
    for (uint32_t i = 0; i < count; i++) {
        const roast_file_row *row = &rows[i];
        if (row->bytes_read.kind == ROAST_VALUE_NONE ||
            row->total_tree_bytes.kind == ROAST_VALUE_NONE)
            continue;
        known++;
        there = roast_add_capped(there, row->total_tree_bytes.integer);
        read = roast_add_capped(read, row->bytes_read.integer);
        if (row->uncompressed_bytes_read.kind == ROAST_VALUE_NONE)
            continue;
        known_uncompressed++;
        uncompressed = roast_add_capped(uncompressed, row->uncompressed_bytes_read.integer);
    }
    if (count > 0)
        roast_put(metrics, ROAST_M_num_files, roast_value_int(count));
    if (known == 0)
        return;
    roast_put(metrics, ROAST_M_files_tree_bytes, roast_value_int(there));
    roast_put(metrics, ROAST_M_files_accessed_bytes, roast_value_int(read));
    roast_put(metrics, ROAST_M_files_read_percent,
              percent_of(roast_value_int(read), roast_value_int(there)));
    /* A part of the files would look as if it were better compressed. */
    if (known_uncompressed == known)
        roast_put(metrics, ROAST_M_files_accessed_uncompressed_bytes,
                  roast_value_int(uncompressed));
}

roast_status roast_file_totals_finish(roast_file_totals *totals, roast_metrics *metrics) {
    uint32_t count = 0;
    ROAST_TRY(make_rows(totals, metrics));
    /* Branches without a file count in the union over all files. */
    if (from_columns(totals))
        ROAST_TRY(mark_columns(totals, UINT32_MAX, &count));
    ROAST_TRY(mark_sets(totals, totals->nameless, UINT32_MAX, &count, NULL));
    if (roast_groups_count(&totals->accessed) > 0 || from_columns(totals))
        roast_put(metrics, ROAST_M_total_branches_read, roast_value_int(totals->branches_ever));
    uint32_t n_files;
    const roast_file_row *rows =
        roast_row_table_rows(metrics, ROAST_ROWS_file_read_metrics, &n_files);
    put_volume(metrics, rows, n_files);
    roast_stats branches = {0}, bytes = {0};
    for (uint32_t i = 0; i < n_files; i++) {
        add_percent(&branches, rows[i].branches_read_percent);
        add_percent(&bytes, rows[i].bytes_read_percent);
    }
    if (branches.count > 0)
        roast_put(metrics, ROAST_M_avg_branches_read_percent, roast_value_real(branches.mean));
    if (bytes.count > 0)
        roast_put(metrics, ROAST_M_avg_bytes_read_percent, roast_value_real(bytes.mean));
    return ROAST_OK;
}
