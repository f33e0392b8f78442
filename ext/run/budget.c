#include "run/budget.h"

#include "common/errors.h"
#include "common/values.h"

#include "roast/budget.h"
#include "roast/failures.h"

#include <math.h>

/* Appends an item, taking the reference to it; NULL: an exception is set. Clears the list where it fails. */
static void append(PyObject **list, PyObject *item) {
    if (item == NULL || PyList_Append(*list, item) != 0)
        Py_CLEAR(*list);
    Py_XDECREF(item);
}

/* ---- the budget ---- */

static PyObject *parts_of(const roast_budget_row *row) {
    PyObject *parts = PyDict_New();
    for (int part = 0; parts != NULL && part < ROAST_PART_COUNT; part++)
        if (!isnan(row->parts[part]) &&
            ext_put(parts, roast_budget_part_name((roast_budget_part)part),
                    PyFloat_FromDouble(row->parts[part])) != 0)
            Py_CLEAR(parts);
    return parts;
}

static PyObject *row_dict(const roast_budget_row *row) {
    PyObject *dict = PyDict_New();
    if (dict != NULL &&
        (ext_put(dict, "available_core_seconds", PyFloat_FromDouble(row->available)) != 0 ||
         ext_put(dict, "parts", parts_of(row)) != 0 ||
         ext_put(dict, "compute_offcpu",
                 Py_BuildValue("{s:N,s:N,s:N}", "io_wait", ext_real_or_none(row->offcpu_io),
                               "runqueue", ext_real_or_none(row->offcpu_runqueue), "rest",
                               ext_real_or_none(row->offcpu_rest))) != 0 ||
         ext_put(dict, "read",
                 Py_BuildValue("{s:N,s:N,s:N}", "cpu", ext_real_or_none(row->read_cpu),
                               "other_threads", ext_real_or_none(row->read_others), "waiting",
                               ext_real_or_none(row->read_wait))) != 0))
        Py_CLEAR(dict);
    return dict;
}

/* Seconds saved without each idle part that is known. */
static PyObject *savings_of(const roast_budget *budget) {
    PyObject *savings = PyDict_New();
    for (int part = ROAST_PART_idle_ramp_up; savings != NULL && part <= ROAST_PART_idle_tail;
         part++) {
        double saved = roast_budget_saving(budget, (roast_budget_part)part);
        if (!isnan(saved) && ext_put(savings, roast_budget_part_name((roast_budget_part)part),
                                     PyFloat_FromDouble(saved)) != 0)
            Py_CLEAR(savings);
    }
    return savings;
}

static PyObject *whole_dict(const roast_budget *budget) {
    PyObject *dict = row_dict(roast_budget_total(budget));
    if (dict != NULL &&
        (ext_put(dict, "saved_wall_seconds", savings_of(budget)) != 0 ||
         ext_put(dict, "from_attempts", PyBool_FromLong(roast_budget_has_attempts(budget))) != 0))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *split_dict(const roast_budget *budget, roast_budget_split split) {
    uint32_t count;
    const roast_budget_row *rows = roast_budget_rows(budget, split, &count);
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict != NULL && i < count; i++) {
        if (ext_put_pair(dict, ext_text(rows[i].name), row_dict(&rows[i])) != 0)
            Py_CLEAR(dict);
    }
    return dict;
}

/* ROAST_SPLIT_COUNT: not split at all. -1 with an exception set. */
static int split_of(PyObject *by) {
    if (by == NULL || by == Py_None)
        return ROAST_SPLIT_COUNT;
    for (int split = 0; PyUnicode_Check(by) && split < ROAST_SPLIT_COUNT; split++)
        if (PyUnicode_CompareWithASCIIString(
                by, roast_budget_split_name((roast_budget_split)split)) == 0)
            return split;
    PyErr_Format(PyExc_ValueError, "by: 'dataset', 'worker', 'host', 'file' or 'storage', not %R",
                 by);
    return -1;
}

PyObject *ext_budget_dict(const roast_run *run, PyObject *by) {
    roast_budget *budget = NULL;
    roast_error err;
    int split = split_of(by);
    if (split < 0)
        return NULL;
    roast_status status = roast_budget_compute(run, &budget, &err);
    if (status == ROAST_ENOTFOUND)
        Py_RETURN_NONE;
    if (status != ROAST_OK)
        return ext_raise(&err);
    PyObject *dict = split == ROAST_SPLIT_COUNT ? whole_dict(budget)
                                                : split_dict(budget, (roast_budget_split)split);
    roast_budget_free(budget);
    return dict;
}

PyObject *ext_budget_total(run_input *input) {
    const roast_findings *findings = run_input_findings(input);
    if (findings == NULL)
        return NULL;
    const roast_budget_row *row = roast_findings_budget(findings);
    return row != NULL ? row_dict(row) : Py_NewRef(Py_None);
}

/* ---- failures ---- */

static PyObject *tasks_of(const roast_lost_workers *lost, uint32_t index) {
    PyObject *list = PyList_New(0);
    roast_str key;
    for (uint32_t i = 0;
         list != NULL && (key = roast_lost_workers_task(lost, index, i)).data != NULL; i++)
        append(&list, ext_text(key));
    return list;
}

static PyObject *lost_worker_dict(const roast_lost_workers *lost, uint32_t index) {
    roast_lost_worker worker = roast_lost_workers_at(lost, index);
    char cause[256];
    roast_lost_worker_cause(&worker, cause, sizeof cause);
    return Py_BuildValue("{s:N,s:d,s:N,s:N,s:N,s:I,s:s}", "worker", ext_text(worker.worker), "when",
                         (double)worker.departure.when.ns / 1e9, "expected",
                         PyBool_FromLong(worker.departure.expected), "running",
                         tasks_of(lost, index), "memory_fraction",
                         ext_real_or_none(worker.memory_fraction), "lost_results",
                         worker.departure.lost_results, "cause", cause);
}

PyObject *ext_lost_workers(const roast_run *run) {
    roast_lost_workers *lost = NULL;
    roast_error err;
    if (roast_lost_workers_find(run, &lost, &err) != ROAST_OK)
        return ext_raise(&err);
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < roast_lost_workers_count(lost); i++)
        append(&list, lost_worker_dict(lost, i));
    roast_lost_workers_free(lost);
    return list;
}

static PyObject *piece_tuple(const roast_piece *piece) {
    PyObject *start = piece->start >= 0 ? PyLong_FromLongLong(piece->start) : Py_NewRef(Py_None);
    PyObject *stop = piece->stop >= 0 ? PyLong_FromLongLong(piece->stop) : Py_NewRef(Py_None);
    return Py_BuildValue("(NNNNN)", ext_text(piece->dataset), ext_text(piece->file),
                         ext_text(piece->treename), start, stop);
}

static bool text_or_none(PyObject *value, roast_str *out) {
    Py_ssize_t len = 0;
    if (value == Py_None)
        return true;
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "a piece has names, not %.100s", Py_TYPE(value)->tp_name);
        return false;
    }
    out->data = PyUnicode_AsUTF8AndSize(value, &len);
    out->len = (size_t)len;
    return out->data != NULL;
}

static bool entry_or_none(PyObject *value, int64_t *out) {
    if (value == Py_None)
        return true;
    *out = PyLong_AsLongLong(value);
    return *out != -1 || !PyErr_Occurred();
}

/* Borrows the strings. */
static bool tuple_piece(PyObject *tuple, roast_piece *out) {
    PyObject *part[5];
    *out = (roast_piece){.start = -1, .stop = -1};
    return PyArg_ParseTuple(tuple, "OOOOO;a piece is (dataset, file, treename, start, stop)",
                            &part[0], &part[1], &part[2], &part[3], &part[4]) &&
           text_or_none(part[0], &out->dataset) && text_or_none(part[1], &out->file) &&
           text_or_none(part[2], &out->treename) && entry_or_none(part[3], &out->start) &&
           entry_or_none(part[4], &out->stop);
}

/* The pieces of a list, which keeps their strings; NULL with an exception. */
static roast_piece *list_pieces(PyObject *list, size_t *count) {
    *count = (size_t)PyList_GET_SIZE(list);
    roast_piece *pieces = roast_alloc((*count + 1) * sizeof *pieces);
    if (pieces == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < *count; i++) {
        PyObject *tuple = PyList_GET_ITEM(list, (Py_ssize_t)i);
        bool is_tuple = PyTuple_Check(tuple);
        if (!is_tuple)
            PyErr_SetString(PyExc_TypeError, "a piece is a tuple");
        if (!is_tuple || !tuple_piece(tuple, &pieces[i])) {
            roast_free(pieces);
            return NULL;
        }
    }
    return pieces;
}

PyObject *ext_failed_pieces(const roast_run *run, PyObject *more) {
    roast_failed_pieces *pieces = NULL;
    roast_error err;
    size_t count;
    roast_piece *known = list_pieces(more, &count);
    if (known == NULL)
        return NULL;
    roast_status status = roast_failed_pieces_find(run, known, count, &pieces, &err);
    roast_free(known);
    if (status != ROAST_OK)
        return ext_raise(&err);
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < roast_failed_pieces_count(pieces); i++) {
        roast_piece piece = roast_failed_pieces_at(pieces, i);
        append(&list, piece_tuple(&piece));
    }
    roast_failed_pieces_free(pieces);
    return list;
}

PyObject *ext_failed_tasks(const roast_run *run) {
    roast_failed_tasks *tasks = NULL;
    roast_error err;
    if (roast_failed_tasks_find(run, &tasks, &err) != ROAST_OK)
        return ext_raise(&err);
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < roast_failed_tasks_count(tasks); i++)
        append(&list, ext_text(roast_failed_tasks_key(tasks, i)));
    roast_failed_tasks_free(tasks);
    return list;
}

PyObject *ext_parse_work_item(PyObject *module, PyObject *text) {
    Py_ssize_t len;
    roast_piece piece;
    (void)module;
    const char *data = PyUnicode_AsUTF8AndSize(text, &len);
    if (data == NULL)
        return NULL;
    if (!roast_piece_parse((roast_str){data, (size_t)len}, &piece))
        Py_RETURN_NONE;
    return piece_tuple(&piece);
}
