#include "sample_chunks.h"

#include <inttypes.h>
#include <stdio.h>

enum { CHUNKS_A_FILE = 10, WORKERS = 64 };

int64_t sample_random(uint64_t *state, int64_t low, int64_t high) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int64_t)((*state >> 33) % (uint64_t)(high - low + 1));
}

static void make_names(sample_chunk *out, uint64_t index, uint64_t *random) {
    uint64_t file = index / CHUNKS_A_FILE, worker = (uint64_t)sample_random(random, 0, WORKERS - 1);
    uint64_t hash[4];
    for (int i = 0; i < 4; i++)
        hash[i] = (uint64_t)sample_random(random, 0, INT32_MAX);
    snprintf(out->file, sizeof out->file,
             "root://eospublic.cern.ch//eos/opendata/cms/nanoaod/TTbar/%08" PRIX64
             "-7C5B-E811-9D1A.root",
             file * 2654435761u % 0xffffffffu);
    snprintf(out->uuid, sizeof out->uuid, "%08" PRIx64 "-5c0b-11e8-9717-%012" PRIx64,
             file * 40503u % 0xffffffffu, file * 2654435761u % UINT64_C(0xffffffffffff));
    snprintf(out->worker, sizeof out->worker, "tcp://10.0.%" PRIu64 ".7:%" PRIu64, worker,
             35000 + worker);
    snprintf(out->host, sizeof out->host, "node%03" PRIu64, worker);
    snprintf(out->task_key, sizeof out->task_key,
             "TTbarProcessor-%08" PRIx64 "%08" PRIx64 "%08" PRIx64 "%08" PRIx64, hash[0], hash[1],
             hash[2], hash[3]);
    roast_chunk *chunk = &out->chunk;
    chunk->token = UINT64_C(0x9e3779b97f4a7c15) * (worker + 1);
    chunk->pid = (int64_t)(20000 + worker);
    chunk->host = roast_str_of(out->host);
    chunk->worker = roast_str_of(out->worker);
    chunk->dataset = roast_str_of(file % 2 == 0 ? "TTbar_semileptonic_2018" : "WJets_2018");
    chunk->file = roast_str_of(out->file);
    chunk->uuid = roast_str_of(out->uuid);
    chunk->treename = roast_str_of("Events");
    chunk->task_key = roast_str_of(out->task_key);
}

static void make_numbers(roast_chunk *chunk, uint64_t index, uint64_t *random) {
    chunk->have = (UINT64_C(1) << ROAST_CHUNK_FIELD_COUNT) - 1;
    chunk->seq = index / WORKERS + 1;
    chunk->start_us =
        INT64_C(1790000000000000) + (int64_t)index * 15625 + sample_random(random, 0, 9999);
    chunk->duration_ns = sample_random(random, 400000000, 4000000000);
    chunk->num_events = sample_random(random, 90000, 110000);
    chunk->entry_start = (int64_t)(index % CHUNKS_A_FILE) * 100000;
    chunk->entry_stop = chunk->entry_start + chunk->num_events;
    chunk->rss_before = sample_random(random, 100000, 400000) * 4096;
    chunk->rss_after = chunk->rss_before + sample_random(random, -2000, 20000) * 4096;
    chunk->rss_peak = chunk->rss_after + sample_random(random, 0, 60000) * 4096;
    /* getrusage tells microseconds. */
    chunk->cpu_user_ns =
        (chunk->duration_ns - sample_random(random, 10000000, 300000000)) / 1000 * 1000;
    chunk->cpu_system_ns = sample_random(random, 1000, 100000) * 1000;
    chunk->runqueue_wait_ns = sample_random(random, 10000, 5000000);
    chunk->minor_faults = sample_random(random, 500, 40000);
    chunk->voluntary_switches = sample_random(random, 10, 400);
    chunk->involuntary_switches = sample_random(random, 0, 200);
    chunk->before_process_ns = sample_random(random, 20000000, 900000000);
    chunk->bytes_read = sample_random(random, 1000000, 40000000);
    chunk->read_requests = sample_random(random, 4, 60);
    chunk->metadata_bytes = sample_random(random, 100000, 900000);
    chunk->accessed_bytes = sample_random(random, 900000, 30000000);
    chunk->accessed_uncompressed_bytes = chunk->accessed_bytes * 3;
    chunk->os_read_bytes = chunk->bytes_read + sample_random(random, 0, 4000);
    chunk->os_read_calls = sample_random(random, 20, 300);
    chunk->storage_read_bytes = sample_random(random, 0, 9000) * 4096;
    chunk->thread = sample_random(random, 20000, 30000);
}

static void make_tails(sample_chunk *out, uint64_t *random) {
    static const char *const names[] = {"selection", "corrections", "fill_histograms"};
    roast_chunk *chunk = &out->chunk;
    int64_t start = sample_random(random, 2000, 90000);
    for (int i = 0; i < 3; i++) {
        int64_t value = chunk->duration_ns / 4 + sample_random(random, -9000000, 9000000);
        out->sections[i] = (roast_section){.name = roast_str_of(names[i]),
                                           .kind = ROAST_SECTION_TIME,
                                           .parent = -1,
                                           .count = 1,
                                           .start_ns = start,
                                           .value = value};
        start += value + sample_random(random, 1000, 60000);
    }
    out->branches[0] = roast_str_of("Jet_pt");
    out->branches[1] = roast_str_of("Muon_pt");
    chunk->sections = out->sections;
    chunk->n_sections = 3;
    chunk->branches = out->branches;
    chunk->n_branches = 2;
    chunk->has_branches = true;
}

void sample_chunk_make(sample_chunk *out, uint64_t index) {
    uint64_t random = index * 2 + 1;
    out->chunk = (roast_chunk){0};
    make_names(out, index, &random);
    make_numbers(&out->chunk, index, &random);
    make_tails(out, &random);
}

static roast_status fill_run(roast_run *run, uint64_t chunks) {
    static sample_chunk sample;
    for (uint64_t i = 0; i < chunks; i++) {
        sample_chunk_make(&sample, i);
        ROAST_TRY(roast_chunklog_append(roast_run_chunks(run), &sample.chunk, NULL));
    }
    roast_run_set_clock(run, 0, 3600);
    const roast_report report = {.have_entries = true,
                                 .have_bytesread = true,
                                 .have_processtime = true,
                                 .have_chunks = true,
                                 .entries = INT64_C(100000) * (int64_t)chunks,
                                 .bytesread = INT64_C(20000000) * (int64_t)chunks,
                                 .processtime = 2.0 * (double)chunks,
                                 .chunks = (int64_t)chunks};
    roast_run_set_report(run, &report);
    return ROAST_OK;
}

roast_run *sample_run_make(uint64_t chunks) {
    roast_run *run;
    if (roast_run_new(&run, NULL) != ROAST_OK)
        return NULL;
    if (fill_run(run, chunks) == ROAST_OK)
        return run;
    roast_run_free(run);
    return NULL;
}
