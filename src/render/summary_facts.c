/* The tables of facts: the metrics of each row, and the words around them. */
#include "render/summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "roast/format.h"

enum { MAX_PARTS = 4, TEXT_SIZE = 512 };

/* One metric in a row. */
typedef struct fact_part {
    const char *key;
    const char *before, *after; /* words around it */
    bool counts;  /* `after` is a noun in singular; it gets an "s" unless "1" is shown */
    bool percent; /* a ratio that is shown in per cent */
    bool instead; /* only if no part before it is shown */
} fact_part;

/* A row. A part that was not measured is left out. A part that explains another one (" of 5 MB") does not begin a row;
 * all others say enough alone. A row without any part is a dash. */
typedef struct fact {
    const char *label; /* NULL: that of the first part's metric */
    fact_part parts[MAX_PARTS];
    const char *with, *without; /* there is a row only if this metric was measured, or was not */
} fact;

#define PLUS " + "

/* ---- rows ---- */

static void append(char *text, size_t size, const char *more) {
    size_t used = strlen(text);
    if (more != NULL && used + 1 < size)
        snprintf(text + used, size - used, "%s", more);
}

static bool stands_alone(const fact_part *part) {
    static const char *const words[] = {", ", ": ", " to ", " ± "};
    for (size_t i = 0; part->before != NULL && i < sizeof words / sizeof *words; i++)
        if (strncmp(part->before, words[i], strlen(words[i])) == 0)
            return true;
    return part->before == NULL || part->counts;
}

/* The words before a part; at the beginning of a row without what joins it to another one. */
static const char *words_before(const fact_part *part, bool first) {
    if (!first || part->before == NULL)
        return part->before;
    return part->counts ? NULL : part->before + strspn(part->before, ",: ");
}

static void append_part(char *text, const fact_part *part, roast_value value, const char *unit) {
    char number[192];
    const char *before = words_before(part, text[0] == '\0');
    double real = roast_value_number(value);
    if (part->percent)
        value = roast_value_real(100 * real);
    /* "3 s - 2 ms", not "3 s + -2 ms" */
    if (before != NULL && strcmp(before, PLUS) == 0 && real < 0) {
        before = " - ";
        value = roast_value_real(-real);
    }
    roast_format_value(value, part->percent ? "%" : unit, number, sizeof number);
    append(text, TEXT_SIZE, before);
    append(text, TEXT_SIZE, number);
    append(text, TEXT_SIZE, part->after);
    append(text, TEXT_SIZE, part->counts && strcmp(number, "1") != 0 ? "s" : NULL);
}

static roast_status add_row(const roast_summary_source *source, const fact *row, roast_grid *grid,
                            roast_error *err) {
    char text[TEXT_SIZE] = "";
    roast_grid_value values[MAX_PARTS];
    const char *label = row->label;
    uint32_t count = 0;
    for (size_t i = 0; i < MAX_PARTS && row->parts[i].key != NULL; i++) {
        const fact_part *part = &row->parts[i];
        const roast_metric_info *info = roast_catalogue_find(part->key, NULL);
        if (info == NULL)
            return roast_error_set(err, ROAST_ENOTFOUND, "summary", -1, "no metric is called '%s'",
                                   part->key);
        roast_value value = roast_metrics_get(source->metrics, part->key);
        bool first = text[0] == '\0';
        bool shown = value.kind != ROAST_VALUE_NONE &&
                     (part->instead ? first : !first || stands_alone(part));
        if (shown)
            append_part(text, part, value, info->unit);
        if (shown || !part->instead)
            values[count++] = (roast_grid_value){info->key, value, info->unit};
        label = label != NULL ? label : info->label;
    }
    return roast_summary_add_fact(grid, label, text[0] != '\0' ? text : "-", values, count, err);
}

static bool has_a_part(const roast_summary_source *source, const fact *row) {
    for (size_t i = 0; i < MAX_PARTS && row->parts[i].key != NULL; i++) {
        double number = roast_value_number(roast_metrics_get(source->metrics, row->parts[i].key));
        if (!isnan(number) && number != 0)
            return true;
    }
    return false;
}

static bool is_wanted(const roast_summary_source *source, const fact *row) {
    const roast_metrics *metrics = source->metrics;
    return (row->with == NULL || roast_metrics_get(metrics, row->with).kind != ROAST_VALUE_NONE) &&
           (row->without == NULL ||
            roast_metrics_get(metrics, row->without).kind == ROAST_VALUE_NONE);
}

static roast_status add_rows(const roast_summary_source *source, const fact *rows, size_t count,
                             roast_grid *grid, roast_error *err) {
    ROAST_TRY(roast_summary_begin_facts(grid, err));
    for (size_t i = 0; i < count; i++)
        if (is_wanted(source, &rows[i]))
            ROAST_TRY(add_row(source, &rows[i], grid, err));
    return ROAST_OK;
}

#define ADD_ROWS(rows) add_rows(source, rows, sizeof(rows) / sizeof *(rows), grid, err)

#define OVER_WALL_TIME  " over wall time"
#define OF_CORES        " of wall time × cores"
#define ON_AVERAGE      " on average"
#define AT_THE_PEAK     " at the peak"
#define OF_A_TASKS_TIME " of its tasks' time"
#define IN_PROCESS      OF_CORES " in process()"
#define EXACT_CPU       "worker_cpu_percent"

/* ---- the short form ---- */

roast_status roast_summary_fill_overview(const roast_summary_source *source, roast_grid *grid,
                                         roast_error *err) {
    static const fact rows[] = {
        {NULL,
         {{.key = "wall_time"},
          {.key = "total_cores", .before = ", ", .after = " core", .counts = true}}},
        {"Events",
         {{.key = "total_events"},
          {.key = "total_events_from_chunks", .instead = true, .after = " in the chunk records"}}},
        {"Event Rate",
         {{.key = "event_rate_wall_khz"}, {.key = "event_rate_core_hz", .before = ", "}}},
        {"Data Rate",
         {{.key = "data_rate_gbps"},
          {.key = "total_bytes_read_coffea", .before = ", ", .after = " read"}}},
        {NULL,
         {{.key = "core_efficiency", .percent = true, .after = IN_PROCESS},
          {.key = "cpu_efficiency_fine",
           .percent = true,
           .after = OF_CORES " on the CPU",
           .instead = true}}},
        {"Peak Memory",
         {{.key = "peak_memory_bytes", .after = " in a worker"},
          {.key = "memory_utilization_max_pct", .before = ", ", .after = " of the limit"}}},
    };
    return ADD_ROWS(rows);
}

roast_status roast_summary_fill_cards(const roast_summary_source *source, roast_grid *grid,
                                      roast_error *err) {
    static const fact rows[] = {
        {NULL, {{.key = "wall_time"}}},
        {"Event Rate", {{.key = "event_rate_wall_khz", .after = OVER_WALL_TIME}}},
        {"Data Rate", {{.key = "data_rate_gbps", .after = OVER_WALL_TIME}}},
        {NULL, {{.key = "core_efficiency", .percent = true, .after = IN_PROCESS}}},
        {"Peak Memory", {{.key = "peak_memory_bytes", .after = " in a worker"}}},
    };
    char outcome[ROAST_HEADLINE];
    roast_headline_short(source->about, outcome);
    ROAST_TRY(roast_summary_begin_facts(grid, err));
    ROAST_TRY(add_row(source, &rows[0], grid, err));
    ROAST_TRY(roast_summary_add_fact(grid, "Outcome", outcome, NULL, 0, err));
    for (size_t i = 1; i < sizeof rows / sizeof *rows; i++)
        ROAST_TRY(add_row(source, &rows[i], grid, err));
    return ROAST_OK;
}

/* ---- the tables ---- */

roast_status roast_summary_fill_challenge(const roast_summary_source *source, roast_grid *grid,
                                          roast_error *err) {
    static const fact rows[] = {
        {"Data Rate", {{.key = "data_rate_gbps", .after = OVER_WALL_TIME}}},
        {"Factor to 200 Gbps", {{.key = "challenge_factor"}}},
        {"Event Rate", {{.key = "event_rate_wall_khz", .after = OVER_WALL_TIME}}},
        {"Event Rate per Core", {{.key = "event_rate_core_hz", .after = OVER_WALL_TIME}}},
        {"Volume Read", {{.key = "total_bytes_read_coffea", .after = ", metadata included"}}},
        {"Columns, compressed", {{.key = "files_accessed_bytes"}}},
        {"Columns, uncompressed", {{.key = "files_accessed_uncompressed_bytes"}}},
        {"Read of the Files",
         {{.key = "files_read_percent"}, {.key = "files_tree_bytes", .before = " of "}}},
    };
    return ADD_ROWS(rows);
}

#define TRANSFER_ROW(label, way)                                                                   \
    {                                                                                              \
        label,                                                                                     \
            {{.key = way "_bytes"},                                                                \
             {.key = way "_files", .before = " in ", .after = " file", .counts = true},            \
             {.key = way "_seconds", .before = ", ", .after = " in all"}},                         \
            .with = way "_bytes"                                                                   \
    }

roast_status roast_summary_fill_throughput(const roast_summary_source *source, roast_grid *grid,
                                           roast_error *err) {
    static const fact rows[] = {
        {"Data Rate",
         {{.key = "data_rate_gbps", .after = OVER_WALL_TIME},
          {.key = "data_rate_mbps", .before = ", "}}},
        {NULL, {{.key = "total_bytes_read_coffea"}}},
        {NULL,
         {{.key = "metadata_bytes_read"},
          {.key = "bytes_read_from_chunks", .before = " of ", .after = " in the chunk records"}}},
        {"Read while Preprocessing",
         {{.key = "preprocess_bytes_read"},
          {.key = "preprocess_files", .before = " of ", .after = " file", .counts = true},
          {.key = "preprocess_seconds", .before = " in "}}},
        {NULL, {{.key = "total_read_requests"}}},
        {NULL, {{.key = "total_bytes_memory_read_dask"}}},
        TRANSFER_ROW("Files from the Manager", "transfer_manager"),
        TRANSFER_ROW("Files among Workers", "transfer_peer"),
        TRANSFER_ROW("Files to the Manager", "transfer_output"),
        {"Spilled Results (Dask)",
         {{.key = "disk_write_bytes", .after = " written"},
          {.key = "disk_read_bytes", .before = ", ", .after = " read back"}}},
    };
    return ADD_ROWS(rows);
}

roast_status roast_summary_fill_events(const roast_summary_source *source, roast_grid *grid,
                                       roast_error *err) {
    static const fact rows[] = {
        {NULL, {{.key = "total_events"}}},
        {"Event Rate", {{.key = "event_rate_wall_khz", .after = OVER_WALL_TIME}}},
        {"Event Rate per Core",
         {{.key = "event_rate_core_hz", .after = OVER_WALL_TIME},
          {.key = "event_rate_core_khz", .after = OVER_WALL_TIME, .instead = true}}},
        {"Event Rate in process()",
         {{.key = "event_rate_agg_khz", .after = " over time in process()"}}},
    };
    return ADD_ROWS(rows);
}

#define SPEEDUP_ROW                                                                                \
    {                                                                                              \
        NULL, {                                                                                    \
            { .key = "speedup_factor", .after = " (time in process() / wall time)" }               \
        }                                                                                          \
    }
#define EFFICIENCY_ROW                                                                             \
    {                                                                                              \
        NULL, {                                                                                    \
            { .key = "core_efficiency", .percent = true, .after = OF_CORES " in process()" }       \
        }                                                                                          \
    }

/* Metrics without a run: programs of 0.1.x look for these in the table of resources. */
static roast_status add_rows_of_efficiency(const roast_summary_source *source, roast_grid *grid,
                                           roast_error *err) {
    static const fact rows[] = {SPEEDUP_ROW, EFFICIENCY_ROW};
    for (size_t i = 0; source->about == NULL && i < sizeof rows / sizeof *rows; i++)
        if (has_a_part(source, &rows[i]))
            ROAST_TRY(add_row(source, &rows[i], grid, err));
    return ROAST_OK;
}

roast_status roast_summary_fill_resources(const roast_summary_source *source, roast_grid *grid,
                                          roast_error *err) {
    static const fact rows[] = {
        {"Workers",
         {{.key = "avg_workers", .after = ON_AVERAGE},
          {.key = "peak_workers", .before = ", ", .after = AT_THE_PEAK}}},
        {"Cores",
         {{.key = "total_cores", .after = ON_AVERAGE},
          {.key = "cores_per_worker", .before = ", ", .after = " per worker"}}},
        {"Memory per Worker",
         {{.key = "avg_memory_per_worker_bytes", .after = ON_AVERAGE},
          {.key = "peak_memory_bytes", .before = ", ", .after = AT_THE_PEAK}}},
        {"Memory",
         {{.key = "memory_utilization_avg_pct", .after = " of the limit" ON_AVERAGE},
          {.key = "memory_utilization_min_pct", .before = ", "},
          {.key = "memory_utilization_max_pct", .before = " to "}}},
        /* The counters of the processes are exact. Samples of a cluster come with heartbeats, and lag. */
        {NULL, {{.key = EXACT_CPU, .after = " of the cores" ON_AVERAGE}}, .with = EXACT_CPU},
        {"CPU",
         {{.key = "cpu_utilization_avg_pct", .after = " of the cores" ON_AVERAGE},
          {.key = "cpu_utilization_min_pct", .before = ", "},
          {.key = "cpu_utilization_max_pct", .before = " to "}},
         .without = EXACT_CPU},
        {NULL,
         {{.key = "other_work_percent", .after = " of all cores there"}},
         .with = "other_work_percent"},
    };
    ROAST_TRY(ADD_ROWS(rows));
    return add_rows_of_efficiency(source, grid, err);
}

roast_status roast_summary_fill_timing(const roast_summary_source *source, roast_grid *grid,
                                       roast_error *err) {
    static const fact rows[] = {
        {NULL, {{.key = "wall_time"}}},
        {NULL,
         {{.key = "total_cpu_time"},
          {.key = "num_chunks", .before = " in ", .after = " chunk", .counts = true},
          {.key = "avg_cpu_time_per_chunk", .before = ", ", .after = " a chunk"}}},
        {NULL, {{.key = "chunk_cpu_seconds"}}},
        {NULL, {{.key = "before_process_seconds"}}},
        SPEEDUP_ROW,
        EFFICIENCY_ROW,
        /* Of the threads of tasks alone: less than the CPU time of the workers, which has its row already. */
        {"CPU Efficiency",
         {{.key = "cpu_efficiency_fine", .percent = true, .after = OF_CORES " on the CPU"}},
         .without = EXACT_CPU},
        {"Off the CPU", {{.key = "io_overhead_pct", .after = " of wall time, all tasks together"}}},
    };
    return ADD_ROWS(rows);
}

roast_status roast_summary_fill_fine(const roast_summary_source *source, roast_grid *grid,
                                     roast_error *err) {
    static const fact rows[] = {
        {NULL,
         {{.key = "processor_cpu_time_seconds"},
          {.key = "processor_cpu_percentage", .before = ", ", .after = OF_A_TASKS_TIME}}},
        {NULL,
         {{.key = "processor_noncpu_time_seconds"},
          {.key = "processor_noncpu_percentage", .before = ", ", .after = OF_A_TASKS_TIME}}},
        {NULL, {{.key = "overhead_cpu_time_seconds"}}},
        {NULL, {{.key = "overhead_noncpu_time_seconds"}}},
        {"All Tasks",
         {{.key = "cpu_time_seconds", .after = " CPU"},
          {.key = "io_time_seconds", .before = ", ", .after = " non-CPU"}}},
        {"Compression",
         {{.key = "total_compression_overhead_seconds"},
          {.key = "compression_time_seconds", .before = ": ", .after = " out"},
          {.key = "decompression_time_seconds", .before = ", ", .after = " in"}}},
        {"Serialization",
         {{.key = "total_serialization_overhead_seconds"},
          {.key = "serialization_time_seconds", .before = ": ", .after = " out"},
          {.key = "deserialization_time_seconds", .before = ", ", .after = " in"}}},
    };
    return ADD_ROWS(rows);
}

roast_status roast_summary_fill_chunks(const roast_summary_source *source, roast_grid *grid,
                                       roast_error *err) {
    static const fact rows[] = {
        {"Chunks",
         {{.key = "num_successful_chunks", .after = " done"},
          {.key = "num_failed_chunks", .before = ", ", .after = " failed"},
          {.key = "num_chunks", .instead = true}}},
        {"Events", {{.key = "total_events_from_chunks", .after = " in the chunk records"}}},
        {"Events per Chunk",
         {{.key = "chunk_events_mean", .after = ON_AVERAGE},
          {.key = "chunk_events_min", .before = ", "},
          {.key = "chunk_events_max", .before = " to "}}},
        {"Duration",
         {{.key = "chunk_duration_mean"},
          {.key = "chunk_duration_std", .before = " ± "},
          {.key = "chunk_duration_min", .before = ", "},
          {.key = "chunk_duration_max", .before = " to "}}},
        {"Duration, quantiles",
         {{.key = "chunk_duration_p50", .after = " median"},
          {.key = "chunk_duration_p95", .before = ", ", .after = " p95"},
          {.key = "chunk_duration_p99", .before = ", ", .after = " p99"}}},
        {"Duration, fitted",
         {{.key = "chunk_fixed_cost_s", .after = " a chunk"},
          {.key = "chunk_cost_per_event_us", .before = PLUS, .after = " an event"},
          {.key = "runtime_events_correlation", .before = ", r = "}}},
        {"Time per Event",
         {{.key = "time_per_event_us_mean", .after = ON_AVERAGE},
          {.key = "time_per_event_us_min", .before = ", "},
          {.key = "time_per_event_us_max", .before = " to "}}},
        {"Memory Change",
         {{.key = "chunk_mem_delta_mean_mb"},
          {.key = "chunk_mem_delta_std_mb", .before = " ± "},
          {.key = "chunk_mem_delta_min_mb", .before = ", "},
          {.key = "chunk_mem_delta_max_mb", .before = " to "}}},
        {"Memory Change per Event",
         {{.key = "memory_per_event_bytes_mean", .after = ON_AVERAGE},
          {.key = "memory_per_event_bytes_min", .before = ", "},
          {.key = "memory_per_event_bytes_max", .before = " to "}}},
    };
    double done = roast_value_number(roast_metrics_get(source->metrics, "num_successful_chunks"));
    double failed = roast_value_number(roast_metrics_get(source->metrics, "num_failed_chunks"));
    /* Of a run without records the table of times has the number of chunks; metrics alone may hold nothing else. */
    bool recorded = done > 0 || failed > 0, some = false;
    for (size_t i = 0; isnan(done) && source->about == NULL && i < sizeof rows / sizeof *rows; i++)
        some = some || has_a_part(source, &rows[i]);
    return recorded || some ? ADD_ROWS(rows) : roast_summary_begin_facts(grid, err);
}

roast_status roast_summary_fill_files(const roast_summary_source *source, roast_grid *grid,
                                      roast_error *err) {
    static const fact rows[] = {
        {NULL, {{.key = "num_files"}}},
        {"Branches Accessed",
         {{.key = "total_branches_read", .after = " different"},
          {.key = "avg_branches_read_percent",
           .before = ", ",
           .after = " of a file's on average"}}},
        {"Bytes Accessed",
         {{.key = "files_accessed_bytes"},
          {.key = "files_tree_bytes", .before = " of "},
          {.key = "files_read_percent", .before = ", "}}},
        {"Bytes, uncompressed", {{.key = "files_accessed_uncompressed_bytes"}}},
        {"Reads in process()",
         {{.key = "branch_read_count", .after = " read", .counts = true},
          {.key = "branch_read_bytes", .before = ", "},
          {.key = "branch_read_seconds", .before = ", "}}},
    };
    return ADD_ROWS(rows);
}
