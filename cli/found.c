#include "found.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* "folder/name"; a slash at the folder's end counts once. */
static char *join(const char *folder, const char *name) {
    size_t len = strlen(folder), size;
    while (len > 1 && folder[len - 1] == '/')
        len--;
    size = len + strlen(name) + 2;
    char *path = roast_alloc(size);
    if (path != NULL)
        snprintf(path, size, "%.*s%s%s", (int)len, folder, folder[len - 1] == '/' ? "" : "/", name);
    return path;
}

/* ---- searching ---- */

/* Takes `path` over. */
static roast_status add_entry(found_list *list, char *path, size_t name_at, roast_store_kind kind,
                              roast_error *err) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        found_entry *entries = roast_realloc(list->entries, capacity * sizeof *entries);
        if (entries == NULL) {
            roast_free(path);
            return no_memory(err);
        }
        list->entries = entries;
        list->capacity = capacity;
    }
    list->entries[list->count++] =
        (found_entry){.path = path, .name = path + name_at, .kind = kind};
    return ROAST_OK;
}

static bool is_folder(const char *path, const struct dirent *entry) {
    struct stat info;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static roast_status search(found_list *list, const char *folder, size_t name_at, int64_t depth,
                           roast_error *err);

/* One entry of a folder; takes `path` over. */
static roast_status visit(found_list *list, char *path, const struct dirent *entry, size_t name_at,
                          int64_t depth, roast_error *err) {
    roast_status status = ROAST_OK;
    if (path == NULL)
        return no_memory(err);
    if (is_folder(path, entry)) {
        roast_store_kind kind = roast_store_is_measurement(path);
        if (kind != ROAST_STORE_NONE)
            return add_entry(list, path, name_at, kind, err);
        if (depth > 1)
            status = search(list, path, name_at, depth - 1, err);
        if (status == ROAST_EIO) /* below the folder that was named: not worth a failure */
            status = ROAST_OK;
    }
    roast_free(path);
    return status;
}

static roast_status search(found_list *list, const char *folder, size_t name_at, int64_t depth,
                           roast_error *err) {
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    roast_status status = ROAST_OK;
    if (count < 0) {
        roast_status code = errno == ENOMEM   ? ROAST_ENOMEM
                            : errno == ENOENT ? ROAST_ENOTFOUND
                                              : ROAST_EIO;
        return roast_error_set(err, code, "ls", -1, "%s: %s", folder, strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        if (status == ROAST_OK && entries[i]->d_name[0] != '.')
            status = visit(list, join(folder, entries[i]->d_name), entries[i], name_at, depth, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* Of "a/b/" the 2 where its last name begins. */
static size_t last_name_at(const char *path) {
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    while (len > 0 && path[len - 1] != '/')
        len--;
    return len;
}

roast_status found_search(found_list *list, const char *folder, int64_t depth, roast_error *err) {
    roast_store_kind kind = roast_store_is_measurement(folder);
    if (kind != ROAST_STORE_NONE) {
        char *path = copy_text(folder);
        return path != NULL ? add_entry(list, path, last_name_at(folder), kind, err)
                            : no_memory(err);
    }
    char *probe = join(folder, "");
    if (probe == NULL)
        return no_memory(err);
    size_t name_at = strlen(probe);
    roast_free(probe);
    return depth > 0 ? search(list, folder, name_at, depth, err) : ROAST_OK;
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

/* What was computed when it was saved; of one without it, what can be told without its chunks. */
static roast_status metrics_of(roast_store *store, roast_metrics **out, roast_error *err) {
    roast_str blob;
    roast_status status = roast_store_blob(store, ROAST_METRICS_BLOB, &blob, err);
    if (status == ROAST_OK)
        status = roast_metrics_decode(blob.data, blob.len, out, err);
    if (status != ROAST_ENOTFOUND && status != ROAST_EVERSION)
        return status;
    ROAST_TRY(roast_metrics_new(out, err));
    status = roast_metrics_workflow(*out, roast_store_head(store), err);
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
