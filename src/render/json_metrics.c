#include "render/json_run.h"

#include <math.h>
#include <string.h>

/* ---- numbers ---- */

static void put_scalars(roast_json *json, const roast_metrics *metrics) {
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *info = roast_catalogue_at(i);
        char name[ROAST_MAX_METRIC_NAME];
        for (uint32_t n = 0; roast_metric_name(info, n, name); n++)
            roast_json_put_value(json, name, roast_metrics_at(metrics, i));
    }
}

/* ---- tables ---- */

/* The name of the row for chunks of an unknown dataset; another dataset may really be called "unknown". */
static roast_str unknown_name(const roast_row_table *table, const void *rows, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (roast_str_equal(roast_table_row_name(roast_table_row(table, rows, i)),
                            roast_str_of("unknown")))
            return roast_str_of("(unknown)");
    return roast_str_of("unknown");
}

static void put_row(roast_json *json, const roast_row_table *table, const void *row) {
    for (size_t i = 0; i < table->n_columns; i++)
        roast_json_put_value(json, table->columns[i].key,
                             roast_table_row_value(&table->columns[i], row));
}

static void put_table(roast_json *json, const roast_metrics *metrics,
                      roast_row_table_number number) {
    const roast_row_table *table = roast_row_table_at(number);
    uint32_t count;
    const void *rows = roast_row_table_rows(metrics, number, &count);
    roast_json_put_object(json, table->key);
    for (uint32_t i = 0; i < count; i++) {
        const void *row = roast_table_row(table, rows, i);
        roast_str name = roast_table_row_name(row);
        roast_json_key_str(json, name.data != NULL ? name : unknown_name(table, rows, count));
        roast_json_begin_object(json);
        if (number == ROAST_ROWS_worker_health)
            roast_json_put_str(json, "host", ((const roast_worker_row *)row)->host);
        put_row(json, table, row);
        roast_json_end_object(json);
    }
    roast_json_end_object(json);
}

/* ---- sections ---- */

/* The rows of one name, in the order time, memory, bytes. */
typedef struct section_group {
    const roast_section_row *of[ROAST_SECTION_KINDS];
} section_group;

/* A name that was used for several kinds of section has one entry with the values of all of them. Its count and type
 * are those of the first kind. */
static void put_group(roast_json *json, const section_group *group) {
    const roast_row_table *table = roast_row_table_at(ROAST_ROWS_sections);
    const roast_section_row *first = NULL;
    for (int kind = 0; kind < ROAST_SECTION_KINDS; kind++) {
        const roast_section_row *row = group->of[kind];
        if (row == NULL)
            continue;
        if (first == NULL) {
            roast_json_key_str(json, row->name);
            roast_json_begin_object(json);
            roast_json_put_text(json, "type", roast_section_kind_name(kind));
        }
        for (size_t i = 0; i < table->n_columns; i++)
            if (first == NULL || strcmp(table->columns[i].key, "count") != 0)
                roast_json_put_value(json, table->columns[i].key,
                                     roast_table_row_value(&table->columns[i], row));
        first = row;
    }
    if (first != NULL)
        roast_json_end_object(json);
}

static roast_status group_sections(const roast_section_row *rows, uint32_t count,
                                   roast_intern *names, section_group *groups) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id;
        ROAST_TRY(roast_intern_add(names, rows[i].name, &id));
        groups[id].of[rows[i].kind] = &rows[i];
    }
    return ROAST_OK;
}

static roast_status put_sections(roast_json *json, const roast_metrics *metrics) {
    uint32_t count;
    const roast_section_row *rows = roast_row_table_rows(metrics, ROAST_ROWS_sections, &count);
    roast_intern names = {0};
    section_group *groups = roast_alloc_zero(((size_t)count + 1) * sizeof *groups);
    roast_status status =
        groups != NULL ? group_sections(rows, count, &names, groups) : ROAST_ENOMEM;
    roast_json_put_object(json, "sections");
    for (uint32_t i = 0; status == ROAST_OK && i < names.count; i++)
        put_group(json, &groups[i]);
    roast_json_end_object(json);
    roast_intern_reset(&names);
    roast_free(groups);
    return status;
}

/* ---- files ---- */

static void put_measured(roast_json *json, roast_value value) {
    if (value.kind == ROAST_VALUE_INT)
        roast_json_int(json, value.integer);
    else if (value.kind == ROAST_VALUE_REAL)
        roast_json_real(json, value.real);
}

static void put_file_lists(roast_json *json, const roast_metrics *metrics) {
    uint32_t count;
    const roast_file_row *rows =
        roast_row_table_rows(metrics, ROAST_ROWS_file_read_metrics, &count);
    roast_json_put_array(json, "compression_ratios");
    for (uint32_t i = 0; i < count; i++)
        put_measured(json, rows[i].compression_ratio);
    roast_json_end_array(json);
    roast_json_put_array(json, "bytes_read_percent_per_file");
    for (uint32_t i = 0; i < count; i++)
        put_measured(json, rows[i].bytes_read_percent);
    roast_json_end_array(json);
}

/* ---- all ---- */

roast_status roast_json_put_metrics(roast_json *json, const roast_metrics *metrics) {
    put_scalars(json, metrics);
    for (int table = 0; table < ROAST_ROW_TABLE_COUNT; table++)
        if (table == ROAST_ROWS_sections)
            ROAST_TRY(put_sections(json, metrics));
        else
            put_table(json, metrics, table);
    put_file_lists(json, metrics);
    return ROAST_OK;
}

void roast_json_put_meta(roast_json *json, const char *name, const roast_run *run) {
    roast_json_put_object(json, name);
    for (uint32_t i = 0; i < roast_run_meta_count(run); i++) {
        roast_str key, value;
        roast_run_meta_at(run, i, &key, &value);
        roast_json_key_str(json, key);
        roast_json_str(json, value);
    }
    roast_json_end_object(json);
}

static void put_error(roast_json *json, const roast_run_error *error) {
    roast_json_put_object(json, "error");
#define X(name) roast_json_put_str(json, #name, error->name);
    ROAST_RUN_ERROR_TEXTS(X)
#undef X
    roast_json_put_count(json, "entry_start", error->entry_start);
    roast_json_put_count(json, "entry_stop", error->entry_stop);
    roast_json_end_object(json);
}

static void put_ending(roast_json *json, const roast_ending *ending) {
    if (ending == NULL)
        return;
    roast_json_put_text(json, "outcome", roast_end_name(roast_ending_outcome(ending)));
    if (roast_ending_error(ending) != NULL)
        put_error(json, roast_ending_error(ending));
    roast_json_put_array(json, "skipped_files");
    for (uint32_t i = 0; i < roast_ending_skipped_count(ending); i++) {
        roast_skipped_file skipped = roast_ending_skipped(ending, i);
        roast_json_begin_object(json);
        roast_json_put_str(json, "dataset", skipped.dataset);
        roast_json_put_str(json, "file", skipped.file);
        roast_json_put_str(json, "reason", skipped.reason);
        roast_json_end_object(json);
    }
    roast_json_end_array(json);
}

void roast_json_put_head(roast_json *json, const roast_run *run) {
    put_ending(json, roast_run_ending_view(run));
    roast_json_put_meta(json, "meta", run);
    roast_json_put_array(json, "notes");
    for (uint32_t i = 0; i < roast_run_note_count(run); i++)
        roast_json_str(json, roast_run_note(run, i));
    roast_json_end_array(json);
}

roast_status roast_json_metrics(const roast_measured *from, roast_sink *sink, roast_error *err) {
    roast_json json;
    roast_json_init(&json, sink, 2);
    roast_json_begin_object(&json);
    roast_status status = roast_json_put_metrics(&json, from->metrics);
    roast_json_put_head(&json, from->run);
    for (size_t i = 0; i < from->n_own; i++) {
        roast_json_key_str(&json, from->own[i].name);
        roast_json_raw(&json, from->own[i].json);
    }
    roast_json_end_object(&json);
    roast_json_end(&json);
    if (status != ROAST_OK)
        return roast_error_set(err, status, "json", -1, "no memory to write the metrics");
    return ROAST_OK;
}
