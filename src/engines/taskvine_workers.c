/* Workers: joins, leaves, cores, limits of memory, clocks. */
#include <math.h>
#include <string.h>

#include "engines/taskvine_internal.h"

static roast_utc utc_of(int64_t us) {
    return (roast_utc){us * 1000};
}

roast_status roast_vine_worker_of(roast_taskvine *log, roast_str name, uint32_t *worker) {
    uint32_t number, series;
    void *workers = log->workers;
    if (name.data == NULL)
        return ROAST_ECORRUPT;
    ROAST_TRY(roast_array_reserve(&workers, &log->workers_capacity, sizeof *log->workers,
                                  (size_t)log->worker_count + 1));
    log->workers = workers;
    ROAST_TRY(roast_series_worker(log->series, name, &series, NULL));
    ROAST_TRY(roast_attempts_add_worker(log->attempts, name, &number, NULL));
    if (number == log->worker_count)
        log->workers[log->worker_count++] = (roast_vine_worker){.series = series,
                                                                .address = ROAST_NO_NAME,
                                                                .first_task = ROAST_NO_TASK,
                                                                .connected_us = ROAST_NO_TIME,
                                                                .least_us = INT64_MIN,
                                                                .most_us = INT64_MAX};
    *worker = number;
    return ROAST_OK;
}

/* ---- clocks ---- */

void roast_vine_clock_seen(roast_vine_worker *worker, int64_t on_worker, int64_t after,
                           int64_t before) {
    int64_t least = after != ROAST_NO_TIME ? roast_sub_capped(after, on_worker) : worker->least_us;
    int64_t most = roast_sub_capped(before, on_worker);
    worker->least_us = least > worker->least_us ? least : worker->least_us;
    worker->most_us = most < worker->most_us ? most : worker->most_us;
    if (worker->least_us > worker->most_us) { /* a clock was set */
        worker->least_us = after != ROAST_NO_TIME ? least : INT64_MIN;
        worker->most_us = most;
    }
}

/* Nothing, where the clocks may agree: what is left is less than the time that a message takes. */
static int64_t offset_of(const roast_vine_worker *worker) {
    if (worker->least_us <= 0 && worker->most_us >= 0)
        return 0;
    if (worker->least_us == INT64_MIN)
        return worker->most_us;
    if (worker->most_us == INT64_MAX)
        return worker->least_us;
    return worker->least_us / 2 + worker->most_us / 2;
}

int64_t roast_vine_on_manager(const roast_vine_worker *worker, int64_t moment) {
    return moment != ROAST_NO_TIME ? roast_add_capped(moment, offset_of(worker)) : ROAST_NO_TIME;
}

int64_t roast_taskvine_clock_offset(const roast_taskvine *log, uint32_t worker) {
    return worker < log->worker_count ? offset_of(&log->workers[worker]) : 0;
}

int32_t roast_taskvine_worker_cores(const roast_taskvine *log, uint32_t worker) {
    bool there = worker < log->worker_count && log->workers[worker].present;
    return there ? log->workers[worker].cores : -1;
}

/* ---- lines ---- */

static roast_status leave(roast_taskvine *log, roast_vine_worker *worker) {
    if (!worker->present)
        return ROAST_OK;
    worker->present = false;
    return roast_series_change(log->series, worker->series, ROAST_WORKER_LEFT, utc_of(log->now_us),
                               0, NULL);
}

/* "10.0.0.7:41234" */
static roast_status connection(roast_taskvine *log, roast_vine_worker *worker, roast_str address) {
    worker->connected_us = log->now_us;
    while (address.len > 0 && address.data[address.len - 1] != ':')
        address.len--;
    if (address.len < 2 || address.len > ROAST_MAX_WORKER_NAME)
        return ROAST_OK;
    return roast_intern_add(&log->addresses, (roast_str){address.data, address.len - 1},
                            &worker->address);
}

roast_status roast_vine_name_hosts(roast_taskvine *log) {
    for (uint32_t i = 0; i < log->worker_count; i++)
        if (log->workers[i].address != ROAST_NO_NAME)
            ROAST_TRY(roast_series_set_host(
                log->series, log->workers[i].series,
                roast_intern_get(&log->addresses, log->workers[i].address), NULL));
    return ROAST_OK;
}

/* Joins as soon as its cores are known, and again with another number of them. */
static roast_status resources(roast_taskvine *log, roast_vine_worker *worker, roast_str object) {
    roast_resource found[] = {{"cores", NAN}, {"memory", NAN}};
    roast_resources_read(object, found, 2);
    if (!(found[0].value >= 0) || found[0].value > INT32_MAX)
        return ROAST_ECORRUPT;
    int32_t cores = (int32_t)found[0].value;
    double memory = found[1].value * (1 << 20) / cores;
    if (cores > 0 && memory > 0 && (log->facts.task_memory <= 0 || memory < log->facts.task_memory))
        log->facts.task_memory = memory;
    if (!worker->present || worker->cores != cores) {
        int64_t when = worker->connected_us != ROAST_NO_TIME && !worker->present
                           ? worker->connected_us
                           : log->now_us;
        worker->present = true;
        worker->cores = cores;
        ROAST_TRY(roast_series_change(log->series, worker->series, ROAST_WORKER_JOINED,
                                      utc_of(when), cores, NULL));
    }
    return ROAST_OK;
}

/* FAILURE is any end of the connection that the manager did not expect: a worker that was killed, told to end, or left
 * because it had nothing to do. */
static roast_status disconnection(roast_taskvine *log, uint32_t number, roast_str reason) {
    roast_vine_worker *worker = &log->workers[number];
    bool expected = roast_field_is(reason, "EXPLICIT") || roast_field_is(reason, "IDLE_OUT");
    roast_departure departure = {
        .worker = number,
        .when = utc_of(log->now_us),
        .expected = expected,
        .running = worker->tasks,
    };
    uint32_t index = roast_attempts_departure_count(log->attempts);
    ROAST_TRY(leave(log, worker));
    worker->connected_us = ROAST_NO_TIME;
    if (roast_vine_is_before(log)) {
        index = ROAST_NO_DEPARTURE;
    } else {
        ROAST_TRY(roast_attempts_add_departure(log->attempts, &departure, NULL));
        log->facts.unexplained += !expected;
    }
    while (worker->first_task != ROAST_NO_TASK)
        ROAST_TRY(roast_vine_lose(log, worker->first_task, index));
    return ROAST_OK;
}

roast_status roast_vine_worker_line(roast_taskvine *log, roast_fields *fields) {
    uint32_t number;
    roast_str name = roast_fields_next(fields), event = roast_fields_next(fields);
    if (event.data == NULL)
        return ROAST_ECORRUPT;
    ROAST_TRY(roast_vine_worker_of(log, name, &number));
    if (roast_field_is(event, "CACHE_UPDATE"))
        return roast_vine_cache_line(log, number, fields);
    if (roast_field_is(event, "TRANSFER"))
        return roast_vine_transfer_line(log, number, fields);
    if (roast_field_is(event, "CONNECTION"))
        return connection(log, &log->workers[number], roast_fields_next(fields));
    if (roast_field_is(event, "RESOURCES"))
        return resources(log, &log->workers[number], roast_fields_object(fields));
    else if (roast_field_is(event, "DISCONNECTION"))
        return disconnection(log, number, roast_fields_next(fields));
    return ROAST_OK;
}
