/* What the chunk log costs a chunk: one JSON object on standard output.
 *
 * Beside each figure that moves bytes stands its floor: memcpy of the same bytes in the same run.
 * The tree is the best of several rounds; everything is nanoseconds or bytes a chunk. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample_chunks.h"

enum { TREE_ROUNDS = 5, TREE_CHUNKS = 20000, FAN_IN = 20, LOG_CHUNKS = 1000000 };

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
    sample_chunk samples[FAN_IN];
    roast_chunklog *logs[FAN_IN];
    for (size_t first = 0; first < TREE_CHUNKS; first += FAN_IN) {
        for (size_t i = 0; i < FAN_IN; i++)
            sample_chunk_make(&samples[i], first + i);
        roast_mono start = roast_mono_now();
        for (size_t i = 0; i < FAN_IN; i++) {
            must(roast_chunklog_new(&logs[i], &error));
            must(roast_chunklog_append(logs[i], &samples[i].chunk, &error));
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
    sample_chunk sample;
    double ns = 0;
    must(roast_chunklog_new(&log, &error));
    for (size_t first = 0; first < LOG_CHUNKS; first++) {
        sample_chunk_make(&sample, first);
        roast_mono start = roast_mono_now();
        must(roast_chunklog_append(log, &sample.chunk, &error));
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
    uint64_t random = 1;
    start = roast_mono_now();
    for (int i = 0; i < GETS; i++) {
        must(roast_chunklog_get(log, (uint64_t)sample_random(&random, 0, LOG_CHUNKS - 1), &chunk,
                                &error));
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
