/* The table of data quality: completeness of the records, what was not measured and why, and the cost of
 * measuring. */
#include "render/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "roast/format.h"

static roast_value get(const roast_summary_source *source, const char *key) {
    return roast_metrics_get(source->metrics, key);
}

static double number(const roast_summary_source *source, const char *key) {
    return roast_value_number(get(source, key));
}

static bool is_known(const roast_summary_source *source, const char *key) {
    return get(source, key).kind != ROAST_VALUE_NONE;
}

/* Records of chunks, those with an error included; NaN if there are none. */
static double records(const roast_summary_source *source) {
    double done = number(source, "num_successful_chunks");
    double failed = number(source, "num_failed_chunks");
    double all = (isnan(done) ? 0 : done) + (isnan(failed) ? 0 : failed);
    return all > 0 ? all : NAN;
}

static roast_value whole(double value) {
    return isnan(value) ? roast_value_none() : roast_value_int((int64_t)value);
}

/* "95 of 100 chunks"; "5 for 4 chunks" where there are more than there should be */
static roast_status add_share(roast_grid *grid, const char *label, const char *key,
                              roast_value part, roast_value all, const char *of_what,
                              roast_error *err) {
    char text[256], first[64], second[64];
    const roast_grid_value kept = {key, part, "1"};
    roast_format_value(part, "1", first, sizeof first);
    roast_format_value(all, "1", second, sizeof second);
    const char *word = roast_value_number(part) > roast_value_number(all) ? "for" : "of";
    snprintf(text, sizeof text, "%s %s %s %s", first, word, second, of_what);
    return roast_summary_add_fact(grid, label, text, &kept, 1, err);
}

static const roast_ending *ending_of(const roast_summary_source *source) {
    return source->about != NULL ? roast_run_ending_view(source->about) : NULL;
}

/* ---- what is there ---- */

static roast_status add_records(const roast_summary_source *source, roast_grid *grid,
                                roast_error *err) {
    double all = records(source);
    const roast_ending *ending = ending_of(source);
    /* A run that raised, or goes on, has no report: then the numbers are those of the records. */
    if (roast_ending_error(ending) != NULL ||
        (ending != NULL && roast_ending_outcome(ending) == ROAST_END_unknown))
        return ROAST_OK;
    if (!isnan(all) && is_known(source, "num_chunks") && is_known(source, "total_events"))
        ROAST_TRY(add_share(grid, "Chunk Records", "chunk_records", whole(all),
                            get(source, "num_chunks"), "chunks in the report", err));
    double events = number(source, "total_events");
    if (number(source, "total_events_from_chunks") != events && !isnan(events) && !isnan(all))
        ROAST_TRY(add_share(grid, "Events in Records", "total_events_from_chunks",
                            get(source, "total_events_from_chunks"), get(source, "total_events"),
                            "events in the report", err));
    return ROAST_OK;
}

/* Values that only some of the records have. */
static roast_status add_incomplete(const roast_summary_source *source, roast_grid *grid,
                                   roast_error *err) {
    static const struct {
        const char *label, *key;
    } told[] = {
        {"CPU Time", "chunks_with_cpu_time"},
        {"Peak Memory", "chunks_with_peak_memory"},
        {"Bytes Read", "chunks_with_bytes_read"},
        {"Branches", "chunks_with_branches"},
        {"Time before process()", "chunks_with_before_process"},
    };
    double all = records(source);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        double known = number(source, told[i].key);
        if (known > 0 && known < all)
            ROAST_TRY(add_share(grid, told[i].label, told[i].key, get(source, told[i].key),
                                whole(all), "chunks have it", err));
    }
    return ROAST_OK;
}

static roast_status add_faults(const roast_summary_source *source, roast_grid *grid,
                               roast_error *err) {
    static const char *const keys[] = {"replayed_chunks", "total_dropped_sections",
                                       "measurement_faults"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const roast_metric_info *info = roast_catalogue_find(keys[i], NULL);
        if (!(number(source, keys[i]) > 0) || info == NULL)
            continue;
        ROAST_TRY(roast_grid_add_cell(grid, roast_str_of(info->label), NULL, 0, err));
        ROAST_TRY(roast_summary_add_value(grid, info->key, get(source, keys[i]), info->unit, err));
    }
    return ROAST_OK;
}

/* ---- missing data ---- */

/* One row for each thing that may be missing: its name, a metric that is there if it was measured, and the reason
 * why it is not. It is missed only where the metric `needs` is there (NULL: always). */
static const struct {
    const char *label, *key, *needs, *why;
    bool asked; /* it is measured if the user asks for it */
} wanted[] = {
    {"Report of Coffea", "total_events", NULL,
     "not given: savemetrics=True of the Runner, or set_coffea_report()", true},
    {"Bytes Read (Coffea)", "total_bytes_read_coffea", "total_events",
     "not in the report: its files do not count them (Parquet)"},
    {"Workers", "avg_workers", NULL, "workers were not sampled (track_workers)", true},
    {"Memory of the Workers", "peak_memory_bytes", "avg_workers", "no worker was sampled"},
    {"Fine Metrics", "cpu_time_seconds", NULL, "no Dask spans"},
    {"Chunks", "num_successful_chunks", NULL, "process() is not decorated with @track_metrics",
     true},
    {"CPU Time of Chunks", "chunk_cpu_seconds", "num_successful_chunks",
     "in no record: not reported by the kernel, or readings are switched off"},
    {"Time before process()", "before_process_seconds", "num_successful_chunks",
     "the executor does not report when a task started"},
    {"Branches", "total_branches_read", "num_successful_chunks",
     "no record has the accessed branches"},
    {"Reads of Branches", "chunks_with_reads", "num_successful_chunks",
     "no record has the reads of branches"},
    {"Sizes of the Files", "files_tree_bytes", "num_successful_chunks",
     "the sizes of the files or the accessed branches are not known"},
};

/* Nobody saw the end of the run: it goes on, or its program was killed. */
static bool is_open(const roast_summary_source *source) {
    const roast_ending *ending = ending_of(source);
    return ending != NULL && roast_ending_outcome(ending) == ROAST_END_unknown;
}

/* Whether the run raised or was killed too early: Coffea makes its report at the end, and a record comes with the end of a
 * chunk, on some engines with the output of the run. */
static bool ended_before(const roast_summary_source *source, const char *key) {
    const roast_ending *ending = ending_of(source);
    bool open = is_open(source);
    if (roast_ending_error(ending) == NULL && !open)
        return false;
    return strcmp(key, "total_events") == 0 ||
           (strcmp(key, "num_successful_chunks") == 0 &&
            (open || roast_ending_get_pieces(ending).done <= 0));
}

/* What a Runner makes: nobody misses it where none was called. */
static bool is_of_runner(const char *key) {
    return strcmp(key, "total_events") == 0 || strcmp(key, "num_successful_chunks") == 0;
}

/* Whether the engine ran tasks of this run, and none of them is known to be a Runner's. */
static bool is_plain_graph(const roast_summary_source *source) {
    uint32_t kinds;
    roast_row_table_rows(source->metrics, ROAST_ROWS_task_metrics, &kinds);
    return kinds > 0 && source->about != NULL && roast_run_processor(source->about).data == NULL &&
           !is_known(source, "total_events") && isnan(records(source));
}

static const char *why_no_chunks(const roast_summary_source *source) {
    if (roast_run_meta(source->about, roast_str_of(ROAST_META_FROM_LOG)).data != NULL)
        return "it was made from the log of its engine, which has tasks, but neither events nor "
               "chunks: see Tasks";
    return "a Dask graph was computed (dask-awkward, dask.compute(), futures), which has no "
           "process() and no chunks: see Tasks";
}

/* `all`: also what no setting would change. */
static roast_status add_missing(const roast_summary_source *source, bool all, roast_grid *grid,
                                roast_error *err) {
    bool graph = is_plain_graph(source);
    if (graph)
        ROAST_TRY(roast_summary_add_fact(grid, "No Runner", why_no_chunks(source), NULL, 0, err));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (is_known(source, wanted[i].key) || (graph && is_of_runner(wanted[i].key)) ||
            (wanted[i].needs != NULL && !is_known(source, wanted[i].needs)) ||
            (!all && (!wanted[i].asked || ended_before(source, wanted[i].key))))
            continue;
        char label[96];
        const char *why = ended_before(source, wanted[i].key) ? "the run ended before there was one"
                          : strcmp(wanted[i].key, "cpu_time_seconds") == 0 &&
                                  roast_summary_engine(source->about) != NULL
                              ? "the engine did not measure its tasks"
                              : wanted[i].why;
        snprintf(label, sizeof label, "No %s", wanted[i].label);
        ROAST_TRY(roast_summary_add_fact(grid, label, why, NULL, 0, err));
    }
    return ROAST_OK;
}

/* ---- a run without an end ---- */

static roast_str line_of(roast_str *text) {
    const char *end = text->len > 0 ? memchr(text->data, '\n', text->len) : NULL;
    const size_t len = end != NULL ? (size_t)(end - text->data) : text->len;
    const roast_str line = {text->data, len};
    *text = (roast_str){text->data + len + (end != NULL), text->len - len - (end != NULL)};
    return line;
}

/* "2, the last one: RuntimeError: told to raise". */
static void say_failed_tries(roast_str tries, char *out, size_t size) {
    roast_str count = line_of(&tries), last = {"", 0};
    while (tries.len > 0)
        last = line_of(&tries);
    const char *tab = last.len > 0 ? memchr(last.data, '\t', last.len) : NULL;
    last.len = tab != NULL ? (size_t)(tab - last.data) : last.len;
    last = roast_utf8_cut(last, 300);
    snprintf(out, size, "%.*s%s%.*s", (int)(count.len < 24 ? count.len : 24), count.data,
             last.len > 0 ? ", the last one: " : "", (int)last.len, last.data);
}

/* What was known of it so far, and which log knows more. */
static roast_status add_open(const roast_summary_source *source, roast_grid *grid,
                             roast_error *err) {
    char text[512];
    if (!is_open(source))
        return ROAST_OK;
    roast_str tries = roast_run_meta(source->about, roast_str_of(ROAST_META_FAILED_TRIES));
    roast_str log = roast_run_meta(source->about, roast_str_of(ROAST_META_TASKVINE_LOG));
    if (tries.data != NULL && tries.len > 0) {
        say_failed_tries(tries, text, sizeof text);
        ROAST_TRY(roast_summary_add_fact(grid, "Failed Tries", text, NULL, 0, err));
    }
    if (log.data == NULL || log.len > 400)
        return ROAST_OK;
    snprintf(text, sizeof text, "has all tasks of the run: roast import --taskvine %.*s",
             (int)log.len, log.data);
    return roast_summary_add_fact(grid, "TaskVine's Log", text, NULL, 0, err);
}

/* ---- the cost of measuring ---- */

static roast_status add_overhead(const roast_summary_source *source, roast_grid *grid,
                                 roast_error *err) {
    double seconds = number(source, "measuring_seconds");
    if (isnan(seconds))
        return ROAST_OK;
    char text[160], cost[64], share[64] = "";
    const roast_value value = roast_value_real(seconds);
    const roast_grid_value kept = {"measuring_seconds", value, "s"};
    double paid = number(source, "wall_time") * number(source, "total_cores");
    roast_format_value(value, "s", cost, sizeof cost);
    if (paid > 0)
        roast_format_value(roast_value_real(100 * seconds / paid), "%", share, sizeof share);
    snprintf(text, sizeof text, paid > 0 ? "%s, %s of wall time × cores" : "%s%s", cost, share);
    return roast_summary_add_fact(grid, "Cost of Measuring", text, &kept, 1, err);
}

roast_status roast_summary_fill_quality(const roast_summary_source *source, roast_grid *grid,
                                        roast_error *err) {
    ROAST_TRY(roast_summary_begin_facts(grid, err));
    ROAST_TRY(add_records(source, grid, err));
    ROAST_TRY(add_incomplete(source, grid, err));
    ROAST_TRY(add_faults(source, grid, err));
    ROAST_TRY(add_overhead(source, grid, err));
    ROAST_TRY(add_open(source, grid, err));
    return add_missing(source, true, grid, err);
}

roast_status roast_summary_fill_gaps(const roast_summary_source *source, roast_grid *grid,
                                     roast_error *err) {
    ROAST_TRY(roast_summary_begin_facts(grid, err));
    ROAST_TRY(add_open(source, grid, err));
    return add_missing(source, false, grid, err);
}
