#include <math.h>

#include "fuzz.h"
#include "roast/metrics.h"

static uint64_t add_value(uint64_t sum, roast_value value) {
    return fuzz_add_real(sum * 31 + (uint64_t)value.kind, roast_value_number(value));
}

static uint64_t walk_tables(const roast_metrics *metrics, uint64_t sum) {
    uint32_t count;
    const roast_dataset_row *datasets =
        roast_row_table_rows(metrics, ROAST_ROWS_per_dataset, &count);
    for (uint32_t i = 0; i < count; i++) {
        sum = fuzz_add_text(sum, datasets[i].name) + datasets[i].num_chunks;
        sum = fuzz_add_real(sum, datasets[i].total_duration) + (uint64_t)datasets[i].total_events;
        sum = fuzz_add_real(sum, datasets[i].mean_duration);
        sum = fuzz_add_real(sum, datasets[i].mean_events_per_chunk);
    }
    const roast_section_row *sections = roast_row_table_rows(metrics, ROAST_ROWS_sections, &count);
    for (uint32_t i = 0; i < count; i++) {
        sum = fuzz_add_text(sum, sections[i].name) + (uint64_t)sections[i].kind + sections[i].count;
        sum = fuzz_add_real(fuzz_add_real(sum, sections[i].total_duration),
                            sections[i].self_duration);
        sum = fuzz_add_real(fuzz_add_real(sum, sections[i].mean_duration),
                            sections[i].mean_mem_delta_mb);
        sum = fuzz_add_real(fuzz_add_real(sum, sections[i].max_mem_delta_mb),
                            sections[i].min_mem_delta_mb);
        sum = add_value(sum, sections[i].total_bytes);
    }
    const roast_file_row *files =
        roast_row_table_rows(metrics, ROAST_ROWS_file_read_metrics, &count);
    for (uint32_t i = 0; i < count; i++) {
        sum = add_value(fuzz_add_text(sum, files[i].name), files[i].total_branches);
        sum = add_value(add_value(sum, files[i].branches_read_percent), files[i].total_tree_bytes);
        sum = add_value(add_value(sum, files[i].bytes_read), files[i].bytes_read_percent);
        sum =
            add_value(add_value(sum, files[i].compression_ratio), files[i].uncompressed_bytes_read);
    }
    const roast_branch_row *branches =
        roast_row_table_rows(metrics, ROAST_ROWS_branch_read_metrics, &count);
    for (uint32_t i = 0; i < count; i++) {
        sum = add_value(fuzz_add_text(sum, branches[i].name), branches[i].seconds);
        sum = add_value(add_value(sum, branches[i].bytes), branches[i].uncompressed_bytes);
        sum = add_value(sum, branches[i].count) + branches[i].num_chunks;
    }
    const roast_worker_row *workers =
        roast_row_table_rows(metrics, ROAST_ROWS_worker_health, &count);
    for (uint32_t i = 0; i < count; i++) {
        sum = fuzz_add_text(fuzz_add_text(sum, workers[i].name), workers[i].host) +
              workers[i].samples;
        sum = add_value(add_value(sum, workers[i].threads), workers[i].peak_memory_bytes);
        sum = add_value(add_value(sum, workers[i].memory_limit_bytes), workers[i].mean_cpu_percent);
        sum = add_value(add_value(sum, workers[i].peak_memory_percent),
                        workers[i].peak_spilled_bytes);
    }
    return sum;
}

static uint64_t walk(const roast_metrics *metrics) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < roast_catalogue_count(); i++)
        sum = add_value(sum, roast_metrics_at(metrics, i));
    return walk_tables(metrics, sum);
}

FUZZ_PACKED(roast_metrics, walk, (void))

/* ---- seeds ---- */

static roast_status fill(roast_metrics *metrics) {
    const roast_value none = roast_value_none();
    const roast_dataset_row datasets[] = {{{"ttbar", 5}, 12, 3.5, 120000, 0.25, 10000},
                                          {{NULL, 0}, 1, NAN, 0, NAN, NAN}};
    const roast_section_row section = {
        {"select", 6}, ROAST_SECTION_TIME, 12, 2.5, 1.5, 0.2, NAN, NAN, NAN, {0}};
    const roast_section_row memory = {
        {"fill", 4}, ROAST_SECTION_MEMORY, 3, NAN, NAN, NAN, 1.5, 4, -2, {0}};
    const roast_file_row file = {{"root://host//f.root", 19}, roast_value_int(1500),
                                 roast_value_real(12.5),      roast_value_int(1000000000),
                                 roast_value_int(125000000),  roast_value_real(12.5),
                                 roast_value_real(0.25),      none};
    const roast_branch_row branch = {{"Jet_pt", 6},           12,   roast_value_real(0.75),
                                     roast_value_int(123456), none, roast_value_int(24)};
    const roast_worker_row worker = {{"tcp://10.0.0.1:4000", 19},
                                     {"node1", 5},
                                     600,
                                     roast_value_real(4),
                                     roast_value_int(3000000000),
                                     roast_value_int(4000000000),
                                     roast_value_real(75),
                                     roast_value_int(0),
                                     none};
    ROAST_TRY(roast_metrics_set(metrics, "wall_time", roast_value_real(12.5), NULL));
    ROAST_TRY(roast_metrics_set(metrics, "total_events", roast_value_int(120000), NULL));
    ROAST_TRY(roast_row_table_add(metrics, ROAST_ROWS_per_dataset, &datasets[0], NULL));
    ROAST_TRY(roast_row_table_add(metrics, ROAST_ROWS_per_dataset, &datasets[1], NULL));
    ROAST_TRY(roast_row_table_add(metrics, ROAST_ROWS_sections, &section, NULL));
    ROAST_TRY(roast_row_table_add(metrics, ROAST_ROWS_sections, &memory, NULL));
    ROAST_TRY(roast_row_table_add(metrics, ROAST_ROWS_file_read_metrics, &file, NULL));
    ROAST_TRY(roast_row_table_add(metrics, ROAST_ROWS_branch_read_metrics, &branch, NULL));
    return roast_row_table_add(metrics, ROAST_ROWS_worker_health, &worker, NULL);
}

static bool make_seed(const char *folder, const char *name, bool full) {
    roast_metrics *metrics = NULL;
    roast_sink *sink = NULL;
    bool made = roast_metrics_new(&metrics, NULL) == ROAST_OK &&
                roast_sink_new_memory(&sink, NULL) == ROAST_OK &&
                (!full || fill(metrics) == ROAST_OK) &&
                roast_metrics_encode(metrics, sink, NULL) == ROAST_OK;
    if (made) {
        roast_str bytes = roast_sink_memory(sink);
        made = fuzz_save(folder, name, bytes.data, bytes.len);
    }
    roast_sink_free(sink);
    roast_metrics_free(metrics);
    return made;
}

bool fuzz_make_corpus(const char *folder) {
    static const char future[] = "RCMX\x02 of another time";
    return make_seed(folder, "v2-empty", false) && make_seed(folder, "v2-full", true) &&
           fuzz_save(folder, "bad-newer-version", future, sizeof future - 1);
}
