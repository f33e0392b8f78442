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

/* Keys are known by their texts, which are of Python's own str: to hash and compare them runs no other code. What
 * else is looked at may run other code, which may call the watch again: behind it a place is looked up anew, and
 * whether the watch goes on. */
typedef struct watch_object {
    PyObject_HEAD
    roast_attempts *attempts; /* NULL: it has ended */
    PyObject *tasks;          /* the scheduler's {key: task} */
    PyObject *own;            /* set of the texts of keys that belong to this run */
    PyObject *open;           /* {text of a key: place in tries} */
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
    return place != NULL ? &self->tries[PyLong_AsUnsignedLong(place)] : NULL;
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

/* NULL: memory is short, perhaps with an exception set. */
static open_try *add_try(watch_object *self, PyObject *key) {
    uint32_t place = self->first_free != 0 ? self->first_free - 1 : self->count;
    if (place == self->capacity && !grow(self))
        return NULL;
    PyObject *number = PyLong_FromUnsignedLong(place);
    int failed = number != NULL ? PyDict_SetItem(self->open, key, number) : -1;
    Py_XDECREF(number);
    if (failed != 0)
        return NULL;
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

/* Takes a try out, whose texts are the caller's from now on; false: there is none. */
static bool take_try(watch_object *self, PyObject *key, open_try *out) {
    open_try *try = find_try(self, key);
    if (try == NULL)
        return false;
    uint32_t index = (uint32_t)(try - self->tries);
    *out = *try;
    *try = (open_try){.next_free = self->first_free};
    self->first_free = index + 1;
    if (PyDict_DelItem(self->open, key) != 0)
        ext_count_fault("a task could not be forgotten", NULL);
    return true;
}

static void drop_try(watch_object *self, PyObject *key) {
    open_try try;
    if (take_try(self, key, &try))
        release_try(&try);
}

/* ---- one row ---- */

/* `address`: a text of Python's own str, or NULL. */
static bool worker_number(watch_object *self, PyObject *address, uint32_t *number) {
    roast_str name;
    if (address == NULL || !ext_quiet_text(address, &name))
        return false;
    PyObject *known = PyDict_GetItemWithError(self->numbers, address);
    if (known != NULL) {
        *number = (uint32_t)PyLong_AsUnsignedLong(known);
        return true;
    }
    if (roast_attempts_add_worker(self->attempts, name, number, NULL) != ROAST_OK)
        return false;
    PyObject *object = PyLong_FromUnsignedLong(*number);
    if (object == NULL || PyDict_SetItem(self->numbers, address, object) != 0)
        ext_count_fault("a worker could not be noted", NULL); /* looked up again the next time */
    Py_XDECREF(object);
    return true;
}

/* A key may also be a tuple: then its repr() is what people know it by. NULL: it has no text. */
static PyObject *key_text(PyObject *key) {
    PyObject *text = PyUnicode_Check(key) ? Py_NewRef(key) : PyObject_Str(key);
    if (text == NULL)
        ext_pass_over("the key of a task could not be read");
    return ext_quiet_exact(text);
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

/* How a try that was taken out has ended; runs no other code. */
static void note_end(watch_object *self, PyObject *key, const open_try *try, PyObject *finish,
                     const task_message *from, const task_account *told, int64_t nbytes) {
    ext_state *state = state_of(self);
    char words[ROAST_MAX_ERROR_MESSAGE];
    PyObject *text = ext_message_field(from, state->str_exception_text);
    PyObject *worker = ext_quiet_exact(Py_XNewRef(ext_message_field(from, state->str_worker)));
    roast_attempt attempt = from_try(self, try, told, worker);
    Py_XDECREF(worker);
    bool accounted = ext_message_field(from, state->str_startstops) != NULL;
    if (ext_message_is(finish, state->str_memory)) {
        attempt.outcome = ROAST_OUTCOME_done;
        attempt.nbytes = nbytes;
    } else if (ext_message_is(finish, state->str_erred) && accounted) {
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
    append(self, key, &attempt);
}

static void end_try(watch_object *self, PyObject *key, PyObject *finish, const task_message *from) {
    ext_state *state = state_of(self);
    PyObject *startstops = ext_message_field(from, state->str_startstops);
    int64_t nbytes = -1;
    open_try try = {
        .ready_us = ROAST_NO_TIME, .sent_us = ROAST_NO_TIME, .told = ext_account_none()};
    take_try(self, key, &try);
    task_account told =
        startstops != NULL
            ? ext_account_of(state, startstops, ext_message_field(from, state->str_thread))
            : try.told;
    if (!ext_quiet_int(Py_XNewRef(ext_message_field(from, state->str_nbytes)), &nbytes) ||
        nbytes < 0)
        nbytes = -1;
    if (self->attempts != NULL)
        note_end(self, key, &try, finish, from, &told, nbytes);
    release_try(&try);
}

/* ---- how a try begins ---- */

static void set_text(PyObject **place, PyObject *value) {
    PyObject *text = ext_quiet_exact(Py_XNewRef(value));
    if (text != NULL)
        Py_XSETREF(*place, text);
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
    return try;
}

static void note_ready(watch_object *self, PyObject *key) {
    open_try *try = need_try(self, key);
    if (try != NULL && try->ready_us == ROAST_NO_TIME)
        try->ready_us = now_us();
}

/* `whole` is the key itself. */
static void note_sent(watch_object *self, PyObject *key, PyObject *whole) {
    ext_state *state = state_of(self);
    open_try *try = need_try(self, key);
    if (try == NULL)
        return;
    try->sent_us = now_us();
    if (try->ready_us == ROAST_NO_TIME)
        try->ready_us = try->sent_us;
    bool own = try->own;
    PyObject *tasks = Py_XNewRef(self->tasks);
    PyObject *task = ext_quiet_item(tasks, whole);
    PyObject *worker = ext_quiet_attr(task, state->str_processing_on);
    PyObject *address = ext_quiet_attr(worker, state->str_address);
    PyObject *prefix = own ? ext_quiet_attr(task, state->str_prefix) : NULL;
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
    Py_XDECREF(tasks);
}

static PyObject *watch_transition(PyObject *op, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *names) {
    watch_object *self = (watch_object *)op;
    if (nargs < 3) {
        PyErr_SetString(PyExc_TypeError, "transition(key, start, finish, **kwargs)");
        return NULL;
    }
    PyObject *start = args[1], *finish = args[2];
    if (self->attempts == NULL || start == finish)
        Py_RETURN_NONE;
    ext_state *state = state_of(self);
    task_message from = {args + nargs, names};
    bool ends = ext_message_is(start, state->str_processing) &&
                !ext_message_is(finish, state->str_processing);
    bool sent = ext_message_is(finish, state->str_processing);
    bool waits =
        ext_message_is(finish, state->str_queued) || ext_message_is(finish, state->str_no_worker);
    bool released = ext_message_is(finish, state->str_released);
    bool forgotten = ext_message_is(finish, state->str_forgotten);
    if (!ends && !sent && !waits && !released && !forgotten)
        Py_RETURN_NONE;
    PyObject *key = key_text(args[0]);
    if (key != NULL && self->attempts != NULL && ends)
        end_try(self, key, finish, &from);
    if (key != NULL && self->attempts != NULL) {
        if (sent)
            note_sent(self, key, args[0]);
        else if (waits)
            note_ready(self, key);
        else if (released || forgotten)
            drop_try(self, key); /* one that waited to be sent */
        if (forgotten && PySet_Discard(self->own, key) < 0)
            ext_count_fault("a task could not be forgotten", NULL);
    }
    Py_XDECREF(key);
    return ext_let_pass(Py_NewRef(Py_None));
}

/* ---- what else the scheduler tells ---- */

static PyObject *watch_expect(PyObject *op, PyObject *keys) {
    watch_object *self = (watch_object *)op;
    PyObject *iterator = PyObject_GetIter(keys), *key;
    if (iterator == NULL)
        return NULL;
    int failed = 0;
    while (failed == 0 && (key = PyIter_Next(iterator)) != NULL) {
        PyObject *text = key_text(key);
        if (text != NULL && self->attempts != NULL)
            failed = PySet_Add(self->own, text);
        Py_XDECREF(text);
        Py_DECREF(key);
    }
    Py_DECREF(iterator);
    return ext_let_pass(PyErr_Occurred() ? NULL : Py_NewRef(Py_None));
}

static PyObject *watch_moved(PyObject *op, PyObject *args) {
    watch_object *self = (watch_object *)op;
    PyObject *whole, *worker;
    if (!PyArg_ParseTuple(args, "OO:moved", &whole, &worker))
        return NULL;
    PyObject *key = key_text(whole);
    open_try *try = key != NULL ? find_try(self, key) : NULL;
    if (try != NULL) {
        try->sent_us = now_us();
        set_text(&try->worker, worker);
    }
    Py_XDECREF(key);
    return ext_let_pass(Py_NewRef(Py_None));
}

static PyObject *watch_raised(PyObject *op, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *names) {
    watch_object *self = (watch_object *)op;
    ext_state *state = state_of(self);
    task_message from = {args + nargs, names};
    PyObject *whole = ext_message_field(&from, state->str_key),
             *worker = ext_message_field(&from, state->str_worker);
    PyObject *key = whole != NULL ? key_text(whole) : NULL;
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
    Py_XDECREF(key);
    return ext_let_pass(Py_NewRef(Py_None));
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
        if (self->attempts != NULL && ext_quiet_text(text, &str) &&
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
    departure.expected = expected;
    departure.running = running;
    if (!lose_results(self, lost, &departure.lost_results))
        return ext_let_pass(NULL);
    PyObject *address = ext_quiet_exact(Py_NewRef(worker)), *result = Py_NewRef(Py_None);
    if (self->attempts == NULL) {
        Py_XDECREF(address); /* it ended before, or while the results were asked for */
    } else if (!worker_number(self, address, &departure.worker)) {
        PyErr_Format(PyExc_ValueError, "worker: %R cannot be noted", worker);
        Py_XDECREF(address);
        Py_CLEAR(result);
    } else if (roast_attempts_add_departure(self->attempts, &departure, &err) != ROAST_OK) {
        ext_raise(&err);
        Py_XDECREF(address);
        Py_CLEAR(result);
    } else {
        Py_XSETREF(self->left_worker, address);
        Py_XSETREF(self->left_by, Py_NewRef(stimulus));
    }
    return ext_let_pass(result);
}

/* ---- life ---- */

static void forget(watch_object *self) {
    for (uint32_t i = 0; i < self->count; i++)
        release_try(&self->tries[i]); /* texts: this runs no other code */
    self->count = self->first_free = 0;
    Py_CLEAR(self->tasks);
    Py_CLEAR(self->left_by);
    Py_CLEAR(self->left_worker);
}

/* Tries that have not ended came to nothing, as far as this run can tell. */
static void end_open(watch_object *self) {
    PyObject *keys = PyDict_Keys(self->open);
    if (keys == NULL)
        ext_count_fault("tasks that have not ended could not be noted", NULL);
    for (Py_ssize_t i = 0; keys != NULL && i < PyList_GET_SIZE(keys); i++) {
        PyObject *key = PyList_GET_ITEM(keys, i);
        const open_try *try = find_try(self, key);
        if (try != NULL && try->own && try->sent_us != ROAST_NO_TIME) {
            task_account told = ext_account_none();
            roast_attempt attempt = from_try(self, try, &told, NULL);
            attempt.outcome = ROAST_OUTCOME_lost;
            attempt.error_type = roast_str_of("called off");
            attempt.error_message = roast_str_of("it had not ended when the run had");
            append(self, key, &attempt);
        }
    }
    Py_XDECREF(keys);
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
