#include "outbox.h"

#include "chunk_log.h"
#include "quiet.h"

#include "roast/base.h"

#include <unistd.h>

/* A message costs its sender some 10 µs where many are sent, and on Dask, with the event loops of worker and
 * scheduler, 1 ms of CPU time: chunks are sent in lots. A lot that begins to wait asks roastcoffea.channel to flush it
 * after this time, as the next chunk may take long; where nobody can, it waits for the next chunk. So messages take
 * 0.1 % of a core at most. The end of a run flushes. */
enum { LOT = 256 };
static const int64_t DUE_NS = 1000000000;

typedef struct outbox {
    struct outbox *next;
    PyObject *topic; /* str */
    PyObject *log;   /* ChunkLog of what is held back */
    roast_mono since;
    pid_t owner; /* after a fork the parent's records are not the child's to send */
} outbox;

static outbox *outboxes; /* under the GIL */

static outbox *outbox_of(PyObject *topic) {
    for (outbox *box = outboxes; box != NULL; box = box->next)
        if (PyUnicode_Compare(box->topic, topic) == 0)
            return box;
    outbox *box = roast_alloc_zero(sizeof *box);
    if (box == NULL)
        return NULL;
    box->topic = Py_NewRef(topic);
    box->next = outboxes;
    outboxes = box;
    return box;
}

/* Takes the records out and hands them to roastcoffea.channel.deliver. 0 or -1 with an exception set; what
 * could not be delivered is dropped: the output has it as well. The box may be gone afterwards: the code that is
 * called may flush it. */
static int deliver(outbox *box) {
    PyObject *log = box->log, *topic = Py_NewRef(box->topic);
    box->log = NULL;
    PyObject *channel = PyImport_ImportModule("roastcoffea.channel");
    PyObject *data = channel != NULL ? PyObject_CallMethod(log, "to_bytes", NULL) : NULL;
    PyObject *done =
        data != NULL ? PyObject_CallMethod(channel, "deliver", "OO", topic, data) : NULL;
    int result = done != NULL ? 0 : -1;
    Py_XDECREF(done);
    Py_DECREF(topic);
    Py_XDECREF(data);
    Py_XDECREF(channel);
    Py_DECREF(log);
    return result;
}

static bool is_of_kind(PyObject *topic, const char *kind) {
    PyObject *prefix = PyUnicode_FromString(kind);
    int yes = prefix != NULL ? PyUnicode_Tailmatch(topic, prefix, 0, PY_SSIZE_T_MAX, -1) : 0;
    ext_pass_over("a topic could not be read");
    Py_XDECREF(prefix);
    return yes == 1;
}

/* Asks to be flushed when the lot is due. */
static int call_later(PyObject *topic) {
    PyObject *channel = PyImport_ImportModule("roastcoffea.channel");
    PyObject *done = channel != NULL ? PyObject_CallMethod(channel, "flush_later", "Od", topic,
                                                           (double)DUE_NS / 1e9)
                                     : NULL;
    int result = done != NULL ? 0 : -1;
    Py_XDECREF(done);
    Py_XDECREF(channel);
    return result;
}

/* Adds a copy of the records, which is the box's from now on. No Python code runs in here. 0 or -1 with an exception
 * set. */
static int add(ext_state *state, outbox *box, PyObject *copy, roast_mono now) {
    if (box->log == NULL) {
        box->log = Py_NewRef(copy);
        box->since = now;
        return 0;
    }
    log_core *core = ext_packed_view(state, copy);
    int result = core != NULL ? ext_chunk_log_merge(state, box->log, core->log) : -1;
    log_core_let_go(core);
    return result;
}

static int put(ext_state *state, PyObject *topic, PyObject *chunk_log, bool at_once) {
    /* Before the box is looked for: it may set off a collection, and that may flush the box. */
    PyObject *copy = PyObject_CallMethod(chunk_log, "copy", NULL), *of_parent = NULL;
    outbox *box = copy != NULL ? outbox_of(topic) : NULL;
    if (box == NULL) {
        if (copy != NULL)
            PyErr_NoMemory();
        Py_XDECREF(copy);
        return -1;
    }
    if (box->owner != getpid()) {
        of_parent = box->log;
        box->log = NULL;
        box->owner = getpid();
    }
    roast_mono now = roast_mono_now();
    bool begins = box->log == NULL;
    int result = add(state, box, copy, now);
    bool due =
        at_once || PyObject_Size(box->log) >= LOT || roast_mono_since(box->since, now) >= DUE_NS;
    if (result == 0 && due)
        result = deliver(box);
    else if (result == 0 && begins)
        result = call_later(topic);
    Py_XDECREF(of_parent);
    Py_DECREF(copy);
    return result;
}

/* A str; NULL, without an exception, where the processor has none. */
static PyObject *topic_of(ext_state *state, PyObject *processor) {
    PyObject *topic = ext_quiet_attr(processor, state->str_topic);
    if (topic != NULL && !PyUnicode_Check(topic))
        Py_CLEAR(topic);
    return topic;
}

void ext_outbox_put(ext_state *state, PyObject *processor, PyObject *chunk_log, bool raised) {
    PyObject *topic = topic_of(state, processor);
    /* "run:" only says which run it is: nothing can be sent. A process of a pool ends without a word: what
     * goes to a file goes at once. */
    if (topic != NULL && !is_of_kind(topic, "run:") &&
        put(state, topic, chunk_log, raised || is_of_kind(topic, "file:")) != 0)
        ext_count_fault("a chunk could not be sent beside the output", NULL);
    Py_XDECREF(topic);
}

uint64_t ext_outbox_run(ext_state *state, PyObject *processor) {
    PyObject *topic = topic_of(state, processor);
    roast_str text;
    uint64_t run = ext_quiet_text(topic, &text) ? roast_run_token(text) : 0;
    Py_XDECREF(topic);
    return run;
}

PyObject *ext_outbox_flush(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *topic = Py_None;
    if (!PyArg_ParseTuple(args, "|O:flush_outbox", &topic))
        return NULL;
    if (topic != Py_None && !PyUnicode_Check(topic)) {
        PyErr_Format(PyExc_TypeError, "flush_outbox: a topic is a str, not %s",
                     Py_TYPE(topic)->tp_name);
        return NULL;
    }
    /* Delivering runs Python code, which may put more into the list: so the walk begins anew. */
    bool again = true;
    while (again) {
        again = false;
        for (outbox *box = outboxes; box != NULL; box = box->next) {
            bool wanted = topic == Py_None || PyUnicode_Compare(box->topic, topic) == 0;
            if (!wanted || box->log == NULL || box->owner != getpid())
                continue;
            again = true;
            if (deliver(box) != 0)
                return NULL;
            break;
        }
    }
    /* A topic that was flushed by name is at its end. */
    for (outbox **link = &outboxes; *link != NULL && topic != Py_None;) {
        outbox *box = *link;
        if (PyUnicode_Compare(box->topic, topic) == 0 && box->log == NULL) {
            *link = box->next;
            Py_DECREF(box->topic);
            roast_free(box);
        } else {
            link = &box->next;
        }
    }
    Py_RETURN_NONE;
}
