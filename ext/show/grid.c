#include "show/grid.h"

#include "common/errors.h"
#include "common/values.h"

#include "roast/grid.h"

static const char *const aligns[] = {[ROAST_ALIGN_LEFT] = "left",
                                     [ROAST_ALIGN_NAME] = "name",
                                     [ROAST_ALIGN_RIGHT] = "right",
                                     [ROAST_ALIGN_NUMBER] = "number"};

static int add_column(roast_grid *grid, PyObject *column) {
    const char *heading, *align;
    Py_ssize_t len;
    roast_error err;
    if (!PyTuple_Check(column)) {
        PyErr_SetString(PyExc_TypeError, "a column is (heading, align)");
        return -1;
    }
    if (!PyArg_ParseTuple(column, "s#s", &heading, &len, &align))
        return -1;
    for (int i = ROAST_ALIGN_LEFT; i <= ROAST_ALIGN_NUMBER; i++)
        if (strcmp(align, aligns[i]) == 0)
            return ext_raised(roast_grid_add_column(grid, (roast_str){heading, (size_t)len},
                                                    (roast_align)i, &err),
                              &err);
    PyErr_Format(PyExc_ValueError, "there is no align \"%s\"", align);
    return -1;
}

static int add_cell(roast_grid *grid, PyObject *cell) {
    roast_str text;
    roast_error err;
    PyObject *held = ext_utf8(cell, &text);
    if (held == NULL)
        return -1;
    int result = ext_raised(roast_grid_add_cell(grid, text, NULL, 0, &err), &err);
    Py_DECREF(held);
    return result;
}

static int add_row(roast_grid *grid, PyObject *row) {
    if (!PyTuple_Check(row) || (uint32_t)PyTuple_GET_SIZE(row) != roast_grid_column_count(grid)) {
        PyErr_SetString(PyExc_TypeError, "a row is a tuple with a text for each column");
        return -1;
    }
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(row); i++)
        result = add_cell(grid, PyTuple_GET_ITEM(row, i));
    return result;
}

static int each(roast_grid *grid, PyObject *list, int (*add)(roast_grid *grid, PyObject *one)) {
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(list); i++)
        result = add(grid, PyTuple_GET_ITEM(list, i));
    return result;
}

PyObject *ext_draw_table(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *title, *caption;
    Py_ssize_t title_len, caption_len;
    PyObject *columns, *rows;
    unsigned int width;
    int color;
    roast_grid *grid = NULL;
    roast_sink *sink = NULL;
    roast_error err;
    if (!PyArg_ParseTuple(args, "s#O!O!z#Ip:draw_table", &title, &title_len, &PyTuple_Type,
                          &columns, &PyTuple_Type, &rows, &caption, &caption_len, &width, &color))
        return NULL;
    int result =
        ext_raised(roast_grid_new("", (roast_str){title, (size_t)title_len}, &grid, &err), &err);
    if (result == 0)
        result = each(grid, columns, add_column);
    if (result == 0)
        result = each(grid, rows, add_row);
    if (result == 0 && caption != NULL)
        result = ext_raised(
            roast_grid_set_caption(grid, (roast_str){caption, (size_t)caption_len}, &err), &err);
    if (result == 0)
        result = ext_raised(roast_sink_new_memory(&sink, &err), &err);
    if (result == 0)
        roast_grid_draw(grid, width, color != 0, sink);
    roast_grid_free(grid);
    return result == 0 ? ext_sink_text(sink) : NULL;
}

PyObject *ext_wrap_text(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *given;
    unsigned int indent, width;
    roast_str text;
    roast_sink *sink;
    roast_error err;
    if (!PyArg_ParseTuple(args, "UII:wrap_text", &given, &indent, &width))
        return NULL;
    PyObject *held = ext_utf8(given, &text);
    if (held == NULL)
        return NULL;
    if (ext_raised(roast_sink_new_memory(&sink, &err), &err) != 0) {
        Py_DECREF(held);
        return NULL;
    }
    roast_text_put_wrapped(sink, text, indent, indent, width);
    Py_DECREF(held);
    return ext_sink_text(sink);
}
