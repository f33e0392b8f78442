/* Rows of a worker series from the worker objects of Dask's scheduler.
 *
 * sample_workers() runs in the scheduler's event loop for every worker. Any attribute may be missing, in another
 * version or because the worker has just joined. A missing one is left out silently; any other failure is counted
 * as a fault, and never raised. */
#include "scheduler/worker_state.h"

#include "common/errors.h"
#include "common/quiet.h"
#include "records/worker_series.h"

#include <math.h>

/* ---- small steps ---- */

/* Takes the reference; NaN for NULL and None, and for what is no number, which is a fault. */
static double number_of(PyObject *value) {
    if (value == NULL)
        return NAN;
    double number = value == Py_None ? NAN : PyFloat_AsDouble(value);
    Py_DECREF(value);
    if (number != -1.0 || !PyErr_Occurred())
        return number;
    ext_count_fault("a value of a worker could not be read", NULL);
    return NAN;
}

/* The same for the size of a container. */
static double size_of(PyObject *value) {
    if (value == NULL)
        return NAN;
    Py_ssize_t size = PyObject_Size(value);
    Py_DECREF(value);
    if (size >= 0)
        return (double)size;
    ext_count_fault("a value of a worker could not be read", NULL);
    return NAN;
}

/* ---- one worker ---- */

/* The metrics of the worker's last heartbeat. */
static void read_metrics(const ext_state *state, PyObject *metrics, double value[ROAST_COLUMNS]) {
    PyObject *spilled = ext_quiet_item(metrics, state->str_spilled_bytes);
    PyObject *net = ext_quiet_item(metrics, state->str_host_net_io);
    PyObject *disk = ext_quiet_item(metrics, state->str_host_disk_io);
    value[ROAST_COLUMN_memory] = number_of(ext_quiet_item(metrics, state->str_memory));
    value[ROAST_COLUMN_cpu] = number_of(ext_quiet_item(metrics, state->str_cpu));
    value[ROAST_COLUMN_spilled_bytes] = number_of(ext_quiet_item(spilled, state->str_disk));
    value[ROAST_COLUMN_net_read_bps] = number_of(ext_quiet_item(net, state->str_read_bps));
    value[ROAST_COLUMN_net_write_bps] = number_of(ext_quiet_item(net, state->str_write_bps));
    value[ROAST_COLUMN_disk_read_bps] = number_of(ext_quiet_item(disk, state->str_read_bps));
    value[ROAST_COLUMN_disk_write_bps] = number_of(ext_quiet_item(disk, state->str_write_bps));
    Py_XDECREF(spilled);
    Py_XDECREF(net);
    Py_XDECREF(disk);
}

/* For a worker whose metrics have none. */
static double memory_elsewhere(const ext_state *state, PyObject *worker) {
    PyObject *memory = ext_quiet_attr(worker, state->str_memory);
    double process = number_of(ext_quiet_attr(memory, state->str_process));
    Py_XDECREF(memory);
    return process;
}

/* row->worker is a new reference, NULL where the worker has no address. */
static void read_worker(const ext_state *state, PyObject *worker, ext_row *row) {
    double *value = row->value;
    PyObject *metrics = ext_quiet_attr(worker, state->str_metrics);
    read_metrics(state, metrics, value);
    Py_XDECREF(metrics);
    if (isnan(value[ROAST_COLUMN_memory]))
        value[ROAST_COLUMN_memory] = memory_elsewhere(state, worker);
    value[ROAST_COLUMN_memory_limit] = number_of(ext_quiet_attr(worker, state->str_memory_limit));
    value[ROAST_COLUMN_active_tasks] = size_of(ext_quiet_attr(worker, state->str_processing));
    value[ROAST_COLUMN_cores] = number_of(ext_quiet_attr(worker, state->str_nthreads));
    value[ROAST_COLUMN_nbytes] = number_of(ext_quiet_attr(worker, state->str_nbytes));
    value[ROAST_COLUMN_occupancy] = number_of(ext_quiet_attr(worker, state->str_occupancy));
    value[ROAST_COLUMN_executing] = size_of(ext_quiet_attr(worker, state->str_executing));
    value[ROAST_COLUMN_last_seen] = number_of(ext_quiet_attr(worker, state->str_last_seen));
    row->worker = ext_quiet_attr(worker, state->str_address);
    row->host = NULL;
}

/* ---- all of them ---- */

/* Other code may run while the workers are read, but not while the tick is made. */
static int add_tick(PyObject *series, PyObject *when, const ext_row *rows, size_t count) {
    if (ext_series_begin_tick(series, when, count) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (rows[i].worker == NULL || ext_series_add_row(series, &rows[i]) != 0)
            ext_count_fault("a worker could not be sampled", NULL);
    return 0;
}

PyObject *ext_sample_workers(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"series", "workers", "when", NULL};
    const ext_state *state = ext_state_of_module(module);
    PyObject *series, *workers, *when = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O|O:sample_workers", keywords,
                                     state->type_worker_series, &series, &workers, &when))
        return NULL;
    /* A list of our own: workers may come and go while they are read. */
    PyObject *list = PyDict_Check(workers) ? PyDict_Values(workers) : PySequence_List(workers);
    size_t count = list != NULL ? (size_t)PyList_GET_SIZE(list) : 0;
    ext_row *rows = list != NULL ? roast_alloc((count + 1) * sizeof *rows) : NULL;
    int result = -1;
    if (rows != NULL) {
        for (size_t i = 0; i < count; i++)
            read_worker(state, PyList_GET_ITEM(list, (Py_ssize_t)i), &rows[i]);
        result = add_tick(series, when, rows, count);
        for (size_t i = 0; i < count; i++)
            Py_XDECREF(rows[i].worker);
    } else if (list != NULL) {
        PyErr_NoMemory();
    }
    roast_free(rows);
    Py_XDECREF(list);
    return ext_let_pass(result == 0 ? Py_NewRef(Py_None) : NULL);
}
