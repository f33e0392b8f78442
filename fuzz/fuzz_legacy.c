#include <string.h>

#include "fuzz.h"
#include "roast/legacy.h"
#include "roast/metrics.h"

static const char times[] = "100.5,110.5";

#define NEXT "\x1e"

/* The text in front of NEXT, or all that is left; absent behind the last one. */
static roast_str next_text(roast_str *rest) {
    if (rest->data == NULL)
        return (roast_str){NULL, 0};
    const char *end = memchr(rest->data, NEXT[0], rest->len);
    roast_str text = {rest->data, end != NULL ? (size_t)(end - rest->data) : rest->len};
    *rest = end != NULL ? (roast_str){end + 1, rest->len - text.len - 1} : (roast_str){NULL, 0};
    return text;
}

/* The input is metrics.json; behind it may come the times, metadata.json and config.json. What loads can be computed
 * from. */
static bool decode(const uint8_t *data, size_t size) {
    roast_str rest = {(const char *)data, size};
    roast_legacy_texts texts = {.metrics = next_text(&rest), .folder = "folder"};
    texts.times = rest.data != NULL ? next_text(&rest) : (roast_str){times, sizeof times - 1};
    texts.metadata = next_text(&rest);
    texts.config = next_text(&rest);
    roast_run *run;
    roast_metrics *metrics;
    roast_error err;
    roast_error_reset(&err);
    roast_status status = roast_legacy_decode(&texts, &run, &err);
    if (status != ROAST_OK) {
        fuzz_require(err.status == status && err.message[0] != '\0', "a failure says why");
        return false;
    }
    fuzz_require(roast_run_note_count(run) > 0, "a note says where it comes from");
    if (roast_metrics_compute(run, &metrics, NULL) == ROAST_OK)
        roast_metrics_free(metrics);
    roast_run_free(run);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (decode(data, size))
        fuzz_accepted++;
    return 0;
}

/* ---- seeds ---- */

static const struct {
    const char *name, *text;
} seeds[] = {
    {"v1-empty", "{}"},
    {"v1-figures", "{\"total_events\": 1200, \"total_cpu_time\": 0.47, \"num_chunks\": 6, "
                   "\"avg_cpu_time_per_chunk\": 0.0783, \"core_efficiency\": null, \"x\": NaN}"},
    {"v1-workers",
     "{\"tracking_data\": {\"worker_counts\": {\"2026-11-16T00:05:52.630969\": 2}, "
     "\"worker_memory\": {\"tcp://127.0.0.1:1\": [[\"2026-11-16T00:05:52.630969\", 179130368]]}, "
     "\"worker_last_seen\": {\"tcp://127.0.0.1:1\": "
     "[[\"2026-11-16T00:05:52.630969\", 1794783952.1]]}}}"},
    {"v1-chunks",
     "{\"raw_chunk_metrics\": [{\"t_start\": 1794783953.8, \"t_end\": 1794783953.9, \"duration\": "
     "0.066, \"mem_before_mb\": 177.05859375, \"mem_delta_mb\": 0.01171875, \"num_events\": 200, "
     "\"dataset\": \"t\", \"file\": \"f\", \"uuid\": null, \"accessed_branches\": [\"Jet_pt\"], "
     "\"timing\": {\"a\": 0.01}, \"memory\": {\"b\": 0.75}, \"bytes\": {\"c\": 3160}, "
     "\"file_metadata\": {\"filename\": \"f\", \"compression_ratio\": 0.7, \"total_branches\": 5, "
     "\"total_tree_bytes\": 15249}, \"mine\": [1], \"error\": \"E: m\"}], "
     "\"raw_section_metrics\": [{\"name\": \"s\", \"duration\": 0.5}]}"},
    {"v1-spans", "{\"processor_cpu_time_seconds\": 0.5, \"overhead_cpu_time_seconds\": 0.1, "
                 "\"raw_span_metrics\": {\"('execute', 'f', 'thread-cpu', 'seconds')\": 0.5, "
                 "\"('gather-dep', \\\"it's\\\", 'seconds')\": 1}}"},
    {"v1-files", "{}" NEXT "0.5,10.5" NEXT "{\"format\": \"roastcoffea_measurement_v1\", "
                 "\"timestamp\": \"2026-11-16T00:05:52.630969\"}" NEXT "{\"site\": [1, 1.5]}"},
    {"v1-zone", "{\"raw_chunk_metrics\": [{\"t_start\": 90, \"t_end\": 91}]}" NEXT "0.5,10.5" NEXT
                "{\"timestamp\": \"2026-11-16 00:05:52-01:30:15\"}"},
    {"v1-shift",
     "{\"tracking_data\": {\"worker_counts\": [{\"timestamp\": \"2026-11-16T00:05:52\", "
     "\"worker_count\": 2}, [\"2026-11-16T00:05:53\", null]], \"worker_last_seen\": {\"w\": "
     "[[\"2026-11-16T00:05:52\", 1794783950.0]]}, \"worker_cpu\": null}}" NEXT "0.5,10.5" NEXT
     "{\"timestamp\": \"2026-11-16T00:05:52\"}"},
    {"v1-old-dates",
     "{\"tracking_data\": {\"worker_counts\": {\"1960-01-01T00:00:00.5\": 1}}}" NEXT "1,2"},
    {"v1-odd-values",
     "{\"total_cpu_time\": 1.5, \"avg_cpu_time_per_chunk\": 0.5, \"big\": 99999999999999999999, "
     "\"file_metadata\": {\"f\": {\"filename\": \"f\", \"branch_bytes\": {\"a\": 5, \"b\": "
     "null}}, \"g\": {}, \"h\": 3}, \"raw_chunk_metrics\": [{\"num_events\": \"many\", "
     "\"dataset\": 5, \"x\": 0.5, \"t\": \"a\", \"yes\": true, \"n\": 7, \"tag\": {\"$\": 1}, "
     "\"accessed_branches\": 5, \"timing\": {\"a\": \"x\"}, \"error\": 5, \"file_metadata\": "
     "{}}, {\"accessed_branches\": [1], \"error\": \"E\"}], \"raw_section_metrics\": [5, "
     "{\"name\": 3}]}"},
    {"v1-escapes",
     "{\"a\": \"\\ud800 \\ud83d\\ude00 \\u00e9 \\u00E9 \\n\", \"raw_span_metrics\": "
     "{\"cumulative_worker_metrics\": {\"('\\\\x41\\\\xe9\\\\u20ac\\\\U0001f600', None, "
     "'\\\\n\\\\r\\\\t\\\\\\\\\\\\'\\\\\\\"', 's')\": 1, \"('\\\\q', 'b', 'c')\": 1, "
     "\"('\\\\xzz', 'b', 'c')\": 1, \"('a', (1), 'c')\": 1, \"('a' 'b')\": 1, \"(\": 1, "
     "\"('a', 'b', 'c', 'd', 'e')\": 1, \"('a', 'b', 'c') \": 1, \"a\": 1, \"('\\\\\": 1, "
     "\"(,\": 1}}}"},
    {"bad-list", "[]"},
    {"bad-escape", "{\"a\": \"\\uzzzz\"}"},
    {"bad-text", "\"a\""},
    {"bad-number", "{\"raw_span_metrics\": 5}"},
    {"bad-bool", "{\"raw_chunk_metrics\": true}"},
    {"bad-chunk", "{\"raw_chunk_metrics\": [null]}"},
    {"bad-chunks", "{\"raw_chunk_metrics\": {}}"},
    {"bad-sections", "{\"raw_section_metrics\": 1.5}"},
    {"bad-tracking-list", "{\"tracking_data\": []}"},
    {"bad-column", "{\"tracking_data\": {\"worker_cpu\": 5}}"},
    {"bad-worker", "{\"tracking_data\": {\"worker_cpu\": {\"\": []}}}"},
    {"bad-worker-list", "{\"tracking_data\": {\"worker_cpu\": {\"w\": 5}}}"},
    {"bad-point", "{\"tracking_data\": {\"worker_cpu\": {\"w\": [5]}}}"},
    {"bad-value",
     "{\"tracking_data\": {\"worker_cpu\": {\"w\": [[\"2026-11-16T00:05:52\", \"1\"]]}}}"},
    {"bad-moment", "{\"tracking_data\": {\"worker_cpu\": {\"w\": [[5, 1]]}}}"},
    {"bad-counts", "{\"tracking_data\": {\"worker_counts\": 5}}"},
    {"bad-count", "{\"tracking_data\": {\"worker_counts\": {\"2026-11-16T00:05:52\": 0.5}}}"},
    {"bad-count-list", "{\"tracking_data\": {\"worker_counts\": [5]}}"},
    {"bad-times", "{}" NEXT "1,2,3"},
    {"bad-many-times", "{}" NEXT "                                                                "
                       "                                                                    1,2"},
    {"bad-metadata", "{}" NEXT "1,2" NEXT "[]"},
    {"bad-config", "{}" NEXT "1,2" NEXT "{}" NEXT "{"},
    {"bad-tracking", "{\"tracking_data\": {\"worker_cpu\": {\"w\": [[\"noon\", 1]]}}}"},
};

bool fuzz_make_corpus(const char *folder) {
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        if (!fuzz_save(folder, seeds[i].name, seeds[i].text, strlen(seeds[i].text)))
            return false;
    return true;
}
