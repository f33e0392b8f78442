/* Data for plots in addition to the columns of a run: counts of workers, bars of tasks. Arrays go out as buffers of
 * whole numbers. */
#include "show/plot_data.h"

#include "common/errors.h"
#include "common/values.h"
#include "run/run.h"

#include "roast/spread.h"
#include "roast/tasks.h"

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

/* ---- amounts over time ---- */

/* A buffer of so many numbers of 8 bytes; count < 0: of any number. NULL: an exception is set. */
static const void *numbers_of(PyObject *object, Py_buffer *view, char kind, Py_ssize_t count) {
    if (PyObject_GetBuffer(object, view, PyBUF_CONTIG_RO | PyBUF_FORMAT) != 0)
        return NULL;
    const char *format = view->format != NULL ? view->format : "B";
    bool fits = kind == 'd' ? format[0] == 'd' : format[0] == 'l' || format[0] == 'q';
    if (!fits || format[1] != '\0' || view->itemsize != 8 ||
        (count >= 0 && view->len / view->itemsize != count)) {
        PyErr_Format(PyExc_ValueError, "arrays of %s of one length are expected",
                     kind == 'd' ? "float64" : "int64");
        PyBuffer_Release(view);
        return NULL;
    }
    return view->buf;
}

static PyObject *spread_all(Py_buffer *views, const int64_t *rows, roast_spread *spread) {
    const double *starts = views[0].buf, *ends = views[1].buf, *amounts = views[2].buf;
    Py_ssize_t count = views[0].len / views[0].itemsize;
    PyObject *made =
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(spread->rows * spread->bins * sizeof(double)));
    if (made == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS for (Py_ssize_t i = 0; i < count; i++) roast_spread_add(
        spread, rows != NULL ? (size_t)rows[i] : 0, starts[i], ends[i], amounts[i]);
    roast_spread_rates(spread, (double *)(void *)PyBytes_AS_STRING(made));
    Py_END_ALLOW_THREADS return made;
}

PyObject *ext_spread(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *arrays[4], *made = NULL;
    Py_buffer views[4];
    double low, high;
    Py_ssize_t bins, rows;
    int held = 0;
    roast_error err;
    roast_spread spread = {0};
    if (!PyArg_ParseTuple(args, "OOOOnddn:spread", &arrays[0], &arrays[1], &arrays[2], &arrays[3],
                          &rows, &low, &high, &bins))
        return NULL;
    int wanted = arrays[3] == Py_None ? 3 : 4;
    while (held < wanted && numbers_of(arrays[held], &views[held], held < 3 ? 'd' : 'l',
                                       held == 0 ? -1 : views[0].len / 8) != NULL)
        held++;
    if (held == wanted &&
        ext_raised(roast_spread_init(&spread, rows > 0 ? (size_t)rows : 0,
                                     bins > 0 ? (size_t)bins : 0, low, high, &err),
                   &err) == 0)
        made = spread_all(views, wanted == 4 ? views[3].buf : NULL, &spread);
    roast_spread_reset(&spread);
    while (held > 0)
        PyBuffer_Release(&views[--held]);
    return made;
}

/* ---- tasks ---- */

/* One column for each thing that is told of a bar. */
#define BAR_COLUMNS(X) X(worker) X(lane) X(start) X(stop) X(chunk) X(name) X(failed)
enum {
#define X(id) BAR_##id,
    BAR_COLUMNS(X)
#undef X
        BAR_COLUMN_COUNT
};

typedef struct task_bars {
    const roast_run *run;
    roast_task_lanes *lanes;
    PyObject *names; /* dict: text to number, in order */
    roast_str name;  /* the last one, and its number */
    int64_t name_number;
    int64_t *columns[BAR_COLUMN_COUNT];
    size_t count;
} task_bars;

/* The number of a text; -1 with an exception set. */
static int64_t number_of(PyObject *known, roast_str text) {
    PyObject *key = ext_text(text.data != NULL ? text : roast_str_of("unknown"));
    PyObject *next = key != NULL ? PyLong_FromSsize_t(PyDict_GET_SIZE(known)) : NULL;
    PyObject *number = next != NULL ? PyDict_SetDefault(known, key, next) : NULL;
    int64_t result = number != NULL ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(next);
    Py_XDECREF(key);
    return result;
}

static void add_bar(task_bars *bars, const roast_lane_place *place, int64_t chunk, int64_t name,
                    bool failed) {
    if (!place->there)
        return;
    const int64_t values[BAR_COLUMN_COUNT] = {
        [BAR_worker] = roast_task_lanes_at(bars->lanes, place->lane).number,
        [BAR_lane] = place->lane,
        [BAR_start] = place->task_start,
        [BAR_stop] = place->task_stop,
        [BAR_chunk] = chunk,
        [BAR_name] = name,
        [BAR_failed] = failed};
    for (int i = 0; i < BAR_COLUMN_COUNT; i++)
        bars->columns[i][bars->count] = values[i];
    bars->count++;
}

/* The number of the name of a task; most have the name of the one before. -1 with an exception set. */
static int64_t name_of(task_bars *bars, roast_str name) {
    if (bars->name.data == NULL || bars->name.data != name.data || bars->name.len != name.len) {
        bars->name = name;
        bars->name_number = number_of(bars->names, name);
    }
    return bars->name_number;
}

static int add_tries(task_bars *bars) {
    const roast_attempts *attempts = roast_run_attempts_view(bars->run);
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    if (attempts == NULL)
        return 0;
    roast_attempt_cursor_init(&cursor, attempts);
    for (size_t i = 0; roast_attempt_cursor_next(&cursor, &attempt); i++) {
        roast_lane_place place = roast_task_lanes_attempt(bars->lanes, i);
        if (!place.there)
            continue;
        int64_t name = name_of(bars, attempt.prefix);
        bool failed =
            attempt.outcome == ROAST_OUTCOME_raised || attempt.outcome == ROAST_OUTCOME_lost;
        if (name < 0)
            return -1;
        add_bar(bars, &place, -1, name, failed);
    }
    return 0;
}

static void add_chunks(task_bars *bars) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    if (!roast_task_lanes_have_chunks(bars->lanes))
        return;
    roast_chunk_cursor_init_some(&cursor, roast_run_chunks_view(bars->run), 0);
    for (size_t i = 0; roast_chunk_cursor_next(&cursor, &chunk); i++) {
        roast_lane_place place = roast_task_lanes_chunk(bars->lanes, i);
        add_bar(bars, &place, (int64_t)i, -1, chunk.error_type.data != NULL);
    }
}

static PyObject *worker_at(const void *lanes, uint32_t number) {
    return ext_text(roast_task_lanes_worker(lanes, number));
}

static PyObject *bars_dict(const task_bars *bars) {
    static const char *const ids[] = {
#define X(id) #id,
        BAR_COLUMNS(X)
#undef X
    };
    uint32_t workers = roast_task_lanes_worker_count(bars->lanes);
    PyObject *dict =
        Py_BuildValue("{s:N,s:N}", "workers", ext_list(bars->lanes, workers, worker_at), "names",
                      PyDict_Keys(bars->names));
    for (int i = 0; dict != NULL && i < BAR_COLUMN_COUNT; i++) {
        PyObject *bytes = PyBytes_FromStringAndSize((const char *)bars->columns[i],
                                                    (Py_ssize_t)(bars->count * sizeof(int64_t)));
        if (bytes == NULL || PyDict_SetItemString(dict, ids[i], bytes) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(bytes);
    }
    return dict;
}

static bool make_columns(task_bars *bars, size_t most) {
    for (int i = 0; i < BAR_COLUMN_COUNT; i++)
        if ((bars->columns[i] = roast_alloc((most + 1) * sizeof(int64_t))) == NULL) {
            PyErr_NoMemory();
            return false;
        }
    return true;
}

PyObject *ext_task_bars(PyObject *module, PyObject *args) {
    task_bars bars = {.run = NULL};
    roast_error err;
    PyObject *object, *result = NULL;
    Py_ssize_t limit = PY_SSIZE_T_MAX;
    if (!PyArg_ParseTuple(args, "O|n:task_bars", &object, &limit))
        return NULL;
    bars.run = ext_run_view(ext_state_of_module(module), object);
    if (bars.run == NULL)
        return PyErr_Format(PyExc_TypeError, "a Run is expected, not %s", Py_TYPE(object)->tp_name);
    bars.names = PyDict_New();
    const roast_attempts *attempts = roast_run_attempts_view(bars.run);
    size_t most = roast_chunklog_count(roast_run_chunks_view(bars.run)) +
                  (attempts != NULL ? roast_attempts_count(attempts) : 0);
    roast_status status; /* without the GIL: a Run does not change */
    Py_BEGIN_ALLOW_THREADS status =
        roast_task_lanes_new(bars.run, limit > 0 ? (size_t)limit : 0, &bars.lanes, &err);
    Py_END_ALLOW_THREADS if (ext_raised(status, &err) == 0 && bars.names != NULL &&
                             make_columns(&bars, most) && add_tries(&bars) == 0) {
        add_chunks(&bars);
        result = bars_dict(&bars);
    }
    for (int i = 0; i < BAR_COLUMN_COUNT; i++)
        roast_free(bars.columns[i]);
    roast_task_lanes_free(bars.lanes);
    Py_XDECREF(bars.names);
    return result;
}
