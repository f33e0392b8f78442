/* "roast show" on measurements of every state: the program shows what the model draws, letter by
 * letter. */
#include "run_sample.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "roast/measurement.h"
#include "roast/store.h"
#include "roast/summary.h"

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/roast-show-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

static const char *path_of(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* ---- runs ---- */

/* Everything, and names of many kinds. */
static roast_run *odd_run(void) {
    static const char *const names[] = {
        "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
        "tt\xcc\x84 → 2ℓ2ν",
        "\x1b[31mred\x1b[0m",
        "[red]not red[/red]",
        "broken \xff\xfe",
        "root://host//store/data/a/rather/long/path/to/a/file/of/which/only/the/end/matters.root",
    };
    roast_run *run = full_run();
    roast_error err;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const roast_read read = read_of(names[i], 0.5, 1000 * (int64_t)(i + 1), 9000, 1);
        const roast_section section =
            section_of(names[i], ROAST_SECTION_TIME, -1, 1, (double)(i + 1) * 1e8);
        roast_chunk chunk = chunk_of(names[i], names[i], 1000, 0.25 * (double)(i + 1), 1);
        chunk.has_reads = true;
        chunk.reads = &read;
        chunk.n_reads = 1;
        chunk.sections = &section;
        chunk.n_sections = 1;
        append(run, &chunk);
    }
    assert_ok(roast_run_add_note(run, roast_str_of("a note\nof two lines"), &err), err);
    return run;
}

/* Saves a run, with or without a blob of its metrics. */
static void save(const roast_run *run, const char *name, const roast_store_blob_in *blob) {
    roast_store_options options = {
        .path = path_of(name), .overwrite = true, .blobs = blob, .n_blobs = blob != NULL};
    roast_error err;
    assert_ok(roast_store_save(run, &options, &err), err);
}

static void save_all(const roast_run *run, const char *name) {
    roast_error err;
    assert_ok(roast_measurement_save(run, path_of(name), true, (roast_str){0}, &err), err);
}

/* What the model draws. */
static char *drawn(const roast_run *run, bool full, unsigned width, bool color) {
    roast_metrics *metrics = compute(run);
    roast_summary *summary;
    roast_findings *findings;
    roast_sink *sink;
    roast_error err;
    assert_ok(roast_diagnose_run(run, metrics, &findings, &err), err);
    assert_ok(roast_summary_new(metrics, run, findings, &summary, &err), err);
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    roast_summary_draw(summary, full, width, color, sink);
    assert_ok(roast_sink_finish(sink, &err), err);
    roast_str text = roast_sink_memory(sink);
    char *copy = test_malloc(text.len + 1);
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    roast_sink_free(sink);
    roast_findings_free(findings);
    roast_summary_free(summary);
    roast_metrics_free(metrics);
    return copy;
}

/* ---- the program ---- */

/* What "roast show" prints; `before` is put in front of the command. */
static char *shown(const char *before, const char *name, const char *options, int *code) {
    char command[512];
    size_t used = 0, room = 1 << 20;
    char *text = test_malloc(room);
    const char *program = getenv("ROAST_PROGRAM");
    assert_non_null(program);
    snprintf(command, sizeof command, "%s '%s' show '%s' %s 2>'%s/stderr'", before, program,
             path_of(name), options, folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    for (size_t n; (n = fread(text + used, 1, room - used - 1, pipe)) > 0; used += n) {
    }
    text[used] = '\0';
    int status = pclose(pipe);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return text;
}

static void expect_shown(const char *before, const char *name, const char *options,
                         const char *expected) {
    int code;
    char *text = shown(before, name, options, &code);
    assert_int_equal(0, code);
    if (strcmp(expected, text) != 0)
        fail_msg("%s %s: '%s' instead of '%s'", name, options, text, expected);
    test_free(text);
}

static void expect_said(int code, const char *name, const char *options, const char *said) {
    int found;
    char *text = shown("", name, options, &found), message[2048];
    assert_int_equal(code, found);
    assert_string_equal("", text);
    test_free(text);
    FILE *file = fopen(path_of("stderr"), "r");
    assert_non_null(file);
    message[fread(message, 1, sizeof message - 1, file)] = '\0';
    fclose(file);
    if (strstr(message, said) == NULL)
        fail_msg("%s %s: '%s' does not say '%s'", name, options, message, said);
}

/* ---- finished ones ---- */

static void test_letter_by_letter(void **state) {
    (void)state;
    static const unsigned widths[] = {20, 60, 80, 100, 120, 200};
    roast_run *run = odd_run();
    save_all(run, "it");
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        char option[32], variable[32];
        char *expected = drawn(run, true, widths[i], false);
        char *screen = drawn(run, false, widths[i], false);
        snprintf(option, sizeof option, "--full --width %u", widths[i]);
        snprintf(variable, sizeof variable, "COLUMNS=%u", widths[i]);
        expect_shown("", "it", option, expected);
        expect_shown("", "it", option + strlen("--full "), screen);
        expect_shown(variable, "it", "--full", expected);
        expect_shown(variable, "it", "", screen);
        test_free(expected);
        test_free(screen);
    }
    char *plain = drawn(run, true, 80, false), *colored = drawn(run, true, 80, true);
    assert_non_null(strstr(plain, "\\x1b[31mred\\x1b[0m"));
    expect_shown("env -u COLUMNS", "it", "--full", plain); /* no terminal: no colour, 80 columns */
    expect_shown("COLUMNS=200", "it", "-w 80 --color never --full", plain);
    expect_shown("NO_COLOR=1", "it", "--width=80 --color=always --full", colored);
    test_free(plain);
    test_free(colored);
    roast_run_free(run);
}

static void test_json(void **state) {
    (void)state;
    roast_run *run = odd_run();
    save_all(run, "it");
    int code;
    char *text = shown("", "it", "--json", &code);
    assert_int_equal(0, code);
    assert_int_equal('{', text[0]);
    assert_string_equal("}\n", text + strlen(text) - 2);
    assert_non_null(strstr(text, "\"data_rate_gbps\""));
    assert_non_null(strstr(text, "\"a note\\nof two lines\""));
    test_free(text);
    roast_run_free(run);
}

/* ---- the metrics beside the run ---- */

/* Without the blob, or with one of another catalogue, all is computed again. */
static void test_without_metrics(void **state) {
    (void)state;
    roast_run *run = odd_run();
    char *expected = drawn(run, false, 80, false);
    save(run, "bare", NULL);
    expect_shown("", "bare", "-w 80", expected);

    roast_metrics *other;
    roast_sink *sink;
    roast_error err;
    assert_ok(roast_metrics_new(&other, &err), err);
    assert_ok(roast_metrics_set(other, "wall_time", roast_value_real(999), &err), err);
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    assert_ok(roast_metrics_encode(other, sink, &err), err);
    roast_str bytes = roast_sink_memory(sink);
    roast_store_blob_in blob = {ROAST_METRICS_BLOB, bytes.data, bytes.len};
    save(run, "other", &blob);
    expect_shown("", "other", "-w 80", expected);

    blob = (roast_store_blob_in){ROAST_METRICS_BLOB, "RCMX\x63 of another time", 21};
    save(run, "newer", &blob);
    expect_shown("", "newer", "-w 80", expected);

    blob = (roast_store_blob_in){ROAST_METRICS_BLOB, bytes.data, bytes.len - 1};
    save(run, "damaged", &blob);
    expect_said(4, "damaged", "", "checksum");
    roast_sink_free(sink);
    roast_metrics_free(other);
    test_free(expected);
    roast_run_free(run);
}

/* ---- live ones ---- */

static void expect_saved(const char *name, bool metrics, bool any, bool findings) {
    roast_store *store;
    roast_metrics *there = NULL;
    roast_findings *found = NULL;
    roast_error err;
    assert_ok(roast_store_open(path_of(name), &store, &err), err);
    assert_ok(roast_measurement_saved_metrics(store, false, &there, &err), err);
    assert_int_equal(metrics, there != NULL);
    roast_metrics_free(there);
    assert_ok(roast_measurement_saved_metrics(store, true, &there, &err), err);
    assert_int_equal(any, there != NULL);
    roast_metrics_free(there);
    assert_ok(roast_measurement_saved_findings(store, &found, &err), err);
    assert_int_equal(findings, found != NULL);
    roast_findings_free(found);
    roast_store_close(store);
}

/* Of the measurements of the test before: those that nobody computed, or another version. */
static void test_what_was_saved(void **state) {
    (void)state;
    roast_store *store;
    roast_metrics *metrics;
    roast_error err;
    roast_run *run = odd_run();
    save_all(run, "all");
    roast_run_free(run);
    expect_saved("all", true, true, true);
    expect_saved("bare", false, false, false);
    expect_saved("other", false, true, false);
    expect_saved("newer", false, false, false);
    assert_ok(roast_store_open(path_of("damaged"), &store, &err), err);
    assert_status(ROAST_ECORRUPT, roast_measurement_saved_metrics(store, true, &metrics, &err));
    assert_null(metrics);
    roast_store_close(store);
}

static void test_live_and_unfinished(void **state) {
    (void)state;
    roast_run *run = odd_run();
    roast_store_options options = {.path = path_of("live")};
    roast_store_live *live;
    roast_error err;
    char *tables = drawn(run, false, 80, false), expected[40000];
    assert_ok(roast_store_live_begin(&options, &live, &err), err);
    assert_ok(roast_store_live_append(live, run, &err), err);
    snprintf(expected, sizeof expected, "live: this run is still being measured\n\n%s", tables);
    expect_shown("", "live", "-w 80", expected);
    roast_store_live_close(live); /* as if it had been killed */
    snprintf(expected, sizeof expected, "unfinished: its writer ended before the run did\n\n%s",
             tables);
    expect_shown("", "live", "-w 80", expected);
    int code;
    char *json = shown("", "live", "--json", &code);
    assert_non_null(strstr(json, "\"unfinished: its writer ended before the run did\""));
    test_free(json);
    test_free(tables);
    roast_run_free(run);
}

static void test_nothing_there(void **state) {
    (void)state;
    expect_said(3, "nothing", "", "nothing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_letter_by_letter), cmocka_unit_test(test_json),
        cmocka_unit_test(test_without_metrics),  cmocka_unit_test(test_live_and_unfinished),
        cmocka_unit_test(test_what_was_saved),   cmocka_unit_test(test_nothing_there),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
