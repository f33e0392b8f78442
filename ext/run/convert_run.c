#include "run/convert_run.h"

#include "common/values.h"

#include "common/errors.h"
#include "common/pairs.h"
#include "records/tracking_data.h"
#include "records/worker_series.h"

#include <math.h>

/* ---- small steps ---- */

static int out_of_range(const char *what) {
    PyErr_Format(PyExc_ValueError, "%s: a number out of range", what);
    return -1;
}

/* A number in units of `scale` as a whole number. */
static int whole(double value, double scale, const char *what, int64_t *out) {
    return ext_to_steps(value, scale, out) ? 0 : out_of_range(what);
}

/* Integers as they are, other numbers rounded; of a list or set its size. */
static int integer(PyObject *value, const char *what, int64_t *out) {
    double number;
    if (PyIndex_Check(value)) {
        int overflow;
        PyObject *index = PyNumber_Index(value);
        *out = index != NULL ? PyLong_AsLongLongAndOverflow(index, &overflow) : -1;
        Py_XDECREF(index);
        if (PyErr_Occurred())
            return -1;
        return overflow == 0 ? 0 : out_of_range(what);
    }
    if (PyList_Check(value) || PyTuple_Check(value) || PyAnySet_Check(value)) {
        *out = PyObject_Size(value);
        return *out >= 0 ? 0 : -1;
    }
    return ext_real(value, what, &number) != 0 ? -1 : whole(number, 1, what, out);
}

/* ---- life ---- */

int run_input_init(run_input *input, ext_state *state) {
    roast_error err;
    *input = (run_input){.state = state};
    return ext_raised(roast_run_new(&input->run, &err), &err);
}

void run_input_reset(run_input *input) {
    roast_metrics_free(input->metrics);
    roast_findings_free(input->findings);
    roast_run_free(input->run);
    log_core_let_go(input->chunks);
    ext_shared_let_go(input->series);
    ext_shared_let_go(input->attempts);
    *input = (run_input){.state = input->state};
}

/* ---- clock and report ---- */

int run_input_set_clock(run_input *input, PyObject *start, PyObject *end) {
    double from, to;
    if (ext_is_none(start) || ext_is_none(end))
        return 0;
    if (ext_real(start, "t_start", &from) != 0 || ext_real(end, "t_end", &to) != 0)
        return -1;
    if (!isfinite(from) || !isfinite(to))
        return out_of_range(isfinite(from) ? "t_end" : "t_start");
    roast_run_set_clock(input->run, from, to);
    return 0;
}

static int report_integer(PyObject *report, const char *key, bool *have, int64_t *out) {
    PyObject *value;
    if (ext_entry(report, key, &value) != 0)
        return -1;
    *have = value != NULL;
    int result = value != NULL ? integer(value, key, out) : 0;
    Py_XDECREF(value);
    return result;
}

static int report_real(PyObject *report, const char *key, bool *have, double *out) {
    PyObject *value;
    if (ext_entry(report, key, &value) != 0)
        return -1;
    *have = value != NULL;
    int result = value != NULL ? ext_real(value, key, out) : 0;
    Py_XDECREF(value);
    return result == 0 && *have && !isfinite(*out) ? out_of_range(key) : result;
}

static int read_report(PyObject *report, roast_report *out) {
    if (report_integer(report, "entries", &out->have_entries, &out->entries) != 0 ||
        report_integer(report, "bytesread", &out->have_bytesread, &out->bytesread) != 0 ||
        report_integer(report, "chunks", &out->have_chunks, &out->chunks) != 0)
        return -1;
    return report_real(report, "processtime", &out->have_processtime, &out->processtime);
}

static int add_columns(roast_run *run, PyObject *report) {
    PyObject *columns;
    if (ext_entry(report, "columns", &columns) != 0)
        return -1;
    if (columns == NULL)
        return 0;
    PyObject *list = PyUnicode_Check(columns) ? NULL : PySequence_List(columns);
    int result = 0;
    if (list == NULL && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError))) {
        PyErr_Format(PyExc_TypeError, "columns: a list of str is expected, not %s",
                     Py_TYPE(columns)->tp_name);
        result = -1;
    }
    for (Py_ssize_t i = 0; list != NULL && result == 0 && i < PyList_GET_SIZE(list); i++) {
        roast_str column;
        roast_error err;
        PyObject *held = ext_text_of(PyList_GET_ITEM(list, i), "columns", &column);
        result = held != NULL ? ext_raised(roast_run_add_column(run, column, &err), &err) : -1;
        Py_XDECREF(held);
    }
    Py_DECREF(columns);
    Py_XDECREF(list);
    return list != NULL ? result : -1;
}

static int add_total(int64_t *total, bool *have, int64_t more, const char *what) {
    if (__builtin_add_overflow(*total, more, total))
        return out_of_range(what);
    *have = true;
    return 0;
}

/* Adds the totals of one dataset. */
static int add_dataset(PyObject *dataset, roast_report *totals) {
    bool have;
    int64_t number;
    double seconds;
    PyObject *counters;
    if (ext_check_mapping(dataset, "custom_metrics") != 0 ||
        report_integer(dataset, "entries", &have, &number) != 0 ||
        (have && add_total(&totals->entries, &totals->have_entries, number, "entries") != 0) ||
        report_real(dataset, "duration", &have, &seconds) != 0)
        return -1;
    if (have) {
        totals->processtime += seconds;
        totals->have_processtime = true;
    }
    if (ext_entry(dataset, "performance_counters", &counters) != 0)
        return -1;
    if (counters == NULL)
        return 0;
    int result = ext_check_mapping(counters, "performance_counters");
    if (result == 0)
        result = report_integer(counters, "num_requested_bytes", &have, &number);
    if (result == 0 && have)
        result =
            add_total(&totals->bytesread, &totals->have_bytesread, number, "num_requested_bytes");
    Py_DECREF(counters);
    return result;
}

static int read_custom(PyObject *custom, roast_report *report) {
    roast_report totals = {0};
    ext_pairs pairs;
    int result = ext_pairs_open(&pairs, custom, "custom_metrics");
    while (result == 0 && ext_pairs_next(&pairs))
        result = add_dataset(pairs.value, &totals);
    ext_pairs_close(&pairs);
    if (result == 0 && totals.have_entries) {
        report->have_entries = true;
        report->entries = totals.entries;
    }
    if (result == 0 && totals.have_bytesread) {
        report->have_bytesread = true;
        report->bytesread = totals.bytesread;
    }
    if (result == 0 && totals.have_processtime) {
        report->have_processtime = true;
        report->processtime = totals.processtime;
    }
    return result;
}

int run_input_set_report(run_input *input, PyObject *report, PyObject *custom) {
    roast_report read = {0};
    if (!ext_is_none(report) &&
        (ext_check_mapping(report, "coffea_report") != 0 || read_report(report, &read) != 0 ||
         add_columns(input->run, report) != 0))
        return -1;
    if (!ext_is_none(custom) && read_custom(custom, &read) != 0)
        return -1;
    roast_run_set_report(input->run, &read);
    return 0;
}

/* ---- workers ---- */

int run_input_set_tracking(run_input *input, PyObject *tracking) {
    if (ext_is_none(tracking))
        return 0;
    input->series = ext_series_hold(input->state, tracking);
    if (input->series == NULL) {
        roast_series *series, *counts;
        if (ext_tracking_series(tracking, &series, &counts) != 0)
            return -1;
        roast_run_take_counts(input->run, counts);
        input->series = ext_series_share(series);
    }
    if (input->series == NULL)
        return -1;
    roast_run_lend_series(input->run, input->series->part);
    return 0;
}

/* ---- spans ---- */

enum { SPAN_PARTS = 4 };
typedef enum span_part { CONTEXT, PREFIX, ACTIVITY, UNIT } span_part;

static bool is_one_of(roast_str text, const char *const names[], size_t count) {
    for (size_t i = 0; i < count; i++)
        if (roast_str_equal(text, roast_str_of(names[i])))
            return true;
    return false;
}

/* Activities without a unit: Dask counts bytes of these and seconds of all others. */
static const char *unit_of(roast_str activity) {
    static const char *const in_bytes[] = {"memory-read", "disk-read", "disk-write"};
    return is_one_of(activity, in_bytes, sizeof in_bytes / sizeof *in_bytes) ? "bytes" : "seconds";
}

/* Of three parts: ("execute", prefix, activity), as helpers of 0.1.x take it, or (context, activity, unit) as Dask has
 * it outside tasks. */
static bool lacks_unit(Py_ssize_t size, const roast_span_value *span) {
    static const char *const units[] = {"seconds", "bytes", "count"};
    return size == 3 && roast_str_equal(span->context, roast_str_of("execute")) &&
           !is_one_of(span->unit, units, sizeof units / sizeof *units);
}

/* The name of a part from its place in a tuple, counted from the end: (..., prefix, activity, unit). */
static int part_at(PyObject *key, Py_ssize_t from_end, PyObject **held, roast_str *out) {
    Py_ssize_t size = PyTuple_GET_SIZE(key);
    PyObject *item = PyTuple_GET_ITEM(key, size - from_end);
    if (item == Py_None)
        return 0;
    PyObject *text = PyObject_Str(item);
    *held = text != NULL ? ext_utf8(text, out) : NULL;
    Py_XDECREF(text);
    return *held != NULL ? 0 : -1;
}

/* 0; a key of another form has no activity. */
static int read_tuple(PyObject *key, PyObject *held[SPAN_PARTS], roast_span_value *out) {
    Py_ssize_t size = PyTuple_GET_SIZE(key);
    if (size < 2)
        return 0;
    if (part_at(key, 1, &held[UNIT], &out->unit) != 0 ||
        part_at(key, 2, &held[ACTIVITY], &out->activity) != 0 ||
        (size >= 3 && part_at(key, size, &held[CONTEXT], &out->context) != 0) ||
        (size >= 4 && part_at(key, 3, &held[PREFIX], &out->prefix) != 0))
        return -1;
    if (lacks_unit(size, out)) {
        out->prefix = out->activity;
        out->activity = out->unit;
        out->unit = roast_str_of(unit_of(out->activity));
    }
    return 0;
}

static int read_span(PyObject *key, PyObject *held[SPAN_PARTS], roast_span_value *out) {
    /* Without a context: of no task. */
    out->context = roast_str_of("worker");
    if (PyTuple_Check(key))
        return read_tuple(key, held, out);
    if (!PyUnicode_Check(key))
        return 0;
    held[ACTIVITY] = ext_utf8(key, &out->activity);
    if (held[ACTIVITY] == NULL)
        return -1;
    out->unit = roast_str_of(unit_of(out->activity));
    return 0;
}

/* A figure whose key or value is of a form that we do not know is left out, not the run: a later Dask may have more. */
static int note_span(roast_run *run, PyObject *key, const char *reason) {
    roast_str note;
    roast_error err;
    PyObject *text =
        PyUnicode_FromFormat("the figure %.200R of a span was left out: %s", key, reason);
    PyObject *held = text != NULL ? ext_utf8(text, &note) : NULL;
    int result = held != NULL ? ext_raised(roast_run_add_note(run, note, &err), &err) : -1;
    Py_XDECREF(text);
    Py_XDECREF(held);
    return result;
}

static int add_span(roast_run *run, PyObject *key, PyObject *value, uint64_t *left_out) {
    enum { NOTED = 10 };
    PyObject *held[SPAN_PARTS] = {NULL};
    roast_span_value span = {.value = 0};
    const char *reason = NULL;
    roast_error err;
    int result = read_span(key, held, &span);
    if (result == 0) {
        span.value = PyFloat_AsDouble(value);
        if (PyErr_Occurred()) {
            reason = "it is no number";
            result = ext_drop_exception();
        } else if (!isfinite(span.value)) {
            reason = isnan(span.value) ? "it is nan" : "it is infinite";
        }
    }
    if (span.context.data == NULL || span.activity.data == NULL || span.unit.data == NULL)
        reason = "its name has another form";
    if (result == 0 && reason == NULL)
        result = ext_raised(roast_run_add_span(run, &span, &err), &err);
    else if (result == 0 && (*left_out)++ < NOTED)
        result = note_span(run, key, reason);
    for (int i = 0; i < SPAN_PARTS; i++)
        Py_XDECREF(held[i]);
    return result;
}

static int add_spans(roast_run *run, PyObject *spans) {
    ext_pairs pairs;
    uint64_t left_out = 0;
    int result = ext_pairs_open(&pairs, spans, "spans");
    while (result == 0 && ext_pairs_next(&pairs))
        result = add_span(run, pairs.key, pairs.value, &left_out);
    ext_pairs_close(&pairs);
    return result;
}

static int set_processor(roast_run *run, PyObject *processor) {
    roast_str name;
    roast_error err;
    if (ext_is_none(processor))
        return 0;
    PyObject *held = ext_text_of(processor, "processor_name", &name);
    if (held == NULL)
        return -1;
    int result = name.len > 0 ? ext_raised(roast_run_set_processor(run, name, &err), &err) : 0;
    Py_DECREF(held);
    return result;
}

int run_input_set_spans(run_input *input, PyObject *spans, PyObject *processor) {
    PyObject *inner;
    if (set_processor(input->run, processor) != 0)
        return -1;
    if (ext_is_none(spans))
        return 0;
    if (ext_check_mapping(spans, "span_metrics") != 0 ||
        ext_entry(spans, "cumulative_worker_metrics", &inner) != 0)
        return -1;
    int result = inner != NULL ? ext_check_mapping(inner, "cumulative_worker_metrics") : 0;
    if (result == 0)
        result = add_spans(input->run, inner != NULL ? inner : spans);
    Py_XDECREF(inner);
    return result;
}

/* ---- chunks ---- */

int run_input_set_chunks(run_input *input, PyObject *chunks) {
    if (ext_is_none(chunks))
        return 0;
    input->chunks = ext_packed_view(input->state, chunks);
    if (input->chunks == NULL)
        return -1;
    roast_run_lend_chunks(input->run, input->chunks->log);
    return 0;
}

/* ---- sections that were recorded by hand ---- */

/* One row a way to say it: key, what it measures, how many of its units there are in one. */
static const struct {
    const char *key;
    roast_section_kind kind;
    double scale;
} section_keys[] = {
    {"time_delta", ROAST_SECTION_TIME, 1e9},        {"duration", ROAST_SECTION_TIME, 1e9},
    {"memory_delta_gb", ROAST_SECTION_MEMORY, 1e9}, {"mem_delta_mb", ROAST_SECTION_MEMORY, 1e6},
    {"memory_delta_mb", ROAST_SECTION_MEMORY, 1e6}, {"bytes", ROAST_SECTION_BYTES, 1},
};

/* *name: a new reference, or NULL where there is none. */
static int section_name(PyObject *entry, PyObject **name) {
    static const char *const keys[] = {"section_name", "name", "section"};
    *name = NULL;
    for (size_t i = 0; *name == NULL && i < sizeof keys / sizeof *keys; i++)
        if (ext_entry(entry, keys[i], name) != 0)
            return -1;
    return 0;
}

/* All measurements of one entry, one section per kind. Returns how many, or -1. */
static int read_measures(PyObject *entry, roast_str name,
                         roast_section sections[ROAST_SECTION_KINDS]) {
    bool seen[ROAST_SECTION_KINDS] = {false};
    int count = 0;
    for (size_t i = 0; i < sizeof section_keys / sizeof *section_keys; i++) {
        const char *key = section_keys[i].key;
        PyObject *value;
        double number;
        if (ext_entry(entry, key, &value) != 0)
            return -1;
        if (value == NULL)
            continue;
        int failed = ext_real(value, key, &number);
        Py_DECREF(value);
        if (failed)
            return -1;
        if (seen[section_keys[i].kind])
            continue;
        roast_section *section = &sections[count];
        *section =
            (roast_section){.name = name, .kind = section_keys[i].kind, .parent = -1, .count = 1};
        if (whole(number, section_keys[i].scale, key, &section->value) != 0)
            return -1;
        seen[section->kind] = true;
        count++;
    }
    return count;
}

static int note_section(roast_run *run, PyObject *name) {
    roast_str note;
    roast_error err;
    PyObject *text =
        name == NULL
            ? PyUnicode_FromString("a recorded section was left out: it has no name")
            : PyUnicode_FromFormat("the recorded section %.200R was left out: it has neither "
                                   "a duration nor a change of memory nor bytes",
                                   name);
    PyObject *held = text != NULL ? ext_utf8(text, &note) : NULL;
    int result = held != NULL ? ext_raised(roast_run_add_note(run, note, &err), &err) : -1;
    Py_XDECREF(text);
    Py_XDECREF(held);
    return result;
}

/* A record of its own in the log, with these sections and nothing else. */
static int add_section(roast_run *run, roast_chunklog *log, PyObject *entry) {
    roast_section sections[ROAST_SECTION_KINDS];
    roast_error err;
    PyObject *name;
    roast_str text;
    if (ext_check_mapping(entry, "section_metrics") != 0 || section_name(entry, &name) != 0)
        return -1;
    if (name == NULL)
        return note_section(run, NULL);
    PyObject *held = ext_text_of(name, "section_name", &text);
    int count = held != NULL ? read_measures(entry, text, sections) : -1;
    int result = count;
    if (count == 0)
        result = note_section(run, name);
    if (count > 0) {
        roast_chunk chunk = {.sections = sections, .n_sections = (uint32_t)count};
        result = ext_raised(roast_chunklog_append(log, &chunk, &err), &err);
    }
    Py_XDECREF(held);
    Py_DECREF(name);
    return result;
}

int run_input_set_sections(run_input *input, PyObject *sections) {
    roast_error err;
    if (ext_is_none(sections))
        return 0;
    PyObject *list = PySequence_List(sections);
    if (list == NULL) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "section_metrics: a list is expected, not %s",
                         Py_TYPE(sections)->tp_name);
        return -1;
    }
    Py_ssize_t n = PyList_GET_SIZE(list);
    roast_chunklog *log = NULL;
    int result = n > 0 ? ext_raised(roast_chunklog_new(&log, &err), &err) : 0;
    for (Py_ssize_t i = 0; result == 0 && i < n; i++)
        result = add_section(input->run, log, PyList_GET_ITEM(list, i));
    roast_run_take_sections(input->run, log);
    Py_DECREF(list);
    return result;
}
