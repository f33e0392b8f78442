/* roastcoffea._core: the method table and the life of the module. */
#include "run/budget.h"
#include "run/catalogue.h"
#include "records/chunk_log.h"
#include "records/clocks.h"
#include "run/compute.h"
#include "common/errors.h"
#include "common/format.h"
#include "worker/open_chunk.h"
#include "show/plot_data.h"
#include "common/redact.h"
#include "run/diagnose.h"
#include "run/live.h"
#include "run/measurement.h"
#include "run/reports.h"
#include "show/grid.h"
#include "show/runs.h"
#include "run/run.h"
#include "scheduler/worker_state.h"
#include "worker/sections.h"

#include "roast/base.h"
#include "roast/sampler.h"

#include <stddef.h>
#include <unistd.h>

#define WITH_KEYWORDS(function)                                                                    \
    (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyMethodDef module_methods[] = {
    {"_fail_allocations", ext_fail_allocations, METH_O, NULL},
    {"catalogue", ext_catalogue, METH_NOARGS,
     "catalogue()\n--\n\nEvery key of the metrics, chunks and series: names, unit, formula, "
     "caveat."},
    {"configure", (PyCFunction)(void (*)(void))ext_configure, METH_VARARGS | METH_KEYWORDS,
     "configure(*, sampler_interval=None)\n--\n\n"
     "How often memory is sampled while a chunk is processed (seconds, 0: off); returns the "
     "settings."},
    {"sampler_stats", ext_sampler_stats, METH_NOARGS,
     "sampler_stats()\n--\n\nStatistics of the memory sampler of this process."},
    {"format_value", ext_format_value, METH_VARARGS,
     "format_value(value, unit, /)\n--\n\nA number as text: '25.1 ms'; '-' for None."},
    {"format_column", ext_format_column, METH_VARARGS,
     "format_column(values, unit, /)\n--\n\n"
     "The numbers of a column as texts, all in one unit: ['12.30 s', '0.25 s']; '-' for None."},
    {"redact_name", ext_redact_name, METH_O,
     "redact_name(name, /)\n--\n\nThe name of a file without user, password and secret "
     "parameters."},
    {"redact_text", ext_redact_text, METH_O,
     "redact_text(text, /)\n--\n\nA text without the secrets of addresses and of names like "
     "password."},
    {"is_secret_name", ext_is_secret_name, METH_O,
     "is_secret_name(name, /)\n--\n\nWhether a value under this name is a secret."},
    {"draw_table", ext_draw_table, METH_VARARGS,
     "draw_table(title, columns, rows, caption, width, color, /)\n--\n\n"
     "A table of texts as the engine draws its own. A column is (heading, 'left', 'name', 'right' "
     "or 'number')."},
    {"wrap_text", ext_wrap_text, METH_VARARGS,
     "wrap_text(text, indent, width, /)\n--\n\n"
     "A text that is safe to show, broken at blanks; it begins in column `indent`."},
    {"finding_kinds", ext_finding_kinds, METH_NOARGS,
     "finding_kinds()\n--\n\nThe kinds that a finding can be of."},
    {"parse_work_item", ext_parse_work_item, METH_O,
     "parse_work_item(text, /)\n--\n\n"
     "(dataset, file, treename, start, stop) of the WorkItem that an error of Coffea's names, or "
     "None."},
    {"describe_host", ext_describe_host, METH_NOARGS,
     "describe_host()\n--\n\nThis machine in words: host, kernel, cores, memory, limits."},
    {"load_legacy", ext_load_legacy, METH_O,
     "load_legacy(path, /)\n--\n\n"
     "(Run, metrics, config, (t0, t1)) of a measurement of roastcoffea 0.1.x; metrics and config "
     "are JSON."},
    {"save_measurement", WITH_KEYWORDS(ext_save_measurement),
     "save_measurement(run, path, *, overwrite=True, config=None, extras=None, notes=None, "
     "own=None)\n--\n\n"
     "Writes a run to a directory, all of it or nothing."},
    {"list_runs", ext_list_runs, METH_O,
     "list_runs(folder, /)\n--\n\n"
     "The measurements below a folder, newest first, as the text of a JSON list: what ``roast ls "
     "--json`` prints."},
    {"find_runs", ext_find_runs, METH_VARARGS,
     "find_runs(folders, metric, where, depth, /)\n--\n\n"
     "How many measurements lie below the folders, and those that pass the tests: dicts with the "
     "value of a metric and what may be the cause of a change."},
    {"load_measurement", ext_load_measurement, METH_O,
     "load_measurement(path, /)\n--\n\n"
     "(Run, {name: bytes}, 'finished', 'live' or 'unfinished')"},
    {"prometheus_live", ext_prometheus_live, METH_O,
     "prometheus_live(runs, /)\n--\n\n"
     "Runs that go on, as text for Prometheus: dicts with the name of the run, its Tally, and what "
     "else is known."},
    {"load_news", ext_load_news, METH_VARARGS,
     "load_news(path, after, /)\n--\n\n"
     "(Run, 'finished', 'live' or 'unfinished', after): of a measurement that grows, the chunks, "
     "samples and attempts since the call that returned this number; 0: all of them."},
    {"time_left", ext_time_left, METH_VARARGS,
     "time_left(run, first, /)\n--\n\n"
     "Seconds that the rest of a run takes at the pace since its first chunk began; None: not "
     "known."},
    {"measurement_kind", ext_measurement_kind, METH_O,
     "measurement_kind(path, /)\n--\n\n'ours', 'legacy', or None: no measurement."},
    {"new_measurement_name", ext_new_measurement_name, METH_VARARGS,
     "new_measurement_name(folder, t, /)\n--\n\nDate and time as a free name."},
    {"faults", ext_faults, METH_NOARGS,
     "faults()\n--\n\nMeasurements of ours that failed in this process, and the last reason."},
    {"split_replayed", ext_split_replayed, METH_VARARGS,
     "split_replayed(chunks, topics, /)\n--\n\n"
     "(chunks that were made for the runs of these topics, or for none; those of other runs)"},
    {"sample_workers", WITH_KEYWORDS(ext_sample_workers),
     "sample_workers(series, workers, when=None)\n--\n\n"
     "A tick of a WorkerSeries: the WorkerState objects of Dask's scheduler, or a dict of them."},
    {"machine_cpu", ext_machine_cpu, METH_VARARGS,
     "machine_cpu(text=None, /)\n--\n\n"
     "(busy, all) CPU seconds of all cores of a machine since it started: of this one, or from the "
     "first line of its "
     "/proc/stat."},
    {"now", ext_now, METH_NOARGS, "now()\n--\n\nSeconds since 1970 on the clock of this process."},
    {"hold_clock", ext_hold_clock, METH_NOARGS,
     "hold_clock()\n--\n\n"
     "Sets the clock of this process to the system's, unless it is already held. Until it is "
     "released it ignores changes of the system's clock."},
    {"release_clock", ext_release_clock, METH_NOARGS,
     "release_clock()\n--\n\nThe opposite of hold_clock()."},
    {"name_workers", ext_name_workers, METH_VARARGS,
     "name_workers(chunks, attempts, /)\n--\n\n"
     "A ChunkLog in which records with a task and without a worker have the worker of their task's "
     "try."},
    {"start_tasks", ext_start_tasks, METH_VARARGS,
     "start_tasks(chunks, attempts, /)\n--\n\n"
     "A ChunkLog in which records that do not know when their task began have it from the task's "
     "try. The clocks must agree."},
    {"batch_jobs", ext_batch_jobs, METH_VARARGS,
     "batch_jobs(chunks, /)\n--\n\nThe jobs of batch systems that the chunks ran in, each once."},
    {"shift_clocks", ext_shift_clocks, METH_VARARGS,
     "shift_clocks(chunks, offsets, /)\n--\n\n"
     "Moves the chunks of each worker by the offset of its clock: {worker: seconds that it is "
     "behind}."},
    {"record_metric", ext_record_metric, METH_VARARGS,
     "record_metric(processor, name, value, /)\n--\n\n"
     "Stores a value of your own with the chunk that this thread processes."},
    {"get_process_memory", ext_process_memory, METH_NOARGS,
     "get_process_memory()\n--\n\nResident memory of this process in MB (10**6 bytes)."},
    {"workflow_metrics", WITH_KEYWORDS(ext_workflow_metrics),
     "workflow_metrics(report, t_start, t_end, custom_metrics=None)\n--\n\n"
     "How fast a run was, from Coffea's report and the clock."},
    {"worker_metrics", ext_worker_metrics, METH_O,
     "worker_metrics(tracking_data, /)\n--\n\n"
     "Resources and their use, from a WorkerSeries or its dict."},
    {"fine_metrics", WITH_KEYWORDS(ext_fine_metrics),
     "fine_metrics(cumulative, processor_name=None)\n--\n\n"
     "Where the tasks' time went, from the cumulative_worker_metrics of Dask's spans."},
    {"chunk_metrics", WITH_KEYWORDS(ext_chunk_metrics),
     "chunk_metrics(chunks, section_metrics=None)\n--\n\n"
     "How the chunks were distributed; per_dataset and sections."},
    {"file_metrics", WITH_KEYWORDS(ext_file_metrics),
     "file_metrics(chunks, report=None)\n--\n\nHow much of each file was read."},
    {"efficiency_metrics", WITH_KEYWORDS(ext_efficiency_metrics),
     "efficiency_metrics(workflow, worker)\n--\n\nMetrics computed from other metrics."},
    {"worker_ticks", ext_worker_ticks, METH_O,
     "worker_ticks(run, /)\n--\n\n(nanoseconds since 1970, workers) of each look at the cluster, "
     "as bytes of "
     "int64."},
    {"spread", ext_spread, METH_VARARGS,
     "spread(starts, ends, amounts, row, rows, low, high, bins, /)\n--\n\n"
     "Spreads each amount evenly over its interval: the amount per second in each bin of each row, "
     "as bytes of float64. Arrays of float64; row: int64, or None for one row."},
    {"task_bars", ext_task_bars, METH_VARARGS,
     "task_bars(run, limit=sys.maxsize, /)\n--\n\nThe tasks of a run, each once: a chunk with its "
     "task, or a try "
     "without a chunk. Names, and bytes of int64: worker, name and chunk by number (-1: none), "
     "lane, start and stop in nanoseconds since 1970, failed. With more bars than the limit a "
     "worker has one lane, in which they overlap."},
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

PyObject *ext_imported(PyObject **kept, const char *module, const char *name) {
    if (*kept != NULL)
        return *kept;
    PyObject *imported = PyImport_ImportModule(module);
    PyObject *found = imported != NULL ? PyObject_GetAttrString(imported, name) : NULL;
    Py_XDECREF(imported);
    if (*kept == NULL) /* another thread may have been faster */
        *kept = found;
    else
        Py_XDECREF(found);
    return *kept;
}

static int import_helpers(ext_state *state) {
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    state->host = PyBytes_FromString(host);
    bool found = state->host != NULL && ext_import_mutable_mapping(state) != NULL;
    return found ? 0 : -1;
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
        register_mappings(state) != 0)
        return -1;
    ext_sections_ready(state);
    static bool stops_at_exit;
    stops_at_exit = stops_at_exit || Py_AtExit(roast_sampler_stop) == 0;
    return PyModule_AddStringConstant(module, "__version__", roast_version());
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    ext_state *state = ext_state_of_module(module);
#define X(id, text) Py_VISIT(state->type_##id);
    EXT_TYPES(X)
#undef X
#define X(id, module, name) Py_VISIT(state->id);
    EXT_IMPORTS(X)
#undef X
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
#define X(id, module, name) Py_CLEAR(state->id);
    EXT_IMPORTS(X)
#undef X
    Py_CLEAR(state->host);
    Py_CLEAR(state->own_job);
    return 0;
}

static void module_free(void *module) {
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
