/* ProcessTree: what a process of this machine and its descendants do over time.
 *
 * Every process goes into one series, since nobody knows yet which of them are workers; series() makes a
 * WorkerSeries of those that turned out to be. The kernel is asked without the GIL. */
#include "errors.h"
#include "when.h"
#include "worker_series.h"

#include "roast/proctree.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* One process, from its start to its end; its number in the series is its place in the list. */
typedef struct lifetime {
    int64_t pid, parent;
    roast_utc joined;
    roast_utc left; /* 0 ns: it was there at the last look */
} lifetime;

typedef struct tree_object {
    PyObject_HEAD
    roast_proctree *tree;
    roast_series *series; /* memory, cpu and disk rates of all processes */
    lifetime *lives;
    size_t n_lives, room;
    double memory_limit;
    bool busy; /* a look is being taken, without the GIL */
} tree_object;

/* ---- life ---- */

/* The tightest of the cgroup's limit and the machine's memory; NaN if neither is known. */
static double memory_limit_of(const char *proc_root, int64_t pid) {
    roast_limits limits = {0};
    long pages = sysconf(_SC_PHYS_PAGES);
    double physical = pages > 0 ? (double)pages * (double)sysconf(_SC_PAGESIZE) : NAN;
    (void)roast_limits_read(proc_root, NULL, pid, &limits, NULL);
    return limits.have_memory ? fmin((double)limits.memory_bytes, physical) : physical;
}

static PyObject *tree_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"pid", "proc_root", NULL};
    long long pid = 0;
    const char *root = NULL;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Lz:ProcessTree", keywords, &pid, &root))
        return NULL;
    tree_object *self = (tree_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->memory_limit = memory_limit_of(root, pid > 0 ? pid : 0);
    if (roast_proctree_new(root, pid, &self->tree, &err) != ROAST_OK ||
        roast_series_new(&self->series, &err) != ROAST_OK) {
        Py_DECREF(self);
        return ext_raise(&err);
    }
    return (PyObject *)self;
}

static void tree_dealloc(PyObject *op) {
    tree_object *self = (tree_object *)op;
    PyTypeObject *type = Py_TYPE(op);
    roast_proctree_free(self->tree);
    roast_series_free(self->series);
    roast_free(self->lives);
    type->tp_free(op);
    Py_DECREF(type);
}

static int check_idle(const tree_object *self) {
    if (!self->busy)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "another thread is looking at the processes");
    return -1;
}

/* ---- a look ---- */

/* The place of a process in the list, which it gets at its first look. */
static roast_status number_of(tree_object *self, const roast_process *process, uint32_t *number,
                              roast_error *err) {
    char name[48];
    int len = PyOS_snprintf(name, sizeof name, "%lld@%llu", (long long)process->pid,
                            (unsigned long long)process->start_ticks);
    return roast_series_worker(self->series, (roast_str){name, (size_t)len}, number, err);
}

/* When it joined: at the first look if it was there, else when it started. */
static roast_utc join_time(const tree_object *self, const roast_process *process, roast_utc now) {
    uint64_t ticks = roast_series_tick_count(self->series);
    roast_utc last = ticks > 1 ? roast_series_tick_time(self->series, ticks - 2) : now;
    roast_utc when = process->started.ns != 0 ? process->started : now;
    /* Starts are told in clock ticks, and the clock may have been put back. */
    if (when.ns < last.ns)
        when = last;
    return when.ns > now.ns ? now : when;
}

static roast_status enlist(tree_object *self, const roast_process *process, roast_utc now,
                           roast_error *err) {
    if (self->n_lives == self->room) {
        size_t room = self->room > 0 ? self->room * 2 : 16;
        lifetime *lives = roast_realloc(self->lives, room * sizeof *lives);
        if (lives == NULL)
            return roast_error_set(err, ROAST_ENOMEM, "ProcessTree", -1,
                                   "no memory for the processes");
        self->lives = lives;
        self->room = room;
    }
    self->lives[self->n_lives++] = (lifetime){
        .pid = process->pid, .parent = process->parent, .joined = join_time(self, process, now)};
    return ROAST_OK;
}

static roast_status add_row(tree_object *self, const roast_process *process, roast_utc now,
                            bool *changed, roast_error *err) {
    uint32_t number;
    double value[ROAST_COLUMNS];
    ROAST_TRY(number_of(self, process, &number, err));
    if (number == self->n_lives) {
        ROAST_TRY(enlist(self, process, now, err));
        *changed = true;
    }
    self->lives[number].left = (roast_utc){0};
    for (int column = 0; column < ROAST_COLUMNS; column++)
        value[column] = NAN;
    if (process->reading.have & ROAST_HAVE(rss_bytes))
        value[ROAST_COLUMN_memory] = (double)process->reading.rss_bytes;
    value[ROAST_COLUMN_cpu] = process->cpu_percent;
    value[ROAST_COLUMN_disk_read_bps] = process->read_bps;
    value[ROAST_COLUMN_disk_write_bps] = process->write_bps;
    return roast_series_append(self->series, number, value, err);
}

/* Each tick has a time of its own, by which rows and ticks find each other again. */
static roast_utc next_moment(const tree_object *self) {
    roast_utc now = roast_utc_now();
    uint64_t ticks = roast_series_tick_count(self->series);
    if (ticks == 0)
        return now;
    roast_utc last = roast_series_tick_time(self->series, ticks - 1);
    return now.ns > last.ns ? now : (roast_utc){last.ns + 1};
}

static roast_status record(tree_object *self, bool *changed, roast_error *err) {
    size_t count = roast_proctree_count(self->tree);
    roast_utc now = next_moment(self);
    ROAST_TRY(roast_series_tick(self->series, now, (uint32_t)count, err));
    for (size_t i = 0; i < roast_proctree_ended_count(self->tree); i++) {
        uint32_t number;
        ROAST_TRY(number_of(self, roast_proctree_ended_at(self->tree, i), &number, err));
        /* One that could not be enlisted is not known. */
        if (number < self->n_lives)
            self->lives[number].left = now;
        *changed = true;
    }
    for (size_t i = 0; i < count; i++)
        ROAST_TRY(add_row(self, roast_proctree_at(self->tree, i), now, changed, err));
    return ROAST_OK;
}

static PyObject *tree_sample(PyObject *op, PyObject *unused) {
    (void)unused;
    tree_object *self = (tree_object *)op;
    roast_error err;
    bool changed = false;
    if (check_idle(self) != 0)
        return NULL;
    self->busy = true;
    roast_status status;
    Py_BEGIN_ALLOW_THREADS status = roast_proctree_look(self->tree, NULL, &err);
    if (status == ROAST_OK)
        status = record(self, &changed, &err);
    Py_END_ALLOW_THREADS self->busy = false;
    return status == ROAST_OK ? PyBool_FromLong(changed) : ext_raise(&err);
}

/* ---- the series of some of them ---- */

/* A process that is in the result. */
typedef struct chosen {
    const lifetime *life;
    uint32_t worker; /* its number in the result */
    int cores;       /* 0: it is there to be seen, but no worker */
    roast_series_cursor cursor;
    roast_sample sample;
    bool more; /* `sample` holds its next row */
} chosen;

typedef struct selection {
    chosen *items;
    size_t count;
} selection;

/* The cores of a process by `workers`: 0 for None, -1 if it is not there, -2 with an exception set. */
static int cores_of(PyObject *workers, int64_t pid) {
    PyObject *key = PyLong_FromLongLong(pid);
    PyObject *value = key != NULL ? PyDict_GetItemWithError(workers, key) : NULL;
    Py_XDECREF(key);
    if (value == NULL)
        return PyErr_Occurred() ? -2 : -1;
    if (value == Py_None)
        return 0;
    long cores = PyLong_AsLong(value);
    if (cores >= 1 && cores <= INT32_MAX)
        return (int)cores;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "cores of process %lld: %ld is no number of cores",
                     (long long)pid, cores);
    return -2;
}

/* 0 or -1 with an exception set. */
static int choose(const tree_object *self, PyObject *workers, selection *chosen_ones) {
    chosen_ones->items = roast_alloc_zero((self->n_lives + 1) * sizeof *chosen_ones->items);
    if (chosen_ones->items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < self->n_lives; i++) {
        int cores = cores_of(workers, self->lives[i].pid);
        if (cores == -2)
            return -1;
        if (cores == -1)
            continue;
        chosen *item = &chosen_ones->items[chosen_ones->count++];
        item->life = &self->lives[i];
        item->cores = cores;
        roast_series_cursor_init(&item->cursor, self->series, (uint32_t)i);
        item->more = roast_series_cursor_next(&item->cursor, &item->sample);
    }
    return 0;
}

static roast_status name_workers(selection *chosen_ones, roast_series *out, roast_str host,
                                 roast_error *err) {
    char name[ROAST_MAX_WORKER_NAME + 1];
    for (size_t i = 0; i < chosen_ones->count; i++) {
        chosen *item = &chosen_ones->items[i];
        int len = PyOS_snprintf(name, sizeof name, "%.*s:%lld", (int)host.len, host.data,
                                (long long)item->life->pid);
        ROAST_TRY(roast_series_worker(out, (roast_str){name, (size_t)len}, &item->worker, err));
        ROAST_TRY(roast_series_set_host(out, item->worker, host, err));
    }
    return ROAST_OK;
}

typedef struct event {
    uint32_t worker;
    roast_worker_event_kind kind;
    roast_utc when;
    int cores;
} event;

static int compare_events(const void *a, const void *b) {
    int64_t first = ((const event *)a)->when.ns, second = ((const event *)b)->when.ns;
    return (first > second) - (first < second);
}

/* Joins and leaves of the workers, in order of time. */
static roast_status add_events(const selection *chosen_ones, roast_series *out, roast_error *err) {
    event *events = roast_alloc((2 * chosen_ones->count + 1) * sizeof *events);
    size_t count = 0;
    if (events == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "ProcessTree", -1, "no memory for the events");
    for (size_t i = 0; i < chosen_ones->count; i++) {
        const chosen *item = &chosen_ones->items[i];
        if (item->cores == 0)
            continue;
        events[count++] =
            (event){item->worker, ROAST_WORKER_JOINED, item->life->joined, item->cores};
        if (item->life->left.ns != 0)
            events[count++] = (event){item->worker, ROAST_WORKER_LEFT, item->life->left, 0};
    }
    qsort(events, count, sizeof *events, compare_events);
    roast_status status = ROAST_OK;
    for (size_t i = 0; i < count && status == ROAST_OK; i++)
        status = roast_series_event(out, events[i].worker, events[i].kind, events[i].when,
                                    events[i].cores, err);
    roast_free(events);
    return status;
}

static roast_status copy_tick(const tree_object *self, const selection *chosen_ones, roast_utc when,
                              roast_series *out, roast_error *err) {
    uint32_t workers = 0;
    for (size_t i = 0; i < chosen_ones->count; i++) {
        const chosen *item = &chosen_ones->items[i];
        workers += item->more && item->sample.when.ns == when.ns && item->cores > 0;
    }
    ROAST_TRY(roast_series_tick(out, when, workers, err));
    for (size_t i = 0; i < chosen_ones->count; i++) {
        chosen *item = &chosen_ones->items[i];
        if (!item->more || item->sample.when.ns != when.ns)
            continue;
        item->sample.value[ROAST_COLUMN_memory_limit] = self->memory_limit;
        item->sample.value[ROAST_COLUMN_last_seen] = (double)when.ns / 1e9;
        if (item->cores > 0)
            item->sample.value[ROAST_COLUMN_cores] = item->cores;
        ROAST_TRY(roast_series_append(out, item->worker, item->sample.value, err));
        item->more = roast_series_cursor_next(&item->cursor, &item->sample);
    }
    return ROAST_OK;
}

static roast_status copy_chosen(const tree_object *self, selection *chosen_ones, roast_str host,
                                roast_series *out, roast_error *err) {
    ROAST_TRY(name_workers(chosen_ones, out, host, err));
    ROAST_TRY(add_events(chosen_ones, out, err));
    for (uint64_t tick = 0; tick < roast_series_tick_count(self->series); tick++)
        ROAST_TRY(
            copy_tick(self, chosen_ones, roast_series_tick_time(self->series, tick), out, err));
    return ROAST_OK;
}

static PyObject *tree_series(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"workers", "host", NULL};
    tree_object *self = (tree_object *)op;
    PyObject *workers;
    const char *host;
    Py_ssize_t host_len;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!s#:series", keywords, &PyDict_Type, &workers,
                                     &host, &host_len) ||
        check_idle(self) != 0)
        return NULL;
    /* Room for the number behind it. */
    if (host_len > (Py_ssize_t)ROAST_MAX_WORKER_NAME - 32)
        return PyErr_Format(PyExc_ValueError, "the host's name is longer than %d bytes",
                            (int)ROAST_MAX_WORKER_NAME - 32);
    selection chosen_ones = {0};
    roast_series *out = NULL;
    PyObject *result = NULL;
    if (choose(self, workers, &chosen_ones) == 0) {
        roast_error err;
        roast_status status = roast_series_new(&out, &err);
        if (status == ROAST_OK)
            status =
                copy_chosen(self, &chosen_ones, (roast_str){host, (size_t)host_len}, out, &err);
        if (status != ROAST_OK) {
            roast_series_free(out);
            ext_raise(&err);
        } else {
            result = ext_series_new(ext_state_of_final(Py_TYPE(op)), out);
        }
    }
    roast_free(chosen_ones.items);
    return result;
}

/* ---- looking ---- */

static PyObject *moment_or_none(roast_utc when) {
    return when.ns != 0 ? ext_when_object(when) : Py_NewRef(Py_None);
}

static PyObject *tree_processes(PyObject *op, void *unused) {
    (void)unused;
    const tree_object *self = (tree_object *)op;
    if (check_idle(self) != 0)
        return NULL;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < self->n_lives; i++) {
        const lifetime *life = &self->lives[i];
        PyObject *process = Py_BuildValue(
            "{s:L,s:L,s:N,s:N}", "pid", (long long)life->pid, "parent", (long long)life->parent,
            "joined", ext_when_object(life->joined), "left", moment_or_none(life->left));
        if (process == NULL || PyList_Append(list, process) != 0)
            Py_CLEAR(list);
        Py_XDECREF(process);
    }
    return list;
}

static Py_ssize_t tree_length(PyObject *op) {
    return (Py_ssize_t)((tree_object *)op)->n_lives;
}

/* ---- the type ---- */

static PyMethodDef tree_methods[] = {
    {"sample", tree_sample, METH_NOARGS,
     "sample($self)\n--\n\nOne look at all processes; whether any came or went."},
    {"series", (PyCFunction)(void (*)(void))tree_series, METH_VARARGS | METH_KEYWORDS,
     "series($self, workers, host)\n--\n\n"
     "A WorkerSeries of the processes in {pid: cores}; one with None for cores is in it, but is "
     "not counted as a worker."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef tree_getset[] = {
    {"processes", tree_processes, NULL,
     "Every process that was seen: its number, its parent's, when it came and when it went.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot tree_slots[] = {
    {Py_tp_doc, (void *)"ProcessTree(pid=0, proc_root=None)\n--\n\n"
                        "What a process (0: this one) and its descendants do over time."},
    {Py_tp_new, tree_new},
    {Py_tp_dealloc, tree_dealloc},
    {Py_tp_methods, tree_methods},
    {Py_tp_getset, tree_getset},
    {Py_sq_length, tree_length},
    {0, NULL},
};

PyType_Spec ext_spec_process_tree = {"roastcoffea._core.ProcessTree", sizeof(tree_object), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, tree_slots};
