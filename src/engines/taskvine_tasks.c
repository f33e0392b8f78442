/* Tasks: from their lines to tries. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engines/taskvine_internal.h"

static const double mib = 1 << 20;

/* ---- categories ---- */

static roast_attempt_kind kind_of(roast_str category) {
    if (roast_field_is(category, "processing"))
        return ROAST_KIND_processing;
    return roast_field_is(category, "accumulating") ? ROAST_KIND_reduction : ROAST_KIND_other;
}

static roast_status category_of(roast_taskvine *log, roast_str name, uint32_t *id) {
    uint32_t before = log->categories.count;
    void *kinds = log->kinds;
    if (name.data == NULL || name.len > ROAST_MAX_KEY)
        return ROAST_ECORRUPT;
    ROAST_TRY(roast_array_reserve(&kinds, &log->kinds_capacity, 1, (size_t)before + 1));
    log->kinds = kinds;
    ROAST_TRY(roast_intern_add(&log->categories, name, id));
    if (*id == before) {
        log->kinds[*id] = (uint8_t)kind_of(name);
        ROAST_TRY(roast_attempts_set_kind(log->attempts, name, kind_of(name), NULL));
    }
    return ROAST_OK;
}

static roast_attempt_kind kind_of_task(const roast_taskvine *log, const roast_vine_task *task) {
    return task->category != ROAST_NO_NAME ? (roast_attempt_kind)log->kinds[task->category]
                                           : ROAST_KIND_other;
}

/* The phase that a category belongs to, by Coffea's names; ROAST_PHASE_COUNT: to none. */
static roast_phase_kind phase_of(const roast_taskvine *log, uint32_t category) {
    if (category == ROAST_NO_NAME)
        return ROAST_PHASE_COUNT;
    if (log->kinds[category] != ROAST_KIND_other)
        return ROAST_PHASE_execution;
    return roast_field_is(roast_intern_get(&log->categories, category), "preprocessing")
               ? ROAST_PHASE_preprocessing
               : ROAST_PHASE_COUNT;
}

/* ---- the tasks of a worker ---- */

static void put_on_worker(roast_taskvine *log, uint32_t number, uint32_t worker) {
    roast_vine_task *task = &log->tasks[number];
    roast_vine_worker *at = &log->workers[worker];
    task->worker = worker;
    task->last = ROAST_NO_TASK;
    task->next = at->first_task;
    if (task->next != ROAST_NO_TASK)
        log->tasks[task->next].last = number;
    at->first_task = number;
    at->tasks++;
}

static void take_off_worker(roast_taskvine *log, uint32_t number) {
    roast_vine_task *task = &log->tasks[number];
    if (task->worker == ROAST_NO_WORKER)
        return;
    roast_vine_worker *worker = &log->workers[task->worker];
    if (task->last != ROAST_NO_TASK)
        log->tasks[task->last].next = task->next;
    else
        worker->first_task = task->next;
    if (task->next != ROAST_NO_TASK)
        log->tasks[task->next].last = task->last;
    worker->tasks--;
    task->worker = ROAST_NO_WORKER;
}

/* ---- tries ---- */

static roast_str explanation(const roast_taskvine *log, uint32_t which) {
    return log->explanation_ids[which] != ROAST_NO_NAME
               ? roast_intern_get(&log->explanations, log->explanation_ids[which])
               : (roast_str){NULL, 0};
}

/* Appends the try of a task that was sent, which ends now. Tasks that serve function calls hold the cores of the calls: they
 * are no tries. */
static roast_status append(roast_taskvine *log, uint32_t number, roast_attempt *attempt) {
    roast_vine_task *task = &log->tasks[number];
    roast_str id_text = roast_intern_get(&log->task_ids, number);
    char key[32];
    uint64_t id;
    uint32_t explained;
    memcpy(&id, id_text.data, sizeof id);
    attempt->key = (roast_str){key, (size_t)snprintf(key, sizeof key, "task.%" PRIu64, id)};
    attempt->prefix = task->category != ROAST_NO_NAME
                          ? roast_intern_get(&log->categories, task->category)
                          : roast_str_of("task");
    attempt->worker = task->worker;
    attempt->ready_us = task->ready_us;
    attempt->sent_us = task->sent_us;
    attempt->ended_us = log->now_us;
    attempt->transfer_us = attempt->deserialize_us = attempt->disk_us = -1;
    if (attempt->outcome == ROAST_OUTCOME_raised && log->explained.count > 0 &&
        roast_intern_find(&log->explained, id_text, &explained)) {
        attempt->error_type = explanation(log, 2 * explained);
        attempt->error_message = explanation(log, 2 * explained + 1);
    }
    bool library = task->library;
    take_off_worker(log, number);
    task->ready_us = ROAST_NO_TIME;
    if (library || roast_vine_is_before(log))
        return ROAST_OK;
    log->facts.processed +=
        attempt->outcome == ROAST_OUTCOME_done && kind_of_task(log, task) == ROAST_KIND_processing;
    log->facts.raised += attempt->outcome == ROAST_OUTCOME_raised;
    roast_phase_kind phase = phase_of(log, task->category);
    if (phase != ROAST_PHASE_COUNT)
        log->facts.phases_us[phase][1] = log->now_us;
    if (log->facts.last_us < log->now_us)
        log->facts.last_us = log->now_us;
    return roast_attempts_append(log->attempts, attempt, NULL);
}

roast_status roast_vine_lose(roast_taskvine *log, uint32_t task, uint32_t departure) {
    roast_attempt attempt = {.outcome = ROAST_OUTCOME_lost,
                             .start_us = ROAST_NO_TIME,
                             .stop_us = ROAST_NO_TIME,
                             .nbytes = -1,
                             .departure = departure};
    return append(log, task, &attempt);
}

roast_status roast_vine_lose_all(roast_taskvine *log) {
    for (uint32_t i = 0; i < log->task_ids.count; i++) {
        if (log->tasks[i].worker == ROAST_NO_WORKER)
            continue;
        log->facts.open += !log->tasks[i].library;
        ROAST_TRY(roast_vine_lose(log, i, ROAST_NO_DEPARTURE));
    }
    return ROAST_OK;
}

/* ---- lines ---- */

static roast_status task_of(roast_taskvine *log, roast_str field, uint32_t *number) {
    int64_t id;
    uint32_t before = log->task_ids.count;
    void *tasks = log->tasks;
    if (!roast_field_number(field, INT64_MAX, &id))
        return ROAST_ECORRUPT;
    ROAST_TRY(
        roast_array_reserve(&tasks, &log->tasks_capacity, sizeof *log->tasks, (size_t)before + 1));
    log->tasks = tasks;
    ROAST_TRY(roast_intern_add_key(&log->task_ids, (uint64_t)id, number));
    if (*number == before)
        log->tasks[before] = (roast_vine_task){.ready_us = ROAST_NO_TIME,
                                               .sent_us = ROAST_NO_TIME,
                                               .category = ROAST_NO_NAME,
                                               .worker = ROAST_NO_WORKER};
    return ROAST_OK;
}

/* A task that is ready again without an end was lost, whatever the number of its try says: it may repeat. */
static roast_status ready(roast_taskvine *log, uint32_t number, roast_fields *fields) {
    uint32_t category;
    ROAST_TRY(category_of(log, roast_fields_next(fields), &category));
    if (log->tasks[number].worker != ROAST_NO_WORKER)
        ROAST_TRY(roast_vine_lose(log, number, ROAST_NO_DEPARTURE));
    roast_vine_task *task = &log->tasks[number];
    task->category = category;
    task->ready_us = log->now_us;
    task->departures = roast_attempts_departure_count(log->attempts);
    roast_phase_kind phase = phase_of(log, category);
    if (phase != ROAST_PHASE_COUNT && log->facts.phases_us[phase][0] == ROAST_NO_TIME)
        log->facts.phases_us[phase][0] = log->now_us;
    return ROAST_OK;
}

/* The line is written when all inputs have been sent: the task was sent when that began. */
static roast_status running(roast_taskvine *log, uint32_t number, roast_fields *fields) {
    uint32_t worker;
    roast_resource commit[] = {{"time_commit_start", NAN}};
    ROAST_TRY(roast_vine_worker_of(log, roast_fields_next(fields), &worker));
    if (log->tasks[number].worker != ROAST_NO_WORKER)
        ROAST_TRY(roast_vine_lose(log, number, ROAST_NO_DEPARTURE));
    roast_vine_task *task = &log->tasks[number];
    roast_resources_read(roast_fields_object(fields), commit, 1);
    task->sent_us = roast_resource_moment(commit[0].value);
    if (task->sent_us == ROAST_NO_TIME || task->sent_us > log->now_us ||
        (task->ready_us != ROAST_NO_TIME && task->sent_us < task->ready_us))
        task->sent_us = log->now_us;
    put_on_worker(log, number, worker);
    return ROAST_OK;
}

/* Results of a task that did not end by itself. */
static bool was_lost(roast_str result) {
    static const char *const lost[] = {"FORSAKEN", "UNKNOWN", "CANCELLED", "LIBRARY_EXIT",
                                       "MISSING_LIBRARY"};
    for (unsigned i = 0; i < sizeof lost / sizeof *lost; i++)
        if (roast_field_is(result, lost[i]))
            return true;
    return false;
}

/* The order is that of roast_resources_read in retrieved(). */
enum { START, STOP, CPU, WALL, MEMORY, DISK, READ, WRITTEN, MEASURED };

/* Only the resource monitor measures CPU time; without it "memory" is what the task was allowed. */
static void add_measured(roast_taskvine *log, const roast_vine_task *task,
                         const roast_resource found[MEASURED]) {
    roast_taskvine_measured *sum = &log->facts.measured[kind_of_task(log, task)];
    if (!(found[CPU].value >= 0) || roast_vine_is_before(log))
        return;
    sum->tries++;
    sum->cpu_s += found[CPU].value;
    sum->wall_s += found[WALL].value > 0 ? found[WALL].value : 0;
    sum->read_bytes += found[READ].value > 0 ? found[READ].value * mib : 0;
    sum->write_bytes += found[WRITTEN].value > 0 ? found[WRITTEN].value * mib : 0;
    sum->memory = found[MEMORY].value * mib > sum->memory ? found[MEMORY].value * mib : sum->memory;
}

/* "memory: 2474 MB, 2000 MB allowed". */
static roast_str exceeded(roast_str limits, const roast_resource found[MEASURED], char *out,
                          size_t size) {
    roast_resource allowed[] = {{"memory", NAN}, {"disk", NAN}, {"wall_time", NAN}};
    const double used[] = {found[MEMORY].value, found[DISK].value, found[WALL].value};
    static const char *const units[] = {"MB", "MB", "s"};
    roast_resources_read(limits, allowed, 3);
    for (int i = 0; i < 3; i++)
        if (!isnan(allowed[i].value) && !isnan(used[i])) {
            int len = snprintf(out, size, "%s: %.0f %s, %.0f %s allowed", allowed[i].name, used[i],
                               units[i], allowed[i].value, units[i]);
            return (roast_str){out, len > 0 && (size_t)len < size ? (size_t)len : 0};
        }
    return (roast_str){NULL, 0};
}

static roast_status retrieved(roast_taskvine *log, uint32_t number, roast_fields *fields) {
    roast_resource found[MEASURED] = {
        {"time_worker_start", NAN}, {"time_worker_end", NAN}, {"cpu_time", NAN},
        {"wall_time", NAN},         {"memory", NAN},          {"disk", NAN},
        {"bytes_read", NAN},        {"bytes_written", NAN}};
    char type[64], message[128];
    roast_str result = roast_fields_next(fields), code = roast_fields_next(fields);
    roast_str limits = roast_fields_object(fields), measured = roast_fields_object(fields);
    const roast_vine_task *task = &log->tasks[number];
    if (measured.data == NULL)
        return ROAST_ECORRUPT;
    if (task->worker == ROAST_NO_WORKER) /* cancelled before it was sent */
        return ROAST_OK;
    bool cancelled = roast_field_is(result, "CANCELLED");
    bool exhausted = roast_field_is(result, "RESOURCE_EXHAUSTION");
    bool success = roast_field_is(result, "SUCCESS");
    log->facts.cancelled += cancelled && !roast_vine_is_before(log);
    if (was_lost(result))
        return roast_vine_lose(log, number, ROAST_NO_DEPARTURE);
    roast_resources_read(measured, found, MEASURED);
    int64_t start = roast_resource_moment(found[START].value),
            stop = roast_resource_moment(found[STOP].value);
    roast_vine_worker *worker = &log->workers[task->worker];
    roast_attempt attempt = {.outcome = success && roast_field_is(code, "0") ? ROAST_OUTCOME_done
                                                                             : ROAST_OUTCOME_raised,
                             .nbytes = -1,
                             .departure = ROAST_NO_DEPARTURE};
    if (start != ROAST_NO_TIME)
        roast_vine_clock_seen(worker, start, task->sent_us, log->now_us);
    if (stop != ROAST_NO_TIME)
        roast_vine_clock_seen(worker, stop, task->sent_us, log->now_us);
    attempt.start_us = roast_vine_on_manager(worker, start);
    attempt.stop_us = roast_vine_on_manager(worker, stop);
    if (attempt.outcome == ROAST_OUTCOME_raised) {
        int len =
            success ? snprintf(type, sizeof type, "exit code %.*s", (int)(code.len % 32), code.data)
                    : snprintf(type, sizeof type, "%.*s", (int)(result.len % 60), result.data);
        attempt.error_type = (roast_str){type, (size_t)len};
        attempt.error_message = exceeded(limits, found, message, sizeof message);
    }
    log->facts.exhausted += exhausted && !roast_vine_is_before(log);
    add_measured(log, task, found);
    if (start != ROAST_NO_TIME)
        ROAST_TRY(
            roast_vine_result(log, number, log->tasks[number].worker, start, &attempt.nbytes));
    return append(log, number, &attempt);
}

roast_status roast_vine_task_line(roast_taskvine *log, roast_fields *fields) {
    uint32_t number;
    roast_str id = roast_fields_next(fields), event = roast_fields_next(fields);
    if (event.data == NULL)
        return ROAST_ECORRUPT;
    ROAST_TRY(task_of(log, id, &number));
    if (roast_field_is(event, "READY") || roast_field_is(event, "WAITING"))
        return ready(log, number, fields);
    if (roast_field_is(event, "RUNNING"))
        return running(log, number, fields);
    if (roast_field_is(event, "RETRIEVED"))
        return retrieved(log, number, fields);
    return ROAST_OK;
}

roast_status roast_vine_library_line(roast_taskvine *log, roast_fields *fields) {
    uint32_t number;
    ROAST_TRY(task_of(log, roast_fields_next(fields), &number));
    log->facts.libraries += !log->tasks[number].library;
    log->tasks[number].library = true;
    return ROAST_OK;
}
