/* TaskWatch: follows the tasks of Dask's scheduler and makes Attempts of what it sees.
 *
 * transition() runs in the scheduler's event loop for every step of every task: steps that say nothing
 * about a try cost a comparison, and nothing in here raises for a task that cannot be read. */
#include "attempts.h"
#include "errors.h"
#include "quiet.h"
#include "task_message.h"

#include <string.h>

/* A try that has not ended. */
typedef struct open_try {
    PyObject *worker, *prefix; /* str or NULL, owned */
    PyObject *error;           /* what a task that raised said, as repr() does, or NULL */
    task_account told;         /* of one that raised */
    int64_t ready_us, sent_us;
    bool own, raised;
    uint32_t next_free; /* + 1 */
} open_try;

typedef struct watch_object {
    PyObject_HEAD
    roast_attempts *attempts; /* NULL: it has ended */
    PyObject *tasks;          /* the scheduler's {key: task} */
    PyObject *own;            /* set of keys that belong to this run */
    PyObject *open;           /* {key: place in tries} */
    PyObject *numbers;        /* {address: number of the worker} */
    PyObject *left_by;        /* the stimulus of the last departure, or NULL */
    PyObject *left_worker;
    bool hears; /* it is told of tasks that raise */
    open_try *tries;
    uint32_t count, capacity, first_free; /* + 1 */
} watch_object;

static ext_state *state_of(watch_object *self) {
    return ext_state_of_final(Py_TYPE((PyObject *)self));
}

static int64_t now_us(void) {
    return roast_utc_now().ns / 1000;
}

/* ---- open tries ---- */

/* NULL: there is none. */
static open_try *find_try(watch_object *self, PyObject *key) {
    PyObject *place = PyDict_GetItemWithError(self->open, key);
    if (place == NULL) {
        PyErr_Clear(); /* a key that has no hash */
        return NULL;
    }
    return &self->tries[PyLong_AsUnsignedLong(place)];
}

static bool grow(watch_object *self) {
    uint32_t capacity = self->capacity == 0 ? 64 : self->capacity * 2;
    open_try *tries =
        capacity > self->capacity ? roast_realloc(self->tries, capacity * sizeof *tries) : NULL;
    if (tries == NULL)
        return false;
    self->tries = tries;
    self->capacity = capacity;
    return true;
}

/* NULL: memory is short. */
static open_try *add_try(watch_object *self, PyObject *key) {
    uint32_t place = self->first_free != 0 ? self->first_free - 1 : self->count;
    if (place == self->capacity && !grow(self))
        return NULL;
    PyObject *number = PyLong_FromUnsignedLong(place);
    int failed = number != NULL ? PyDict_SetItem(self->open, key, number) : -1;
    Py_XDECREF(number);
    if (failed != 0) {
        PyErr_Clear();
        return NULL;
    }
    open_try *try = &self->tries[place];
    if (place == self->count)
        self->count++;
    else
        self->first_free = try->next_free;
    *try =
        (open_try){.ready_us = ROAST_NO_TIME, .sent_us = ROAST_NO_TIME, .told = ext_account_none()};
    return try;
}

static void release_try(open_try *try) {
    Py_CLEAR(try->worker);
    Py_CLEAR(try->prefix);
    Py_CLEAR(try->error);
}

static void drop_try(watch_object *self, PyObject *key) {
    PyObject *place = PyDict_GetItemWithError(self->open, key);
    if (place == NULL) {
        PyErr_Clear();
        return;
    }
    uint32_t index = (uint32_t)PyLong_AsUnsignedLong(place);
    if (PyDict_DelItem(self->open, key) != 0)
        PyErr_Clear();
    release_try(&self->tries[index]);
    self->tries[index].next_free = self->first_free;
    self->first_free = index + 1;
}

/* ---- one row ---- */

static bool worker_number(watch_object *self, PyObject *address, uint32_t *number) {
    roast_str name;
    if (address == NULL || !ext_quiet_text(address, &name))
        return false;
    PyObject *known = PyDict_GetItemWithError(self->numbers, address);
    if (known != NULL) {
        *number = (uint32_t)PyLong_AsUnsignedLong(known);
        return true;
    }
    PyErr_Clear();
    if (roast_attempts_add_worker(self->attempts, name, number, NULL) != ROAST_OK)
        return false;
    PyObject *object = PyLong_FromUnsignedLong(*number);
    if (object == NULL || PyDict_SetItem(self->numbers, address, object) != 0)
        PyErr_Clear(); /* looked up again the next time */
    Py_XDECREF(object);
    return true;
}

/* A key may also be a tuple: then its repr() is what people know it by. */
static PyObject *key_text(PyObject *key) {
    PyObject *text = PyUnicode_Check(key) ? Py_NewRef(key) : PyObject_Str(key);
    if (text == NULL)
        PyErr_Clear();
    return text;
}

/* `text` is that of the key. */
static void append(watch_object *self, PyObject *text, roast_attempt *attempt) {
    roast_error err;
    roast_str key;
    if (attempt->kind != ROAST_KIND_foreign && ext_quiet_text(text, &key))
        attempt->key = key;
    if (roast_attempts_append(self->attempts, attempt, &err) != ROAST_OK)
        ext_count_fault("a task could not be noted", &err);
}

/* Dask estimates how the clock of a worker differs from the scheduler's: while somebody sets a clock, that is wrong
 * by as much. The scheduler saw the try begin and end by its own clock. */
static const int64_t slack_us = 1000000;

/* Moves the try between the moments when it was sent and when it ended. */
static void place_computing(roast_attempt *attempt) {
    int64_t later = roast_utc_of_system((roast_utc){0}).ns / 1000;
    if (attempt->stop_us + later > attempt->ended_us + slack_us)
        later = attempt->ended_us - attempt->stop_us;
    else if (attempt->sent_us != ROAST_NO_TIME &&
             attempt->start_us + later < attempt->sent_us - slack_us)
        later = attempt->sent_us - attempt->start_us;
    attempt->start_us += later;
    attempt->stop_us += later;
}

/* What took longer than the whole try was measured with a clock that was set meanwhile. */
static void drop_impossible(roast_attempt *attempt) {
    int64_t *lengths[] = {&attempt->transfer_us, &attempt->deserialize_us, &attempt->disk_us};
    int64_t limit = attempt->sent_us != ROAST_NO_TIME
                        ? attempt->ended_us - attempt->sent_us + slack_us
                        : INT64_MAX;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (*lengths[i] > limit)
            *lengths[i] = -1;
    if (attempt->start_us == ROAST_NO_TIME || attempt->stop_us == ROAST_NO_TIME)
        return;
    int64_t took = attempt->stop_us - attempt->start_us;
    if (took < 0 || took > limit)
        attempt->start_us = attempt->stop_us = ROAST_NO_TIME;
    else
        place_computing(attempt);
}

static roast_attempt from_try(watch_object *self, const open_try *try, const task_account *told,
                              PyObject *worker) {
    roast_attempt attempt = {
        .kind = try->own ? ROAST_KIND_other : ROAST_KIND_foreign,
        .key_number = -1,
        .worker = ROAST_NO_WORKER,
        .ready_us = try->ready_us,
        .sent_us = try->sent_us,
        .ended_us = now_us(),
        .start_us = told->start_us,
        .stop_us = told->stop_us,
        .transfer_us = told->transfer_us,
        .deserialize_us = told->deserialize_us,
        .disk_us = told->disk_us,
        .thread = told->thread,
        .nbytes = -1,
        .departure = ROAST_NO_DEPARTURE,
    };
    uint32_t number;
    if (worker_number(self, worker != NULL ? worker : try->worker, &number))
        attempt.worker = number;
    ext_quiet_text(try->prefix, &attempt.prefix);
    drop_impossible(&attempt);
    return attempt;
}

/* ---- how a try ends ---- */

static bool begins_with(roast_str text, const char *beginning) {
    size_t len = strlen(beginning);
    return text.len >= len && memcmp(text.data, beginning, len) == 0;
}

/* Nobody has told how: from who made it leave its worker. */
static void guess_end(watch_object *self, const open_try *try, PyObject *stimulus,
                      char words[ROAST_MAX_ERROR_MESSAGE], roast_attempt *out) {
    roast_str text = {"", 0}, error;
    ext_quiet_text(stimulus, &text);
    out->outcome = ROAST_OUTCOME_lost;
    /* That a task raised for the last time also calls off others that nobody needs any more. */
    if (try->raised || (!self->hears && begins_with(text, "task-erred-"))) {
        out->outcome = ROAST_OUTCOME_raised;
        if (ext_quiet_text(try->error, &error) && error.len > 0)
            ext_message_error(error, words, out);
    } else if (self->left_by != NULL && stimulus != NULL &&
               ext_message_is(stimulus, self->left_by) && try->worker != NULL &&
               ext_message_is(try->worker, self->left_worker)) {
        out->departure = roast_attempts_departure_count(self->attempts) - 1;
    } else {
        out->error_type = roast_str_of("called off");
        out->error_message = ext_message_stimulus(text);
    }
}

static void end_try(watch_object *self, PyObject *key, PyObject *finish, const task_message *from) {
    ext_state *state = state_of(self);
    char words[ROAST_MAX_ERROR_MESSAGE];
    PyObject *key_str = key_text(key); /* first: it may run other code */
    open_try none = {
        .ready_us = ROAST_NO_TIME, .sent_us = ROAST_NO_TIME, .told = ext_account_none()};
    open_try *found = find_try(self, key), *try = found != NULL ? found : &none;
    PyObject *startstops = ext_message_field(from, state->str_startstops);
    PyObject *text = ext_message_field(from, state->str_exception_text);
    task_account told =
        startstops != NULL
            ? ext_account_of(state, startstops, ext_message_field(from, state->str_thread))
            : try->told;
    roast_attempt attempt = from_try(self, try, &told, ext_message_field(from, state->str_worker));
    if (ext_message_is(finish, state->str_memory)) {
        attempt.outcome = ROAST_OUTCOME_done;
        int64_t nbytes;
        if (ext_quiet_int(Py_XNewRef(ext_message_field(from, state->str_nbytes)), &nbytes) &&
            nbytes >= 0)
            attempt.nbytes = nbytes;
    } else if (ext_message_is(finish, state->str_erred) && startstops != NULL) {
        roast_str error;
        attempt.outcome = ROAST_OUTCOME_raised;
        if (ext_quiet_text(text, &error) && error.len > 0)
            ext_message_error(error, words, &attempt);
    } else if (ext_message_is(finish, state->str_erred)) {
        /* Too many workers have died of it. That the last one has, the scheduler says a moment later. */
        attempt.outcome = ROAST_OUTCOME_lost;
        attempt.departure = roast_attempts_departure_count(self->attempts);
        attempt.error_type = roast_str_of("KilledWorker");
    } else {
        guess_end(self, try, ext_message_field(from, state->str_stimulus_id), words, &attempt);
    }
    append(self, key_str, &attempt);
    Py_XDECREF(key_str);
    if (found != NULL)
        drop_try(self, key);
}

/* ---- how a try begins ---- */

static void set_text(PyObject **place, PyObject *value) {
    if (value != NULL && PyUnicode_Check(value))
        Py_XSETREF(*place, Py_NewRef(value));
}

static open_try *need_try(watch_object *self, PyObject *key) {
    open_try *try = find_try(self, key);
    if (try != NULL)
        return try;
    try = add_try(self, key);
    if (try == NULL) {
        ext_count_fault("a task could not be noted", NULL);
        return NULL;
    }
    try->own = PySet_Contains(self->own, key) == 1;
    PyErr_Clear();
    return try;
}

static void note_ready(watch_object *self, PyObject *key) {
    open_try *try = need_try(self, key);
    if (try != NULL && try->ready_us == ROAST_NO_TIME)
        try->ready_us = now_us();
}

static void note_sent(watch_object *self, PyObject *key) {
    ext_state *state = state_of(self);
    open_try *try = need_try(self, key);
    if (try == NULL)
        return;
    try->sent_us = now_us();
    if (try->ready_us == ROAST_NO_TIME)
        try->ready_us = try->sent_us;
    PyObject *task = ext_quiet_item(self->tasks, key);
    PyObject *worker = ext_quiet_attr(task, state->str_processing_on);
    PyObject *address = ext_quiet_attr(worker, state->str_address);
    PyObject *prefix = try->own ? ext_quiet_attr(task, state->str_prefix) : NULL;
    PyObject *name = ext_quiet_attr(prefix, state->str_plain_name);
    /* What was asked may have run other code: look the place up again. */
    try = find_try(self, key);
    if (try != NULL) {
        set_text(&try->worker, address);
        set_text(&try->prefix, name);
    }
    Py_XDECREF(name);
    Py_XDECREF(prefix);
    Py_XDECREF(address);
    Py_XDECREF(worker);
    Py_XDECREF(task);
}

static PyObject *watch_transition(PyObject *op, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *names) {
    watch_object *self = (watch_object *)op;
    if (nargs < 3) {
        PyErr_SetString(PyExc_TypeError, "transition(key, start, finish, **kwargs)");
        return NULL;
    }
    PyObject *key = args[0], *start = args[1], *finish = args[2];
    if (self->attempts == NULL || start == finish)
        Py_RETURN_NONE;
    ext_state *state = state_of(self);
    task_message from = {args + nargs, names};
    if (ext_message_is(start, state->str_processing) &&
        !ext_message_is(finish, state->str_processing))
        end_try(self, key, finish, &from);
    if (ext_message_is(finish, state->str_processing)) {
        note_sent(self, key);
    } else if (ext_message_is(finish, state->str_queued) ||
               ext_message_is(finish, state->str_no_worker)) {
        note_ready(self, key);
    } else if (ext_message_is(finish, state->str_released)) {
        drop_try(self, key); /* one that waited to be sent */
    } else if (ext_message_is(finish, state->str_forgotten)) {
        drop_try(self, key);
        if (PySet_Discard(self->own, key) < 0)
            PyErr_Clear();
    }
    Py_RETURN_NONE;
}

/* ---- what else the scheduler tells ---- */

static PyObject *watch_expect(PyObject *op, PyObject *keys) {
    watch_object *self = (watch_object *)op;
    PyObject *iterator = PyObject_GetIter(keys), *key;
    if (iterator == NULL)
        return NULL;
    while ((key = PyIter_Next(iterator)) != NULL) {
        int failed = self->attempts != NULL ? PySet_Add(self->own, key) : 0;
        Py_DECREF(key);
        if (failed != 0)
            break;
    }
    Py_DECREF(iterator);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *watch_moved(PyObject *op, PyObject *args) {
    watch_object *self = (watch_object *)op;
    PyObject *key, *worker;
    if (!PyArg_ParseTuple(args, "OO:moved", &key, &worker))
        return NULL;
    open_try *try = find_try(self, key);
    if (try != NULL) {
        try->sent_us = now_us();
        set_text(&try->worker, worker);
    }
    Py_RETURN_NONE;
}

static PyObject *watch_raised(PyObject *op, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *names) {
    watch_object *self = (watch_object *)op;
    ext_state *state = state_of(self);
    task_message from = {args + nargs, names};
    PyObject *key = ext_message_field(&from, state->str_key),
             *worker = ext_message_field(&from, state->str_worker);
    open_try *try = key != NULL && self->attempts != NULL ? find_try(self, key) : NULL;
    self->hears = true;
    /* One from a worker that has lost the task to another says nothing about this try. */
    if (try != NULL && worker != NULL && try->worker != NULL &&
        ext_message_is(worker, try->worker)) {
        task_account told = ext_account_of(state, ext_message_field(&from, state->str_startstops),
                                           ext_message_field(&from, state->str_thread));
        try = find_try(self, key);
        if (try != NULL) {
            try->raised = true;
            try->told = told;
            set_text(&try->error, ext_message_field(&from, state->str_exception_text));
        }
    }
    Py_RETURN_NONE;
}

static bool lose_results(watch_object *self, PyObject *keys, uint32_t *count) {
    PyObject *iterator = PyObject_GetIter(keys), *key;
    roast_error err;
    *count = 0;
    if (iterator == NULL)
        return false;
    while ((key = PyIter_Next(iterator)) != NULL) {
        PyObject *text = key_text(key);
        roast_str str;
        if (ext_quiet_text(text, &str) &&
            roast_attempts_lose_result(self->attempts, str, &err) != ROAST_OK)
            ext_count_fault("a lost result could not be noted", &err);
        ++*count;
        Py_XDECREF(text);
        Py_DECREF(key);
    }
    Py_DECREF(iterator);
    return !PyErr_Occurred();
}

static PyObject *watch_left(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"worker", "expected", "running", "lost", "stimulus_id", NULL};
    watch_object *self = (watch_object *)op;
    PyObject *worker, *lost, *stimulus;
    int expected;
    unsigned int running;
    roast_departure departure = {.when = roast_utc_now()};
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UpIOU:left", keywords, &worker, &expected,
                                     &running, &lost, &stimulus))
        return NULL;
    if (self->attempts == NULL)
        Py_RETURN_NONE;
    if (!worker_number(self, worker, &departure.worker))
        return PyErr_Format(PyExc_ValueError, "worker: %R cannot be noted", worker);
    departure.expected = expected;
    departure.running = running;
    if (!lose_results(self, lost, &departure.lost_results))
        return NULL;
    if (roast_attempts_add_departure(self->attempts, &departure, &err) != ROAST_OK)
        return ext_raise(&err);
    Py_XSETREF(self->left_by, Py_NewRef(stimulus));
    Py_XSETREF(self->left_worker, Py_NewRef(worker));
    Py_RETURN_NONE;
}

/* ---- life ---- */

static void forget(watch_object *self) {
    for (uint32_t i = 0; i < self->count; i++)
        release_try(&self->tries[i]);
    self->count = self->first_free = 0;
    Py_CLEAR(self->tasks);
    Py_CLEAR(self->left_by);
    Py_CLEAR(self->left_worker);
}

/* Tries that have not ended came to nothing, as far as this run can tell. */
static void end_open(watch_object *self) {
    PyObject *keys = PyDict_Keys(self->open);
    for (Py_ssize_t i = 0; keys != NULL && i < PyList_GET_SIZE(keys); i++) {
        PyObject *key = PyList_GET_ITEM(keys, i), *text = key_text(key);
        const open_try *try = find_try(self, key);
        if (try != NULL && try->own && try->sent_us != ROAST_NO_TIME) {
            task_account told = ext_account_none();
            roast_attempt attempt = from_try(self, try, &told, NULL);
            attempt.outcome = ROAST_OUTCOME_lost;
            attempt.error_type = roast_str_of("called off");
            attempt.error_message = roast_str_of("it had not ended when the run had");
            append(self, text, &attempt);
        }
        Py_XDECREF(text);
    }
    Py_XDECREF(keys);
    PyErr_Clear();
}

static PyObject *watch_finish(PyObject *op, PyObject *unused) {
    (void)unused;
    watch_object *self = (watch_object *)op;
    roast_error err;
    if (self->attempts == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the tasks are not watched any more");
        return NULL;
    }
    end_open(self);
    roast_attempts *attempts = self->attempts;
    self->attempts = NULL;
    PyDict_Clear(self->open);
    PySet_Clear(self->own);
    forget(self);
    if (roast_attempts_settle(attempts, &err) != ROAST_OK) {
        roast_attempts_free(attempts);
        return ext_raise(&err);
    }
    return ext_attempts_new(state_of(self), attempts);
}

static PyObject *watch_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"tasks", NULL};
    PyObject *tasks;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:TaskWatch", keywords, &tasks))
        return NULL;
    watch_object *self = (watch_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->tasks = Py_NewRef(tasks);
    self->own = PySet_New(NULL);
    self->open = PyDict_New();
    self->numbers = PyDict_New();
    if (self->own == NULL || self->open == NULL || self->numbers == NULL)
        Py_CLEAR(self);
    else if (roast_attempts_new(&self->attempts, &err) != ROAST_OK) {
        Py_CLEAR(self);
        ext_raise(&err);
    }
    return (PyObject *)self;
}

static int watch_traverse(PyObject *op, visitproc visit, void *arg) {
    watch_object *self = (watch_object *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->tasks);
    Py_VISIT(self->own);
    Py_VISIT(self->open);
    Py_VISIT(self->numbers);
    return 0;
}

/* Only what can be part of a circle; the rest is needed as long as anybody calls. */
static int watch_clear(PyObject *op) {
    Py_CLEAR(((watch_object *)op)->tasks);
    return 0;
}

static void watch_dealloc(PyObject *op) {
    watch_object *self = (watch_object *)op;
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    forget(self);
    roast_free(self->tries);
    roast_attempts_free(self->attempts);
    Py_XDECREF(self->own);
    Py_XDECREF(self->open);
    Py_XDECREF(self->numbers);
    type->tp_free(op);
    Py_DECREF(type);
}

/* ---- the type ---- */

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS

static PyMethodDef watch_methods[] = {
    {"transition", FAST(watch_transition),
     "transition($self, key, start, finish, /, **kwargs)\n--\n\n"
     "A step of a task, as SchedulerPlugin.transition is told."},
    {"raised", FAST(watch_raised),
     "raised($self, /, **kwargs)\n--\n\n"
     "A worker's message that a task raised, before the scheduler decides to try it again."},
    {"expect", watch_expect, METH_O,
     "expect($self, keys, /)\n--\n\nThe tasks with these keys belong to this run."},
    {"moved", watch_moved, METH_VARARGS,
     "moved($self, key, worker, /)\n--\n\nA task was taken from its worker and sent to another."},
    {"left", (PyCFunction)(void (*)(void))watch_left, METH_VARARGS | METH_KEYWORDS,
     "left($self, worker, expected, running, lost, stimulus_id)\n--\n\n"
     "A worker has left with so many running tasks, and with the results of the keys `lost`."},
    {"finish", watch_finish, METH_NOARGS,
     "finish($self)\n--\n\nEnds the watch and hands over the Attempts; what has not ended is "
     "lost."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot watch_slots[] = {
    {Py_tp_doc, (void *)"TaskWatch(tasks)\n--\n\n"
                        "Follows the tasks of Dask's scheduler; `tasks` is its {key: task}."},
    {Py_tp_new, watch_new},
    {Py_tp_dealloc, watch_dealloc},
    {Py_tp_traverse, watch_traverse},
    {Py_tp_clear, watch_clear},
    {Py_tp_methods, watch_methods},
    {0, NULL},
};

PyType_Spec ext_spec_task_watch = {
    "roastcoffea._core.TaskWatch", sizeof(watch_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, watch_slots};
