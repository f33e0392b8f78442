#include "render/rows.h"

#include <math.h>
#include <string.h>

#define COLUMN(row, kind, key)                                                                     \
    { #key, offsetof(roast_##row##_row, key), ROAST_KEPT_##kind }

static const roast_row_column dataset_columns[] = {
    COLUMN(dataset, COUNT, num_chunks),           COLUMN(dataset, REAL, total_duration),
    COLUMN(dataset, INT, total_events),           COLUMN(dataset, REAL, mean_duration),
    COLUMN(dataset, REAL, mean_events_per_chunk),
};

/* total_bytes is the last one: it is a number for sections of its sort only. */
static const roast_row_column section_columns[] = {
    COLUMN(section, COUNT, count),
    COLUMN(section, REAL, total_duration),
    COLUMN(section, REAL, self_duration),
    COLUMN(section, REAL, mean_duration),
    COLUMN(section, REAL, mean_mem_delta_mb),
    COLUMN(section, REAL, max_mem_delta_mb),
    COLUMN(section, REAL, min_mem_delta_mb),
    COLUMN(section, INT, total_bytes),
};

static const roast_row_column file_columns[] = {
    COLUMN(file, VALUE, total_branches),     COLUMN(file, VALUE, branches_read_percent),
    COLUMN(file, VALUE, total_tree_bytes),   COLUMN(file, VALUE, bytes_read),
    COLUMN(file, VALUE, bytes_read_percent),
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
};

const roast_row_table *roast_row_table_at(roast_row_table_number number) {
    static const roast_row_table tables[] = {
#define X(key, noun, type, function)                                                               \
    {#key,           #noun,                                                                        \
     noun##_columns, sizeof noun##_columns / sizeof *noun##_columns,                               \
     sizeof(type),   offsetof(type, name)},
        ROAST_ROW_TABLES(X)
#undef X
    };
    return &tables[number];
}

const void *roast_row_table_rows(const roast_metrics *metrics, roast_row_table_number number,
                                 uint32_t *count) {
    switch (number) {
#define X(key, noun, type, function)                                                               \
    case ROAST_ROWS_##key:                                                                         \
        return function(metrics, count);
        ROAST_ROW_TABLES(X)
#undef X
    case ROAST_ROW_TABLE_COUNT:
        break;
    }
    *count = 0;
    return NULL;
}

const void *roast_table_row(const roast_row_table *table, const void *rows, uint32_t index) {
    return (const char *)rows + index * table->row_size;
}

roast_str roast_table_row_name(const roast_row_table *table, const void *row) {
    roast_str name;
    memcpy(&name, (const char *)row + table->name, sizeof name);
    return name;
}

static roast_value count_value(int64_t bits) {
    /* Beyond the signed type it is told as a real. */
    return bits < 0 ? roast_value_real((double)(uint64_t)bits) : roast_value_int(bits);
}

roast_value roast_table_row_value(const roast_row_column *column, const void *row) {
    const char *at = (const char *)row + column->offset;
    roast_value value;
    double real;
    int64_t integer;
    switch (column->kept) {
    case ROAST_KEPT_VALUE:
        memcpy(&value, at, sizeof value);
        return value;
    case ROAST_KEPT_REAL:
        memcpy(&real, at, sizeof real);
        return isnan(real) ? roast_value_none() : roast_value_real(real);
    case ROAST_KEPT_INT:
    case ROAST_KEPT_COUNT:
        break;
    }
    if (column == &section_columns[sizeof section_columns / sizeof *section_columns - 1] &&
        ((const roast_section_row *)row)->kind != ROAST_SECTION_BYTES)
        return roast_value_none();
    memcpy(&integer, at, sizeof integer);
    return column->kept == ROAST_KEPT_COUNT ? count_value(integer) : roast_value_int(integer);
}
