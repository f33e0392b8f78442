#include "roast/export.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "metrics/catalogue.h"
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

/* The help of Prometheus' own format, where a quote is not escaped and must not be. */
static void put_help_character(roast_sink *sink, uint32_t code, roast_str bytes) {
    if (code == '"')
        roast_sink_puts(sink, "\"");
    else
        put_character(sink, code, bytes);
}

/* ---- names ---- */

/* Prometheus has base units only, and the name of a metric ends with its own. */
static const struct base_unit {
    const char *unit;
    const char *words; /* of a key that name it, each between blanks */
    const char *base;
    double times,
        per; /* to the base unit; two numbers, as a division by 100 is exact and a product with 0.01 is not */
} base_units[] = {
    {"s", " s seconds ", "seconds", 1, 1},
    {"µs", " us ", "seconds", 1, 1e6},
    {"bytes", " bytes nbytes ", "bytes", 1, 1},
    {"MB", " mb ", "bytes", 1e6, 1},
    {"bytes/s", " bps ", "bytes_per_second", 1, 1},
    {"MB/s", " mbps ", "bytes_per_second", 1e6, 1},
    {"Gbit/s", " gbps ", "bytes_per_second", 125e6, 1},
    {"kHz", " khz ", "hertz", 1e3, 1},
    {"Hz/core", " hz ", "hertz", 1, 1},
    {"kHz/core", " khz ", "hertz", 1e3, 1},
    {"%", " pct percent percentage ", "ratio", 1, 100},
};

static const struct base_unit *base_unit_of(const roast_metric_info *info) {
    static const struct base_unit none = {"", "", "", 1, 1};
    for (size_t i = 0; i < sizeof base_units / sizeof *base_units; i++)
        if (strcmp(base_units[i].unit, info->unit) == 0)
            return &base_units[i];
    return &none;
}

typedef struct exposed_name {
    char text[2 * ROAST_MAX_METRIC_NAME];
    size_t len;
} exposed_name;

static void add_word(exposed_name *name, const char *word, size_t len) {
    if (len == 0 || name->len + len + 2 > sizeof name->text)
        return;
    if (name->len > 0)
        name->text[name->len++] = '_';
    memcpy(name->text + name->len, word, len);
    name->len += len;
    name->text[name->len] = '\0';
}

static bool is_word(const char *word, size_t len, const char *wanted) {
    return strlen(wanted) == len && memcmp(word, wanted, len) == 0;
}

static bool names_unit(const struct base_unit *unit, const char *word, size_t len) {
    char between[ROAST_MAX_METRIC_NAME + 2];
    snprintf(between, sizeof between, " %.*s ", (int)len, word);
    return strstr(unit->words, between) != NULL;
}

/* A key of the catalogue as a name: the unit is its last word, but for the "total" of a counter. `noun` says of what it
 * tells, "dataset"; NULL: of the run. */
static exposed_name name_of(const char *noun, const roast_metric_info *info) {
    const struct base_unit *unit = base_unit_of(info);
    exposed_name name = {.len = 0};
    const char *last = "";
    add_word(&name, "roast", 5);
    add_word(&name, noun, noun != NULL ? strlen(noun) : 0);
    for (const char *word = info->key; *word != '\0';) {
        size_t len = strcspn(word, "_");
        bool at_end = word[len] == '\0';
        if (at_end && is_word(word, len, "total"))
            last = "total";
        else if (at_end && is_word(word, len, "count"))
            add_word(&name, "number", 6); /* a name that ends with "count" belongs to a histogram */
        else if (!names_unit(unit, word, len))
            add_word(&name, word, len);
        word += len + (at_end ? 0 : 1);
    }
    add_word(&name, unit->base, strlen(unit->base));
    add_word(&name, last, strlen(last));
    return name;
}

static roast_value in_base_unit(const roast_metric_info *info, roast_value value) {
    const struct base_unit *unit = base_unit_of(info);
    if (value.kind == ROAST_VALUE_NONE || unit->times == unit->per)
        return value;
    return roast_value_real(roast_value_number(value) * unit->times / unit->per);
}

/* ---- families ---- */

typedef struct exposed_family {
    roast_sink *sink;
    roast_exposition form;
    const char *noun;
    const roast_metric_info *info;
    exposed_name name;
    bool begun; /* type, help and unit are written */
} exposed_family;

/* What stands in front of the samples; `help` may be continued, and ends its line itself. */
static void put_head(roast_sink *sink, roast_exposition form, const char *name, const char *type,
                     const char *unit, const char *help) {
    roast_sink_printf(sink, "# TYPE %s %s\n", name, type);
    if (unit[0] != '\0' && form != ROAST_PROMETHEUS)
        roast_sink_printf(sink, "# UNIT %s %s\n", name, unit);
    roast_sink_printf(sink, "# HELP %s %s", name, help);
}

/* Of a row of the catalogue. */
static void put_help(roast_sink *sink, roast_exposition form, const roast_metric_info *info) {
    const char *const parts[] = {info->label, " (", info->key, "): ", info->formula};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        roast_text_put_by(sink, roast_str_of(parts[i]), "\\\"",
                          form == ROAST_PROMETHEUS ? put_help_character : put_character);
    roast_sink_puts(sink, "\n");
}

static void begin_family(exposed_family *family) {
    const roast_metric_info *info = family->info;
    if (family->begun)
        return;
    family->begun = true;
    family->name = name_of(family->noun, info);
    const char *name = family->name.text;
    bool counter = family->name.len > 6 && strcmp(name + family->name.len - 6, "_total") == 0;
    put_head(family->sink, family->form, name, counter ? "counter" : "gauge",
             base_unit_of(info)->base, "");
    put_help(family->sink, family->form, info);
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
    roast_sink_puts(family->sink, family->name.text);
    put_labels(family->sink, labels);
    put_number(family->sink, in_base_unit(family->info, value));
    if (when != NULL)
        put_moment(family->sink, *when);
    roast_sink_puts(family->sink, "\n");
}

/* ---- the run ---- */

/* A sample of a family that is not of the catalogue. */
static void put_plain(roast_sink *sink, const char *name, const label labels[MAX_LABELS],
                      double value) {
    roast_sink_puts(sink, name);
    put_labels(sink, labels);
    put_number(sink, roast_value_real(value));
    roast_sink_puts(sink, "\n");
}

static void put_run(const roast_run *about, roast_str run, roast_exposition form,
                    roast_sink *sink) {
    const label labels[MAX_LABELS] = {
        {"run", run},
        {"version", roast_str_of(roast_version())},
        {"processor", roast_run_processor(about)},
    };
    bool plain = form == ROAST_PROMETHEUS; /* it has no type for texts */
    put_head(sink, form, plain ? "roast_run_info" : "roast_run", plain ? "gauge" : "info", "",
             "The run, and the version that wrote this.\n");
    roast_sink_puts(sink, "roast_run_info");
    put_labels(sink, labels);
    roast_sink_puts(sink, "1\n");
}

/* Whether a metric before this one has its name: the same number in another unit. */
static bool is_repeated(const roast_metrics *metrics, uint32_t index) {
    const roast_metric_info *own = roast_catalogue_at(index);
    for (uint32_t i = 0; i < index; i++) {
        const roast_metric_info *other = roast_catalogue_at(i);
        if (strcmp(base_unit_of(own)->base, base_unit_of(other)->base) == 0 &&
            strcmp(own->unit, other->unit) != 0 &&
            roast_metrics_at(metrics, i).kind != ROAST_VALUE_NONE &&
            strcmp(name_of(NULL, own).text, name_of(NULL, other).text) == 0)
            return true;
    }
    return false;
}

static void put_scalars(const roast_metrics *metrics, roast_str run, roast_exposition form,
                        roast_sink *sink) {
    const label labels[MAX_LABELS] = {{"run", run}};
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        exposed_family one = {.sink = sink, .form = form, .info = roast_catalogue_at(i)};
        roast_value value = roast_metrics_at(metrics, i);
        if (value.kind != ROAST_VALUE_NONE && !is_repeated(metrics, i))
            put_sample(&one, labels, value, NULL);
    }
}

/* ---- the budget and the findings ---- */

static void put_budget(const roast_budget_row *budget, roast_str run, roast_exposition form,
                       roast_sink *sink) {
    static const char name[] = "roast_budget_core_seconds";
    if (budget == NULL)
        return;
    put_head(sink, form, name, "gauge", "seconds", "");
    put_help(sink, form, roast_catalogue_at(ROAST_M_budget));
    for (int part = 0; part < ROAST_PART_COUNT; part++) {
        const label labels[MAX_LABELS] = {
            {"run", run}, {"part", roast_str_of(roast_budget_part_name((roast_budget_part)part))}};
        if (isfinite(budget->parts[part]))
            put_plain(sink, name, labels, budget->parts[part]);
    }
}

/* Whether a worse finding has the same labels. */
static bool is_shadowed(const roast_findings *findings, uint32_t index) {
    const roast_finding *own = roast_findings_at(findings, index);
    for (uint32_t i = 0; i < index; i++) {
        const roast_finding *other = roast_findings_at(findings, i);
        if (other->kind == own->kind && other->severity == own->severity)
            return true;
    }
    return false;
}

static void put_findings(const roast_findings *findings, roast_str run, roast_exposition form,
                         roast_sink *sink) {
    static const char name[] = "roast_finding_saving_core_seconds";
    uint32_t count = roast_findings_count(findings);
    if (count > 0)
        put_head(sink, form, name, "gauge", "seconds",
                 "What was found, the worst of each kind and severity, with the core time that it "
                 "costs at most; 0 if it is not about core time.\n");
    for (uint32_t i = 0; i < count; i++) {
        const roast_finding *one = roast_findings_at(findings, i);
        const label labels[MAX_LABELS] = {
            {"run", run},
            {"kind", roast_str_of(roast_finding_kind_name(one->kind))},
            {"severity", roast_str_of(roast_severity_name(one->severity))}};
        if (!is_shadowed(findings, i))
            put_plain(sink, name, labels, one->saving_core_seconds);
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

static void put_rows(const roast_row_table *table, const void *rows, uint32_t count, roast_str run,
                     roast_exposition form, roast_sink *sink) {
    for (size_t i = 0; i < table->n_columns; i++) {
        const roast_row_column *column = &table->columns[i];
        exposed_family one = {.sink = sink,
                              .form = form,
                              .noun = table->noun,
                              .info = find_column(table->key, column->key)};
        for (uint32_t j = 0; one.info != NULL && j < count; j++) {
            const void *row = roast_table_row(table, rows, j);
            label labels[MAX_LABELS] = {{"run", run}};
            name_row(table, row, labels);
            put_sample(&one, labels, roast_table_row_value(column, row), NULL);
        }
    }
}

static void add_dataset(roast_dataset_row *sum, const roast_dataset_row *row) {
    sum->num_chunks += row->num_chunks;
    sum->total_events = roast_add_capped(sum->total_events, row->total_events);
    if (!isnan(row->total_duration))
        sum->total_duration =
            (isnan(sum->total_duration) ? 0 : sum->total_duration) + row->total_duration;
}

/* As many datasets as a tally has; the others together, without means. */
static void put_few_datasets(const roast_dataset_row *rows, uint32_t count, roast_str run,
                             roast_exposition form, roast_sink *sink) {
    const roast_str others = roast_str_of(ROAST_TALLY_OTHERS);
    roast_dataset_row few[ROAST_TALLY_DATASETS + 1];
    roast_dataset_row rest = {
        .name = others, .total_duration = NAN, .mean_duration = NAN, .mean_events_per_chunk = NAN};
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (n < ROAST_TALLY_DATASETS && !roast_str_equal(rows[i].name, others))
            few[n++] = rows[i];
        else
            add_dataset(&rest, &rows[i]);
    if (rest.num_chunks > 0)
        few[n++] = rest;
    put_rows(roast_row_table_at(ROAST_ROWS_per_dataset), few, n, run, form, sink);
}

static void put_tables(const roast_metrics *metrics, roast_str run, roast_exposition form,
                       roast_sink *sink) {
    bool all = (form & ROAST_OPENMETRICS_TABLES) != 0;
    for (int table = 0; table < ROAST_ROW_TABLE_COUNT; table++) {
        uint32_t count;
        const void *rows = roast_row_table_rows(metrics, table, &count);
        if (all)
            put_rows(roast_row_table_at(table), rows, count, run, form, sink);
        else if (table == ROAST_ROWS_per_dataset)
            put_few_datasets(rows, count, run, form, sink);
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
                             const roast_run *run, roast_str name, roast_exposition form,
                             roast_sink *sink) {
    put_run(run, name, form, sink);
    put_scalars(metrics, name, form, sink);
    if (findings != NULL) {
        put_budget(roast_findings_budget(findings), name, form, sink);
        put_findings(findings, name, form, sink);
    }
    put_tables(metrics, name, form, sink);
    if ((form & ROAST_OPENMETRICS_SAMPLES) != 0)
        put_series(roast_run_series_view(run), name, sink);
    if (form != ROAST_PROMETHEUS)
        roast_sink_puts(sink, "# EOF\n");
}

/* ---- runs that go on ---- */

/* Of one dataset; NaN: not known. */
static double tally_value(const roast_tally_row *row, uint32_t metric, bool failed) {
    switch (metric) {
    case ROAST_M_live_chunks:
        return (double)(failed ? row->failed : row->done);
    case ROAST_M_live_events:
        return row->events < 0 ? (double)NAN : (double)row->events;
    case ROAST_M_live_read_bytes:
        return row->bytes < 0 ? (double)NAN : (double)row->bytes;
    case ROAST_M_live_process_seconds:
        return row->seconds < 0 ? (double)NAN : row->seconds;
    default:
        return NAN;
    }
}

/* A whole number without a point, as a person writes it. */
static roast_value live_value(const roast_metric_info *info, double value) {
    bool whole = info->type == ROAST_TYPE_INT && value >= 0 && value < 0x1p63;
    return whole ? roast_value_int((int64_t)value) : roast_value_real(value);
}

static void put_tally(exposed_family *family, uint32_t metric, const roast_live_run *run) {
    for (uint32_t i = 0; i < roast_tally_count(run->tally); i++) {
        roast_str dataset;
        const roast_tally_row *row = roast_tally_at(run->tally, i, &dataset);
        label labels[MAX_LABELS] = {{"run", run->name}, {"dataset", dataset}};
        for (int failed = 0; failed < (metric == ROAST_M_live_chunks ? 2 : 1); failed++) {
            if (metric == ROAST_M_live_chunks)
                labels[2] = (label){"outcome", roast_str_of(failed ? "failed" : "done")};
            put_sample(family, labels,
                       live_value(family->info, tally_value(row, metric, failed != 0)), NULL);
        }
    }
}

static double gauge_value(const roast_live_run *run, uint32_t metric) {
    switch (metric) {
#define X(id)                                                                                      \
    case ROAST_M_live_##id:                                                                        \
        return run->id;
        ROAST_LIVE_GAUGES(X)
#undef X
    default:
        return NAN;
    }
}

static double worker_value(const roast_live_worker *worker, uint32_t metric) {
    switch (metric) {
#define X(id)                                                                                      \
    case ROAST_M_live_worker_##id:                                                                 \
        return worker->id;
        ROAST_LIVE_WORKER_GAUGES(X)
#undef X
    default:
        return NAN;
    }
}

static void put_each(exposed_family *family, uint32_t metric, const roast_live_run *run) {
    for (size_t i = 0; i < run->n_each; i++) {
        const label labels[MAX_LABELS] = {{"run", run->name}, {"worker", run->each[i].name}};
        put_sample(family, labels, live_value(family->info, worker_value(&run->each[i], metric)),
                   NULL);
    }
}

void roast_prometheus_live(const roast_live_run *runs, size_t count, roast_sink *sink) {
    for (uint32_t metric = 0; metric < roast_catalogue_count(); metric++) {
        exposed_family one = {
            .sink = sink, .form = ROAST_PROMETHEUS, .info = roast_catalogue_at(metric)};
        for (size_t i = 0; one.info->scope == ROAST_IN_LIVE && i < count; i++) {
            const label labels[MAX_LABELS] = {{"run", runs[i].name}};
            put_sample(&one, labels, live_value(one.info, gauge_value(&runs[i], metric)), NULL);
            if (runs[i].tally != NULL)
                put_tally(&one, metric, &runs[i]);
            put_each(&one, metric, &runs[i]);
        }
    }
}
