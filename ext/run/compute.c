/* The formulas of roastcoffea.aggregation: each function makes a run of its inputs, computes, and returns a dict. */
#include "run/compute.h"

#include "run/convert_run.h"
#include "common/errors.h"
#include "common/values.h"

#include <string.h>

typedef roast_status (*formulas)(roast_metrics *, const roast_run *, roast_error *);

static int put_chunk_tables(PyObject *dict, const roast_metrics *metrics) {
    if (ext_put(dict, "sections", ext_section_table(metrics)) != 0)
        return -1;
    return ext_put(dict, "per_dataset", ext_row_table(metrics, ROAST_ROWS_per_dataset));
}

/* ---- one family of formulas ---- */

static PyObject *family_dict(const run_input *input, const roast_metrics *metrics,
                             metric_family family) {
    PyObject *dict = ext_scalar_dict(metrics, family);
    if (dict != NULL &&
        ((family == FAMILY_CHUNKS && put_chunk_tables(dict, metrics) != 0) ||
         (family == FAMILY_FILES &&
          ext_put_file_tables(dict, metrics, roast_run_chunks_view(input->run)) != 0)))
        Py_CLEAR(dict);
    return dict;
}

/* Computes one family over an input that is `ready`, or else has an exception set. Resets the input. */
static PyObject *answer(run_input *input, bool ready, formulas formula, metric_family family) {
    roast_metrics *metrics = NULL;
    PyObject *dict = NULL;
    roast_error err;
    if (ready && ext_raised(roast_metrics_new(&metrics, &err), &err) == 0 &&
        ext_raised(formula(metrics, input->run, &err), &err) == 0)
        dict = family_dict(input, metrics, family);
    roast_metrics_free(metrics);
    run_input_reset(input);
    return dict;
}

PyObject *ext_worker_metrics(PyObject *module, PyObject *tracking) {
    run_input input;
    if (run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    bool ready = run_input_set_tracking(&input, tracking) == 0;
    return answer(&input, ready, roast_metrics_workers, FAMILY_WORKERS);
}

PyObject *ext_workflow_metrics(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"report", "t_start", "t_end", "custom_metrics", NULL};
    PyObject *report, *start, *end, *custom = NULL;
    run_input input;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|O:workflow_metrics", keywords, &report,
                                     &start, &end, &custom) ||
        run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    bool ready = run_input_set_clock(&input, start, end) == 0 &&
                 run_input_set_report(&input, report, custom) == 0;
    return answer(&input, ready, roast_metrics_workflow, FAMILY_WORKFLOW);
}

PyObject *ext_fine_metrics(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"cumulative", "processor_name", NULL};
    PyObject *cumulative, *processor = NULL;
    run_input input;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:fine_metrics", keywords, &cumulative,
                                     &processor) ||
        run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    bool ready = run_input_set_spans(&input, cumulative, processor) == 0;
    return answer(&input, ready, roast_metrics_fine, FAMILY_FINE);
}

PyObject *ext_chunk_metrics(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"chunks", "section_metrics", NULL};
    PyObject *chunks, *sections = NULL;
    run_input input;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:chunk_metrics", keywords, &chunks,
                                     &sections) ||
        run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    bool ready =
        run_input_set_sections(&input, sections) == 0 && run_input_set_chunks(&input, chunks) == 0;
    return answer(&input, ready, roast_metrics_chunks, FAMILY_CHUNKS);
}

PyObject *ext_file_metrics(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"chunks", "report", NULL};
    PyObject *chunks, *report = NULL;
    run_input input;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:file_metrics", keywords, &chunks,
                                     &report) ||
        run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    bool ready = run_input_set_report(&input, report, NULL) == 0 &&
                 run_input_set_chunks(&input, chunks) == 0;
    return answer(&input, ready, roast_metrics_files, FAMILY_FILES);
}

/* ---- efficiency ---- */

static int take_metrics(PyObject *from, const char *what, roast_metrics *metrics) {
    if (ext_is_none(from))
        return 0;
    return ext_check_mapping(from, what) == 0
               ? ext_take_scalars(from, FAMILY_ALL & ~FAMILY_EFFICIENCY, metrics)
               : -1;
}

PyObject *ext_efficiency_metrics(PyObject *module, PyObject *args, PyObject *kwargs) {
    (void)module;
    static char *keywords[] = {"workflow", "worker", NULL};
    PyObject *workflow, *worker, *dict = NULL;
    roast_metrics *metrics = NULL;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:efficiency_metrics", keywords, &workflow,
                                     &worker) ||
        ext_raised(roast_metrics_new(&metrics, &err), &err) != 0)
        return NULL;
    if (take_metrics(worker, "worker_metrics", metrics) == 0 &&
        take_metrics(workflow, "workflow_metrics", metrics) == 0 &&
        ext_raised(roast_metrics_efficiency(metrics, &err), &err) == 0)
        dict = ext_scalar_dict(metrics, FAMILY_EFFICIENCY);
    roast_metrics_free(metrics);
    return dict;
}

/* ---- all ---- */

const roast_metrics *run_input_metrics(run_input *input) {
    roast_error err;
    if (input->metrics == NULL)
        ext_raised(roast_metrics_compute(input->run, &input->metrics, &err), &err);
    return input->metrics;
}

const roast_findings *run_input_findings(run_input *input) {
    roast_error err;
    const roast_metrics *metrics = run_input_metrics(input);
    if (metrics != NULL && input->findings == NULL)
        ext_raised(roast_diagnose_run(input->run, metrics, &input->findings, &err), &err);
    return input->findings;
}

PyObject *ext_all_metrics_of(run_input *input, bool files_and_workers) {
    const roast_metrics *metrics = run_input_metrics(input);
    if (metrics == NULL)
        return NULL;
    const roast_chunklog *log = files_and_workers ? roast_run_chunks_view(input->run) : NULL;
    PyObject *dict = ext_scalar_dict(metrics, FAMILY_ALL);
    if (dict != NULL &&
        (put_chunk_tables(dict, metrics) != 0 || ext_put_file_tables(dict, metrics, log) != 0 ||
         ext_put(dict, "task_metrics", ext_row_table(metrics, ROAST_ROWS_task_metrics)) != 0 ||
         (files_and_workers &&
          ext_put(dict, "worker_health", ext_row_table(metrics, ROAST_ROWS_worker_health)) != 0)))
        Py_CLEAR(dict);
    return dict;
}
