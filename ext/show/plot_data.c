/* Data for plots in addition to the columns of a run: counts of workers, and bars in lanes. Arrays go in and out
 * as buffers of whole numbers. */
#include "show/plot_data.h"

#include "common/errors.h"
#include "run/run.h"

#include "roast/lanes.h"

#include <string.h>

/* ---- workers ---- */

PyObject *ext_worker_ticks(PyObject *module, PyObject *object) {
    const roast_run *run = ext_run_view(ext_state_of_module(module), object);
    if (run == NULL)
        return PyErr_Format(PyExc_TypeError, "a Run is expected, not %s", Py_TYPE(object)->tp_name);
    const roast_series *series = roast_run_counts_view(run);
    series = series != NULL ? series : roast_run_series_view(run);
    uint64_t ticks = roast_series_tick_count(series);
    PyObject *times = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(ticks * sizeof(int64_t)));
    PyObject *counts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(ticks * sizeof(int64_t)));
    for (uint64_t i = 0; times != NULL && counts != NULL && i < ticks; i++) {
        ((int64_t *)(void *)PyBytes_AS_STRING(times))[i] = roast_series_tick_time(series, i).ns;
        ((int64_t *)(void *)PyBytes_AS_STRING(counts))[i] = roast_series_tick_workers(series, i);
    }
    return Py_BuildValue("(NN)", times, counts);
}

/* ---- lanes ---- */

/* Buffers of Python need not be aligned: their numbers are copied out. */
static PyObject *lanes_of(const char *owners, const char *starts, const char *ends, size_t n) {
    roast_error err;
    PyObject *lanes = NULL;
    roast_bar *bars = roast_alloc_zero((n + 1) * sizeof *bars);
    roast_bar **order = bars != NULL ? roast_alloc((n + 1) * sizeof *order) : NULL;
    for (size_t i = 0; order != NULL && i < n; i++) {
        roast_bar *bar = order[i] = &bars[i];
        memcpy(&bar->start, starts + i * sizeof bar->start, sizeof bar->start);
        memcpy(&bar->stop, ends + i * sizeof bar->stop, sizeof bar->stop);
        memcpy(&bar->owner, owners + i * sizeof bar->owner, sizeof bar->owner);
        bar->latest = bar->start;
    }
    if (order == NULL)
        PyErr_NoMemory();
    else if (roast_bars_pack(order, n, &err) != ROAST_OK)
        ext_raise(&err);
    else
        lanes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * sizeof(uint32_t)));
    for (size_t i = 0; lanes != NULL && i < n; i++)
        ((uint32_t *)(void *)PyBytes_AS_STRING(lanes))[i] = bars[i].lane;
    roast_free(bars);
    roast_free(order);
    return lanes;
}

PyObject *ext_pack_lanes(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer owners, starts, ends;
    PyObject *lanes = NULL;
    if (!PyArg_ParseTuple(args, "y*y*y*:pack_lanes", &owners, &starts, &ends))
        return NULL;
    size_t n = (size_t)owners.len / sizeof(int32_t);
    if ((size_t)starts.len != n * sizeof(int64_t) || ends.len != starts.len)
        PyErr_SetString(PyExc_ValueError, "pack_lanes: as many owners (of 32 bits) as starts and "
                                          "ends (of 64 bits) are expected");
    else
        lanes = lanes_of(owners.buf, starts.buf, ends.buf, n);
    PyBuffer_Release(&owners);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&ends);
    return lanes;
}
