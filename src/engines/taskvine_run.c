/* What the log tells of a run, and in words what it cannot tell. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "engines/taskvine_internal.h"

/* ---- notes ---- */

static roast_status add_note(roast_taskvine *log, const char *format, ...) ROAST_PRINTF(2, 3);
static roast_status add_note(roast_taskvine *log, const char *format, ...) {
    char text[512];
    uint32_t id;
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t size = len < 0 ? 0 : (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
    return roast_intern_add(&log->notes, (roast_str){text, size}, &id);
}

static const char *plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

static bool was_measured(const roast_taskvine_facts *facts) {
    for (int i = 0; i < ROAST_KIND_COUNT; i++)
        if (facts->measured[i].tries > 0)
            return true;
    return false;
}

static roast_status note_the_file(roast_taskvine *log) {
    const roast_taskvine_facts *facts = &log->facts;
    if (!facts->begun)
        ROAST_TRY(add_note(log, "TaskVine's log has no beginning: what came before is missing"));
    if (facts->unreadable > 0)
        ROAST_TRY(add_note(log,
                           "TaskVine's log: %" PRIu64 " of %" PRIu64
                           " lines cannot be read and were left out",
                           facts->unreadable, facts->lines));
    return ROAST_OK;
}

roast_status roast_vine_add_notes(roast_taskvine *log) {
    const roast_taskvine_facts *facts = &log->facts;
    ROAST_TRY(note_the_file(log));
    if (facts->unexplained > 0)
        ROAST_TRY(add_note(log,
                           "TaskVine does not say why the connection to %" PRIu64
                           " worker%s ended: killed, "
                           "told to end (SIGTERM), or gone because of %s own idle time-out",
                           facts->unexplained, plural(facts->unexplained),
                           facts->unexplained == 1 ? "its" : "their"));
    if (facts->open > 0)
        ROAST_TRY(add_note(
            log, "%" PRIu64 " task%s had not ended when TaskVine's log ended; counted as lost",
            facts->open, plural(facts->open)));
    if (facts->cancelled > 0)
        ROAST_TRY(add_note(log, "the program cancelled %" PRIu64 " running task%s; counted as lost",
                           facts->cancelled, plural(facts->cancelled)));
    if (facts->exhausted > 0)
        ROAST_TRY(add_note(
            log,
            "%" PRIu64 " task%s took more than allowed (RESOURCE_EXHAUSTION). Coffea splits such a "
            "chunk in two: there are more chunks than pieces of work",
            facts->exhausted, plural(facts->exhausted)));
    if (facts->libraries > 0)
        ROAST_TRY(add_note(
            log, "%" PRIu64 " librar%s of function calls held cores; only the calls are counted",
            facts->libraries, facts->libraries == 1 ? "y" : "ies"));
    if (!was_measured(facts))
        ROAST_TRY(add_note(
            log,
            "TaskVine's resource monitor was off: memory and CPU time of its tasks are not known "
            "(resource_monitor=\"measure\" of the executor switches it on)"));
    return ROAST_OK;
}

/* ---- a run ---- */

static roast_status set_text(roast_run *run, const char *key, roast_error *err, const char *format,
                             ...) ROAST_PRINTF(4, 5);
static roast_status set_text(roast_run *run, const char *key, roast_error *err, const char *format,
                             ...) {
    char text[128];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t size = len < 0 ? 0 : (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
    return roast_run_set_meta(run, roast_str_of(key), (roast_str){text, size}, err);
}

static roast_status add_texts(roast_run *run, roast_error *err) {
    ROAST_TRY(set_text(run, "engine", err, "TaskVine"));
    ROAST_TRY(set_text(run, ROAST_META_FROM_LOG, err, "TaskVine's transactions"));
    return set_text(run, "executor", err, "TaskVineExecutor");
}

/* ---- figures ---- */

static bool figure_of_kind(const roast_taskvine_facts *facts, uint32_t kind, uint32_t which,
                           roast_span_value *out) {
    const roast_taskvine_measured *sum = &facts->measured[kind];
    const struct {
        const char *activity, *unit;
        double value;
    } rows[4] = {{"cpu", "seconds", sum->cpu_s},
                 {"noncpu", "seconds", fmax(sum->wall_s - sum->cpu_s, 0)},
                 {"disk-read", "bytes", sum->read_bytes},
                 {"disk-write", "bytes", sum->write_bytes}};
    *out = (roast_span_value){.context =
                                  roast_str_of(roast_attempt_kind_name((roast_attempt_kind)kind)),
                              .activity = roast_str_of(rows[which].activity),
                              .unit = roast_str_of(rows[which].unit),
                              .value = rows[which].value};
    return sum->tries > 0;
}

static bool figure_of_way(const roast_taskvine_facts *facts, uint32_t way, uint32_t which,
                          roast_span_value *out) {
    static const char *const units[3] = {"seconds", "bytes", "count"};
    const roast_taskvine_transfers *sum = &facts->transfers[way];
    const double values[3] = {(double)sum->us / 1e6, (double)sum->bytes, (double)sum->count};
    *out = (roast_span_value){.context = roast_str_of("transfer"),
                              .activity =
                                  roast_str_of(roast_taskvine_way_name((roast_taskvine_way)way)),
                              .unit = roast_str_of(units[which]),
                              .value = values[which]};
    return facts->lines > facts->unreadable;
}

static double most_memory(const roast_taskvine_facts *facts) {
    double memory = 0;
    for (int i = 0; i < ROAST_KIND_COUNT; i++)
        memory = fmax(memory, facts->measured[i].memory);
    return memory;
}

bool roast_taskvine_figure(const roast_taskvine *log, uint32_t index, roast_span_value *out) {
    const uint32_t of_kinds = 4 * ROAST_KIND_COUNT;
    if (index < of_kinds)
        return figure_of_kind(&log->facts, index / 4, index % 4, out);
    index -= of_kinds;
    if (index < 3 * ROAST_WAY_COUNT)
        return figure_of_way(&log->facts, index / 3, index % 3, out);
    const bool used = index > 3 * ROAST_WAY_COUNT;
    *out = (roast_span_value){.context = roast_str_of("worker"),
                              .activity = roast_str_of(used ? "task-memory-used" : "task-memory"),
                              .unit = roast_str_of("bytes"),
                              .value = used ? most_memory(&log->facts) : log->facts.task_memory};
    return index <= 3 * ROAST_WAY_COUNT + 1 && out->value > 0;
}

static roast_status add_figures(const roast_taskvine *log, roast_run *run, roast_error *err) {
    roast_span_value value;
    for (uint32_t i = 0; i < ROAST_TASKVINE_FIGURES; i++)
        if (roast_taskvine_figure(log, i, &value))
            ROAST_TRY(roast_run_add_span(run, &value, err));
    return ROAST_OK;
}

static roast_status add_phases(const roast_taskvine_facts *facts, roast_run *run,
                               roast_error *err) {
    for (int i = 0; i < ROAST_PHASE_COUNT; i++) {
        const int64_t *us = facts->phases_us[i];
        const roast_phase phase = {(roast_phase_kind)i, (double)us[0] / 1e6, (double)us[1] / 1e6};
        if (us[0] != ROAST_NO_TIME && us[1] != ROAST_NO_TIME)
            ROAST_TRY(roast_run_add_phase(run, &phase, err));
    }
    return ROAST_OK;
}

roast_status roast_taskvine_fill(roast_taskvine *log, roast_run *run, roast_error *err) {
    const roast_taskvine_facts *facts = &log->facts;
    roast_attempts *attempts;
    roast_series *series;
    if (facts->lines == facts->unreadable)
        return roast_error_set(err, ROAST_ECORRUPT, "TaskVine's log", -1,
                               "no line of it is one of TaskVine's");
    ROAST_TRY(add_texts(run, err));
    ROAST_TRY(add_figures(log, run, err));
    for (uint32_t i = 0; i < log->notes.count; i++)
        ROAST_TRY(roast_run_add_note(run, roast_intern_get(&log->notes, i), err));
    /* While a run is measured the log has no end either: the manager lives as long as its process. */
    if (!facts->ended)
        ROAST_TRY(roast_run_add_note(
            run,
            roast_str_of(
                facts->cut
                    ? "TaskVine's log has no end: its manager was killed or still ran; its last "
                      "line is cut off and was left out"
                    : "TaskVine's log has no end: its manager was killed or still ran"),
            err));
    ROAST_TRY(add_phases(facts, run, err));
    if (log->series != NULL && roast_vine_name_hosts(log) != ROAST_OK)
        return roast_error_set(err, ROAST_ENOMEM, "TaskVine's log", -1, "no memory for the hosts");
    ROAST_TRY(roast_taskvine_take_attempts(log, &attempts, err));
    roast_run_take_attempts(run, attempts);
    ROAST_TRY(roast_taskvine_take_series(log, &series, err));
    roast_run_take_series(run, series);
    if (facts->first_us != ROAST_NO_TIME && facts->last_us > facts->first_us)
        roast_run_set_clock(run, (double)facts->first_us / 1e6, (double)facts->last_us / 1e6);
    return ROAST_OK;
}
