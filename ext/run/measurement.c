/* Measurements on disk: saving and loading a Run; and a measurement that is written while a run goes on. */
#include "run/measurement.h"

#include "common/errors.h"
#include "common/values.h"
#include "run/run.h"

#include "roast/legacy.h"
#include "roast/measurement.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define EXTRAS_BLOB "extras"

/* A missing file is a FileNotFoundError, which names it. */
static PyObject *raise_store(const roast_error *err) {
    if (err->status != ROAST_ENOTFOUND)
        return ext_raise(err);
    PyObject *args =
        Py_BuildValue("(is)", err->os_errno != 0 ? err->os_errno : ENOENT, err->message);
    if (args != NULL)
        PyErr_SetObject(PyExc_FileNotFoundError, args);
    Py_XDECREF(args);
    return NULL;
}

/* ---- saving ---- */

/* The input of a save; the buffers and the path are held until it is reset. */
typedef struct save_input {
    run_input *input;
    roast_measured from; /* the run, and what was computed from it */
    roast_run *noted;    /* a view of the run with more notes, or NULL */
    PyObject *path;      /* bytes */
    Py_buffer config, extras;
    PyObject *own_list;    /* the tuples that `own` points into */
    roast_own_metric *own; /* of the user */
    roast_measurement *measurement;
    roast_store_blob_in blobs[8]; /* those of the measurement, and ours */
    roast_store_options options;
} save_input;

static void reset_save(save_input *save) {
    roast_measurement_free(save->measurement);
    roast_run_free(save->noted);
    if (save->config.obj != NULL)
        PyBuffer_Release(&save->config);
    if (save->extras.obj != NULL)
        PyBuffer_Release(&save->extras);
    roast_free(save->own);
    Py_XDECREF(save->own_list);
    Py_XDECREF(save->path);
}

static int take_buffer(PyObject *object, Py_buffer *out) {
    return object == NULL || object == Py_None ? 0 : PyObject_GetBuffer(object, out, PyBUF_SIMPLE);
}

static int take_run(PyObject *module, PyObject *object, save_input *save) {
    save->input = ext_run_input(ext_state_of_module(module), object);
    if (save->input != NULL) {
        save->from.run = save->input->run;
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "a Run is expected, not %s", Py_TYPE(object)->tp_name);
    return -1;
}

/* Notes in addition to those of the run. */
static int take_notes(PyObject *notes, save_input *save) {
    roast_error err;
    PyObject *list = notes != NULL && notes != Py_None ? PySequence_List(notes) : PyList_New(0);
    int result = list != NULL ? 0 : -1;
    if (result == 0 && PyList_GET_SIZE(list) > 0) {
        if (roast_run_new_view(save->from.run, &save->noted, &err) == ROAST_OK)
            result = ext_add_notes(save->noted, list);
        else
            result = (ext_raise(&err), -1);
        save->from.run = save->noted;
    }
    Py_XDECREF(list);
    return result;
}

/* The Run keeps what is computed here. Findings tell of notes: of a run with more notes they are others. */
static int take_computed(save_input *save) {
    save->from.metrics = run_input_metrics(save->input);
    if (save->from.metrics != NULL && save->noted == NULL)
        save->from.findings = run_input_findings(save->input);
    return save->from.metrics == NULL || (save->noted == NULL && save->from.findings == NULL) ? -1
                                                                                              : 0;
}

/* [(name, value as JSON), ...], all of them bytes. */
static int take_own(PyObject *own, save_input *save) {
    if (own == NULL || own == Py_None)
        return 0;
    save->own_list = PySequence_List(own);
    if (save->own_list == NULL)
        return -1;
    Py_ssize_t count = PyList_GET_SIZE(save->own_list);
    save->own = roast_alloc(((size_t)count + 1) * sizeof *save->own);
    if (save->own == NULL)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *pair = PyList_GET_ITEM(save->own_list, i);
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2 ||
            !PyBytes_Check(PyTuple_GET_ITEM(pair, 0)) ||
            !PyBytes_Check(PyTuple_GET_ITEM(pair, 1))) {
            PyErr_SetString(PyExc_TypeError, "own: pairs of bytes are expected");
            return -1;
        }
        PyObject *name = PyTuple_GET_ITEM(pair, 0), *json = PyTuple_GET_ITEM(pair, 1);
        save->own[i] =
            (roast_own_metric){{PyBytes_AS_STRING(name), (size_t)PyBytes_GET_SIZE(name)},
                               {PyBytes_AS_STRING(json), (size_t)PyBytes_GET_SIZE(json)}};
    }
    save->from.own = save->own;
    save->from.n_own = (size_t)count;
    return 0;
}

/* What is saved in addition to the run, as the caller gave it. */
typedef struct additions {
    PyObject *config, *extras, *notes, *own;
} additions;

static int take_additions(const additions *more, save_input *save) {
    return take_buffer(more->config, &save->config) != 0 ||
                   take_buffer(more->extras, &save->extras) != 0 ||
                   take_notes(more->notes, save) != 0 || take_own(more->own, save) != 0
               ? -1
               : take_computed(save);
}

/* Without the GIL: a Run does not change. */
static roast_status make_files(save_input *save, roast_error *err) {
    roast_str config = {save->config.buf, (size_t)save->config.len};
    if (save->config.obj == NULL)
        config = (roast_str){NULL, 0};
    ROAST_TRY(roast_measurement_new(&save->from, config, roast_utc_now(), &save->measurement, err));
    roast_measurement_fill(save->measurement, &save->options);
    if (save->extras.obj == NULL)
        return ROAST_OK;
    uint32_t count = save->options.n_blobs;
    if (count >= sizeof save->blobs / sizeof *save->blobs)
        return roast_error_set(err, ROAST_ELIMIT, "measurement", -1, "too many blobs");
    memcpy(save->blobs, save->options.blobs, count * sizeof *save->blobs);
    save->blobs[count++] =
        (roast_store_blob_in){EXTRAS_BLOB, save->extras.buf, (size_t)save->extras.len};
    save->options.blobs = save->blobs;
    save->options.n_blobs = count;
    return ROAST_OK;
}

PyObject *ext_save_measurement(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"run",    "path",  "overwrite", "config",
                               "extras", "notes", "own",       NULL};
    save_input save = {.noted = NULL};
    additions more = {NULL};
    PyObject *run;
    int overwrite = 1;
    roast_error err;
    roast_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO&|$pOOOO:save_measurement", keywords, &run,
                                     PyUnicode_FSConverter, &save.path, &overwrite, &more.config,
                                     &more.extras, &more.notes, &more.own))
        return NULL;
    if (take_run(module, run, &save) != 0 || take_additions(&more, &save) != 0) {
        reset_save(&save);
        return NULL;
    }
    save.options.path = PyBytes_AS_STRING(save.path);
    save.options.overwrite = overwrite != 0;
    Py_BEGIN_ALLOW_THREADS status = make_files(&save, &err);
    if (status == ROAST_OK)
        status = roast_store_save(save.from.run, &save.options, &err);
    Py_END_ALLOW_THREADS reset_save(&save);
    return status == ROAST_OK ? Py_NewRef(Py_None) : raise_store(&err);
}

/* ---- loading ---- */

/* Adds name -> bytes. */
static int put_bytes(PyObject *parts, const char *name, const char *data, size_t len) {
    return ext_put(parts, name, PyBytes_FromStringAndSize(data, (Py_ssize_t)len));
}

static int put_file(PyObject *parts, roast_store *store, const char *name) {
    roast_error err;
    char *bytes;
    size_t len;
    roast_status status = roast_store_read_file(store, name, &bytes, &len, &err);
    if (status == ROAST_ENOTFOUND)
        return 0;
    if (status != ROAST_OK) {
        raise_store(&err);
        return -1;
    }
    int result = put_bytes(parts, name, bytes, len);
    roast_free(bytes);
    return result;
}

static int put_extras(PyObject *parts, roast_store *store) {
    roast_error err;
    roast_str blob;
    roast_status status = roast_store_blob(store, EXTRAS_BLOB, &blob, &err);
    if (status == ROAST_OK)
        return put_bytes(parts, EXTRAS_BLOB, blob.data, blob.len);
    if (status == ROAST_ENOTFOUND)
        return 0;
    raise_store(&err);
    return -1;
}

static PyObject *parts_of(roast_store *store) {
    PyObject *parts = PyDict_New();
    if (parts != NULL &&
        (put_extras(parts, store) != 0 || put_file(parts, store, "config.json") != 0 ||
         put_file(parts, store, "metadata.json") != 0))
        Py_CLEAR(parts);
    return parts;
}

static const char *state_word(roast_store_state state) {
    switch (state) {
    case ROAST_STORE_LIVE:
        return "live";
    case ROAST_STORE_UNFINISHED:
        return "unfinished";
    case ROAST_STORE_FINISHED:
        break;
    }
    return "finished";
}

/* What was saved with the run need not be computed again. */
static void take_saved(ext_state *state, PyObject *run, roast_store *store) {
    run_input *input = ext_run_input(state, run);
    if (roast_measurement_saved_metrics(store, false, &input->metrics, NULL) != ROAST_OK)
        input->metrics = NULL;
    if (roast_measurement_saved_findings(store, &input->findings, NULL) != ROAST_OK)
        input->findings = NULL;
}

PyObject *ext_load_measurement(PyObject *module, PyObject *path) {
    PyObject *name;
    roast_store *store = NULL;
    roast_run *run = NULL;
    roast_error err;
    roast_status status;
    if (!PyUnicode_FSConverter(path, &name))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = roast_store_open(PyBytes_AS_STRING(name), &store, &err);
    if (status == ROAST_OK)
        status = roast_store_take_run(store, &run, &err);
    Py_END_ALLOW_THREADS Py_DECREF(name);
    if (status != ROAST_OK) {
        roast_store_close(store);
        return raise_store(&err);
    }
    PyObject *loaded = ext_run_new(ext_state_of_module(module), run);
    PyObject *parts = loaded != NULL ? parts_of(store) : NULL;
    if (parts != NULL)
        take_saved(ext_state_of_module(module), loaded, store);
    const char *state = state_word(roast_store_get_state(store));
    roast_store_close(store);
    if (parts == NULL) {
        Py_XDECREF(loaded);
        return NULL;
    }
    return Py_BuildValue("(NNs)", loaded, parts, state);
}

PyObject *ext_load_news(PyObject *module, PyObject *args) {
    PyObject *name;
    long long given;
    roast_store *store = NULL;
    roast_run *run = NULL;
    roast_error err;
    roast_status status;
    if (!PyArg_ParseTuple(args, "O&L:load_news", PyUnicode_FSConverter, &name, &given))
        return NULL;
    int64_t after = given;
    Py_BEGIN_ALLOW_THREADS status = roast_store_open(PyBytes_AS_STRING(name), &store, &err);
    if (status == ROAST_OK)
        status = roast_store_take_news(store, &after, &run, &err);
    Py_END_ALLOW_THREADS Py_DECREF(name);
    const char *state = status == ROAST_OK ? state_word(roast_store_get_state(store)) : NULL;
    roast_store_close(store);
    if (status != ROAST_OK)
        return raise_store(&err);
    return Py_BuildValue("(NsL)", ext_run_new(ext_state_of_module(module), run), state,
                         (long long)after);
}

/* ---- measurements of 0.1.x: the Run, and the texts of the files ---- */

/* Takes the run over. An absent text is None. */
static PyObject *legacy_answer(ext_state *state, roast_run *run, const roast_legacy_texts *texts) {
    double start = 0, end = 0;
    PyObject *object = ext_run_new(state, run);
    if (object == NULL)
        return NULL;
    roast_legacy_times(texts->times, &start, &end); /* they were checked with the run */
    return Py_BuildValue("(Ny#y#(dd))", object, texts->metrics.data, (Py_ssize_t)texts->metrics.len,
                         texts->config.data, (Py_ssize_t)texts->config.len, start, end);
}

PyObject *ext_load_legacy(PyObject *module, PyObject *path) {
    PyObject *name;
    roast_legacy_files *files = NULL;
    roast_legacy_texts texts = {.folder = NULL};
    roast_run *run = NULL;
    roast_error err;
    roast_status status;
    if (!PyUnicode_FSConverter(path, &name))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = roast_legacy_files_read(PyBytes_AS_STRING(name), &files, &err);
    if (status == ROAST_OK) {
        texts = roast_legacy_files_texts(files);
        status = roast_legacy_decode(&texts, &run, &err);
    }
    Py_END_ALLOW_THREADS Py_DECREF(name);
    PyObject *result = status == ROAST_OK ? legacy_answer(ext_state_of_module(module), run, &texts)
                                          : raise_store(&err);
    roast_legacy_files_free(files);
    return result;
}

/* ---- names ---- */

PyObject *ext_measurement_kind(PyObject *module, PyObject *path) {
    (void)module;
    PyObject *name;
    if (!PyUnicode_FSConverter(path, &name))
        return NULL;
    roast_store_kind kind = roast_store_is_measurement(PyBytes_AS_STRING(name));
    Py_DECREF(name);
    switch (kind) {
    case ROAST_STORE_OURS:
        return PyUnicode_FromString("ours");
    case ROAST_STORE_LEGACY:
        return PyUnicode_FromString("legacy");
    default:
        Py_RETURN_NONE;
    }
}

PyObject *ext_new_measurement_name(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *folder;
    double when;
    char name[64];
    if (!PyArg_ParseTuple(args, "O&d:new_measurement_name", PyUnicode_FSConverter, &folder, &when))
        return NULL;
    if (!(fabs(when) < 9e9)) { /* in nanoseconds it must fit */
        Py_DECREF(folder);
        PyErr_SetString(PyExc_ValueError, "new_measurement_name: no point in time");
        return NULL;
    }
    roast_utc moment = {(int64_t)(when * 1e9)};
    size_t len = roast_store_new_name(PyBytes_AS_STRING(folder), moment, name, sizeof name);
    Py_DECREF(folder);
    return PyUnicode_FromStringAndSize(name,
                                       (Py_ssize_t)(len < sizeof name ? len : sizeof name - 1));
}

/* ---- LiveMeasurement ---- */

typedef struct live_object {
    PyObject_HEAD
    roast_store_live *live; /* NULL: it has ended */
    bool appended;          /* whether it has contents */
} live_object;

static PyObject *live_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"path", "overwrite", NULL};
    PyObject *path;
    int overwrite = 1;
    roast_store_live *live = NULL;
    roast_error err;
    roast_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$p:LiveMeasurement", keywords,
                                     PyUnicode_FSConverter, &path, &overwrite))
        return NULL;
    roast_store_options options = {.path = PyBytes_AS_STRING(path), .overwrite = overwrite != 0};
    Py_BEGIN_ALLOW_THREADS status = roast_store_live_begin(&options, &live, &err);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (status != ROAST_OK)
        return raise_store(&err);
    live_object *self = (live_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        roast_store_live_abandon(live);
    else
        self->live = live;
    return (PyObject *)self;
}

static void live_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    live_object *self = (live_object *)op;
    if (self->appended)
        roast_store_live_close(self->live);
    else /* an interrupt before anybody had the object, for instance */
        roast_store_live_abandon(self->live);
    type->tp_free(op);
    Py_DECREF(type);
}

/* Takes the writer while it is used without the GIL: another thread finds none. */
static roast_store_live *take_live(PyObject *op) {
    live_object *self = (live_object *)op;
    roast_store_live *live = self->live;
    self->live = NULL;
    if (live == NULL)
        PyErr_SetString(PyExc_RuntimeError, "the measurement has ended, or is in use");
    return live;
}

static PyObject *live_append(PyObject *op, PyObject *object) {
    save_input save = {.noted = NULL};
    roast_error err;
    roast_status status;
    if (take_run(PyType_GetModule(Py_TYPE(op)), object, &save) != 0)
        return NULL;
    roast_store_live *live = take_live(op);
    if (live == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = roast_store_live_append(live, save.from.run, &err);
    Py_END_ALLOW_THREADS((live_object *)op)->live = live;
    if (status != ROAST_OK)
        return raise_store(&err);
    ((live_object *)op)->appended = true;
    Py_RETURN_NONE;
}

static PyObject *live_finish(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"run", "config", "extras", "notes", "own", NULL};
    save_input save = {.noted = NULL};
    additions more = {NULL};
    PyObject *run;
    roast_error err;
    roast_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOOO:finish", keywords, &run, &more.config,
                                     &more.extras, &more.notes, &more.own) ||
        take_run(PyType_GetModule(Py_TYPE(op)), run, &save) != 0)
        return NULL;
    roast_store_live *live = NULL;
    if (take_additions(&more, &save) == 0)
        live = take_live(op);
    if (live == NULL) {
        reset_save(&save);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = make_files(&save, &err);
    if (status == ROAST_OK)
        status = roast_store_live_finish(live, save.from.run, &save.options, &err);
    Py_END_ALLOW_THREADS reset_save(&save);
    if (status == ROAST_OK)
        Py_RETURN_NONE;
    ((live_object *)op)->live = live;
    return raise_store(&err);
}

static PyObject *live_close(PyObject *op, PyObject *unused) {
    (void)unused;
    roast_store_live *live = take_live(op);
    if (live == NULL)
        return NULL;
    roast_store_live_close(live);
    Py_RETURN_NONE;
}

static PyObject *live_abandon(PyObject *op, PyObject *unused) {
    (void)unused;
    roast_store_live *live = take_live(op);
    if (live == NULL)
        return NULL;
    roast_store_live_abandon(live);
    Py_RETURN_NONE;
}

static PyMethodDef live_methods[] = {
    {"append", live_append, METH_O, "append($self, run, /)\n--\n\nAppends the contents of a Run."},
    {"finish", (PyCFunction)(void (*)(void))live_finish, METH_VARARGS | METH_KEYWORDS,
     "finish($self, run, *, config=None, extras=None, notes=None, own=None)\n--\n\nReplaces it by "
     "the whole run. If that fails, it is as it was."},
    {"close", live_close, METH_NOARGS, "close($self)\n--\n\nKeeps what was appended."},
    {"abandon", live_abandon, METH_NOARGS, "abandon($self)\n--\n\nRemoves it."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot live_slots[] = {
    {Py_tp_doc,
     (void *)"LiveMeasurement(path, *, overwrite=True)\n--\n\n"
             "A measurement that is written while the run goes on: it can be read at any "
             "time, and is kept if its writer is killed. One that goes with nothing in it is "
             "removed."},
    {Py_tp_new, live_new},
    {Py_tp_dealloc, live_dealloc},
    {Py_tp_methods, live_methods},
    {0, NULL},
};

PyType_Spec ext_spec_live_measurement = {"roastcoffea._core.LiveMeasurement", sizeof(live_object),
                                         0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                         live_slots};
