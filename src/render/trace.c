#include "render/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/buffer.h"
#include "roast/tasks.h"

/* Numbers of processes in the trace: the run as a whole is one, then come the workers. */
enum { RUN_PROCESS = 0, FIRST_WORKER = 1 };

typedef struct trace_writer {
    roast_json json;
    const roast_run *run;
    roast_task_lanes *lanes;
    int64_t origin; /* nanoseconds since 1970; nothing begins before */
    bool has_origin;
    roast_intern workers;
    uint8_t *named; /* a lane: its name is written */
    roast_drawn_section *sections;
    size_t sections_capacity;
    roast_rates rates;
} trace_writer;

/* ---- entries of the trace ---- */

static int64_t since_origin(const trace_writer *trace, int64_t when) {
    int64_t since;
    return __builtin_sub_overflow(when, trace->origin, &since) || since < 0 ? 0 : since;
}

/* In microseconds. A double holds the nanoseconds of some months. */
static void put_time(roast_json *json, const char *key, int64_t ns) {
    roast_json_put_real(json, key, (double)ns / 1e3);
}

/* A section may have an empty name; an event may not. */
static void put_event_name(roast_json *json, roast_str name) {
    roast_json_put_str(json, "name", name.len > 0 ? name : roast_str_of("(no name)"));
}

/* Begins an entry of the phase ("X": a slice). */
static void begin_entry(roast_json *json, const char *phase, uint32_t process, roast_str name) {
    roast_json_begin_object(json);
    roast_json_put_text(json, "ph", phase);
    roast_json_put_int(json, "pid", process);
    put_event_name(json, name);
}

/* Names a process ("process_name") or a lane ("thread_name"). */
static void put_name(roast_json *json, const char *what, uint32_t process, int64_t lane,
                     roast_str name) {
    begin_entry(json, "M", process, roast_str_of(what));
    roast_json_put_count(json, "tid", lane);
    roast_json_put_object(json, "args");
    roast_json_put_str(json, "name", name);
    roast_json_end_object(json);
    roast_json_end_object(json);
}

static roast_status process_of(trace_writer *trace, roast_str worker, uint32_t *process) {
    uint32_t before = trace->workers.count, id;
    if (worker.data == NULL)
        worker = roast_str_of("unknown");
    ROAST_TRY(roast_intern_add(&trace->workers, worker, &id));
    *process = FIRST_WORKER + id;
    if (id == before)
        put_name(&trace->json, "process_name", *process, -1, worker);
    return ROAST_OK;
}

/* ---- lanes ---- */

typedef struct trace_track {
    uint32_t process;
    uint32_t lane;
} trace_track;

static roast_status track_of(trace_writer *trace, const roast_lane_place *place, trace_track *out) {
    roast_lane lane = roast_task_lanes_at(trace->lanes, place->lane);
    char name[80] = "thread", copy[24] = "";
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

/* Begins a slice and its arguments, which end_slice ends. Times are nanoseconds since the run began. */
static void begin_slice(roast_json *json, const trace_track *track, const char *category,
                        roast_str name, int64_t start, int64_t stop) {
    roast_json_begin_object(json);
    roast_json_put_text(json, "ph", "X");
    roast_json_put_int(json, "pid", track->process);
    roast_json_put_int(json, "tid", track->lane);
    put_time(json, "ts", start);
    put_time(json, "dur", stop - start);
    roast_json_put_text(json, "cat", category);
    put_event_name(json, name);
    roast_json_put_object(json, "args");
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
        roast_json_put_int(json, key, value);
}

/* ---- sections ---- */

static void put_moment(roast_json *json, const trace_track *track, const roast_section *section,
                       int64_t when) {
    begin_entry(json, "i", track->process, section->name);
    roast_json_put_text(json, "s", "t");
    roast_json_put_int(json, "tid", track->lane);
    put_time(json, "ts", when);
    roast_json_put_object(json, "args");
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
    /* The slice may be shorter than the measured time. */
    roast_json_put_real(json, "seconds", (double)section->value / 1e9);
    roast_json_key(json, "count");
    roast_json_uint(json, section->count);
    end_slice(json);
}

static roast_status put_sections(trace_writer *trace, const roast_chunk *chunk,
                                 const trace_track *track, int64_t entered, int64_t lasted) {
    roast_tail_cursor tail;
    uint32_t count = 0;
    void *sections = trace->sections;
    ROAST_TRY(roast_array_reserve(&sections, &trace->sections_capacity, sizeof *trace->sections,
                                  chunk->n_sections));
    trace->sections = sections;
    roast_chunk_sections(roast_run_chunks_view(trace->run), chunk, &tail);
    while (count < chunk->n_sections &&
           roast_chunk_next_section(&tail, &trace->sections[count].section))
        count++;
    roast_sections_fit(trace->sections, count, lasted);
    for (uint32_t i = 0; i < count; i++)
        put_section(&trace->json, track, &trace->sections[i], entered);
    return ROAST_OK;
}

/* ---- chunks ---- */

#define HAS(field) ((chunk->have & ROAST_CHUNK_HAS(field)) != 0)

static void put_reads(roast_json *json, const roast_chunklog *log, const roast_chunk *chunk) {
    roast_tail_cursor tail;
    roast_read read;
    double seconds = 0;
    bool known = false;
    roast_chunk_reads(log, chunk, &tail);
    while (roast_chunk_next_read(&tail, &read))
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

/* A chunk without a place is left out. */
static roast_status put_chunk(trace_writer *trace, const roast_chunk *chunk,
                              const roast_lane_place *place) {
    roast_json *json = &trace->json;
    trace_track track;
    if (!place->there || !HAS(start_us) || chunk->start_us > INT64_MAX / 1000 ||
        chunk->start_us < INT64_MIN / 1000)
        return ROAST_OK;
    ROAST_TRY(track_of(trace, place, &track));
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
    put_chunk_arguments(json, roast_run_chunks_view(trace->run), chunk);
    end_slice(json);
    ROAST_TRY(put_sections(trace, chunk, &track, entered, left - entered));
    put_plain_slice(json, &track, "after process()", left, stop);
    roast_rates_add(&trace->rates, entered, left, HAS(num_events) ? (double)chunk->num_events : 0,
                    HAS(bytes_read) ? (double)chunk->bytes_read : 0);
    return ROAST_OK;
}

/* ---- tries ---- */

static roast_status put_attempt(trace_writer *trace, const roast_attempt *attempt,
                                const roast_lane_place *place) {
    roast_json *json = &trace->json;
    trace_track track;
    if (!place->there)
        return ROAST_OK;
    ROAST_TRY(track_of(trace, place, &track));
    roast_str name = attempt->prefix.len > 0 ? attempt->prefix
                                             : roast_str_of(roast_attempt_kind_name(attempt->kind));
    begin_slice(json, &track, "task", name, since_origin(trace, place->task_start),
                since_origin(trace, place->task_stop));
    roast_json_put_text(json, "kind", roast_attempt_kind_name(attempt->kind));
    roast_json_put_text(json, "outcome", roast_outcome_name(attempt->outcome));
    roast_json_put_count(json, "nbytes", attempt->nbytes);
    roast_json_put_str(json, "error", attempt->error_type);
    roast_json_put_str(json, "message", attempt->error_message);
    end_slice(json);
    return ROAST_OK;
}

/* ---- counters ---- */

static void put_counter(roast_json *json, uint32_t process, const char *name, const char *unit,
                        int64_t when, double value) {
    begin_entry(json, "C", process, roast_str_of(name));
    put_time(json, "ts", when);
    roast_json_put_object(json, "args");
    roast_json_key(json, unit);
    if (fabs(value) < 0x1p53 && value == trunc(value))
        roast_json_int(json, (int64_t)value);
    else
        roast_json_real(json, value);
    roast_json_end_object(json);
    roast_json_end_object(json);
}

static roast_status put_worker(trace_writer *trace, const roast_series *series, uint32_t worker) {
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

static void put_worker_counts(trace_writer *trace, const roast_series *series) {
    for (uint64_t tick = 0; tick < roast_series_tick_count(series); tick++) {
        uint32_t workers = roast_series_tick_workers(series, tick);
        if (tick > 0 && workers == roast_series_tick_workers(series, tick - 1))
            continue;
        put_counter(&trace->json, RUN_PROCESS, "workers", "workers",
                    since_origin(trace, roast_series_tick_time(series, tick).ns), workers);
    }
}

static roast_status put_series(trace_writer *trace, const roast_series *series) {
    put_worker_counts(trace, series);
    for (uint32_t worker = 0; worker < roast_series_worker_count(series); worker++)
        ROAST_TRY(put_worker(trace, series, worker));
    return ROAST_OK;
}

static void put_rate(trace_writer *trace, const char *name, const char *unit, const double *bins,
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

static roast_status put_changes(trace_writer *trace, const roast_series *series) {
    roast_json *json = &trace->json;
    for (uint64_t i = 0; i < roast_series_change_count(series); i++) {
        roast_worker_change change = roast_series_change_at(series, i);
        uint32_t process;
        ROAST_TRY(process_of(trace, roast_series_worker_name(series, change.worker), &process));
        begin_entry(json, "i", process,
                    roast_str_of(change.kind == ROAST_WORKER_JOINED ? "joined" : "left"));
        roast_json_put_text(json, "s", "p");
        roast_json_put_int(json, "tid", 0);
        put_time(json, "ts", since_origin(trace, change.when.ns));
        if (change.when.ns < trace->origin) {
            /* A worker of a cluster that was there for hours: the trace must not begin with it. */
            roast_json_put_object(json, "args");
            roast_json_put_real(json, "seconds_before_the_run",
                                (double)roast_sub_capped(trace->origin, change.when.ns) / 1e9);
            roast_json_end_object(json);
        }
        roast_json_end_object(json);
    }
    return ROAST_OK;
}

static void put_rates(trace_writer *trace) {
    double seconds = (double)trace->rates.width / 1e9;
    if (trace->rates.width == 0)
        return;
    put_rate(trace, "events", "events/s", trace->rates.events, seconds);
    put_rate(trace, "data", "bytes/s", trace->rates.bytes, seconds);
    put_rate(trace, "open chunks", "chunks", trace->rates.busy, seconds);
}

/* ---- the origin ---- */

static void begin_with(trace_writer *trace, int64_t when) {
    if (!trace->has_origin || when < trace->origin)
        trace->origin = when;
    trace->has_origin = true;
}

/* The start of the run, or of what began before: clocks of machines differ a little. A run may also have been timed
 * with a clock that does not count from 1970: then it is the first of all other times. */
static void find_origin(trace_writer *trace) {
    const double since_1970 = 1e8; /* a clock that counts from 1970 was there in 1973 */
    const roast_series *series = roast_run_series_view(trace->run);
    const roast_attempts *attempts = roast_run_attempts_view(trace->run);
    uint64_t tries = attempts != NULL ? roast_attempts_count(attempts) : 0;
    uint64_t chunks = roast_chunklog_count(roast_run_chunks_view(trace->run));
    roast_run_clock clock = roast_run_get_clock(trace->run);
    if (clock.have && clock.start >= since_1970 && clock.start < 9e9)
        begin_with(trace, llround(clock.start * 1e6) * 1000);
    if (roast_series_tick_count(series) > 0)
        begin_with(trace, roast_series_tick_time(series, 0).ns);
    for (uint64_t i = 0; i < tries + chunks; i++) {
        roast_lane_place place = i < tries ? roast_task_lanes_attempt(trace->lanes, i)
                                           : roast_task_lanes_chunk(trace->lanes, i - tries);
        if (place.there)
            begin_with(trace, place.task_start);
    }
    const bool only_changes = !trace->has_origin;
    for (uint64_t i = 0; only_changes && i < roast_series_change_count(series); i++)
        begin_with(trace, roast_series_change_at(series, i).when.ns);
}

/* ---- all of it ---- */

static roast_status put_tasks(trace_writer *trace) {
    const roast_attempts *attempts = roast_run_attempts_view(trace->run);
    roast_attempt_cursor tries;
    roast_attempt attempt;
    roast_chunk_cursor chunks;
    roast_chunk chunk;
    roast_lane_place place;
    if (attempts != NULL)
        roast_attempt_cursor_init(&tries, attempts);
    for (size_t i = 0; attempts != NULL && roast_attempt_cursor_next(&tries, &attempt); i++) {
        place = roast_task_lanes_attempt(trace->lanes, i);
        ROAST_TRY(put_attempt(trace, &attempt, &place));
    }
    roast_chunk_cursor_init(&chunks, roast_run_chunks_view(trace->run));
    for (size_t i = 0; roast_chunk_cursor_next(&chunks, &chunk); i++) {
        place = roast_task_lanes_chunk(trace->lanes, i);
        ROAST_TRY(put_chunk(trace, &chunk, &place));
    }
    return ROAST_OK;
}

static roast_status put_trace(trace_writer *trace, roast_error *err) {
    const roast_series *series = roast_run_series_view(trace->run);
    ROAST_TRY(roast_task_lanes_new(trace->run, SIZE_MAX, &trace->lanes, err));
    trace->named = roast_alloc_zero((size_t)roast_task_lanes_count(trace->lanes) + 1);
    if (trace->named == NULL)
        return ROAST_ENOMEM;
    find_origin(trace);
    roast_json_begin_object(&trace->json);
    roast_json_put_text(&trace->json, "displayTimeUnit", "ms");
    roast_json_put_array(&trace->json, "traceEvents");
    put_name(&trace->json, "process_name", RUN_PROCESS, -1, roast_str_of("run"));
    ROAST_TRY(put_series(trace, series));
    ROAST_TRY(put_tasks(trace));
    ROAST_TRY(put_changes(trace, series));
    put_rates(trace);
    roast_json_end_array(&trace->json);
    roast_json_end_object(&trace->json);
    roast_json_end(&trace->json);
    return ROAST_OK;
}

roast_status roast_trace_write(const roast_run *run, roast_sink *sink, roast_error *err) {
    trace_writer *trace = roast_alloc_zero(sizeof *trace); /* its rates would fill a stack */
    roast_error_set(err, ROAST_ENOMEM, "trace", -1, "no memory to write a trace");
    if (trace == NULL)
        return ROAST_ENOMEM;
    trace->run = run;
    roast_json_init(&trace->json, sink, 2);
    roast_status status = put_trace(trace, err);
    roast_task_lanes_free(trace->lanes);
    roast_intern_reset(&trace->workers);
    roast_free(trace->named);
    roast_free(trace->sections);
    roast_free(trace);
    return status;
}
