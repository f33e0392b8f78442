/* How far a run has come. */
#include "roast/progress.h"

#include <math.h>

#include "roast/ending.h"

/* No run lasts this long; beyond it a second has no number. */
static const double MOST_SECONDS = 1e12;

void roast_progress_init(roast_progress *progress, double start) {
    *progress = (roast_progress){
        .start = start, .first_begin = NAN, .workers = NAN, .memory = NAN, .memory_limit = NAN};
    for (int i = 0; i < ROAST_PROGRESS_SECONDS; i++)
        progress->recent[i].when = -1;
}

/* ---- in ---- */

/* The second of a moment, -1 where it is none. */
static int64_t second_of(const roast_progress *progress, double now) {
    double since = now - progress->start;
    return since >= 0 && since < MOST_SECONDS ? (int64_t)since : -1;
}

static roast_progress_second *second_at(roast_progress *progress, int64_t when) {
    roast_progress_second *second = &progress->recent[when % ROAST_PROGRESS_SECONDS];
    if (second->when != when)
        *second = (roast_progress_second){.when = when};
    return second;
}

static void add_chunk(roast_progress *progress, const roast_chunk *chunk, double now) {
    int64_t when = second_of(progress, now);
    double seconds =
        (chunk->have & ROAST_CHUNK_HAS(duration_ns)) != 0 ? (double)chunk->duration_ns / 1e9 : 0;
    if (isnan(progress->first_begin))
        progress->first_begin = now - seconds > progress->start ? now - seconds : progress->start;
    if (chunk->error_type.data != NULL) {
        progress->failed++;
        return;
    }
    progress->chunks++;
    progress->seconds += seconds;
    progress->have_events |= (chunk->have & ROAST_CHUNK_HAS(num_events)) != 0;
    progress->have_bytes |= (chunk->have & ROAST_CHUNK_HAS(bytes_read)) != 0;
    if (when < 0)
        return;
    if ((chunk->have & ROAST_CHUNK_HAS(num_events)) != 0)
        second_at(progress, when)->events += (double)chunk->num_events;
    if ((chunk->have & ROAST_CHUNK_HAS(bytes_read)) != 0)
        second_at(progress, when)->bytes += (double)chunk->bytes_read;
}

void roast_progress_add_chunks(roast_progress *progress, const roast_chunklog *log, double now) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk))
        add_chunk(progress, &chunk, now);
}

static void add_known(double *sum, double value) {
    if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
}

void roast_progress_add_series(roast_progress *progress, const roast_series *news) {
    uint64_t ticks = roast_series_tick_count(news);
    if (ticks == 0)
        return;
    roast_utc last = roast_series_tick_time(news, ticks - 1);
    progress->workers = roast_series_tick_workers(news, ticks - 1);
    progress->memory = progress->memory_limit = NAN;
    for (uint32_t worker = 0; worker < roast_series_worker_count(news); worker++) {
        roast_series_cursor cursor;
        roast_sample sample;
        roast_series_cursor_init(&cursor, news, worker);
        while (roast_series_cursor_next(&cursor, &sample)) {
            if (sample.when.ns != last.ns)
                continue;
            add_known(&progress->memory, sample.value[ROAST_COLUMN_memory]);
            add_known(&progress->memory_limit, sample.value[ROAST_COLUMN_memory_limit]);
        }
    }
}

/* ---- out ---- */

static double window_of(const roast_progress *progress, double now) {
    double wanted = progress->chunks > 0 ? 2 * progress->seconds / (double)progress->chunks : 0;
    double since = now - progress->start;
    wanted = wanted > ROAST_PROGRESS_SHORTEST ? wanted : ROAST_PROGRESS_SHORTEST;
    wanted = wanted < ROAST_PROGRESS_SECONDS ? wanted : ROAST_PROGRESS_SECONDS;
    return since < wanted ? since : wanted;
}

static void set_rates(const roast_progress *progress, double now, roast_progress_view *view) {
    double window = window_of(progress, now), events = 0, bytes = 0;
    int64_t this_second = second_of(progress, now);
    if (!(window > 0) || this_second < 0)
        return;
    for (int i = 0; i < ROAST_PROGRESS_SECONDS; i++) {
        const roast_progress_second *second = &progress->recent[i];
        if (second->when < 0 || second->when > this_second ||
            (double)(this_second - second->when) >= window)
            continue;
        events += second->events;
        bytes += second->bytes;
    }
    if (progress->have_events)
        view->event_rate = events / window;
    if (progress->have_bytes)
        view->byte_rate = bytes / window;
}

double roast_progress_left(double since, uint64_t done, uint64_t total) {
    return done > 0 && total >= done && since > 0 ? since / (double)done * (double)(total - done)
                                                  : (double)NAN;
}

double roast_progress_left_of(const roast_run *run, double first) {
    const roast_run_clock clock = roast_run_get_clock(run);
    const roast_ending_pieces pieces = roast_ending_get_pieces(roast_run_ending_view(run));
    if (!clock.have || isnan(first) || pieces.all < 0 || pieces.done < 0)
        return (double)NAN;
    return roast_progress_left(fmin(clock.end - first, clock.end - clock.start),
                               (uint64_t)pieces.done, (uint64_t)pieces.all);
}

roast_progress_view roast_progress_look(const roast_progress *progress, double now,
                                        uint64_t total) {
    roast_progress_view view = {.chunks = progress->chunks,
                                .failed = progress->failed,
                                .byte_rate = NAN,
                                .event_rate = NAN,
                                .workers = progress->workers,
                                .memory = progress->memory,
                                .memory_limit = progress->memory_limit};
    set_rates(progress, now, &view);
    view.seconds_left = roast_progress_left(now - progress->first_begin, progress->chunks, total);
    return view;
}
