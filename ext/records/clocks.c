#include "records/clocks.h"

#include "records/attempts.h"
#include "records/chunk_log.h"
#include "common/errors.h"
#include "common/pairs.h"
#include "common/values.h"

#include <math.h>

/* ---- the clock of this process ---- */

static unsigned long holders; /* under the GIL */

PyObject *ext_now(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyFloat_FromDouble((double)roast_utc_now().ns / 1e9);
}

PyObject *ext_hold_clock(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    if (holders++ == 0)
        roast_utc_sync();
    Py_RETURN_NONE;
}

PyObject *ext_release_clock(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    if (holders > 0)
        holders--;
    Py_RETURN_NONE;
}

/* ---- the clocks of the workers ---- */

static int parse_shift(PyObject *worker, PyObject *seconds, roast_clock_shift *out) {
    Py_ssize_t len = 0;
    if (!PyUnicode_Check(worker)) {
        PyErr_Format(PyExc_TypeError, "shift_clocks: the name of a worker is a str, not %s",
                     Py_TYPE(worker)->tp_name);
        return -1;
    }
    out->worker.data = PyUnicode_AsUTF8AndSize(worker, &len);
    out->worker.len = (size_t)len;
    double behind = out->worker.data != NULL ? PyFloat_AsDouble(seconds) : -1.0;
    if (behind == -1.0 && PyErr_Occurred())
        return -1;
    if (!(fabs(behind) < 9e12)) {
        PyErr_Format(PyExc_ValueError, "shift_clocks: %R are no seconds that a clock is behind",
                     seconds);
        return -1;
    }
    out->behind_us = llround(behind * 1e6);
    return 0;
}

static PyObject *shifted(ext_state *state, PyObject *chunks, const roast_clock_shift *shifts,
                         size_t count) {
    roast_chunklog *made = NULL;
    roast_error err;
    log_core *core = ext_packed_view(state, chunks);
    if (core == NULL)
        return NULL;
    roast_status status = roast_chunklog_shift(core->log, shifts, count, &made, &err);
    log_core_let_go(core);
    return status == ROAST_OK ? ext_chunk_log_new(state, made) : ext_raise(&err);
}

PyObject *ext_shift_clocks(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of_module(module);
    PyObject *chunks, *offsets, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O!:shift_clocks", state->type_chunk_log, &chunks, &PyDict_Type,
                          &offsets))
        return NULL;
    ext_pairs pairs;
    if (ext_pairs_open(&pairs, offsets, "shift_clocks") != 0)
        return NULL;
    size_t n = (size_t)pairs.count, done = 0;
    roast_clock_shift *shifts =
        n < SIZE_MAX / 2 / sizeof *shifts ? roast_alloc((n + 1) * sizeof *shifts) : NULL;
    if (shifts == NULL)
        PyErr_NoMemory();
    while (shifts != NULL && ext_pairs_next(&pairs) &&
           parse_shift(pairs.key, pairs.value, &shifts[done]) == 0)
        done++;
    if (shifts != NULL && done == n)
        result = shifted(state, chunks, shifts, n);
    roast_free(shifts);
    ext_pairs_close(&pairs);
    return result;
}

/* ---- what tries know of chunks ---- */

typedef roast_status (*from_tries)(const roast_chunklog *log, const roast_attempts *attempts,
                                   roast_chunklog **out, roast_error *err);

/* A ChunkLog that `make` gives; the same one where it makes none. */
static PyObject *with_tries(PyObject *module, PyObject *args, const char *format, from_tries make) {
    ext_state *state = ext_state_of_module(module);
    PyObject *chunks, *attempts;
    roast_chunklog *made = NULL;
    roast_error err;
    if (!PyArg_ParseTuple(args, format, state->type_chunk_log, &chunks, state->type_attempts,
                          &attempts))
        return NULL;
    ext_shared *tries = ext_attempts_hold(state, attempts); /* packing a log may run code */
    if (tries == NULL)
        return NULL;
    log_core *core = ext_packed_view(state, chunks);
    roast_status status = ROAST_OK;
    if (core != NULL) {
        status = make(core->log, tries->part, &made, &err);
        log_core_let_go(core);
    }
    ext_shared_let_go(tries);
    if (core == NULL)
        return NULL;
    if (status != ROAST_OK)
        return ext_raise(&err);
    return made != NULL ? ext_chunk_log_new(state, made) : Py_NewRef(chunks);
}

PyObject *ext_name_workers(PyObject *module, PyObject *args) {
    return with_tries(module, args, "O!O!:name_workers", roast_chunklog_name_workers);
}

PyObject *ext_start_tasks(PyObject *module, PyObject *args) {
    return with_tries(module, args, "O!O!:start_tasks", roast_chunklog_start_tasks);
}

/* Chunks of one process have the same origin. */
static int add_jobs(const roast_chunklog *log, PyObject *jobs) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    uint32_t origin = 0;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        bool known = chunk.batch_job.data != NULL && chunk.packed.origin != origin;
        origin = chunk.packed.origin;
        if (known && ext_put_pair(jobs, ext_text(chunk.batch_job), Py_NewRef(Py_None)) != 0)
            return -1;
    }
    return 0;
}

PyObject *ext_batch_jobs(PyObject *module, PyObject *args) {
    ext_state *state = ext_state_of_module(module);
    PyObject *chunks, *list = NULL;
    if (!PyArg_ParseTuple(args, "O!:batch_jobs", state->type_chunk_log, &chunks))
        return NULL;
    log_core *core = ext_packed_view(state, chunks);
    PyObject *jobs = core != NULL ? PyDict_New() : NULL;
    if (jobs != NULL && add_jobs(core->log, jobs) == 0)
        list = PyDict_Keys(jobs);
    Py_XDECREF(jobs);
    if (core != NULL)
        log_core_let_go(core);
    return list;
}
