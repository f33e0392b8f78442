#include <math.h>
#include <stdio.h>

#include "fuzz.h"
#include "roast/series.h"

/* A number that depends on all that can be read of a series; NaN counts as 1. */
static uint64_t walk(const roast_series *series) {
    uint64_t sum = roast_series_worker_count(series) * 3 + roast_series_sample_count(series);
    for (uint64_t i = 0; i < roast_series_tick_count(series); i++)
        sum = sum * 31 + (uint64_t)roast_series_tick_time(series, i).ns +
              roast_series_tick_workers(series, i);
    for (uint32_t w = 0; w < roast_series_worker_count(series); w++) {
        roast_str name = roast_series_worker_name(series, w);
        roast_str host = roast_series_worker_host(series, w);
        sum = sum * 31 + name.len + (uint8_t)name.data[name.len - 1] + host.len;
        roast_series_cursor cursor;
        roast_sample sample;
        roast_series_cursor_init(&cursor, series, w);
        while (roast_series_cursor_next(&cursor, &sample)) {
            sum = sum * 31 + (uint64_t)sample.when.ns;
            for (int c = 0; c < ROAST_COLUMNS; c++)
                sum = fuzz_add_real(sum, sample.value[c]);
        }
    }
    for (uint64_t i = 0; i < roast_series_change_count(series); i++) {
        roast_worker_change event = roast_series_change_at(series, i);
        sum = sum * 31 + event.worker + (uint64_t)event.kind + (uint64_t)event.when.ns +
              (uint64_t)event.threads;
    }
    return sum;
}

/* What decoded takes more rows, as a live series does. */
static void append_more(roast_series *series) {
    uint64_t ticks = roast_series_tick_count(series);
    roast_utc last = ticks == 0 ? (roast_utc){0} : roast_series_tick_time(series, ticks - 1);
    const double value[ROAST_COLUMNS] = {1, NAN, 3};
    if (roast_series_tick(series, last, 1, NULL) != ROAST_OK)
        return;
    for (uint32_t w = 0; w < roast_series_worker_count(series); w++)
        fuzz_require(roast_series_append(series, w, value, NULL) == ROAST_OK, "a row goes in");
    walk(series);
}

FUZZ_PACKED(roast_series, walk, append_more)

/* ---- seeds ---- */
static roast_status fill(roast_series *series, uint32_t workers, int ticks) {
    const roast_utc start = {INT64_C(1700000000000000000)};
    for (uint32_t w = 0; w < workers; w++) {
        char name[32];
        uint32_t number;
        snprintf(name, sizeof name, "tcp://10.0.0.%u:40000", w);
        ROAST_TRY(roast_series_worker(series, roast_str_of(name), &number, NULL));
        if (w % 2 == 0)
            ROAST_TRY(roast_series_set_host(series, number, roast_str_of("node1"), NULL));
        ROAST_TRY(roast_series_change(series, number, ROAST_WORKER_JOINED, start, 4, NULL));
    }
    for (int t = 0; t < ticks; t++) {
        roast_utc now = {start.ns + t * INT64_C(1000000000)};
        ROAST_TRY(roast_series_tick(series, now, workers, NULL));
        for (uint32_t w = 0; w < workers; w++) {
            if (w > 0 && (t + (int)w) % 5 == 0)
                continue; /* a gap */
            double value[ROAST_COLUMNS];
            for (int c = 0; c < ROAST_COLUMNS; c++)
                value[c] = (t + c) % 7 == 0 ? NAN : (w + 1) * 1000.25 * t - 300 * c;
            value[ROAST_COLUMN_memory] = 4096.0 * t * (w + 1) + (t % 4 == 3);
            ROAST_TRY(roast_series_append(series, w, value, NULL));
        }
    }
    roast_utc end = {start.ns + INT64_C(3600000000000)};
    for (uint32_t w = 0; w < workers; w += 3)
        ROAST_TRY(roast_series_change(series, w, ROAST_WORKER_LEFT, end, 0, NULL));
    return ROAST_OK;
}

static bool make_seed(const char *folder, const char *name, uint32_t workers, int ticks) {
    roast_series *series = NULL;
    roast_sink *sink = NULL;
    bool made = roast_series_new(&series, NULL) == ROAST_OK &&
                roast_sink_new_memory(&sink, NULL) == ROAST_OK &&
                fill(series, workers, ticks) == ROAST_OK &&
                roast_series_encode(series, sink, NULL) == ROAST_OK;
    if (made) {
        roast_str bytes = roast_sink_memory(sink);
        made = fuzz_save(folder, name, bytes.data, bytes.len);
    }
    roast_sink_free(sink);
    roast_series_free(series);
    return made;
}

bool fuzz_make_corpus(const char *folder) {
    static const char future[] = "RCWS\x02 of another time";
    return make_seed(folder, "v1-empty", 0, 0) && make_seed(folder, "v1-ticks", 0, 4) &&
           make_seed(folder, "v1-one-worker", 1, 20) && make_seed(folder, "v1-workers", 4, 12) &&
           make_seed(folder, "v1-no-rows", 3, 0) &&
           fuzz_save(folder, "bad-newer-version", future, sizeof future - 1);
}
