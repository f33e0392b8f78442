/* uproot's properties are Python code, some 1 us each, and tree.keys() takes 7 to 20 ms with 1,500 branches. The members
 * behind them are entries of a dict.
 *
 * What uproot keeps of a branch is some ten objects, scattered over memory, and when a chunk ends all of them have long
 * left the processor's caches. Following the pointers of one branch after the other is waiting for memory: 3.2 ms for
 * 1,500 branches. So some branches go side by side, step by step: each step asks for what the next one touches, and the
 * answers come in at the same time. */
#include "root_tree.h"

#include "quiet.h"

#include <string.h>

enum {
    DEEPEST = 32,  /* branches inside of branches */
    ABREAST = 32,  /* branches at a time */
    ANCESTORS = 4, /* TBranchElement, TBranch, TNamed, TObject */
    LINE = 64,     /* bytes of a line of the cache */
    /* How much of an object is looked at. */
    OF_NAME = sizeof(PyASCIIObject) + 32,
    OF_INSTANCE = 104, /* as far as the attributes that are wanted */
#if PY_VERSION_HEX >= 0x030D0000
    IN_FRONT = 0,
#else
    IN_FRONT = 32, /* where the attributes are */
#endif
};

/* ---- members ---- */

static PyObject *member_within(ext_state *state, PyObject *object, PyObject *name, int depth) {
    PyObject *members = ext_quiet_attr(object, state->str_members);
    PyObject *value =
        members != NULL && PyDict_Check(members) ? ext_quiet_item(members, name) : NULL;
    Py_XDECREF(members);
    if (value != NULL || depth == 0)
        return value;
    PyObject *bases = ext_quiet_attr(object, state->str_bases);
    if (bases != NULL && PyList_Check(bases))
        for (Py_ssize_t i = 0; value == NULL && i < PyList_GET_SIZE(bases); i++) {
            PyObject *base = Py_NewRef(PyList_GET_ITEM(bases, i));
            value = member_within(state, base, name, depth - 1);
            Py_DECREF(base);
        }
    Py_XDECREF(bases);
    return value;
}

PyObject *ext_root_member(ext_state *state, PyObject *object, PyObject *name) {
    return member_within(state, object, name, ANCESTORS);
}

/* Takes the reference; -1: not known. */
static int64_t size_of(PyObject *number) {
    int64_t value;
    return ext_quiet_int(number, &value) && value >= 0 ? value : -1;
}

/* ---- some branches side by side ---- */

/* Lines that are needed soon. Only these: to bring some more costs as much as to bring a needed one. */
static void ask_for(const void *memory, size_t bytes) {
    const char *at = memory, *end = at + bytes;
    __builtin_prefetch(at);
    for (at += LINE - (uintptr_t)at % LINE; at < end; at += LINE)
        __builtin_prefetch(at);
}

static void ask_for_instance(PyObject *object) {
    ask_for((const char *)object - IN_FRONT, IN_FRONT + OF_INSTANCE);
}

/* The tables of dicts: indices, then an entry of two or three pointers for each. */
static void ask_for_tables(PyObject *const *dicts, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (dicts[i] != NULL && PyDict_CheckExact(dicts[i]))
            ask_for(((PyDictObject *)dicts[i])->ma_keys,
                    2 * LINE + 16 * (size_t)PyDict_GET_SIZE(dicts[i]));
}

/* out[i] = the attribute of objects[i], or NULL; `bytes` of it will be needed. */
static void attributes(PyObject *const *objects, PyObject *name, Py_ssize_t n, size_t bytes,
                       PyObject **out) {
    for (Py_ssize_t i = 0; i < n; i++) {
        out[i] = ext_quiet_attr(objects[i], name);
        if (out[i] != NULL)
            ask_for(out[i], bytes);
    }
}

static void items(PyObject *const *dicts, PyObject *name, Py_ssize_t n, size_t bytes,
                  PyObject **out) {
    for (Py_ssize_t i = 0; i < n; i++) {
        out[i] =
            dicts[i] != NULL && PyDict_CheckExact(dicts[i]) ? ext_quiet_item(dicts[i], name) : NULL;
        if (out[i] != NULL)
            ask_for(out[i], bytes);
    }
}

static void first_of(PyObject *const *lists, Py_ssize_t n, PyObject **out) {
    for (Py_ssize_t i = 0; i < n; i++) {
        bool any = lists[i] != NULL && PyList_CheckExact(lists[i]) && PyList_GET_SIZE(lists[i]) > 0;
        out[i] = any ? Py_NewRef(PyList_GET_ITEM(lists[i], 0)) : NULL;
        if (out[i] != NULL)
            ask_for_instance(out[i]);
    }
}

static void release(PyObject **objects, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        Py_CLEAR(objects[i]);
}

/* Members of some branches, each a new reference or NULL. */
typedef struct abreast {
    PyObject *name[ABREAST], *bytes[ABREAST], *uncompressed_bytes[ABREAST];
    PyObject *inner[ABREAST]; /* the list of the branches inside */
} abreast;

/* A plain TBranch has the sizes in its own members and the name in those of its first base, TNamed. */
static void look_where_they_are(ext_state *state, PyObject *const *branches, Py_ssize_t n,
                                abreast *out) {
    PyObject *members[ABREAST], *bases[ABREAST], *base[ABREAST], *of_base[ABREAST], *array[ABREAST];
    for (Py_ssize_t i = 0; i < n; i++)
        ask_for_instance(branches[i]);
    attributes(branches, state->str_members, n, sizeof(PyDictObject), members);
    attributes(branches, state->str_bases, n, sizeof(PyListObject), bases);
    ask_for_tables(members, n);
    first_of(bases, n, base);
    items(members, state->str_f_zip_bytes, n, sizeof(PyLongObject), out->bytes);
    items(members, state->str_f_tot_bytes, n, sizeof(PyLongObject), out->uncompressed_bytes);
    items(members, state->str_f_branches, n, OF_INSTANCE, array);
    attributes(base, state->str_members, n, sizeof(PyDictObject), of_base);
    ask_for_tables(of_base, n);
    attributes(array, state->str_data, n, sizeof(PyListObject), out->inner);
    items(of_base, state->str_f_name, n, OF_NAME, out->name);
    release(array, n);
    release(of_base, n);
    release(base, n);
    release(bases, n);
    release(members, n);
}

/* Of another kind of branch some are further up. */
static void look_everywhere(ext_state *state, PyObject *branch, PyObject *name, PyObject **out) {
    if (*out == NULL)
        *out = ext_root_member(state, branch, name);
}

/* The list in the TObjArray of an object that has branches. */
static PyObject *branches_of(ext_state *state, PyObject *object) {
    PyObject *array = ext_root_member(state, object, state->str_f_branches);
    PyObject *list = ext_quiet_attr(array, state->str_data);
    Py_XDECREF(array);
    return list;
}

static void read_abreast(ext_state *state, PyObject *const *branches, Py_ssize_t n, abreast *out) {
    look_where_they_are(state, branches, n, out);
    for (Py_ssize_t i = 0; i < n; i++) {
        look_everywhere(state, branches[i], state->str_f_name, &out->name[i]);
        look_everywhere(state, branches[i], state->str_f_zip_bytes, &out->bytes[i]);
        look_everywhere(state, branches[i], state->str_f_tot_bytes, &out->uncompressed_bytes[i]);
        if (out->inner[i] == NULL)
            out->inner[i] = branches_of(state, branches[i]);
    }
}

static void release_abreast(abreast *of, Py_ssize_t n) {
    release(of->name, n);
    release(of->bytes, n);
    release(of->uncompressed_bytes, n);
    release(of->inner, n);
}

/* ---- all of them ---- */

static void add_branches(ext_state *state, PyObject *list, roast_str outer, int depth,
                         ext_sizes *out);

/* Those inside of the branch that was added last, by the names that tree.keys() gives them. */
static void add_inner(ext_state *state, PyObject *list, int depth, ext_sizes *out) {
    PyObject *inner = ext_quiet_items(Py_XNewRef(list));
    if (inner != NULL && PyTuple_GET_SIZE(inner) > 0) {
        out->nested = true;
        /* The text of the names moves as it grows. */
        roast_str path = ext_sizes_name(out, out->count - 1);
        char *copy = roast_alloc(path.len + 1);
        if (copy == NULL || depth == 0)
            out->failed = true;
        else
            add_branches(state, inner, (roast_str){memcpy(copy, path.data, path.len), path.len},
                         depth - 1, out);
        roast_free(copy);
    }
    Py_XDECREF(inner);
}

static void add_branches(ext_state *state, PyObject *list, roast_str outer, int depth,
                         ext_sizes *out) {
    Py_ssize_t n = PyTuple_GET_SIZE(list);
    for (Py_ssize_t from = 0; !out->failed && from < n; from += ABREAST) {
        Py_ssize_t count = n - from < ABREAST ? n - from : ABREAST;
        abreast some;
        read_abreast(state, &PyTuple_GET_ITEM(list, from), count, &some);
        for (Py_ssize_t i = 0; !out->failed && i < count; i++) {
            roast_str name;
            if (!ext_quiet_text(some.name[i], &name)) {
                out->failed = true;
                break;
            }
            ext_sizes_add(out, outer, name, -1, size_of(Py_XNewRef(some.bytes[i])),
                          size_of(Py_XNewRef(some.uncompressed_bytes[i])));
            if (!out->failed)
                add_inner(state, some.inner[i], depth, out);
        }
        release_abreast(&some, count);
    }
}

bool ext_root_tree_sizes(ext_state *state, PyObject *tree, ext_sizes *out) {
    PyObject *branches = ext_quiet_items(branches_of(state, tree));
    if (branches == NULL)
        return false;
    out->tree_bytes = size_of(ext_root_member(state, tree, state->str_f_zip_bytes));
    out->tree_uncompressed_bytes = size_of(ext_root_member(state, tree, state->str_f_tot_bytes));
    add_branches(state, branches, (roast_str){NULL, 0}, DEEPEST, out);
    Py_DECREF(branches);
    out->total_branches = out->count;
    return true;
}
