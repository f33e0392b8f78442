/* The tables of the metrics: rows in, rows out. */
#include "metrics/formulas.h"

int roast_compare_names(roast_str a, roast_str b) {
    if (a.data == NULL || b.data == NULL)
        return (a.data == NULL) - (b.data == NULL);
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

int roast_larger_first(roast_value a, roast_value b) {
    double x = a.kind != ROAST_VALUE_NONE ? roast_value_number(a) : -1;
    double y = b.kind != ROAST_VALUE_NONE ? roast_value_number(b) : -1;
    return (x < y) - (x > y);
}

/* ---- what a row has ---- */

#define COLUMN(row, kind, key)                                                                     \
    { #key, offsetof(roast_##row##_row, key), ROAST_KEPT_##kind }

static const roast_row_column dataset_columns[] = {
    COLUMN(dataset, COUNT, num_chunks),           COLUMN(dataset, REAL, total_duration),
    COLUMN(dataset, INT, total_events),           COLUMN(dataset, REAL, mean_duration),
    COLUMN(dataset, REAL, mean_events_per_chunk),
};

static const roast_row_column section_columns[] = {
    COLUMN(section, COUNT, count),
    COLUMN(section, REAL, total_duration),
    COLUMN(section, REAL, self_duration),
    COLUMN(section, REAL, mean_duration),
    COLUMN(section, REAL, mean_mem_delta_mb),
    COLUMN(section, REAL, max_mem_delta_mb),
    COLUMN(section, REAL, min_mem_delta_mb),
    COLUMN(section, VALUE, total_bytes),
    COLUMN(section, KIND, kind), /* hidden */
};

static const roast_row_column file_columns[] = {
    COLUMN(file, VALUE, total_branches),
    COLUMN(file, VALUE, branches_read_percent),
    COLUMN(file, VALUE, total_tree_bytes),
    COLUMN(file, VALUE, bytes_read),
    COLUMN(file, VALUE, bytes_read_percent),
    COLUMN(file, VALUE, compression_ratio), /* hidden, as is the next */
    COLUMN(file, VALUE, uncompressed_bytes_read),
};

static const roast_row_column branch_columns[] = {
    COLUMN(branch, COUNT, num_chunks), COLUMN(branch, VALUE, seconds),
    COLUMN(branch, VALUE, bytes),      COLUMN(branch, VALUE, uncompressed_bytes),
    COLUMN(branch, VALUE, count),
};

static const roast_row_column worker_columns[] = {
    COLUMN(worker, COUNT, samples),
    COLUMN(worker, VALUE, threads),
    COLUMN(worker, VALUE, peak_memory_bytes),
    COLUMN(worker, VALUE, memory_limit_bytes),
    COLUMN(worker, VALUE, peak_memory_percent),
    COLUMN(worker, VALUE, peak_spilled_bytes),
    COLUMN(worker, VALUE, mean_cpu_percent),
    COLUMN(worker, TEXT, host), /* hidden */
};

static const roast_row_column task_columns[] = {
    COLUMN(task, VALUE, count),       COLUMN(task, VALUE, failed),
    COLUMN(task, VALUE, seconds),     COLUMN(task, VALUE, mean_seconds),
    COLUMN(task, VALUE, cpu_seconds), COLUMN(task, VALUE, result_bytes),
};

static const roast_row_column storage_columns[] = {
    COLUMN(storage, COUNT, num_chunks),          COLUMN(storage, COUNT, num_files),
    COLUMN(storage, VALUE, bytes_read),          COLUMN(storage, VALUE, read_requests),
    COLUMN(storage, VALUE, read_seconds),        COLUMN(storage, VALUE, read_rate),
    COLUMN(storage, VALUE, waiting_seconds),     COLUMN(storage, VALUE, waiting_percent),
    COLUMN(storage, VALUE, mean_before_process),
};

enum {
    dataset_hidden = 0,
    section_hidden = 1,
    file_hidden = 2,
    branch_hidden = 0,
    worker_hidden = 1,
    task_hidden = 0,
    storage_hidden = 0
};

const roast_row_table *roast_row_table_at(roast_row_table_number number) {
    static const roast_row_table tables[] = {
#define X(key, noun)                                                                               \
    {#key,           #noun,                                                                        \
     noun##_columns, sizeof noun##_columns / sizeof *noun##_columns - noun##_hidden,               \
     noun##_hidden,  sizeof(roast_##noun##_row)},
        ROAST_ROW_TABLES(X)
#undef X
    };
    return &tables[number];
}

#define X(key, noun)                                                                               \
    _Static_assert(offsetof(roast_##noun##_row, name) == 0, "a row begins with its name");
ROAST_ROW_TABLES(X)
#undef X

/* ---- out ---- */

const void *roast_row_table_rows(const roast_metrics *metrics, roast_row_table_number number,
                                 uint32_t *count) {
    *count = metrics->tables[number].count;
    return metrics->tables[number].rows;
}

const void *roast_table_row(const roast_row_table *table, const void *rows, uint32_t index) {
    return (const char *)rows + index * table->row_size;
}

roast_str roast_table_row_name(const void *row) {
    roast_str name;
    memcpy(&name, row, sizeof name);
    return name;
}

roast_value roast_table_row_value(const roast_row_column *column, const void *row) {
    const char *at = (const char *)row + column->offset;
    roast_value value = roast_value_none();
    double real;
    int64_t integer;
    switch (column->kept) {
    case ROAST_KEPT_VALUE:
        memcpy(&value, at, sizeof value);
        break;
    case ROAST_KEPT_REAL:
        memcpy(&real, at, sizeof real);
        return isnan(real) ? value : roast_value_real(real);
    case ROAST_KEPT_INT:
    case ROAST_KEPT_COUNT:
        memcpy(&integer, at, sizeof integer);
        /* A count beyond the signed type becomes a real. */
        return column->kept == ROAST_KEPT_COUNT && integer < 0
                   ? roast_value_real((double)(uint64_t)integer)
                   : roast_value_int(integer);
    case ROAST_KEPT_TEXT:
    case ROAST_KEPT_KIND:
        break;
    }
    return value;
}

/* ---- in ---- */

void *roast_metrics_make_rows(roast_metrics *metrics, roast_row_table_number number, size_t count) {
    size_t size = roast_row_table_at(number)->row_size;
    if (count > 2 * (size_t)ROAST_MAX_ROWS)
        return NULL;
    void *rows = roast_arena_alloc(&metrics->arena, (count + 1) * size);
    if (rows != NULL) {
        memset(rows, 0, (count + 1) * size);
        metrics->tables[number] = (roast_metrics_rows){rows, (uint32_t)count, (uint32_t)count};
    }
    return rows;
}

static roast_status copy_text(roast_metrics *metrics, char *at) {
    roast_str text;
    memcpy(&text, at, sizeof text);
    ROAST_TRY(roast_arena_str(&metrics->arena, text, &text));
    memcpy(at, &text, sizeof text);
    return ROAST_OK;
}

static roast_status copy_texts(roast_metrics *metrics, const roast_row_table *table, char *row) {
    ROAST_TRY(copy_text(metrics, row));
    for (size_t i = 0; i < table->n_columns + table->n_hidden; i++)
        if (table->columns[i].kept == ROAST_KEPT_TEXT)
            ROAST_TRY(copy_text(metrics, row + table->columns[i].offset));
    return ROAST_OK;
}

roast_status roast_row_table_add(roast_metrics *metrics, roast_row_table_number number,
                                 const void *row, roast_error *err) {
    const roast_row_table *table = roast_row_table_at(number);
    roast_metrics_rows kept = metrics->tables[number];
    if (kept.count >= ROAST_MAX_ROWS)
        return roast_error_set(err, ROAST_ELIMIT, "metrics", -1, "a table has too many rows");
    if (kept.count >= kept.room) {
        uint32_t room = kept.count < 8 ? 16 : kept.count * 2;
        if (roast_metrics_make_rows(metrics, number, room) == NULL)
            return roast_metrics_no_memory(err);
        if (kept.count > 0)
            memcpy(metrics->tables[number].rows, kept.rows, kept.count * table->row_size);
        metrics->tables[number].count = kept.count;
    }
    char *at = (char *)metrics->tables[number].rows + kept.count * table->row_size;
    memcpy(at, row, table->row_size);
    if (copy_texts(metrics, table, at) != ROAST_OK)
        return roast_metrics_no_memory(err);
    metrics->tables[number].count++;
    return ROAST_OK;
}
