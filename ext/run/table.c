/* Table: one table of a run as columns, for numpy and for readers of Arrow; and Column, the memory of one of them.
 *
 * Nothing here refers to the run: a view keeps the columns alive, and only them. */
#include "run/table.h"

#include "run/arrow.h"
#include "common/errors.h"
#include "common/values.h"

#include "roast/text.h"

#include <string.h>

/* ---- Column: the buffer of numpy and memoryview ---- */

typedef struct column_object {
    PyObject_HEAD
    roast_columns *columns; /* one owner of it */
    const void *data;
    const char *format; /* as the struct module writes it */
    Py_ssize_t rows, width;
} column_object;

/* "l" is what numpy calls int64; "q" would be its longlong. */
static const char int64_format[] = {sizeof(long) == sizeof(int64_t) ? 'l' : 'q', '\0'};

static PyObject *new_column(ext_state *state, roast_columns *columns, const void *data,
                            const char *format, size_t width) {
    PyTypeObject *type = state->type_column;
    column_object *self = (column_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->columns = roast_columns_share(columns);
    self->data = data;
    self->format = format;
    self->rows = (Py_ssize_t)roast_columns_rows(columns);
    self->width = (Py_ssize_t)width;
    return (PyObject *)self;
}

static void column_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    roast_columns_free(((column_object *)op)->columns);
    type->tp_free(op);
    Py_DECREF(type);
}

static int column_getbuffer(PyObject *op, Py_buffer *view, int flags) {
    column_object *self = (column_object *)op;
    if (flags & PyBUF_WRITABLE) {
        view->obj = NULL;
        PyErr_SetString(PyExc_BufferError, "what was measured cannot be written to");
        return -1;
    }
    *view = (Py_buffer){
        .buf = (void *)self->data, /* readonly says that nobody writes through it */
        .obj = Py_NewRef(op),
        .len = self->rows * self->width,
        .itemsize = self->width,
        .readonly = 1,
        .ndim = 1,
        .format = flags & PyBUF_FORMAT ? (char *)self->format : NULL,
        .shape = flags & PyBUF_ND ? &self->rows : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &self->width : NULL,
    };
    return 0;
}

static Py_ssize_t column_length(PyObject *op) {
    return ((column_object *)op)->rows;
}

static PyType_Slot column_slots[] = {
    {Py_tp_doc, (void *)"The memory of one column of a table: what an array of numpy's or a "
                        "memoryview looks into."},
    {Py_tp_dealloc, column_dealloc},
    {Py_bf_getbuffer, column_getbuffer},
    {Py_sq_length, column_length},
    {0, NULL},
};

PyType_Spec ext_spec_column = {"roastcoffea._core.Column", sizeof(column_object), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                   Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               column_slots};

/* ---- Table ---- */

typedef struct table_object {
    PyObject_HEAD
    roast_columns *columns;
    PyObject *texts; /* {name: array of str}, each made when it is asked for */
} table_object;

static ext_state *state_of(PyObject *op) {
    return ext_state_of_final(Py_TYPE(op));
}

static const char *table_name(const table_object *self) {
    return roast_table_name(roast_columns_table(self->columns));
}

PyObject *ext_table_new(ext_state *state, roast_columns *columns) {
    PyTypeObject *type = state->type_table;
    table_object *self = (table_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        roast_columns_free(columns);
        return NULL;
    }
    self->columns = columns;
    self->texts = PyDict_New();
    if (self->texts == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void table_dealloc(PyObject *op) {
    table_object *self = (table_object *)op;
    PyTypeObject *type = Py_TYPE(op);
    roast_columns_free(self->columns);
    Py_XDECREF(self->texts);
    type->tp_free(op);
    Py_DECREF(type);
}

/* ---- finding a column ---- */

/* KeyError, with the name that was perhaps meant. */
static const roast_column *no_column(const table_object *self, roast_str name) {
    roast_nearest nearest;
    roast_nearest_init(&nearest, name);
    for (uint32_t i = 0; i < roast_columns_count(self->columns); i++)
        roast_nearest_offer(&nearest, roast_str_of(roast_columns_at(self->columns, i)->name));
    PyObject *text = ext_text_or_null(name);
    if (text != NULL && nearest.found.data != NULL)
        PyErr_Format(PyExc_KeyError, "the table of %s has no column %R; is it '%s'?",
                     table_name(self), text, nearest.found.data);
    else if (text != NULL)
        PyErr_Format(PyExc_KeyError, "the table of %s has no column %R", table_name(self), text);
    Py_XDECREF(text);
    return NULL;
}

/* "dataset.code" is the column of texts "dataset" by their numbers. NULL with an exception set. */
static const roast_column *find_column(const table_object *self, PyObject *name, bool *codes) {
    static const char suffix[] = ".code";
    const size_t suffix_len = sizeof suffix - 1;
    Py_ssize_t len;
    const char *text = NULL;
    if (PyUnicode_Check(name))
        text = PyUnicode_AsUTF8AndSize(name, &len);
    else
        PyErr_Format(PyExc_TypeError, "the name of a column is a str, not %s",
                     Py_TYPE(name)->tp_name);
    if (text == NULL)
        return NULL;
    roast_str wanted = {text, (size_t)len};
    *codes =
        wanted.len > suffix_len && memcmp(text + wanted.len - suffix_len, suffix, suffix_len) == 0;
    if (*codes)
        wanted.len -= suffix_len;
    const roast_column *column = roast_columns_find(self->columns, wanted);
    if (column == NULL)
        return no_column(self, wanted);
    if (*codes && column->cell != ROAST_CELL_TEXT) {
        PyErr_Format(PyExc_KeyError, "'%s' of the table of %s holds numbers: it has no codes",
                     column->name, table_name(self));
        return NULL;
    }
    return column;
}

/* ---- as arrays ---- */

/* *numpy: the module, or NULL where it is not installed. 0 or -1 with an exception set. */
static int find_numpy(PyObject **numpy) {
    *numpy = PyImport_ImportModule("numpy");
    if (*numpy != NULL)
        return 0;
    if (!PyErr_ExceptionMatches(PyExc_ImportError))
        return -1;
    PyErr_Clear(); /* the ImportError */
    return 0;
}

/* Takes the reference to the column. */
static PyObject *array_of(PyObject *column) {
    PyObject *numpy, *array = NULL;
    if (column == NULL)
        return NULL;
    if (find_numpy(&numpy) == 0)
        array = numpy != NULL ? PyObject_CallMethod(numpy, "asarray", "O", column)
                              : PyMemoryView_FromObject(column);
    Py_XDECREF(numpy);
    Py_DECREF(column);
    return array;
}

/* The numbers of a column, or of its texts; as reals where one is absent. */
static PyObject *numbers_of(PyObject *op, const roast_column *column) {
    roast_columns *columns = ((table_object *)op)->columns;
    const void *data = column->values;
    const char *format = column->cell == ROAST_CELL_TEXT ? "i" : int64_format;
    size_t width = column->cell == ROAST_CELL_TEXT ? sizeof(int32_t) : sizeof(int64_t);
    if (column->cell == ROAST_CELL_REAL ||
        (column->cell != ROAST_CELL_TEXT && column->absent > 0)) {
        const double *reals;
        roast_error err;
        if (roast_columns_reals(columns, column, &reals, &err) != ROAST_OK)
            return ext_raise(&err);
        data = reals;
        format = "d";
    }
    return array_of(new_column(state_of(op), columns, data, format, width));
}

/* ---- texts ---- */

static PyObject *category_at(const void *column, uint32_t index) {
    return ext_text(roast_column_text(column, index));
}

/* The texts of a column, each once. */
static PyObject *category_list(const roast_column *column) {
    return ext_list(column, column->texts.count, category_at);
}

/* A str or None per row. */
static PyObject *text_list(const roast_column *column, uint64_t rows) {
    const int32_t *codes = column->values;
    PyObject *categories = category_list(column);
    PyObject *list = categories != NULL ? PyList_New((Py_ssize_t)rows) : NULL;
    for (Py_ssize_t row = 0; list != NULL && row < (Py_ssize_t)rows; row++) {
        PyObject *text = codes[row] >= 0 ? PyList_GET_ITEM(categories, codes[row]) : Py_None;
        PyList_SET_ITEM(list, row, Py_NewRef(text));
    }
    Py_XDECREF(categories);
    return list;
}

/* A read-only array of objects, as it is shared by all callers. */
static PyObject *object_array(PyObject *numpy, PyObject *list) {
    PyObject *array = PyObject_CallMethod(numpy, "array", "OO", list, &PyBaseObject_Type);
    PyObject *done = array != NULL ? PyObject_CallMethod(array, "setflags", "O", Py_False) : NULL;
    if (done == NULL)
        Py_CLEAR(array);
    Py_XDECREF(done);
    return array;
}

static PyObject *new_texts(const table_object *self, const roast_column *column) {
    PyObject *numpy, *texts = NULL;
    PyObject *list = text_list(column, roast_columns_rows(self->columns));
    if (list == NULL)
        return NULL;
    if (find_numpy(&numpy) == 0)
        texts = numpy != NULL ? object_array(numpy, list) : PyList_AsTuple(list);
    Py_XDECREF(numpy);
    Py_DECREF(list);
    return texts;
}

static PyObject *texts_of(const table_object *self, const roast_column *column, PyObject *name) {
    PyObject *texts = PyDict_GetItemWithError(self->texts, name);
    if (texts != NULL || PyErr_Occurred())
        return Py_XNewRef(texts);
    texts = new_texts(self, column);
    if (texts != NULL && PyDict_SetItem(self->texts, name, texts) != 0)
        Py_CLEAR(texts);
    return texts;
}

/* ---- methods ---- */

static PyObject *table_column(PyObject *op, PyObject *name) {
    bool codes;
    const roast_column *column = find_column((table_object *)op, name, &codes);
    if (column == NULL)
        return NULL;
    return codes || column->cell != ROAST_CELL_TEXT ? numbers_of(op, column)
                                                    : texts_of((table_object *)op, column, name);
}

static PyObject *table_categories(PyObject *op, PyObject *name) {
    bool codes;
    const roast_column *column = find_column((table_object *)op, name, &codes);
    if (column == NULL)
        return NULL;
    if (column->cell == ROAST_CELL_TEXT)
        return category_list(column);
    PyErr_Format(PyExc_KeyError, "'%s' of the table of %s holds numbers: it has no categories",
                 column->name, table_name((table_object *)op));
    return NULL;
}

static PyObject *table_arrow_schema(PyObject *op, PyObject *unused) {
    (void)unused;
    return ext_arrow_schema(((table_object *)op)->columns);
}

static PyObject *table_arrow_stream(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"requested_schema", NULL};
    PyObject *requested = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:__arrow_c_stream__", keywords, &requested))
        return NULL;
    return ext_arrow_stream(((table_object *)op)->columns, requested);
}

static PyObject *name_at(const void *columns, uint32_t index) {
    return PyUnicode_FromString(roast_columns_at(columns, index)->name);
}

static PyObject *table_columns(PyObject *op, void *unused) {
    (void)unused;
    const roast_columns *columns = ((table_object *)op)->columns;
    PyObject *list = ext_list(columns, roast_columns_count(columns), name_at);
    PyObject *names = list != NULL ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return names;
}

static PyObject *table_nbytes(PyObject *op, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(roast_columns_memory(((table_object *)op)->columns));
}

static Py_ssize_t table_length(PyObject *op) {
    return (Py_ssize_t)roast_columns_rows(((table_object *)op)->columns);
}

/* ---- a few rows ---- */

static PyObject *cell_of(const roast_column *column, uint64_t row) {
    if (!roast_column_has(column, row))
        Py_RETURN_NONE;
    if (column->cell == ROAST_CELL_TEXT)
        return ext_text(roast_column_text(column, ((const int32_t *)column->values)[row]));
    if (column->cell == ROAST_CELL_REAL)
        return PyFloat_FromDouble(((const double *)column->values)[row]);
    return PyLong_FromLongLong(((const int64_t *)column->values)[row]);
}

static PyObject *row_of(const roast_columns *columns, uint64_t row) {
    uint32_t count = roast_columns_count(columns);
    PyObject *values = PyTuple_New(count);
    for (uint32_t i = 0; values != NULL && i < count; i++) {
        PyObject *value = cell_of(roast_columns_at(columns, i), row);
        if (value == NULL)
            Py_CLEAR(values);
        else
            PyTuple_SET_ITEM(values, i, value);
    }
    return values;
}

static PyObject *table_rows(PyObject *op, PyObject *args) {
    Py_ssize_t start, stop, length = table_length(op);
    if (!PyArg_ParseTuple(args, "nn:rows", &start, &stop))
        return NULL;
    PySlice_AdjustIndices(length, &start, &stop, 1);
    PyObject *rows = PyList_New(0);
    for (Py_ssize_t row = start; rows != NULL && row < stop; row++) {
        PyObject *values = row_of(((table_object *)op)->columns, (uint64_t)row);
        if (values == NULL || PyList_Append(rows, values) != 0)
            Py_CLEAR(rows);
        Py_XDECREF(values);
    }
    return rows;
}

static PyObject *table_repr(PyObject *op) {
    const table_object *self = (table_object *)op;
    PyObject *text = ext_import_table_text(state_of(op));
    return text == NULL ? NULL : PyObject_CallFunction(text, "Os", op, table_name(self));
}

static PyObject *table_html(PyObject *op, PyObject *unused) {
    (void)unused;
    PyObject *html = ext_import_table_html(state_of(op));
    return html == NULL ? NULL
                        : PyObject_CallFunction(html, "Os", op, table_name((table_object *)op));
}

/* ---- the type ---- */

static PyMethodDef table_methods[] = {
    {"column", table_column, METH_O,
     "column($self, name, /)\n--\n\n"
     "One column as a read-only numpy array that shares the engine's memory: float64 (NaN where a "
     "value is absent), int64 (float64 where one is absent); without numpy a memoryview. Texts are "
     "an array of str and None, made once; column('dataset.code') shares their numbers in "
     "categories('dataset'), -1 for None."},
    {"categories", table_categories, METH_O,
     "categories($self, name, /)\n--\n\nThe texts of a column, each once, in the order of their "
     "codes."},
    {"rows", table_rows, METH_VARARGS,
     "rows($self, start, stop, /)\n--\n\nThe rows from start to stop, as a slice counts them: a "
     "tuple of the values of all columns for each; None where a value is absent, nanoseconds since "
     "1970 for a moment."},
    {"_repr_html_", table_html, METH_NOARGS,
     "_repr_html_($self)\n--\n\nThe first and last rows, for a notebook."},
    {"__arrow_c_schema__", table_arrow_schema, METH_NOARGS,
     "__arrow_c_schema__($self)\n--\n\nThe columns and their types, as a capsule 'arrow_schema'."},
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))table_arrow_stream,
     METH_VARARGS | METH_KEYWORDS,
     "__arrow_c_stream__($self, requested_schema=None)\n--\n\n"
     "The table as a capsule 'arrow_array_stream' that shares the engine's memory."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef table_getset[] = {
    {"columns", table_columns, NULL, "The names of the columns.", NULL},
    {"nbytes", table_nbytes, NULL, "Bytes of memory that the columns take.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot table_slots[] = {
    {Py_tp_doc, (void *)"One table of a run as columns, for numpy and for readers of Arrow."},
    {Py_tp_dealloc, table_dealloc},
    {Py_tp_repr, table_repr},
    {Py_tp_methods, table_methods},
    {Py_tp_getset, table_getset},
    {Py_sq_length, table_length},
    {0, NULL},
};

PyType_Spec ext_spec_table = {
    "roastcoffea._core.Table", sizeof(table_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, table_slots};
