/* Reads a distributed.scheduler.WorkerState: attributes by interned names, no Python code unless the
 * occupancy needs it.
 *
 * Any attribute may be missing, in another version or because the worker has just joined. What is not
 * there is left out in silence; anything else that goes wrong is counted as a fault. */
#include "worker_state.h"

#include "errors.h"

#include <math.h>

/* ---- small steps ---- */

/* Drops the exception; other than "not there", it counts. */
static double no_number(void) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) || PyErr_ExceptionMatches(PyExc_LookupError))
        PyErr_Clear();
    else
        ext_count_fault("a value of a worker could not be read", NULL);
    return NAN;
}

static double number_of(PyObject *value) {
    if (PyFloat_CheckExact(value))
        return PyFloat_AS_DOUBLE(value);
    if (value == Py_None)
        return NAN;
    double number = PyFloat_AsDouble(value);
    return number == -1.0 && PyErr_Occurred() ? no_number() : number;
}

/* Takes the reference; NULL is "not there", or what the exception says. */
static double taken_number(PyObject *value) {
    if (value == NULL)
        return PyErr_Occurred() ? no_number() : NAN;
    double number = number_of(value);
    Py_DECREF(value);
    return number;
}

/* A new reference; NULL perhaps with an exception set. */
static PyObject *attribute(PyObject *object, PyObject *name) {
    PyObject *value;
    return ext_optional_attr(object, name, &value) > 0 ? value : NULL;
}

static double attribute_number(PyObject *object, PyObject *name) {
    return taken_number(attribute(object, name));
}

static double attribute_size(PyObject *object, PyObject *name) {
    PyObject *value = attribute(object, name);
    if (value == NULL)
        return taken_number(NULL);
    Py_ssize_t size = PyObject_Size(value);
    Py_DECREF(value);
    return size < 0 ? no_number() : (double)size;
}

/* A new reference; NULL perhaps with an exception set. mapping may be NULL. */
static PyObject *entry(PyObject *mapping, PyObject *key) {
    if (mapping == NULL)
        return NULL;
    if (PyDict_Check(mapping))
        return Py_XNewRef(PyDict_GetItemWithError(mapping, key));
    return PyObject_GetItem(mapping, key);
}

static double entry_number(PyObject *mapping, PyObject *key) {
    return taken_number(entry(mapping, key));
}

/* Two entries of a mapping inside a mapping. */
static void entry_pair(PyObject *metrics, PyObject *outer, PyObject *first_key,
                       PyObject *second_key, double *first, double *second) {
    PyObject *inner = entry(metrics, outer);
    if (inner == NULL)
        taken_number(NULL);
    *first = entry_number(inner, first_key);
    if (second != NULL)
        *second = entry_number(inner, second_key);
    Py_XDECREF(inner);
}

/* ---- memory ---- */

static double memory_of(const ext_state *state, PyObject *worker, PyObject *metrics) {
    double memory = entry_number(metrics, state->str_memory);
    if (!isnan(memory))
        return memory;
    PyObject *polished = attribute(worker, state->str_memory);
    if (polished == NULL)
        return taken_number(NULL);
    memory = attribute_number(polished, state->str_process);
    Py_DECREF(polished);
    return memory;
}

/* ---- occupancy ----
 *
 * The scheduler's property walks the task prefixes of a worker in Python: 0.8 us with two of them, more
 * than all the rest of a sample. The duration of a prefix is the same for all workers, so it is asked for
 * once a tick and the sum is made here. Once a tick the result is compared with the property; should they
 * differ, the property is used from then on. */

static bool meet_scheduler(worker_reader *reader, PyObject *worker, PyObject *ref) {
    const ext_state *state = reader->state;
    if (reader->scheduler_ref != NULL)
        return reader->scheduler_ref == ref && reader->durations != NULL;
    reader->scheduler_ref = Py_NewRef(ref);
    reader->scheduler = attribute(worker, state->str_scheduler);
    if (reader->scheduler != NULL)
        reader->prefixes = attribute(reader->scheduler, state->str_task_prefixes);
    if (reader->prefixes != NULL) {
        reader->bandwidth = attribute_number(reader->scheduler, state->str_bandwidth);
        if (reader->bandwidth > 0)
            reader->durations = PyDict_New();
    }
    PyErr_Clear();
    return reader->durations != NULL;
}

/* Seconds that a task of the prefix takes; NaN: ask the property. */
static double prefix_duration(worker_reader *reader, PyObject *name) {
    PyObject *known = PyDict_GetItemWithError(reader->durations, name);
    if (known != NULL)
        return PyFloat_AS_DOUBLE(known);
    PyObject *prefix = PyErr_Occurred() ? NULL : entry(reader->prefixes, name);
    PyObject *duration = NULL;
    if (prefix != NULL)
        duration = PyObject_CallMethodOneArg(reader->scheduler,
                                             reader->state->str_get_prefix_duration, prefix);
    Py_XDECREF(prefix);
    if (duration != NULL && !PyFloat_CheckExact(duration))
        Py_SETREF(duration, PyNumber_Float(duration));
    double seconds = NAN;
    if (duration != NULL && PyDict_SetItem(reader->durations, name, duration) == 0)
        seconds = PyFloat_AS_DOUBLE(duration);
    Py_XDECREF(duration);
    PyErr_Clear();
    return seconds;
}

static double sum_prefixes(worker_reader *reader, PyObject *counts) {
    PyObject *name, *count;
    Py_ssize_t at = 0;
    double sum = 0;
    while (PyDict_Next(counts, &at, &name, &count)) {
        /* Asking for a duration may run Python code, which may change the dict. */
        double tasks = number_of(count);
        Py_INCREF(name);
        sum += prefix_duration(reader, name) * tasks;
        Py_DECREF(name);
    }
    return sum;
}

/* NaN: ask the property. */
static double own_occupancy(worker_reader *reader, PyObject *worker) {
    const ext_state *state = reader->state;
    PyObject *counts = attribute(worker, state->str_task_prefix_count);
    double network = attribute_number(worker, state->str_network_occ), occupancy = NAN;
    bool known = counts != NULL && PyDict_Check(counts) && !isnan(network);
    if (known && PyDict_GET_SIZE(counts) == 0 && network == 0) {
        occupancy = 0;
    } else if (known) {
        PyObject *ref = attribute(worker, state->str_scheduler_ref);
        if (ref != NULL && meet_scheduler(reader, worker, ref))
            occupancy = sum_prefixes(reader, counts) + network / reader->bandwidth;
        Py_XDECREF(ref);
    }
    Py_XDECREF(counts);
    PyErr_Clear();
    return occupancy;
}

static double occupancy_of(worker_reader *reader, PyObject *worker) {
    const ext_state *state = reader->state;
    double cached = attribute_number(worker, state->str_occupancy_cache);
    if (!isnan(cached) && cached != 0)
        return cached;
    double own = reader->distrust ? NAN : own_occupancy(reader, worker);
    if (own == 0 || (reader->compared && !isnan(own)))
        return own;
    double told = attribute_number(worker, state->str_occupancy);
    if (!isnan(own)) {
        reader->compared = true;
        reader->distrust = !(fabs(own - told) <= 1e-9 * fabs(told));
    }
    return told;
}

/* ---- the row ---- */

void worker_reader_row(worker_reader *reader, PyObject *worker, double value[ROAST_COLUMNS]) {
    const ext_state *state = reader->state;
    PyObject *metrics = attribute(worker, state->str_metrics);
    if (metrics == NULL)
        taken_number(NULL);
    value[ROAST_COLUMN_memory] = memory_of(state, worker, metrics);
    value[ROAST_COLUMN_memory_limit] = attribute_number(worker, state->str_memory_limit);
    value[ROAST_COLUMN_active_tasks] = attribute_size(worker, state->str_processing);
    value[ROAST_COLUMN_cores] = attribute_number(worker, state->str_nthreads);
    value[ROAST_COLUMN_nbytes] = attribute_number(worker, state->str_nbytes);
    value[ROAST_COLUMN_occupancy] = occupancy_of(reader, worker);
    value[ROAST_COLUMN_executing] = attribute_size(worker, state->str_executing);
    value[ROAST_COLUMN_last_seen] = attribute_number(worker, state->str_last_seen);
    value[ROAST_COLUMN_cpu] = entry_number(metrics, state->str_cpu);
    entry_pair(metrics, state->str_spilled_bytes, state->str_disk, NULL,
               &value[ROAST_COLUMN_spilled_bytes], NULL);
    entry_pair(metrics, state->str_host_net_io, state->str_read_bps, state->str_write_bps,
               &value[ROAST_COLUMN_net_read_bps], &value[ROAST_COLUMN_net_write_bps]);
    entry_pair(metrics, state->str_host_disk_io, state->str_read_bps, state->str_write_bps,
               &value[ROAST_COLUMN_disk_read_bps], &value[ROAST_COLUMN_disk_write_bps]);
    Py_XDECREF(metrics);
}

/* "tcp://10.0.0.1:4321" and "inproc://10.0.0.1/12/3" run on 10.0.0.1, "tls://[::1]:80" on ::1. */
static PyObject *host_in_address(PyObject *address) {
    Py_ssize_t len;
    const char *text = PyUnicode_AsUTF8AndSize(address, &len);
    const char *scheme = text != NULL ? strstr(text, "://") : NULL;
    if (scheme == NULL)
        return NULL;
    const char *host = scheme + 3;
    size_t size = strcspn(host, ":/");
    if (*host == '[')
        size = strcspn(++host, "]");
    return size > 0 ? PyUnicode_DecodeUTF8(host, (Py_ssize_t)size, NULL) : NULL;
}

PyObject *worker_reader_host(const worker_reader *reader, PyObject *worker) {
    PyObject *host = attribute(worker, reader->state->str_host_name);
    if (host != NULL && !PyUnicode_Check(host))
        Py_CLEAR(host);
    PyErr_Clear();
    if (host != NULL)
        return host;
    PyObject *address = attribute(worker, reader->state->str_address);
    if (address != NULL && PyUnicode_Check(address))
        host = host_in_address(address);
    Py_XDECREF(address);
    PyErr_Clear();
    return host;
}

void worker_reader_release(worker_reader *reader) {
    Py_CLEAR(reader->scheduler_ref);
    Py_CLEAR(reader->scheduler);
    Py_CLEAR(reader->prefixes);
    Py_CLEAR(reader->durations);
}
