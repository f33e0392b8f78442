#include "roast/export.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "model/keys.h"
#include "render/unicode.h"

/* ---- texts ---- */

/* The format escapes three characters. A character that is not safe to show becomes its code, in letters. */
static void put_character(roast_sink *sink, uint32_t code, roast_str bytes) {
    if (code == '\n')
        roast_sink_puts(sink, "\\n");
    else if (code == '\\' || code == '"')
        roast_sink_printf(sink, "\\%c", (char)code);
    else {
        if (roast_code_is_unsafe(code))
            roast_sink_puts(sink, "\\");
        roast_put_clean_code(sink, code, bytes);
    }
}

static void put_escaped(roast_sink *sink, roast_str text) {
    roast_text_put_by(sink, text, "\\\"", put_character);
}

/* ---- families ---- */

typedef struct exposed_family {
    roast_sink *sink;
    const char *noun; /* of what it tells, in front of the key: "dataset"; NULL: of the run */
    const roast_metric_info *info;
    bool begun; /* type, help and unit are written */
} exposed_family;

/* The unit as the last word of a key names it; NULL where the key does not. */
static const char *unit_in_name(const roast_metric_info *info) {
    static const struct {
        const char *unit, *word;
    } words[] = {
        {"s", "seconds"},    {"s", "s"},     {"bytes", "bytes"}, {"Gbit/s", "gbps"},
        {"MB/s", "mbps"},    {"kHz", "khz"}, {"%", "pct"},       {"%", "percent"},
        {"%", "percentage"}, {"MB", "mb"},   {"ratio", "ratio"},
    };
    size_t len = strlen(info->key);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t own = strlen(words[i].word);
        if (strcmp(info->unit, words[i].unit) == 0 && len > own &&
            info->key[len - own - 1] == '_' && strcmp(info->key + len - own, words[i].word) == 0)
            return words[i].word;
    }
    return NULL;
}

static void put_name(const exposed_family *family) {
    roast_sink_printf(family->sink, "roastcoffea_%s%s%s", family->noun != NULL ? family->noun : "",
                      family->noun != NULL ? "_" : "", family->info->key);
}

static void put_line(const exposed_family *family, const char *what) {
    roast_sink_printf(family->sink, "# %s ", what);
    put_name(family);
    roast_sink_puts(family->sink, " ");
}

static void begin_family(exposed_family *family) {
    const roast_metric_info *info = family->info;
    const char *unit = unit_in_name(info);
    if (family->begun)
        return;
    family->begun = true;
    put_line(family, "TYPE");
    roast_sink_puts(family->sink, "gauge\n");
    if (unit != NULL) {
        put_line(family, "UNIT");
        roast_sink_printf(family->sink, "%s\n", unit);
    }
    put_line(family, "HELP");
    put_escaped(family->sink, roast_str_of(info->label));
    if (info->unit[0] != '\0' && strcmp(info->unit, "1") != 0) {
        roast_sink_puts(family->sink, " [");
        put_escaped(family->sink, roast_str_of(info->unit));
        roast_sink_puts(family->sink, "]");
    }
    roast_sink_puts(family->sink, ": ");
    put_escaped(family->sink, roast_str_of(info->formula));
    roast_sink_puts(family->sink, "\n");
}

/* ---- samples ---- */

typedef struct label {
    const char *name;
    roast_str value; /* absent: the label is left out */
} label;
enum { MAX_LABELS = 3 };

static void put_labels(roast_sink *sink, const label labels[MAX_LABELS]) {
    const char *before = "{";
    for (int i = 0; i < MAX_LABELS; i++) {
        if (labels[i].value.data == NULL)
            continue;
        roast_sink_printf(sink, "%s%s=\"", before, labels[i].name);
        put_escaped(sink, labels[i].value);
        roast_sink_puts(sink, "\"");
        before = ",";
    }
    roast_sink_puts(sink, before[0] == ',' ? "} " : " ");
}

static void put_number(roast_sink *sink, roast_value value) {
    char text[ROAST_NUMBER_TEXT];
    if (value.kind == ROAST_VALUE_INT)
        roast_sink_printf(sink, "%" PRId64, value.integer);
    else
        roast_sink_write(sink, text, roast_number_text(value.real, text));
}

static void put_moment(roast_sink *sink, roast_utc when) {
    const int64_t second = 1000000000;
    int64_t whole = when.ns / second, rest = when.ns % second;
    roast_sink_printf(sink, " %s%" PRId64 ".%09d", when.ns < 0 && whole == 0 ? "-" : "", whole,
                      (int)(rest < 0 ? -rest : rest));
}

/* `when` may be NULL. */
static void put_sample(exposed_family *family, const label labels[MAX_LABELS], roast_value value,
                       const roast_utc *when) {
    if (value.kind == ROAST_VALUE_NONE || !isfinite(roast_value_number(value)))
        return;
    begin_family(family);
    put_name(family);
    put_labels(family->sink, labels);
    put_number(family->sink, value);
    if (when != NULL)
        put_moment(family->sink, *when);
    roast_sink_puts(family->sink, "\n");
}

/* ---- the run ---- */

static void put_run(const roast_run *about, roast_str run, roast_sink *sink) {
    const label labels[MAX_LABELS] = {
        {"run", run},
        {"version", roast_str_of(roast_version())},
        {"processor", roast_run_processor(about)},
    };
    roast_sink_puts(sink, "# TYPE roastcoffea_run info\n"
                          "# HELP roastcoffea_run The run, and the version that wrote this.\n"
                          "roastcoffea_run_info");
    put_labels(sink, labels);
    roast_sink_puts(sink, "1\n");
}

static void put_scalars(const roast_metrics *metrics, roast_str run, roast_sink *sink) {
    const label labels[MAX_LABELS] = {{"run", run}};
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        exposed_family one = {.sink = sink, .info = roast_catalogue_at(i)};
        put_sample(&one, labels, roast_metrics_at(metrics, i), NULL);
    }
}

/* ---- the budget and the findings ---- */

static void put_budget(const roast_budget_row *budget, roast_str run, roast_sink *sink) {
    if (budget == NULL)
        return;
    roast_sink_puts(sink,
                    "# TYPE roastcoffea_budget_core_seconds gauge\n"
                    "# UNIT roastcoffea_budget_core_seconds seconds\n"
                    "# HELP roastcoffea_budget_core_seconds Core time by what it was spent on; "
                    "the parts add up to what was available.\n");
    for (int part = 0; part < ROAST_PART_COUNT; part++) {
        const label labels[MAX_LABELS] = {
            {"run", run}, {"part", roast_str_of(roast_budget_part_name((roast_budget_part)part))}};
        if (!isfinite(budget->parts[part]))
            continue;
        roast_sink_puts(sink, "roastcoffea_budget_core_seconds");
        put_labels(sink, labels);
        put_number(sink, roast_value_real(budget->parts[part]));
        roast_sink_puts(sink, "\n");
    }
}

static void put_findings(const roast_findings *findings, roast_str run, roast_sink *sink) {
    uint32_t count = roast_findings_count(findings);
    if (count > 0)
        roast_sink_puts(sink,
                        "# TYPE roastcoffea_finding_saving_core_seconds gauge\n"
                        "# UNIT roastcoffea_finding_saving_core_seconds seconds\n"
                        "# HELP roastcoffea_finding_saving_core_seconds What was found, with the "
                        "core time that it costs at most; 0 if it is not about core time.\n");
    for (uint32_t i = 0; i < count; i++) {
        const roast_finding *one = roast_findings_at(findings, i);
        const label labels[MAX_LABELS] = {
            {"run", run},
            {"kind", roast_str_of(roast_finding_kind_name(one->kind))},
            {"severity", roast_str_of(roast_severity_name(one->severity))}};
        roast_sink_puts(sink, "roastcoffea_finding_saving_core_seconds");
        put_labels(sink, labels);
        put_number(sink, roast_value_real(one->saving_core_seconds));
        roast_sink_puts(sink, "\n");
    }
}

/* ---- tables ---- */

static const roast_metric_info *find_column(const char *group, const char *key) {
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *info = roast_catalogue_at(i);
        if (info->scope == ROAST_IN_TABLE && strcmp(info->group, group) == 0 &&
            strcmp(info->key, key) == 0)
            return info;
    }
    return NULL;
}

/* Sets the labels that identify a row. An unknown dataset has an empty label, which counts as none. */
static void name_row(const roast_row_table *table, const void *row, label labels[MAX_LABELS]) {
    roast_str name = roast_table_row_name(row);
    labels[1] = (label){table->noun, name.data != NULL ? name : roast_str_of("")};
    if (table == roast_row_table_at(ROAST_ROWS_sections)) {
        roast_section_kind kind = ((const roast_section_row *)row)->kind;
        labels[2] = (label){"type", roast_str_of(roast_section_kind_name(kind))};
    } else if (table == roast_row_table_at(ROAST_ROWS_worker_health)) {
        labels[2] = (label){"host", ((const roast_worker_row *)row)->host};
    }
}

static void put_table(const roast_metrics *metrics, roast_row_table_number number, roast_str run,
                      roast_sink *sink) {
    const roast_row_table *table = roast_row_table_at(number);
    uint32_t count;
    const void *rows = roast_row_table_rows(metrics, number, &count);
    for (size_t i = 0; i < table->n_columns; i++) {
        const roast_row_column *column = &table->columns[i];
        exposed_family one = {
            .sink = sink, .noun = table->noun, .info = find_column(table->key, column->key)};
        for (uint32_t j = 0; one.info != NULL && j < count; j++) {
            const void *row = roast_table_row(table, rows, j);
            label labels[MAX_LABELS] = {{"run", run}};
            name_row(table, row, labels);
            put_sample(&one, labels, roast_table_row_value(column, row), NULL);
        }
    }
}

/* ---- the workers over time ---- */

static void put_worker(exposed_family *family, const roast_series *series, uint32_t worker,
                       int column, roast_str run) {
    const label labels[MAX_LABELS] = {{"run", run},
                                      {"worker", roast_series_worker_name(series, worker)}};
    bool whole = roast_series_column_at(column)->steps_per_unit <= 1;
    roast_series_cursor cursor;
    roast_sample sample;
    roast_series_cursor_init(&cursor, series, worker);
    while (roast_series_cursor_next(&cursor, &sample)) {
        double value = sample.value[column];
        if (isnan(value))
            continue;
        bool fits = whole && value >= -0x1p63 && value < 0x1p63;
        put_sample(family, labels, fits ? roast_value_int((int64_t)value) : roast_value_real(value),
                   &sample.when);
    }
}

static void put_series(const roast_series *series, roast_str run, roast_sink *sink) {
    for (int column = 0; column < ROAST_COLUMNS; column++) {
        exposed_family one = {.sink = sink, .noun = "tracked"};
        one.info = roast_catalogue_find(roast_series_column_at(column)->key, NULL);
        for (uint32_t i = 0; one.info != NULL && i < roast_series_worker_count(series); i++)
            put_worker(&one, series, i, column, run);
    }
}

void roast_openmetrics_write(const roast_metrics *metrics, const roast_findings *findings,
                             const roast_run *run, roast_str name, bool samples, roast_sink *sink) {
    put_run(run, name, sink);
    put_scalars(metrics, name, sink);
    if (findings != NULL) {
        put_budget(roast_findings_budget(findings), name, sink);
        put_findings(findings, name, sink);
    }
    for (int table = 0; table < ROAST_ROW_TABLE_COUNT; table++)
        put_table(metrics, table, name, sink);
    if (samples)
        put_series(roast_run_series_view(run), name, sink);
    roast_sink_puts(sink, "# EOF\n");
}
