#include "worker_slots.h"

#include "errors.h"

#include <structmember.h>

/* The place of a slot in the objects of a class; 0 if the attribute is none. */
static Py_ssize_t slot_offset(PyTypeObject *type, PyObject *name) {
    PyObject *found = PyObject_GetAttr((PyObject *)type, name);
    Py_ssize_t offset = 0;
    if (found == NULL) {
        ext_pass_over("an attribute could not be read");
        return 0;
    }
    if (Py_IS_TYPE(found, &PyMemberDescr_Type) && PyType_IsSubtype(type, PyDescr_TYPE(found))) {
        const PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
        if (member->type == T_OBJECT_EX && member->offset > 0)
            offset = member->offset;
    }
    Py_DECREF(found);
    return offset;
}

void worker_slots_find(worker_slots *slots, const ext_state *state, PyObject *worker) {
    PyTypeObject *type = Py_TYPE(worker), *before = slots->type;
    *slots = (worker_slots){.type = NULL};
    Py_XDECREF(before);
    /* A class that answers for its attributes itself is asked. */
    if (type->tp_getattro != PyObject_GenericGetAttr)
        return;
    slots->type = (PyTypeObject *)Py_NewRef(type);
#define X(name) slots->offset[WORKER_SLOT_##name] = slot_offset(type, state->str_##name);
    WORKER_SLOTS(X)
#undef X
}

/* ---- ahead of the reading ----
 *
 * Step by step: each needs what the one before has asked for. Nothing here has an effect, and only what is
 * alive is looked into: looking an item up may run Python code (of a key that is no str), so a dict is held
 * meanwhile, and what was found is looked into before anything else is done. */

enum { LINE = 64, METRICS_LINES = 6, INNER_LINES = 2 };

static void prefetch(const void *memory, int lines) {
    for (int i = 0; i < lines; i++)
        __builtin_prefetch((const char *)memory + i * LINE);
}

static PyObject *slot_of(const worker_slots *slots, PyObject *worker, worker_slot slot) {
    return worker_slot_known(slots, worker, slot) ? worker_slot_get(slots, worker, slot) : NULL;
}

static void prefetch_keys(PyObject *dict, int lines) {
    if (dict != NULL && PyDict_Check(dict))
        prefetch(((PyDictObject *)dict)->ma_keys, lines);
}

static void prefetch_attributes(const worker_slots *slots, PyObject *worker, const PyObject *seen) {
    for (int slot = 0; slot < WORKER_SLOT_COUNT; slot++) {
        const PyObject *value = slot_of(slots, worker, (worker_slot)slot);
        if (slot != WORKER_SLOT_address && value != seen) /* which are not looked into */
            prefetch(value, 1);
    }
}

/* Borrowed; NULL also where looking it up went wrong. */
static PyObject *item_of(PyObject *dict, PyObject *key) {
    PyObject *item = dict != NULL ? PyDict_GetItemWithError(dict, key) : NULL;
    if (item == NULL)
        ext_pass_over("an item could not be read");
    return item;
}

static void prefetch_metrics(const ext_state *state, PyObject *metrics) {
    prefetch(item_of(metrics, state->str_memory), 1);
    prefetch(item_of(metrics, state->str_cpu), 1);
    prefetch(item_of(metrics, state->str_spilled_bytes), 1);
    prefetch(item_of(metrics, state->str_host_net_io), 1);
    prefetch(item_of(metrics, state->str_host_disk_io), 1);
}

static void prefetch_inner_keys(const ext_state *state, PyObject *metrics) {
    prefetch_keys(item_of(metrics, state->str_spilled_bytes), INNER_LINES);
    prefetch_keys(item_of(metrics, state->str_host_net_io), INNER_LINES);
    prefetch_keys(item_of(metrics, state->str_host_disk_io), INNER_LINES);
}

typedef void (*metrics_step)(const ext_state *state, PyObject *metrics);

static void with_metrics(const worker_slots *slots, const ext_state *state, PyObject *worker,
                         const PyObject *seen, metrics_step step) {
    PyObject *metrics = slot_of(slots, worker, WORKER_SLOT_metrics);
    if (metrics == NULL || metrics == seen || !PyDict_CheckExact(metrics))
        return;
    Py_INCREF(metrics);
    step(state, metrics);
    Py_DECREF(metrics);
}

static void prefetch_metrics_keys(const ext_state *state, PyObject *metrics) {
    (void)state;
    prefetch_keys(metrics, METRICS_LINES);
}

void worker_slots_prefetch(const worker_slots *slots, const ext_state *state,
                           PyObject *const *workers, const PyObject *const *seen,
                           Py_ssize_t count) {
    static const metrics_step steps[] = {prefetch_metrics_keys, prefetch_metrics,
                                         prefetch_inner_keys};
    if (slots->type == NULL)
        return;
    int lines = (int)(slots->type->tp_basicsize / LINE + 1);
    for (Py_ssize_t i = 0; i < count; i++)
        prefetch(workers[i], lines);
    for (Py_ssize_t i = 0; i < count; i++)
        prefetch_attributes(slots, workers[i], seen[i]);
    for (Py_ssize_t i = 0; i < count; i++)
        prefetch_keys(slot_of(slots, workers[i], WORKER_SLOT_task_prefix_count), INNER_LINES);
    for (size_t step = 0; step < sizeof steps / sizeof *steps; step++)
        for (Py_ssize_t i = 0; i < count; i++)
            with_metrics(slots, state, workers[i], seen[i], steps[step]);
}
