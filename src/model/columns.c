#include "model/columns_internal.h"
#include "base/names.h"

static size_t width_of(roast_cell cell) {
    return cell == ROAST_CELL_TEXT ? sizeof(int32_t) : sizeof(int64_t);
}

static size_t bitmap_size(uint64_t rows) {
    return (size_t)(rows / 8 + (rows % 8 != 0));
}

/* ---- life ---- */

ROAST_NAMES(roast_table_name, roast_table, ROAST_TABLE_LIST, ROAST_NAME_ITSELF)

static roast_status make_table(const roast_run *run, roast_table table, roast_columns **out) {
    switch (table) {
    case ROAST_TABLE_chunks:
        return roast_columns_of_chunks(roast_run_chunks_view(run), out);
    case ROAST_TABLE_sections:
        return roast_columns_of_sections(roast_run_chunks_view(run), roast_run_sections_view(run),
                                         out);
    case ROAST_TABLE_samples:
        return roast_columns_of_samples(roast_run_series_view(run), out);
    case ROAST_TABLE_reads:
        return roast_columns_of_reads(roast_run_chunks_view(run), out);
    case ROAST_TABLES:
        break;
    }
    return ROAST_EINVAL;
}

roast_status roast_columns_failed(roast_table table, roast_status status, roast_error *err) {
    return roast_error_set(err, status, "columns", -1,
                           status == ROAST_ELIMIT ? "too many texts for the table of %s"
                                                  : "no memory for the table of %s",
                           roast_table_name(table));
}

roast_status roast_columns_new(const roast_run *run, roast_table table, roast_columns **out,
                               roast_error *err) {
    roast_status status = make_table(run, table, out);
    if (status == ROAST_EINVAL)
        return roast_error_set(err, status, "columns", -1, "there is no table %d", (int)table);
    return status == ROAST_OK ? ROAST_OK : roast_columns_failed(table, status, err);
}

roast_columns *roast_columns_share(roast_columns *columns) {
    atomic_fetch_add_explicit(&columns->owners, 1, memory_order_relaxed);
    return columns;
}

static void reset_store(roast_column_store *store) {
    roast_free(store->values);
    roast_free(store->validity);
    roast_free(store->reals);
    roast_intern_reset(&store->texts);
    roast_free(store->offsets);
    roast_buffer_reset(&store->bytes);
}

void roast_columns_free(roast_columns *columns) {
    /* Writes of other owners must be visible before the memory is freed. */
    if (columns == NULL || atomic_fetch_sub_explicit(&columns->owners, 1, memory_order_acq_rel) > 1)
        return;
    for (uint32_t i = 0; columns->stores != NULL && i < columns->count; i++)
        reset_store(&columns->stores[i]);
    roast_free(columns->stores);
    roast_free(columns->items);
    roast_free(columns);
}

/* ---- growing ---- */

roast_status roast_columns_begin(roast_table table, uint32_t count, roast_columns **out) {
    roast_columns *columns = roast_alloc_zero(sizeof *columns);
    if (columns == NULL)
        return ROAST_ENOMEM;
    atomic_init(&columns->owners, 1);
    columns->table = table;
    columns->count = count;
    columns->items = roast_alloc_zero(count * sizeof *columns->items);
    columns->stores = roast_alloc_zero(count * sizeof *columns->stores);
    if (columns->items == NULL || columns->stores == NULL) {
        roast_columns_free(columns);
        return ROAST_ENOMEM;
    }
    *out = columns;
    return ROAST_OK;
}

void roast_columns_define(roast_columns *columns, uint32_t index, const char *name,
                          roast_cell cell) {
    columns->items[index] = (roast_column){.name = name, .cell = cell};
    columns->stores[index].same_as = index;
}

void roast_columns_alias(roast_columns *columns, uint32_t index, uint32_t earlier) {
    columns->stores[index].same_as = earlier;
}

static roast_status grow(roast_column_store *store, size_t width, uint64_t from, uint64_t to) {
    void *values = roast_realloc(store->values, (size_t)to * width);
    if (values == NULL)
        return ROAST_ENOMEM;
    store->values = values;
    size_t before = bitmap_size(from), after = bitmap_size(to);
    uint8_t *validity = roast_realloc(store->validity, after);
    if (validity == NULL)
        return ROAST_ENOMEM;
    store->validity = validity;
    memset(validity + before, 0, after - before);
    return ROAST_OK;
}

roast_status roast_columns_room(roast_columns *columns, uint64_t rows) {
    if (rows <= columns->capacity - columns->rows)
        return ROAST_OK;
    if (rows > SIZE_MAX / 4 / sizeof(int64_t) - columns->rows)
        return ROAST_ENOMEM;
    uint64_t wanted = columns->rows + rows, grown = columns->capacity + columns->capacity / 2;
    if (grown < wanted)
        grown = wanted;
    for (uint32_t i = 0; i < columns->count; i++)
        if (columns->stores[i].same_as == i)
            ROAST_TRY(grow(&columns->stores[i], width_of(columns->items[i].cell), columns->capacity,
                           grown));
    columns->capacity = grown;
    return ROAST_OK;
}

/* Gives back what was reserved; a failure is harmless. */
static void shrink(void **memory, size_t size) {
    void *smaller = roast_realloc(*memory, size > 0 ? size : 1);
    if (smaller != NULL)
        *memory = smaller;
}

static roast_status finish_column(roast_columns *columns, uint32_t index) {
    roast_column *item = &columns->items[index];
    roast_column_store *store = &columns->stores[index];
    if (columns->rows < columns->capacity)
        shrink(&store->values, (size_t)columns->rows * width_of(item->cell));
    if (item->absent == 0) {
        roast_free(store->validity);
        store->validity = NULL;
    }
    item->values = store->values;
    item->validity = store->validity;
    return item->cell == ROAST_CELL_TEXT ? roast_column_finish_texts(store, &item->texts)
                                         : ROAST_OK;
}

static roast_status finish(roast_columns *columns) {
    /* A table without rows has memory to point to, too. */
    if (columns->capacity == 0)
        ROAST_TRY(roast_columns_room(columns, 1));
    for (uint32_t i = 0; i < columns->count; i++) {
        uint32_t from = columns->stores[i].same_as;
        if (from == i) {
            ROAST_TRY(finish_column(columns, i));
            continue;
        }
        const char *name = columns->items[i].name;
        columns->items[i] = columns->items[from];
        columns->items[i].name = name;
    }
    columns->capacity = columns->rows;
    return ROAST_OK;
}

roast_status roast_columns_end(roast_columns *columns, roast_status status, roast_columns **out) {
    if (status == ROAST_OK)
        status = finish(columns);
    if (status == ROAST_OK)
        *out = columns;
    else
        roast_columns_free(columns);
    return status;
}

/* ---- looking ---- */

roast_table roast_columns_table(const roast_columns *columns) {
    return columns->table;
}

uint64_t roast_columns_rows(const roast_columns *columns) {
    return columns->rows;
}

uint32_t roast_columns_count(const roast_columns *columns) {
    return columns->count;
}

const roast_column *roast_columns_at(const roast_columns *columns, uint32_t index) {
    return index < columns->count ? &columns->items[index] : NULL;
}

const roast_column *roast_columns_find(const roast_columns *columns, roast_str name) {
    for (uint32_t i = 0; i < columns->count; i++)
        if (roast_str_equal(roast_str_of(columns->items[i].name), name))
            return &columns->items[i];
    return NULL;
}

bool roast_column_has(const roast_column *column, uint64_t row) {
    return column->validity == NULL || (column->validity[row / 8] >> row % 8 & 1) != 0;
}

roast_str roast_column_text(const roast_column *column, int64_t code) {
    if (column->cell != ROAST_CELL_TEXT || code < 0 || code >= column->texts.count)
        return (roast_str){NULL, 0};
    int32_t start = column->texts.offsets[code];
    return (roast_str){column->texts.bytes + start,
                       (size_t)(column->texts.offsets[code + 1] - start)};
}

static roast_column_store *store_of(roast_columns *columns, const roast_column *column) {
    for (uint32_t i = 0; i < columns->count; i++)
        if (&columns->items[i] == column)
            return &columns->stores[columns->stores[i].same_as];
    return NULL;
}

static double *make_reals(const roast_column *column, uint64_t rows) {
    const int64_t *values = column->values;
    double *reals = roast_alloc((size_t)(rows > 0 ? rows : 1) * sizeof *reals);
    for (uint64_t row = 0; reals != NULL && row < rows; row++) {
        bool there = column->validity == NULL || column->validity[row / 8] >> row % 8 & 1;
        reals[row] = there ? (double)values[row] : NAN;
    }
    return reals;
}

roast_status roast_columns_reals(roast_columns *columns, const roast_column *column,
                                 const double **out, roast_error *err) {
    roast_column_store *store = store_of(columns, column);
    if (store == NULL || column->cell == ROAST_CELL_TEXT)
        return roast_error_set(err, ROAST_EINVAL, "columns", -1,
                               "that is no column of numbers of this table");
    if (column->cell == ROAST_CELL_REAL) {
        *out = column->values;
        return ROAST_OK;
    }
    if (store->reals == NULL)
        store->reals = make_reals(column, columns->rows);
    if (store->reals == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "columns", -1, "no memory for the column %s",
                               column->name);
    *out = store->reals;
    return ROAST_OK;
}

size_t roast_columns_memory(const roast_columns *columns) {
    size_t rows = (size_t)columns->rows, total = sizeof *columns;
    for (uint32_t i = 0; i < columns->count; i++) {
        const roast_column *item = &columns->items[i];
        const roast_column_store *store = &columns->stores[i];
        total += sizeof *item + sizeof *store;
        if (store->same_as != i)
            continue;
        total += rows * width_of(item->cell) + store->bytes.capacity;
        total += item->validity != NULL ? bitmap_size(rows) : 0;
        total += store->reals != NULL ? rows * sizeof *store->reals : 0;
        total += store->offsets != NULL ? (item->texts.count + 1) * sizeof *store->offsets : 0;
    }
    return total;
}
