/* Storage: names of doors, slow doors, and what is blamed on them instead of workers and files. */
#include "diagnose_sample.h"

#include "model/storage.h"

#define SCENE .workers = 4, .threads = 1, .chunks = 120
#define A     "root://a.example.org"
#define B     "root://b.example.org:1095"

/* ---- names ---- */

static void test_names_of_storages(void **state) {
    (void)state;
    static const struct {
        const char *file, *storage;
    } cases[] = {
        {"root://Door.Example.org//store/a.root", "root://door.example.org"},
        {"root://door.example.org:1094//store/a.root", "root://door.example.org"},
        {"xroot://door.example.org/a.root", "root://door.example.org"},
        {"root://door.example.org:1095//a.root", "root://door.example.org:1095"},
        {"root://user@door//a.root", "root://door"},
        {"https://me:secret@door.example.org:8443/a.root?token=x@y",
         "https://door.example.org:8443"},
        {"HTTPS://door:443/a.root", "https://door"},
        {"http://door:80", "http://door"},
        {"davs://door/a", "https://door"},
        {"http://[::1]:8000/a.root", "http://[::1]:8000"},
        {"root://[::1]:1094//a.root", "root://[::1]"},
        {"simplecache::root://door//a.root", "root://door"},
        {"zip://a.root::filecache::https://door/a.zip", "https://door"},
        {"root://cache//root://origin//a.root", "root://cache"},
        {"s3://bucket/a.root", "s3://bucket"},
        {"hdfs:///a.root", "hdfs://"},
        {"file:///data/a.root", "file"},
        {"file://host/data/a.root", "file"},
        {"/data/a.root", "file"},
        {"data/a::b.root", "file"},
        {"://x", "file"},
        {"root:/a", "file"},
        {"a", "file"},
        {"", "file"},
        {"a-scheme-that-is-far-too-long://x", "file"},
    };
    char name[ROAST_MAX_STORAGE];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len = roast_storage_of(roast_str_of(cases[i].file), name, sizeof name);
        assert_string_equal(cases[i].storage, name);
        assert_int_equal(strlen(name), len);
    }
    assert_int_equal(0, roast_storage_of((roast_str){NULL, 0}, name, sizeof name));
    char longest[2 * ROAST_MAX_STORAGE] = "root://", cut[8];
    memset(longest + 7, 'x', sizeof longest - 8);
    assert_true(roast_storage_of(roast_str_of(longest), name, sizeof name) < sizeof name);
    assert_int_equal(11, roast_storage_of(roast_str_of("root://door/a"), cut, sizeof cut));
    assert_string_equal("root://", cut);
}

/* ---- slow doors ---- */

static void waits(piece *p, double seconds) {
    p->duration += seconds;
    p->read.time_ns += (int64_t)(seconds / p->n_reads * 1e9);
    p->read_cpu = 0.1;
}

static void one_of_two_doors(piece *p) {
    p->door = p->file % 4 < 2 ? A : B;
    if (p->file % 4 >= 2)
        waits(p, 4);
}

static void one_of_five_doors(piece *p) {
    static const char *const doors[] = {A, "https://c", "root://d", "file:/", B};
    p->door = doors[p->file % 5];
    if (p->file % 5 == 4)
        waits(p, 4);
}

/* A worker happens to hold the files of the slow door. */
static void door_of_one_worker(piece *p) {
    p->door = p->worker == 2 ? B : A;
    if (p->worker == 2)
        waits(p, 4);
}

static void door_of_one_host(piece *p) {
    p->door = p->worker / 2 == 1 ? B : A;
    if (p->worker / 2 == 1)
        waits(p, 4);
}

/* Opening is what takes long. */
static void door_that_opens_slowly(piece *p) {
    p->door = p->file % 4 < 2 ? A : B;
    if (p->file % 4 >= 2)
        p->before += 4;
}

/* Most of one dataset is at the slow door, and little of the other one. */
static void unevenly(piece *p) {
    bool slow = p->file % 10 < (p->dataset == 0 ? 8u : 2u);
    p->door = slow ? B : A;
    if (slow)
        waits(p, 4);
}

static void expect_door(void (*change)(piece *), unsigned workers_per_host) {
    scene s = {SCENE, .change = change, .workers_per_host = workers_per_host};
    static const roast_finding_kind innocent[] = {
        ROAST_FINDING_straggler_worker, ROAST_FINDING_straggler_host, ROAST_FINDING_straggler_file};
    roast_findings *findings;
    roast_run *run = play(&s);
    findings = diagnose(run);
    const roast_finding *found = find_kind(findings, ROAST_FINDING_straggler_storage);
    for (size_t i = 0; i < sizeof innocent / sizeof *innocent; i++)
        if (found == NULL || find_kind(findings, innocent[i]) != NULL) {
            show(findings);
            fail_msg("the door, and nothing else, is slow");
        }
    assert_true(found->severity > ROAST_SEVERITY_note && mentions(found->title, B));
    /* 4 s more for each of its chunks: no more than that can be saved, and nearly all of it. */
    double planted = 0;
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_chunk_cursor_init(&cursor, roast_run_chunks_view(run));
    while (roast_chunk_cursor_next(&cursor, &chunk))
        planted += mentions(chunk.file, B) ? 4 : 0;
    assert_true(found->saving_core_seconds > 0.9 * planted &&
                found->saving_core_seconds < 1.1 * planted);
    roast_findings_free(findings);
    roast_run_free(run);
}

static void test_slow_doors(void **state) {
    (void)state;
    expect_door(one_of_two_doors, 1);
    expect_door(one_of_five_doors, 1);
    expect_door(door_of_one_worker, 1);
    expect_door(door_of_one_host, 2);
    expect_door(door_that_opens_slowly, 1);
    expect_door(unevenly, 1);
}

/* ---- no slow doors ---- */

/* The worker is slow: its events take more CPU time, wherever they are from. */
static void slow_worker_with_a_door(piece *p) {
    p->door = p->worker == 2 ? B : A;
    if (p->worker == 2) {
        p->duration *= 3;
        p->cpu *= 3;
    }
}

static void crowded_worker_with_a_door(piece *p) {
    p->door = p->worker == 2 ? B : A;
    if (p->worker == 2) {
        p->duration *= 3;
        p->queue = p->duration * 0.65;
    }
}

/* The worker waits, also for files of the other door. */
static void waiting_worker_with_most_of_a_door(piece *p) {
    p->door = (p->worker == 2) == (p->file % 4 < 3) ? B : A;
    if (p->worker == 2)
        waits(p, 4);
}

static void datasets_with_doors(piece *p) {
    p->door = p->dataset == 0 ? A : B;
    if (p->dataset == 1)
        waits(p, 4);
}

static void a_little(piece *p) {
    p->door = p->file % 4 < 2 ? A : B;
    if (p->file % 4 >= 2)
        waits(p, 0.4);
}

/* The only file at its door may be slow by itself. */
static void door_of_one_file(piece *p) {
    p->dataset = 0;
    p->file = p->index % 10;
    p->door = p->file == 3 ? B : A;
    if (p->file == 3)
        waits(p, 4);
}

static void test_no_slow_doors(void **state) {
    (void)state;
    static void (*const changes[])(piece *) = {slow_worker_with_a_door,
                                               crowded_worker_with_a_door,
                                               waiting_worker_with_most_of_a_door,
                                               datasets_with_doors,
                                               a_little,
                                               door_of_one_file,
                                               NULL};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        expect_none(play(&(scene){SCENE, .change = changes[i]}), ROAST_FINDING_straggler_storage);
    for (size_t i = 0; i < 3; i++)
        expect_first(play(&(scene){SCENE, .change = changes[i]}), ROAST_FINDING_straggler_worker,
                     "tcp://w2");
}

/* ---- both ---- */

static void door_and_worker(piece *p) {
    one_of_two_doors(p);
    if (p->worker == 1) {
        p->duration *= 2.5;
        p->cpu *= 2.5;
    }
}

static void test_a_door_and_a_worker(void **state) {
    (void)state;
    const scene s = {SCENE, .change = door_and_worker};
    expect_first(play(&s), ROAST_FINDING_straggler_storage, B);
    expect_some(play(&s), ROAST_FINDING_straggler_worker, ROAST_SEVERITY_warning, "tcp://w1");
}

/* The last file goes on alone, because its door is slow. */
static void last_of_a_slow_door(piece *p) {
    one_of_two_doors(p);
    if (p->index == 119) {
        p->door = B;
        waits(p, 20);
    }
}

static void test_the_last_file_of_a_slow_door(void **state) {
    (void)state;
    expect_none(play(&(scene){SCENE, .change = last_of_a_slow_door}), ROAST_FINDING_straggler_file);
}

/* ---- reads and the CPU time of other threads ---- */

static void reads_of_other_threads(piece *p) {
    waits(p, 2);
    p->others = 1.9;
}

static void reads_that_wait(piece *p) {
    waits(p, 2);
    p->others = 0.001;
}

static void test_reads_are_not_all_waiting(void **state) {
    (void)state;
    expect_none(play(&(scene){SCENE, .change = reads_of_other_threads}), ROAST_FINDING_io_bound);
    expect_first(play(&(scene){SCENE, .change = reads_that_wait}), ROAST_FINDING_io_bound, "");
    roast_run *run = play(&(scene){SCENE, .change = reads_of_other_threads});
    roast_budget *budget = budget_of(run);
    const roast_budget_row *total = roast_budget_total(budget);
    /* 2.12 s of reads a chunk: 0.1 s on the CPU of its thread, 1.9 s on that of others. */
    assert_near(120 * 2.12, total->parts[ROAST_PART_read]);
    assert_true(fabs(120 * 0.1 - total->read_cpu) < 1e-3);
    assert_true(fabs(120 * 1.9 - total->read_others) < 1e-3);
    assert_true(fabs(120 * 0.12 - total->read_wait) < 1e-3);
    roast_budget_free(budget);
    roast_run_free(run);
}

static void reads_of_two_doors(piece *p) {
    one_of_two_doors(p);
    p->read_cpu = 0.1;
    p->others = 0.5;
}

static void test_budget_by_storage(void **state) {
    (void)state;
    roast_run *run = play(&(scene){SCENE, .change = one_of_two_doors});
    roast_budget *budget = budget_of(run);
    assert_sums(budget);
    uint32_t count;
    const roast_budget_row *rows = roast_budget_rows(budget, ROAST_BY_storage, &count);
    assert_int_equal(3, count); /* and one without a name */
    assert_true(rows[2].name.data == NULL);
    const roast_budget_row *a = row_named(budget, ROAST_BY_storage, A);
    const roast_budget_row *b = row_named(budget, ROAST_BY_storage, B);
    assert_near(60 * 0.12, a->parts[ROAST_PART_read]);
    assert_near(60 * 4.12, b->parts[ROAST_PART_read]);
    assert_true(isnan(a->read_others) && isnan(b->read_wait)); /* nobody told it */
    assert_string_equal("storage", roast_budget_split_name(ROAST_BY_storage));
    roast_budget_free(budget);
    roast_run_free(run);
}

/* Against sums over the planted numbers. */
static void test_reads_by_storage(void **state) {
    (void)state;
    roast_run *run = play(&(scene){SCENE, .change = reads_of_two_doors});
    roast_metrics *metrics;
    roast_error err;
    uint32_t count;
    assert_ok(roast_metrics_compute(run, &metrics, &err), err);
    const roast_storage_row *rows = roast_row_table_rows(metrics, ROAST_ROWS_per_storage, &count);
    assert_int_equal(2, count);
    /* The one that waits longest is the first. */
    assert_true(mentions(rows[0].name, B) && mentions(rows[1].name, A));
    assert_int_equal(60, rows[0].num_chunks);
    assert_int_equal(30, rows[0].num_files);
    assert_int_equal(60 * (100000 + 4 * 750000), rows[0].bytes_read.integer);
    assert_int_equal(ROAST_VALUE_NONE, rows[0].read_requests.kind);
    assert_near(60 * 4.12, roast_value_number(rows[0].read_seconds));
    assert_near(4 * 750000 / 4.12, roast_value_number(rows[0].read_rate));
    assert_true(fabs(60 * (4.12 - 0.1 - 0.5) - roast_value_number(rows[0].waiting_seconds)) < 1e-3);
    assert_true(roast_value_number(rows[0].waiting_percent) > 57 &&
                roast_value_number(rows[0].waiting_percent) < 60);
    assert_true(fabs(0.05 - roast_value_number(rows[0].mean_before_process)) < 2e-3);
    /* Other threads computed for longer than the reads took. */
    assert_true(roast_value_number(rows[1].waiting_seconds) == 0);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

static roast_status diagnose_once(void *context) {
    roast_error err;
    roast_findings *findings = NULL;
    roast_metrics *metrics = NULL;
    roast_status status = roast_metrics_compute(context, &metrics, &err);
    if (status == ROAST_OK)
        status = roast_diagnose_run(context, metrics, &findings, &err);
    roast_findings_free(findings);
    roast_metrics_free(metrics);
    return status;
}

static void test_without_memory(void **state) {
    (void)state;
    roast_run *run = play(&(scene){SCENE, .change = one_of_two_doors});
    assert_true(alloc_walk(diagnose_once, run) > 20);
    roast_run_free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_storages),
        cmocka_unit_test(test_slow_doors),
        cmocka_unit_test(test_no_slow_doors),
        cmocka_unit_test(test_a_door_and_a_worker),
        cmocka_unit_test(test_the_last_file_of_a_slow_door),
        cmocka_unit_test(test_reads_are_not_all_waiting),
        cmocka_unit_test(test_budget_by_storage),
        cmocka_unit_test(test_reads_by_storage),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
