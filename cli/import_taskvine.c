/* roast import --taskvine: a measurement from the log of a TaskVine manager. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import.h"
#include "roast/format.h"
#include "roast/grid.h"
#include "roast/measurement.h"
#include "roast/taskvine.h"

#define LOGS "vine-logs"
#define LOG  "transactions"

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

/* false: the path is too long. */
static bool join(char out[IMPORT_PATH], const char *folder, const char *name) {
    int len = snprintf(out, IMPORT_PATH, "%s/%s", folder, name);
    return len >= 0 && len < IMPORT_PATH;
}

/* The log that an argument means: itself, or below it. */
static bool find_log(const char *path, char out[IMPORT_PATH]) {
    char logs[IMPORT_PATH];
    if (!is_folder(path))
        return snprintf(out, IMPORT_PATH, "%s", path) < IMPORT_PATH;
    if (!join(out, path, LOG))
        return false;
    return exists(out) || !join(logs, path, LOGS) || !is_folder(logs) || join(out, logs, LOG);
}

/* The folder of the run: above that of its logs. */
_Static_assert(IMPORT_PATH >= PATH_MAX, "a real path fits");
static void run_of(const char *log, char out[IMPORT_PATH]) {
    if (realpath(log, out) == NULL)
        snprintf(out, IMPORT_PATH, "%s", log);
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(out, '/');
        if (slash == NULL || slash == out || (i == 1 && strcmp(slash + 1, LOGS) != 0))
            return;
        *slash = '\0';
    }
}

static bool target_of(const import_request *wanted, const char *run, char out[IMPORT_PATH]) {
    const char *slash = strrchr(run, '/');
    if (wanted->output != NULL)
        return join(out, wanted->output, slash != NULL ? slash + 1 : run);
    int len = snprintf(out, IMPORT_PATH, "%s" IMPORT_SUFFIX, run);
    return len >= 0 && len < IMPORT_PATH;
}

static roast_status read_log(const char *path, roast_taskvine **out, roast_run *run,
                             roast_error *err) {
    int64_t offset = 0;
    ROAST_TRY(roast_taskvine_new(out, err));
    ROAST_TRY(roast_taskvine_feed_file(*out, path, &offset, err));
    ROAST_TRY(roast_taskvine_finish(*out, err));
    return roast_taskvine_fill(*out, run, err);
}

/* ---- what was found ---- */

static void tell_tries(roast_sink *out, const roast_run *run) {
    const roast_attempts *attempts = roast_run_attempts_view(run);
    uint64_t counts[ROAST_OUTCOME_COUNT] = {0};
    const char *before = "";
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt))
        counts[attempt.outcome]++;
    roast_sink_printf(out, "  tries      %" PRIu64 ": ", roast_attempts_count(attempts));
    for (int i = 0; i < ROAST_OUTCOME_COUNT; i++)
        if (counts[i] > 0) {
            roast_sink_printf(out, "%s%" PRIu64 " %s", before, counts[i],
                              roast_outcome_name((roast_outcome)i));
            before = ", ";
        }
    roast_sink_puts(out, "\n");
}

static void tell_workers(roast_sink *out, const roast_run *run) {
    const roast_attempts *attempts = roast_run_attempts_view(run);
    uint32_t lost = 0;
    for (uint32_t i = 0; i < roast_attempts_departure_count(attempts); i++)
        lost += !roast_attempts_departure(attempts, i).expected;
    roast_sink_printf(out, "  workers    %" PRIu32,
                      roast_series_worker_count(roast_run_series_view(run)));
    if (lost > 0)
        roast_sink_printf(out, ", %" PRIu32 " left unexpectedly", lost);
    roast_sink_puts(out, "\n");
}

static void tell_transfers(roast_sink *out, const roast_taskvine_facts *facts) {
    for (int i = 0; i < ROAST_WAY_COUNT; i++) {
        const roast_taskvine_transfers *sum = &facts->transfers[i];
        char bytes[64], seconds[64];
        if (sum->count == 0)
            continue;
        roast_format_value(roast_value_int(sum->bytes), "bytes", bytes, sizeof bytes);
        roast_format_value(roast_value_real((double)sum->us / 1e6), "s", seconds, sizeof seconds);
        roast_sink_printf(out, "  files      %" PRIu64 " %s: %s, %s\n", sum->count,
                          roast_taskvine_way_words((roast_taskvine_way)i), bytes, seconds);
    }
}

/* ---- one log ---- */

static roast_status convert(const import_request *wanted, const char *log_path, const char *origin,
                            const char *target, roast_sink *told, roast_error *err) {
    roast_taskvine *log = NULL;
    roast_run *run = NULL;
    roast_status status = roast_run_new(&run, err);
    if (status == ROAST_OK)
        status = read_log(log_path, &log, run, err);
    if (status == ROAST_OK)
        status = roast_run_set_meta(run, roast_str_of(IMPORT_ORIGIN), roast_str_of(origin), err);
    if (status == ROAST_OK && !wanted->dry_run)
        status = roast_measurement_save(run, target, false, (roast_str){NULL, 0}, err);
    if (status == ROAST_OK) {
        tell_tries(told, run);
        tell_workers(told, run);
        tell_transfers(told, roast_taskvine_get_facts(log));
    }
    roast_run_free(run);
    roast_taskvine_free(log);
    return status;
}

static import_outcome import_one(roast_sink *out, const import_request *wanted, const char *path,
                                 cli_exit *code) {
    char log[IMPORT_PATH], target[IMPORT_PATH], run[IMPORT_PATH];
    roast_error err;
    roast_sink *told = NULL;
    roast_error_reset(&err);
    bool fits = find_log(path, log);
    if (fits) {
        run_of(log, run);
        fits = target_of(wanted, run, target);
    }
    if (!fits) {
        *code = cli_fail(CLI_INPUT, NULL, "%s: its path is too long", path);
        return FAILED;
    }
    if (import_was_done(target, run)) {
        import_tell(out, "skipped", path, target);
        return SKIPPED;
    }
    roast_status status = roast_sink_new_memory(&told, &err);
    if (status == ROAST_OK)
        status = convert(wanted, log, run, target, told, &err);
    if (status == ROAST_OK) {
        import_tell(out, wanted->dry_run ? "would import" : "imported", path, target);
        roast_str text = roast_sink_memory(told);
        roast_sink_write(out, text.data, text.len);
    } else {
        *code = cli_fail_error(&err, status == ROAST_EIO && err.os_errno == ENOENT
                                         ? "the logs of a run are in vine-run-info/<run>/" LOGS
                                         : NULL);
    }
    roast_sink_free(told);
    return status == ROAST_OK ? IMPORTED : FAILED;
}

cli_exit import_taskvine(roast_sink *out, const import_request *wanted, int n_args, char **args) {
    size_t counts[IMPORT_OUTCOMES] = {0};
    cli_exit worst = CLI_OK;
    for (int i = 0; i < n_args; i++) {
        cli_exit code = CLI_OK;
        counts[import_one(out, wanted, args[i], &code)]++;
        worst = code > worst ? code : worst;
    }
    import_tell_counts(out, wanted, counts);
    return worst;
}
