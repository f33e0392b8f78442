#include "runs/found.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"

const roast_found_figure roast_found_figures[ROAST_FOUND_FIGURE_COUNT] = {
#define X(name, key, heading) {#name, key, heading},
    ROAST_FOUND_FIGURES(X)
#undef X
};

roast_status roast_found_no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "ls", -1, "no memory for the list");
}

roast_status roast_found_copy(roast_found *found, roast_str text, const char **out,
                              roast_error *err) {
    roast_str copy;
    if (roast_arena_str(&found->texts, text, &copy) != ROAST_OK)
        return roast_found_no_memory(err);
    *out = copy.data;
    return ROAST_OK;
}

/* ---- life ---- */

roast_status roast_found_new(roast_found **out, roast_error *err) {
    *out = roast_alloc_zero(sizeof **out);
    return *out != NULL ? ROAST_OK : roast_found_no_memory(err);
}

void roast_found_free(roast_found *found) {
    if (found == NULL)
        return;
    roast_arena_reset(&found->texts);
    roast_free(found->entries);
    roast_free(found);
}

roast_found_list roast_found_all(roast_found *found) {
    return (roast_found_list){found->entries, found->count};
}

/* ---- searching ---- */

static roast_status add_entry(roast_found *found, const char *path, size_t name_at,
                              roast_store_kind kind, roast_error *err) {
    void *entries = found->entries;
    roast_found_entry entry = {.kind = kind};
    if (roast_array_reserve(&entries, &found->capacity, sizeof *found->entries, found->count + 1) !=
        ROAST_OK)
        return roast_found_no_memory(err);
    found->entries = entries;
    ROAST_TRY(roast_found_copy(found, roast_str_of(path), &entry.path, err));
    entry.name = entry.path + name_at;
    found->entries[found->count++] = entry;
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
static roast_status visit(roast_found *found, const FTSENT *entry, const char *folder,
                          int64_t depth, bool *skip, roast_error *err) {
    bool is_root = entry->fts_level == FTS_ROOTLEVEL, is_folder = entry->fts_info == FTS_D;
    *skip = true;
    if (is_root && entry->fts_info != FTS_DP && !is_folder)
        return cannot_search(folder, entry->fts_errno != 0 ? entry->fts_errno : ENOTDIR, err);
    if (!is_folder || entry->fts_level > depth || (!is_root && entry->fts_name[0] == '.'))
        return ROAST_OK;
    roast_store_kind kind =
        is_root ? ROAST_STORE_NONE : roast_store_is_measurement(entry->fts_path);
    if (kind != ROAST_STORE_NONE)
        return add_entry(found, entry->fts_path, strlen(folder) + (strcmp(folder, "/") != 0), kind,
                         err);
    *skip = entry->fts_level == depth;
    return ROAST_OK;
}

static int by_name(const FTSENT **a, const FTSENT **b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static roast_status search(roast_found *found, char *folder, int64_t depth, roast_error *err) {
    char *const roots[] = {folder, NULL};
    /* Links below the folder are not followed. */
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    FTSENT *entry;
    roast_status status = walk != NULL ? ROAST_OK : cannot_search(folder, errno, err);
    while (status == ROAST_OK && (entry = fts_read(walk)) != NULL) {
        bool skip;
        status = visit(found, entry, folder, depth, &skip, err);
        if (skip)
            fts_set(walk, entry, FTS_SKIP);
    }
    if (walk != NULL)
        fts_close(walk);
    return status;
}

roast_status roast_found_search(roast_found *found, const char *folder, int64_t depth,
                                roast_error *err) {
    roast_store_kind kind = roast_store_is_measurement(folder);
    size_t len = strlen(folder);
    char *bare = roast_alloc(len + 1);
    if (bare == NULL)
        return roast_found_no_memory(err);
    memcpy(bare, folder, len + 1);
    for (; len > 1 && bare[len - 1] == '/'; len--)
        bare[len - 1] = '\0';
    const char *slash = strrchr(bare, '/');
    roast_status status =
        kind != ROAST_STORE_NONE
            ? add_entry(found, folder, slash != NULL ? (size_t)(slash - bare) + 1 : 0, kind, err)
            : search(found, bare, depth, err);
    roast_free(bare);
    return status;
}

roast_status roast_found_search_all(roast_found *found, const char *const *folders,
                                    size_t n_folders, int64_t depth, roast_error *err) {
    for (size_t i = 0; i < n_folders; i++)
        ROAST_TRY(roast_found_search(found, folders[i], depth, err));
    for (size_t i = 0; n_folders > 1 && i < found->count; i++)
        found->entries[i].name = found->entries[i].path;
    return n_folders > 0 ? ROAST_OK : roast_found_search(found, ".", depth, err);
}

/* ---- words ---- */

size_t roast_found_time(roast_utc when, char out[ROAST_FOUND_TIME]) {
    struct tm parts;
    time_t seconds = (time_t)(when.ns / 1000000000 - (when.ns % 1000000000 < 0));
    out[0] = '\0';
    return gmtime_r(&seconds, &parts) != NULL
               ? strftime(out, ROAST_FOUND_TIME, "%Y-%m-%d %H:%M:%S", &parts)
               : 0;
}

const char *roast_found_state(const roast_found_entry *entry) {
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

const char *roast_found_outcome(const roast_found_entry *entry) {
    return roast_end_name(entry->outcome);
}
