/* roastcoffea._core: the method table and the life of the module. */
#include "budget.h"
#include "catalogue.h"
#include "chunk_log.h"
#include "clocks.h"
#include "compute.h"
#include "errors.h"
#include "format.h"
#include "legacy.h"
#include "open_chunk.h"
#include "outbox.h"
#include "plot_data.h"
#include "report_data.h"
#include "measurement.h"
#include "reports.h"
#include "run.h"
#include "sections.h"

#include "roast/base.h"

#include <stddef.h>
#include <unistd.h>

#define WITH_KEYWORDS(function)                                                                    \
    (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyMethodDef module_methods[] = {
    {"_unpack_record", ext_unpack_record, METH_O, NULL},
    {"_reduce_chunk_log", ext_reduce_chunk_log, METH_O, NULL},
    {"_fail_allocations", ext_fail_allocations, METH_O, NULL},
    {"catalogue", ext_catalogue, METH_NOARGS,
     "catalogue()\n--\n\nEvery key of the metrics, chunks and series: names, unit, formula, "
     "caveat."},
    {"configure", (PyCFunction)(void (*)(void))ext_configure, METH_VARARGS | METH_KEYWORDS,
     "configure(*, readings=None, sampler_interval=None)\n--\n\n"
     "Chooses what the kernel is asked for each chunk and how often memory is sampled (seconds, 0: "
     "off); returns the settings."},
    {"sampler_stats", ext_sampler_stats, METH_NOARGS,
     "sampler_stats()\n--\n\nWhat the memory sampler of this process has done and cost."},
    {"format_value", ext_format_value, METH_VARARGS,
     "format_value(value, unit, /)\n--\n\nA number as people read it: '25.1 ms'; '-' for None."},
    {"parse_work_item", ext_parse_work_item, METH_O,
     "parse_work_item(text, /)\n--\n\n"
     "(dataset, file, treename, start, stop) of the WorkItem that an error of Coffea's names, or "
     "None."},
    {"describe_host", ext_describe_host, METH_NOARGS,
     "describe_host()\n--\n\nThis machine in words: host, kernel, cores, memory, limits."},
    {"load_legacy", ext_load_legacy, METH_O,
     "load_legacy(path, /)\n--\n\n"
     "(Run, metrics, config, (t0, t1)) of a measurement of roastcoffea 0.1.x; metrics as it had "
     "them."},
    {"save_measurement", WITH_KEYWORDS(ext_save_measurement),
     "save_measurement(run, path, *, overwrite=True, config=None, extras=None, notes=None)\n--\n\n"
     "Writes a run to a directory, all of it or nothing."},
    {"load_measurement", ext_load_measurement, METH_O,
     "load_measurement(path, /)\n--\n\n"
     "(Run, {name: bytes}, 'finished', 'live' or 'unfinished')"},
    {"measurement_kind", ext_measurement_kind, METH_O,
     "measurement_kind(path, /)\n--\n\n'ours', 'legacy', or None: no measurement."},
    {"new_measurement_name", ext_new_measurement_name, METH_VARARGS,
     "new_measurement_name(folder, t, /)\n--\n\nDate and time as a name that is free."},
    {"faults", ext_faults, METH_NOARGS,
     "faults()\n--\n\nMeasurements of ours that failed in this process, and the last reason."},
    {"sum_reports", (PyCFunction)(void (*)(void))ext_sum_reports, METH_VARARGS | METH_KEYWORDS,
     "sum_reports(reports, replayed=None)\n--\n\nSeveral reports of Coffea as one, less the "
     "replayed "
     "chunks."},
    {"split_replayed", ext_split_replayed, METH_VARARGS,
     "split_replayed(chunks, topics, /)\n--\n\n"
     "(chunks that were made for the runs of these topics, or for none; those of other runs)"},
    {"now", ext_now, METH_NOARGS,
     "now()\n--\n\nSeconds since 1970 on the clock of this process, which nobody sets."},
    {"hold_clock", ext_hold_clock, METH_NOARGS,
     "hold_clock()\n--\n\n"
     "Takes the time from the system's clock, unless somebody holds the clock already; it goes on "
     "from there, whatever happens to the system's, until it is released."},
    {"release_clock", ext_release_clock, METH_NOARGS,
     "release_clock()\n--\n\nThe opposite of hold_clock()."},
    {"shift_clocks", ext_shift_clocks, METH_VARARGS,
     "shift_clocks(chunks, offsets, /)\n--\n\n"
     "The chunks, with those of a worker as many seconds later as its clock is behind: {worker: "
     "seconds}."},
    {"flush_outbox", ext_outbox_flush, METH_VARARGS,
     "flush_outbox(topic=None, /)\n--\n\nSends the chunks that are held back, of one topic or of "
     "all."},
    {"get_process_memory", ext_process_memory, METH_NOARGS,
     "get_process_memory()\n--\n\nResident memory of this process in MB (10**6 bytes)."},
    {"workflow_metrics", WITH_KEYWORDS(ext_workflow_metrics),
     "workflow_metrics(report, t_start, t_end, custom_metrics=None)\n--\n\n"
     "How fast a run was, from Coffea's report and the clock."},
    {"worker_metrics", ext_worker_metrics, METH_O,
     "worker_metrics(tracking_data, /)\n--\n\n"
     "What the cluster had and used, from a WorkerSeries or its dict."},
    {"fine_metrics", WITH_KEYWORDS(ext_fine_metrics),
     "fine_metrics(cumulative, processor_name=None)\n--\n\n"
     "Where the tasks' time went, from the cumulative_worker_metrics of Dask's spans."},
    {"chunk_metrics", WITH_KEYWORDS(ext_chunk_metrics),
     "chunk_metrics(chunks, section_metrics=None)\n--\n\n"
     "How the chunks were distributed; per_dataset and sections."},
    {"file_metrics", WITH_KEYWORDS(ext_file_metrics),
     "file_metrics(chunks, report=None)\n--\n\nHow much of each file was read."},
    {"efficiency_metrics", WITH_KEYWORDS(ext_efficiency_metrics),
     "efficiency_metrics(workflow, worker)\n--\n\nWhat follows from other metrics."},
    {"all_metrics", WITH_KEYWORDS(ext_all_metrics),
     "all_metrics(report, tracking_data, t_start, t_end, custom_metrics=None, span_metrics=None, "
     "processor_name=None, chunk_metrics=None, section_metrics=None)\n--\n\n"
     "All of the above over one run, and chunk_info."},
    {"chunk_info", ext_chunk_info, METH_O,
     "chunk_info(chunks, /)\n--\n\n"
     "{(file, entry_start, entry_stop): (t_start, t_end, bytes_read)}"},
    {"plot_timeline", WITH_KEYWORDS(ext_plot_timeline),
     "plot_timeline(tracking_data, measure, points=1000, lines=0, line_points=1000, means=False)"
     "\n--\n\n"
     "One measure of all workers on one grid of time, and of some workers as lines, those with the "
     "highest peaks first; None where no sample has it."},
    {"plot_worker_counts", WITH_KEYWORDS(ext_plot_worker_counts),
     "plot_worker_counts(tracking_data, points=1000)\n--\n\nHow many workers there were over "
     "time."},
    {"plot_throughput", WITH_KEYWORDS(ext_plot_throughput),
     "plot_throughput(intervals, bins=200)\n--\n\n"
     "A chunk_info or (starts, ends, amounts): amounts per second over time, each spread over its "
     "interval, and how many intervals were open."},
    {"plot_gantt", WITH_KEYWORDS(ext_plot_gantt),
     "plot_gantt(owners, starts, ends, n_owners, limit=5000, rows=100, bins=600)\n--\n\n"
     "Intervals in the lanes of their owners; beyond the limits how many were open at a time."},
    {"plot_histogram", WITH_KEYWORDS(ext_plot_histogram),
     "plot_histogram(values, bins, skip=None)\n--\n\n"
     "Counts in equal bins, mean, median and extremes; None where there is no value."},
    {"plot_pairs", WITH_KEYWORDS(ext_plot_pairs),
     "plot_pairs(x, y, skip=None, limit=5000, x_bins=80, y_bins=60)\n--\n\n"
     "The points, or beyond the limit their counts in cells; and the line through them."},
    {"plot_ranges", WITH_KEYWORDS(ext_plot_ranges),
     "plot_ranges(values, groups, order=None, skip=None)\n--\n\n"
     "Mean, lowest and highest of stretches of a row of values."},
    {"plot_sums", ext_plot_sums, METH_VARARGS,
     "plot_sums(codes, values, groups, /)\n--\n\nThe sum of the values of each code."},
    {"plot_tasks", WITH_KEYWORDS(ext_plot_tasks),
     "plot_tasks(span_metrics, beside=False)\n--\n\n"
     "{task: {activity: seconds or bytes}}; and what workers did beside tasks, by its name."},
    {"report_top", WITH_KEYWORDS(ext_report_top),
     "report_top(codes, groups, sums, maxima=(), ratios=(), skip=None, order=0, limit=200)\n--\n\n"
     "The groups that are largest by a column, and all others in one row behind them."},
    {"report_outliers", WITH_KEYWORDS(ext_report_outliers),
     "report_outliers(x, y, intercept, slope, skip=None, limit=20)\n--\n\n"
     "The points that are farthest above a line."},
    {NULL, NULL, 0, NULL},
};

static int intern_names(ext_state *state) {
#define X(id, text)                                                                                \
    if ((state->str_##id = PyUnicode_InternFromString(text)) == NULL)                              \
        return -1;
    EXT_NAMES(X)
#undef X
    return 0;
}

static int make_types(PyObject *module, ext_state *state) {
    PyObject *list_base = PyTuple_Pack(1, (PyObject *)&PyList_Type);
    if (list_base == NULL)
        return -1;
    int result = 0;
#define X(id, text)                                                                                \
    if (result == 0) {                                                                             \
        PyObject *bases = &ext_spec_##id == &ext_spec_chunk_log ? list_base : NULL;                \
        state->type_##id =                                                                         \
            (PyTypeObject *)PyType_FromModuleAndSpec(module, &ext_spec_##id, bases);               \
        if (state->type_##id == NULL || PyModule_AddType(module, state->type_##id) != 0)           \
            result = -1;                                                                           \
    }
    EXT_TYPES(X)
#undef X
    Py_DECREF(list_base);
    return result;
}

/* An attribute of a module, imported for it. */
static PyObject *imported(const char *module, const char *name) {
    PyObject *object = PyImport_ImportModule(module);
    PyObject *value = object != NULL ? PyObject_GetAttrString(object, name) : NULL;
    Py_XDECREF(object);
    return value;
}

static int import_helpers(ext_state *state) {
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    state->host = PyBytes_FromString(host);
    state->mutable_mapping = imported("collections.abc", "MutableMapping");
    state->json_loads = imported("json", "loads");
    return state->host != NULL && state->mutable_mapping != NULL && state->json_loads != NULL ? 0
                                                                                              : -1;
}

/* isinstance(chunk, collections.abc.MutableMapping) holds. */
static int register_mappings(ext_state *state) {
    PyTypeObject *const types[] = {state->type_chunk_record, state->type_current_chunk};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        PyObject *registered =
            PyObject_CallMethod(state->mutable_mapping, "register", "O", types[i]);
        if (registered == NULL)
            return -1;
        Py_DECREF(registered);
    }
    return 0;
}

static int module_exec(PyObject *module) {
    ext_state *state = ext_state_of_module(module);
    if (intern_names(state) != 0 || make_types(module, state) != 0 || import_helpers(state) != 0 ||
        register_mappings(state) != 0 || ext_chunk_log_ready(module, state) != 0)
        return -1;
    ext_sections_ready(state);
    return PyModule_AddStringConstant(module, "__version__", roast_version());
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    ext_state *state = ext_state_of_module(module);
#define X(id, text) Py_VISIT(state->type_##id);
    EXT_TYPES(X)
#undef X
    Py_VISIT(state->mutable_mapping);
    Py_VISIT(state->json_loads);
    Py_VISIT(state->dump_value);
    Py_VISIT(state->load_value);
    return 0;
}

static int module_clear(PyObject *module) {
    ext_state *state = ext_state_of_module(module);
#define X(id, text) Py_CLEAR(state->str_##id);
    EXT_NAMES(X)
#undef X
#define X(id, text) Py_CLEAR(state->type_##id);
    EXT_TYPES(X)
#undef X
    Py_CLEAR(state->mutable_mapping);
    Py_CLEAR(state->json_loads);
    Py_CLEAR(state->dump_value);
    Py_CLEAR(state->load_value);
    Py_CLEAR(state->host);
    return 0;
}

static void module_free(void *module) {
    ext_sections_free_spares(ext_state_of_module((PyObject *)module));
    module_clear((PyObject *)module);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

struct PyModuleDef ext_module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "roastcoffea._core",
    .m_doc = "The engine of roastcoffea: the hot path in the worker, the columns on the scheduler, "
             "and every formula.",
    .m_size = sizeof(ext_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void); /* no header declares it: the interpreter finds it by name */

PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&ext_module_def);
}
