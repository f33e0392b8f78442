/* The log of a TaskVine manager: bytes to lines. Tasks, workers and files have files of their own. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engines/taskvine_internal.h"

enum { MAX_LINE = 1 << 20, BLOCK = 1 << 18 };

static const char *const where = "TaskVine's log";

static const char *const way_names[] = {
#define X(name, words) #name,
    ROAST_TASKVINE_WAYS(X)
#undef X
};
static const char *const way_words[] = {
#define X(name, words) words,
    ROAST_TASKVINE_WAYS(X)
#undef X
};

const char *roast_taskvine_way_name(roast_taskvine_way way) {
    return (unsigned)way < ROAST_WAY_COUNT ? way_names[way] : "unknown";
}

const char *roast_taskvine_way_words(roast_taskvine_way way) {
    return (unsigned)way < ROAST_WAY_COUNT ? way_words[way] : "unknown";
}

/* ---- life ---- */

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, where, -1, "no memory for the log");
}

roast_status roast_taskvine_new(roast_taskvine **out, roast_error *err) {
    roast_taskvine *log = roast_alloc_zero(sizeof *log);
    if (log == NULL || roast_attempts_new(&log->attempts, NULL) != ROAST_OK ||
        roast_series_new(&log->series, NULL) != ROAST_OK) {
        roast_taskvine_free(log);
        return no_memory(err);
    }
    log->facts.first_us = log->facts.last_us = log->from_us = ROAST_NO_TIME;
    for (int i = 0; i < ROAST_PHASE_COUNT; i++)
        log->facts.phases_us[i][0] = log->facts.phases_us[i][1] = ROAST_NO_TIME;
    log->sent.size = 1;
    log->cached.size = sizeof(roast_vine_cached);
    *out = log;
    return ROAST_OK;
}

void roast_taskvine_begin_at(roast_taskvine *log, int64_t from_us) {
    log->from_us = from_us;
}

void roast_taskvine_free(roast_taskvine *log) {
    if (log == NULL)
        return;
    roast_buffer_reset(&log->line);
    roast_attempts_free(log->attempts);
    roast_series_free(log->series);
    roast_intern *const interns[] = {&log->categories,  &log->task_ids, &log->files,
                                     &log->explained,   &log->notes,    &log->addresses,
                                     &log->explanations};
    for (unsigned i = 0; i < sizeof interns / sizeof *interns; i++)
        roast_intern_reset(interns[i]);
    roast_free(log->kinds);
    roast_free(log->workers);
    roast_free(log->tasks);
    roast_free(log->file_tasks);
    roast_free(log->explanation_ids);
    roast_recent_reset(&log->sent);
    roast_recent_reset(&log->cached);
    roast_free(log);
}

size_t roast_taskvine_memory(const roast_taskvine *log) {
    const roast_intern *const interns[] = {&log->categories,  &log->task_ids, &log->files,
                                           &log->explained,   &log->notes,    &log->addresses,
                                           &log->explanations};
    size_t sum = sizeof *log + log->line.capacity + log->kinds_capacity +
                 log->workers_capacity * sizeof *log->workers +
                 log->tasks_capacity * sizeof *log->tasks +
                 log->files_capacity * sizeof *log->file_tasks +
                 log->explanations_capacity * sizeof *log->explanation_ids +
                 roast_recent_memory(&log->sent) + roast_recent_memory(&log->cached);
    for (unsigned i = 0; i < sizeof interns / sizeof *interns; i++)
        sum += roast_intern_memory(interns[i]);
    sum += log->attempts != NULL ? roast_attempts_memory(log->attempts) : 0;
    return sum + (log->series != NULL ? roast_series_memory(log->series) : 0);
}

/* ---- lines ---- */

/* A second manager in the same file counts its tasks from 1 again. */
static roast_status begin_manager(roast_taskvine *log) {
    if (log->facts.begun) {
        ROAST_TRY(roast_vine_lose_all(log));
        roast_intern_truncate(&log->task_ids, 0);
        roast_intern_truncate(&log->files, 0);
    }
    log->facts.begun = true;
    log->facts.ended = false;
    return ROAST_OK;
}

static roast_status manager_line(roast_taskvine *log, roast_fields *fields) {
    roast_fields_next(fields); /* its process */
    roast_str event = roast_fields_next(fields);
    if (roast_field_is(event, "START"))
        return begin_manager(log);
    log->facts.ended |= roast_field_is(event, "END");
    return event.data != NULL ? ROAST_OK : ROAST_ECORRUPT;
}

static roast_status read_line(roast_taskvine *log, roast_fields *fields) {
    int64_t now;
    if (!roast_field_moment(roast_fields_next(fields), &now))
        return ROAST_ECORRUPT;
    roast_fields_next(fields); /* the manager's process */
    roast_str subject = roast_fields_next(fields);
    log->now_us = now > log->now_us ? now : log->now_us; /* the clock may be set back */
    bool task = roast_field_is(subject, "TASK"), worker = roast_field_is(subject, "WORKER");
    if ((task || worker) && log->facts.first_us == ROAST_NO_TIME)
        log->facts.first_us = log->now_us;
    if (worker)
        return roast_vine_worker_line(log, fields);
    if (task)
        return roast_vine_task_line(log, fields);
    if (roast_field_is(subject, "MANAGER"))
        return manager_line(log, fields);
    if (roast_field_is(subject, "LIBRARY"))
        return roast_vine_library_line(log, fields);
    bool other = roast_field_is(subject, "CATEGORY") || roast_field_is(subject, "APPLICATION");
    return other ? ROAST_OK : ROAST_ECORRUPT;
}

/* A line that cannot be read is counted. */
static roast_status take_line(roast_taskvine *log, const char *line, size_t len) {
    roast_fields fields = {line, line + len};
    if (len > 0 && line[len - 1] == '\r')
        fields.end--;
    if (fields.at == fields.end || *line == '#')
        return ROAST_OK;
    log->facts.lines++;
    roast_status status = read_line(log, &fields);
    if (status == ROAST_ENOMEM)
        return status;
    log->facts.unreadable += status != ROAST_OK;
    return ROAST_OK;
}

/* ---- bytes ---- */

/* Keeps the beginning of a line; one that is too long is left out. */
static roast_status keep(roast_taskvine *log, const char *at, size_t len) {
    if (log->skipping)
        return ROAST_OK;
    if (log->line.len + len <= MAX_LINE)
        return roast_buffer_append(&log->line, at, len);
    log->skipping = true;
    log->line.len = 0;
    log->facts.lines++;
    log->facts.unreadable++;
    return ROAST_OK;
}

static roast_status take_end_of_line(roast_taskvine *log, const char *at, size_t len) {
    ROAST_TRY(keep(log, at, len));
    if (!log->skipping)
        ROAST_TRY(take_line(log, (const char *)log->line.data, log->line.len));
    log->skipping = false;
    log->line.len = 0;
    return ROAST_OK;
}

static roast_status take_bytes(roast_taskvine *log, const char *at, const char *end) {
    while (at < end) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        if (feed == NULL)
            return keep(log, at, (size_t)(end - at));
        if (log->line.len > 0 || log->skipping)
            ROAST_TRY(take_end_of_line(log, at, (size_t)(feed - at)));
        else
            ROAST_TRY(take_line(log, at, (size_t)(feed - at)));
        at = feed + 1;
    }
    return ROAST_OK;
}

roast_status roast_taskvine_feed(roast_taskvine *log, const void *bytes, size_t len,
                                 roast_error *err) {
    if (log->finished)
        return roast_error_set(err, ROAST_ESTATE, where, -1, "the log is finished");
    if (len == 0)
        return ROAST_OK;
    return take_bytes(log, bytes, (const char *)bytes + len) == ROAST_OK ? ROAST_OK
                                                                         : no_memory(err);
}

static roast_status io_error(const char *path, const char *what, roast_error *err) {
    int saved = errno;
    roast_error_set(err, ROAST_EIO, where, -1, "%s: %s: %s", path, what, strerror(saved));
    if (err != NULL)
        err->os_errno = saved;
    return ROAST_EIO;
}

static roast_status feed_from(roast_taskvine *log, int file, const char *path, int64_t *offset,
                              char *block, roast_error *err) {
    for (;;) {
        ssize_t got = pread(file, block, BLOCK, (off_t)*offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return io_error(path, "cannot be read", err);
        if (got == 0)
            return ROAST_OK;
        ROAST_TRY(roast_taskvine_feed(log, block, (size_t)got, err));
        *offset += got;
    }
}

roast_status roast_taskvine_feed_file(roast_taskvine *log, const char *path, int64_t *offset,
                                      roast_error *err) {
    struct stat info;
    if (*offset < 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "there is no byte %lld",
                               (long long)*offset);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    if (file < 0)
        return io_error(path, "cannot be opened", err);
    roast_status status = ROAST_OK;
    char *block = roast_alloc(BLOCK);
    if (block == NULL)
        status = no_memory(err);
    else if (fstat(file, &info) != 0)
        status = io_error(path, "cannot be read", err);
    else if (!S_ISREG(info.st_mode))
        status = roast_error_set(err, ROAST_EINVAL, where, -1, "%s: no regular file", path);
    else
        status = feed_from(log, file, path, offset, block, err);
    roast_free(block);
    close(file);
    return status;
}

/* ---- explanations ---- */

static roast_status add_text(roast_taskvine *log, roast_str text, size_t most, uint32_t *id) {
    text.len = text.len < most ? text.len : most;
    *id = ROAST_NO_NAME;
    return text.data != NULL ? roast_intern_add(&log->explanations, text, id) : ROAST_OK;
}

static roast_status explain(roast_taskvine *log, uint64_t task, roast_str type, roast_str message) {
    uint32_t number, ids[2];
    void *all = log->explanation_ids;
    ROAST_TRY(roast_array_reserve(&all, &log->explanations_capacity, sizeof *log->explanation_ids,
                                  2 * ((size_t)log->explained.count + 1)));
    log->explanation_ids = all;
    ROAST_TRY(add_text(log, type, ROAST_MAX_ERROR_TYPE, &ids[0]));
    ROAST_TRY(add_text(log, message, ROAST_MAX_ERROR_MESSAGE, &ids[1]));
    ROAST_TRY(roast_intern_add_key(&log->explained, task, &number));
    memcpy(log->explanation_ids + 2 * (size_t)number, ids, sizeof ids);
    return ROAST_OK;
}

roast_status roast_taskvine_explain(roast_taskvine *log, int64_t task, roast_str type,
                                    roast_str message, roast_error *err) {
    return explain(log, (uint64_t)task, type, message) == ROAST_OK ? ROAST_OK : no_memory(err);
}

/* ---- the end ---- */

/* Workers that leave when all tasks have ended took nothing away. */
static void forget_late_departures(roast_taskvine *log) {
    uint32_t count = roast_attempts_departure_count(log->attempts);
    for (; count > 0; count--) {
        roast_departure last = roast_attempts_departure(log->attempts, count - 1);
        if (last.when.ns / 1000 <= log->facts.last_us)
            break;
        log->facts.unexplained -= !last.expected;
    }
    roast_attempts_truncate_departures(log->attempts, count);
}

static roast_status finish(roast_taskvine *log) {
    log->facts.cut = log->line.len > 0 || log->skipping;
    ROAST_TRY(roast_vine_lose_all(log));
    forget_late_departures(log);
    ROAST_TRY(roast_attempts_settle(log->attempts, NULL));
    return roast_vine_add_notes(log);
}

roast_status roast_taskvine_finish(roast_taskvine *log, roast_error *err) {
    if (log->finished)
        return ROAST_OK;
    if (finish(log) != ROAST_OK)
        return no_memory(err);
    log->finished = true;
    return ROAST_OK;
}

const roast_taskvine_facts *roast_taskvine_get_facts(const roast_taskvine *log) {
    return &log->facts;
}

const roast_attempts *roast_taskvine_attempts(const roast_taskvine *log) {
    return log->attempts;
}

const roast_series *roast_taskvine_series(const roast_taskvine *log) {
    return log->series;
}

static roast_status cannot_take(const roast_taskvine *log, roast_error *err) {
    return roast_error_set(err, ROAST_ESTATE, where, -1,
                           log->finished ? "it was taken before" : "the log is not finished");
}

roast_status roast_taskvine_take_attempts(roast_taskvine *log, roast_attempts **out,
                                          roast_error *err) {
    if (!log->finished || log->attempts == NULL)
        return cannot_take(log, err);
    *out = log->attempts;
    log->attempts = NULL;
    return ROAST_OK;
}

roast_status roast_taskvine_take_series(roast_taskvine *log, roast_series **out, roast_error *err) {
    if (!log->finished || log->series == NULL)
        return cannot_take(log, err);
    *out = log->series;
    log->series = NULL;
    return ROAST_OK;
}

uint32_t roast_taskvine_note_count(const roast_taskvine *log) {
    return log->notes.count;
}

roast_str roast_taskvine_note(const roast_taskvine *log, uint32_t index) {
    return index < log->notes.count ? roast_intern_get(&log->notes, index) : (roast_str){NULL, 0};
}
