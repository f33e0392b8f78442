#include "task_message.h"

#include "capped.h"
#include "quiet.h"

#include <math.h>
#include <string.h>

task_account ext_account_none(void) {
    return (task_account){ROAST_NO_TIME, ROAST_NO_TIME, -1, -1, -1, 0};
}

PyObject *ext_message_field(const task_message *from, PyObject *name) {
    for (Py_ssize_t i = 0; from->names != NULL && i < PyTuple_GET_SIZE(from->names); i++) {
        PyObject *there = PyTuple_GET_ITEM(from->names, i);
        if (there == name || PyUnicode_Compare(there, name) == 0)
            return from->values[i];
    }
    return NULL;
}

static int64_t moment_of(PyObject *mapping, PyObject *name) {
    PyObject *value = ext_quiet_item(mapping, name);
    double seconds = value != NULL && PyFloat_Check(value) ? PyFloat_AS_DOUBLE(value) : NAN;
    Py_XDECREF(value);
    /* Sums and differences of such moments fit as well. */
    return seconds > -1e11 && seconds < 1e11 ? (int64_t)(seconds * 1e6) : ROAST_NO_TIME;
}

static void add_length(int64_t *sum, int64_t start, int64_t stop) {
    *sum = ext_capped_add(*sum < 0 ? 0 : *sum, stop > start ? stop - start : 0);
}

static void take_phase(ext_state *state, PyObject *phase, task_account *out) {
    PyObject *action = ext_quiet_item(phase, state->str_action);
    int64_t start = moment_of(phase, state->str_start), stop = moment_of(phase, state->str_stop);
    if (action == NULL || start == ROAST_NO_TIME || stop == ROAST_NO_TIME) {
        Py_XDECREF(action);
        return;
    }
    if (ext_message_is(action, state->str_compute)) {
        out->start_us = start;
        out->stop_us = stop;
    } else if (ext_message_is(action, state->str_transfer)) {
        add_length(&out->transfer_us, start, stop);
    } else if (ext_message_is(action, state->str_deserialize)) {
        add_length(&out->deserialize_us, start, stop);
    } else if (ext_message_is(action, state->str_disk_read)) {
        add_length(&out->disk_us, start, stop);
    }
    Py_DECREF(action);
}

task_account ext_account_of(ext_state *state, PyObject *startstops, PyObject *thread) {
    task_account out = ext_account_none();
    if (startstops != NULL && (PyTuple_Check(startstops) || PyList_Check(startstops))) {
        PyObject *phases = PySequence_Tuple(startstops); /* of our own: reading may change theirs */
        for (Py_ssize_t i = 0; phases != NULL && i < PyTuple_GET_SIZE(phases); i++)
            take_phase(state, PyTuple_GET_ITEM(phases, i), &out);
        Py_XDECREF(phases);
    }
    if (thread != NULL && PyLong_Check(thread))
        out.thread = PyLong_AsUnsignedLongLongMask(thread);
    ext_pass_over("the phases of a task could not be read");
    return out;
}

/* Takes the backslashes out that repr() puts before quotes, backslashes and ends of lines. */
static roast_str unescape(roast_str text, char out[ROAST_MAX_ERROR_MESSAGE]) {
    static const char escaped[] = "\\'\"ntr", plain[] = "\\'\"\n\t\r";
    size_t len = 0;
    for (size_t i = 0; i < text.len && len < ROAST_MAX_ERROR_MESSAGE; i++) {
        const char *known = text.data[i] == '\\' && i + 1 < text.len && text.data[i + 1] != '\0'
                                ? strchr(escaped, text.data[i + 1])
                                : NULL;
        i += known != NULL;
        out[len++] = known != NULL ? plain[known - escaped] : text.data[i];
    }
    return (roast_str){out, len};
}

void ext_message_error(roast_str text, char words[ROAST_MAX_ERROR_MESSAGE], roast_attempt *out) {
    const char *bracket = memchr(text.data, '(', text.len);
    out->error_type = text;
    if (bracket == NULL || text.data[text.len - 1] != ')')
        return;
    out->error_type.len = (size_t)(bracket - text.data);
    const char *first = bracket + 1, *end = text.data + text.len - 1;
    out->error_message = (roast_str){first, (size_t)(end - first)};
    if (end - first >= 2 && (*first == '\'' || *first == '"') && end[-1] == *first)
        out->error_message = unescape((roast_str){first + 1, (size_t)(end - first) - 2}, words);
}

roast_str ext_message_stimulus(roast_str stimulus) {
    for (size_t at = stimulus.len; at > 0; at--)
        if (stimulus.data[at - 1] == '-')
            return (roast_str){stimulus.data, at - 1};
    return stimulus;
}
