/* The state of the module: one list for the interned names, one for the types. */
#ifndef ROAST_EXT_STATE_H
#define ROAST_EXT_STATE_H

#include "common/compat.h"

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
    X(copy, "copy")                                                                                \
    X(started, "started")                                                                          \
    X(key, "key")                                                                                  \
    X(address, "address")                                                                          \
    X(worker, "worker")                                                                            \
    X(dict, "__dict__")                                                                            \
    X(events, "events")                                                                            \
    X(process, "process")                                                                          \
    X(metrics, "metrics")                                                                          \
    X(memory_limit, "memory_limit")                                                                \
    X(nthreads, "nthreads")                                                                        \
    X(executing, "executing")                                                                      \
    X(last_seen, "last_seen")                                                                      \
    X(processing, "processing")                                                                    \
    X(nbytes, "nbytes")                                                                            \
    X(occupancy, "occupancy")                                                                      \
    X(plain_name, "name")                                                                          \
    X(cpu, "cpu")                                                                                  \
    X(spilled_bytes, "spilled_bytes")                                                              \
    X(disk, "disk")                                                                                \
    X(host_net_io, "host_net_io")                                                                  \
    X(host_disk_io, "host_disk_io")                                                                \
    X(read_bps, "read_bps")                                                                        \
    X(write_bps, "write_bps")                                                                      \
    X(mapping, "_mapping")                                                                         \
    X(virtual_mode, "_virtual")                                                                    \
    X(extract_column, "extract_column")                                                            \
    X(mapping_log, "_access_log")                                                                  \
    X(preloaded_arrays, "preloaded_arrays")                                                        \
    X(column, "column")

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
    X(process_tree, "ProcessTree")                                                                 \
    X(taskvine_log, "TaskVineLog")                                                                 \
    X(worker_series, "WorkerSeries")                                                               \
    X(attempts, "Attempts")                                                                        \
    X(progress, "Progress")                                                                        \
    X(tally, "Tally")                                                                              \
    X(live_measurement, "LiveMeasurement")                                                         \
    X(run, "Run")                                                                                  \
    X(summary, "Summary")                                                                          \
    X(advice, "Advice")                                                                            \
    X(what_if, "WhatIf")                                                                           \
    X(table, "Table")                                                                              \
    X(column, "Column")

/* Things of Python modules: name in C, module, name there. Imported when ext_import_<id>() is first called, NULL in the
 * state until then. */
#define EXT_IMPORTS(X)                                                                             \
    X(mutable_mapping, "collections.abc", "MutableMapping")                                        \
    X(default_dict, "collections", "defaultdict")                                                  \
    X(user_dict, "collections", "UserDict")                                                        \
    X(dump_value, "roastcoffea.export.extras", "dump")                                             \
    X(load_value, "roastcoffea.export.extras", "load")                                             \
    X(current_task, "roastcoffea.worker.tasks", "current")                                         \
    X(batch_job, "roastcoffea.worker.facility", "batch_job")                                       \
    X(table_text, "roastcoffea.common.preview", "table_text")                                      \
    X(table_html, "roastcoffea.common.preview", "table_html")                                      \
    X(attempts_html, "roastcoffea.common.preview", "attempts_html")                                \
    X(update_wrapper, "functools", "update_wrapper")                                               \
    X(reduce_tracked, "roastcoffea.decorator", "reduce")                                           \
    X(put_record, "roastcoffea.worker.channel", "put")                                             \
    X(describe_file, "roastcoffea.worker.file_sizes", "describe")                                  \
    X(preloaded_bytes, "roastcoffea.worker.file_sizes", "preloaded_bytes")

typedef struct ext_state {
#define X(id, text) PyObject *str_##id;
    EXT_NAMES(X)
#undef X
#define X(id, text) PyTypeObject *type_##id;
    EXT_TYPES(X)
#undef X
#define X(id, module, name) PyObject *id;
    EXT_IMPORTS(X)
#undef X
    PyObject *host;       /* this machine's name, as bytes */
    PyObject *own_job;    /* what batch_job() says of this process, or NULL */
    uint64_t job_process; /* token of the process that was asked about */
} ext_state;

extern struct PyModuleDef ext_module_def;

/* Borrowed; NULL with an exception set. */
PyObject *ext_imported(PyObject **kept, const char *module, const char *name);
#define X(id, module, name)                                                                        \
    static inline PyObject *ext_import_##id(ext_state *state) {                                    \
        return ext_imported(&state->id, module, name);                                             \
    }
EXT_IMPORTS(X)
#undef X

#define X(id, text) extern PyType_Spec ext_spec_##id;
EXT_TYPES(X)
#undef X

/* The state of a module object. */
static inline ext_state *ext_state_of_module(PyObject *module) {
    return (ext_state *)PyModule_GetState(module);
}

/* The state of a type of ours that users cannot derive from. */
static inline ext_state *ext_state_of_final(PyTypeObject *type) {
    return (ext_state *)PyType_GetModuleState(type);
}

/* The state of any type of ours, or of a class derived from it. NULL with an exception set. */
static inline ext_state *ext_state_of_type(PyTypeObject *type) {
    PyObject *module = PyType_GetModuleByDef(type, &ext_module_def);
    return module == NULL ? NULL : ext_state_of_module(module);
}

#endif
