#include "worker/open_chunk.h"

#include "common/errors.h"

#include <unistd.h>
#include <sys/syscall.h>

static _Thread_local open_chunk *here;
static open_chunk *all;          /* of all threads; under the GIL */
static uint64_t next_serial = 1; /* under the GIL */

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

static PyObject *place_of(PyObject *name, roast_section_kind kind, int32_t parent) {
    return Py_BuildValue("(Oii)", name, (int)kind, (int)parent);
}

/* places[place] = index; false: no memory. */
static bool put_place(PyObject *places, PyObject *place, size_t index) {
    PyObject *number = PyLong_FromSize_t(index);
    bool done = place != NULL && number != NULL && PyDict_SetItem(places, place, number) == 0;
    Py_XDECREF(number);
    if (!done)
        PyErr_Clear(); /* a MemoryError: the names are exact str */
    return done;
}

/* The dict of all places; of several sections alike the latest is the one that is found. NULL: no memory. */
static PyObject *places_of(open_chunk *chunk) {
    if (chunk->places != NULL)
        return chunk->places;
    PyObject *places = PyDict_New();
    for (size_t i = 0; places != NULL && i < chunk->n_sections; i++) {
        const open_section *section = &chunk->sections[i];
        PyObject *place = place_of(section->name, section->kind, section->parent);
        if (!put_place(places, place, i))
            Py_CLEAR(places);
        Py_XDECREF(place);
    }
    if (chunk->places ==
        NULL) /* a new object may set off a collection, and that may enter a section */
        chunk->places = places;
    else
        Py_XDECREF(places);
    return chunk->places;
}

int32_t open_chunk_enter(open_chunk *chunk, PyObject *name, roast_section_kind kind, int64_t now,
                         int64_t before) {
    int32_t index = -1;
    PyObject *places = chunk->n_sections >= EXT_SECTIONS_KEPT ? places_of(chunk) : NULL;
    PyObject *place = places != NULL ? place_of(name, kind, chunk->top) : NULL;
    PyObject *known = place != NULL ? PyDict_GetItemWithError(places, place) : NULL;
    if (known != NULL)
        index = (int32_t)PyLong_AsLong(known);
    if (index < 0) {
        if (chunk->n_sections >= ROAST_MAX_SECTIONS ||
            (chunk->n_sections == chunk->capacity && !grow_sections(chunk))) {
            chunk->dropped_sections++;
            Py_XDECREF(place);
            return -1;
        }
        index = (int32_t)chunk->n_sections++;
        chunk->sections[index] = (open_section){
            .name = Py_NewRef(name), .kind = kind, .parent = chunk->top, .start_ns = now};
        chunk->sections[index].before = before;
        if (place != NULL)
            put_place(places, place, (size_t)index);
    }
    Py_XDECREF(place);
    open_section *section = &chunk->sections[index];
    section->open_uses++;
    section->count++;
    section->last_start = now;
    chunk->top = index;
    return index;
}

void open_chunk_exit(open_chunk *chunk, int32_t index, int64_t value) {
    open_section *section = &chunk->sections[index];
    section->value = roast_add_capped(section->value, value);
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

PyObject *ext_part_of(PyObject *mapping, PyObject *part) {
    PyObject *inner = NULL;
    if (ext_optional_item(mapping, part, &inner) != 0)
        return inner;
    inner = PyDict_New();
    if (inner != NULL && PyObject_SetItem(mapping, part, inner) != 0)
        Py_CLEAR(inner);
    return inner;
}

int ext_add_to_mapping(PyObject *mapping, PyObject *part, PyObject *name, double value) {
    PyObject *inner = ext_part_of(mapping, part);
    int result = inner != NULL ? add_value(inner, name, value) : -1;
    Py_XDECREF(inner);
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

open_chunk *open_chunk_here(void) {
    return here;
}

open_chunk *open_chunk_if_alive(open_chunk *wanted, uint64_t serial) {
    return here != NULL && here == wanted && here->serial == serial ? here : NULL;
}

void open_chunk_miss(PyObject *processor) {
    open_chunk *chunk = all;
    while (chunk != NULL && processor != Py_None && chunk->processor != processor &&
           chunk->events != processor)
        chunk = chunk->next;
    if (chunk != NULL)
        chunk->dropped_sections++;
}

open_chunk *open_chunk_begin(PyObject *processor, PyObject *events) {
    open_chunk *chunk = roast_alloc_zero(sizeof *chunk);
    if (chunk == NULL) {
        ext_count_fault("no memory to measure a chunk", NULL);
        return NULL;
    }
    chunk->serial = next_serial++;
    chunk->processor = processor;
    chunk->events = events;
    chunk->top = -1;
    chunk->next = all;
    all = here = chunk;
    return chunk;
}

/* CPU time next to the clock: the time of the other readings does not belong to the chunk. */
static const unsigned INNER = ROAST_READ_USAGE | ROAST_READ_PEAK;

/* -1: not read. */
static int64_t thread_cpu(const roast_reading *reading) {
    const uint32_t both = ROAST_HAVE(cpu_user_ns) | ROAST_HAVE(cpu_system_ns);
    return (reading->have & both) == both ? (int64_t)(reading->cpu_user_ns + reading->cpu_system_ns)
                                          : -1;
}

void open_chunk_start(open_chunk *chunk) {
    roast_probe_read(ROAST_READ_ALL & ~INNER, &chunk->before);
    if (chunk->before.have & ROAST_HAVE(rss_bytes))
        chunk->watch = roast_sampler_open(chunk->before.rss_bytes);
    roast_probe_read(INNER, &chunk->before);
    roast_helpers_begin(&chunk->helpers, thread_cpu(&chunk->before));
    chunk->start_utc = roast_utc_now();
    chunk->start = roast_mono_now();
}

static void close_sections(open_chunk *chunk, int64_t now) {
    for (size_t i = 0; i < chunk->n_sections; i++) {
        open_section *section = &chunk->sections[i];
        /* Left open, for instance by an unfinished generator: it lasted until now. */
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
    uint64_t peak = roast_sampler_close(chunk->watch, after->rss_bytes);
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

/* Counters of the kernel: the chunk's share is the difference. */
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
    /* Digits below a microsecond are noise, and would take space in every chunk. */
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
 * charged to the running thread. */
static void limit_cpu(roast_chunk *chunk) {
    int64_t limit = to_microseconds(chunk->duration_ns + 499);
    if (chunk->cpu_system_ns > limit)
        chunk->cpu_system_ns = limit;
    if (chunk->cpu_user_ns > limit - chunk->cpu_system_ns)
        chunk->cpu_user_ns = limit - chunk->cpu_system_ns;
}

/* The chunk's own thread, and its share of the threads that run no chunk. */
static void put_process_cpu(bool known, int64_t others, roast_chunk *out) {
    const uint64_t own = ROAST_CHUNK_HAS(cpu_user_ns) | ROAST_CHUNK_HAS(cpu_system_ns);
    if (!known || (out->have & own) != own)
        return;
    out->cpu_process_ns = out->cpu_user_ns + out->cpu_system_ns + to_microseconds(others);
    out->have |= ROAST_CHUNK_HAS(cpu_process_ns);
}

static void leave_thread(open_chunk *chunk) {
    open_chunk **link = &all;
    while (*link != NULL && *link != chunk)
        link = &(*link)->next;
    if (*link != NULL)
        *link = chunk->next;
    if (here == chunk)
        here = NULL;
}

void open_chunk_measure(open_chunk *chunk, roast_chunk *out) {
    roast_mono end = roast_mono_now();
    out->duration_ns = roast_mono_since(chunk->start, end);
    out->start_us = chunk->start_utc.ns / 1000;
    out->thread = syscall(SYS_gettid);
    out->have |= ROAST_CHUNK_HAS(duration_ns) | ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(thread);
    roast_reading after = {0};
    roast_probe_read(INNER, &after);
    int64_t others = 0;
    bool known = roast_helpers_end(&chunk->helpers, thread_cpu(&after), &others);
    chunk->helpers.process = 0;
    roast_probe_read(ROAST_READ_ALL & ~INNER, &after);
    put_memory(chunk, &after, out);
    put_differences(&chunk->before, &after, out);
    limit_cpu(out);
    put_process_cpu(known, others, out);
    close_sections(chunk, out->duration_ns);
    if (chunk->dropped_sections > 0) {
        out->dropped_sections = chunk->dropped_sections;
        out->have |= ROAST_CHUNK_HAS(dropped_sections);
    }
    leave_thread(chunk);
}

void open_chunk_end(open_chunk *chunk) {
    int64_t unused;
    roast_sampler_close(chunk->watch, 0);
    roast_helpers_end(&chunk->helpers, -1, &unused);
    leave_thread(chunk);
    for (size_t i = 0; i < chunk->n_sections; i++)
        Py_DECREF(chunk->sections[i].name);
    Py_XDECREF(chunk->mapping);
    Py_XDECREF(chunk->places);
    roast_free(chunk->sections);
    roast_free(chunk);
}

/* ---- settings ---- */

PyObject *ext_configure(PyObject *module, PyObject *args, PyObject *kwargs) {
    (void)module;
    static char *keywords[] = {"sampler_interval", NULL};
    PyObject *interval = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$O:configure", keywords, &interval))
        return NULL;
    if (interval != Py_None) {
        double seconds = PyFloat_AsDouble(interval);
        if (seconds == -1.0 && PyErr_Occurred())
            return NULL;
        if (!(seconds >= 0) || seconds > 3600) {
            PyErr_SetString(PyExc_ValueError,
                            "sampler_interval: seconds from 0 (off) to 3600 are expected");
            return NULL;
        }
        roast_sampler_set_interval((int64_t)(seconds * 1e9));
    }
    return Py_BuildValue("{s:d}", "sampler_interval", (double)roast_sampler_interval() * 1e-9);
}

PyObject *ext_sampler_stats(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    roast_sampler_stats stats;
    roast_sampler_get_stats(&stats);
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:d}", "samples", (unsigned long long)stats.samples,
                         "missed", (unsigned long long)stats.missed, "watches",
                         (unsigned long long)stats.watches, "thread_starts",
                         (unsigned long long)stats.thread_starts, "cpu_seconds",
                         (double)stats.cpu_ns * 1e-9);
}
