/* Attempts: every try of every task, and the workers that left. */
#include "records/attempts.h"

#include "common/errors.h"
#include "common/values.h"
#include "common/when.h"

#include <math.h>

/* ---- the part ---- */

static roast_status create(void **out, roast_error *err) {
    roast_attempts *attempts;
    ROAST_TRY(roast_attempts_new(&attempts, err));
    *out = attempts;
    return ROAST_OK;
}

/* Called before outcomes are read. Shared ones are settled already and do not change. */
static roast_status settle(const void *part, roast_error *err) {
    return roast_attempts_settle((roast_attempts *)(uintptr_t)part, err);
}

static roast_status encode(const void *part, roast_sink *sink, roast_error *err) {
    ROAST_TRY(settle(part, err));
    return roast_attempts_encode(part, sink, err);
}

static roast_status decode(const void *data, size_t len, void **out, roast_error *err) {
    roast_attempts *attempts;
    ROAST_TRY(roast_attempts_decode(data, len, &attempts, err));
    *out = attempts;
    return ROAST_OK;
}

static void free_part(void *part) {
    roast_attempts_free(part);
}

static const ext_part_kind kind_of_attempts = {create, encode, decode, free_part};

ext_shared *ext_attempts_hold(ext_state *state, PyObject *object) {
    roast_error err;
    if (Py_TYPE(object) != state->type_attempts)
        return NULL;
    if (settle(ext_part_get(object), &err) != ROAST_OK)
        return (ext_shared *)ext_raise(&err);
    return ext_shared_hold(((ext_part *)object)->shared);
}

ext_shared *ext_attempts_copy(const roast_attempts *attempts) {
    return ext_shared_copy(attempts, &kind_of_attempts);
}

PyObject *ext_attempts_of(ext_state *state, ext_shared *shared) {
    return ext_part_looking_at(state->type_attempts, shared);
}

PyObject *ext_attempts_new(ext_state *state, roast_attempts *attempts) {
    return ext_part_owning(state->type_attempts, attempts, &kind_of_attempts);
}

static PyObject *attempts_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    return ext_part_new(type, args, kwargs, &kind_of_attempts);
}

static PyObject *attempts_from_bytes(PyObject *type, PyObject *data) {
    return ext_part_from_bytes(type, data, &kind_of_attempts);
}

/* ---- looking ---- */

PyObject *ext_attempt_seconds(int64_t us) {
    return us != ROAST_NO_TIME ? PyFloat_FromDouble((double)us / 1e6) : Py_NewRef(Py_None);
}

PyObject *ext_attempt_exception(const roast_attempt *attempt) {
    PyObject *type = ext_text(attempt->error_type);
    if (type == NULL || attempt->error_type.data == NULL || attempt->error_message.len == 0)
        return type;
    PyObject *message = ext_text(attempt->error_message);
    PyObject *whole = message != NULL ? PyUnicode_FromFormat("%U: %U", type, message) : NULL;
    Py_DECREF(type);
    Py_XDECREF(message);
    return whole;
}

static PyObject *length_object(int64_t us) {
    return us >= 0 ? PyFloat_FromDouble((double)us / 1e6) : Py_NewRef(Py_None);
}

static PyObject *count_object(int64_t count) {
    return count >= 0 ? PyLong_FromLongLong(count) : Py_NewRef(Py_None);
}

static PyObject *record_of(const roast_attempts *attempts, const roast_attempt *attempt) {
    double wasted = roast_attempt_wasted_seconds(attempt);
    return Py_BuildValue(
        "{s:N,s:N,s:s,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:s,s:N,s:N,s:N}", /* in order */
        "key", ext_text(attempt->key),                                               //
        "prefix", ext_text(attempt->prefix),                                         //
        "kind", roast_attempt_kind_name(attempt->kind),                              //
        "worker", ext_text(roast_attempts_worker(attempts, attempt->worker)),        //
        "thread",
        attempt->thread != 0 ? PyLong_FromUnsignedLongLong(attempt->thread) : Py_NewRef(Py_None), //
        "ready", ext_attempt_seconds(attempt->ready_us),                                          //
        "sent", ext_attempt_seconds(attempt->sent_us),                                            //
        "start", ext_attempt_seconds(attempt->start_us),                                          //
        "stop", ext_attempt_seconds(attempt->stop_us),                                            //
        "ended", ext_attempt_seconds(attempt->ended_us),                                          //
        "transfer_seconds", length_object(attempt->transfer_us),                                  //
        "deserialize_seconds", length_object(attempt->deserialize_us),                            //
        "disk_seconds", length_object(attempt->disk_us),                                          //
        "nbytes", count_object(attempt->nbytes),                                                  //
        "outcome", roast_outcome_name(attempt->outcome),                                          //
        "exception", ext_attempt_exception(attempt),                                              //
        "wasted_seconds", isnan(wasted) ? Py_NewRef(Py_None) : PyFloat_FromDouble(wasted),        //
        "wasted_bytes", count_object(roast_attempt_wasted_bytes(attempt)));
}

/* One mapping per try from number `start` to `stop`; foreign ones only if asked for, and counted only then. */
static PyObject *attempts_records(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"foreign", "start", "stop", NULL};
    int foreign = 0;
    Py_ssize_t start = 0, stop = PY_SSIZE_T_MAX, number = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$pnn:records", keywords, &foreign, &start,
                                     &stop))
        return NULL;
    roast_error err;
    if (settle(ext_part_get(op), &err) != ROAST_OK)
        return ext_raise(&err);
    /* Held: making Python objects may run other code. */
    ext_shared *shared = ext_shared_hold(((ext_part *)op)->shared);
    const roast_attempts *attempts = shared->part;
    PyObject *list = PyList_New(0);
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    while (list != NULL && number + 1 < stop && roast_attempt_cursor_next(&cursor, &attempt)) {
        if ((attempt.kind == ROAST_KIND_foreign && !foreign) || ++number < start)
            continue;
        PyObject *record = record_of(attempts, &attempt);
        if (record == NULL || PyList_Append(list, record) != 0)
            Py_CLEAR(list);
        Py_XDECREF(record);
    }
    ext_shared_let_go(shared);
    return list;
}

static PyObject *departure_dict(const void *part, uint64_t index) {
    roast_departure departure = roast_attempts_departure(part, (uint32_t)index);
    return Py_BuildValue("{s:N,s:d,s:O,s:I,s:I}", "worker",
                         ext_text(roast_attempts_worker(part, departure.worker)), "when",
                         (double)departure.when.ns / 1e9, "expected",
                         departure.expected ? Py_True : Py_False, "running", departure.running,
                         "lost_results", departure.lost_results);
}

static uint64_t departure_count(const void *part) {
    return roast_attempts_departure_count(part);
}

static PyObject *attempts_departures(PyObject *op, void *unused) {
    (void)unused;
    return ext_part_list(op, departure_count, departure_dict);
}

static PyObject *worker_name(const void *part, uint64_t index) {
    return ext_text(roast_attempts_worker(part, (uint32_t)index));
}

static uint64_t worker_count(const void *part) {
    return roast_attempts_worker_count(part);
}

static PyObject *attempts_workers(PyObject *op, void *unused) {
    (void)unused;
    return ext_part_list(op, worker_count, worker_name);
}

static PyObject *attempts_nbytes(PyObject *op, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(roast_attempts_memory(ext_part_get(op)));
}

static Py_ssize_t attempts_length(PyObject *op) {
    return (Py_ssize_t)roast_attempts_count(ext_part_get(op));
}

static PyObject *attempts_repr(PyObject *op) {
    const roast_attempts *attempts = ext_part_get(op);
    return PyUnicode_FromFormat("<Attempts: %llu of tasks on %u workers, %u of which left>",
                                (unsigned long long)roast_attempts_count(attempts),
                                roast_attempts_worker_count(attempts),
                                roast_attempts_departure_count(attempts));
}

static PyObject *attempts_html(PyObject *op, PyObject *unused) {
    (void)unused;
    PyObject *html = ext_import_attempts_html(ext_state_of_final(Py_TYPE(op)));
    return html == NULL ? NULL : PyObject_CallOneArg(html, op);
}

/* ---- kinds ---- */

/* The number of a name among `count` names; -1 with a ValueError that lists them. */
static int one_of(const char *what, roast_str given, const char *const names[], int count) {
    for (int i = 0; i < count; i++)
        if (roast_str_equal(given, roast_str_of(names[i])))
            return i;
    PyObject *known = PyUnicode_FromString(names[0]);
    for (int i = 1; known != NULL && i < count; i++)
        Py_SETREF(known,
                  PyUnicode_FromFormat("%U%s%s", known, i + 1 < count ? ", " : " or ", names[i]));
    if (known != NULL)
        PyErr_Format(PyExc_ValueError, "%s: %U, not '%s'", what, known, given.data);
    Py_XDECREF(known);
    return -1;
}

static const char *const kind_names[] = {
#define X(name, words) words,
    ROAST_ATTEMPT_KINDS(X)
#undef X
};
static const char *const outcome_names[] = {
#define X(name, words) words,
    ROAST_OUTCOMES(X)
#undef X
};

static PyObject *attempts_set_kind(PyObject *op, PyObject *args) {
    const char *prefix, *name;
    Py_ssize_t len, name_len;
    roast_error err;
    if (!PyArg_ParseTuple(args, "s#s#:set_kind", &prefix, &len, &name, &name_len))
        return NULL;
    int kind = one_of("kind", (roast_str){name, (size_t)name_len}, kind_names, ROAST_KIND_foreign);
    if (kind < 0 || ext_part_make_own(op) != 0)
        return NULL;
    if (roast_attempts_set_kind(ext_part_get(op), (roast_str){prefix, (size_t)len},
                                (roast_attempt_kind)kind, &err) != ROAST_OK)
        return ext_raise(&err);
    Py_RETURN_NONE;
}

/* ---- single tries, from any engine ---- */

/* The arguments of add(), in the order in which they are parsed. */
#define ARGUMENTS(X)                                                                               \
    X(key)                                                                                         \
    X(kind)                                                                                        \
    X(worker)                                                                                      \
    X(outcome)                                                                                     \
    X(exception)                                                                                   \
    X(name)                                                                                        \
    X(thread)                                                                                      \
    X(departed)                                                                                    \
    X(ready)                                                                                       \
    X(sent)                                                                                        \
    X(start)                                                                                       \
    X(stop)                                                                                        \
    X(ended)                                                                                       \
    X(transfer_seconds)                                                                            \
    X(deserialize_seconds)                                                                         \
    X(disk_seconds)                                                                                \
    X(nbytes)
enum {
#define X(name) ARG_##name,
    ARGUMENTS(X)
#undef X
        ARGUMENT_COUNT
};
static char *add_keywords[] = {
#define X(name) #name,
    ARGUMENTS(X)
#undef X
        NULL};

/* A whole number from 0 to `most`; None, or what was not given, leaves *out as it is. 0 or -1 with an exception set. */
static int parse_count(PyObject *value, const char *what, uint64_t most, uint64_t *out) {
    if (ext_is_none(value))
        return 0;
    if (!PyLong_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: an int is expected, not %s", what,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    uint64_t number = PyLong_AsUnsignedLongLong(value);
    bool overflow = number == UINT64_MAX && PyErr_Occurred() != NULL;
    PyErr_Clear();
    if (overflow || number > most) {
        PyErr_Format(PyExc_ValueError, "%s: %R is out of range", what, value);
        return -1;
    }
    *out = number;
    return 0;
}

static int parse_moments(PyObject *const told[ARGUMENT_COUNT], roast_attempt *out) {
    int64_t *const moments[] = {&out->ready_us, &out->sent_us, &out->start_us, &out->stop_us,
                                &out->ended_us};
    for (int i = 0; i <= ARG_ended - ARG_ready; i++) {
        PyObject *value = told[ARG_ready + i];
        roast_utc when;
        *moments[i] = ROAST_NO_TIME;
        if (value == NULL || value == Py_None)
            continue;
        if (ext_when_parse(value, add_keywords[ARG_ready + i], &when) != 0)
            return -1;
        *moments[i] = when.ns / 1000;
    }
    if (out->start_us != ROAST_NO_TIME && out->stop_us != ROAST_NO_TIME &&
        out->stop_us < out->start_us) {
        PyErr_SetString(PyExc_ValueError, "stop: it is before start");
        return -1;
    }
    if (out->ended_us == ROAST_NO_TIME)
        out->ended_us = out->stop_us;
    return 0;
}

static int parse_amounts(PyObject *const told[ARGUMENT_COUNT], roast_attempt *out) {
    int64_t *const amounts[] = {&out->transfer_us, &out->deserialize_us, &out->disk_us,
                                &out->nbytes};
    for (int i = 0; i <= ARG_nbytes - ARG_transfer_seconds; i++) {
        const char *what = add_keywords[ARG_transfer_seconds + i];
        PyObject *value = told[ARG_transfer_seconds + i];
        double number;
        *amounts[i] = -1;
        if (value == NULL || value == Py_None)
            continue;
        if (ext_real(value, what, &number) != 0)
            return -1;
        if (!(number >= 0) ||
            !ext_to_steps(number, amounts[i] == &out->nbytes ? 1 : 1e6, amounts[i])) {
            PyErr_Format(PyExc_ValueError, "%s: %R is out of range", what, value);
            return -1;
        }
    }
    return parse_count(told[ARG_thread], "thread", UINT64_MAX, &out->thread);
}

/* The number of a name among `count` names; `usual` if none is given. -1 with an exception set, which lists them. */
static int parse_name(PyObject *const told[ARGUMENT_COUNT], int argument, const char *const names[],
                      int count, int usual) {
    roast_str text;
    if (told[argument] == NULL)
        return usual;
    return ext_part_text(told[argument], add_keywords[argument], &text) == 0
               ? one_of(add_keywords[argument], text, names, count)
               : -1;
}

/* None, or a missing argument, leaves *out unchanged. */
static int parse_text(PyObject *const told[ARGUMENT_COUNT], int argument, roast_str *out) {
    return told[argument] == NULL || told[argument] == Py_None
               ? 0
               : ext_part_text(told[argument], add_keywords[argument], out);
}

/* "ValueError: message", or the type alone. */
static void split_exception(roast_attempt *out) {
    roast_str text = out->error_type;
    const char *colon = text.data != NULL ? strstr(text.data, ": ") : NULL;
    if (colon == NULL)
        return;
    out->error_type.len = (size_t)(colon - text.data);
    out->error_message = (roast_str){colon + 2, text.len - out->error_type.len - 2};
}

/* The texts are borrowed from the arguments. 0 or -1 with an exception set. */
static int parse_try(PyObject *const told[ARGUMENT_COUNT], roast_attempt *out) {
    int kind = parse_name(told, ARG_kind, kind_names, ROAST_KIND_COUNT, ROAST_KIND_other);
    int outcome =
        parse_name(told, ARG_outcome, outcome_names, ROAST_OUTCOME_COUNT, ROAST_OUTCOME_done);
    if (kind < 0 || outcome < 0)
        return -1;
    *out = (roast_attempt){.kind = (roast_attempt_kind)kind,
                           .outcome = (roast_outcome)outcome,
                           /* tasks without a name are named after their kind */
                           .prefix = roast_str_of(kind_names[kind]),
                           .worker = ROAST_NO_WORKER,
                           .departure = ROAST_NO_DEPARTURE};
    if (ext_part_text(told[ARG_key], "key", &out->key) != 0 ||
        parse_text(told, ARG_name, &out->prefix) != 0 ||
        parse_text(told, ARG_exception, &out->error_type) != 0 || parse_moments(told, out) != 0 ||
        parse_amounts(told, out) != 0)
        return -1;
    split_exception(out);
    return 0;
}

/* A try that was lost with its worker ended when the worker left, unless its end was given. */
static int find_departure(PyObject *op, PyObject *const told[ARGUMENT_COUNT],
                          roast_attempt *attempt) {
    PyObject *left = ((ext_part *)op)->told, *worker = told[ARG_worker];
    if (attempt->outcome != ROAST_OUTCOME_lost || left == NULL || worker == NULL)
        return 0;
    int departed = told[ARG_departed] != NULL ? PyObject_IsTrue(told[ARG_departed]) : 1;
    PyObject *number = departed == 1 ? PyDict_GetItemWithError(left, worker) : NULL;
    if (number == NULL)
        return PyErr_Occurred() ? -1 : 0;
    attempt->departure = (uint32_t)PyLong_AsUnsignedLong(number);
    if (attempt->ended_us == ROAST_NO_TIME)
        attempt->ended_us =
            roast_attempts_departure(ext_part_get(op), attempt->departure).when.ns / 1000;
    return 0;
}

/* The number of a worker; ROAST_NO_WORKER for None. 0 or -1 with an exception set. */
static int number_of_worker(PyObject *op, PyObject *worker, uint32_t *number) {
    roast_str name;
    roast_error err;
    *number = ROAST_NO_WORKER;
    if (worker == NULL || worker == Py_None)
        return 0;
    if (ext_part_text(worker, "worker", &name) != 0)
        return -1;
    return ext_raised(roast_attempts_add_worker(ext_part_get(op), name, number, &err), &err);
}

static PyObject *attempts_add(PyObject *op, PyObject *args, PyObject *kwargs) {
    PyObject *told[ARGUMENT_COUNT] = {NULL};
    roast_attempt attempt;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOOOOOOOOOOOOOOO:add", add_keywords,
                                     &told[0], &told[1], &told[2], &told[3], &told[4], &told[5],
                                     &told[6], &told[7], &told[8], &told[9], &told[10], &told[11],
                                     &told[12], &told[13], &told[14], &told[15], &told[16]) ||
        parse_try(told, &attempt) != 0 || find_departure(op, told, &attempt) != 0 ||
        ext_part_make_own(op) != 0 || number_of_worker(op, told[ARG_worker], &attempt.worker) != 0)
        return NULL;
    if (attempt.kind < ROAST_KIND_other &&
        roast_attempts_set_kind(ext_part_get(op), attempt.prefix, attempt.kind, &err) != ROAST_OK)
        return ext_raise(&err);
    if (roast_attempts_append(ext_part_get(op), &attempt, &err) != ROAST_OK)
        return ext_raise(&err);
    Py_RETURN_NONE;
}

/* A tuple of texts; NULL with an exception set. One text is no list of keys. */
static PyObject *parse_keys(PyObject *lost) {
    roast_str key;
    if (lost != NULL && PyUnicode_Check(lost)) {
        PyErr_SetString(PyExc_TypeError, "lost: keys of tasks are expected, not one str");
        return NULL;
    }
    PyObject *keys = lost != NULL ? PySequence_Tuple(lost) : PyTuple_New(0);
    for (Py_ssize_t i = 0; keys != NULL && i < PyTuple_GET_SIZE(keys); i++)
        if (ext_part_text(PyTuple_GET_ITEM(keys, i), "lost", &key) != 0)
            Py_CLEAR(keys);
    return keys;
}

static int lose_results(PyObject *op, PyObject *keys) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); i++) {
        roast_str key;
        roast_error err;
        if (ext_part_text(PyTuple_GET_ITEM(keys, i), "lost", &key) != 0 ||
            ext_raised(roast_attempts_lose_result(ext_part_get(op), key, &err), &err) != 0)
            return -1;
    }
    return 0;
}

static PyObject *attempts_worker_left(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"worker", "when", "expected", "running", "lost", NULL};
    PyObject *worker, *when, *running = NULL, *lost = NULL;
    int expected = 0;
    uint64_t tasks = 0;
    roast_departure departure = {.worker = ROAST_NO_WORKER};
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UO|pOO:worker_left", keywords, &worker, &when,
                                     &expected, &running, &lost) ||
        ext_when_parse(when, "when", &departure.when) != 0 ||
        parse_count(running, "running", UINT32_MAX, &tasks) != 0)
        return NULL;
    PyObject *keys = parse_keys(lost);
    if (keys == NULL)
        return NULL;
    departure.expected = expected;
    departure.running = (uint32_t)tasks;
    departure.lost_results = (uint32_t)PyTuple_GET_SIZE(keys);
    int result = ext_part_make_own(op) != 0 ||
                         number_of_worker(op, worker, &departure.worker) != 0 ||
                         lose_results(op, keys) != 0
                     ? -1
                     : 0;
    Py_DECREF(keys);
    if (result != 0)
        return NULL;
    uint32_t number = roast_attempts_departure_count(ext_part_get(op));
    if (roast_attempts_add_departure(ext_part_get(op), &departure, &err) != ROAST_OK)
        return ext_raise(&err);
    if (ext_part_remember(op, worker, PyLong_FromUnsignedLong(number)) != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- the type ---- */

static PyMethodDef attempts_methods[] = {
    {"records", (PyCFunction)(void (*)(void))attempts_records, METH_VARARGS | METH_KEYWORDS,
     "records($self, *, foreign=False, start=0, stop=sys.maxsize)\n--\n\n"
     "One dict per try, in the order of their ends, from number `start` to `stop`; with `foreign` "
     "also those of other clients."},
    {"_repr_html_", attempts_html, METH_NOARGS,
     "_repr_html_($self)\n--\n\nThe first and last tries, for a notebook."},
    {"add", (PyCFunction)(void (*)(void))attempts_add, METH_VARARGS | METH_KEYWORDS,
     "add($self, key, *, kind='other', worker=None, ready=None, sent=None, start=None, stop=None, "
     "ended=None, outcome='done', exception=None, name=None, thread=None, transfer_seconds=None, "
     "deserialize_seconds=None, disk_seconds=None, nbytes=None, departed=True)\n--\n\n"
     "Adds one try of a task. A moment is a datetime or seconds since 1970; None: not known. "
     "ended: when the engine learned the outcome (default: stop). exception: 'ValueError: "
     "message'. name: the engine's name for tasks of this kind; all of one name are of one kind. "
     "A lost try counts as lost with its worker if worker_left was called for the worker before, "
     "unless departed is False."},
    {"worker_left", (PyCFunction)(void (*)(void))attempts_worker_left, METH_VARARGS | METH_KEYWORDS,
     "worker_left($self, worker, when, expected=False, running=0, lost=())\n--\n\n"
     "A worker left while it had `running` tasks; expected: it was told to. lost: keys of tasks "
     "whose needed results were lost with it; their last 'done' try becomes 'recomputed'."},
    {"set_kind", attempts_set_kind, METH_VARARGS,
     "set_kind($self, prefix, kind, /)\n--\n\n"
     "All tasks with this prefix are 'processing', 'reduction' or 'other'."},
    {"to_bytes", ext_part_to_bytes, METH_NOARGS,
     "to_bytes($self)\n--\n\nThe packed form: versioned and checksummed, see "
     "docs/format/attempts.md."},
    {"from_bytes", attempts_from_bytes, METH_O | METH_CLASS,
     "from_bytes($type, data, /)\n--\n\nAttempts from their packed form; ValueError says what is "
     "wrong with it."},
    {"__reduce__", ext_part_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attempts_getset[] = {
    {"departures", attempts_departures, NULL, "The workers that left: one dict each.", NULL},
    {"workers", attempts_workers, NULL, "Addresses of the workers that tasks were sent to.", NULL},
    {"nbytes", attempts_nbytes, NULL, "Bytes of memory that they take.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot attempts_slots[] = {
    {Py_tp_doc, (void *)"Attempts()\n--\n\n"
                        "Every try of every task as the scheduler saw it, in packed rows."},
    {Py_tp_new, attempts_new},
    {Py_tp_dealloc, ext_part_dealloc},
    {Py_tp_repr, attempts_repr},
    {Py_tp_methods, attempts_methods},
    {Py_tp_getset, attempts_getset},
    {Py_sq_length, attempts_length},
    {0, NULL},
};

PyType_Spec ext_spec_attempts = {"roastcoffea._core.Attempts", sizeof(ext_part), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, attempts_slots};
