/* Measurements of roastcoffea 0.1.x: real ones, and all that may be wrong with them. */
#include "support.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "roast/legacy.h"
#include "store/legacy/internal.h"
#include "store/place/place.h"

#define DATA "tests/data/measurements_0_1_2/"
#define MIB  1048576

static const char *const fixtures[] = {"sections", "report_only", "failed_chunks", "local",
                                       "odd_values"};
enum { FIXTURES = sizeof fixtures / sizeof *fixtures };

static roast_run *load(const char *name) {
    char path[128];
    roast_run *run = NULL;
    roast_error err;
    snprintf(path, sizeof path, DATA "%s", name);
    assert_ok(roast_legacy_load(path, &run, &err), err);
    return run;
}

static roast_status decode(const char *metrics, roast_run **run, roast_error *err) {
    const roast_legacy_texts texts = {
        roast_str_of(metrics), roast_str_of("100.5,110.5"), {NULL, 0}, {NULL, 0}};
    return roast_legacy_decode(&texts, run, err);
}

static roast_run *decoded(const char *metrics) {
    roast_run *run = NULL;
    roast_error err;
    assert_ok(decode(metrics, &run, &err), err);
    return run;
}

static void refused(const char *metrics, const char *what) {
    roast_run *run = NULL;
    roast_error err;
    roast_error_reset(&err);
    assert_status(ROAST_ECORRUPT, decode(metrics, &run, &err));
    assert_null(run);
    if (strstr(err.message, "metrics.json: ") != err.message || strstr(err.message, what) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.message, what);
}

static bool has_note(const roast_run *run, const char *part) {
    for (uint32_t i = 0; i < roast_run_note_count(run); i++) {
        roast_str note = roast_run_note(run, i);
        if (memmem(note.data, note.len, part, strlen(part)) != NULL)
            return true;
    }
    return false;
}

/* ---- real ones ---- */

static void a_run_with_everything(void **state) {
    (void)state;
    roast_run *run = load("sections");
    roast_report report = roast_run_get_report(run);
    assert_int_equal(1200, report.entries);
    assert_int_equal(73024, report.bytesread);
    assert_int_equal(6, report.chunks);
    assert_near(0.4703333377838135, report.processtime);
    assert_str("Analysis", roast_run_processor(run));
    assert_str("roastcoffea_measurement_v1", roast_run_meta(run, roast_str_of("format")));

    const roast_chunklog *log = roast_run_chunks_view(run);
    roast_chunk chunk;
    roast_error err;
    assert_int_equal(6, roast_chunklog_count(log));
    assert_ok(roast_chunklog_get(log, 0, &chunk, &err), err);
    assert_str("W+jets", chunk.dataset);
    assert_str("data/wjets.root", chunk.file);
    assert_int_equal(INT64_C(1794783953822224), chunk.start_us);
    assert_int_equal(66365480, chunk.duration_ns);
    assert_int_equal(185659392, chunk.rss_before); /* 177.05859375 MiB: 45327 pages */
    assert_int_equal(3 * 4096, chunk.rss_after - chunk.rss_before);
    assert_int_equal(2, chunk.n_branches);
    assert_int_equal(4, chunk.n_sections);
    assert_int_equal(0, chunk.n_customs);
    roast_tail_cursor tail;
    roast_section section;
    roast_chunk_sections(log, &chunk, &tail);
    assert_true(roast_chunk_next_section(&tail, &section));
    assert_str("selection", section.name);
    assert_int_equal(10077953, section.value);
    roast_file_cursor files;
    roast_file file;
    int n_files = 0;
    roast_file_cursor_init(&files, log);
    for (; roast_file_cursor_next(&files, &file); n_files++)
        assert_int_equal(5, file.total_branches);
    assert_int_equal(3, n_files);
    roast_run_free(run);
}

/* Written in a zone an hour ahead of UTC. */
static void local_times_become_utc(void **state) {
    (void)state;
    roast_run *run = load("sections");
    const roast_series *series = roast_run_series_view(run);
    assert_null(roast_run_counts_view(run));
    assert_int_equal(2, roast_series_worker_count(series));
    assert_int_equal(9, roast_series_tick_count(series));
    assert_int_equal(INT64_C(1794783952630969000), roast_series_tick_time(series, 0).ns);
    roast_run_clock clock = roast_run_get_clock(run);
    assert_true(fabs(clock.start - 1794783952.630969) < 1e-6);
    assert_true(fabs(clock.end - clock.start - 1.336034516) < 1e-6);
    assert_true(has_note(run, "taken from what was seen first"));
    assert_false(has_note(run, "have no zone"));
    roast_series_cursor cursor;
    roast_sample sample;
    roast_series_cursor_init(&cursor, series, 0);
    assert_true(roast_series_cursor_next(&cursor, &sample));
    for (int column = 0; column <= ROAST_COLUMN_cpu; column++)
        assert_false(isnan(sample.value[column]));
    roast_run_free(run);
}

static void failed_chunks_and_sections_by_hand(void **state) {
    (void)state;
    roast_run *run = load("failed_chunks");
    roast_chunk chunk;
    roast_error err;
    /* The report's, not the number of records: 0.1.x wrote the one over the other. */
    assert_int_equal(4, roast_run_get_report(run).chunks);
    assert_ok(roast_chunklog_get(roast_run_chunks_view(run), 4, &chunk, &err), err);
    assert_str("ValueError", chunk.error_type);
    assert_str("no: such jets", chunk.error_message);
    assert_false(chunk.have & ROAST_CHUNK_HAS(num_events));
    const roast_chunklog *sections = roast_run_sections_view(run);
    assert_int_equal(1, roast_chunklog_count(sections));
    assert_ok(roast_chunklog_get(sections, 0, &chunk, &err), err);
    roast_tail_cursor tail;
    roast_section section;
    roast_chunk_sections(sections, &chunk, &tail);
    assert_true(roast_chunk_next_section(&tail, &section));
    assert_str("by hand", section.name);
    assert_int_equal(500000000, section.value);
    roast_run_free(run);
}

static void without_workers(void **state) {
    (void)state;
    roast_run *run = load("local");
    assert_int_equal(0, roast_series_tick_count(roast_run_series_view(run)));
    assert_int_equal(6, roast_chunklog_count(roast_run_chunks_view(run)));
    assert_str("{\"executor\":\"iterative\",\"chunksize\":200,\"note\":\"größer\","
               "\"nested\":{\"list\":[1,2.5,null]}}",
               roast_run_meta(run, roast_str_of("config")));
    roast_run_free(run);
    run = load("report_only");
    assert_int_equal(0, roast_chunklog_count(roast_run_chunks_view(run)));
    assert_true(roast_run_span_count(run) > 10);
    assert_null(roast_run_processor(run).data); /* all tasks counted as processing */
    roast_run_free(run);
}

static void the_texts_themselves(void **state) {
    (void)state;
    roast_legacy_files *files;
    roast_error err;
    double start, end;
    assert_ok(roast_legacy_files_read(DATA "local", &files, &err), err);
    roast_legacy_texts texts = roast_legacy_files_texts(files);
    assert_true(texts.metrics.len > 1000 && texts.config.len > 100 && texts.metadata.len > 100);
    assert_true(roast_legacy_times(texts.times, &start, &end));
    assert_true(start > 1e9 && end > start);
    roast_legacy_files_free(files);
    roast_legacy_files_free(NULL);
}

static void odd_values_of_a_user(void **state) {
    (void)state;
    roast_run *run = load("odd_values");
    roast_run_clock clock = roast_run_get_clock(run);
    assert_near(1743298200.25, clock.start);
    assert_near(1743298210.25, clock.end);
    assert_int_equal(INT64_C(9007199254740993), roast_run_get_report(run).entries);
    assert_int_equal(1, roast_run_span_count(run));
    assert_str("thread-cpu", roast_run_span(run, 0).activity);
    roast_str kept = roast_run_meta(run, roast_str_of("recorded_metrics"));
    assert_non_null(memmem(kept.data, kept.len, "\"('a', 1)\":\"tuple key\"", 22));
    assert_non_null(memmem(kept.data, kept.len, "\"high\":null", 11));
    assert_true(has_note(run, "have no zone"));
    roast_run_free(run);
}

/* ---- the head ---- */

static void the_head_of_each(void **state) {
    (void)state;
    roast_legacy_head head;
    roast_error err;
    assert_ok(roast_legacy_peek(DATA "sections", &head, &err), err);
    assert_near(1.336034515999927, head.wall_time);
    assert_near(1200, head.total_events);
    assert_near(2, head.avg_workers);
    assert_true(head.data_rate_gbps > 0 && head.event_rate_wall_khz > 0 &&
                head.core_efficiency > 0);
    assert_true(head.have_saved);
    assert_ok(roast_legacy_peek(DATA "local", &head, &err), err);
    assert_true(isnan(head.avg_workers) && isnan(head.core_efficiency));
    assert_near(1200, head.total_events);
    assert_ok(roast_legacy_peek(DATA "odd_values", &head, &err), err);
    assert_near(10, head.wall_time);
    assert_true(isnan(head.data_rate_gbps));
    assert_status(ROAST_ENOTFOUND, roast_legacy_peek("tests/data/nowhere", &head, &err));
    assert_status(ROAST_ENOTFOUND, roast_legacy_peek("tests/data", &head, &err));
}

/* ---- the config ---- */

static void expect_config(const char *expected, const char *path) {
    roast_sink *sink;
    roast_error err;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    assert_ok(roast_legacy_config(path, sink, &err), err);
    assert_ok(roast_sink_finish(sink, &err), err);
    assert_str(expected, roast_sink_memory(sink));
    roast_sink_free(sink);
}

static void the_config_in_a_line(void **state) {
    (void)state;
    expect_config("executor=iterative, chunksize=200, note=größer, nested={\"list\":[1,2.5,null]}",
                  DATA "local");
    expect_config("", DATA "sections"); /* has none */
    char folder[] = "/tmp/roast_legacy_XXXXXX", path[64];
    roast_sink *sink;
    roast_error err;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/config.json", folder);
    FILE *file = fopen(path, "w");
    fputs("{\"a\": ", file);
    fclose(file);
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    assert_status(ROAST_ECORRUPT, roast_legacy_config(folder, sink, &err));
    roast_sink_free(sink);
    unlink(path);
    rmdir(folder);
}

/* ---- one thing wrong at a time ---- */

static void what_is_wrong_is_named(void **state) {
    (void)state;
    refused("", "line 1");
    refused("[]", "an object is expected, not a list");
    refused("{\n \"a\": 1,\n \"b\": }", "line 3, column 7");
    refused("{\"a\": 1} 2", "line 1");
    refused("{\"tracking_data\": 3}", "tracking_data: an object is expected, not a number");
    refused("{\"tracking_data\": {\"worker_counts\": 3}}", "worker_counts: an object is expected");
    refused("{\"tracking_data\": {\"worker_counts\": {\"noon\": 3}}}", "\"noon\" is no time");
    refused("{\"tracking_data\": {\"worker_counts\": {\"2026-02-30T00:00:00\": 3}}}", "is no time");
    refused("{\"tracking_data\": {\"worker_counts\": {\"2026-01-01T00:00:00\": -3}}}",
            "a number of workers is expected");
    refused("{\"tracking_data\": {\"worker_counts\": [3]}}", "a pair of time and number");
    refused("{\"tracking_data\": {\"worker_cpu\": []}}", "worker_cpu: an object is expected");
    refused("{\"tracking_data\": {\"worker_cpu\": {\"\": []}}}", "a worker's name has 0 bytes");
    refused("{\"tracking_data\": {\"worker_cpu\": {\"w\": 1}}}", "a list is expected");
    refused("{\"tracking_data\": {\"worker_cpu\": {\"w\": [[1]]}}}", "a pair of time and value");
    refused("{\"tracking_data\": {\"worker_cpu\": {\"w\": [[\"2026-01-01T00:00:00\", \"x\"]]}}}",
            "a number is expected, not a text");
    refused("{\"raw_chunk_metrics\": {}}", "raw_chunk_metrics: a list is expected");
    refused("{\"raw_chunk_metrics\": [{}, 3]}", "raw_chunk_metrics[1]: an object is expected");
    refused("{\"raw_section_metrics\": 3}", "raw_section_metrics: a list is expected");
    refused("{\"raw_span_metrics\": 3}", "raw_span_metrics: an object is expected");
}

static void start_and_end(void **state) {
    (void)state;
    static const char *const bad[] = {"",       "1",       "1,",       "1,2,3", "1;2",
                                      "a,b",    "nan,2",   "1,inf",    "1,2x",  ",",
                                      "1,2\nx", "1e999,2", "\x01,\x02"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const roast_legacy_texts texts = {
            roast_str_of("{}"), roast_str_of(bad[i]), {NULL, 0}, {NULL, 0}};
        roast_run *run = NULL;
        roast_error err;
        assert_status(ROAST_ECORRUPT, roast_legacy_decode(&texts, &run, &err));
        assert_true(strstr(err.message, "start_end_time.txt: ") == err.message);
        assert_null(run);
    }
    const roast_legacy_texts good = {
        .metrics = roast_str_of("{}"),
        .times = roast_str_of(" 1 , 2.5\n"),
        .metadata = roast_str_of("{\"timestamp\": \"2026-01-01T00:00:10+00:00\"}")};
    roast_run *run;
    roast_error err;
    assert_ok(roast_legacy_decode(&good, &run, &err), err);
    /* No worker, no chunk: the end is when it was saved. */
    assert_near(1767225610, roast_run_get_clock(run).end);
    roast_run_free(run);
}

static void small_files_are_checked_too(void **state) {
    (void)state;
    roast_run *run = NULL;
    roast_error err;
    roast_legacy_texts texts = {
        roast_str_of("{}"), roast_str_of("1,2"), roast_str_of("{"), {NULL, 0}};
    assert_status(ROAST_ECORRUPT, roast_legacy_decode(&texts, &run, &err));
    assert_true(strstr(err.message, "metadata.json: line 1") == err.message);
    texts.metadata = roast_str_of("[]");
    assert_status(ROAST_ECORRUPT, roast_legacy_decode(&texts, &run, &err));
    texts.metadata = (roast_str){NULL, 0};
    texts.config = roast_str_of("nope");
    assert_status(ROAST_ECORRUPT, roast_legacy_decode(&texts, &run, &err));
    assert_true(strstr(err.message, "config.json: ") == err.message);
}

static void missing_files_are_named(void **state) {
    (void)state;
    char folder[] = "/tmp/roast_legacy_XXXXXX", path[64];
    roast_run *run = NULL;
    roast_error err;
    assert_non_null(mkdtemp(folder));
    assert_status(ROAST_ENOTFOUND, roast_legacy_load(folder, &run, &err));
    assert_non_null(strstr(err.message, "metrics.json"));
    assert_int_equal(ENOENT, err.os_errno);
    snprintf(path, sizeof path, "%s/metrics.json", folder);
    assert_int_equal(0, mkdir(path, 0700));
    assert_status(ROAST_ECORRUPT, roast_legacy_load(folder, &run, &err));
    rmdir(path);
    FILE *file = fopen(path, "w");
    fputs("{\"raw_chunk_metrics\": 1}", file);
    fclose(file);
    assert_status(ROAST_ENOTFOUND, roast_legacy_load(folder, &run, &err));
    assert_non_null(strstr(err.message, "start_end_time.txt"));
    char times[64];
    snprintf(times, sizeof times, "%s/start_end_time.txt", folder);
    file = fopen(times, "w");
    fputs("1,2", file);
    fclose(file);
    assert_status(ROAST_ECORRUPT, roast_legacy_load(folder, &run, &err));
    assert_non_null(strstr(err.message, folder)); /* which of many it is */
    assert_status(ROAST_ENOTFOUND, roast_legacy_load(times, &run, &err));
    assert_status(ROAST_ENOTFOUND, roast_legacy_load("tests/data/nowhere", &run, &err));
    assert_null(run);
    unlink(path);
    unlink(times);
    rmdir(folder);
}

/* A hole of 5 GB costs nothing on the disk. */
static void too_large_a_file(void **state) {
    (void)state;
    char folder[] = "/tmp/roast_legacy_XXXXXX", path[64];
    roast_run *run = NULL;
    roast_legacy_head head;
    roast_error err;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/metrics.json", folder);
    FILE *file = fopen(path, "w");
    bool made = file != NULL && ftruncate(fileno(file), ROAST_LEGACY_MAX_FILE + 1) == 0;
    fclose(file);
    if (made) {
        assert_status(ROAST_ELIMIT, roast_legacy_load(folder, &run, &err));
        assert_status(ROAST_ELIMIT, roast_legacy_peek(folder, &head, &err));
    }
    unlink(path);
    rmdir(folder);
    if (!made)
        skip();
}

/* ---- JSON as Python writes it ---- */

static void what_python_writes_and_json_has_not(void **state) {
    (void)state;
    roast_run *run =
        decoded("{\"total_events\": NaN, \"num_chunks\": 3, \"x\": [-Infinity, Infinity],"
                " \"text\": \"NaN \\ud800 \\ud83d\\ude00 \\\" NaN \\u0000\","
                " \"big\": 123456789012345678901234567890}");
    roast_report report = roast_run_get_report(run);
    assert_false(report.have_entries);
    assert_int_equal(3, report.chunks);
    roast_str kept = roast_run_meta(run, roast_str_of("recorded_metrics"));
    static const char text[] = "\"NaN \xef\xbf\xbd \xf0\x9f\x98\x80 \\\" NaN \\u0000\"";
    assert_non_null(memmem(kept.data, kept.len, text, sizeof text - 1));
    assert_non_null(memmem(kept.data, kept.len, "[null,null]", 11));
    roast_run_free(run);
}

static void depth_is_limited(void **state) {
    (void)state;
    enum { DEPTH = 1 << 20 };
    char *text = malloc(DEPTH + 16);
    roast_run *run = NULL;
    roast_error err;
    memcpy(text, "{\"a\": ", 6);
    memset(text + 6, '[', DEPTH);
    text[6 + DEPTH] = '\0';
    assert_status(ROAST_ECORRUPT, decode(text, &run, &err));
    free(text);
}

/* ---- chunks ---- */

static void a_chunk_of_odd_values(void **state) {
    (void)state;
    roast_run *run = decoded(
        "{\"raw_chunk_metrics\": [{\"t_start\": \"late\", \"num_events\": 1e300, \"dataset\": 3,"
        " \"accessed_branches\": [1, \"b\"], \"timing\": {\"s\": null, \"t\": 2},"
        " \"error\": 5, \"file_metadata\": {\"filename\": 3}, \"mine\": {\"a\": [1]}, \"flag\": "
        "true,"
        " \"word\": \"x\", \"number\": 7, \"real\": 0.5, \"nothing\": null}]}");
    const roast_chunklog *log = roast_run_chunks_view(run);
    roast_chunk chunk;
    roast_error err;
    assert_ok(roast_chunklog_get(log, 0, &chunk, &err), err);
    assert_int_equal(0, chunk.have);
    assert_int_equal(1, chunk.n_branches);
    assert_int_equal(1, chunk.n_sections);
    assert_int_equal(5, chunk.n_customs);
    assert_null(chunk.error_type.data);
    roast_tail_cursor tail;
    roast_custom custom;
    roast_chunk_customs(log, &chunk, &tail);
    assert_true(roast_chunk_next_custom(&tail, &custom));
    assert_int_equal(ROAST_CUSTOM_JSON, custom.kind);
    assert_str("{\"a\":[1]}", custom.text);
    assert_true(has_note(run, "7 values were left out"));
    roast_run_free(run);
}

static void what_follows_from_other_values(void **state) {
    (void)state;
    roast_run *run = decoded("{\"raw_chunk_metrics\": [{\"t_start\": 1700000000.5, \"t_end\":"
                             " 1700000002.5, \"mem_delta_mb\": 2, \"filename\": \"f\"}]}");
    roast_chunk chunk;
    roast_error err;
    assert_ok(roast_chunklog_get(roast_run_chunks_view(run), 0, &chunk, &err), err);
    assert_int_equal(2000000000, chunk.duration_ns);
    assert_int_equal(2 * MIB, chunk.rss_after);
    assert_str("f", chunk.file);
    /* The clock has no date: it goes to the chunks. */
    assert_near(1700000000.5, roast_run_get_clock(run).start);
    roast_run_free(run);
}

/* ---- small readers ---- */

static void times_in_iso_form(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t ns;
        bool local;
    } good[] = {
        {"1970-01-01T00:00:00", 0, true},
        {"1970-01-01 00:00:01.5Z", 1500000000, false},
        {"2024-02-29T12:00:00.123456789+00:00", INT64_C(1709208000123456789), false},
        {"2026-11-15T23:05:52.630969-05:30", INT64_C(1794803752630969000), false},
        {"1969-12-31T23:59", -60 * INT64_C(1000000000), true},
    };
    static const char *const bad[] = {"",
                                      "2026",
                                      "2026-13-01T00:00:00",
                                      "2026-02-29T00:00:00",
                                      "2026-01-01T24:00:00",
                                      "2026-01-01T00:60:00",
                                      "2026-01-01T00:00:60",
                                      "2026-01-01T00:00:00.",
                                      "2026-01-01T00:00:00+1",
                                      "2026-01-01T00:00:00+25:00",
                                      "2026-01-01T00:00:00 x",
                                      "1500-01-01T00:00:00",
                                      "2300-01-01T00:00:00",
                                      "-026-01-01T00:00:00"};
    roast_utc when;
    bool local;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(roast_legacy_time(roast_str_of(good[i].text), &when, &local));
        assert_int_equal(good[i].ns, when.ns);
        assert_int_equal(good[i].local, local);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (roast_legacy_time(roast_str_of(bad[i]), &when, &local))
            fail_msg("%s is taken for a time", bad[i]);
    assert_false(roast_legacy_time((roast_str){NULL, 0}, &when, &local));
}

static void local_time_of_this_machine(void **state) {
    (void)state;
    setenv("TZ", "EST5", 1);
    tzset();
    assert_int_equal(INT64_C(1794801952000000007),
                     roast_legacy_from_local((roast_utc){INT64_C(1794783952000000007)}).ns);
    unsetenv("TZ");
    tzset();
}

static void tuples_as_python_shows_them(void **state) {
    (void)state;
    char bytes[128];
    roast_str part[4];
    static const char *const bad[] = {
        "",         "x",       "(",       "('a'",   "('a' 'b')",   "(a",        "('a)",
        "('\\q',)", "('a',,)", "((1,),)", "('a')x", "(1,2,3,4,5)", "('\\x1',)", "('\\U99999999',)"};
    assert_int_equal(
        4, roast_legacy_tuple(roast_str_of("('execute', \"it's\", None, -1)"), bytes, part, 4));
    assert_str("execute", part[0]);
    assert_str("it's", part[1]);
    assert_null(part[2].data);
    assert_str("-1", part[3]);
    assert_int_equal(1, roast_legacy_tuple(roast_str_of("('\\t\\xe9\\u2192\\U0001f600\\\\\\'',)"),
                                           bytes, part, 4));
    assert_str("\t\xc3\xa9\xe2\x86\x92\xf0\x9f\x98\x80\\'", part[0]);
    assert_int_equal(0, roast_legacy_tuple(roast_str_of("()"), bytes, part, 4));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (roast_legacy_tuple(roast_str_of(bad[i]), bytes, part, 4) != -1)
            fail_msg("%s is taken for a tuple", bad[i]);
}

/* ---- damage everywhere ---- */

/* A file of a fixture in memory of exactly its size, so that a step too far is seen. */
static roast_buffer read_fixture(const char *name, const char *file) {
    char path[128];
    roast_buffer text = {0};
    roast_error err;
    snprintf(path, sizeof path, DATA "%s", name);
    assert_ok(roast_path_read(path, file, INT64_C(1) << 20, &text, &err), err);
    return text;
}

/* Either it is refused with a reason, or it is another good one. */
static void try_damaged(const char *metrics, size_t len) {
    char *exact = malloc(len > 0 ? len : 1);
    memcpy(exact, metrics, len);
    const roast_legacy_texts texts = {.metrics = {exact, len}, .times = roast_str_of("1,2")};
    roast_run *run = NULL;
    roast_error err;
    roast_error_reset(&err);
    roast_status status = roast_legacy_decode(&texts, &run, &err);
    if (status == ROAST_OK) {
        roast_run_free(run);
    } else {
        assert_null(run);
        assert_int_equal(status, err.status);
        assert_true(err.message[0] != '\0');
    }
    free(exact);
}

static void cut_at_every_length(void **state) {
    (void)state;
    for (int i = 0; i < FIXTURES; i++) {
        roast_buffer text = read_fixture(fixtures[i], "metrics.json");
        size_t step = text.len / 1000; /* every length of the small ones */
        step = step < 3 ? 1 : 4 * step;
        for (size_t len = 0; len < text.len; len += step) {
            roast_run *run = NULL;
            char *cut = strndup((const char *)text.data, len);
            assert_status(ROAST_ECORRUPT, decode(cut, &run, NULL));
            assert_null(run);
            free(cut);
        }
        roast_buffer_reset(&text);
    }
}

static void flipped_bits(void **state) {
    (void)state;
    for (int i = 0; i < FIXTURES; i++) {
        roast_buffer text = read_fixture(fixtures[i], "metrics.json");
        size_t step = text.len * 8 / 1500 + 1;
        for (size_t bit = 0; bit < text.len * 8; bit += step) {
            text.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            try_damaged((const char *)text.data, text.len);
            text.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        roast_buffer_reset(&text);
    }
}

/* The head reads files: the same damage, in a folder of its own. */
static void a_damaged_head(void **state) {
    (void)state;
    char folder[] = "/tmp/roast_legacy_XXXXXX", path[64];
    roast_buffer text = read_fixture("report_only", "metrics.json");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/metrics.json", folder);
    for (size_t len = 0; len < text.len; len += 7) {
        roast_legacy_head head;
        roast_error err;
        FILE *file = fopen(path, "w");
        fwrite(text.data, 1, len, file);
        fputs(len % 2 == 0 ? "}" : "", file);
        fclose(file);
        roast_status status = roast_legacy_peek(folder, &head, &err);
        assert_true(status == ROAST_OK || (status == ROAST_ECORRUPT && err.message[0] != '\0'));
        if (len % 2 != 0 && text.data[len - 1] != '}')
            assert_status(ROAST_ECORRUPT, status);
    }
    unlink(path);
    rmdir(folder);
    roast_buffer_reset(&text);
}

/* ---- memory ---- */

static roast_status load_all(void *context) {
    roast_run *run;
    roast_legacy_head head;
    (void)context;
    for (int i = 0; i < FIXTURES; i++) {
        char path[128];
        snprintf(path, sizeof path, DATA "%s", fixtures[i]);
        if (i == 0 || i == 2) /* their samples would be walked a thousand times */
            continue;
        ROAST_TRY(roast_legacy_load(path, &run, NULL));
        roast_run_free(run);
        ROAST_TRY(roast_legacy_peek(path, &head, NULL));
    }
    return ROAST_OK;
}

static roast_status read_config(void *context) {
    (void)context;
    roast_sink *sink;
    ROAST_TRY(roast_sink_new_memory(&sink, NULL));
    roast_status status = roast_legacy_config(DATA "local", sink, NULL);
    if (status == ROAST_OK)
        status = roast_sink_finish(sink, NULL);
    roast_sink_free(sink);
    return status;
}

static roast_status load_samples(void *context) {
    static const char metrics[] =
        "{\"tracking_data\": {\"worker_counts\": {\"2026-01-01T00:00:00\": 1},"
        " \"worker_cpu\": {\"w\": [[\"2026-01-01T00:00:01\", 1]]}},"
        " \"raw_chunk_metrics\": [{\"mine\": [1], \"timing\": {\"a\": 1}, \"accessed_branches\":"
        " [\"b\"], \"file_metadata\": {\"filename\": \"f\", \"branch_bytes\": {\"b\": 3}}}],"
        " \"raw_section_metrics\": [{\"name\": \"s\", \"duration\": 1}]}";
    roast_run *run;
    (void)context;
    ROAST_TRY(decode(metrics, &run, NULL));
    roast_run_free(run);
    return ROAST_OK;
}

static void memory_may_run_short(void **state) {
    (void)state;
    assert_true(alloc_walk(load_samples, NULL) > 20);
    assert_true(alloc_walk(load_all, NULL) > 20);
    assert_true(alloc_walk(read_config, NULL) > 3);
}

/* The JSON parser has an allocator of its own, and takes a failure for damage now and then. */
static void memory_of_the_parser_may_run_short(void **state) {
    (void)state;
    long live = alloc_live();
    json_set_alloc_funcs(roast_alloc, roast_free);
    int failures = 0;
    for (long n = 0;; n++) {
        alloc_fail_once(n);
        roast_status status = load_samples(NULL);
        bool met = alloc_fail_stop() > n;
        assert_int_equal(live, alloc_live());
        failures += status != ROAST_OK;
        assert_true(met || status == ROAST_OK);
        if (!met)
            break;
    }
    assert_true(failures > 20);
    json_set_alloc_funcs(malloc, free);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_with_everything),
        cmocka_unit_test(local_times_become_utc),
        cmocka_unit_test(failed_chunks_and_sections_by_hand),
        cmocka_unit_test(without_workers),
        cmocka_unit_test(the_texts_themselves),
        cmocka_unit_test(odd_values_of_a_user),
        cmocka_unit_test(the_head_of_each),
        cmocka_unit_test(the_config_in_a_line),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(start_and_end),
        cmocka_unit_test(small_files_are_checked_too),
        cmocka_unit_test(missing_files_are_named),
        cmocka_unit_test(too_large_a_file),
        cmocka_unit_test(what_python_writes_and_json_has_not),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(a_chunk_of_odd_values),
        cmocka_unit_test(what_follows_from_other_values),
        cmocka_unit_test(times_in_iso_form),
        cmocka_unit_test(local_time_of_this_machine),
        cmocka_unit_test(tuples_as_python_shows_them),
        cmocka_unit_test(cut_at_every_length),
        cmocka_unit_test(flipped_bits),
        cmocka_unit_test(a_damaged_head),
        cmocka_unit_test(memory_may_run_short),
        cmocka_unit_test(memory_of_the_parser_may_run_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
