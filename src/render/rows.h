/* The tables of the metrics as programs get them: which columns of a row leave the house, under the keys
 * of the catalogue. */
#ifndef ROAST_RENDER_ROWS_H
#define ROAST_RENDER_ROWS_H

#include "roast/metrics.h"

typedef enum roast_kept { /* how a row keeps a value */
                          ROAST_KEPT_VALUE,
                          ROAST_KEPT_REAL,
                          ROAST_KEPT_INT,
                          ROAST_KEPT_COUNT /* uint64_t */
} roast_kept;

typedef struct roast_row_column {
    const char *key;
    size_t offset; /* in the row */
    roast_kept kept;
} roast_row_column;

typedef struct roast_row_table {
    const char *key;  /* in the metrics, and the group of its columns in the catalogue */
    const char *noun; /* of a row: "dataset" */
    const roast_row_column *columns;
    size_t n_columns;
    size_t row_size;
    size_t name; /* where the row's name is */
} roast_row_table;

/* One row a table, in the order of the catalogue: key, noun, type of a row, function that gives the rows. */
#define ROAST_ROW_TABLES(X)                                                                        \
    X(per_dataset, dataset, roast_dataset_row, roast_metrics_datasets)                             \
    X(sections, section, roast_section_row, roast_metrics_sections)                                \
    X(file_read_metrics, file, roast_file_row, roast_metrics_file_rows)                            \
    X(branch_read_metrics, branch, roast_branch_row, roast_metrics_branches)                       \
    X(worker_health, worker, roast_worker_row, roast_metrics_worker_rows)

typedef enum roast_row_table_number {
#define X(key, noun, type, function) ROAST_ROWS_##key,
    ROAST_ROW_TABLES(X)
#undef X
        ROAST_ROW_TABLE_COUNT
} roast_row_table_number;

const roast_row_table *roast_row_table_at(roast_row_table_number number);
/* The rows of a table, and how many there are. */
const void *roast_row_table_rows(const roast_metrics *metrics, roast_row_table_number number,
                                 uint32_t *count);
const void *roast_table_row(const roast_row_table *table, const void *rows, uint32_t index);
roast_str roast_table_row_name(const roast_row_table *table, const void *row);
/* "Not measured" too where the column does not apply to the row. */
roast_value roast_table_row_value(const roast_row_column *column, const void *row);

#endif
