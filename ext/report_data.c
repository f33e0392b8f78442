/* What the report shows beyond what the plots do: the largest groups of many rows, and outliers. */
#include "report_data.h"

#include "errors.h"
#include "plot_data.h"

#include "roast/outliers.h"
#include "roast/top.h"

#include <math.h>

enum { MAX_COLUMNS = 64 };

/* ---- the largest groups ---- */

typedef struct ratio {
    unsigned over, under;
} ratio;

typedef struct top_input {
    ext_codes codes;
    PyObject *skip; /* borrowed */
    ext_reals reals[MAX_COLUMNS];
    roast_top_column columns[MAX_COLUMNS];
    uint32_t n_columns;
    ratio ratios[MAX_COLUMNS];
    uint32_t n_ratios;
} top_input;

static void top_input_reset(top_input *input) {
    ext_codes_reset(&input->codes);
    for (uint32_t i = 0; i < MAX_COLUMNS; i++)
        ext_reals_reset(&input->reals[i]);
}

/* Room for one column more. */
static ext_reals *next_column(top_input *input) {
    if (input->n_columns < MAX_COLUMNS)
        return &input->reals[input->n_columns];
    PyErr_Format(PyExc_ValueError, "at most %d columns", MAX_COLUMNS - 1);
    return NULL;
}

/* Adds the arrays of a sequence, each with as many values as there are codes. */
static int add_columns(top_input *input, PyObject *arrays, roast_top_kind kind) {
    PyObject *list = PySequence_List(arrays);
    int result = list != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(list); i++) {
        ext_reals *reals = next_column(input);
        result =
            reals == NULL || ext_reals_from(PyList_GET_ITEM(list, i), "columns", reals) != 0 ||
                    ext_same_length(input->codes.count, reals->count, "codes and columns") != 0 ||
                    ext_reals_skip(reals, input->skip) != 0
                ? -1
                : 0;
        if (result == 0)
            input->columns[input->n_columns++] = (roast_top_column){reals->values, kind};
    }
    Py_XDECREF(list);
    return result;
}

/* The last column counts the rows that are skipped. */
static int add_skipped(top_input *input) {
    ext_codes skip = {NULL, 0};
    ext_reals *reals = next_column(input);
    if (reals == NULL || (reals->values = ext_zeroed(input->codes.count, sizeof(double))) == NULL)
        return -1;
    int result = 0;
    if (input->skip != NULL && input->skip != Py_None) {
        result = ext_codes_from(input->skip, "skip", &skip) != 0 ||
                         ext_same_length(input->codes.count, skip.count, "skip") != 0
                     ? -1
                     : 0;
        for (size_t i = 0; result == 0 && i < skip.count; i++)
            reals->values[i] = skip.values[i] >= 0;
    }
    ext_codes_reset(&skip);
    input->columns[input->n_columns++] = (roast_top_column){reals->values, ROAST_TOP_SUM};
    return result;
}

/* Pairs of numbers of columns. */
static int add_ratios(top_input *input, PyObject *pairs) {
    PyObject *list = PySequence_List(pairs);
    int result = list != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(list); i++) {
        ratio *pair = &input->ratios[input->n_ratios];
        if (input->n_ratios == MAX_COLUMNS) {
            PyErr_Format(PyExc_ValueError, "at most %d ratios", MAX_COLUMNS);
            result = -1;
        } else if (!PyTuple_Check(PyList_GET_ITEM(list, i))) {
            PyErr_SetString(PyExc_TypeError, "ratios: pairs of numbers of columns are expected");
            result = -1;
        } else if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "II;ratios: (over, under)",
                                     &pair->over, &pair->under)) {
            result = -1;
        } else {
            input->n_ratios++;
        }
    }
    Py_XDECREF(list);
    return result;
}

/* A figure of each place: a column, or a ratio where `of` is not NULL. */
static PyObject *top_column(const roast_top *top, uint32_t places, uint32_t column,
                            const ratio *of) {
    double *values = ext_zeroed(places, sizeof *values);
    PyObject *view = NULL;
    for (uint32_t place = 0; values != NULL && place < places; place++)
        values[place] = of != NULL ? roast_top_ratio(top, place, of->over, of->under)
                                   : roast_top_value(top, place, column);
    if (values != NULL)
        view = ext_reals_view(values, places);
    roast_free(values);
    return view;
}

/* The columns, then the ratios. */
static PyObject *top_columns(const roast_top *top, uint32_t places, const top_input *input) {
    uint32_t shown = input->n_columns - 1;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < shown + input->n_ratios; i++) {
        PyObject *view = top_column(top, places, i, i < shown ? NULL : &input->ratios[i - shown]);
        if (view == NULL || PyList_Append(list, view) != 0)
            Py_CLEAR(list);
        Py_XDECREF(view);
    }
    return list;
}

static PyObject *top_dict(const roast_top *top, const top_input *input) {
    uint32_t places = roast_top_count(top) + (roast_top_rest(top) > 0);
    int32_t *codes = ext_zeroed(places, sizeof *codes);
    uint64_t *rows = codes != NULL ? ext_zeroed(places, sizeof *rows) : NULL;
    PyObject *dict = rows != NULL ? PyDict_New() : NULL;
    for (uint32_t place = 0; dict != NULL && place < places; place++) {
        codes[place] = roast_top_code(top, place);
        rows[place] = roast_top_rows(top, place);
    }
    if (dict != NULL &&
        (ext_put_item(dict, "rest", PyLong_FromUnsignedLong(roast_top_rest(top))) != 0 ||
         ext_put_item(dict, "code", ext_codes_view(codes, places)) != 0 ||
         ext_put_item(dict, "rows", ext_counts_view(rows, places)) != 0 ||
         ext_put_item(dict, "skipped", top_column(top, places, input->n_columns - 1, NULL)) != 0 ||
         ext_put_item(dict, "columns", top_columns(top, places, input)) != 0))
        Py_CLEAR(dict);
    roast_free(codes);
    roast_free(rows);
    return dict;
}

static PyObject *top_of(const top_input *input, unsigned groups, unsigned order, unsigned limit) {
    roast_top *top;
    roast_error err;
    if (roast_top_new(input->codes.values, input->codes.count, groups, input->columns,
                      input->n_columns, order, limit, &top, &err) != ROAST_OK)
        return ext_raise(&err);
    PyObject *dict = top_dict(top, input);
    roast_top_free(top);
    return dict;
}

PyObject *ext_report_top(PyObject *module, PyObject *args, PyObject *kwargs) {
    (void)module;
    static char *keywords[] = {"codes", "groups", "sums",  "maxima", "ratios",
                               "skip",  "order",  "limit", NULL};
    PyObject *codes, *sums, *maxima = NULL, *ratios = NULL, *dict = NULL;
    unsigned groups, order = 0, limit = 200;
    top_input input = {0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OIO|OOOII:report_top", keywords, &codes,
                                     &groups, &sums, &maxima, &ratios, &input.skip, &order, &limit))
        return NULL;
    if (groups > EXT_MAX_OWNERS)
        PyErr_Format(PyExc_ValueError, "at most %d groups", EXT_MAX_OWNERS);
    else if (ext_codes_from(codes, "codes", &input.codes) == 0 &&
             add_columns(&input, sums, ROAST_TOP_SUM) == 0 &&
             (maxima == NULL || add_columns(&input, maxima, ROAST_TOP_MAX) == 0) &&
             (ratios == NULL || add_ratios(&input, ratios) == 0) && add_skipped(&input) == 0)
        dict = top_of(&input, groups, order, limit);
    top_input_reset(&input);
    return dict;
}

/* ---- outliers ---- */

static PyObject *outliers_dict(const roast_outlier *found, uint32_t count, uint64_t all) {
    int32_t *index = ext_zeroed(count, sizeof *index);
    double *expected = index != NULL ? ext_zeroed(count, sizeof *expected) : NULL;
    PyObject *dict = expected != NULL ? PyDict_New() : NULL;
    for (uint32_t i = 0; dict != NULL && i < count; i++) {
        index[i] = (int32_t)found[i].index;
        expected[i] = found[i].expected;
    }
    if (dict != NULL && (ext_put_item(dict, "n", PyLong_FromUnsignedLongLong(all)) != 0 ||
                         ext_put_item(dict, "index", ext_codes_view(index, count)) != 0 ||
                         ext_put_item(dict, "expected", ext_reals_view(expected, count)) != 0))
        Py_CLEAR(dict);
    roast_free(index);
    roast_free(expected);
    return dict;
}

static PyObject *outliers_of(const ext_reals *x, const ext_reals *y, double intercept, double slope,
                             unsigned limit) {
    roast_error err;
    uint32_t count;
    uint64_t all;
    roast_outlier *found = ext_zeroed(limit, sizeof *found);
    if (found == NULL)
        return NULL;
    roast_status status = roast_outliers_find(x->values, y->values, x->count, intercept, slope,
                                              limit, found, &count, &all, &err);
    PyObject *dict =
        status == ROAST_OK ? outliers_dict(found, count, all) : (PyObject *)ext_raise(&err);
    roast_free(found);
    return dict;
}

PyObject *ext_report_outliers(PyObject *module, PyObject *args, PyObject *kwargs) {
    (void)module;
    static char *keywords[] = {"x", "y", "intercept", "slope", "skip", "limit", NULL};
    PyObject *x_object, *y_object, *skip = NULL, *dict = NULL;
    double intercept, slope;
    unsigned limit = 20;
    ext_reals x = {NULL, 0}, y = {NULL, 0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOdd|OI:report_outliers", keywords, &x_object,
                                     &y_object, &intercept, &slope, &skip, &limit))
        return NULL;
    if (limit > 1000)
        PyErr_SetString(PyExc_ValueError, "limit: at most 1000");
    else if (ext_reals_from(x_object, "x", &x) == 0 && ext_reals_from(y_object, "y", &y) == 0 &&
             ext_same_length(x.count, y.count, "x and y") == 0 && ext_reals_skip(&x, skip) == 0) {
        if (x.count > INT32_MAX)
            PyErr_SetString(PyExc_ValueError, "too many points");
        else
            dict = outliers_of(&x, &y, intercept, slope, limit);
    }
    ext_reals_reset(&x);
    ext_reals_reset(&y);
    return dict;
}
