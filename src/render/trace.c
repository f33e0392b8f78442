#include "render/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/buffer.h"
#include "render/tails.h"

/* Numbers of processes in the trace: the run as a whole, then the workers as they are met. */
enum { RUN_PROCESS = 0, FIRST_WORKER = 1 };

struct roast_trace {
    roast_json json;
    const roast_run *head;
    const roast_lanes *lanes;
    int64_t origin; /* nanoseconds since 1970 */
    bool has_origin;
    roast_intern workers;
    uint8_t *named; /* a lane: its name is written */
    roast_drawn_section *sections;
    size_t sections_capacity;
    roast_rates rates;
};

static roast_status failed(roast_status status, roast_error *err) {
    if (status == ROAST_OK)
        return ROAST_OK;
    return roast_error_set(err, status, "trace", -1, "no memory to write a trace");
}

/* ---- events ---- */

/* A run may have been timed with a clock that does not count from 1970; then it begins with the first
 * thing that is known of it. */
static int64_t since_origin(roast_trace *trace, int64_t when) {
    int64_t since;
    if (!trace->has_origin) {
        trace->origin = when;
        trace->has_origin = true;
    }
    return __builtin_sub_overflow(when, trace->origin, &since) ? 0 : since;
}

static void put_time(roast_json *json, const char *key, int64_t ns) {
    roast_json_key(json, key);
    roast_json_fixed(json, ns, 3);
}

/* Begins an event of the phase ("X": a slice). */
static void begin_event(roast_json *json, const char *phase, uint32_t process, const char *name) {
    roast_json_begin_object(json);
    roast_json_key(json, "ph");
    roast_json_text(json, phase);
    roast_json_key(json, "pid");
    roast_json_uint(json, process);
    roast_json_key(json, "name");
    roast_json_text(json, name);
}

/* "process_name", "thread_name": what a process or a lane is called. */
static void put_name(roast_json *json, const char *what, uint32_t process, int64_t lane,
                     roast_str name) {
    begin_event(json, "M", process, what);
    if (lane >= 0) {
        roast_json_key(json, "tid");
        roast_json_int(json, lane);
    }
    roast_json_key(json, "args");
    roast_json_begin_object(json);
    roast_json_key(json, "name");
    roast_json_str(json, name);
    roast_json_end_object(json);
    roast_json_end_object(json);
}

static roast_status process_of(roast_trace *trace, roast_str worker, uint32_t *process) {
    uint32_t before = trace->workers.count, id;
    if (worker.data == NULL)
        worker = roast_str_of("unknown");
    ROAST_TRY(roast_intern_add(&trace->workers, worker, &id));
    *process = FIRST_WORKER + id;
    if (id == before)
        put_name(&trace->json, "process_name", *process, -1, worker);
    return ROAST_OK;
}

/* ---- life ---- */

static void find_origin(roast_trace *trace) {
    const double since_1970 = 1e8; /* a clock that counts from 1970 was there in 1973 */
    roast_run_clock clock = roast_run_get_clock(trace->head);
    if (!clock.have || !(clock.start >= since_1970 && clock.start < 9e9))
        return;
    trace->origin = llround(clock.start * 1e6) * 1000;
    trace->has_origin = true;
}

roast_status roast_trace_new(const roast_run *head, const roast_lanes *lanes, roast_sink *sink,
                             roast_trace **out, roast_error *err) {
    roast_trace *trace = roast_alloc_zero(sizeof *trace);
    if (trace == NULL)
        return failed(ROAST_ENOMEM, err);
    trace->named = roast_alloc_zero((size_t)roast_lanes_count(lanes) + 1);
    if (trace->named == NULL) {
        roast_trace_free(trace);
        return failed(ROAST_ENOMEM, err);
    }
    trace->head = head;
    trace->lanes = lanes;
    find_origin(trace);
    roast_json_init(&trace->json, sink, 2);
    roast_json_begin_object(&trace->json);
    roast_json_key(&trace->json, "displayTimeUnit");
    roast_json_text(&trace->json, "ms");
    roast_json_key(&trace->json, "traceEvents");
    roast_json_begin_array(&trace->json);
    put_name(&trace->json, "process_name", RUN_PROCESS, -1, roast_str_of("run"));
    *out = trace;
    return ROAST_OK;
}

void roast_trace_free(roast_trace *trace) {
    if (trace == NULL)
        return;
    roast_intern_reset(&trace->workers);
    roast_free(trace->named);
    roast_free(trace->sections);
    roast_free(trace);
}

/* ---- lanes ---- */

typedef struct trace_track {
    uint32_t process;
    uint32_t lane;
} trace_track;

static roast_status track_of(roast_trace *trace, const roast_place *place, trace_track *out) {
    roast_lane lane = roast_lanes_at(trace->lanes, place->lane);
    char name[80] = "thread", copy[24] = "";
    if (lane.worker.data == NULL)
        return ROAST_EINVAL;
    ROAST_TRY(process_of(trace, lane.worker, &out->process));
    out->lane = place->lane;
    if (trace->named[place->lane])
        return ROAST_OK;
    trace->named[place->lane] = 1;
    if (lane.copy > 0)
        snprintf(copy, sizeof copy, " (%u)", lane.copy + 1u);
    if (lane.thread != 0)
        snprintf(name, sizeof name, "thread %" PRId64 "%s", lane.thread, copy);
    else
        snprintf(name, sizeof name, "tasks%s", copy);
    put_name(&trace->json, "thread_name", out->process, out->lane, roast_str_of(name));
    return ROAST_OK;
}

/* ---- slices ---- */

/* Begins a slice and its arguments; times since the run began. A slice ends with two objects. */
static void begin_slice(roast_json *json, const trace_track *track, const char *category,
                        roast_str name, int64_t start, int64_t stop) {
    roast_json_begin_object(json);
    roast_json_key(json, "ph");
    roast_json_text(json, "X");
    roast_json_key(json, "pid");
    roast_json_uint(json, track->process);
    roast_json_key(json, "tid");
    roast_json_uint(json, track->lane);
    put_time(json, "ts", start);
    put_time(json, "dur", stop - start);
    roast_json_key(json, "cat");
    roast_json_text(json, category);
    roast_json_key(json, "name");
    roast_json_str(json, name);
    roast_json_key(json, "args");
    roast_json_begin_object(json);
}

static void end_slice(roast_json *json) {
    roast_json_end_object(json);
    roast_json_end_object(json);
}

static void put_plain_slice(roast_json *json, const trace_track *track, const char *name,
                            int64_t start, int64_t stop) {
    if (stop <= start)
        return;
    begin_slice(json, track, "phase", roast_str_of(name), start, stop);
    end_slice(json);
}

static void put_int(roast_json *json, const char *key, bool there, int64_t value) {
    if (there)
        roast_json_put_value(json, key, roast_value_int(value));
}

/* ---- sections ---- */

static void put_moment(roast_json *json, const trace_track *track, const roast_section *section,
                       int64_t when) {
    begin_event(json, "i", track->process, "");
    roast_json_key(json, "s");
    roast_json_text(json, "t");
    roast_json_key(json, "tid");
    roast_json_uint(json, track->lane);
    put_time(json, "ts", when);
    roast_json_key(json, "args");
    roast_json_begin_object(json);
    roast_json_put_str(json, "section", section->name);
    put_int(json, "memory_delta_bytes", section->kind == ROAST_SECTION_MEMORY, section->value);
    put_int(json, "bytes", section->kind == ROAST_SECTION_BYTES, section->value);
    roast_json_end_object(json);
    roast_json_end_object(json);
}

static void put_section(roast_json *json, const trace_track *track, const roast_drawn_section *one,
                        int64_t entered) {
    const roast_section *section = &one->section;
    if (section->kind != ROAST_SECTION_TIME) {
        put_moment(json, track, section, entered + one->start);
        return;
    }
    begin_slice(json, track, "section", section->name, entered + one->start, entered + one->stop);
    /* What is drawn may be shorter than what was measured. */
    roast_json_put_real(json, "seconds", (double)section->value / 1e9);
    roast_json_key(json, "count");
    roast_json_uint(json, section->count);
    end_slice(json);
}

static roast_status put_sections(roast_trace *trace, const roast_chunklog *log,
                                 const roast_chunk *chunk, const trace_track *track,
                                 int64_t entered, int64_t lasted) {
    roast_tail tail = roast_tail_of_sections(log, chunk);
    uint32_t count = 0;
    void *sections = trace->sections;
    ROAST_TRY(roast_array_reserve(&sections, &trace->sections_capacity, sizeof *trace->sections,
                                  chunk->n_sections));
    trace->sections = sections;
    while (count < chunk->n_sections &&
           roast_tail_next_section(&tail, &trace->sections[count].section))
        count++;
    roast_sections_fit(trace->sections, count, lasted);
    for (uint32_t i = 0; i < count; i++)
        put_section(&trace->json, track, &trace->sections[i], entered);
    return ROAST_OK;
}

/* ---- chunks ---- */

#define HAS(field) ((chunk->have & ROAST_CHUNK_HAS(field)) != 0)

static void put_reads(roast_json *json, const roast_chunklog *log, const roast_chunk *chunk) {
    roast_tail tail = roast_tail_of_reads(log, chunk);
    roast_read read;
    double seconds = 0;
    bool known = false;
    while (roast_tail_next_read(&tail, &read))
        if (read.time_ns >= 0) {
            seconds += (double)read.time_ns / 1e9;
            known = true;
        }
    if (known)
        roast_json_put_real(json, "read_seconds", seconds);
}

static void put_chunk_arguments(roast_json *json, const roast_chunklog *log,
                                const roast_chunk *chunk) {
    roast_json_put_str(json, "file", chunk->file);
    put_int(json, "entry_start", HAS(entry_start), chunk->entry_start);
    put_int(json, "entry_stop", HAS(entry_stop), chunk->entry_stop);
    put_int(json, "num_events", HAS(num_events), chunk->num_events);
    put_int(json, "bytes_read", HAS(bytes_read), chunk->bytes_read);
    if (HAS(cpu_user_ns) && HAS(cpu_system_ns))
        roast_json_put_real(json, "cpu_seconds",
                            (double)chunk->cpu_user_ns / 1e9 + (double)chunk->cpu_system_ns / 1e9);
    put_reads(json, log, chunk);
    roast_json_put_str(json, "error", chunk->error_type);
    roast_json_put_str(json, "message", chunk->error_message);
}

static void put_task(roast_json *json, const trace_track *track, const roast_chunk *chunk,
                     int64_t start, int64_t stop) {
    roast_str name = chunk->task_key.len > 0 ? chunk->task_key : roast_str_of("task");
    begin_slice(json, track, "task", name, start, stop);
    if (HAS(before_process_ns))
        roast_json_put_real(json, "before_process_s", (double)chunk->before_process_ns / 1e9);
    end_slice(json);
}

roast_status roast_trace_chunk(roast_trace *trace, const roast_chunklog *log,
                               const roast_chunk *chunk, const roast_place *place,
                               roast_error *err) {
    roast_json *json = &trace->json;
    trace_track track;
    if (!place->there || !HAS(start_us) || chunk->start_us > INT64_MAX / 1000 ||
        chunk->start_us < INT64_MIN / 1000)
        return ROAST_OK;
    ROAST_TRY(failed(track_of(trace, place, &track), err));
    int64_t start = since_origin(trace, place->task_start);
    int64_t stop = since_origin(trace, place->task_stop);
    int64_t entered = since_origin(trace, chunk->start_us * 1000), left;
    int64_t lasted = HAS(duration_ns) && chunk->duration_ns > 0 ? chunk->duration_ns : 0;
    if (__builtin_add_overflow(entered, lasted, &left) || left > stop)
        left = stop;
    if (start < entered || left < stop)
        put_task(json, &track, chunk, start, stop);
    put_plain_slice(json, &track, "before process()", start, entered);
    begin_slice(json, &track, "chunk",
                chunk->dataset.len > 0 ? chunk->dataset : roast_str_of("process()"), entered, left);
    put_chunk_arguments(json, log, chunk);
    end_slice(json);
    ROAST_TRY(failed(put_sections(trace, log, chunk, &track, entered, left - entered), err));
    put_plain_slice(json, &track, "after process()", left, stop);
    roast_rates_add(&trace->rates, entered, left, HAS(num_events) ? (double)chunk->num_events : 0,
                    HAS(bytes_read) ? (double)chunk->bytes_read : 0);
    return ROAST_OK;
}

/* ---- tries ---- */

roast_status roast_trace_attempt(roast_trace *trace, const roast_attempt *attempt,
                                 const roast_place *place, roast_error *err) {
    roast_json *json = &trace->json;
    trace_track track;
    if (!place->there)
        return ROAST_OK;
    ROAST_TRY(failed(track_of(trace, place, &track), err));
    roast_str name = attempt->prefix.len > 0 ? attempt->prefix
                                             : roast_str_of(roast_attempt_kind_name(attempt->kind));
    begin_slice(json, &track, "task", name, since_origin(trace, place->task_start),
                since_origin(trace, place->task_stop));
    roast_json_key(json, "kind");
    roast_json_text(json, roast_attempt_kind_name(attempt->kind));
    roast_json_key(json, "outcome");
    roast_json_text(json, roast_outcome_name(attempt->outcome));
    put_int(json, "nbytes", attempt->nbytes >= 0, attempt->nbytes);
    roast_json_put_str(json, "error", attempt->error_type);
    roast_json_put_str(json, "message", attempt->error_message);
    end_slice(json);
    return ROAST_OK;
}

/* ---- counters ---- */

static void put_counter(roast_json *json, uint32_t process, const char *name, const char *unit,
                        int64_t when, double value) {
    begin_event(json, "C", process, name);
    put_time(json, "ts", when);
    roast_json_key(json, "args");
    roast_json_begin_object(json);
    roast_json_key(json, unit);
    if (fabs(value) < 0x1p53 && value == trunc(value))
        roast_json_int(json, (int64_t)value);
    else
        roast_json_real(json, value);
    roast_json_end_object(json);
    roast_json_end_object(json);
}

static roast_status put_worker(roast_trace *trace, const roast_series *series, uint32_t worker) {
    static const struct {
        const char *name, *unit;
        roast_series_column column;
    } counters[] = {{"memory", "bytes", ROAST_COLUMN_memory}, {"CPU", "percent", ROAST_COLUMN_cpu}};
    enum { COUNTERS = sizeof counters / sizeof *counters };
    double last[COUNTERS] = {NAN, NAN};
    roast_series_cursor cursor;
    roast_sample sample;
    uint32_t process;
    roast_series_cursor_init(&cursor, series, worker);
    while (roast_series_cursor_next(&cursor, &sample)) {
        ROAST_TRY(process_of(trace, roast_series_worker_name(series, worker), &process));
        for (int i = 0; i < COUNTERS; i++) {
            double value = sample.value[counters[i].column];
            if (isnan(value) || value == last[i])
                continue;
            last[i] = value;
            put_counter(&trace->json, process, counters[i].name, counters[i].unit,
                        since_origin(trace, sample.when.ns), value);
        }
    }
    return ROAST_OK;
}

static void put_worker_counts(roast_trace *trace, const roast_series *series) {
    for (uint64_t tick = 0; tick < roast_series_tick_count(series); tick++) {
        uint32_t workers = roast_series_tick_workers(series, tick);
        if (tick > 0 && workers == roast_series_tick_workers(series, tick - 1))
            continue;
        put_counter(&trace->json, RUN_PROCESS, "workers", "workers",
                    since_origin(trace, roast_series_tick_time(series, tick).ns), workers);
    }
}

roast_status roast_trace_series(roast_trace *trace, const roast_series *series, roast_error *err) {
    put_worker_counts(trace, series);
    for (uint32_t worker = 0; worker < roast_series_worker_count(series); worker++)
        ROAST_TRY(failed(put_worker(trace, series, worker), err));
    return ROAST_OK;
}

static void put_rate(roast_trace *trace, const char *name, const char *unit, const double *bins,
                     double per) {
    double last = 0;
    for (int i = 0; i < ROAST_RATE_BINS; i++) {
        double value = bins[i] / per;
        if (value == last)
            continue;
        put_counter(&trace->json, RUN_PROCESS, name, unit, i * trace->rates.width, value);
        last = value;
    }
    if (last != 0)
        put_counter(&trace->json, RUN_PROCESS, name, unit, ROAST_RATE_BINS * trace->rates.width, 0);
}

/* ---- joins and leaves, the end ---- */

static roast_status put_events(roast_trace *trace, const roast_series *series) {
    roast_json *json = &trace->json;
    for (uint64_t i = 0; i < roast_series_event_count(series); i++) {
        roast_worker_event event = roast_series_event_at(series, i);
        uint32_t process;
        ROAST_TRY(process_of(trace, roast_series_worker_name(series, event.worker), &process));
        begin_event(json, "i", process, event.kind == ROAST_WORKER_JOINED ? "joined" : "left");
        roast_json_key(json, "s");
        roast_json_text(json, "p");
        roast_json_key(json, "tid");
        roast_json_int(json, 0);
        put_time(json, "ts", since_origin(trace, event.when.ns));
        roast_json_end_object(json);
    }
    return ROAST_OK;
}

roast_status roast_trace_end(roast_trace *trace, roast_error *err) {
    double seconds = (double)trace->rates.width / 1e9;
    ROAST_TRY(failed(put_events(trace, roast_run_series_view(trace->head)), err));
    if (trace->rates.width > 0) {
        put_rate(trace, "events", "events/s", trace->rates.events, seconds);
        put_rate(trace, "data", "bytes/s", trace->rates.bytes, seconds);
        put_rate(trace, "open chunks", "chunks", trace->rates.busy, seconds);
    }
    roast_json_end_array(&trace->json);
    roast_json_end_object(&trace->json);
    roast_json_end(&trace->json);
    return ROAST_OK;
}
