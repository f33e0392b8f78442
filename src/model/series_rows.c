/* The rows of a worker: writing them, reading them. */
#include "model/series_internal.h"

#include <math.h>

/* Bits 14 and 15 of the mask are taken: one column more needs a new version of the format. */
_Static_assert(ROAST_COLUMNS == 14, "a row's mask has room for 14 columns");

static const double steps_per_unit[ROAST_COLUMNS] = {
#define X(name, key, json, steps, unit) steps,
    ROAST_SERIES_COLUMNS(X)
#undef X
};

/* ---- writing ---- */

roast_status roast_series_row_write(roast_series_state *state, uint64_t tick,
                                    const double value[ROAST_COLUMNS], roast_buffer *rows) {
    enum { LONGEST = 2 + (2 + ROAST_COLUMNS) * ROAST_VARINT_MAX };
    ROAST_TRY(roast_buffer_reserve(rows, LONGEST));
    uint8_t *start = rows->data + rows->len, *at = start + 2;
    uint32_t mask = 0, missing = 0;
    int64_t steps[ROAST_COLUMNS];
    for (unsigned column = 0; column < ROAST_COLUMNS; column++) {
        double scaled = value[column] * steps_per_unit[column];
        if (scaled >= -0x1p63 && scaled < 0x1p63) { /* false for NaN */
            steps[column] = llround(scaled);
            mask |= (uint32_t)(steps[column] != state->steps[column]) << column;
        } else {
            missing |= 1u << column;
        }
    }
    uint32_t changed = mask;
    if (tick != state->tick) {
        mask |= ROAST_SERIES_SKIPPED;
        at = roast_put_varint(at, tick - state->tick);
    }
    if (missing != state->missing) {
        mask |= ROAST_SERIES_MISSING;
        at = roast_put_varint(at, missing);
    }
    for (; changed != 0; changed &= changed - 1) {
        unsigned column = (unsigned)__builtin_ctz(changed);
        at = roast_put_zigzag(at, roast_wrap_sub(steps[column], state->steps[column]));
        state->steps[column] = steps[column];
    }
    start[0] = (uint8_t)mask;
    start[1] = (uint8_t)(mask >> 8);
    rows->len += (size_t)(at - start);
    state->tick = tick + 1;
    state->missing = missing;
    return ROAST_OK;
}

/* ---- reading ---- */

const char *roast_series_row_read(roast_series_state *state, uint64_t ticks, const uint8_t **at,
                                  const uint8_t *end, uint32_t *changed) {
    if (end - *at < 2)
        return "a row is cut short";
    uint32_t mask = (uint32_t)(*at)[0] | (uint32_t)(*at)[1] << 8;
    *at += 2;
    if (state->tick >= ticks)
        return "a worker has more rows than there are ticks";
    if (mask & ROAST_SERIES_SKIPPED) {
        uint64_t skipped;
        if (!roast_get_varint(at, end, &skipped) || skipped == 0 || skipped >= ticks - state->tick)
            return "a row skips to a tick that does not exist";
        state->tick += skipped;
    }
    state->tick++;
    *changed = mask & ROAST_SERIES_ALL;
    if (mask & ROAST_SERIES_MISSING) {
        uint64_t missing;
        if (!roast_get_varint(at, end, &missing) || missing > ROAST_SERIES_ALL)
            return "the set of absent columns is malformed";
        *changed |= (uint32_t)missing ^ state->missing;
        state->missing = (uint32_t)missing;
    }
    if (mask & state->missing)
        return "an absent column has a value";
    for (mask &= ROAST_SERIES_ALL; mask != 0; mask &= mask - 1) {
        int64_t *steps = &state->steps[__builtin_ctz(mask)], difference;
        if (!roast_get_zigzag(at, end, &difference))
            return "a value is malformed";
        *steps = roast_wrap_add(*steps, difference);
    }
    return NULL;
}

void roast_series_cursor_init(roast_series_cursor *cursor, const roast_series *series,
                              uint32_t worker) {
    *cursor = (roast_series_cursor){.series = series, .worker = worker};
}

bool roast_series_cursor_next(roast_series_cursor *cursor, roast_sample *out) {
    const roast_series *series = cursor->series;
    roast_series_state *row = &cursor->row;
    uint32_t changed;
    if (cursor->worker >= series->names.count)
        return false;
    const roast_buffer *rows = &series->workers[cursor->worker].rows;
    if (cursor->offset == rows->len)
        return false;
    const uint8_t *at = rows->data + cursor->offset;
    if (roast_series_row_read(row, series->tick_count, &at, rows->data + rows->len, &changed) !=
        NULL)
        return false; /* cannot be: append and decode let only whole rows in */
    cursor->offset = (size_t)(at - rows->data);
    for (; changed != 0; changed &= changed - 1) {
        unsigned column = (unsigned)__builtin_ctz(changed);
        cursor->value[column] =
            row->missing >> column & 1 ? NAN : (double)row->steps[column] / steps_per_unit[column];
    }
    out->worker = cursor->worker;
    out->when = (roast_utc){series->ticks[row->tick - 1].when};
    memcpy(out->value, cursor->value, sizeof out->value);
    return true;
}
