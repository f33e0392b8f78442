/* The loader of measurements. A whole file would be a large input of which almost nothing matters, so
 * an input is one of two things, told by its first byte:
 *
 *   0      changes to a measurement that is made at the start: page, place in it (two bytes each, low one
 *          first) and the new byte, as many as there are
 *   1 ...  the contents of one part, by its place in `names`: as they are, and with their checksum put right */
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "fuzz.h"
#include "roast/store.h"
#include "store/database/db.h"

enum { PAGE = 4096, CHANGE = 5, WORKERS = 3, ROWS = 40 };

static uint64_t rows = ROWS; /* 1 for seeds: replay damages every bit of them */

static char folder[64], place[96], path[128];
static uint8_t *whole; /* the bytes of run.sqlite */
static size_t pages;
static bool replaced;

/* ---- the measurement ---- */

static roast_status fill_chunks(roast_chunklog *log) {
    static const roast_section sections[] = {{{"select", 6}, ROAST_SECTION_TIME, -1, 1, 5, 7, 0},
                                             {{"rss", 3}, ROAST_SECTION_MEMORY, 0, 2, 6, -1, 9}};
    static const roast_read reads[] = {{{"Jet_pt", 6}, 1, 2, -1, 3}};
    static const roast_str branches[] = {{"Jet_pt", 6}, {"Jet_eta", 7}};
    static const roast_custom customs[] = {
        {{"n", 1}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_INT, 5, 0, {NULL, 0}},
        {{"t", 1}, ROAST_SCOPE_CHUNK, ROAST_CUSTOM_TEXT, 0, 0, {"text", 4}}};
    static const roast_branch_size sizes[] = {{{"Jet_pt", 6}, 10, 30}, {{"Jet_eta", 7}, -1, 5}};
    const roast_file file = {.name = roast_str_of("a.root"),
                             .total_branches = 2,
                             .tree_bytes = 100,
                             .tree_uncompressed_bytes = -1,
                             .n_branches = 2,
                             .branches = sizes};
    for (uint64_t i = ROWS - rows; i < ROWS; i++) {
        roast_chunk chunk = {.have = ROAST_CHUNK_HAS(num_events) | ROAST_CHUNK_HAS(duration_ns),
                             .num_events = (int64_t)i * 100,
                             .duration_ns = (int64_t)i * 12345,
                             .token = 7,
                             .seq = i,
                             .pid = 5,
                             .worker = roast_str_of("tcp://10.0.0.1:1"),
                             .dataset = roast_str_of("ttbar"),
                             .file = roast_str_of("a.root"),
                             .task_key = roast_str_of("p-0123456789abcdef0123456789abcdef")};
        if (i % 2 == 0) {
            chunk.sections = sections;
            chunk.n_sections = 2;
            chunk.reads = reads;
            chunk.n_reads = 1;
            chunk.branches = branches;
            chunk.n_branches = 2;
            chunk.has_reads = chunk.has_branches = true;
        }
        if (i % 10 == 0) {
            chunk.customs = customs;
            chunk.n_customs = 2;
            chunk.error_type = roast_str_of("ValueError");
        }
        ROAST_TRY(roast_chunklog_append(log, &chunk, NULL));
    }
    return roast_chunklog_add_file(log, &file, NULL);
}

static roast_status fill_series(roast_series *series) {
    uint32_t workers = rows < WORKERS ? 1 : WORKERS;
    for (uint32_t w = 0; w < workers; w++) {
        char name[32];
        uint32_t number;
        snprintf(name, sizeof name, "tcp://10.0.0.%u:1", w);
        ROAST_TRY(roast_series_worker(series, roast_str_of(name), &number, NULL));
        ROAST_TRY(
            roast_series_change(series, number, ROAST_WORKER_JOINED, (roast_utc){1}, 4, NULL));
    }
    for (int t = 0; t < (int)rows; t += 2) {
        ROAST_TRY(roast_series_tick(series, (roast_utc){t * INT64_C(1000000007)}, workers, NULL));
        for (uint32_t w = 0; w < workers; w++) {
            double value[ROAST_COLUMNS];
            for (int c = 0; c < ROAST_COLUMNS; c++)
                value[c] = (t + c) % 7 == 0 ? NAN : (w + 1) * 1000.25 * (t / 3) - 300 * c;
            if (w == 0 || (t + (int)w) % 5 != 0)
                ROAST_TRY(roast_series_append(series, w, value, NULL));
        }
    }
    return ROAST_OK;
}

static roast_status fill_attempts(roast_run *run) {
    roast_attempts *attempts;
    uint32_t worker;
    ROAST_TRY(roast_attempts_new(&attempts, NULL));
    roast_run_take_attempts(run, attempts);
    ROAST_TRY(roast_attempts_add_worker(attempts, roast_str_of("w"), &worker, NULL));
    const roast_departure gone = {worker, {5}, true, 1, 0};
    ROAST_TRY(roast_attempts_add_departure(attempts, &gone, NULL));
    for (int i = 0; i < (int)rows; i += 4) {
        const roast_attempt attempt = {.prefix = roast_str_of("p"),
                                       .key = roast_str_of("p-7"),
                                       .worker = worker,
                                       .outcome = (roast_outcome)(i % ROAST_OUTCOME_COUNT),
                                       .ready_us = ROAST_NO_TIME,
                                       .sent_us = i * 1000,
                                       .start_us = i * 1000 + 1,
                                       .stop_us = i * 1000 + 2,
                                       .ended_us = i * 1000 + 3,
                                       .transfer_us = -1,
                                       .departure = ROAST_NO_DEPARTURE};
        ROAST_TRY(roast_attempts_append(attempts, &attempt, NULL));
    }
    return ROAST_OK;
}

static roast_status fill_ending(roast_run *run) {
    const roast_run_error error = {.type = roast_str_of("OSError"),
                                   .message = roast_str_of("no file"),
                                   .file = roast_str_of("b.root"),
                                   .entry_start = 0,
                                   .entry_stop = -1};
    const roast_skipped_file skipped = {roast_str_of("ttbar"), roast_str_of("b.root"), {NULL, 0}};
    roast_ending *ending;
    ROAST_TRY(roast_ending_new(ROAST_END_failed, &ending, NULL));
    roast_run_take_ending(run, ending);
    roast_ending_set_pieces(ending, (roast_ending_pieces){40, 39, 1});
    ROAST_TRY(roast_ending_set_error(ending, &error, NULL));
    return roast_ending_add_skipped(ending, &skipped, NULL);
}

static roast_status fill_run(roast_run *run) {
    const roast_span_value span = {roast_str_of("execute"), roast_str_of("p"),
                                   roast_str_of("thread-cpu"), roast_str_of("seconds"), 1.5};
    const roast_phase phase = {ROAST_PHASE_execution, 1, 2};
    roast_chunklog *beside;
    roast_series *counts;
    ROAST_TRY(fill_chunks(roast_run_chunks(run)));
    ROAST_TRY(fill_series(roast_run_series(run)));
    ROAST_TRY(fill_attempts(run));
    ROAST_TRY(roast_chunklog_new(&beside, NULL));
    roast_run_take_sections(run, beside);
    ROAST_TRY(fill_chunks(beside));
    ROAST_TRY(roast_series_new(&counts, NULL));
    roast_run_take_counts(run, counts);
    ROAST_TRY(fill_series(counts));
    ROAST_TRY(fill_ending(run));
    ROAST_TRY(roast_run_add_phase(run, &phase, NULL));
    const roast_report report = {.have_entries = true, .entries = 5, .processtime = 1.5};
    roast_run_set_report(run, &report);
    roast_run_set_replayed(run, 3);
    ROAST_TRY(roast_run_set_processor(run, roast_str_of("p"), NULL));
    ROAST_TRY(roast_run_add_column(run, roast_str_of("Jet_pt-data"), NULL));
    roast_run_set_clock(run, 1, 2);
    ROAST_TRY(roast_run_set_meta(run, roast_str_of("host"), roast_str_of("node"), NULL));
    ROAST_TRY(roast_run_add_note(run, roast_str_of("note"), NULL));
    return roast_run_add_span(run, &span, NULL);
}

static int remove_one(const char *name, const struct stat *info, int type, struct FTW *walk) {
    (void)info, (void)type, (void)walk;
    return remove(name);
}

static void clean_up(void) {
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(whole);
}

static void read_whole(void) {
    FILE *file = fopen(path, "rb");
    fuzz_require(file != NULL && fseek(file, 0, SEEK_END) == 0, "the measurement is there");
    pages = (size_t)ftell(file) / PAGE;
    whole = malloc(pages * PAGE);
    rewind(file);
    fuzz_require(whole != NULL && fread(whole, PAGE, pages, file) == pages, "it can be read");
    fclose(file);
}

/* Once a process. */
static void make_measurement(void) {
    static const roast_store_file file = {"config.json", "{}", 2};
    static const roast_store_blob_in blob = {"metrics", "bytes", 5};
    const roast_store_options options = {
        .path = place, .files = &file, .n_files = 1, .blobs = &blob, .n_blobs = 1};
    roast_run *run;
    snprintf(folder, sizeof folder, "%s/roast-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    fuzz_require(mkdtemp(folder) != NULL, "there is a place to write to");
    snprintf(place, sizeof place, "%s/run", folder);
    snprintf(path, sizeof path, "%s/run.sqlite", place);
    fuzz_require(roast_run_new(&run, NULL) == ROAST_OK && fill_run(run) == ROAST_OK,
                 "a run is made");
    fuzz_require(roast_store_save(run, &options, NULL) == ROAST_OK, "it is saved");
    roast_run_free(run);
    read_whole();
    atexit(clean_up);
}

/* ---- changes to it ---- */

/* What loads can be read piece by piece. */
static void read_pieces(void) {
    roast_store *store;
    roast_str blob;
    char *bytes;
    size_t len;
    fuzz_require(roast_store_open(place, &store, NULL) == ROAST_OK, "it opens");
    if (roast_store_blob(store, "metrics", &blob, NULL) == ROAST_OK)
        fuzz_require(blob.data != NULL, "a blob has bytes");
    if (roast_store_read_file(store, "config.json", &bytes, &len, NULL) == ROAST_OK)
        roast_free(bytes);
    roast_store_close(store);
}

static bool load(void) {
    roast_error err;
    roast_run *run;
    roast_error_reset(&err);
    roast_status status = roast_store_load(place, &run, &err);
    if (status != ROAST_OK) {
        fuzz_require(err.status == status && err.message[0] != '\0', "a failure says why");
        return false;
    }
    roast_run_free(run);
    read_pieces();
    return true;
}

static void write_page(int fd, size_t number, const uint8_t *page) {
    fuzz_require(pwrite(fd, page, PAGE, (off_t)(number * PAGE)) == PAGE, "a page is written");
}

/* Writes the pages that the input names, with all its changes to them, or as they were. */
static void change(const uint8_t *data, size_t size, bool undo) {
    int fd = open(path, O_WRONLY);
    fuzz_require(fd >= 0, "the measurement is there");
    for (size_t at = 0; at + CHANGE <= size; at += CHANGE) {
        size_t number = ((size_t)data[at] | (size_t)data[at + 1] << 8) % pages;
        uint8_t page[PAGE];
        memcpy(page, whole + number * PAGE, PAGE);
        for (size_t other = 0; !undo && other + CHANGE <= size; other += CHANGE)
            if (((size_t)data[other] | (size_t)data[other + 1] << 8) % pages == number)
                page[((size_t)data[other + 2] | (size_t)data[other + 3] << 8) % PAGE] =
                    data[other + 4];
        write_page(fd, number, page);
    }
    close(fd);
}

/* Again, if a part has taken its place. */
static void write_whole(void) {
    if (!replaced)
        return;
    FILE *file = fopen(path, "wb");
    fuzz_require(file != NULL && fwrite(whole, PAGE, pages, file) == pages && fclose(file) == 0,
                 "the measurement is written again");
    replaced = false;
}

static bool try_changes(const uint8_t *data, size_t size) {
    enum { MOST = 100 * CHANGE };
    if (size > MOST)
        size = MOST;
    write_whole();
    change(data, size, false);
    bool good = load();
    change(data, size, true);
    return good;
}

/* ---- contents of a part ---- */

/* Append only: the number of a name is the first byte of an input. */
static const char *const names[] = {"clock",  "report",  "processor", "replayed",     "columns",
                                    "meta",   "notes",   "spans",     "blob:metrics", "files",
                                    "ending", "phases",  "sections",  "counts",       "chunks",
                                    "series", "attempts"};
enum { NAMES = sizeof names / sizeof *names, LARGE = 3 }; /* the last ones are large parts */

/* A file with this part alone. A large one comes twice, as in a measurement that grew. */
static void write_part(int kind, const uint8_t *data, size_t size) {
    sqlite3 *db;
    replaced = true;
    const char *name = names[kind];
    const roast_str bytes = {(const char *)data, size};
    bool twice = kind >= NAMES - LARGE;
    unlink(path);
    fuzz_require(
        roast_db_create(&db, path, NULL) == ROAST_OK &&
            roast_part_put(db, name, bytes, ROAST_PART_APPENDED, NULL) == ROAST_OK &&
            (!twice || roast_part_put(db, name, bytes, ROAST_PART_APPENDED, NULL) == ROAST_OK) &&
            roast_part_put(db, ROAST_PART_END, (roast_str){NULL, 0}, ROAST_PART_APPENDED, NULL) ==
                ROAST_OK &&
            roast_db_exec(db, "COMMIT", NULL) == ROAST_OK && roast_db_close(db, NULL) == ROAST_OK,
        "a file with one part is made");
}

static bool try_part(const uint8_t *data, size_t size) {
    uint8_t *sealed = malloc(size + 1);
    fuzz_require(sealed != NULL, "there is memory");
    memcpy(sealed, data + 1, size - 1);
    write_part(data[0] - 1, sealed, size - 1);
    bool good = load();
    if (size > 5) {
        uint32_t crc = roast_crc32c(0, sealed, size - 5);
        for (int i = 0; i < 4; i++)
            sealed[size - 5 + (size_t)i] = (uint8_t)(crc >> 8 * i);
        write_part(data[0] - 1, sealed, size - 1);
        load();
    }
    free(sealed);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (whole == NULL)
        make_measurement();
    if (size > 0 && data[0] <= NAMES)
        fuzz_accepted += data[0] == 0 ? try_changes(data + 1, size - 1) : try_part(data, size);
    return 0;
}

/* ---- seeds ---- */

static bool save_changes(const char *to, const char *name, const uint8_t (*changes)[CHANGE],
                         size_t count) {
    uint8_t bytes[1 + 16 * CHANGE] = {0};
    memcpy(bytes + 1, changes, count * CHANGE);
    return fuzz_save(to, name, bytes, 1 + count * CHANGE);
}

/* The parts of the measurement, a seed each; sections and counts are of the same form as chunks and series. */
static bool save_parts(const char *to, sqlite3 *db, bool large) {
    roast_part_walk walk = {.statement = NULL};
    bool there = true,
         made = roast_part_walk_begin(&walk, db, large ? ROAST_PARTS_LARGE : ROAST_PARTS_SMALL, 0,
                                      NULL) == ROAST_OK;
    while (made && there) {
        uint8_t bytes[65536], kind = 0;
        char name[64];
        made = roast_part_walk_next(&walk, &there, NULL) == ROAST_OK;
        while (made && there && kind < NAMES &&
               !roast_str_equal(walk.name, roast_str_of(names[kind])))
            kind++;
        if (!made || !there || kind == NAMES || walk.bytes.len >= sizeof bytes ||
            strcmp(names[kind], "sections") == 0 || strcmp(names[kind], "counts") == 0)
            continue;
        bytes[0] = (uint8_t)(kind + 1);
        memcpy(bytes + 1, walk.bytes.data, walk.bytes.len);
        const char *colon = strchr(names[kind], ':');
        snprintf(name, sizeof name, "v2-%s", colon != NULL ? colon + 1 : names[kind]);
        made = fuzz_save(to, name, bytes, 1 + walk.bytes.len);
    }
    roast_part_walk_end(&walk);
    return made;
}

bool fuzz_make_corpus(const char *to) {
    /* The kind of the first page, a length of many gigabytes, a cell beyond its page. */
    static const uint8_t bad[][CHANGE] = {
        {0, 0, 100, 0, 2}, {1, 0, 40, 0, 0xff}, {1, 0, 8, 0, 0xff}};
    /* Two bytes of the header say that somebody may still write it; others that it is of another program, or version. */
    static const uint8_t live[][CHANGE] = {{0, 0, 18, 0, 2}, {0, 0, 19, 0, 2}},
                         program[][CHANGE] = {{0, 0, 68, 0, 1}},
                         newer[][CHANGE] = {{0, 0, 63, 0, 200}},
                         older[][CHANGE] = {{0, 0, 63, 0, 1}};
    sqlite3 *db;
    rows = 1;
    make_measurement();
    bool made = roast_db_open(&db, path, true, NULL) == ROAST_OK && save_parts(to, db, false) &&
                save_parts(to, db, true);
    return roast_db_close(db, NULL) == ROAST_OK && made &&
           save_changes(to, "v2-unchanged", bad, 0) && save_changes(to, "bad-cells", bad, 3) &&
           save_changes(to, "v2-live", live, 2) && save_changes(to, "bad-program", program, 1) &&
           save_changes(to, "bad-newer-version", newer, 1) &&
           save_changes(to, "bad-older-version", older, 1);
}
