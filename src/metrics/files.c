/* How much of each file was read: the branches that chunks accessed against what the file holds. */
#include "base/buffer.h"
#include "metrics/formulas.h"
#include "metrics/names.h"

typedef struct file_total {
    bool known;      /* meta is there */
    roast_file meta; /* the latest of this name; borrowed from the log */
    uint32_t sets;   /* the first of its branch sets + 1; 0 if there is none */
} file_total;

/* A set of branches that chunks of a file accessed; those of one file form a chain. */
typedef struct accessed_set {
    uint32_t set;  /* reference in the log */
    uint32_t next; /* place + 1 of the next one */
} accessed_set;

/* Bits a branch in `marks`; the number of the file stands beside them. */
typedef struct branch_mark {
    uint32_t file; /* the last file that accessed it, counted from 1 */
    bool ever;
} branch_mark;

struct roast_file_totals {
    const roast_run *run;
    const roast_chunklog *log;
    roast_names names;
    file_total *files; /* by the number of the name */
    size_t files_capacity, n_files;
    uint32_t nameless; /* sets of chunks without a file, as file_total.sets */
    accessed_set *sets;
    size_t sets_capacity, n_sets;
    /* The (file, set) pairs that were seen: a hash table, 0 is an empty slot. */
    uint64_t *pairs, last_pair;
    size_t pair_slots;
    /* Filled at the end. */
    roast_names branches;
    branch_mark *marks;
    size_t marks_capacity, n_marks;
    uint32_t branches_ever;
};

/* ---- files ---- */

/* `entry`: where the name stands in the log, or 0. */
static roast_status find_file(roast_file_totals *totals, uint32_t entry, roast_str name,
                              uint32_t *id) {
    void *files = totals->files;
    ROAST_TRY(roast_array_reserve(&files, &totals->files_capacity, sizeof *totals->files,
                                  totals->n_files + 1));
    totals->files = files;
    ROAST_TRY(roast_names_id_in(&totals->names, entry, name, id));
    if (*id == totals->n_files)
        totals->files[totals->n_files++] = (file_total){0};
    return ROAST_OK;
}

static roast_status add_known_files(roast_file_totals *totals) {
    roast_file_cursor cursor;
    roast_file file;
    roast_file_cursor_init(&cursor, totals->log);
    while (roast_file_cursor_next(&cursor, &file)) {
        uint32_t id;
        if (file.name.data == NULL)
            continue;
        ROAST_TRY(find_file(totals, 0, file.name, &id));
        totals->files[id].known = true;
        totals->files[id].meta = file;
    }
    return ROAST_OK;
}

roast_status roast_file_totals_new(const roast_run *run, roast_file_totals **out) {
    roast_file_totals *totals = roast_alloc_zero(sizeof *totals);
    if (totals == NULL)
        return ROAST_ENOMEM;
    totals->run = run;
    totals->log = roast_run_chunks_view(run);
    roast_status status = add_known_files(totals);
    if (status != ROAST_OK) {
        roast_file_totals_free(totals);
        return status;
    }
    *out = totals;
    return ROAST_OK;
}

void roast_file_totals_free(roast_file_totals *totals) {
    if (totals == NULL)
        return;
    roast_names_reset(&totals->names);
    roast_names_reset(&totals->branches);
    roast_free(totals->files);
    roast_free(totals->sets);
    roast_free(totals->pairs);
    roast_free(totals->marks);
    roast_free(totals);
}

/* ---- one chunk ---- */

static size_t pair_slot(const uint64_t *pairs, size_t slots, uint64_t pair) {
    size_t at = (size_t)((pair * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (slots - 1);
    while (pairs[at] != 0 && pairs[at] != pair)
        at = (at + 1) & (slots - 1);
    return at;
}

static roast_status make_room_for_pair(roast_file_totals *totals) {
    if ((totals->n_sets + 1) * 2 <= totals->pair_slots)
        return ROAST_OK;
    size_t wanted = totals->pair_slots == 0 ? 64 : totals->pair_slots * 2;
    if (wanted > SIZE_MAX / 4 / sizeof *totals->pairs)
        return ROAST_ENOMEM;
    uint64_t *pairs = roast_alloc_zero(wanted * sizeof *pairs);
    if (pairs == NULL)
        return ROAST_ENOMEM;
    for (size_t i = 0; i < totals->pair_slots; i++) {
        if (totals->pairs[i] != 0)
            pairs[pair_slot(pairs, wanted, totals->pairs[i])] = totals->pairs[i];
    }
    roast_free(totals->pairs);
    totals->pairs = pairs;
    totals->pair_slots = wanted;
    return ROAST_OK;
}

static roast_status add_pair(roast_file_totals *totals, uint64_t pair, uint32_t set,
                             uint32_t *chain) {
    void *sets = totals->sets;
    ROAST_TRY(make_room_for_pair(totals));
    ROAST_TRY(roast_array_reserve(&sets, &totals->sets_capacity, sizeof *totals->sets,
                                  totals->n_sets + 1));
    totals->sets = sets;
    size_t slot = pair_slot(totals->pairs, totals->pair_slots, pair);
    totals->last_pair = pair;
    if (totals->pairs[slot] == pair)
        return ROAST_OK;
    totals->pairs[slot] = pair;
    totals->sets[totals->n_sets++] = (accessed_set){set, *chain};
    *chain = (uint32_t)totals->n_sets;
    return ROAST_OK;
}

roast_status roast_file_totals_add(roast_file_totals *totals, const roast_chunklog *log,
                                   const roast_chunk *chunk) {
    (void)log;
    uint32_t id = 0, file = 0;
    if (chunk->file.data != NULL) {
        ROAST_TRY(find_file(totals, chunk->packed.file, chunk->file, &id));
        file = id + 1;
    }
    if (!chunk->has_branches)
        return ROAST_OK;
    uint64_t pair = (uint64_t)file << 32 | chunk->packed.branches;
    if (pair == totals->last_pair)
        return ROAST_OK;
    return add_pair(totals, pair, chunk->packed.branches,
                    file > 0 ? &totals->files[id].sets : &totals->nameless);
}

/* ---- the end: which branches ---- */

static roast_status mark_of(roast_file_totals *totals, roast_str branch, branch_mark **out) {
    uint32_t id;
    void *marks = totals->marks;
    ROAST_TRY(roast_array_reserve(&marks, &totals->marks_capacity, sizeof *totals->marks,
                                  totals->n_marks + 1));
    totals->marks = marks;
    if (branch.data == NULL)
        branch = roast_str_of("");
    ROAST_TRY(roast_names_id(&totals->branches, branch, &id));
    if (id == totals->n_marks)
        totals->marks[totals->n_marks++] = (branch_mark){0};
    *out = &totals->marks[id];
    return ROAST_OK;
}

/* Marks a branch as accessed in file number `file`; *count grows if it was not yet. */
static roast_status mark_branch(roast_file_totals *totals, roast_str branch, uint32_t file,
                                uint32_t *count) {
    branch_mark *mark;
    ROAST_TRY(mark_of(totals, branch, &mark));
    totals->branches_ever += !mark->ever;
    mark->ever = true;
    *count += mark->file != file;
    mark->file = file;
    return ROAST_OK;
}

static roast_status mark_sets(roast_file_totals *totals, uint32_t chain, uint32_t file,
                              uint32_t *count) {
    for (uint32_t at = chain; at != 0; at = totals->sets[at - 1].next) {
        roast_chunk chunk = {.has_branches = true};
        roast_tail_cursor cursor;
        roast_str branch;
        chunk.packed.branches = totals->sets[at - 1].set;
        roast_chunk_branches(totals->log, &chunk, &cursor);
        while (roast_chunk_next_branch(&cursor, &branch))
            ROAST_TRY(mark_branch(totals, branch, file, count));
    }
    return ROAST_OK;
}

/* "Jet_pt-data" stands for the branch Jet_pt; "-offsets" and the like are not branches. */
static roast_status mark_columns(roast_file_totals *totals, uint32_t file, uint32_t *count) {
    static const char suffix[] = "-data";
    const size_t len = sizeof suffix - 1;
    for (uint32_t i = 0; i < roast_run_column_count(totals->run); i++) {
        roast_str column = roast_run_column(totals->run, i);
        if (column.len < len || memcmp(column.data + column.len - len, suffix, len) != 0)
            continue;
        column.len -= len;
        ROAST_TRY(mark_branch(totals, column, file, count));
    }
    return ROAST_OK;
}

/* Chunks tell what they accessed; the report's columns stand in only where no chunk does. */
static bool from_columns(const roast_file_totals *totals) {
    return totals->n_sets == 0 && roast_run_column_count(totals->run) > 0;
}

/* ---- the end: one file ---- */

typedef struct file_read {
    bool known; /* what was accessed is known */
    uint32_t branches;
    bool sized; /* and so are the sizes */
    int64_t bytes;
    bool sized_uncompressed;
    int64_t uncompressed_bytes;
} file_read;

/* Of what was marked for file number `file`: what the file holds, and its size. */
static roast_status measure_file(roast_file_totals *totals, const roast_file *meta, uint32_t file,
                                 file_read *read) {
    roast_tail_cursor cursor;
    roast_branch_size branch;
    branch_mark *mark;
    *read = (file_read){.known = true, .sized = true, .sized_uncompressed = true};
    roast_file_branches(totals->log, meta, &cursor);
    while (roast_file_next_branch(&cursor, &branch)) {
        ROAST_TRY(mark_of(totals, branch.name, &mark));
        if (mark->file != file)
            continue;
        mark->file = 0; /* a name that is there twice counts once */
        read->branches++;
        if (branch.bytes < 0)
            read->sized = false;
        else
            read->bytes = roast_add_i64(read->bytes, branch.bytes);
        if (branch.uncompressed_bytes < 0)
            read->sized_uncompressed = false;
        else
            read->uncompressed_bytes =
                roast_add_i64(read->uncompressed_bytes, branch.uncompressed_bytes);
    }
    return ROAST_OK;
}

static roast_status read_file(roast_file_totals *totals, uint32_t id, file_read *read) {
    const file_total *file = &totals->files[id];
    uint32_t count = 0;
    if (from_columns(totals))
        ROAST_TRY(mark_columns(totals, id + 1, &count));
    else
        ROAST_TRY(mark_sets(totals, file->sets, id + 1, &count));
    *read = (file_read){.known = from_columns(totals) || file->sets != 0, .branches = count};
    if (!read->known)
        return ROAST_OK;
    if (file->known && file->meta.n_branches > 0)
        return measure_file(totals, &file->meta, id + 1, read);
    read->sized = read->sized_uncompressed = count == 0; /* the size of nothing is known */
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

static roast_file_row file_row(roast_str name, const file_total *file, const file_read *read) {
    const roast_file *meta = &file->meta;
    roast_file_row row = {.name = name};
    row.total_branches = int_if(file->known, meta->total_branches);
    row.total_tree_bytes = int_if(file->known, meta->tree_bytes);
    row.bytes_read = int_if(read->known && read->sized, read->bytes);
    row.uncompressed_bytes_read =
        int_if(read->known && read->sized_uncompressed, read->uncompressed_bytes);
    row.branches_read_percent = percent_of(int_if(read->known, read->branches), row.total_branches);
    row.bytes_read_percent = percent_of(row.bytes_read, row.total_tree_bytes);
    if (file->known && meta->tree_bytes >= 0 && meta->tree_uncompressed_bytes > 0)
        row.compression_ratio =
            roast_value_real((double)meta->tree_bytes / (double)meta->tree_uncompressed_bytes);
    return row;
}

static roast_status make_rows(roast_file_totals *totals, roast_metrics *metrics) {
    void *memory;
    ROAST_TRY(roast_metrics_table(metrics, totals->n_files, sizeof(roast_file_row), &memory));
    roast_file_row *rows = memory;
    for (uint32_t id = 0; id < totals->n_files; id++) {
        file_read read;
        roast_str name;
        ROAST_TRY(read_file(totals, id, &read));
        ROAST_TRY(roast_arena_str(&metrics->arena, roast_names_get(&totals->names, id), &name));
        rows[id] = file_row(name, &totals->files[id], &read);
    }
    metrics->files = rows;
    metrics->n_files = (uint32_t)totals->n_files;
    return ROAST_OK;
}

static void add_percent(roast_stats *stats, roast_value percent) {
    if (percent.kind != ROAST_VALUE_NONE)
        roast_stats_add(stats, roast_value_number(percent));
}

/* The files of which it is known how large they are and how much of them was read. */
static void put_volume(roast_metrics *metrics) {
    int64_t there = 0, read = 0, uncompressed = 0;
    uint32_t known = 0, known_uncompressed = 0;
    for (uint32_t i = 0; i < metrics->n_files; i++) {
        const roast_file_row *row = &metrics->files[i];
        if (row->bytes_read.kind == ROAST_VALUE_NONE ||
            row->total_tree_bytes.kind == ROAST_VALUE_NONE)
            continue;
        known++;
        there = roast_add_i64(there, row->total_tree_bytes.integer);
        read = roast_add_i64(read, row->bytes_read.integer);
        if (row->uncompressed_bytes_read.kind == ROAST_VALUE_NONE)
            continue;
        known_uncompressed++;
        uncompressed = roast_add_i64(uncompressed, row->uncompressed_bytes_read.integer);
    }
    if (metrics->n_files > 0)
        roast_put(metrics, ROAST_M_num_files, roast_value_int(metrics->n_files));
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
    /* What belongs to no file counts in the union over everything. */
    if (from_columns(totals))
        ROAST_TRY(mark_columns(totals, UINT32_MAX, &count));
    ROAST_TRY(mark_sets(totals, totals->nameless, UINT32_MAX, &count));
    if (totals->n_sets > 0 || from_columns(totals))
        roast_put(metrics, ROAST_M_total_branches_read, roast_value_int(totals->branches_ever));
    put_volume(metrics);
    roast_stats branches = {0}, bytes = {0};
    for (uint32_t i = 0; i < metrics->n_files; i++) {
        add_percent(&branches, metrics->files[i].branches_read_percent);
        add_percent(&bytes, metrics->files[i].bytes_read_percent);
    }
    if (branches.count > 0)
        roast_put(metrics, ROAST_M_avg_branches_read_percent, roast_value_real(branches.mean));
    if (bytes.count > 0)
        roast_put(metrics, ROAST_M_avg_bytes_read_percent, roast_value_real(bytes.mean));
    return ROAST_OK;
}
