/* roastcoffea._core: the method table and the life of the module. */
#include "catalogue.h"
#include "chunk_log.h"
#include "compute.h"
#include "errors.h"
#include "format.h"
#include "open_chunk.h"
#include "outbox.h"
#include "reports.h"
#include "sections.h"

#include "roast/base.h"

#include <stddef.h>
#include <unistd.h>

#define WITH_KEYWORDS(function)                                                                    \
    (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyMethodDef module_methods[] = {
    {"_unpack_record", ext_unpack_record, METH_O, NULL},
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
    {"faults", ext_faults, METH_NOARGS,
     "faults()\n--\n\nMeasurements of ours that failed in this process, and the last reason."},
    {"sum_reports", (PyCFunction)(void (*)(void))ext_sum_reports, METH_VARARGS | METH_KEYWORDS,
     "sum_reports(reports, replayed=None)\n--\n\nSeveral reports of Coffea as one, less the "
     "replayed "
     "chunks."},
    {"split_replayed", ext_split_replayed, METH_VARARGS,
     "split_replayed(chunks, t, /)\n--\n\n(chunks that ended at t or later, the others)"},
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
    state->json_dumps = imported("json", "dumps");
    state->json_loads = imported("json", "loads");
    state->pickle_dumps = imported("pickle", "dumps");
    state->pickle_loads = imported("pickle", "loads");
    state->newobj = imported("copyreg", "__newobj__");
    return state->host != NULL && state->mutable_mapping != NULL && state->json_dumps != NULL &&
                   state->json_loads != NULL && state->pickle_dumps != NULL &&
                   state->pickle_loads != NULL && state->newobj != NULL
               ? 0
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
        register_mappings(state) != 0)
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
    Py_VISIT(state->json_dumps);
    Py_VISIT(state->json_loads);
    Py_VISIT(state->pickle_dumps);
    Py_VISIT(state->pickle_loads);
    Py_VISIT(state->newobj);
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
    Py_CLEAR(state->json_dumps);
    Py_CLEAR(state->json_loads);
    Py_CLEAR(state->pickle_dumps);
    Py_CLEAR(state->pickle_loads);
    Py_CLEAR(state->newobj);
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
