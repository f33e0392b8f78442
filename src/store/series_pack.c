#include "store/series_pack_internal.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/varint.h"

void roast_pack_reset(roast_pack *pack) {
    roast_free(pack->states);
    roast_free(pack->rows);
    *pack = (roast_pack){0};
}

roast_status roast_pack_reserve(roast_pack *pack, uint32_t workers) {
    void *states = pack->states;
    roast_status status =
        roast_array_reserve(&states, &pack->states_capacity, sizeof *pack->states, workers);
    pack->states = states;
    if (status != ROAST_OK)
        return status;
    for (; pack->workers < workers; pack->workers++)
        pack->states[pack->workers] = (roast_pack_state){{0}, 0};
    if (pack->rows == NULL)
        pack->rows = roast_alloc(sizeof *pack->rows);
    return pack->rows == NULL ? ROAST_ENOMEM : ROAST_OK;
}

/* ---- lists of numbers, out ---- */

static uint64_t rice_cost(const uint64_t *numbers, uint32_t count, unsigned k) {
    uint64_t bits = (uint64_t)count * (k + 1);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t above = numbers[i] >> k;
        bits += above < ROAST_RICE_ONES ? above : ROAST_RICE_ONES + 64 - k - 1;
    }
    return bits;
}

/* Near the best k the cost falls and rises once: looked for from the mean on. */
static unsigned best_width(const uint64_t *numbers, uint32_t count, uint64_t *cost) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += (double)numbers[i];
    unsigned k = 0;
    for (double mean = sum / count; mean >= 2 && k < 62; mean /= 2)
        k++;
    uint64_t best = rice_cost(numbers, count, k), other;
    while (k > 0 && (other = rice_cost(numbers, count, k - 1)) < best) {
        best = other;
        k--;
    }
    *cost = best;
    return k;
}

static void put_list(roast_bits_writer *w, const uint64_t *numbers, uint32_t count, unsigned k) {
    roast_bits_put(w, k, ROAST_RICE_WIDTH_BITS);
    for (uint32_t i = 0; i < count; i++)
        roast_bits_put_rice(w, numbers[i], k);
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t magnitude(int64_t value) {
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* The differences of `values` (before the first: `before`), or theirs, in units of their common
 * divisor. */
static uint64_t differences(const int64_t *values, uint32_t count, int64_t before, bool second,
                            uint64_t *out) {
    int64_t last = before, last_difference = 0;
    uint64_t unit = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t difference = (int64_t)((uint64_t)values[i] - (uint64_t)last), number = difference;
        if (second)
            number = (int64_t)((uint64_t)difference - (uint64_t)last_difference);
        last = values[i];
        last_difference = difference;
        out[i] = (uint64_t)number;
        if (unit != 1)
            unit = common_divisor(magnitude(number), unit);
    }
    if (unit == 0 || unit > INT64_MAX)
        unit = 1;
    for (uint32_t i = 0; i < count; i++)
        out[i] = roast_zigzag((int64_t)out[i] / (int64_t)unit);
    return unit;
}

static void put_values(roast_bits_writer *w, roast_pack_rows *rows, unsigned column,
                       int64_t before) {
    uint32_t count = rows->changes[column];
    const int64_t *values = rows->value[column];
    uint64_t first_cost, second_cost = UINT64_MAX;
    differences(values, count, before, false, rows->numbers);
    best_width(rows->numbers, count, &first_cost);
    if (count > 2) {
        differences(values, count, before, true, rows->numbers);
        best_width(rows->numbers, count, &second_cost);
    }
    bool second = second_cost < first_cost;
    uint64_t unit = differences(values, count, before, second, rows->numbers);
    roast_bits_put(w, second, 1);
    roast_bits_put_gamma(w, unit);
    put_list(w, rows->numbers, count, best_width(rows->numbers, count, &first_cost));
}

/* ---- a worker, out ---- */

/* Reads the worker's rows of the piece. */
static void collect(roast_pack_rows *rows, roast_pack_source *source, roast_pack_state *state,
                    uint64_t first, uint32_t ticks) {
    rows->count = 0;
    memset(rows->changes, 0, sizeof rows->changes);
    for (;;) {
        if (!source->waiting) {
            if (!roast_series_cursor_next(&source->cursor, &source->sample))
                return;
            source->tick = source->cursor.row.tick - 1; /* the cursor stands behind it */
            source->waiting = true;
        }
        if (source->tick >= first + ticks)
            return;
        source->waiting = false;
        uint32_t row = rows->count++, missing = source->cursor.row.missing;
        uint16_t changed = 0;
        for (unsigned column = 0; column < ROAST_COLUMNS; column++) {
            int64_t steps = source->cursor.row.steps[column];
            if (steps == state->steps[column] || missing >> column & 1)
                continue;
            changed |= (uint16_t)(1u << column);
            state->steps[column] = steps;
            rows->value[column][rows->changes[column]++] = steps;
        }
        rows->tick[row] = (uint16_t)(source->tick - first);
        rows->missing[row] = (uint16_t)missing;
        rows->changed[row] = changed;
    }
}

/* Runs of ticks without and with a row in turns. */
static void put_presence(roast_bits_writer *w, const roast_pack_rows *rows, uint32_t ticks) {
    if (rows->count == 0 || rows->count == ticks) {
        roast_bits_put(w, rows->count == 0 ? ROAST_PRESENT_NEVER : ROAST_PRESENT_ALWAYS,
                       ROAST_PRESENT_BITS);
        return;
    }
    roast_bits_put(w, ROAST_PRESENT_RUNS, ROAST_PRESENT_BITS);
    for (uint32_t row = 0, tick = 0; tick < ticks;) {
        uint32_t next = row < rows->count ? rows->tick[row] : ticks, run = 0;
        roast_bits_put_gamma(w, (uint64_t)(next - tick) + 1);
        while (row < rows->count && rows->tick[row] == next + run)
            row++, run++;
        tick = next + run;
        if (next < ticks)
            roast_bits_put_gamma(w, run);
    }
}

static void put_missing(roast_bits_writer *w, const roast_pack_rows *rows, uint32_t before) {
    uint32_t changes = 0, last = before;
    for (uint32_t row = 0; row < rows->count; row++) {
        changes += rows->missing[row] != last;
        last = rows->missing[row];
    }
    roast_bits_put_gamma(w, (uint64_t)changes + 1);
    last = before;
    for (uint32_t row = 0, since = 0; row < rows->count; row++, since++) {
        if (rows->missing[row] == last)
            continue;
        last = rows->missing[row];
        roast_bits_put_gamma(w, (uint64_t)since + 1);
        roast_bits_put(w, last, ROAST_COLUMNS);
        since = 0;
    }
}

/* Which of the rows with any of `within` have one of `wanted`: how many rows lie between. */
static uint32_t gaps(roast_pack_rows *rows, uint16_t within, uint16_t wanted) {
    uint32_t count = 0, since = 0;
    for (uint32_t row = 0; row < rows->count; row++) {
        if (within != 0 && (rows->changed[row] & within) == 0)
            continue;
        if ((rows->changed[row] & wanted) == 0) {
            since++;
            continue;
        }
        rows->numbers[count++] = since;
        since = 0;
    }
    return count;
}

/* `count` places among `all`: none are told where it is all of them. */
static void put_places(roast_bits_writer *w, roast_pack_rows *rows, uint32_t count, uint32_t all) {
    uint64_t cost;
    roast_bits_put(w, count == all, 1);
    if (count == all)
        return;
    roast_bits_put_gamma(w, count);
    put_list(w, rows->numbers, count, best_width(rows->numbers, count, &cost));
}

static void put_changes(roast_bits_writer *w, roast_pack_rows *rows,
                        const roast_pack_state *before) {
    uint16_t all = 0;
    for (uint32_t row = 0; row < rows->count; row++)
        all |= rows->changed[row];
    roast_bits_put(w, all, ROAST_COLUMNS);
    if (all == 0)
        return;
    uint32_t events = gaps(rows, 0, all);
    put_places(w, rows, events, rows->count);
    for (unsigned column = 0; column < ROAST_COLUMNS; column++) {
        if (!(all >> column & 1))
            continue;
        put_places(w, rows, gaps(rows, all, (uint16_t)(1u << column)), events);
        put_values(w, rows, column, before->steps[column]);
    }
}

/* More than a worker of so many rows and ticks can take. */
static size_t worker_bound(uint32_t rows, uint32_t ticks) {
    return (size_t)ROAST_BITS_LONGEST *
           (16 + (size_t)ticks * 2 + (size_t)rows * (3 + 2 * ROAST_COLUMNS));
}

static roast_status put_worker(roast_pack *pack, roast_pack_source *source, uint32_t worker,
                               uint64_t first, uint32_t ticks, roast_bits_writer *w) {
    roast_pack_rows *rows = pack->rows;
    roast_pack_state before = pack->states[worker];
    rows->count = 0;
    if (source != NULL)
        collect(rows, source, &pack->states[worker], first, ticks);
    ROAST_TRY(roast_buffer_reserve(w->out, worker_bound(rows->count, rows->count > 0 ? ticks : 0)));
    put_presence(w, rows, ticks);
    if (rows->count == 0)
        return ROAST_OK;
    put_missing(w, rows, before.missing);
    pack->states[worker].missing = rows->missing[rows->count - 1];
    put_changes(w, rows, &before);
    return ROAST_OK;
}

/* ---- a piece, out ---- */

static roast_status put_head(roast_buffer *out, uint32_t ticks, uint32_t workers) {
    ROAST_TRY(roast_buffer_reserve(out, ROAST_PIECE_HEADER + 2 * ROAST_VARINT_MAX));
    roast_buffer_push(out, ROAST_PIECE_MAGIC, sizeof ROAST_PIECE_MAGIC - 1);
    out->data[out->len++] = ROAST_PIECE_VERSION;
    uint8_t *at = roast_put_varint(out->data + out->len, ticks);
    at = roast_put_varint(at, workers);
    out->len = (size_t)(at - out->data);
    return ROAST_OK;
}

static roast_status put_checksum(roast_buffer *out, size_t start) {
    uint8_t bytes[ROAST_PIECE_CHECKSUM];
    uint32_t crc = roast_crc32c(0, out->data + start, out->len - start);
    for (unsigned i = 0; i < ROAST_PIECE_CHECKSUM; i++)
        bytes[i] = (uint8_t)(crc >> 8 * i);
    return roast_buffer_append(out, bytes, sizeof bytes);
}

/* source_of[n]: the worker of the series that has number n, or UINT32_MAX. */
static roast_status source_numbers(const roast_series *series, const uint32_t *number,
                                   uint32_t workers, uint32_t **out) {
    uint32_t count = roast_series_worker_count(series);
    uint32_t *source_of = roast_alloc((size_t)workers * sizeof *source_of);
    if (source_of == NULL)
        return ROAST_ENOMEM;
    memset(source_of, 0xff, (size_t)workers * sizeof *source_of);
    for (uint32_t i = 0; i < count; i++)
        source_of[number == NULL ? i : number[i]] = i;
    *out = source_of;
    return ROAST_OK;
}

roast_status roast_pack_piece(roast_pack *pack, const roast_series *series,
                              roast_pack_source *sources, const uint32_t *number, uint32_t workers,
                              uint64_t first, uint32_t ticks, roast_buffer *out,
                              uint64_t *samples) {
    size_t start = out->len;
    uint32_t *source_of = NULL;
    *samples = 0;
    ROAST_TRY(roast_pack_reserve(pack, workers));
    ROAST_TRY(put_head(out, ticks, workers));
    ROAST_TRY(source_numbers(series, number, workers, &source_of));
    roast_bits_writer w = {.out = out};
    roast_status status = ROAST_OK;
    for (uint32_t worker = 0; status == ROAST_OK && worker < workers; worker++) {
        roast_pack_source *source =
            source_of[worker] == UINT32_MAX ? NULL : &sources[source_of[worker]];
        status = put_worker(pack, source, worker, first, ticks, &w);
        *samples += pack->rows->count;
    }
    roast_free(source_of);
    ROAST_TRY(status);
    ROAST_TRY(roast_buffer_reserve(out, 1));
    roast_bits_finish(&w);
    return put_checksum(out, start);
}
