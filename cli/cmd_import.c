#include "cli.h"
#include "import.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "roast/found.h"
#include "roast/grid.h"
#include "roast/legacy.h"
#include "roast/measurement.h"

typedef import_request request;

static const cli_option options[] = {
    {CLI_TEXT, 'o', "output", "DIR",
     "the folder of the new measurements, which keep their names; without it, each is written next "
     "to its original, with " IMPORT_SUFFIX " appended to the name",
     offsetof(request, output)},
    {CLI_FLAG, '\0', "taskvine", NULL,
     "each DIR holds the logs of a TaskVine run (vine-run-info/<run>/vine-logs); the run need not "
     "have been measured",
     offsetof(request, taskvine)},
    {CLI_FLAG, '\0', "dry-run", NULL, "only say what would be done", offsetof(request, dry_run)},
    {CLI_INTEGER, 'd', "depth", "N", "how many folders deep to look (16)", offsetof(request, depth),
     .least = 0, .most = 1000},
    {0},
};

/* ---- one of them ---- */

/* false: the path is too long. */
static bool target_of(const request *wanted, const roast_found_entry *entry,
                      char out[IMPORT_PATH]) {
    size_t len = strlen(entry->path);
    while (len > 1 && entry->path[len - 1] == '/')
        len--;
    int size = wanted->output != NULL
                   ? snprintf(out, IMPORT_PATH, "%s/%s", wanted->output, entry->name)
                   : snprintf(out, IMPORT_PATH, "%.*s" IMPORT_SUFFIX, (int)len, entry->path);
    return size >= 0 && size < IMPORT_PATH;
}

/* The absolute path of an original. */
static void origin_of(const roast_found_entry *entry, char out[PATH_MAX]) {
    if (realpath(entry->path, out) == NULL)
        snprintf(out, PATH_MAX, "%s", entry->path);
}

bool import_was_done(const char *target, const char *origin) {
    roast_store *store;
    if (roast_store_is_measurement(target) != ROAST_STORE_OURS ||
        roast_store_open(target, &store, NULL) != ROAST_OK)
        return false;
    roast_str from = roast_run_meta(roast_store_head(store), roast_str_of(IMPORT_ORIGIN));
    bool same = roast_str_equal(from, roast_str_of(origin));
    roast_store_close(store);
    return same;
}

static roast_status convert(const char *path, const char *origin, const char *target,
                            roast_error *err) {
    roast_legacy_files *files;
    roast_run *run = NULL;
    ROAST_TRY(roast_legacy_files_read(path, &files, err));
    const roast_legacy_texts texts = roast_legacy_files_texts(files);
    roast_status status = roast_legacy_decode(&texts, &run, err);
    if (status == ROAST_OK)
        status = roast_run_set_meta(run, roast_str_of(IMPORT_ORIGIN), roast_str_of(origin), err);
    if (status == ROAST_OK)
        status = roast_measurement_save(run, target, false, texts.config, err);
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

void import_tell(roast_sink *out, const char *what, const char *path, const char *target) {
    roast_sink_printf(out, "%s ", what);
    roast_text_put_clean(out, roast_str_of(path));
    roast_sink_puts(out, " -> ");
    roast_text_put_clean(out, roast_str_of(target));
    roast_sink_puts(out, "\n");
}

void import_tell_counts(roast_sink *out, const import_request *wanted,
                        const size_t counts[IMPORT_OUTCOMES]) {
    roast_sink_printf(out, "%zu %s, %zu skipped, %zu failed\n", counts[IMPORTED],
                      wanted->dry_run ? "to import" : "imported", counts[SKIPPED], counts[FAILED]);
}

static import_outcome import_one(roast_sink *out, const request *wanted,
                                 const roast_found_entry *entry, cli_exit *code) {
    char target[IMPORT_PATH], origin[PATH_MAX];
    roast_error err;
    roast_error_reset(&err);
    if (!target_of(wanted, entry, target)) {
        *code = cli_fail(CLI_INPUT, NULL, "%s: its path is too long", entry->path);
        return FAILED;
    }
    origin_of(entry, origin);
    if (import_was_done(target, origin)) {
        import_tell(out, "skipped", entry->path, target);
        return SKIPPED;
    }
    roast_status status = wanted->dry_run ? try_reading(entry->path, &err)
                                          : convert(entry->path, origin, target, &err);
    if (status != ROAST_OK) {
        *code = cli_fail_error(&err, NULL);
        return FAILED;
    }
    import_tell(out, wanted->dry_run ? "would import" : "imported", entry->path, target);
    return IMPORTED;
}

/* ---- all of them ---- */

/* A line that the next one replaces; on a terminal only. */
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

static cli_exit import_all(roast_sink *out, const request *wanted, const roast_found_list *list) {
    size_t counts[IMPORT_OUTCOMES] = {0};
    cli_exit worst = CLI_OK;
    for (size_t i = 0; i < list->count; i++) {
        cli_exit code = CLI_OK;
        show_progress(i, list->count, list->entries[i].name);
        counts[import_one(out, wanted, &list->entries[i], &code)]++;
        worst = code > worst ? code : worst;
    }
    clear_progress();
    if (list->count == 0)
        return cli_fail(CLI_INPUT, "\"roast ls\" lists all measurements",
                        "no measurement of roastcoffea 0.1.x was found");
    import_tell_counts(out, wanted, counts);
    return worst;
}

static void keep_legacy(roast_found_list *list) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].kind == ROAST_STORE_LEGACY)
            list->entries[kept++] = list->entries[i];
    list->count = kept;
}

/* ---- the verb ---- */

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {.depth = ROAST_FOUND_DEPTH};
    roast_found *found = NULL;
    roast_error err;
    cli_exit code = cli_read_options(&cli_verb_import, &wanted, &n_args, args);
    if (code != CLI_OK)
        return code;
    if (n_args == 0)
        return cli_fail(CLI_USAGE, "usage: roast import [OPTION ...] DIR ...",
                        "\"import\" needs a folder");
    if (wanted.taskvine)
        return import_taskvine(out, &wanted, n_args, args);
    roast_status status = roast_found_new(&found, &err);
    for (int i = 0; status == ROAST_OK && i < n_args; i++)
        status = roast_found_search(found, args[i], wanted.depth, &err);
    if (status == ROAST_OK) {
        roast_found_list list = roast_found_all(found);
        keep_legacy(&list);
        code = import_all(out, &wanted, &list);
    } else {
        code = cli_fail_error(&err, NULL);
    }
    roast_found_free(found);
    return code;
}

const cli_verb cli_verb_import = {
    .name = "import",
    .usage = "[OPTION ...] DIR ...",
    .summary = "converts measurements of roastcoffea 0.1.x, or logs of TaskVine",
    .details = "Converts each 0.1.x measurement below each DIR (or DIR itself). The originals\n"
               "do not change; those that were imported before are skipped. The metrics are\n"
               "computed again from the measured data; those of 0.1.x are kept as well. If a\n"
               "measurement cannot be read, the others are still imported, and the exit code\n"
               "is that of the worst error.\n"
               "\n"
               "With --taskvine, a measurement is made from the log that TaskVine writes of\n"
               "every run: what the cores were used for, all tries of all tasks, lost workers,\n"
               "transfers and findings. What happened inside a task, such as events and bytes\n"
               "read, is not in the log. DIR is the folder of the logs or of the run.\n",
    .options = options,
    .run = run,
};
