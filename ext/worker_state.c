/* Reads a distributed.scheduler.WorkerState: attributes from their slots or by interned names, no Python
 * code unless the occupancy needs it.
 *
 * Any attribute may be missing, in another version or because the worker has just joined. What is not
 * there is left out in silence; anything else that goes wrong is counted as a fault. */
#include "worker_state.h"

#include "errors.h"
#include "pairs.h"

#include <math.h>

/* ---- small steps ---- */

static const char not_read[] = "a value of a worker could not be read";

/* Drops the exception; other than "not there", it counts. */
static double no_number(void) {
    if (PyErr_ExceptionMatches(PyExc_TypeError))
        ext_count_fault(not_read, NULL); /* something is there */
    else
        ext_pass_over(not_read);
    return NAN;
}

/* The number in a float or an int; false for all else. Runs no Python code and leaves the count of
 * references alone: so it takes borrowed ones, and writes to no line of memory. */
static bool plain_number(PyObject *value, double *out) {
    if (PyFloat_CheckExact(value)) {
        *out = PyFloat_AS_DOUBLE(value);
        return true;
    }
    if (!PyLong_CheckExact(value))
        return false;
    /* Not PyFloat_AsDouble: it would make a float. */
    *out = PyLong_AsDouble(value);
    if (*out == -1.0 && PyErr_Occurred())
        *out = no_number();
    return true;
}

static double number_of(PyObject *value) {
    double number;
    if (plain_number(value, &number))
        return number;
    if (value == Py_None)
        return NAN;
    number = PyFloat_AsDouble(value);
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

/* ---- attributes of a worker ---- */

static PyObject *slot(const worker_reader *reader, PyObject *worker, worker_slot which,
                      PyObject *name) {
    if (worker_slot_known(&reader->slots, worker, which))
        return Py_XNewRef(worker_slot_get(&reader->slots, worker, which));
    return attribute(worker, name);
}

static double slot_number(const worker_reader *reader, PyObject *worker, worker_slot which,
                          PyObject *name) {
    double number;
    if (worker_slot_known(&reader->slots, worker, which)) {
        PyObject *value = worker_slot_get(&reader->slots, worker, which);
        if (value != NULL && plain_number(value, &number))
            return number;
    }
    return taken_number(slot(reader, worker, which, name));
}

static double slot_size(const worker_reader *reader, PyObject *worker, worker_slot which,
                        PyObject *name) {
    if (worker_slot_known(&reader->slots, worker, which)) {
        PyObject *value = worker_slot_get(&reader->slots, worker, which);
        if (value != NULL && PyDict_CheckExact(value))
            return (double)PyDict_GET_SIZE(value);
    }
    PyObject *value = slot(reader, worker, which, name);
    if (value == NULL)
        return taken_number(NULL);
    Py_ssize_t size = PyObject_Size(value);
    Py_DECREF(value);
    return size < 0 ? no_number() : (double)size;
}

#define SLOT(read, reader, worker, name)                                                           \
    read(reader, worker, WORKER_SLOT_##name, (reader)->state->str_##name)

/* ---- entries of its metrics ---- */

/* A new reference; NULL perhaps with an exception set. mapping may be NULL. */
static PyObject *entry(PyObject *mapping, PyObject *key) {
    if (mapping == NULL)
        return NULL;
    if (PyDict_Check(mapping))
        return Py_XNewRef(PyDict_GetItemWithError(mapping, key));
    return PyObject_GetItem(mapping, key);
}

static double entry_number(PyObject *mapping, PyObject *key) {
    double number;
    if (mapping != NULL && PyDict_CheckExact(mapping)) {
        PyObject *value = PyDict_GetItemWithError(mapping, key);
        if (value != NULL && plain_number(value, &number))
            return number;
        if (value == NULL)
            return taken_number(NULL);
    }
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

/* For a worker whose metrics have none. */
static double memory_elsewhere(const ext_state *state, PyObject *worker) {
    PyObject *polished = attribute(worker, state->str_memory);
    if (polished == NULL)
        return taken_number(NULL);
    double memory = attribute_number(polished, state->str_process);
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
    ext_pass_over(not_read);
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
    ext_pass_over(not_read);
    return seconds;
}

static double sum_prefixes(worker_reader *reader, PyObject *counts) {
    ext_pairs pairs;
    if (ext_pairs_open(&pairs, counts, "task_prefix_count") != 0)
        return NAN;
    double sum = 0;
    while (ext_pairs_next(&pairs))
        sum += prefix_duration(reader, pairs.key) * number_of(pairs.value);
    ext_pairs_close(&pairs);
    return sum;
}

/* NaN: ask the property. */
static double own_occupancy(worker_reader *reader, PyObject *worker) {
    PyObject *counts = SLOT(slot, reader, worker, task_prefix_count);
    double network = SLOT(slot_number, reader, worker, network_occ), occupancy = NAN;
    bool known = counts != NULL && PyDict_Check(counts) && !isnan(network);
    if (known && PyDict_GET_SIZE(counts) == 0 && network == 0) {
        occupancy = 0;
    } else if (known) {
        PyObject *ref = SLOT(slot, reader, worker, scheduler_ref);
        if (ref != NULL && meet_scheduler(reader, worker, ref))
            occupancy = sum_prefixes(reader, counts) + network / reader->bandwidth;
        Py_XDECREF(ref);
    }
    Py_XDECREF(counts);
    ext_pass_over(not_read);
    return occupancy;
}

static double occupancy_of(worker_reader *reader, PyObject *worker) {
    const ext_state *state = reader->state;
    double cached = SLOT(slot_number, reader, worker, occupancy_cache);
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

/* ---- the last heartbeat ---- */

static worker_report read_report(const ext_state *state, PyObject *metrics) {
    worker_report report = {.memory = entry_number(metrics, state->str_memory),
                            .cpu = entry_number(metrics, state->str_cpu)};
    entry_pair(metrics, state->str_spilled_bytes, state->str_disk, NULL, &report.spilled_bytes,
               NULL);
    entry_pair(metrics, state->str_host_net_io, state->str_read_bps, state->str_write_bps,
               &report.net_read_bps, &report.net_write_bps);
    entry_pair(metrics, state->str_host_disk_io, state->str_read_bps, state->str_write_bps,
               &report.disk_read_bps, &report.disk_write_bps);
    return report;
}

static void keep_report(worker_memo *memo, PyObject *metrics, double last_seen,
                        const worker_report *report) {
    bool keep = metrics != NULL && PyDict_CheckExact(metrics) && !isnan(last_seen);
    memo->metrics = keep ? metrics : NULL;
    memo->last_seen = last_seen;
    memo->report = *report;
}

static worker_report fresh_report(const worker_reader *reader, PyObject *worker, worker_memo *memo,
                                  double last_seen) {
    PyObject *metrics = SLOT(slot, reader, worker, metrics);
    if (metrics == NULL)
        taken_number(NULL);
    worker_report report = read_report(reader->state, metrics);
    if (memo != NULL)
        keep_report(memo, metrics, last_seen, &report);
    Py_XDECREF(metrics);
    return report;
}

/* Whether nothing was heard from the worker since. Its metrics are not looked into. */
static bool is_up_to_date(const worker_reader *reader, PyObject *worker, const worker_memo *memo,
                          double last_seen) {
    return memo != NULL && memo->metrics != NULL && memo->last_seen == last_seen &&
           worker_slot_known(&reader->slots, worker, WORKER_SLOT_metrics) &&
           worker_slot_get(&reader->slots, worker, WORKER_SLOT_metrics) == memo->metrics;
}

/* ---- the row ---- */

void worker_reader_row(worker_reader *reader, PyObject *worker, worker_memo *memo,
                       double value[ROAST_COLUMNS]) {
    double last_seen = SLOT(slot_number, reader, worker, last_seen);
    worker_report report = is_up_to_date(reader, worker, memo, last_seen)
                               ? memo->report
                               : fresh_report(reader, worker, memo, last_seen);
    if (isnan(report.memory))
        report.memory = memory_elsewhere(reader->state, worker);
    value[ROAST_COLUMN_memory] = report.memory;
    value[ROAST_COLUMN_memory_limit] = SLOT(slot_number, reader, worker, memory_limit);
    value[ROAST_COLUMN_active_tasks] = SLOT(slot_size, reader, worker, processing);
    value[ROAST_COLUMN_cores] = SLOT(slot_number, reader, worker, nthreads);
    value[ROAST_COLUMN_nbytes] = SLOT(slot_number, reader, worker, nbytes);
    value[ROAST_COLUMN_occupancy] = occupancy_of(reader, worker);
    value[ROAST_COLUMN_executing] = SLOT(slot_size, reader, worker, executing);
    value[ROAST_COLUMN_last_seen] = last_seen;
    value[ROAST_COLUMN_cpu] = report.cpu;
    value[ROAST_COLUMN_spilled_bytes] = report.spilled_bytes;
    value[ROAST_COLUMN_net_read_bps] = report.net_read_bps;
    value[ROAST_COLUMN_net_write_bps] = report.net_write_bps;
    value[ROAST_COLUMN_disk_read_bps] = report.disk_read_bps;
    value[ROAST_COLUMN_disk_write_bps] = report.disk_write_bps;
}

bool worker_reader_is_at(const worker_reader *reader, PyObject *worker, PyObject *address) {
    return worker_slot_known(&reader->slots, worker, WORKER_SLOT_address) &&
           worker_slot_get(&reader->slots, worker, WORKER_SLOT_address) == address;
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
    ext_pass_over(not_read);
    if (host != NULL)
        return host;
    PyObject *address = attribute(worker, reader->state->str_address);
    if (address != NULL && PyUnicode_Check(address))
        host = host_in_address(address);
    Py_XDECREF(address);
    ext_pass_over(not_read);
    return host;
}

void worker_reader_prepare(worker_reader *reader, PyObject *const *workers,
                           const worker_memo *memos, Py_ssize_t count) {
    const PyObject *seen[WORKER_GROUP] = {NULL};
    for (Py_ssize_t i = 0; memos != NULL && i < count; i++)
        seen[i] = memos[i].metrics;
    if (count > 0 && reader->slots.type != Py_TYPE(workers[0]))
        worker_slots_find(&reader->slots, reader->state, workers[0]);
    worker_slots_prefetch(&reader->slots, reader->state, workers, seen, count);
}

void worker_reader_release(worker_reader *reader) {
    Py_CLEAR(reader->scheduler_ref);
    Py_CLEAR(reader->scheduler);
    Py_CLEAR(reader->prefixes);
    Py_CLEAR(reader->durations);
    Py_CLEAR(reader->slots.type);
}
