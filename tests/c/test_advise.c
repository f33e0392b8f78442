/* Advice: each finding that a setting helps against, in a run that has it; and runs that look alike and get none. */
#include "diagnose_sample.h"

#include "roast/advice_text.h"
#include "roast/ending.h"
#include "roast/what_if.h"

#define HEALTHY .workers = 4, .threads = 1, .chunks = 80

static roast_advice *advise(const roast_run *run) {
    roast_error err;
    roast_metrics *metrics;
    roast_advice *advice;
    assert_ok(roast_metrics_compute(run, &metrics, &err), err);
    assert_ok(roast_advise_run(run, metrics, &advice, &err), err);
    roast_metrics_free(metrics);
    return advice;
}

static roast_str json_of(const roast_advice *advice, roast_sink **sink) {
    roast_error err;
    assert_ok(roast_sink_new_memory(sink, &err), err);
    roast_advice_json(advice, *sink);
    assert_ok(roast_sink_finish(*sink, &err), err);
    return roast_sink_memory(*sink);
}

static void expect_json(const roast_advice *advice, const char *words) {
    roast_sink *sink;
    roast_str text = json_of(advice, &sink);
    if (!mentions(text, words)) {
        print_message("%.*s\n", (int)text.len, text.data);
        fail_msg("\"%s\" is not in it", words);
    }
    roast_sink_free(sink);
}

static void set_meta(roast_run *run, const char *key, const char *value) {
    roast_error err;
    assert_ok(roast_run_set_meta(run, roast_str_of(key), roast_str_of(value), &err), err);
}

static roast_run *play_on(const scene *s, const char *executor) {
    roast_run *run = play(s);
    set_meta(run, "executor", executor);
    set_meta(run, "backend", strcmp(executor, "DaskExecutor") == 0 ? "dask" : "local");
    return run;
}

/* The item of the setting comes from this finding. */
static const roast_advice_item *expect_item(const roast_advice *advice,
                                            roast_advice_setting setting, roast_finding_kind kind) {
    const roast_advice_item *item = roast_advice_find(advice, setting);
    if (item == NULL || item->kind != kind) {
        show(roast_advice_findings(advice));
        fail_msg("there is no %s for %s", roast_advice_setting_name(setting),
                 roast_finding_kind_name(kind));
    }
    assert_non_null(item->title.data);
    assert_true(item->prediction.known != (item->prediction.reason.data != NULL));
    assert_true(item->prediction.recorded > 0);
    return item;
}

/* Nothing is advised about this setting. Frees the run. */
static void expect_no_item(roast_run *run, roast_advice_setting setting) {
    roast_advice *advice = advise(run);
    if (roast_advice_find(advice, setting) != NULL) {
        show(roast_advice_findings(advice));
        fail_msg("%s is advised", roast_advice_setting_name(setting));
    }
    roast_advice_free(advice);
    roast_run_free(run);
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal("chunksize", roast_advice_setting_name(ROAST_ADVICE_chunksize));
    assert_string_equal("first_files", roast_advice_setting_name(ROAST_ADVICE_first_files));
    assert_string_equal("unknown", roast_advice_setting_name(ROAST_ADVICE_SETTING_COUNT));
}

/* ---- no advice ---- */

static void sleeping_section(piece *p) {
    p->n_sections = 1;
    p->sections[0] = "lookup";
    p->section_times[0] = p->duration * 0.8;
    p->cpu = p->duration * 0.2;
}

static void test_no_advice(void **state) {
    (void)state;
    char headline[ROAST_ADVICE_HEADLINE];
    uint32_t count;
    roast_run *run = play(&(scene){HEALTHY});
    roast_advice *advice = advise(run);
    roast_advice_items(advice, &count);
    assert_int_equal(0, count);
    assert_false(roast_advice_together(advice)->known);
    roast_advice_headline(advice, headline, sizeof headline);
    assert_string_equal("No advice: nothing stands out.", headline);
    expect_json(advice, "\"runner_arguments\": {}");
    expect_json(advice, "\"items\": []");
    roast_advice_free(advice);
    roast_run_free(run);
    /* A finding that only another process() helps against. */
    run = play(&(scene){HEALTHY, .change = sleeping_section});
    advice = advise(run);
    roast_advice_items(advice, &count);
    assert_int_equal(0, count);
    roast_advice_headline(advice, headline, sizeof headline);
    assert_string_equal("No advice: no setting helps against the 1 finding (\"roast diagnose\").",
                        headline);
    roast_advice_free(advice);
    roast_run_free(run);
}

static void test_empty_run(void **state) {
    (void)state;
    roast_error err;
    roast_run *run;
    uint32_t count;
    assert_ok(roast_run_new(&run, &err), err);
    roast_advice *advice = advise(run);
    roast_advice_items(advice, &count);
    assert_int_equal(0, count);
    roast_advice_free(advice);
    roast_advice_free(NULL);
    roast_run_free(run);
}

/* ---- sizes ---- */

static void tiny(piece *p) {
    p->events = 1000;
    p->duration = 0.02 * noise(p->index, 0.05);
    p->cpu = p->duration * 0.9;
    p->queue = 0;
    p->n_reads = 0;
    p->file = p->index / 100;
}

static void large(piece *p) {
    p->duration = 30 * noise(p->index, 0.05);
    p->cpu = p->duration * 0.97;
    p->events = 2000000;
    p->file = p->index;
}

/* The finding's own words name the same size. */
static void expect_size(roast_run *run, roast_finding_kind kind) {
    roast_advice *advice = advise(run);
    const roast_advice_item *item = expect_item(advice, ROAST_ADVICE_chunksize, kind);
    const roast_finding *finding = find_kind(roast_advice_findings(advice), kind);
    uint64_t said = 0;
    const char *at = strstr(finding->advice.data, "chunksize=");
    assert_non_null(at);
    for (at += strlen("chunksize="); (*at >= '0' && *at <= '9') || *at == '_'; at++)
        said = *at == '_' ? said : 10 * said + (uint64_t)(*at - '0');
    assert_int_equal(said, item->chunksize);
    char json[64];
    snprintf(json, sizeof json, "\"chunksize\": %llu", (unsigned long long)said);
    expect_json(advice, json);
    roast_advice_free(advice);
    roast_run_free(run);
}

static void one_huge_file(piece *p) {
    p->file = p->index;
    p->dataset = 0;
    if (p->index == 60) {
        p->events *= 20;
        p->before *= 20;
        p->duration *= 20;
        p->cpu *= 20;
    }
}

static void test_chunk_sizes(void **state) {
    (void)state;
    expect_size(play(&(scene){.workers = 4, .threads = 1, .chunks = 800, .change = tiny}),
                ROAST_FINDING_chunks_too_small);
    expect_size(play(&(scene){.workers = 16, .threads = 1, .chunks = 25, .change = large}),
                ROAST_FINDING_chunks_too_large);
    expect_size(play(&(scene){HEALTHY, .change = one_huge_file}), ROAST_FINDING_straggler_file);
}

/* 20 kB an event: 2.0 GB for a chunk of 100,000 events, beside the 500 MB that are there before. */
static void fills_memory(piece *p) {
    p->rss_peak = p->rss_before + 20e3 * p->events;
}

static void test_chunks_that_do_not_fit(void **state) {
    (void)state;
    roast_run *run =
        play(&(scene){HEALTHY, .change = fills_memory, .limit = 2.6e9, .peak_memory = 2.5e9});
    roast_advice *advice = advise(run);
    /* 60% of 2.6 GB, less 500 MB, is room for 53,000 events. */
    assert_int_equal(
        50000,
        expect_item(advice, ROAST_ADVICE_chunksize, ROAST_FINDING_memory_pressure)->chunksize);
    roast_advice_free(advice);
    roast_run_free(run);
    /* The memory is full, but not of chunks. */
    expect_no_item(play(&(scene){HEALTHY, .peak_memory = 3.4e9}), ROAST_ADVICE_chunksize);
}

/* ---- reading ---- */

static void many_waits(piece *p) {
    p->n_reads = 8;
    p->read.time_ns = 150000000;
    p->read.bytes = 20000;
    p->read.uncompressed_bytes = 40000;
    p->cpu = p->duration - 1.25;
    if (p->dataset == 1 && p->index % 3 > 0) { /* two of three chunks of that dataset read fewer */
        p->n_reads = 7;
        p->read.time_ns = 170000000;
    }
}

static void reads_again(piece *p) {
    p->read.count = 4;
    p->read.time_ns = 300000000;
    p->read.uncompressed_bytes = p->read.bytes;
    p->cpu = p->duration * 0.99;
}

static void reads_once(piece *p) {
    reads_again(p);
    p->read.count = 1;
}

static void preloads_too_much(piece *p) {
    p->file = p->index;
    p->before = 1.5;
    p->duration = 1;
    p->cpu = 0.95;
    p->bytes_read = 50e6;
    p->accessed_bytes = 10e6;
    p->n_reads = 3;
    p->read.bytes = -1;
    p->read.uncompressed_bytes = -1;
}

static void expect_branches(void (*how)(piece *), roast_finding_kind kind, uint32_t branches,
                            const char *json) {
    roast_run *run = play(&(scene){HEALTHY, .change = how});
    roast_advice *advice = advise(run);
    const roast_advice_item *item = expect_item(advice, ROAST_ADVICE_preload, kind);
    assert_int_equal(branches, item->n_names);
    for (uint32_t i = 1; i < item->n_names; i++) /* those of a dataset stand together */
        assert_true(item->names[i - 1].dataset.data[8] <= item->names[i].dataset.data[8]);
    expect_json(advice, json);
    roast_advice_free(advice);
    /* Coffea cannot preload from Parquet. */
    set_meta(run, "format", "parquet");
    expect_no_item(run, ROAST_ADVICE_preload);
}

static void test_branches(void **state) {
    (void)state;
    /* The eighth branch only where nearly all chunks read it. */
    expect_branches(many_waits, ROAST_FINDING_preload, 15,
                    "\"dataset_1\": [\"Jet_pt\", \"Jet_eta\", ");
    expect_branches(reads_again, ROAST_FINDING_reread_branches, 8,
                    "\"dataset_0\": [\"Jet_pt\", \"Jet_eta\", \"Jet_phi\", \"Jet_mass\"]");
    expect_branches(preloads_too_much, ROAST_FINDING_unused_branches, 6,
                    "\"dataset_1\": [\"Jet_pt\", \"Jet_eta\", \"Jet_phi\"]");
}

static void test_rereads_at_the_edges_of_chunks(void **state) {
    (void)state;
    static const char *const names[] = {"Jet_pt", "Jet_eta", "Jet_phi", "Jet_mass"};
    roast_error err;
    roast_run *run = play(&(scene){HEALTHY, .change = reads_once});
    for (unsigned i = 0; i < 40; i++) {
        char name[48];
        roast_branch_size sizes[4];
        for (unsigned k = 0; k < 4; k++)
            sizes[k] = (roast_branch_size){roast_str_of(names[k]), 200000, 400000};
        snprintf(name, sizeof name, "root://site//file_%u.root", i);
        const roast_file file = {.name = roast_str_of(name),
                                 .total_branches = 4,
                                 .tree_bytes = 800000,
                                 .tree_uncompressed_bytes = 1600000,
                                 .n_branches = 4,
                                 .branches = sizes};
        assert_ok(roast_chunklog_add_file(roast_run_chunks(run), &file, &err), err);
    }
    roast_advice *advice = advise(run);
    /* A file has two chunks of 100,000 events: more cannot be had. */
    assert_int_equal(
        200000,
        expect_item(advice, ROAST_ADVICE_chunksize, ROAST_FINDING_reread_branches)->chunksize);
    roast_advice_free(advice);
    roast_run_free(run);
}

/* ---- workers ---- */

static void share_the_lock(piece *p) {
    p->cpu = p->duration * 0.5;
    p->switches = 200 * p->duration;
    p->n_reads = 0;
}

static void share_the_lock_by_four(piece *p) {
    share_the_lock(p);
    p->cpu = p->duration * 0.25;
}

static void whole_small_files(piece *p) {
    p->file = p->index;
    p->events = 10;
    p->before = NAN;
}

static void minutes(piece *p) {
    p->before *= 30;
    p->duration *= 30;
    p->cpu *= 30;
}

static void everybody_waits_for_a_core(piece *p) {
    p->queue = p->duration;
    p->duration *= 2;
}

static roast_run *crowd_on(const scene *s, double cores, double other_work) {
    const struct {
        const char *activity, *unit;
        double value;
    } spans[] = {{"busy", "seconds", 100 * other_work + 30},
                 {"own-cpu", "seconds", 30},
                 {"core", "seconds", 100},
                 {"cores", "count", cores}};
    roast_run *run = play_on(s, "DaskExecutor");
    roast_error err;
    for (size_t i = 0; i < 4; i++) {
        roast_span_value span = {roast_str_of("machine"),
                                 {NULL, 0},
                                 roast_str_of(spans[i].activity),
                                 roast_str_of(spans[i].unit),
                                 spans[i].value};
        assert_ok(roast_run_add_span(run, &span, &err), err);
    }
    return run;
}

/* Frees the run. */
static void expect_workers(roast_run *run, roast_finding_kind kind, uint32_t workers,
                           uint32_t threads, const char *json) {
    roast_advice *advice = advise(run);
    const roast_advice_item *item = expect_item(advice, ROAST_ADVICE_workers, kind);
    assert_int_equal(workers, item->workers);
    assert_int_equal(threads, item->threads);
    expect_json(advice, json);
    roast_advice_free(advice);
    roast_run_free(run);
}

static void test_workers(void **state) {
    (void)state;
    const scene lock = {.workers = 2, .threads = 2, .chunks = 80, .change = share_the_lock};
    const scene pool = {.workers = 1, .threads = 4, .chunks = 80, .change = share_the_lock_by_four};
    const scene idle = {.workers = 40, .threads = 1, .chunks = 12, .change = whole_small_files};
    const scene busy = {.workers = 2, .threads = 1, .chunks = 200, .change = minutes};
    const scene wide = {.workers = 1, .threads = 4, .chunks = 200, .change = minutes};
    const scene crowd = {HEALTHY, .change = everybody_waits_for_a_core};
    const scene thick = {
        .workers = 1, .threads = 4, .chunks = 80, .change = everybody_waits_for_a_core};
    expect_workers(
        play_on(&lock, "DaskExecutor"), ROAST_FINDING_gil_contention, 4, 1,
        "\"cluster_arguments\": {\n    \"n_workers\": 4,\n    \"threads_per_worker\": 1");
    expect_workers(play_on(&idle, "DaskExecutor"), ROAST_FINDING_too_many_workers, 12, 1,
                   "\"n_workers\": 12");
    expect_workers(play_on(&busy, "DaskExecutor"), ROAST_FINDING_too_few_workers, 4, 1,
                   "\"executor_arguments\": {}");
    expect_workers(play_on(&busy, "FuturesExecutor"), ROAST_FINDING_too_few_workers, 4, 1,
                   "\"executor_arguments\": {\n    \"workers\": 4");
    expect_workers(play_on(&busy, "ParslExecutor"), ROAST_FINDING_too_few_workers, 4, 1,
                   "\"cluster_arguments\": {}");
    /* A pool of threads stays one process. */
    expect_workers(play_on(&wide, "FuturesExecutor"), ROAST_FINDING_too_few_workers, 1, 8,
                   "\"workers\": 8");
    expect_workers(play_on(&pool, "FuturesExecutor"), ROAST_FINDING_gil_contention, 4, 1,
                   "\"workers\": 4");
    expect_workers(crowd_on(&crowd, 2, 0), ROAST_FINDING_too_many_workers, 2, 1,
                   "\"n_workers\": 2");
    expect_workers(crowd_on(&crowd, 3, 0.4), ROAST_FINDING_too_many_workers, 1, 1,
                   "\"n_workers\": 1");
    expect_workers(crowd_on(&thick, 2, 0), ROAST_FINDING_too_many_workers, 1, 2,
                   "\"threads_per_worker\": 2");
}

static void test_executors(void **state) {
    (void)state;
    static const struct {
        const char *name;
        roast_advice_executor executor;
    } rows[] = {{"IterativeExecutor", ROAST_ADVISED_SERIAL},
                {"FuturesExecutor", ROAST_ADVISED_FUTURES},
                {"DaskExecutor", ROAST_ADVISED_DASK},
                {"ParslExecutor", ROAST_ADVISED_OTHER}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        roast_run *run = play_on(&(scene){HEALTHY}, rows[i].name);
        roast_advice *advice = advise(run);
        assert_int_equal(rows[i].executor, roast_advice_get_executor(advice));
        roast_advice_free(advice);
        roast_run_free(run);
    }
}

static void test_workers_that_are_not_advised(void **state) {
    (void)state;
    const scene crowd = {HEALTHY, .change = everybody_waits_for_a_core};
    const scene busy = {.workers = 1, .threads = 1, .chunks = 400, .change = minutes};
    /* It has one thread, and takes no workers. */
    expect_no_item(play_on(&busy, "IterativeExecutor"), ROAST_ADVICE_workers);
    /* Others took the cores. */
    expect_no_item(crowd_on(&crowd, 8, 0.31), ROAST_ADVICE_workers);
    /* Who did is not known. */
    expect_no_item(play(&crowd), ROAST_ADVICE_workers);
}

static void test_waiting_is_not_predicted(void **state) {
    (void)state;
    const scene lock = {.workers = 2, .threads = 2, .chunks = 80, .change = share_the_lock};
    roast_run *run = play(&lock);
    roast_advice *advice = advise(run);
    const roast_advice_item *item =
        expect_item(advice, ROAST_ADVICE_workers, ROAST_FINDING_gil_contention);
    assert_false(item->prediction.known);
    assert_true(mentions(item->prediction.reason, "lock"));
    roast_advice_free(advice);
    roast_run_free(run);
}

/* ---- files ---- */

static void slow_in_the_middle(piece *p) {
    p->file = p->index / 10;
    p->dataset = 0;
    if (p->file == 3) {
        p->duration *= 4;
        p->cpu *= 4;
    }
}

static void slow_at_the_end(piece *p) {
    p->file = p->index < 79 ? p->index / 10 : 8;
    p->dataset = 0;
    if (p->index == 79) {
        p->duration *= 12;
        p->cpu *= 12;
    }
}

/* Two files end with chunks that get longer, those of one dataset. */
static void longer_and_longer(piece *p) {
    p->file = p->index < 100 ? 0 : p->index < 196 ? 1 : p->index < 198 ? 2 : 3;
    p->dataset = p->index < 100 ? 0 : 1;
    p->before = NAN;
    p->n_reads = 0;
    if (p->index >= 196) {
        p->duration *= 2 + 10 * (double)(p->index - 196);
        p->cpu *= 2 + 10 * (double)(p->index - 196);
    }
}

static void test_files_first(void **state) {
    (void)state;
    /* Slow, but over long before the end. */
    roast_run *run = play(&(scene){HEALTHY, .change = slow_in_the_middle});
    roast_findings *findings = diagnose(run);
    assert_non_null(find_kind(findings, ROAST_FINDING_straggler_file));
    roast_findings_free(findings);
    expect_no_item(run, ROAST_ADVICE_first_files);
    run = play(&(scene){HEALTHY, .change = slow_at_the_end});
    roast_advice *advice = advise(run);
    const roast_advice_item *item =
        expect_item(advice, ROAST_ADVICE_first_files, ROAST_FINDING_straggler_file);
    assert_int_equal(1, item->n_names);
    assert_true(item->prediction.known && item->prediction.wall < 0.9 * item->prediction.recorded);
    assert_str("dataset_0", item->names[0].dataset);
    assert_str("root://site//file_8.root", item->names[0].name);
    expect_json(advice, "\"value\": {\"dataset_0\": [\"root://site//file_8.root\"]}");
    roast_advice_free(advice);
    /* In one thread the order is all the same. */
    set_meta(run, "executor", "IterativeExecutor");
    expect_no_item(run, ROAST_ADVICE_first_files);
}

static void test_a_long_tail(void **state) {
    (void)state;
    roast_run *run =
        play(&(scene){.workers = 20, .threads = 1, .chunks = 200, .change = longer_and_longer});
    roast_advice *advice = advise(run);
    const roast_advice_item *item = roast_advice_find(advice, ROAST_ADVICE_first_files);
    assert_non_null(item);
    assert_str("root://site//file_3.root", item->names[0].name);
    roast_advice_free(advice);
    roast_run_free(run);
}

static void test_bad_files(void **state) {
    (void)state;
    roast_error err;
    roast_ending *ending;
    static const char *const files[] = {"bad_0.root", "bad_1.root"};
    roast_run *run = play(&(scene){HEALTHY});
    assert_ok(roast_ending_new(ROAST_END_done, &ending, &err), err);
    for (int i = 0; i < 2; i++) {
        const roast_skipped_file skipped = {
            roast_str_of("dataset_1"), roast_str_of(files[i]), {NULL, 0}};
        assert_ok(roast_ending_add_skipped(ending, &skipped, &err), err);
    }
    roast_run_take_ending(run, ending);
    roast_advice *advice = advise(run);
    const roast_advice_item *item =
        expect_item(advice, ROAST_ADVICE_exclude_files, ROAST_FINDING_skipped_files);
    assert_int_equal(2, item->n_names);
    assert_false(item->prediction.known);
    expect_json(advice, "\"value\": {\"dataset_1\": [\"bad_0.root\", \"bad_1.root\"]}");
    roast_advice_free(advice);
    roast_run_free(run);
}

static void test_the_file_that_ended_the_run(void **state) {
    (void)state;
    static const char *const types[] = {"OSError", "ValueError"};
    for (int i = 0; i < 2; i++) {
        roast_error err;
        roast_ending *ending;
        roast_run *run = play(&(scene){HEALTHY});
        const roast_run_error error = {.type = roast_str_of(types[i]),
                                       .message = roast_str_of("cannot be read"),
                                       .dataset = roast_str_of("dataset_0"),
                                       .file = roast_str_of("bad.root"),
                                       .entry_start = -1,
                                       .entry_stop = -1};
        assert_ok(roast_ending_new(ROAST_END_failed, &ending, &err), err);
        assert_ok(roast_ending_set_error(ending, &error, &err), err);
        roast_run_take_ending(run, ending);
        if (i == 1) { /* an error of process(): the file is not to blame */
            expect_no_item(run, ROAST_ADVICE_exclude_files);
            continue;
        }
        roast_advice *advice = advise(run);
        assert_str("bad.root",
                   expect_item(advice, ROAST_ADVICE_exclude_files, ROAST_FINDING_lost_work)
                       ->names[0]
                       .name);
        roast_advice_free(advice);
        roast_run_free(run);
    }
}

/* ---- predictions ---- */

static void expect_wall(const roast_run *run, const roast_what_if_options *options,
                        const roast_advice_prediction *found) {
    roast_error err;
    roast_what_if *what_if;
    assert_ok(roast_what_if_new(run, options, &what_if, &err), err);
    assert_true(found->known);
    assert_near(roast_what_if_get(what_if)->wall, found->wall);
    assert_near(roast_what_if_get(what_if)->low, found->low);
    assert_near(roast_what_if_get(what_if)->high, found->high);
    roast_what_if_free(what_if);
}

/* Small chunks of 9 s for the events of a file: each thread has two of these files. */
static void small_and_slow_at_the_end(piece *p) {
    tiny(p);
    p->file = p->index < 799 ? p->index / 100 : 8;
    p->dataset = 0;
    p->duration *= p->index < 799 ? 1 : 2000;
    p->cpu = p->duration * 0.9;
}

static void test_predictions(void **state) {
    (void)state;
    roast_run *run = play(
        &(scene){.workers = 4, .threads = 1, .chunks = 800, .change = small_and_slow_at_the_end});
    roast_advice *advice = advise(run);
    const roast_advice_item *size =
        expect_item(advice, ROAST_ADVICE_chunksize, ROAST_FINDING_chunks_too_small);
    const roast_advice_item *first =
        expect_item(advice, ROAST_ADVICE_first_files, ROAST_FINDING_straggler_file);
    roast_what_if_options options = {.chunksize = size->chunksize};
    expect_wall(run, &options, &size->prediction);
    options.first = &first->names[0].name;
    options.n_first = 1;
    expect_wall(run, &options, roast_advice_together(advice));
    options.chunksize = 0;
    expect_wall(run, &options, &first->prediction);
    /* 40 s of one chunk, beside which the others, 0.075 s each, take 20 s on three threads. */
    assert_true(fabs(first->prediction.wall - 40) < 1);
    roast_advice_free(advice);
    roast_run_free(run);
}

/* ---- text ---- */

static void slow_tiny_and_preloaded(piece *p) {
    tiny(p);
    p->n_reads = 8;
    p->read.time_ns = 2000000;
    p->read.bytes = 2000;
    p->cpu = p->duration * 0.1;
}

/* Frees the run. */
static void expect_text(roast_run *run, const char *words) {
    roast_error err;
    roast_sink *sink;
    roast_advice *advice = advise(run);
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    roast_advice_draw(advice, 80, sink);
    assert_ok(roast_sink_finish(sink, &err), err);
    if (!mentions(roast_sink_memory(sink), words)) {
        print_message("%s\n", roast_sink_memory(sink).data);
        fail_msg("\"%s\" is not said", words);
    }
    roast_sink_free(sink);
    roast_advice_free(advice);
    roast_run_free(run);
}

static void test_words(void **state) {
    (void)state;
    const scene lock = {.workers = 2, .threads = 2, .chunks = 80, .change = share_the_lock};
    expect_text(play_on(&lock, "DaskExecutor"), "Cluster(n_workers=4, threads_per_worker=1)\n");
    expect_text(play_on(&lock, "FuturesExecutor"),
                "FuturesExecutor(workers=4) with a pool of processes\n");
    expect_text(play_on(&lock, "ParslExecutor"), "4 workers with 1 thread each\n");
    expect_text(play(&(scene){HEALTHY, .change = slow_at_the_end}),
                "List 1 file first in the fileset\n"
                "  which      dataset_0: root://site//file_8.root\n");
    expect_text(play(&(scene){HEALTHY, .change = many_waits}), "\"preload\" in the fileset, 2");
    expect_text(play(&(scene){HEALTHY}), "No advice: nothing stands out.\n");
}

static void test_text(void **state) {
    (void)state;
    roast_error err;
    roast_sink *sink;
    const scene s = {.workers = 4, .threads = 1, .chunks = 800, .change = slow_tiny_and_preloaded};
    roast_run *run = play_on(&s, "DaskExecutor");
    roast_advice *advice = advise(run);
    for (unsigned width = 20; width <= 200; width += 60) {
        assert_ok(roast_sink_new_memory(&sink, &err), err);
        roast_advice_draw(advice, width, sink);
        assert_ok(roast_sink_finish(sink, &err), err);
        roast_str text = roast_sink_memory(sink);
        assert_true(mentions(text, "Runner(chunksize="));
        assert_true(mentions(text, "chunks_too_small"));
        assert_true(mentions(text, "for the next run"));
        roast_sink_free(sink);
    }
    roast_advice_free(advice);
    roast_run_free(run);
}

/* ---- memory ---- */

static roast_status advise_once(void *context) {
    roast_metrics *metrics = NULL;
    roast_advice *advice = NULL;
    roast_sink *sink = NULL;
    roast_status status = roast_metrics_compute(context, &metrics, NULL);
    if (status == ROAST_OK)
        status = roast_advise_run(context, metrics, &advice, NULL);
    if (status == ROAST_OK)
        status = roast_sink_new_memory(&sink, NULL);
    if (status == ROAST_OK) {
        roast_advice_json(advice, sink);
        roast_advice_draw(advice, 80, sink);
        status = roast_sink_finish(sink, NULL);
    }
    roast_sink_free(sink);
    roast_advice_free(advice);
    roast_metrics_free(metrics);
    return status;
}

static void test_memory_is_short(void **state) {
    (void)state;
    void (*const changes[])(piece *) = {many_waits, slow_at_the_end};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        roast_run *run = play(&(scene){HEALTHY, .change = changes[i]});
        assert_true(alloc_walk(advise_once, run) > 20);
        roast_run_free(run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_advice),
        cmocka_unit_test(test_empty_run),
        cmocka_unit_test(test_chunk_sizes),
        cmocka_unit_test(test_chunks_that_do_not_fit),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_rereads_at_the_edges_of_chunks),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_executors),
        cmocka_unit_test(test_workers_that_are_not_advised),
        cmocka_unit_test(test_waiting_is_not_predicted),
        cmocka_unit_test(test_files_first),
        cmocka_unit_test(test_a_long_tail),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_the_file_that_ended_the_run),
        cmocka_unit_test(test_predictions),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_memory_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
