/* What the module keeps: one list for the interned names, one for the types. */
#ifndef ROAST_EXT_STATE_H
#define ROAST_EXT_STATE_H

#include "compat.h"

/* Names that are looked up on users' objects, once made into Python strings. */
#define EXT_NAMES(X)                                                                               \
    X(collect, "_roastcoffea_collect_metrics")                                                     \
    X(current_chunk, "_roastcoffea_current_chunk")                                                 \
    X(topic, "_roastcoffea_topic")                                                                 \
    X(chunk_metrics, "_chunk_metrics")                                                             \
    X(output_key, "__roastcoffea_metrics__")                                                       \
    X(metadata, "metadata")                                                                        \
    X(attrs, "attrs")                                                                              \
    X(events_factory, "@events_factory")                                                           \
    X(file_handle, "file_handle")                                                                  \
    X(access_log, "access_log")                                                                    \
    X(branch, "branch")                                                                            \
    X(file, "file")                                                                                \
    X(source, "source")                                                                            \
    X(num_requested_bytes, "num_requested_bytes")                                                  \
    X(num_requests, "num_requests")                                                                \
    X(dataset, "dataset")                                                                          \
    X(filename, "filename")                                                                        \
    X(treename, "treename")                                                                        \
    X(entrystart, "entrystart")                                                                    \
    X(entrystop, "entrystop")                                                                      \
    X(fileuuid, "fileuuid")                                                                        \
    X(timing, "timing")                                                                            \
    X(memory, "memory")                                                                            \
    X(bytes, "bytes")                                                                              \
    X(custom_metrics, "custom_metrics")                                                            \
    X(error, "error")                                                                              \
    X(distributed_worker, "distributed.worker")                                                    \
    X(thread_state, "thread_state")                                                                \
    X(start_time, "start_time")                                                                    \
    X(key, "key")                                                                                  \
    X(execution_state, "execution_state")                                                          \
    X(worker, "worker")                                                                            \
    X(address, "address")                                                                          \
    X(module, "__module__")                                                                        \
    X(qualname, "__qualname__")                                                                    \
    X(name, "__name__")                                                                            \
    X(doc, "__doc__")                                                                              \
    X(wrapped, "__wrapped__")                                                                      \
    X(dict, "__dict__")                                                                            \
    X(main, "__main__")                                                                            \
    X(events, "events")                                                                            \
    X(dumps, "dumps")                                                                              \
    X(loads, "loads")                                                                              \
    X(process, "process")                                                                          \
    X(metrics, "metrics")                                                                          \
    X(memory_limit, "memory_limit")                                                                \
    X(processing, "processing")                                                                    \
    X(nthreads, "nthreads")                                                                        \
    X(nbytes, "nbytes")                                                                            \
    X(occupancy, "occupancy")                                                                      \
    X(occupancy_cache, "_occupancy_cache")                                                         \
    X(executing, "executing")                                                                      \
    X(released, "released")                                                                        \
    X(queued, "queued")                                                                            \
    X(no_worker, "no-worker")                                                                      \
    X(erred, "erred")                                                                              \
    X(forgotten, "forgotten")                                                                      \
    X(processing_on, "processing_on")                                                              \
    X(prefix, "prefix")                                                                            \
    X(plain_name, "name")                                                                          \
    X(stimulus_id, "stimulus_id")                                                                  \
    X(startstops, "startstops")                                                                    \
    X(exception_text, "exception_text")                                                            \
    X(thread, "thread")                                                                            \
    X(action, "action")                                                                            \
    X(start, "start")                                                                              \
    X(stop, "stop")                                                                                \
    X(compute, "compute")                                                                          \
    X(transfer, "transfer")                                                                        \
    X(deserialize, "deserialize")                                                                  \
    X(disk_read, "disk-read")                                                                      \
    X(last_seen, "last_seen")                                                                      \
    X(cpu, "cpu")                                                                                  \
    X(spilled_bytes, "spilled_bytes")                                                              \
    X(disk, "disk")                                                                                \
    X(host_net_io, "host_net_io")                                                                  \
    X(host_disk_io, "host_disk_io")                                                                \
    X(read_bps, "read_bps")                                                                        \
    X(write_bps, "write_bps")                                                                      \
    X(host_name, "host")                                                                           \
    X(scheduler, "scheduler")                                                                      \
    X(scheduler_ref, "scheduler_ref")                                                              \
    X(task_prefixes, "task_prefixes")                                                              \
    X(task_prefix_count, "task_prefix_count")                                                      \
    X(get_prefix_duration, "_get_prefix_duration")                                                 \
    X(network_occ, "_network_occ")                                                                 \
    X(bandwidth, "bandwidth")                                                                      \
    X(mapping, "_mapping")                                                                         \
    X(virtual_mode, "_virtual")                                                                    \
    X(extract_column, "extract_column")                                                            \
    X(mapping_log, "_access_log")                                                                  \
    X(mapping_cache, "_cache")                                                                     \
    X(mapping_start, "_start")                                                                     \
    X(mapping_stop, "_stop")                                                                       \
    X(preloaded_arrays, "preloaded_arrays")                                                        \
    X(partition_key, "_partition_key")                                                             \
    X(key_root, "key_root")                                                                        \
    X(layout, "_layout")                                                                           \
    X(data, "_data")                                                                               \
    X(offsets, "_offsets")                                                                         \
    X(content, "_content")                                                                         \
    X(members, "_members")                                                                         \
    X(bases, "_bases")                                                                             \
    X(f_name, "fName")                                                                             \
    X(f_entries, "fEntries")                                                                       \
    X(f_zip_bytes, "fZipBytes")                                                                    \
    X(f_tot_bytes, "fTotBytes")                                                                    \
    X(f_branches, "fBranches")                                                                     \
    X(f_basket_bytes, "fBasketBytes")                                                              \
    X(f_basket_entry, "fBasketEntry")                                                              \
    X(lookup, "_lookup")                                                                           \
    X(num_normal_baskets, "_num_normal_baskets")                                                   \
    X(tree_header, "_header")                                                                      \
    X(tree_footer, "_footer")                                                                      \
    X(page_list_envelopes, "_page_list_envelopes")                                                 \
    X(all_fields, "all_fields")                                                                    \
    X(field_records, "field_records")                                                              \
    X(column_records, "column_records")                                                            \
    X(path, "path")                                                                                \
    X(fields, "_fields")                                                                           \
    X(field_name, "_name")                                                                         \
    X(field_id, "field_id")                                                                        \
    X(parent_field_id, "parent_field_id")                                                          \
    X(nbits, "nbits")                                                                              \
    X(pagelinklist, "pagelinklist")                                                                \
    X(pages, "pages")                                                                              \
    X(num_elements, "num_elements")                                                                \
    X(locator, "locator")                                                                          \
    X(num_bytes, "num_bytes")                                                                      \
    X(column, "column")                                                                            \
    X(schema_arrow, "schema_arrow")                                                                \
    X(names, "names")                                                                              \
    X(num_rows, "num_rows")                                                                        \
    X(num_columns, "num_columns")                                                                  \
    X(num_row_groups, "num_row_groups")                                                            \
    X(serialized_size, "serialized_size")                                                          \
    X(row_group, "row_group")                                                                      \
    X(path_in_schema, "path_in_schema")                                                            \
    X(total_compressed_size, "total_compressed_size")                                              \
    X(total_uncompressed_size, "total_uncompressed_size")

/* Types of the module: name in C, its spec (defined in the file of the type), name in Python. */
#define EXT_TYPES(X)                                                                               \
    X(chunk_log, "ChunkLog")                                                                       \
    X(chunk_record, "ChunkRecord")                                                                 \
    X(current_chunk, "CurrentChunk")                                                               \
    X(column_reader, "ColumnReader")                                                               \
    X(tracked, "track_metrics")                                                                    \
    X(time_section, "track_time")                                                                  \
    X(memory_section, "track_memory")                                                              \
    X(bytes_section, "track_bytes")                                                                \
    X(instrumentation, "BaseInstrumentationContext")                                               \
    X(process_tree, "ProcessTree")                                                                 \
    X(worker_series, "WorkerSeries")                                                               \
    X(attempts, "Attempts")                                                                        \
    X(task_watch, "TaskWatch")                                                                     \
    X(progress, "Progress")                                                                        \
    X(live_measurement, "LiveMeasurement")                                                         \
    X(run, "Run")                                                                                  \
    X(summary, "Summary")                                                                          \
    X(table, "Table")                                                                              \
    X(column, "Column")

enum { EXT_SPARE_SECTIONS = 8 };

typedef struct ext_state {
#define X(id, text) PyObject *str_##id;
    EXT_NAMES(X)
#undef X
#define X(id, text) PyTypeObject *type_##id;
    EXT_TYPES(X)
#undef X
    PyObject *mutable_mapping; /* collections.abc.MutableMapping */
    PyObject *json_loads;
    PyObject *dump_value, *load_value; /* of export/extras.py; NULL until one is needed */
    PyObject *host;                    /* this machine's name, as bytes */
    PyObject *spare_sections[EXT_SPARE_SECTIONS]; /* memory of dead section objects */
    int n_spare_sections;
} ext_state;

extern struct PyModuleDef ext_module_def;

#define X(id, text) extern PyType_Spec ext_spec_##id;
EXT_TYPES(X)
#undef X

/* The state behind a module object. */
static inline ext_state *ext_state_of_module(PyObject *module) {
    return (ext_state *)PyModule_GetState(module);
}

/* The state behind a type of ours that users cannot derive from. */
static inline ext_state *ext_state_of_final(PyTypeObject *type) {
    return (ext_state *)PyType_GetModuleState(type);
}

/* The state behind any type of ours or of a class derived from it. NULL with an exception set. */
static inline ext_state *ext_state_of_type(PyTypeObject *type) {
    PyObject *module = PyType_GetModuleByDef(type, &ext_module_def);
    return module == NULL ? NULL : ext_state_of_module(module);
}

#endif
