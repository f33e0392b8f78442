#include <string.h>

#include "fuzz.h"
#include "roast/legacy.h"
#include "roast/metrics.h"

static const char times[] = "100.5,110.5";

/* The input is metrics.json. What loads can be computed from. */
static bool decode(const uint8_t *data, size_t size) {
    const roast_legacy_texts texts = {.metrics = {(const char *)data, size},
                                      .times = {times, sizeof times - 1}};
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
    {"bad-list", "[]"},
    {"bad-tracking", "{\"tracking_data\": {\"worker_cpu\": {\"w\": [[\"noon\", 1]]}}}"},
};

bool fuzz_make_corpus(const char *folder) {
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        if (!fuzz_save(folder, seeds[i].name, seeds[i].text, strlen(seeds[i].text)))
            return false;
    return true;
}
