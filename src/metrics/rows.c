/* The tables of the metrics: rows in, rows out. */
#include "metrics/formulas.h"

int roast_compare_names(roast_str a, roast_str b) {
    if (a.data == NULL || b.data == NULL)
        return (a.data == NULL) - (b.data == NULL);
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* ---- out ---- */

const roast_dataset_row *roast_metrics_datasets(const roast_metrics *metrics, uint32_t *count) {
    *count = metrics->n_datasets;
    return metrics->datasets;
}

const roast_section_row *roast_metrics_sections(const roast_metrics *metrics, uint32_t *count) {
    *count = metrics->n_sections;
    return metrics->sections;
}

const roast_file_row *roast_metrics_file_rows(const roast_metrics *metrics, uint32_t *count) {
    *count = metrics->n_files;
    return metrics->files;
}

const roast_branch_row *roast_metrics_branches(const roast_metrics *metrics, uint32_t *count) {
    *count = metrics->n_branches;
    return metrics->branches;
}

const roast_worker_row *roast_metrics_worker_rows(const roast_metrics *metrics, uint32_t *count) {
    *count = metrics->n_workers;
    return metrics->workers;
}

/* ---- in ---- */

/* Room for one more row; the rows that are there may move, inside the arena. */
static roast_status make_room(roast_metrics *metrics, int table, void **rows, uint32_t count,
                              size_t size) {
    if (*rows == metrics->grown[table].rows && count < metrics->grown[table].room)
        return ROAST_OK;
    if (count >= ROAST_MAX_ROWS)
        return ROAST_ELIMIT;
    uint32_t room = count < 8 ? 16 : count * 2;
    void *moved;
    ROAST_TRY(roast_metrics_table(metrics, room, size, &moved));
    if (count > 0)
        memcpy(moved, *rows, count * size);
    metrics->grown[table].rows = moved;
    metrics->grown[table].room = room;
    *rows = moved;
    return ROAST_OK;
}

static roast_status told(roast_status status, roast_error *err) {
    if (status == ROAST_ELIMIT)
        return roast_error_set(err, status, "metrics", -1, "a table has too many rows");
    return status == ROAST_OK ? status : roast_metrics_no_memory(err);
}

/* A row goes in with its texts copied, or the table is as it was. */
#define ADD_ROW(table, count, copy_texts)                                                          \
    do {                                                                                           \
        void *rows = metrics->table;                                                               \
        roast_status status =                                                                      \
            make_room(metrics, ROAST_METRICS_##table, &rows, metrics->count, sizeof *row);         \
        if (status != ROAST_OK)                                                                    \
            return told(status, err);                                                              \
        metrics->table = rows;                                                                     \
        metrics->table[metrics->count] = *row;                                                     \
        if ((copy_texts) != ROAST_OK)                                                              \
            return told(ROAST_ENOMEM, err);                                                        \
        metrics->count++;                                                                          \
        return ROAST_OK;                                                                           \
    } while (0)

static roast_status copy_name(roast_metrics *metrics, roast_str *name) {
    return roast_arena_str(&metrics->arena, *name, name);
}

roast_status roast_metrics_add_dataset(roast_metrics *metrics, const roast_dataset_row *row,
                                       roast_error *err) {
    ADD_ROW(datasets, n_datasets, copy_name(metrics, &metrics->datasets[metrics->n_datasets].name));
}

roast_status roast_metrics_add_section(roast_metrics *metrics, const roast_section_row *row,
                                       roast_error *err) {
    ADD_ROW(sections, n_sections, copy_name(metrics, &metrics->sections[metrics->n_sections].name));
}

roast_status roast_metrics_add_file(roast_metrics *metrics, const roast_file_row *row,
                                    roast_error *err) {
    ADD_ROW(files, n_files, copy_name(metrics, &metrics->files[metrics->n_files].name));
}

roast_status roast_metrics_add_branch(roast_metrics *metrics, const roast_branch_row *row,
                                      roast_error *err) {
    ADD_ROW(branches, n_branches, copy_name(metrics, &metrics->branches[metrics->n_branches].name));
}

static roast_status copy_worker(roast_metrics *metrics, roast_worker_row *row) {
    ROAST_TRY(copy_name(metrics, &row->name));
    return copy_name(metrics, &row->host);
}

roast_status roast_metrics_add_worker(roast_metrics *metrics, const roast_worker_row *row,
                                      roast_error *err) {
    ADD_ROW(workers, n_workers, copy_worker(metrics, &metrics->workers[metrics->n_workers]));
}
