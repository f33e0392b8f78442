/* What the chunk log costs a chunk: one JSON object on standard output.
 *
 * Beside each figure that moves bytes stands its floor: memcpy of the same bytes in the same run.
 * The tree is the best of several rounds; everything is nanoseconds or bytes a chunk. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roast/chunklog.h"

enum {
    TREE_ROUNDS = 5,
    TREE_CHUNKS = 20000,
    FAN_IN = 20,
    LOG_CHUNKS = 1000000,
    CHUNKS_A_FILE = 10,
    WORKERS = 64
};

static roast_error error;

static void must(roast_status status) {
    if (status == ROAST_OK)
        return;
    fprintf(stderr, "bench_chunklog: %s\n", error.message);
    exit(1);
}

static void *must_have(void *memory) {
    if (memory == NULL) {
        fprintf(stderr, "bench_chunklog: out of memory\n");
        exit(1);
    }
    return memory;
}

static double ns_since(roast_mono start) {
    return (double)roast_mono_since(start, roast_mono_now());
}

/* ---- a chunk as a NanoAOD analysis gives it, all kernel readings taken ---- */

static uint64_t random_state;

static int64_t random_between(int64_t low, int64_t high) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int64_t)((random_state >> 33) % (uint64_t)(high - low + 1));
}

typedef struct chunk_maker {
    roast_chunk chunk;
    roast_section sections[3];
    roast_str branches[2];
    char file[128], uuid[40], worker[32], host[16], task_key[80];
} chunk_maker;

static void make_names(chunk_maker *maker, uint64_t index) {
    uint64_t file = index / CHUNKS_A_FILE, worker = (uint64_t)random_between(0, WORKERS - 1);
    snprintf(maker->file, sizeof maker->file,
             "root://eospublic.cern.ch//eos/opendata/cms/nanoaod/TTbar/%08" PRIX64
             "-7C5B-E811-9D1A.root",
             file * 2654435761u % 0xffffffffu);
    snprintf(maker->uuid, sizeof maker->uuid, "%08" PRIx64 "-5c0b-11e8-9717-%012" PRIx64,
             file * 40503u % 0xffffffffu, file * 2654435761u);
    snprintf(maker->worker, sizeof maker->worker, "tcp://10.0.%" PRIu64 ".7:%" PRIu64, worker,
             35000 + worker);
    snprintf(maker->host, sizeof maker->host, "node%03" PRIu64, worker);
    snprintf(maker->task_key, sizeof maker->task_key,
             "TTbarProcessor-%08" PRIx64 "%08" PRIx64 "%08" PRIx64 "%08" PRIx64,
             (uint64_t)random_between(0, INT32_MAX), (uint64_t)random_between(0, INT32_MAX),
             (uint64_t)random_between(0, INT32_MAX), (uint64_t)random_between(0, INT32_MAX));
    roast_chunk *chunk = &maker->chunk;
    chunk->token = UINT64_C(0x9e3779b97f4a7c15) * (worker + 1);
    chunk->pid = (int64_t)(20000 + worker);
    chunk->host = roast_str_of(maker->host);
    chunk->worker = roast_str_of(maker->worker);
    chunk->dataset = roast_str_of(file % 2 == 0 ? "TTbar_semileptonic_2018" : "WJets_2018");
    chunk->file = roast_str_of(maker->file);
    chunk->uuid = roast_str_of(maker->uuid);
    chunk->treename = roast_str_of("Events");
    chunk->task_key = roast_str_of(maker->task_key);
}

static void make_numbers(roast_chunk *chunk, uint64_t index) {
    chunk->have = (UINT64_C(1) << ROAST_CHUNK_FIELD_COUNT) - 1;
    chunk->seq = index / WORKERS + 1;
    chunk->start_us = INT64_C(1790000000000000) + (int64_t)index * 15625 + random_between(0, 9999);
    chunk->duration_ns = random_between(400000000, 4000000000);
    chunk->num_events = random_between(90000, 110000);
    chunk->entry_start = (int64_t)(index % CHUNKS_A_FILE) * 100000;
    chunk->entry_stop = chunk->entry_start + chunk->num_events;
    chunk->rss_before = random_between(100000, 400000) * 4096;
    chunk->rss_after = chunk->rss_before + random_between(-2000, 20000) * 4096;
    chunk->rss_peak = chunk->rss_after + random_between(0, 60000) * 4096;
    /* getrusage tells microseconds. */
    chunk->cpu_user_ns = (chunk->duration_ns - random_between(10000000, 300000000)) / 1000 * 1000;
    chunk->cpu_system_ns = random_between(1000, 100000) * 1000;
    chunk->runqueue_wait_ns = random_between(10000, 5000000);
    chunk->io_wait_ns = 0;
    chunk->minor_faults = random_between(500, 40000);
    chunk->major_faults = 0;
    chunk->voluntary_switches = random_between(10, 400);
    chunk->involuntary_switches = random_between(0, 200);
    chunk->before_process_ns = random_between(20000000, 900000000);
    chunk->bytes_read = random_between(1000000, 40000000);
    chunk->read_requests = random_between(4, 60);
    chunk->metadata_bytes = random_between(100000, 900000);
    chunk->accessed_bytes = random_between(900000, 30000000);
    chunk->accessed_uncompressed_bytes = chunk->accessed_bytes * 3;
    chunk->os_read_bytes = chunk->bytes_read + random_between(0, 4000);
    chunk->os_read_calls = random_between(20, 300);
    chunk->os_write_bytes = 0;
    chunk->os_write_calls = 0;
    chunk->storage_read_bytes = random_between(0, 9000) * 4096;
    chunk->storage_write_bytes = 0;
    chunk->thread = random_between(20000, 30000);
    chunk->dropped_sections = 0;
}

static void make_tails(chunk_maker *maker) {
    static const char *const names[] = {"selection", "corrections", "fill_histograms"};
    roast_chunk *chunk = &maker->chunk;
    int64_t start = random_between(2000, 90000);
    for (int i = 0; i < 3; i++) {
        int64_t value = chunk->duration_ns / 4 + random_between(-9000000, 9000000);
        maker->sections[i] = (roast_section){.name = roast_str_of(names[i]),
                                             .kind = ROAST_SECTION_TIME,
                                             .parent = -1,
                                             .count = 1,
                                             .start_ns = start,
                                             .value = value};
        start += value + random_between(1000, 60000);
    }
    maker->branches[0] = roast_str_of("Jet_pt");
    maker->branches[1] = roast_str_of("Muon_pt");
    chunk->sections = maker->sections;
    chunk->n_sections = 3;
    chunk->branches = maker->branches;
    chunk->n_branches = 2;
    chunk->has_branches = true;
}

static void make_chunk(chunk_maker *maker, uint64_t index) {
    random_state = index * 2 + 1;
    maker->chunk = (roast_chunk){0};
    make_names(maker, index);
    make_numbers(&maker->chunk, index);
    make_tails(maker);
}

/* ---- packed logs ---- */

typedef struct packed {
    uint8_t *data;
    size_t len;
} packed;

static packed encode(const roast_chunklog *log) {
    roast_sink *sink;
    must(roast_sink_new_memory(&sink, &error));
    must(roast_chunklog_encode(log, sink, &error));
    roast_str bytes = roast_sink_memory(sink);
    packed result = {must_have(malloc(bytes.len)), bytes.len};
    memcpy(result.data, bytes.data, bytes.len);
    roast_sink_free(sink);
    return result;
}

static roast_chunklog *decode(packed from) {
    roast_chunklog *log;
    must(roast_chunklog_decode(from.data, from.len, &log, &error));
    return log;
}

static double copy_ns(const void *data, size_t len) {
    void *to = must_have(malloc(len));
    memset(to, 1, len);
    roast_mono start = roast_mono_now();
    memcpy(to, data, len);
    double ns = ns_since(start);
    volatile uint8_t *seen = to; /* so that the copy is not optimised away */
    (void)seen[len - 1];
    free(to);
    return ns;
}

/* ---- the figures ---- */

typedef struct tree_cost {
    double append_ns, merge_ns, decode_ns, encode_ns, copy_ns; /* all chunks, all levels */
    uint64_t bytes;                                            /* of all that went into a merge */
    uint64_t final_bytes; /* of the result, which then travels to the client */
    unsigned levels;
} tree_cost;

static double total_ns(const tree_cost *cost) {
    return cost->merge_ns + cost->decode_ns + cost->encode_ns;
}

static void encode_all(roast_chunklog **logs, size_t count, packed *out, tree_cost *cost) {
    roast_mono start = roast_mono_now();
    for (size_t i = 0; i < count; i++)
        out[i] = encode(logs[i]);
    cost->encode_ns += ns_since(start);
    for (size_t i = 0; i < count; i++) {
        cost->bytes += out[i].len;
        cost->copy_ns += copy_ns(out[i].data, out[i].len);
        roast_chunklog_free(logs[i]);
    }
}

static void make_leaves(packed *out, tree_cost *cost) {
    chunk_maker makers[FAN_IN];
    roast_chunklog *logs[FAN_IN];
    for (size_t first = 0; first < TREE_CHUNKS; first += FAN_IN) {
        for (size_t i = 0; i < FAN_IN; i++)
            make_chunk(&makers[i], first + i);
        roast_mono start = roast_mono_now();
        for (size_t i = 0; i < FAN_IN; i++) {
            must(roast_chunklog_new(&logs[i], &error));
            must(roast_chunklog_append(logs[i], &makers[i].chunk, &error));
        }
        cost->append_ns += ns_since(start);
        encode_all(logs, FAN_IN, out + first, cost);
    }
}

static roast_chunklog *merge_group(packed *in, size_t count, tree_cost *cost) {
    roast_chunklog *logs[FAN_IN];
    roast_mono start = roast_mono_now();
    for (size_t i = 0; i < count; i++)
        logs[i] = decode(in[i]);
    cost->decode_ns += ns_since(start);
    start = roast_mono_now();
    for (size_t i = 1; i < count; i++) {
        must(roast_chunklog_merge(logs[0], logs[i], false, NULL, &error));
        roast_chunklog_free(logs[i]);
    }
    cost->merge_ns += ns_since(start);
    for (size_t i = 0; i < count; i++)
        free(in[i].data);
    return logs[0];
}

/* Whatever goes into a merge was packed, moved and unpacked. */
static tree_cost run_tree(void) {
    tree_cost cost = {0};
    packed *moved = must_have(malloc(TREE_CHUNKS * sizeof *moved));
    make_leaves(moved, &cost);
    roast_chunklog *result = NULL;
    for (size_t count = TREE_CHUNKS, made; count > 1; count = made, cost.levels++) {
        made = 0;
        for (size_t first = 0; first < count; first += FAN_IN) {
            size_t n = count - first < FAN_IN ? count - first : FAN_IN;
            result = merge_group(moved + first, n, &cost);
            if (count > FAN_IN)
                encode_all(&result, 1, &moved[made], &cost);
            made++;
        }
    }
    if (roast_chunklog_count(result) != TREE_CHUNKS) {
        fprintf(stderr, "bench_chunklog: chunks were lost\n");
        exit(1);
    }
    packed last = encode(result);
    cost.final_bytes = last.len;
    roast_chunklog_free(result);
    free(last.data);
    free(moved);
    return cost;
}

static void measure_tree(void) {
    const double n = TREE_CHUNKS;
    tree_cost best = run_tree();
    for (int round = 1; round < TREE_ROUNDS; round++) {
        tree_cost cost = run_tree();
        if (total_ns(&cost) < total_ns(&best))
            best = cost;
    }
    printf("  \"single_append_ns\": %.1f,\n", best.append_ns / n);
    printf("  \"tree\": {\"chunks\": %d, \"fan_in\": %d, \"levels\": %u, \"total_ns\": %.1f, "
           "\"merge_ns\": %.1f, \"decode_ns\": %.1f, \"encode_ns\": %.1f, "
           "\"memcpy_floor_ns\": %.1f, \"bytes\": %.1f, \"final_bytes\": %.1f},\n",
           TREE_CHUNKS, FAN_IN, best.levels, total_ns(&best) / n, best.merge_ns / n,
           best.decode_ns / n, best.encode_ns / n, best.copy_ns / n, (double)best.bytes / n,
           (double)best.final_bytes / n);
}

static roast_chunklog *measure_append(void) {
    roast_chunklog *log;
    chunk_maker maker;
    double ns = 0;
    must(roast_chunklog_new(&log, &error));
    for (size_t first = 0; first < LOG_CHUNKS; first++) {
        make_chunk(&maker, first);
        roast_mono start = roast_mono_now();
        must(roast_chunklog_append(log, &maker.chunk, &error));
        ns += ns_since(start);
    }
    printf("  \"append_ns\": %.1f,\n", ns / LOG_CHUNKS);
    printf("  \"memory_bytes\": %.1f,\n", (double)roast_chunklog_memory(log) / LOG_CHUNKS);
    return log;
}

static void measure_packed(const roast_chunklog *log) {
    roast_mono start = roast_mono_now();
    packed bytes = encode(log);
    double encode_ns = ns_since(start);
    start = roast_mono_now();
    roast_chunklog *again = decode(bytes);
    double decode_ns = ns_since(start);
    printf("  \"packed\": {\"encode_ns\": %.1f, \"decode_ns\": %.1f, \"memcpy_floor_ns\": %.1f, "
           "\"bytes\": %.1f},\n",
           encode_ns / LOG_CHUNKS, decode_ns / LOG_CHUNKS,
           copy_ns(bytes.data, bytes.len) / LOG_CHUNKS, (double)bytes.len / LOG_CHUNKS);
    printf("  \"decoded_memory_bytes\": %.1f,\n",
           (double)roast_chunklog_memory(again) / LOG_CHUNKS);
    roast_chunklog_free(again);
    free(bytes.data);
}

static void measure_reading(const roast_chunklog *log) {
    roast_chunk chunk;
    roast_chunk_cursor cursor;
    int64_t sum = 0;
    roast_mono start = roast_mono_now();
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk))
        sum += chunk.duration_ns;
    double iterate_ns = ns_since(start);
    enum { GETS = 200000 };
    random_state = 1;
    start = roast_mono_now();
    for (int i = 0; i < GETS; i++) {
        must(roast_chunklog_get(log, (uint64_t)random_between(0, LOG_CHUNKS - 1), &chunk, &error));
        sum += chunk.duration_ns;
    }
    double get_ns = ns_since(start);
    printf("  \"iterate_ns\": %.1f,\n  \"get_ns\": %.1f,\n  \"check\": %" PRId64 "\n",
           iterate_ns / LOG_CHUNKS, get_ns / GETS, sum);
}

int main(void) {
    printf("{\n  \"bench\": \"chunklog\",\n");
    measure_tree();
    roast_chunklog *log = measure_append();
    measure_packed(log);
    measure_reading(log);
    printf("}\n");
    roast_chunklog_free(log);
    return 0;
}
