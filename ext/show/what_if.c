/* What if: a recorded run played again with other workers, chunks, files or storage, by the engine. */
#include "common/errors.h"
#include "common/redact.h"
#include "common/values.h"
#include "run/run.h"
#include "show/tables.h"

#include "roast/what_if_tables.h"

typedef struct what_if_object {
    PyObject_HEAD
    roast_what_if *what_if;
} what_if_object;

/* ---- arguments ---- */

enum { MOST_FILES = 100000 };

/* The names of files, and the objects that own their bytes. */
typedef struct names {
    roast_str *list;
    PyObject *owners; /* a list */
    size_t count;
} names;

static void release_names(names *from) {
    PyMem_Free(from->list);
    Py_CLEAR(from->owners);
}

static int take_name(names *into, PyObject *one) {
    PyObject *name = PyUnicode_Check(one) ? ext_redact_name(NULL, one) : Py_NewRef(one);
    PyObject *owner =
        name != NULL ? ext_text_of(name, "without_files", &into->list[into->count]) : NULL;
    Py_XDECREF(name); /* the owner has it */
    int result = owner != NULL ? PyList_Append(into->owners, owner) : -1;
    Py_XDECREF(owner);
    into->count += result == 0;
    return result;
}

/* 0, or -1 with an exception set. */
static int take_names(names *into, PyObject *from) {
    if (ext_is_none(from))
        return 0;
    if (PyUnicode_Check(from)) {
        PyErr_SetString(PyExc_TypeError, "without_files: a list of names is expected");
        return -1;
    }
    PyObject *list = PySequence_List(from);
    Py_ssize_t size = list != NULL ? PyList_GET_SIZE(list) : 0;
    int result = list != NULL ? 0 : -1;
    if (size > MOST_FILES) {
        PyErr_Format(PyExc_ValueError, "without_files: at most %d names", MOST_FILES);
        result = -1;
    }
    if (result == 0) {
        into->owners = PyList_New(0);
        into->list = PyMem_Calloc((size_t)size + 1, sizeof *into->list);
        if (into->list == NULL)
            PyErr_NoMemory();
        result = into->owners != NULL && into->list != NULL ? 0 : -1;
    }
    for (Py_ssize_t i = 0; result == 0 && i < size; i++)
        result = take_name(into, PyList_GET_ITEM(list, i));
    Py_XDECREF(list);
    return result;
}

/* None is 0, as recorded. */
static int take_count(PyObject *from, const char *what, uint64_t most, uint64_t *out) {
    *out = 0;
    if (ext_is_none(from))
        return 0;
    unsigned long long value = PyLong_Check(from) ? PyLong_AsUnsignedLongLong(from) : 0;
    if (PyErr_Occurred() != NULL && !PyErr_ExceptionMatches(PyExc_OverflowError))
        return -1;
    if (PyErr_Occurred() != NULL || value < 1 || value > most) {
        PyErr_Clear();
        PyErr_Format(PyLong_Check(from) ? PyExc_ValueError : PyExc_TypeError,
                     "%s: a whole number from 1 to %llu is expected", what,
                     (unsigned long long)most);
        return -1;
    }
    *out = value;
    return 0;
}

/* A number of bytes per second, or a text like "2Gbps". */
static int take_rate(PyObject *from, double *out) {
    roast_str text;
    roast_error err;
    *out = 0;
    if (ext_is_none(from))
        return 0;
    if (!PyUnicode_Check(from)) {
        if (ext_real(from, "at_rate", out) != 0)
            return -1;
        if (*out > 0)
            return 0;
        PyErr_SetString(PyExc_ValueError, "at_rate: a number above 0 is expected");
        return -1;
    }
    PyObject *owner = ext_utf8(from, &text);
    if (owner == NULL)
        return -1;
    int result = ext_raised(roast_what_if_rate(text, out, &err), &err);
    Py_DECREF(owner);
    return result;
}

/* ---- life ---- */

static PyObject *what_if_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"run",   "workers", "threads", "chunksize", "without_files",
                               "times", "preload", "at_rate", NULL};
    PyObject *run, *workers = NULL, *threads = NULL, *chunksize = NULL, *files = NULL, *rate = NULL;
    PyObject *times = NULL;
    int preload = 0;
    uint64_t n_workers, n_threads, n_times;
    roast_what_if_options options = {0};
    names leave_out = {0};
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOOOOpO:WhatIf", keywords, &run, &workers,
                                     &threads, &chunksize, &files, &times, &preload, &rate))
        return NULL;
    run_input *input = ext_run_input(ext_state_of_final(type), run);
    if (input == NULL) {
        PyErr_SetString(PyExc_TypeError, "run: a Run is expected");
        return NULL;
    }
    what_if_object *self = (what_if_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    if (take_count(workers, "workers", ROAST_WHAT_IF_WORKERS, &n_workers) != 0 ||
        take_count(threads, "threads", ROAST_WHAT_IF_THREADS, &n_threads) != 0 ||
        take_count(chunksize, "chunksize", 1000000000000, &options.chunksize) != 0 ||
        take_count(times, "times", ROAST_WHAT_IF_CHUNKS, &n_times) != 0 ||
        take_rate(rate, &options.read_rate) != 0 || take_names(&leave_out, files) != 0) {
        release_names(&leave_out);
        Py_DECREF(self);
        return NULL;
    }
    options.workers = (uint32_t)n_workers;
    options.threads = (uint32_t)n_threads;
    options.times = (uint32_t)n_times;
    options.preload = preload != 0;
    options.leave_out = leave_out.list;
    options.n_leave_out = leave_out.count;
    roast_status status = roast_what_if_new(input->run, &options, &self->what_if, &err);
    /* No file is missing: the run has nothing to play. */
    if (status == ROAST_ENOTFOUND)
        PyErr_SetString(PyExc_ValueError, err.message);
    if (status == ROAST_ENOTFOUND || ext_raised(status, &err) != 0)
        Py_CLEAR(self);
    release_names(&leave_out);
    return (PyObject *)self;
}

static void what_if_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    roast_what_if_free(((what_if_object *)op)->what_if);
    type->tp_free(op);
    Py_DECREF(type);
}

/* ---- output ---- */

static roast_status draw(const void *of, unsigned width, bool color, roast_sink *sink,
                         roast_error *err) {
    return roast_what_if_draw(of, width, color, sink, err);
}

static PyObject *what_if_draw(PyObject *op, PyObject *args, PyObject *kwargs) {
    return ext_drawn(((what_if_object *)op)->what_if, draw, args, kwargs);
}

static void write_json(const void *of, roast_sink *sink) {
    roast_what_if_json(of, sink);
}

static PyObject *what_if_json(PyObject *op, PyObject *Py_UNUSED(ignored)) {
    return ext_written(((what_if_object *)op)->what_if, write_json);
}

static PyObject *table_at(const void *what_if, uint32_t index) {
    roast_grid *grid = NULL;
    roast_error err;
    roast_status status =
        roast_what_if_table(what_if, (roast_what_if_table_number)index, &grid, &err);
    return ext_table_taken(status, grid, &err);
}

static PyObject *what_if_tables(PyObject *op, PyObject *unused) {
    (void)unused;
    return ext_list(((what_if_object *)op)->what_if, ROAST_WHAT_IF_TABLE_COUNT, table_at);
}

/* ---- the type ---- */

static PyMethodDef what_if_methods[] = {
    {"draw", (PyCFunction)(void (*)(void))what_if_draw, METH_VARARGS | METH_KEYWORDS,
     "draw($self, width=80, color=False)\n--\n\nThe headline, the tables and the notes as text."},
    {"json", what_if_json, METH_NOARGS, "json($self)\n--\n\nAll of it as JSON."},
    {"tables", what_if_tables, METH_NOARGS,
     "tables($self)\n--\n\nOne dict per table: id, title, columns, rows, numbers, caption."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot what_if_slots[] = {
    {Py_tp_doc,
     (void *)"WhatIf(run, *, workers=None, threads=None, chunksize=None, without_files=(), "
             "times=None, preload=False, at_rate=None)\n--\n\nA recorded run, played again."},
    {Py_tp_new, what_if_new},
    {Py_tp_dealloc, what_if_dealloc},
    {Py_tp_methods, what_if_methods},
    {0, NULL},
};

PyType_Spec ext_spec_what_if = {"roastcoffea._core.WhatIf", sizeof(what_if_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, what_if_slots};
