/* Measurements in folders: read from their small files, and by the slower road. */
#include "store_sample.h"

#include <fcntl.h>
#include <stdlib.h>

#include "roast/found.h"
#include "roast/measurement.h"

/* ---- measurements ---- */

static roast_run *run_of(double start, double wall, const char *chunksize, roast_end end) {
    const roast_report report = {
        .have_entries = true, .have_chunks = true, .entries = 1000, .chunks = 2};
    const char *const texts[][2] = {{"chunksize", chunksize},
                                    {"executor", "Dask \"x\"\n\x01"},
                                    {"processor", "Dimuon ä"},
                                    {"git_revision", "abc"}};
    roast_run *run = empty_run();
    roast_ending *ending;
    roast_error err;
    roast_run_set_clock(run, start, start + wall);
    roast_run_set_report(run, &report);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_ok(
            roast_run_set_meta(run, roast_str_of(texts[i][0]), roast_str_of(texts[i][1]), &err),
            err);
    assert_ok(roast_ending_new(end, &ending, &err), err);
    roast_run_take_ending(run, ending);
    roast_run_take_chunks(run, plain_log(1, 1, 5));
    return run;
}

static void save_at(const char *name, double start, double wall, roast_end end) {
    char path[256];
    roast_error err;
    roast_run *run = run_of(start, wall, "5000", end);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(roast_measurement_save(run, path, true, (roast_str){NULL, 0}, &err), err);
    roast_run_free(run);
}

static roast_found *found_in(const char *path, const char *metric) {
    roast_found *found;
    roast_error err;
    const roast_found_wanted wanted = {.config = true, .metric = metric, .facts = true};
    assert_ok(roast_found_new(&found, &err), err);
    assert_ok(roast_found_search(found, path, ROAST_FOUND_DEPTH, &err), err);
    assert_ok(roast_found_read(found, &wanted, &err), err);
    return found;
}

/* Replaces a part of metadata.json by another text, of the same length or not. */
static void change_metadata(const char *part, const char *by) {
    static char text[1 << 16];
    int fd = open(inside("metadata.json"), O_RDWR);
    assert_true(fd >= 0);
    ssize_t len = read(fd, text, sizeof text - 1);
    assert_true(len > 0);
    text[len] = '\0';
    char *at = strstr(text, part);
    assert_non_null(at);
    memmove(at + strlen(by), at + strlen(part), strlen(at + strlen(part)) + 1);
    memcpy(at, by, strlen(by));
    assert_int_equal(0, ftruncate(fd, 0));
    assert_int_equal(strlen(text), pwrite(fd, text, strlen(text), 0));
    close(fd);
}

static void expect_same_text(const char *a, const char *b) {
    assert_true((a == NULL) == (b == NULL));
    if (a != NULL)
        assert_string_equal(a, b);
}

static void expect_same_value(roast_value a, roast_value b) {
    assert_int_equal(a.kind, b.kind);
    if (a.kind != ROAST_VALUE_NONE)
        assert_true(roast_value_number(a) == roast_value_number(b));
}

static void expect_same(const roast_found_entry *a, const roast_found_entry *b) {
    assert_null(a->fault);
    assert_null(b->fault);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->have_when, b->have_when);
    assert_int_equal(a->when.ns, b->when.ns);
    assert_int_equal(a->outcome, b->outcome);
    for (int i = 0; i < ROAST_FOUND_FIGURE_COUNT; i++)
        expect_same_value(a->figures[i], b->figures[i]);
    expect_same_value(a->extra, b->extra);
    expect_same_text(a->processor, b->processor);
    expect_same_text(a->datasets, b->datasets);
    for (int i = 0; i < ROAST_FACT_COUNT; i++)
        expect_same_text(a->facts[i], b->facts[i]);
}

/* ---- two roads ---- */

static void test_both_roads_agree(void **state) {
    (void)state;
    save_at("run", 1.7e9 + 0.25, 10, ROAST_END_done);
    roast_found *quick = found_in(folder, "event_rate_elapsed_khz"); /* another name */
    change_metadata("\"checksum\": \"", "\"checksum\":  \"");        /* as an editor may leave it */
    roast_found *slow = found_in(folder, "event_rate_wall_khz");
    assert_int_equal(1, roast_found_all(quick).count);
    const roast_found_entry *entry = roast_found_all(quick).entries;
    expect_same(entry, roast_found_all(slow).entries);
    assert_string_equal("run", entry->name);
    assert_string_equal("Dimuon ä", entry->processor);
    assert_string_equal("Dask \"x\"\n\x01", entry->facts[ROAST_FACT_executor]);
    assert_string_equal("done", roast_found_outcome(entry));
    assert_non_null(entry->datasets);
    assert_near(0.1, roast_value_number(entry->extra));
    assert_near(5000, roast_value_number(entry->figures[ROAST_FOUND_chunksize]));
    assert_true(llabs(entry->when.ns - INT64_C(1700000000250000000)) < 1000); /* of a double */
    roast_found_free(quick);
    roast_found_free(slow);
}

/* A changed number is not believed: the checksum is another one, and run.sqlite knows. */
static void test_changed_metadata(void **state) {
    (void)state;
    save_at("run", 1.7e9, 10, ROAST_END_done);
    change_metadata("\"wall_time\": 10.0", "\"wall_time\": 99.0");
    roast_found *found = found_in(place, "wall_time");
    assert_near(10, roast_value_number(roast_found_all(found).entries[0].extra));
    roast_found_free(found);
}

/* Without metadata.json, with a pipe in its place, or with one that is too large: nothing blocks. */
static void test_no_metadata(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        save_at("run", 1.7e9, 10, ROAST_END_failed);
        assert_int_equal(0, unlink(inside("metadata.json")));
        if (kind == 1)
            assert_int_equal(0, mkfifo(inside("metadata.json"), 0600));
        if (kind == 2) {
            int fd = open(inside("metadata.json"), O_WRONLY | O_CREAT, 0600);
            assert_int_equal(0, ftruncate(fd, INT64_C(1) << 40));
            close(fd);
        }
        roast_found *found = found_in(place, "wall_time");
        assert_null(roast_found_all(found).entries[0].fault);
        assert_near(10, roast_value_number(roast_found_all(found).entries[0].extra));
        roast_found_free(found);
    }
}

/* The header of run.sqlite tells what a glance may not pass over. */
static void test_cut_database(void **state) {
    (void)state;
    char *bytes;
    size_t len;
    roast_error err;
    struct stat info;
    save_at("run", 1.7e9, 10, ROAST_END_done);
    assert_ok(roast_store_glance(place, "metadata.json", 1 << 20, &bytes, &len, &err), err);
    assert_int_equal(len, strlen(bytes));
    roast_free(bytes);
    assert_status(ROAST_ELIMIT, roast_store_glance(place, "metadata.json", 10, &bytes, &len, &err));
    assert_status(ROAST_ENOTFOUND,
                  roast_store_glance(place, "config.json", 10, &bytes, &len, &err));
    assert_int_equal(0, stat(inside("run.sqlite"), &info));
    assert_int_equal(0, truncate(inside("run.sqlite"), info.st_size / 2));
    assert_status(ROAST_ESTATE,
                  roast_store_glance(place, "metadata.json", 1 << 20, &bytes, &len, &err));
    roast_found *found = found_in(place, NULL);
    assert_non_null(roast_found_all(found).entries[0].fault);
    roast_found_free(found);
}

/* ---- choosing ---- */

static void expect_kept(const char *filter, size_t expected) {
    roast_found_filter parsed;
    char hint[ROAST_FOUND_HINT];
    roast_error err;
    roast_found *found = found_in(folder, NULL);
    assert_ok(roast_found_filter_parse(filter, &parsed, hint, &err), err);
    roast_found_keep(found, &parsed, 1);
    if (roast_found_all(found).count != expected)
        fail_msg("%s keeps %zu", filter, roast_found_all(found).count);
    roast_found_free(found);
}

static void test_choosing(void **state) {
    (void)state;
    roast_found_filter filter;
    char hint[ROAST_FOUND_HINT];
    roast_error err;
    save_at("a", 1.7e9, 10, ROAST_END_done);
    save_at("b", 1.8e9, 20, ROAST_END_failed);
    save_at("c", 1.75e9, 30, ROAST_END_done);
    expect_kept("wall>10", 2);
    expect_kept("wall<=10", 1);
    expect_kept("outcome=failed", 1);
    expect_kept("when>=2024", 2);
    expect_kept("chunksize=5000", 3);
    expect_kept("processor=Dimuon ä", 3);
    expect_kept("a", 1);
    expect_kept("[bc]", 2);
    assert_status(ROAST_EINVAL, roast_found_filter_parse("wal>1", &filter, hint, &err));
    assert_string_equal("did you mean \"wall\"?", hint);
    assert_status(ROAST_EINVAL, roast_found_filter_parse("wall>x", &filter, hint, &err));

    roast_found *found = found_in(folder, NULL);
    roast_found_sort(found, ROAST_FOUND_BY_when, false, 2);
    assert_int_equal(2, roast_found_all(found).count);
    assert_string_equal("b", roast_found_all(found).entries[0].name);
    assert_string_equal("c", roast_found_all(found).entries[1].name);
    roast_sink *sink;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    roast_found_json(found, sink);
    roast_sink_write(sink, "", 1);
    const char *json = roast_sink_memory(sink).data;
    const char *b = strstr(json, "\"name\": \"b\""), *c = strstr(json, "\"name\": \"c\"");
    assert_true(b != NULL && c > b && strstr(json, "\"name\": \"a\"") == NULL);
    assert_non_null(strstr(b, "\"wall_time\": 20"));
    assert_non_null(strstr(b, "\"processor\": \"Dimuon ä\""));
    roast_sink_free(sink);
    roast_found_free(found);
}

static void test_words(void **state) {
    (void)state;
    char text[ROAST_FOUND_TIME], hint[ROAST_FOUND_HINT];
    roast_found_entry entry = {
        .name = "run", .processor = "Dimuon", .config = "a=1", .outcome = ROAST_END_failed};
    entry.facts[ROAST_FACT_executor] = "Dask";
    const char *const texts[] = {
        [ROAST_FOUND_BY_name] = "run",        [ROAST_FOUND_BY_when] = NULL,
        [ROAST_FOUND_BY_outcome] = "failed",  [ROAST_FOUND_BY_executor] = "Dask",
        [ROAST_FOUND_BY_config] = "a=1",      [ROAST_FOUND_BY_state] = "finished",
        [ROAST_FOUND_BY_processor] = "Dimuon"};
    for (int key = 0; key < ROAST_FOUND_KEYS; key++) {
        assert_int_equal(key, roast_found_key(roast_str_of(roast_found_key_name(key))));
        expect_same_text(texts[key], roast_found_text(&entry, key));
    }
    assert_int_equal(ROAST_FOUND_KEYS, roast_found_key(roast_str_of("colour")));
    roast_found_key_hint(roast_str_of("colour"), hint);
    assert_non_null(strstr(hint, "there are wall events"));
    assert_non_null(strstr(hint, " processor")); /* all of them have room */
    assert_string_equal("", roast_found_state(&entry));
    entry.state = ROAST_STORE_LIVE;
    assert_string_equal("live", roast_found_state(&entry));
    entry.state = ROAST_STORE_UNFINISHED;
    assert_string_equal("unfinished", roast_found_state(&entry));
    entry.kind = ROAST_STORE_LEGACY;
    assert_string_equal("0.1.x", roast_found_state(&entry));
    assert_int_equal(19, roast_found_time((roast_utc){INT64_C(1700000000000000000)}, text));
    assert_string_equal("2023-11-14 22:13:20", text);
    roast_found_time((roast_utc){-1}, text);
    assert_string_equal("1969-12-31 23:59:59", text);
}

/* ---- what is asked for ---- */

static void test_facts_have_names(void **state) {
    (void)state;
    assert_string_equal("git_revision", roast_found_fact_name(ROAST_FACT_git_revision));
    assert_string_equal("host", roast_found_fact_name(ROAST_FACT_COUNT - 1));
    assert_null(roast_found_fact_name(ROAST_FACT_COUNT));
    assert_null(roast_found_fact_name(-1));
}

static void test_unknown_metric(void **state) {
    (void)state;
    roast_found *found;
    roast_error err;
    assert_ok(roast_found_new(&found, &err), err);
    assert_status(ROAST_EINVAL,
                  roast_found_read(found, &(roast_found_wanted){.metric = "x"}, &err));
    assert_status(ROAST_ENOTFOUND, roast_found_search(found, inside("nothing"), 3, &err));
    roast_found_free(found);
}

/* ---- memory ---- */

static roast_status all_of_it(void *context) {
    (void)context;
    roast_found *found;
    roast_error err;
    const roast_found_wanted wanted = {.config = true, .metric = "wall_time", .facts = true};
    const char *const folders[] = {folder, place};
    ROAST_TRY(roast_found_new(&found, &err));
    roast_status status = roast_found_search_all(found, folders, 2, 4, &err);
    if (status == ROAST_OK)
        status = roast_found_read(found, &wanted, &err);
    roast_found_free(found);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    save_at("run", 1.7e9, 10, ROAST_END_done);
    assert_true(alloc_walk(all_of_it, NULL) > 10);
    change_metadata("\"checksum\": \"", "\"checksum\":  \"");
    assert_true(alloc_walk(all_of_it, NULL) > 10);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_both_roads_agree),
        WITH_FOLDER(test_changed_metadata),
        WITH_FOLDER(test_no_metadata),
        WITH_FOLDER(test_cut_database),
        WITH_FOLDER(test_choosing),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_facts_have_names),
        WITH_FOLDER(test_unknown_metric),
        WITH_FOLDER(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
