/* Metrics as bytes: docs/format/metrics.md. */
#include "base/crc32c.h"
#include "base/frame.h"
#include "metrics/formulas.h"

static const roast_frame frame = {"metrics", {'R', 'C', 'M', 'X'}, 2};

/* The keys of the scalars and tables identify a catalogue: other keys mean other metrics. */
static uint32_t fingerprint(void) {
    uint32_t crc = 0;
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const char *key = roast_catalogue_at(i)->key;
        if (roast_catalogue_is_scalar(i))
            crc = roast_crc32c(crc, key, strlen(key) + 1);
    }
    for (int number = 0; number < ROAST_ROW_TABLE_COUNT; number++) {
        const char *key = roast_row_table_at((roast_row_table_number)number)->key;
        crc = roast_crc32c(crc, key, strlen(key) + 1);
    }
    return crc;
}

bool roast_metrics_is_current(const roast_metrics *metrics) {
    return metrics->is_current;
}

/* ---- out ---- */

static void put_value(roast_frame_writer *w, roast_value value) {
    roast_frame_put_number(w, (uint64_t)value.kind);
    if (value.kind == ROAST_VALUE_INT)
        roast_frame_put_signed(w, value.integer);
    else if (value.kind == ROAST_VALUE_REAL)
        roast_frame_put_real(w, value.real);
}

static void put_scalars(roast_frame_writer *w, const roast_metrics *metrics) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < ROAST_M_COUNT; i++)
        count += metrics->values[i].kind != ROAST_VALUE_NONE;
    roast_frame_put_number(w, count);
    for (uint32_t i = 0; i < ROAST_M_COUNT; i++) {
        if (metrics->values[i].kind == ROAST_VALUE_NONE)
            continue;
        roast_frame_put_label(w, roast_str_of(roast_catalogue_at(i)->key));
        put_value(w, metrics->values[i]);
    }
}

/* The reals of a row as they are, NaN too. */
static void put_cell(roast_frame_writer *w, const roast_row_column *column, const char *row) {
    const void *at = row + column->offset;
    switch (column->kept) {
    case ROAST_KEPT_VALUE:
        put_value(w, *(const roast_value *)at);
        break;
    case ROAST_KEPT_REAL:
        roast_frame_put_real(w, *(const double *)at);
        break;
    case ROAST_KEPT_INT:
        roast_frame_put_signed(w, *(const int64_t *)at);
        break;
    case ROAST_KEPT_COUNT:
        roast_frame_put_number(w, *(const uint64_t *)at);
        break;
    case ROAST_KEPT_TEXT:
        roast_frame_put_label(w, *(const roast_str *)at);
        break;
    case ROAST_KEPT_KIND:
        roast_frame_put_number(w, *(const roast_section_kind *)at);
        break;
    }
}

static void put_table(roast_frame_writer *w, const roast_metrics *metrics, int number) {
    const roast_row_table *table = roast_row_table_at((roast_row_table_number)number);
    const roast_metrics_rows *rows = &metrics->tables[number];
    roast_frame_put_number(w, rows->count);
    for (uint32_t i = 0; i < rows->count; i++) {
        const char *row = roast_table_row(table, rows->rows, i);
        roast_frame_put_label(w, roast_table_row_name(row));
        for (size_t c = 0; c < table->n_columns + table->n_hidden; c++)
            put_cell(w, &table->columns[c], row);
    }
}

roast_status roast_metrics_encode(const roast_metrics *metrics, roast_sink *sink,
                                  roast_error *err) {
    roast_frame_writer w;
    roast_frame_begin(&w, &frame, sink);
    roast_frame_put_fixed(&w, metrics->is_current ? fingerprint() : 0, 4);
    put_scalars(&w, metrics);
    for (int number = 0; number < ROAST_ROW_TABLE_COUNT; number++)
        put_table(&w, metrics, number);
    return roast_frame_finish(&w, err);
}

/* ---- in ---- */

static roast_status get_value(roast_frame_reader *r, roast_value *value) {
    uint64_t kind;
    ROAST_TRY(roast_frame_get_number(r, &kind));
    *value = roast_value_none();
    switch (kind) {
    case ROAST_VALUE_NONE:
        return ROAST_OK;
    case ROAST_VALUE_INT:
        ROAST_TRY(roast_frame_get_signed(r, &value->integer));
        *value = roast_value_int(value->integer);
        return ROAST_OK;
    case ROAST_VALUE_REAL:
        ROAST_TRY(roast_frame_get_real(r, &value->real));
        *value = roast_value_real(value->real);
        return ROAST_OK;
    default:
        return roast_frame_damaged(r, "there is no such kind of value");
    }
}

static roast_status get_scalar(roast_frame_reader *r, roast_metrics *metrics) {
    roast_str key;
    roast_value value;
    char name[64];
    uint32_t index;
    ROAST_TRY(roast_frame_get_label(r, ROAST_MAX_TEXT, &key));
    ROAST_TRY(get_value(r, &value));
    if (key.data == NULL || key.len == 0 || memchr(key.data, '\0', key.len) != NULL)
        return roast_frame_damaged(r, "a metric has no name");
    if (key.len >= sizeof name) /* none of ours is so long */
        return ROAST_OK;
    memcpy(name, key.data, key.len);
    name[key.len] = '\0';
    if (roast_catalogue_find(name, &index) == NULL || !roast_catalogue_is_scalar(index))
        return ROAST_OK;
    return roast_metrics_set(metrics, name, value, r->err);
}

static roast_status get_kind(roast_frame_reader *r, roast_section_kind *kind) {
    uint64_t number;
    ROAST_TRY(roast_frame_get_number(r, &number));
    if (number >= ROAST_SECTION_KINDS)
        return roast_frame_damaged(r, "there is no such kind of section");
    *kind = (roast_section_kind)number;
    return ROAST_OK;
}

static roast_status get_cell(roast_frame_reader *r, const roast_row_column *column, char *row) {
    void *at = row + column->offset;
    switch (column->kept) {
    case ROAST_KEPT_VALUE:
        return get_value(r, at);
    case ROAST_KEPT_REAL:
        return roast_frame_get_real(r, at);
    case ROAST_KEPT_INT:
        return roast_frame_get_signed(r, at);
    case ROAST_KEPT_COUNT:
        return roast_frame_get_number(r, at);
    case ROAST_KEPT_TEXT:
        return roast_frame_get_label(r, ROAST_MAX_TEXT, at);
    case ROAST_KEPT_KIND:
        break;
    }
    return get_kind(r, at);
}

static roast_status get_table(roast_frame_reader *r, roast_metrics *metrics,
                              roast_row_table_number number) {
    const roast_row_table *table = roast_row_table_at(number);
    union { /* a row of any table */
#define X(key, noun) roast_##noun##_row noun;
        ROAST_ROW_TABLES(X)
#undef X
        roast_str name;
        char bytes[1];
    } row;
    uint64_t count;
    ROAST_TRY(roast_frame_get_count(r, table->n_columns + 1, "a table is cut short", &count));
    for (uint64_t i = 0; i < count; i++) {
        memset(&row, 0, sizeof row);
        ROAST_TRY(roast_frame_get_label(r, ROAST_MAX_TEXT, &row.name));
        for (size_t c = 0; c < table->n_columns + table->n_hidden; c++)
            ROAST_TRY(get_cell(r, &table->columns[c], row.bytes));
        ROAST_TRY(roast_row_table_add(metrics, number, &row, r->err));
    }
    return ROAST_OK;
}

static roast_status get_all(roast_frame_reader *r, roast_metrics *metrics) {
    uint64_t made_by = 0, scalars = 0;
    ROAST_TRY(roast_frame_get_fixed(r, 4, &made_by));
    ROAST_TRY(roast_frame_get_count(r, 2, "the numbers are cut short", &scalars));
    for (uint64_t i = 0; i < scalars; i++)
        ROAST_TRY(get_scalar(r, metrics));
    /* Buffers that were written before there was a table of tasks, or of storages, end without it. */
    for (int number = 0; number < ROAST_ROW_TABLE_COUNT; number++)
        if (number < ROAST_ROWS_task_metrics || r->at < r->end)
            ROAST_TRY(get_table(r, metrics, (roast_row_table_number)number));
    metrics->is_current = made_by == fingerprint();
    return roast_frame_close(r);
}

roast_status roast_metrics_decode(const void *data, size_t len, roast_metrics **out,
                                  roast_error *err) {
    roast_frame_reader r;
    roast_metrics *metrics;
    ROAST_TRY(roast_frame_open(&r, &frame, data, len, err));
    ROAST_TRY(roast_metrics_new(&metrics, err));
    roast_status status = get_all(&r, metrics);
    if (status != ROAST_OK) {
        roast_metrics_free(metrics);
        return status;
    }
    *out = metrics;
    return ROAST_OK;
}
