#include "found.h"

#include <errno.h>
#include <fts.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "roast/legacy.h"
#include "roast/measurement.h"

const found_figure found_figures[FOUND_FIGURE_COUNT] = {
#define X(name, key, heading) {#name, key, heading},
    FOUND_FIGURES(X)
#undef X
};

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "ls", -1, "no memory for the list");
}

static char *copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = roast_alloc(size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

/* ---- searching ---- */

static roast_status add_entry(found_list *list, const char *path, size_t name_at,
                              roast_store_kind kind, roast_error *err) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        found_entry *entries = roast_realloc(list->entries, capacity * sizeof *entries);
        if (entries == NULL)
            return no_memory(err);
        list->entries = entries;
        list->capacity = capacity;
    }
    char *copy = copy_text(path);
    if (copy == NULL)
        return no_memory(err);
    list->entries[list->count++] =
        (found_entry){.path = copy, .name = copy + name_at, .kind = kind};
    return ROAST_OK;
}

static roast_status cannot_search(const char *folder, int number, roast_error *err) {
    roast_status status = number == ENOMEM   ? ROAST_ENOMEM
                          : number == ENOENT ? ROAST_ENOTFOUND
                                             : ROAST_EIO;
    return roast_error_set(err, status, "ls", -1, "%s: %s", folder, strerror(number));
}

/* Adds a folder that is a measurement. *skip: the walk does not go into it. A folder that cannot be read is an error
 * only where it is the one that was named. */
static roast_status visit(found_list *list, const FTSENT *entry, const char *folder, int64_t depth,
                          bool *skip, roast_error *err) {
    bool is_root = entry->fts_level == FTS_ROOTLEVEL, is_folder = entry->fts_info == FTS_D;
    *skip = true;
    if (is_root && entry->fts_info != FTS_DP && !is_folder)
        return cannot_search(folder, entry->fts_errno != 0 ? entry->fts_errno : ENOTDIR, err);
    if (!is_folder || entry->fts_level > depth || (!is_root && entry->fts_name[0] == '.'))
        return ROAST_OK;
    roast_store_kind kind =
        is_root ? ROAST_STORE_NONE : roast_store_is_measurement(entry->fts_path);
    if (kind != ROAST_STORE_NONE)
        return add_entry(list, entry->fts_path, strlen(folder) + (strcmp(folder, "/") != 0), kind,
                         err);
    *skip = entry->fts_level == depth;
    return ROAST_OK;
}

static int by_name(const FTSENT **a, const FTSENT **b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static roast_status search(found_list *list, char *folder, int64_t depth, roast_error *err) {
    char *const roots[] = {folder, NULL};
    /* Links below the folder are not followed. */
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    FTSENT *entry;
    roast_status status = walk != NULL ? ROAST_OK : cannot_search(folder, errno, err);
    while (status == ROAST_OK && (entry = fts_read(walk)) != NULL) {
        bool skip;
        status = visit(list, entry, folder, depth, &skip, err);
        if (skip)
            fts_set(walk, entry, FTS_SKIP);
    }
    if (walk != NULL)
        fts_close(walk);
    return status;
}

roast_status found_search(found_list *list, const char *folder, int64_t depth, roast_error *err) {
    roast_store_kind kind = roast_store_is_measurement(folder);
    char *bare = copy_text(folder);
    if (bare == NULL)
        return no_memory(err);
    for (size_t len = strlen(bare); len > 1 && bare[len - 1] == '/'; len--)
        bare[len - 1] = '\0';
    const char *slash = strrchr(bare, '/');
    roast_status status =
        kind != ROAST_STORE_NONE
            ? add_entry(list, folder, slash != NULL ? (size_t)(slash - bare) + 1 : 0, kind, err)
            : search(list, bare, depth, err);
    roast_free(bare);
    return status;
}

void found_reset(found_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        roast_free(list->entries[i].path);
        roast_free(list->entries[i].fault);
    }
    roast_free(list->entries);
    *list = (found_list){0};
}

/* ---- reading ---- */

static void take_metrics(found_entry *entry, const roast_metrics *metrics) {
    for (int i = 0; i < FOUND_FIGURE_COUNT; i++)
        entry->figures[i] = roast_metrics_get(metrics, found_figures[i].key);
}

static void take_clock(found_entry *entry, const roast_run *head) {
    roast_run_clock clock = roast_run_get_clock(head);
    entry->have_when = clock.have && fabs(clock.start) < 9e9;
    if (entry->have_when)
        entry->when = (roast_utc){(int64_t)(clock.start * 1e9)};
}

/* The metrics that were saved; without them, those that need no chunk. */
static roast_status metrics_of(roast_store *store, roast_metrics **out, roast_error *err) {
    ROAST_TRY(roast_measurement_saved_metrics(store, true, out, err));
    if (*out != NULL)
        return ROAST_OK;
    ROAST_TRY(roast_metrics_new(out, err));
    roast_status status = roast_metrics_workflow(*out, roast_store_head(store), err);
    if (status != ROAST_OK)
        roast_metrics_free(*out);
    return status;
}

static roast_status read_ours(found_entry *entry, roast_error *err) {
    roast_store *store;
    roast_metrics *metrics;
    ROAST_TRY(roast_store_open(entry->path, &store, err));
    entry->state = roast_store_get_state(store);
    take_clock(entry, roast_store_head(store));
    entry->outcome = roast_ending_outcome(roast_run_ending_view(roast_store_head(store)));
    roast_status status = metrics_of(store, &metrics, err);
    if (status == ROAST_OK) {
        take_metrics(entry, metrics);
        roast_metrics_free(metrics);
    }
    roast_store_close(store);
    return status;
}

static roast_value number(double value) {
    return isnan(value) ? roast_value_none() : roast_value_real(value);
}

static roast_status read_legacy(found_entry *entry, roast_error *err) {
    roast_legacy_head head;
    ROAST_TRY(roast_legacy_peek(entry->path, &head, err));
    entry->have_when = head.have_saved;
    entry->when = head.saved;
    entry->figures[FOUND_wall] = number(head.wall_time);
    entry->figures[FOUND_gbps] = number(head.data_rate_gbps);
    entry->figures[FOUND_khz] = number(head.event_rate_wall_khz);
    entry->figures[FOUND_workers] = number(head.avg_workers);
    entry->figures[FOUND_efficiency] = number(head.core_efficiency);
    if (fabs(head.total_events) < 9e18)
        entry->figures[FOUND_events] = roast_value_int((int64_t)head.total_events);
    return ROAST_OK;
}

roast_status found_read(found_entry *entry, roast_error *err) {
    roast_error fault;
    roast_error_reset(&fault);
    for (int i = 0; i < FOUND_FIGURE_COUNT; i++)
        entry->figures[i] = roast_value_none();
    roast_status status =
        entry->kind == ROAST_STORE_LEGACY ? read_legacy(entry, &fault) : read_ours(entry, &fault);
    if (status == ROAST_OK)
        return ROAST_OK;
    if (status != ROAST_ENOMEM)
        entry->fault =
            copy_text(fault.message[0] != '\0' ? fault.message : roast_status_text(status));
    return entry->fault != NULL ? ROAST_OK : no_memory(err);
}

/* ---- words ---- */

size_t found_time(roast_utc when, char out[FOUND_TIME_SIZE]) {
    struct tm parts;
    time_t seconds = (time_t)(when.ns / 1000000000 - (when.ns % 1000000000 < 0));
    out[0] = '\0';
    return gmtime_r(&seconds, &parts) != NULL
               ? strftime(out, FOUND_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &parts)
               : 0;
}

const char *found_state(const found_entry *entry) {
    if (entry->kind == ROAST_STORE_LEGACY)
        return "0.1.x";
    switch (entry->state) {
    case ROAST_STORE_LIVE:
        return "live";
    case ROAST_STORE_UNFINISHED:
        return "unfinished";
    default:
        return "";
    }
}

const char *found_outcome(const found_entry *entry) {
    return roast_end_name(entry->outcome);
}
