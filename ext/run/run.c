/* Run: everything that was measured, as one object, and its tables. */
#include "run/run.h"

#include "records/attempts.h"
#include "run/budget.h"
#include "records/chunk_log.h"
#include "run/compute.h"
#include "run/convert_run.h"
#include "run/diagnose.h"
#include "run/ending.h"
#include "common/errors.h"
#include "common/pairs.h"
#include "run/table.h"
#include "common/values.h"
#include "records/worker_series.h"

#include "roast/budget.h"
#include "roast/export.h"

#include <string.h>

typedef struct run_object {
    PyObject_HEAD
    run_input input;
    PyObject *chunk_log;            /* the one that users get, or NULL until asked for */
    PyObject *tables[ROAST_TABLES]; /* each made when it is asked for */
} run_object;

static ext_state *state_of(PyObject *op) {
    return ext_state_of_final(Py_TYPE(op));
}

run_input *ext_run_input(ext_state *state, PyObject *object) {
    return Py_TYPE(object) == state->type_run ? &((run_object *)object)->input : NULL;
}

const roast_run *ext_run_view(ext_state *state, PyObject *object) {
    const run_input *input = ext_run_input(state, object);
    return input != NULL ? input->run : NULL;
}

/* ---- inputs ---- */

/* The tasks that carry the processor's name are those that process. */
static int take_attempts(run_object *self, PyObject *attempts, PyObject *processor) {
    if (ext_is_none(attempts))
        return 0;
    if (Py_TYPE(attempts) != self->input.state->type_attempts) {
        PyErr_Format(PyExc_TypeError, "attempts: Attempts or None is expected, not %s",
                     Py_TYPE(attempts)->tp_name);
        return -1;
    }
    if (!ext_is_none(processor)) {
        PyObject *done = PyObject_CallMethod(attempts, "set_kind", "Os", processor, "processing");
        if (done == NULL)
            return -1;
        Py_DECREF(done);
    }
    self->input.attempts = ext_attempts_hold(self->input.state, attempts);
    if (self->input.attempts == NULL)
        return -1;
    roast_run_lend_attempts(self->input.run, self->input.attempts->part);
    return 0;
}

static int set_meta(roast_run *run, PyObject *name, PyObject *text) {
    roast_str key, value;
    roast_error err;
    PyObject *held_key = ext_text_of(name, "meta", &key);
    PyObject *held_value = held_key != NULL ? ext_text_of(text, "meta", &value) : NULL;
    int result =
        held_value != NULL ? ext_raised(roast_run_set_meta(run, key, value, &err), &err) : -1;
    Py_XDECREF(held_key);
    Py_XDECREF(held_value);
    return result;
}

static int take_meta(run_object *self, PyObject *meta) {
    if (ext_is_none(meta))
        return 0;
    ext_pairs pairs;
    int result = ext_pairs_open(&pairs, meta, "meta");
    while (result == 0 && ext_pairs_next(&pairs))
        result = set_meta(self->input.run, pairs.key, pairs.value);
    ext_pairs_close(&pairs);
    return result;
}

int ext_add_notes(roast_run *run, PyObject *list) {
    roast_str text;
    roast_error err;
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(list); i++) {
        PyObject *held = ext_text_of(PyList_GET_ITEM(list, i), "notes", &text);
        result = held != NULL ? ext_raised(roast_run_add_note(run, text, &err), &err) : -1;
        Py_XDECREF(held);
    }
    return result;
}

static int take_notes(run_object *self, PyObject *notes) {
    if (ext_is_none(notes))
        return 0;
    PyObject *list = PySequence_List(notes);
    int result = list != NULL ? ext_add_notes(self->input.run, list) : -1;
    Py_XDECREF(list);
    return result;
}

static int add_phase(roast_run *run, PyObject *item) {
    const char *name;
    roast_phase phase = {.kind = ROAST_PHASE_COUNT};
    roast_error err;
    if (!PyTuple_Check(item)) {
        PyErr_Format(PyExc_TypeError, "phases: (kind, start, end) is expected, not %s",
                     Py_TYPE(item)->tp_name);
        return -1;
    }
    if (!PyArg_ParseTuple(item, "sdd:phases", &name, &phase.start, &phase.end))
        return -1;
    for (int kind = 0; kind < ROAST_PHASE_COUNT; kind++)
        if (strcmp(name, roast_phase_name((roast_phase_kind)kind)) == 0)
            phase.kind = (roast_phase_kind)kind;
    return ext_raised(roast_run_add_phase(run, &phase, &err), &err);
}

static int take_phases(run_object *self, PyObject *phases) {
    if (ext_is_none(phases))
        return 0;
    PyObject *list = PySequence_List(phases);
    int result = list != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(list); i++) {
        PyObject *item = Py_NewRef(PyList_GET_ITEM(list, i));
        result = add_phase(self->input.run, item);
        Py_DECREF(item);
    }
    Py_XDECREF(list);
    return result;
}

static int note_left_out(run_object *self) {
    roast_error err;
    return ext_raised(roast_run_note_left_out(self->input.run, &err), &err);
}

static PyObject *run_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"report",          "t_start", "t_end",          "chunks",
                               "series",          "spans",   "processor_name", "custom_metrics",
                               "section_metrics", "meta",    "notes",          "replayed",
                               "attempts",        "ending",  "phases",         NULL};
    PyObject *report = NULL, *start = NULL, *end = NULL, *chunks = NULL, *series = NULL;
    PyObject *spans = NULL, *processor = NULL, *custom = NULL, *sections = NULL, *meta = NULL;
    PyObject *notes = NULL, *attempts = NULL, *ending = NULL, *phases = NULL;
    unsigned long long replayed = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOOOOOOOOOKOOO:Run", keywords, &report,
                                     &start, &end, &chunks, &series, &spans, &processor, &custom,
                                     &sections, &meta, &notes, &replayed, &attempts, &ending,
                                     &phases))
        return NULL;
    run_object *self = (run_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    if (run_input_init(&self->input, ext_state_of_final(type)) != 0 ||
        run_input_set_clock(&self->input, start, end) != 0 ||
        run_input_set_report(&self->input, report, custom) != 0 ||
        run_input_set_tracking(&self->input, series) != 0 ||
        run_input_set_spans(&self->input, spans, processor) != 0 ||
        run_input_set_sections(&self->input, sections) != 0 || take_meta(self, meta) != 0 ||
        take_notes(self, notes) != 0 || take_phases(self, phases) != 0 ||
        take_attempts(self, attempts, processor) != 0 ||
        ext_take_ending(self->input.run, ending) != 0 ||
        run_input_set_chunks(&self->input, chunks) != 0 || note_left_out(self) != 0)
        Py_CLEAR(self);
    else
        roast_run_set_replayed(self->input.run, replayed);
    return (PyObject *)self;
}

PyObject *ext_run_new(ext_state *state, roast_run *run) {
    run_object *self = (run_object *)state->type_run->tp_alloc(state->type_run, 0);
    if (self == NULL) {
        roast_run_free(run);
        return NULL;
    }
    self->input = (run_input){.state = state, .run = run};
    bool sampled = roast_series_tick_count(roast_run_series_view(run)) > 0;
    self->input.chunks = log_core_new(roast_run_give_chunks(run));
    if (self->input.chunks != NULL)
        self->input.chunks->owners = 1;
    if (sampled)
        self->input.series = ext_series_share(roast_run_give_series(run));
    if (self->input.chunks == NULL || (sampled && self->input.series == NULL))
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* ---- life ---- */

static int run_traverse(PyObject *op, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(((run_object *)op)->chunk_log);
    return 0;
}

static int run_clear(PyObject *op) {
    Py_CLEAR(((run_object *)op)->chunk_log);
    return 0;
}

static void run_dealloc(PyObject *op) {
    run_object *self = (run_object *)op;
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    run_clear(op);
    run_input_reset(&self->input);
    for (int table = 0; table < ROAST_TABLES; table++)
        Py_XDECREF(self->tables[table]);
    type->tp_free(op);
    Py_DECREF(type);
}

/* ---- clock and names ---- */

static PyObject *run_time(PyObject *op, void *end) {
    roast_run_clock clock = roast_run_get_clock(((run_object *)op)->input.run);
    if (!clock.have)
        Py_RETURN_NONE;
    return PyFloat_FromDouble(end != NULL ? clock.end : clock.start);
}

static PyObject *run_processor(PyObject *op, void *unused) {
    (void)unused;
    return ext_text(roast_run_processor(((run_object *)op)->input.run));
}

static PyObject *meta_dict(const roast_run *run) {
    PyObject *meta = PyDict_New();
    for (uint32_t i = 0; meta != NULL && i < roast_run_meta_count(run); i++) {
        roast_str key, value;
        roast_run_meta_at(run, i, &key, &value);
        if (ext_put_pair(meta, ext_text(key), ext_text(value)) != 0)
            Py_CLEAR(meta);
    }
    return meta;
}

static PyObject *run_meta(PyObject *op, void *unused) {
    (void)unused;
    return meta_dict(((run_object *)op)->input.run);
}

PyObject *ext_describe_host(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    roast_error err;
    roast_run *run = NULL;
    PyObject *meta = NULL;
    if (ext_raised(roast_run_new(&run, &err), &err) == 0 &&
        ext_raised(roast_run_describe_host(run, &err), &err) == 0)
        meta = meta_dict(run);
    roast_run_free(run);
    return meta;
}

static PyObject *note_at(const void *run, uint32_t index) {
    return ext_text(roast_run_note(run, index));
}

static PyObject *run_notes(PyObject *op, void *unused) {
    (void)unused;
    const roast_run *run = ((run_object *)op)->input.run;
    return ext_list(run, roast_run_note_count(run), note_at);
}

static PyObject *run_replayed(PyObject *op, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(roast_run_replayed(((run_object *)op)->input.run));
}

static PyObject *run_ending(PyObject *op, void *unused) {
    (void)unused;
    return ext_ending_dict(((run_object *)op)->input.run);
}

static PyObject *phase_at(const void *run, uint32_t index) {
    roast_phase phase = roast_run_phase(run, index);
    return Py_BuildValue("(sdd)", roast_phase_name(phase.kind), phase.start, phase.end);
}

static PyObject *run_phases(PyObject *op, void *unused) {
    (void)unused;
    const roast_run *run = ((run_object *)op)->input.run;
    return ext_list(run, roast_run_phase_count(run), phase_at);
}

/* ---- report and spans ---- */

static int put_known(PyObject *dict, const char *key, bool have, PyObject *value) {
    if (have)
        return ext_put(dict, key, value);
    Py_XDECREF(value);
    return 0;
}

static PyObject *column_at(const void *run, uint32_t index) {
    return ext_text(roast_run_column(run, index));
}

static PyObject *run_report(PyObject *op, void *unused) {
    (void)unused;
    const roast_run *run = ((run_object *)op)->input.run;
    roast_report report = roast_run_get_report(run);
    PyObject *dict = PyDict_New();
    if (dict != NULL &&
        (put_known(dict, "bytesread", report.have_bytesread,
                   PyLong_FromLongLong(report.bytesread)) != 0 ||
         put_known(dict, "columns", roast_run_column_count(run) > 0,
                   ext_list(run, roast_run_column_count(run), column_at)) != 0 ||
         put_known(dict, "entries", report.have_entries, PyLong_FromLongLong(report.entries)) !=
             0 ||
         put_known(dict, "processtime", report.have_processtime,
                   PyFloat_FromDouble(report.processtime)) != 0 ||
         put_known(dict, "chunks", report.have_chunks, PyLong_FromLongLong(report.chunks)) != 0))
        Py_CLEAR(dict);
    return dict;
}

/* (context, prefix, activity, unit), or without the prefix outside tasks: as Dask has them. */
static PyObject *span_key(const roast_span_value *span) {
    PyObject *context = ext_text(span->context), *activity = ext_text(span->activity);
    PyObject *unit = ext_text(span->unit);
    return span->prefix.data != NULL
               ? Py_BuildValue("(NNNN)", context, ext_text(span->prefix), activity, unit)
               : Py_BuildValue("(NNN)", context, activity, unit);
}

static PyObject *run_spans(PyObject *op, void *unused) {
    (void)unused;
    const roast_run *run = ((run_object *)op)->input.run;
    PyObject *spans = PyDict_New();
    for (uint32_t i = 0; spans != NULL && i < roast_run_span_count(run); i++) {
        roast_span_value span = roast_run_span(run, i);
        if (ext_put_pair(spans, span_key(&span), PyFloat_FromDouble(span.value)) != 0)
            Py_CLEAR(spans);
    }
    return spans;
}

/* ---- parts and tables ---- */

static PyObject *run_chunk_log(PyObject *op, void *unused) {
    (void)unused;
    run_object *self = (run_object *)op;
    if (self->chunk_log == NULL) {
        PyTypeObject *type = self->input.state->type_chunk_log;
        PyObject *log = self->input.chunks != NULL
                            ? ext_chunk_log_of(self->input.state, self->input.chunks)
                            : PyObject_CallNoArgs((PyObject *)type);
        Py_XSETREF(self->chunk_log, log);
    }
    return Py_XNewRef(self->chunk_log);
}

static PyObject *run_series(PyObject *op, void *unused) {
    (void)unused;
    const run_input *input = &((run_object *)op)->input;
    return input->series != NULL ? ext_series_of(input->state, input->series) : Py_NewRef(Py_None);
}

static PyObject *run_attempts(PyObject *op, void *unused) {
    (void)unused;
    run_input *input = &((run_object *)op)->input;
    const roast_attempts *attempts = roast_run_attempts_view(input->run);
    if (attempts == NULL)
        Py_RETURN_NONE;
    if (input->attempts == NULL)
        input->attempts = ext_attempts_copy(attempts); /* of a run that was loaded */
    return input->attempts != NULL ? ext_attempts_of(input->state, input->attempts) : NULL;
}

static PyObject *run_budget(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"by", NULL};
    PyObject *by = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:budget", keywords, &by))
        return NULL;
    return ext_budget_dict(((run_object *)op)->input.run, by);
}

static PyObject *run_budget_total(PyObject *op, PyObject *unused) {
    (void)unused;
    return ext_budget_total(&((run_object *)op)->input);
}

static PyObject *run_has_budget(PyObject *op, void *unused) {
    (void)unused;
    bool known = false;
    roast_error err;
    if (ext_raised(roast_budget_is_known(((run_object *)op)->input.run, &known, &err), &err) != 0)
        return NULL;
    return PyBool_FromLong(known);
}

static PyObject *run_lost_workers(PyObject *op, PyObject *unused) {
    (void)unused;
    return ext_lost_workers(((run_object *)op)->input.run);
}

static PyObject *run_failed_pieces(PyObject *op, PyObject *args) {
    PyObject *more = NULL;
    if (!PyArg_ParseTuple(args, "|O:failed_pieces", &more))
        return NULL;
    PyObject *list = more != NULL ? PySequence_List(more) : PyList_New(0);
    PyObject *found = list != NULL ? ext_failed_pieces(((run_object *)op)->input.run, list) : NULL;
    Py_XDECREF(list);
    return found;
}

static PyObject *run_failed_tasks(PyObject *op, PyObject *unused) {
    (void)unused;
    return ext_failed_tasks(((run_object *)op)->input.run);
}

static PyObject *run_diagnose(PyObject *op, PyObject *unused) {
    (void)unused;
    return ext_diagnose(&((run_object *)op)->input);
}

static PyObject *run_prometheus(PyObject *op, PyObject *given) {
    run_input *input = &((run_object *)op)->input;
    const roast_findings *findings = run_input_findings(input);
    roast_sink *sink;
    roast_error err;
    roast_str name;
    if (findings == NULL || ext_raised(roast_sink_new_memory(&sink, &err), &err) != 0)
        return NULL;
    PyObject *held = ext_text_of(given, "name", &name);
    if (held == NULL) {
        roast_sink_free(sink);
        return NULL;
    }
    roast_openmetrics_write(run_input_metrics(input), findings, input->run, name, ROAST_PROMETHEUS,
                            sink);
    Py_DECREF(held);
    return ext_sink_text(sink);
}

static PyObject *run_table(PyObject *op, void *which) {
    run_object *self = (run_object *)op;
    roast_table table = (roast_table)(intptr_t)which;
    roast_columns *columns = NULL;
    roast_error err;
    if (self->tables[table] == NULL) {
        if (ext_raised(roast_columns_new(self->input.run, table, &columns, &err), &err) != 0)
            return NULL;
        Py_XSETREF(self->tables[table], ext_table_new(state_of(op), columns));
    }
    return Py_XNewRef(self->tables[table]);
}

/* The names are held by the list. */
static PyObject *some_columns(run_object *self, PyObject *list) {
    Py_ssize_t count = PyList_GET_SIZE(list);
    roast_columns *columns = NULL;
    roast_error err;
    roast_str *names = roast_alloc(((size_t)count + 1) * sizeof *names);
    if (names == NULL)
        return PyErr_NoMemory();
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < count; i++) {
        PyObject *held = ext_text_of(PyList_GET_ITEM(list, i), "columns", &names[i]);
        result = held != NULL ? PyList_SetItem(list, i, held) : -1;
    }
    if (result == 0) {
        roast_status status; /* without the GIL: a Run does not change */
        Py_BEGIN_ALLOW_THREADS status =
            roast_columns_new_some(self->input.run, names, (uint32_t)count, &columns, &err);
        Py_END_ALLOW_THREADS result = ext_raised(status, &err);
    }
    roast_free(names);
    return result == 0 ? ext_table_new(state_of((PyObject *)self), columns) : NULL;
}

static PyObject *run_chunk_columns(PyObject *op, PyObject *names) {
    PyObject *list = PyUnicode_Check(names) ? NULL : PySequence_List(names);
    if (list == NULL && !PyErr_Occurred())
        return PyErr_Format(PyExc_TypeError, "columns: a list of str is expected, not str");
    PyObject *table = list != NULL ? some_columns((run_object *)op, list) : NULL;
    Py_XDECREF(list);
    return table;
}

static PyObject *run_metrics(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"files_and_workers", NULL};
    int files_and_workers = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:metrics", keywords, &files_and_workers))
        return NULL;
    return ext_all_metrics_of(&((run_object *)op)->input, files_and_workers != 0);
}

static PyObject *run_metrics_table(PyObject *op, PyObject *args) {
    const char *name;
    PyObject *names = Py_None;
    if (!PyArg_ParseTuple(args, "s|O:metrics_table", &name, &names))
        return NULL;
    PyObject *only = names != Py_None ? PySet_New(names) : NULL;
    if (names != Py_None && only == NULL)
        return NULL;
    PyObject *table = ext_large_table(&((run_object *)op)->input, name, only);
    Py_XDECREF(only);
    return table;
}

static PyObject *run_repr(PyObject *op) {
    const roast_run *run = ((run_object *)op)->input.run;
    return PyUnicode_FromFormat(
        "<Run: %llu chunks, %u workers, %llu samples>",
        (unsigned long long)roast_chunklog_count(roast_run_chunks_view(run)),
        roast_series_worker_count(roast_run_series_view(run)),
        (unsigned long long)roast_series_sample_count(roast_run_series_view(run)));
}

/* ---- the type ---- */

static PyMethodDef run_methods[] = {
    {"metrics", (PyCFunction)(void (*)(void))run_metrics, METH_VARARGS | METH_KEYWORDS,
     "metrics($self, *, files_and_workers=True)\n--\n\n"
     "All metrics and tables of this run; without files_and_workers, file_metadata, "
     "file_read_metrics and worker_health are left out."},
    {"metrics_table", run_metrics_table, METH_VARARGS,
     "metrics_table($self, table, names=None, /)\n--\n\n"
     "One of the tables that metrics(files_and_workers=False) leaves out. With names, only the "
     "rows "
     "of these; of file_metadata all."},
    {"budget", (PyCFunction)(void (*)(void))run_budget, METH_VARARGS | METH_KEYWORDS,
     "budget($self, by=None)\n--\n\n"
     "Where every core-second went: {'available_core_seconds': x, 'parts': {...}}; by 'dataset', "
     "'worker', 'host' or 'file': {name: such a dict}. None if no worker was tracked."},
    {"prometheus", run_prometheus, METH_O,
     "prometheus($self, name, /)\n--\n\n"
     "Metrics, budget, findings and datasets as text for Prometheus; name is that of the run."},
    {"budget_total", run_budget_total, METH_NOARGS,
     "budget_total($self)\n--\n\n"
     "available_core_seconds and parts of the budget, as the findings saw it: a saved run need not "
     "compute it again."},
    {"lost_workers", run_lost_workers, METH_NOARGS,
     "lost_workers($self)\n--\n\n"
     "The workers that left: when, their tasks, and the likely cause in words."},
    {"failed_pieces", run_failed_pieces, METH_VARARGS,
     "failed_pieces($self, more=(), /)\n--\n\n"
     "[(dataset, file, treename, start, stop), ...]: pieces that were tried and never succeeded. "
     "more: further failed pieces, in the same form."},
    {"failed_tasks", run_failed_tasks, METH_NOARGS,
     "failed_tasks($self)\n--\n\n"
     "Keys of the processing tasks that raised or were lost, and never succeeded."},
    {"chunk_columns", run_chunk_columns, METH_O,
     "chunk_columns($self, names, /)\n--\n\n"
     "The table of chunks with these columns alone: for many chunks much quicker than chunks."},
    {"diagnose", run_diagnose, METH_NOARGS,
     "diagnose($self)\n--\n\n"
     "What slowed the run down and what to change, the worst first: a list of dicts with kind, "
     "severity, title, evidence, advice, saving_core_seconds, confidence and why."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef run_getset[] = {
    {"report", run_report, NULL, "Coffea's report, or the user's totals instead of it.", NULL},
    {"t_start", run_time, NULL, "Seconds; None unless start and end are known.", NULL},
    {"t_end", run_time, NULL, "Seconds; None unless start and end are known.", (void *)1},
    {"notes", run_notes, NULL, "What could not be measured and why, in words.", NULL},
    {"phases", run_phases, NULL,
     "[(kind, start, end), ...]: what the client waited for; kind is 'preprocessing' or "
     "'execution'.",
     NULL},
    {"replayed", run_replayed, NULL,
     "Chunks that a checkpoint replayed with the numbers of another run; they are in no figure.",
     NULL},
    {"ending", run_ending, NULL,
     "How the run ended: outcome, error, pieces, pieces_done, pieces_failed, skipped_files; what "
     "is "
     "not known is left out. None if nobody saw it end.",
     NULL},
    {"processor_name", run_processor, NULL, "The prefix of the processing tasks, or None.", NULL},
    {"meta", run_meta, NULL, "Texts about the run.", NULL},
    {"chunk_log", run_chunk_log, NULL, "The chunks as a list; changes in it do not change the run.",
     NULL},
    {"series", run_series, NULL, "The WorkerSeries, or None.", NULL},
    {"has_budget", run_has_budget, NULL,
     "Whether budget() is not None: a worker was tracked during the run.", NULL},
    {"attempts", run_attempts, NULL, "The Attempts, or None if the tasks were not watched.", NULL},
    {"spans", run_spans, NULL,
     "{(context, prefix, activity, unit): value}; outside tasks without the prefix.", NULL},
#define X(name)                                                                                    \
    {#name, run_table, NULL, "The table of " #name ".", (void *)(intptr_t)ROAST_TABLE_##name},
    ROAST_TABLE_LIST(X)
#undef X
        {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot run_slots[] = {
    {Py_tp_doc, (void *)"Run(*, report=None, t_start=None, t_end=None, chunks=None, series=None, "
                        "spans=None, processor_name=None, custom_metrics=None, "
                        "section_metrics=None, meta=None, notes=None, replayed=0, "
                        "attempts=None, ending=None, phases=None)\n--\n\n"
                        "Everything that was measured: chunks, sections, samples and reads as "
                        "tables, and the metrics. All of it is as it was when the run was made."},
    {Py_tp_new, run_new},
    {Py_tp_dealloc, run_dealloc},
    {Py_tp_traverse, run_traverse},
    {Py_tp_clear, run_clear},
    {Py_tp_repr, run_repr},
    {Py_tp_methods, run_methods},
    {Py_tp_getset, run_getset},
    {0, NULL},
};

PyType_Spec ext_spec_run = {"roastcoffea._core.Run", sizeof(run_object), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
                            run_slots};
