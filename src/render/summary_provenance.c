/* The table of a run's origin: facility, machine, engine, versions, and texts of the user's own. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/number.h"
#include "render/summary.h"

static const char bytes_suffix[] = "_bytes", version_suffix[] = "_version";

/* Label and key of the texts that come first, in this order. */
static const char *const first[][2] = {
    {"User", "user"},
    {"Site", "site"},
    {"Host", "host"},
    {"Batch Job", "job"},
    {"Batch Jobs of Workers", "worker_jobs"},
    {"Blocks of Parsl", "parsl_jobs"},
    {"Container", "container"},
    {"Kubernetes", "kubernetes"},
    {"Cores", "cores"},
    {"Cores, Limit", "cgroup_cpu_cores"},
    {"Memory", "memory_bytes"},
    {"Memory, Limit", "cgroup_memory_bytes"},
    {"Kernel", "kernel"},
    {"Architecture", "architecture"},
    {"Start (UTC)", "start_utc"},
    {"Git Revision", "git_revision"},
    {"Engine", "engine"},
};
/* Texts for programs. */
static const char *const hidden[] = {"reducer",
                                     "backend",
                                     "format",
                                     ROAST_META_FROM_LOG,
                                     ROAST_META_FAILED_TRIES,
                                     ROAST_META_TASKVINE_LOG};

static bool ends_with(roast_str text, const char *end) {
    size_t len = strlen(end);
    return text.len > len && memcmp(text.data + text.len - len, end, len) == 0;
}

static bool is(roast_str text, const char *name) {
    return roast_str_equal(text, roast_str_of(name));
}

/* JSON is for programs. */
static bool is_for_people(roast_str text) {
    return text.len == 0 || (text.data[0] != '{' && text.data[0] != '[');
}

static bool is_shown_apart(roast_str key) {
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (is(key, first[i][1]))
            return true;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (is(key, hidden[i]))
            return true;
    return ends_with(key, version_suffix);
}

static roast_status add_text(roast_str label, roast_str key, roast_str text, roast_grid *grid,
                             roast_error *err) {
    char number[64], shown[64], *end = number;
    ROAST_TRY(roast_grid_add_cell(grid, label, NULL, 0, err));
    if (!ends_with(key, bytes_suffix) || text.len >= sizeof number)
        return roast_grid_add_cell(grid, text, NULL, 0, err);
    memcpy(number, text.data, text.len);
    number[text.len] = '\0';
    double bytes = roast_number_read(number, &end);
    if (end == number || *end != '\0')
        return roast_grid_add_cell(grid, text, NULL, 0, err);
    roast_format_value(roast_value_real(bytes), "bytes", shown, sizeof shown);
    return roast_grid_add_cell(grid, roast_str_of(shown), NULL, 0, err);
}

/* "coffea 2026.9, dask 2026.8", in one row. */
static roast_status join_versions(const roast_run *run, roast_buffer *all) {
    for (uint32_t i = 0; i < roast_run_meta_count(run); i++) {
        roast_str key, text;
        roast_run_meta_at(run, i, &key, &text);
        if (!ends_with(key, version_suffix))
            continue;
        if (all->len > 0)
            ROAST_TRY(roast_buffer_append(all, ", ", 2));
        ROAST_TRY(roast_buffer_append(all, key.data, key.len - strlen(version_suffix)));
        ROAST_TRY(roast_buffer_append(all, " ", 1));
        ROAST_TRY(roast_buffer_append(all, text.data, text.len));
    }
    return ROAST_OK;
}

static roast_status add_versions(const roast_run *run, roast_grid *grid, roast_error *err) {
    roast_buffer all = {0};
    roast_status status = join_versions(run, &all);
    if (status != ROAST_OK)
        status = roast_error_set(err, status, "summary", -1, "no memory for the versions");
    else if (all.len > 0)
        status = add_text(roast_str_of("Versions"), roast_str_of("versions"),
                          (roast_str){(const char *)all.data, all.len}, grid, err);
    roast_buffer_reset(&all);
    return status;
}

roast_status roast_summary_fill_provenance(const roast_summary_source *source, roast_grid *grid,
                                           roast_error *err) {
    const roast_run *run = source->about;
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Text"), ROAST_ALIGN_LEFT, err));
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Value"), ROAST_ALIGN_LEFT, err));
    if (run == NULL)
        return ROAST_OK;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        roast_str key = roast_str_of(first[i][1]), text = roast_run_meta(run, key);
        if (text.data != NULL)
            ROAST_TRY(add_text(roast_str_of(first[i][0]), key, text, grid, err));
    }
    ROAST_TRY(add_versions(run, grid, err));
    for (uint32_t i = 0; i < roast_run_meta_count(run); i++) {
        roast_str key, text;
        roast_run_meta_at(run, i, &key, &text);
        if (!is_shown_apart(key) && is_for_people(text))
            ROAST_TRY(add_text(key, key, text, grid, err));
    }
    return ROAST_OK;
}
