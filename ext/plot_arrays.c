/* Arrays of numbers between Python and the library. */
#include "plot_data.h"

#include "errors.h"

#include "roast/base.h"

#include <math.h>
#include <string.h>

void *ext_zeroed(size_t count, size_t size) {
    void *block = count < SIZE_MAX / 2 / size ? roast_alloc_zero((count + 1) * size) : NULL;
    if (block == NULL)
        PyErr_NoMemory();
    return block;
}

int ext_put_item(PyObject *dict, const char *key, PyObject *value) {
    int result = value != NULL ? PyDict_SetItemString(dict, key, value) : -1;
    Py_XDECREF(value);
    return result;
}

PyObject *ext_real_or_none(double value) {
    return isnan(value) ? Py_NewRef(Py_None) : PyFloat_FromDouble(value);
}

int ext_same_length(size_t a, size_t b, const char *what) {
    if (a == b)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s: %zu and %zu values; as many of both are expected", what, a,
                 b);
    return -1;
}

/* ---- in ---- */

/* How a buffer's numbers are stored. */
typedef enum number_kind { KIND_REAL, KIND_INT64, KIND_INT32, KIND_OTHER } number_kind;

static number_kind kind_of(const Py_buffer *view) {
    const char *format = view->format != NULL ? view->format : "B";
    if (view->ndim != 1 || strlen(format) != 1)
        return KIND_OTHER;
    if (format[0] == 'd' && view->itemsize == sizeof(double))
        return KIND_REAL;
    if (strchr("lq", format[0]) != NULL && view->itemsize == sizeof(int64_t))
        return KIND_INT64;
    return strchr("il", format[0]) != NULL && view->itemsize == sizeof(int32_t) ? KIND_INT32
                                                                                : KIND_OTHER;
}

static double number_at(const Py_buffer *view, number_kind kind, size_t i) {
    const char *at = (const char *)view->buf + i * (size_t)view->itemsize;
    double real;
    int64_t wide;
    int32_t narrow;
    switch (kind) {
    case KIND_REAL:
        memcpy(&real, at, sizeof real);
        return real;
    case KIND_INT64:
        memcpy(&wide, at, sizeof wide);
        return (double)wide;
    case KIND_INT32:
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    case KIND_OTHER:
        break;
    }
    return NAN;
}

static int reals_of_buffer(const Py_buffer *view, number_kind kind, ext_reals *out) {
    size_t n = (size_t)view->len / (size_t)view->itemsize;
    out->values = ext_zeroed(n, sizeof *out->values);
    if (out->values == NULL)
        return -1;
    out->count = n;
    for (size_t i = 0; i < n; i++)
        out->values[i] = number_at(view, kind, i);
    return 0;
}

static int reals_of_sequence(PyObject *object, const char *what, ext_reals *out) {
    PyObject *list = PyUnicode_Check(object) ? NULL : PySequence_List(object);
    if (list == NULL) {
        if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s: numbers are expected, not %s", what,
                         Py_TYPE(object)->tp_name);
        return -1;
    }
    size_t n = (size_t)PyList_GET_SIZE(list);
    int result = (out->values = ext_zeroed(n, sizeof *out->values)) != NULL ? 0 : -1;
    for (size_t i = 0; result == 0 && i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, (Py_ssize_t)i);
        out->values[i] = item == Py_None ? NAN : PyFloat_AsDouble(item);
        if (out->values[i] == -1.0 && PyErr_Occurred()) {
            if (PyErr_ExceptionMatches(PyExc_TypeError))
                PyErr_Format(PyExc_TypeError, "%s: %R is no number", what, item);
            result = -1;
        }
    }
    out->count = n;
    Py_DECREF(list);
    return result;
}

int ext_reals_from(PyObject *object, const char *what, ext_reals *out) {
    Py_buffer view;
    *out = (ext_reals){NULL, 0};
    if (PyObject_CheckBuffer(object)) {
        if (PyObject_GetBuffer(object, &view, PyBUF_CONTIG_RO | PyBUF_FORMAT) == 0) {
            number_kind kind = kind_of(&view);
            int result = kind != KIND_OTHER ? reals_of_buffer(&view, kind, out) : 1;
            PyBuffer_Release(&view);
            if (result <= 0)
                return result;
        }
        if (ext_drop_exception() != 0) /* of another kind, or not in one piece: number by number */
            return -1;
    }
    int result = reals_of_sequence(object, what, out);
    if (result != 0)
        ext_reals_reset(out);
    return result;
}

int ext_codes_from(PyObject *object, const char *what, ext_codes *out) {
    ext_reals reals;
    *out = (ext_codes){NULL, 0};
    if (ext_reals_from(object, what, &reals) != 0)
        return -1;
    out->values = ext_zeroed(reals.count, sizeof *out->values);
    out->count = reals.count;
    for (size_t i = 0; out->values != NULL && i < reals.count; i++) {
        bool fits = reals.values[i] >= INT32_MIN && reals.values[i] <= INT32_MAX;
        out->values[i] = fits ? (int32_t)reals.values[i] : -1;
    }
    ext_reals_reset(&reals);
    return out->values != NULL ? 0 : -1;
}

int ext_reals_skip(ext_reals *reals, PyObject *codes) {
    ext_codes skip;
    if (codes == NULL || codes == Py_None)
        return 0;
    if (ext_codes_from(codes, "skip", &skip) != 0)
        return -1;
    int result = ext_same_length(reals->count, skip.count, "skip");
    for (size_t i = 0; result == 0 && i < skip.count; i++)
        if (skip.values[i] >= 0)
            reals->values[i] = NAN;
    ext_codes_reset(&skip);
    return result;
}

void ext_reals_reset(ext_reals *reals) {
    roast_free(reals->values);
    *reals = (ext_reals){NULL, 0};
}

void ext_codes_reset(ext_codes *codes) {
    roast_free(codes->values);
    *codes = (ext_codes){NULL, 0};
}

/* ---- out ---- */

static PyObject *view_of(const void *values, size_t bytes, const char *format) {
    PyObject *copy = PyBytes_FromStringAndSize(values, (Py_ssize_t)bytes);
    PyObject *view = copy != NULL ? PyMemoryView_FromObject(copy) : NULL;
    PyObject *cast = view != NULL ? PyObject_CallMethod(view, "cast", "s", format) : NULL;
    Py_XDECREF(copy);
    Py_XDECREF(view);
    return cast;
}

PyObject *ext_reals_view(const double *values, size_t count) {
    return view_of(values, count * sizeof *values, "d");
}

PyObject *ext_codes_view(const int32_t *values, size_t count) {
    return view_of(values, count * sizeof *values, "i");
}

PyObject *ext_counts_view(const uint64_t *values, size_t count) {
    return view_of(values, count * sizeof *values, "Q");
}
