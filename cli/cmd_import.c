#include "cli.h"
#include "found.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "roast/grid.h"
#include "roast/legacy.h"
#include "roast/measurement.h"

enum { DEFAULT_DEPTH = 16, PATH_SIZE = 8192 };
/* Behind the name of the original, where no folder is given. */
#define SUFFIX ".imported"
/* Where an imported one says what it was made of. */
#define ORIGIN "imported_from"

enum { OUTPUT = 1, DRY_RUN, DEPTH };

static const cli_option options[] = {
    {OUTPUT, 'o', "output", "DIR",
     "where to put them, each under the name that it has below its folder; without it, beside the "
     "original, with " SUFFIX " behind its name"},
    {DRY_RUN, '\0', "dry-run", NULL, "only say what would be done"},
    {DEPTH, 'd', "depth", "N", "how many folders deep to look (16)"},
    {0},
};

typedef struct request {
    const char *output;
    bool dry_run;
    int64_t depth;
} request;

/* ---- one of them ---- */

typedef enum outcome { IMPORTED, SKIPPED, FAILED } outcome;

/* false: the path is too long. */
static bool target_of(const request *wanted, const found_entry *entry, char out[PATH_SIZE]) {
    size_t len = strlen(entry->path);
    while (len > 1 && entry->path[len - 1] == '/')
        len--;
    int size = wanted->output != NULL
                   ? snprintf(out, PATH_SIZE, "%s/%s", wanted->output, entry->name)
                   : snprintf(out, PATH_SIZE, "%.*s" SUFFIX, (int)len, entry->path);
    return size >= 0 && size < PATH_SIZE;
}

/* The path by which an original is known, wherever we stand. */
static void origin_of(const found_entry *entry, char out[PATH_MAX]) {
    if (realpath(entry->path, out) == NULL)
        snprintf(out, PATH_MAX, "%s", entry->path);
}

/* Whether what is there was made of this very original. */
static bool was_imported(const char *target, const char *origin) {
    roast_store *store;
    if (roast_store_is_measurement(target) != ROAST_STORE_OURS ||
        roast_store_open(target, &store, NULL) != ROAST_OK)
        return false;
    roast_str from = roast_run_meta(roast_store_head(store), roast_str_of(ORIGIN));
    bool same = roast_str_equal(from, roast_str_of(origin));
    roast_store_close(store);
    return same;
}

static roast_status save(roast_run *run, roast_str config, const char *target, roast_error *err) {
    roast_measurement *measurement;
    roast_store_options store = {.path = target};
    ROAST_TRY(roast_measurement_new(run, config, roast_utc_now(), &measurement, err));
    roast_measurement_fill(measurement, &store);
    roast_status status = roast_store_save(run, &store, err);
    roast_measurement_free(measurement);
    return status;
}

static roast_status convert(const char *path, const char *origin, const char *target,
                            roast_error *err) {
    roast_legacy_files *files;
    roast_run *run = NULL;
    ROAST_TRY(roast_legacy_files_read(path, &files, err));
    const roast_legacy_texts texts = roast_legacy_files_texts(files);
    roast_status status = roast_legacy_decode(&texts, &run, err);
    if (status == ROAST_OK)
        status = roast_run_set_meta(run, roast_str_of(ORIGIN), roast_str_of(origin), err);
    if (status == ROAST_OK)
        status = save(run, texts.config, target, err);
    roast_run_free(run);
    roast_legacy_files_free(files);
    return status;
}

/* Reads all of it, as an import would. */
static roast_status try_reading(const char *path, roast_error *err) {
    roast_run *run;
    ROAST_TRY(roast_legacy_load(path, &run, err));
    roast_run_free(run);
    return ROAST_OK;
}

static void tell(roast_sink *out, const char *what, const found_entry *entry, const char *target) {
    roast_sink_printf(out, "%s ", what);
    roast_text_put_clean(out, roast_str_of(entry->path));
    roast_sink_puts(out, " -> ");
    roast_text_put_clean(out, roast_str_of(target));
    roast_sink_puts(out, "\n");
}

static outcome import_one(roast_sink *out, const request *wanted, const found_entry *entry,
                          cli_exit *code) {
    char target[PATH_SIZE], origin[PATH_MAX];
    roast_error err;
    roast_error_reset(&err);
    if (!target_of(wanted, entry, target)) {
        *code = cli_fail(CLI_INPUT, NULL, "%s: its path is too long", entry->path);
        return FAILED;
    }
    origin_of(entry, origin);
    if (was_imported(target, origin)) {
        tell(out, "skipped", entry, target);
        return SKIPPED;
    }
    roast_status status = wanted->dry_run ? try_reading(entry->path, &err)
                                          : convert(entry->path, origin, target, &err);
    if (status != ROAST_OK) {
        *code = cli_fail_error(&err, NULL);
        return FAILED;
    }
    tell(out, wanted->dry_run ? "would import" : "imported", entry, target);
    return IMPORTED;
}

/* ---- all of them ---- */

/* A line that the next one replaces; only for people. */
static void show_progress(size_t done, size_t count, const char *name) {
    enum { SHOWN = 48 };
    size_t len = strlen(name);
    roast_sink *out;
    if (!isatty(STDERR_FILENO) || roast_sink_new_fd(STDERR_FILENO, &out, NULL) != ROAST_OK)
        return;
    roast_sink_printf(out, "\r\x1b[K%zu of %zu  ", done + 1, count);
    roast_text_put_clean(out, roast_str_of(len <= SHOWN ? name : name + len - SHOWN));
    roast_sink_finish(out, NULL);
    roast_sink_free(out);
}

static void clear_progress(void) {
    if (isatty(STDERR_FILENO))
        fputs("\r\x1b[K", stderr);
}

static cli_exit import_all(roast_sink *out, const request *wanted, const found_list *list) {
    size_t counts[FAILED + 1] = {0};
    cli_exit worst = CLI_OK;
    for (size_t i = 0; i < list->count; i++) {
        cli_exit code = CLI_OK;
        show_progress(i, list->count, list->entries[i].name);
        counts[import_one(out, wanted, &list->entries[i], &code)]++;
        worst = code > worst ? code : worst;
    }
    clear_progress();
    if (list->count == 0)
        return cli_fail(CLI_INPUT, "\"roast ls\" lists what is there",
                        "no measurement of roastcoffea 0.1.x was found");
    roast_sink_printf(out, "%zu %s, %zu skipped, %zu failed\n", counts[IMPORTED],
                      wanted->dry_run ? "to import" : "imported", counts[SKIPPED], counts[FAILED]);
    return worst;
}

static void keep_legacy(found_list *list) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].kind == ROAST_STORE_LEGACY)
            list->entries[kept++] = list->entries[i];
        else
            roast_free(list->entries[i].path);
    list->count = kept;
}

/* ---- arguments ---- */

static cli_exit take_options(request *wanted, int *n_folders, int n_args, char **args) {
    cli_parser parser = {.verb = &cli_verb_import, .n_args = n_args, .args = args};
    int id;
    while ((id = cli_next_argument(&parser)) != CLI_ARGS_END) {
        if (id == CLI_ARGS_WRONG || (id == DEPTH && !cli_integer(&parser, 0, 1000, &wanted->depth)))
            return CLI_USAGE;
        if (id == OUTPUT)
            wanted->output = parser.value;
        wanted->dry_run = wanted->dry_run || id == DRY_RUN;
        *n_folders += id == CLI_ARGS_PLAIN;
    }
    if (*n_folders == 0)
        return cli_fail(CLI_USAGE, "usage: roast import [OPTION ...] DIR ...",
                        "\"import\" needs a folder");
    return CLI_OK;
}

static roast_status search_all(found_list *list, const request *wanted, int n_args, char **args,
                               roast_error *err) {
    cli_parser parser = {.verb = &cli_verb_import, .n_args = n_args, .args = args};
    int id;
    while ((id = cli_next_argument(&parser)) != CLI_ARGS_END)
        if (id == CLI_ARGS_PLAIN)
            ROAST_TRY(found_search(list, parser.value, wanted->depth, err));
    return ROAST_OK;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {.depth = DEFAULT_DEPTH};
    found_list list = {0};
    roast_error err;
    int n_folders = 0;
    cli_exit code = take_options(&wanted, &n_folders, n_args, args);
    if (code != CLI_OK)
        return code;
    roast_status status = search_all(&list, &wanted, n_args, args, &err);
    if (status == ROAST_OK) {
        keep_legacy(&list);
        code = import_all(out, &wanted, &list);
    } else {
        code = cli_fail_error(&err, NULL);
    }
    found_reset(&list);
    return code;
}

const cli_verb cli_verb_import = {
    .name = "import",
    .usage = "[OPTION ...] DIR ...",
    .summary = "turns measurements of roastcoffea 0.1.x into ours",
    .details = "Converts each 0.1.x measurement below each DIR (or DIR itself). The originals\n"
               "stay as they are; one that was imported before is skipped. What 0.1.x had\n"
               "computed is computed anew from what it had measured, and kept beside that as it\n"
               "was. If one cannot be read the others are imported all the same, and the exit\n"
               "code tells of the worst.\n",
    .options = options,
    .run = run,
};
