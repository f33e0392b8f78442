#include "open_chunk.h"

#include "capped.h"
#include "errors.h"

#include <unistd.h>
#include <sys/syscall.h>

static _Thread_local open_chunk *innermost;
static uint64_t next_serial = 1; /* under the GIL */

/* ---- the sampler ---- */

unsigned ext_reading_groups = ROAST_READ_ALL;
static roast_sampler *the_sampler;
static bool sampler_failed;

static void stop_sampler(void) {
    roast_sampler_free(the_sampler);
    the_sampler = NULL;
    sampler_failed = true;
}

roast_sampler *ext_sampler(void) {
    if (the_sampler == NULL && !sampler_failed) {
        sampler_failed =
            roast_sampler_new(NULL, ROAST_SAMPLER_DEFAULT_NS, &the_sampler, NULL) != ROAST_OK ||
            Py_AtExit(stop_sampler) != 0;
    }
    return the_sampler;
}

/* ---- sections ---- */

static bool grow_sections(open_chunk *chunk) {
    size_t capacity = chunk->capacity == 0 ? 16 : chunk->capacity * 2;
    open_section *sections = roast_realloc(chunk->sections, capacity * sizeof *sections);
    if (sections == NULL)
        return false;
    chunk->sections = sections;
    chunk->capacity = capacity;
    return true;
}

/* ---- finding a section of the same name in the same place, once there are many ---- */

static size_t slot_of(const open_chunk *chunk, PyObject *name, roast_section_kind kind,
                      int32_t parent) {
    size_t mask = chunk->n_slots - 1;
    size_t slot =
        ((size_t)PyObject_Hash(name) ^ ((size_t)parent * 31 + (size_t)kind) * 0x9e3779b1u) & mask;
    for (; chunk->slots[slot] != 0; slot = (slot + 1) & mask) {
        const open_section *section = &chunk->sections[chunk->slots[slot] - 1];
        if (section->parent == parent && section->kind == kind &&
            (section->name == name || PyUnicode_Compare(section->name, name) == 0))
            break;
    }
    return slot;
}

/* A table that is at most half full; the latest of several alike is the one that is found. */
static bool make_slots(open_chunk *chunk) {
    if (chunk->n_slots >= 2 * (chunk->n_sections + 1))
        return true;
    size_t n = chunk->n_slots == 0 ? 4 * (size_t)EXT_SECTIONS_KEPT : chunk->n_slots * 2;
    uint32_t *slots = roast_alloc_zero(n * sizeof *slots);
    if (slots == NULL)
        return false;
    roast_free(chunk->slots);
    chunk->slots = slots;
    chunk->n_slots = n;
    for (size_t i = 0; i < chunk->n_sections; i++) {
        const open_section *section = &chunk->sections[i];
        slots[slot_of(chunk, section->name, section->kind, section->parent)] = (uint32_t)i + 1;
    }
    return true;
}

int32_t open_chunk_enter(open_chunk *chunk, PyObject *name, roast_section_kind kind, int64_t now,
                         int64_t before) {
    int32_t index = -1;
    size_t slot = 0;
    bool many = chunk->n_sections >= EXT_SECTIONS_KEPT && make_slots(chunk);
    if (many) {
        slot = slot_of(chunk, name, kind, chunk->top);
        index = (int32_t)chunk->slots[slot] - 1;
    }
    if (index < 0) {
        if (chunk->n_sections >= ROAST_MAX_SECTIONS ||
            (chunk->n_sections == chunk->capacity && !grow_sections(chunk))) {
            chunk->dropped_sections++;
            return -1;
        }
        index = (int32_t)chunk->n_sections++;
        chunk->sections[index] = (open_section){
            .name = Py_NewRef(name), .kind = kind, .parent = chunk->top, .start_ns = now};
        chunk->sections[index].before = before;
        if (many)
            chunk->slots[slot] = (uint32_t)index + 1;
    }
    open_section *section = &chunk->sections[index];
    section->open_uses++;
    section->count++;
    section->last_start = now;
    chunk->top = index;
    return index;
}

void open_chunk_exit(open_chunk *chunk, int32_t index, int64_t value) {
    open_section *section = &chunk->sections[index];
    section->value = ext_capped_add(section->value, value);
    section->open_uses--;
    /* The innermost one that is still open; others may have been left in another order. */
    while (chunk->top >= 0 && chunk->sections[chunk->top].open_uses == 0)
        chunk->top = chunk->sections[chunk->top].parent;
}

double open_section_public_value(roast_section_kind kind, int64_t value) {
    static const double per[ROAST_SECTION_KINDS] = {
        [ROAST_SECTION_TIME] = 1e9, [ROAST_SECTION_MEMORY] = 1e6, [ROAST_SECTION_BYTES] = 1};
    return (double)value / per[kind];
}

PyObject *open_section_part(const ext_state *state, roast_section_kind kind) {
    return kind == ROAST_SECTION_TIME     ? state->str_timing
           : kind == ROAST_SECTION_MEMORY ? state->str_memory
                                          : state->str_bytes;
}

/* ---- the mapping that users see ---- */

static int add_value(PyObject *part, PyObject *name, double value) {
    PyObject *sum = NULL, *old = NULL, *number = PyFloat_FromDouble(value);
    int result = -1;
    if (number == NULL)
        return -1;
    if (ext_optional_item(part, name, &old) >= 0)
        sum = old != NULL ? PyNumber_Add(old, number) : Py_NewRef(number);
    if (sum != NULL)
        result = PyObject_SetItem(part, name, sum);
    Py_XDECREF(sum);
    Py_XDECREF(old);
    Py_DECREF(number);
    return result;
}

int ext_add_to_mapping(PyObject *mapping, PyObject *part, PyObject *name, double value) {
    PyObject *inner = NULL;
    if (ext_optional_item(mapping, part, &inner) < 0)
        return -1;
    if (inner == NULL) {
        inner = PyDict_New();
        if (inner != NULL && PyObject_SetItem(mapping, part, inner) != 0)
            Py_CLEAR(inner);
    }
    if (inner == NULL)
        return -1;
    int result = add_value(inner, name, value);
    Py_DECREF(inner);
    return result;
}

PyObject *open_chunk_mapping(ext_state *state, open_chunk *chunk) {
    if (chunk->mapping != NULL)
        return chunk->mapping;
    PyObject *mapping = PyDict_New();
    if (mapping == NULL)
        return NULL;
    PyObject *const parts[] = {state->str_timing, state->str_memory, state->str_bytes};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        PyObject *inner = PyDict_New();
        if (inner == NULL || PyDict_SetItem(mapping, parts[i], inner) != 0) {
            Py_XDECREF(inner);
            Py_DECREF(mapping);
            return NULL;
        }
        Py_DECREF(inner);
    }
    for (size_t i = 0; i < chunk->n_sections; i++) {
        /* A copy: a new object may set off a collection, and that may enter a section. */
        const open_section section = chunk->sections[i];
        if (section.count > section.open_uses &&
            ext_add_to_mapping(mapping, open_section_part(state, section.kind), section.name,
                               open_section_public_value(section.kind, section.value)) != 0) {
            Py_DECREF(mapping);
            return NULL;
        }
    }
    if (chunk->mapping == NULL)
        chunk->mapping = mapping;
    else
        Py_DECREF(mapping);
    return chunk->mapping;
}

/* ---- life ---- */

open_chunk *open_chunk_of(PyObject *processor) {
    for (open_chunk *chunk = innermost; chunk != NULL; chunk = chunk->outer)
        if (chunk->processor == processor)
            return chunk;
    return NULL;
}

open_chunk *open_chunk_if_alive(open_chunk *wanted, uint64_t serial) {
    for (open_chunk *chunk = innermost; chunk != NULL; chunk = chunk->outer)
        if (chunk == wanted)
            return chunk->serial == serial ? chunk : NULL;
    return NULL;
}

open_chunk *open_chunk_begin(PyObject *processor) {
    open_chunk *chunk = roast_alloc_zero(sizeof *chunk);
    if (chunk == NULL) {
        ext_count_fault("no memory to measure a chunk", NULL);
        return NULL;
    }
    chunk->serial = next_serial++;
    chunk->processor = processor;
    chunk->top = -1;
    chunk->outer = innermost;
    innermost = chunk;
    return chunk;
}

void open_chunk_start(open_chunk *chunk) {
    const unsigned last = ROAST_READ_USAGE | ROAST_READ_PEAK | ROAST_READ_SCHED;
    roast_probe *probe = roast_probe_this_thread();
    roast_sampler *sampler = ext_sampler();
    roast_reading usage = {0};
    if (probe != NULL)
        roast_probe_read_before(probe, ext_reading_groups & ~last, &chunk->before);
    if (sampler != NULL && (chunk->before.have & ROAST_HAVE(rss_bytes)))
        chunk->watch = roast_sampler_open(sampler, chunk->before.rss_bytes);
    /* CPU time next to the clock: what the other readings take is not the chunk's. */
    if (probe != NULL)
        roast_probe_read_before(probe, ext_reading_groups & last, &usage);
    chunk->start_utc = roast_utc_now();
    chunk->start = roast_mono_now();
    chunk->before.have |= usage.have;
#define X(field, group, unit, text)                                                                \
    if (usage.have & ROAST_HAVE(field))                                                            \
        chunk->before.field = usage.field;
    ROAST_READING_LIST(X)
#undef X
}

static void close_sections(open_chunk *chunk, int64_t now) {
    for (size_t i = 0; i < chunk->n_sections; i++) {
        open_section *section = &chunk->sections[i];
        /* Left open, by a generator that nobody finished for instance: it lasted until now. */
        if (section->open_uses > 0 && section->kind == ROAST_SECTION_TIME)
            section->value += now - section->last_start;
        section->open_uses = 0;
    }
}

static void put_memory(open_chunk *chunk, const roast_reading *after, roast_chunk *out) {
    const roast_reading *before = &chunk->before;
    const uint32_t rss = ROAST_HAVE(rss_bytes), top = ROAST_HAVE(peak_rss_bytes);
    if (before->have & rss) {
        out->rss_before = (int64_t)before->rss_bytes;
        out->have |= ROAST_CHUNK_HAS(rss_before);
    }
    if (!(after->have & rss))
        return;
    out->rss_after = (int64_t)after->rss_bytes;
    out->have |= ROAST_CHUNK_HAS(rss_after);
    uint64_t peak = after->rss_bytes;
    if (chunk->watch != NULL)
        peak = roast_sampler_close(ext_sampler(), chunk->watch, peak);
    chunk->watch = NULL;
    if ((before->have & rss) && before->rss_bytes > peak)
        peak = before->rss_bytes;
    /* The process's own maximum rose meanwhile: then it was reached in here, and it is exact. */
    if ((before->have & after->have & top) && after->peak_rss_bytes > before->peak_rss_bytes &&
        after->peak_rss_bytes > peak)
        peak = after->peak_rss_bytes;
    out->rss_peak = (int64_t)peak;
    out->have |= ROAST_CHUNK_HAS(rss_peak);
}

static int64_t to_microseconds(int64_t ns) {
    return (ns + 500) / 1000 * 1000;
}

/* What is counted up by the kernel: the chunk's share is the difference. */
static void put_differences(const roast_reading *before, const roast_reading *after,
                            roast_chunk *out) {
#define DIFFERENCE(field, reading)                                                                 \
    if (before->have & after->have & ROAST_HAVE(reading)) {                                        \
        out->field = (int64_t)(after->reading - before->reading);                                  \
        out->have |= ROAST_CHUNK_HAS(field);                                                       \
    }
    DIFFERENCE(cpu_user_ns, cpu_user_ns)
    DIFFERENCE(cpu_system_ns, cpu_system_ns)
    if (out->cpu_user_ns < 0) {
        /* The sum is exact, but the kernel's share comes late, a tick at a time. */
        out->cpu_system_ns += out->cpu_user_ns;
        out->cpu_user_ns = 0;
    }
    /* Digits below a microsecond say nothing here, and would travel with every chunk. */
    out->cpu_user_ns = to_microseconds(out->cpu_user_ns);
    out->cpu_system_ns = to_microseconds(out->cpu_system_ns);
    DIFFERENCE(runqueue_wait_ns, runqueue_wait_ns)
    out->runqueue_wait_ns = to_microseconds(out->runqueue_wait_ns);
    DIFFERENCE(io_wait_ns, io_wait_ns)
    DIFFERENCE(minor_faults, minor_faults)
    DIFFERENCE(major_faults, major_faults)
    DIFFERENCE(voluntary_switches, voluntary_switches)
    DIFFERENCE(involuntary_switches, involuntary_switches)
    DIFFERENCE(os_read_bytes, read_chars)
    DIFFERENCE(os_read_calls, read_calls)
    DIFFERENCE(os_write_bytes, write_chars)
    DIFFERENCE(os_write_calls, write_calls)
    DIFFERENCE(storage_read_bytes, read_bytes)
    DIFFERENCE(storage_write_bytes, write_bytes)
#undef DIFFERENCE
}

/* A thread cannot compute for longer than time passes; but an interrupt between the clock and the reading is
 * charged to whoever runs. */
static void limit_cpu(roast_chunk *chunk) {
    int64_t limit = to_microseconds(chunk->duration_ns + 499);
    if (chunk->cpu_system_ns > limit)
        chunk->cpu_system_ns = limit;
    if (chunk->cpu_user_ns > limit - chunk->cpu_system_ns)
        chunk->cpu_user_ns = limit - chunk->cpu_system_ns;
}

/* The kernel's number of the calling thread, asked for once; in a forked child it has another. */
static int64_t own_thread_number(void) {
    static _Thread_local uint64_t known_in;
    static _Thread_local int64_t number;
    uint64_t process = roast_process_token();
    if (known_in != process) {
        number = syscall(SYS_gettid);
        known_in = process;
    }
    return number;
}

static void leave_stack(open_chunk *chunk) {
    for (open_chunk **link = &innermost; *link != NULL; link = &(*link)->outer)
        if (*link == chunk) {
            *link = chunk->outer;
            break;
        }
}

void open_chunk_measure(open_chunk *chunk, roast_chunk *out) {
    roast_mono end = roast_mono_now();
    out->duration_ns = roast_mono_since(chunk->start, end);
    out->start_us = chunk->start_utc.ns / 1000;
    out->thread = own_thread_number();
    out->have |= ROAST_CHUNK_HAS(duration_ns) | ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(thread);
    roast_reading after = {0};
    roast_probe *probe = roast_probe_this_thread();
    if (probe != NULL)
        roast_probe_read(probe, ext_reading_groups, &after);
    put_memory(chunk, &after, out);
    put_differences(&chunk->before, &after, out);
    limit_cpu(out);
    close_sections(chunk, out->duration_ns);
    if (chunk->dropped_sections > 0) {
        out->dropped_sections = chunk->dropped_sections;
        out->have |= ROAST_CHUNK_HAS(dropped_sections);
    }
    leave_stack(chunk);
}

void open_chunk_end(open_chunk *chunk) {
    if (chunk->watch != NULL)
        roast_sampler_close(ext_sampler(), chunk->watch, 0);
    leave_stack(chunk);
    for (size_t i = 0; i < chunk->n_sections; i++)
        Py_DECREF(chunk->sections[i].name);
    Py_XDECREF(chunk->mapping);
    roast_free(chunk->slots);
    roast_free(chunk->sections);
    roast_free(chunk);
}

/* ---- settings ---- */

static const struct {
    const char *name;
    unsigned group;
} group_names[] = {
    {"rss", ROAST_READ_STATM},      {"peak_rss", ROAST_READ_PEAK}, {"usage", ROAST_READ_USAGE},
    {"runqueue", ROAST_READ_SCHED}, {"io_wait", ROAST_READ_DELAY}, {"io", ROAST_READ_IO},
};

static int parse_groups(PyObject *names, unsigned *out) {
    PyObject *list = PySequence_Fast(names, "readings: a sequence of names is expected");
    if (list == NULL)
        return -1;
    unsigned groups = 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        const char *name = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(list, i));
        size_t k = 0, n = sizeof group_names / sizeof *group_names;
        while (name != NULL && k < n && strcmp(name, group_names[k].name) != 0)
            k++;
        if (name == NULL || k == n) {
            if (name != NULL)
                PyErr_Format(PyExc_ValueError,
                             "readings: unknown name '%s'; known are rss, peak_rss, usage, "
                             "runqueue, io_wait, io",
                             name);
            Py_DECREF(list);
            return -1;
        }
        groups |= group_names[k].group;
    }
    Py_DECREF(list);
    *out = groups;
    return 0;
}

PyObject *ext_configure(PyObject *module, PyObject *args, PyObject *kwargs) {
    (void)module;
    static char *keywords[] = {"readings", "sampler_interval", NULL};
    PyObject *readings = Py_None, *interval = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OO:configure", keywords, &readings,
                                     &interval))
        return NULL;
    unsigned groups = ext_reading_groups;
    double seconds = -1;
    if (readings != Py_None && parse_groups(readings, &groups) != 0)
        return NULL;
    if (interval != Py_None) {
        seconds = PyFloat_AsDouble(interval);
        if (seconds == -1.0 && PyErr_Occurred())
            return NULL;
        if (!(seconds >= 0) || seconds > 3600) {
            PyErr_SetString(PyExc_ValueError,
                            "sampler_interval: seconds from 0 (off) to 3600 are expected");
            return NULL;
        }
    }
    ext_reading_groups = groups;
    if (seconds >= 0 && ext_sampler() != NULL)
        roast_sampler_set_interval(ext_sampler(), (int64_t)(seconds * 1e9));
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names != NULL && i < sizeof group_names / sizeof *group_names; i++) {
        if (!(groups & group_names[i].group))
            continue;
        PyObject *name = PyUnicode_FromString(group_names[i].name);
        if (name == NULL || PyList_Append(names, name) != 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    if (names == NULL)
        return NULL;
    int64_t now = ext_sampler() != NULL ? roast_sampler_interval(ext_sampler()) : 0;
    return Py_BuildValue("{s:N,s:d}", "readings", names, "sampler_interval", (double)now * 1e-9);
}

PyObject *ext_sampler_stats(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    roast_sampler_stats stats = {0};
    if (ext_sampler() != NULL)
        roast_sampler_get_stats(ext_sampler(), &stats);
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:d}", "samples", (unsigned long long)stats.samples,
                         "missed", (unsigned long long)stats.missed, "watches",
                         (unsigned long long)stats.watches, "thread_starts",
                         (unsigned long long)stats.thread_starts, "cpu_seconds",
                         (double)stats.cpu_ns * 1e-9);
}
