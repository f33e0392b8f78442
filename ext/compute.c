/* The formulas behind roastcoffea.aggregation: each function makes a run of its inputs, lets the library
 * compute, and answers with a dict. */
#include "compute.h"

#include "budget.h"
#include "convert_run.h"
#include "errors.h"

#include <string.h>

typedef roast_status (*formulas)(roast_metrics *, const roast_run *, roast_error *);

static int raised(roast_status status, const roast_error *err) {
    if (status == ROAST_OK)
        return 0;
    ext_raise(err);
    return -1;
}

/* One family of formulas over the input. NULL with an exception set. */
static roast_metrics *compute_family(const run_input *input, formulas formula) {
    roast_metrics *metrics = NULL;
    roast_error err;
    if (raised(roast_metrics_new(&metrics, &err), &err) != 0)
        return NULL;
    if (raised(formula(metrics, input->run, &err), &err) == 0)
        return metrics;
    roast_metrics_free(metrics);
    return NULL;
}

/* Adds key -> value to a dict, taking the reference to the value. */
static int put(PyObject *dict, const char *key, PyObject *value) {
    int result = value != NULL ? PyDict_SetItemString(dict, key, value) : -1;
    Py_XDECREF(value);
    return result;
}

/* ---- workers, workflow and fine metrics ---- */

/* The scalars of one family, from an input that is ready. */
static PyObject *scalars_of(const run_input *input, formulas formula, metric_family family) {
    roast_metrics *metrics = compute_family(input, formula);
    PyObject *dict = metrics != NULL ? ext_scalar_dict(metrics, family) : NULL;
    roast_metrics_free(metrics);
    return dict;
}

PyObject *ext_worker_metrics(PyObject *module, PyObject *tracking) {
    run_input input;
    PyObject *dict = NULL;
    if (run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    if (run_input_set_tracking(&input, tracking) == 0)
        dict = scalars_of(&input, roast_metrics_workers, FAMILY_WORKERS);
    run_input_reset(&input);
    return dict;
}

PyObject *ext_workflow_metrics(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"report", "t_start", "t_end", "custom_metrics", NULL};
    PyObject *report, *start, *end, *custom = NULL, *dict = NULL;
    run_input input;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|O:workflow_metrics", keywords, &report,
                                     &start, &end, &custom) ||
        run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    if (run_input_set_clock(&input, start, end) == 0 &&
        run_input_set_report(&input, report, custom) == 0)
        dict = scalars_of(&input, roast_metrics_workflow, FAMILY_WORKFLOW);
    run_input_reset(&input);
    return dict;
}

PyObject *ext_fine_metrics(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"cumulative", "processor_name", NULL};
    PyObject *cumulative, *processor = NULL, *dict = NULL;
    run_input input;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:fine_metrics", keywords, &cumulative,
                                     &processor) ||
        run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    if (run_input_set_spans(&input, cumulative, processor) == 0)
        dict = scalars_of(&input, roast_metrics_fine, FAMILY_FINE);
    run_input_reset(&input);
    return dict;
}

/* ---- chunks and files ---- */

static int put_chunk_tables(PyObject *dict, const roast_metrics *metrics) {
    if (put(dict, "sections", ext_section_table(metrics)) != 0)
        return -1;
    return put(dict, "per_dataset", ext_dataset_table(metrics));
}

PyObject *ext_chunk_metrics(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"chunks", "section_metrics", NULL};
    PyObject *chunks, *sections = NULL, *dict = NULL;
    run_input input;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:chunk_metrics", keywords, &chunks,
                                     &sections) ||
        run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    if (run_input_set_sections(&input, sections) == 0 &&
        run_input_set_chunks(&input, chunks) == 0) {
        roast_metrics *metrics = compute_family(&input, roast_metrics_chunks);
        dict = metrics != NULL ? ext_scalar_dict(metrics, FAMILY_CHUNKS) : NULL;
        if (dict != NULL && put_chunk_tables(dict, metrics) != 0)
            Py_CLEAR(dict);
        roast_metrics_free(metrics);
    }
    run_input_reset(&input);
    return dict;
}

PyObject *ext_file_metrics(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"chunks", "report", NULL};
    PyObject *chunks, *report = NULL, *dict = NULL;
    run_input input;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:file_metrics", keywords, &chunks,
                                     &report) ||
        run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    if (run_input_set_report(&input, report, NULL) == 0 &&
        run_input_set_chunks(&input, chunks) == 0) {
        roast_metrics *metrics = compute_family(&input, roast_metrics_files);
        dict = metrics != NULL ? ext_scalar_dict(metrics, FAMILY_FILES) : NULL;
        if (dict != NULL &&
            ext_put_file_tables(dict, metrics, roast_run_chunks_view(input.run)) != 0)
            Py_CLEAR(dict);
        roast_metrics_free(metrics);
    }
    run_input_reset(&input);
    return dict;
}

PyObject *ext_chunk_info(PyObject *module, PyObject *chunks) {
    run_input input;
    PyObject *dict = NULL;
    if (run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    if (run_input_set_chunks(&input, chunks) == 0)
        dict = ext_chunk_info_dict(input.state, roast_run_chunks_view(input.run));
    run_input_reset(&input);
    return dict;
}

/* ---- efficiency ---- */

/* Takes over what a dict of metrics says under one name. *found: there was a number. */
static int take_value(PyObject *from, const char *name, roast_metrics *metrics, bool *found) {
    PyObject *value;
    double number;
    roast_error err;
    if (ext_entry(from, name, &value) != 0)
        return -1;
    if (value == NULL)
        return 0;
    int result = ext_real(value, name, &number);
    Py_DECREF(value);
    *found = true;
    return result != 0
               ? -1
               : raised(roast_metrics_set(metrics, name, roast_value_real(number), &err), &err);
}

/* The first name of a row under which the dict has a number. */
static int take_row(PyObject *from, const roast_metric_info *row, roast_metrics *metrics) {
    bool found = false;
    if (take_value(from, row->key, metrics, &found) != 0)
        return -1;
    for (const char *names = row->aliases; !found && *names != '\0';) {
        char name[64];
        size_t len = strcspn(names, " ");
        if (len < sizeof name) {
            memcpy(name, names, len);
            name[len] = '\0';
            if (take_value(from, name, metrics, &found) != 0)
                return -1;
        }
        names += len + (names[len] == ' ');
    }
    return 0;
}

static int take_metrics(PyObject *from, const char *what, roast_metrics *metrics) {
    if (ext_is_none(from))
        return 0;
    if (ext_check_mapping(from, what) != 0)
        return -1;
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *row = roast_catalogue_at(i);
        metric_family family = ext_metric_family(row);
        if (family != FAMILY_NONE && family != FAMILY_EFFICIENCY &&
            take_row(from, row, metrics) != 0)
            return -1;
    }
    return 0;
}

PyObject *ext_efficiency_metrics(PyObject *module, PyObject *args, PyObject *kwargs) {
    (void)module;
    static char *keywords[] = {"workflow", "worker", NULL};
    PyObject *workflow, *worker, *dict = NULL;
    roast_metrics *metrics = NULL;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:efficiency_metrics", keywords, &workflow,
                                     &worker) ||
        raised(roast_metrics_new(&metrics, &err), &err) != 0)
        return NULL;
    if (take_metrics(worker, "worker_metrics", metrics) == 0 &&
        take_metrics(workflow, "workflow_metrics", metrics) == 0 &&
        raised(roast_metrics_efficiency(metrics, &err), &err) == 0)
        dict = ext_scalar_dict(metrics, FAMILY_EFFICIENCY);
    roast_metrics_free(metrics);
    return dict;
}

/* ---- all ---- */

PyObject *ext_all_metrics_of(run_input *input, wanted_tables wanted) {
    roast_error err;
    if (input->metrics == NULL &&
        raised(roast_metrics_compute(input->run, &input->metrics, &err), &err) != 0)
        return NULL;
    const roast_metrics *metrics = input->metrics;
    const roast_chunklog *log = roast_run_chunks_view(input->run);
    PyObject *dict = ext_scalar_dict(metrics, FAMILY_ALL);
    if (dict != NULL &&
        (put_chunk_tables(dict, metrics) != 0 ||
         ext_put_file_tables(dict, metrics, wanted.files_and_workers ? log : NULL) != 0 ||
         (wanted.files_and_workers && put(dict, "worker_health", ext_worker_table(metrics)) != 0) ||
         (wanted.budget && put(dict, "budget", ext_budget_dict(input->run, NULL)) != 0) ||
         (wanted.chunk_info &&
          put(dict, "chunk_info", ext_chunk_info_dict(input->state, log)) != 0)))
        Py_CLEAR(dict);
    return dict;
}

PyObject *ext_all_metrics(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {
        "report",       "tracking_data",  "t_start",       "t_end",           "custom_metrics",
        "span_metrics", "processor_name", "chunk_metrics", "section_metrics", NULL};
    PyObject *report, *tracking, *start, *end, *custom = NULL, *spans = NULL, *processor = NULL;
    PyObject *chunks = NULL, *sections = NULL, *dict = NULL;
    run_input input;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO|OOOOO:all_metrics", keywords, &report,
                                     &tracking, &start, &end, &custom, &spans, &processor, &chunks,
                                     &sections) ||
        run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    if (run_input_set_clock(&input, start, end) == 0 &&
        run_input_set_report(&input, report, custom) == 0 &&
        run_input_set_tracking(&input, tracking) == 0 &&
        run_input_set_spans(&input, spans, processor) == 0 &&
        run_input_set_sections(&input, sections) == 0 && run_input_set_chunks(&input, chunks) == 0)
        dict = ext_all_metrics_of(&input, (wanted_tables){true, true, true});
    run_input_reset(&input);
    return dict;
}
