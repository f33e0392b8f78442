#include "model/series_internal.h"

/* Bits 14 and 15 of the mask are taken: one column more needs a new version of the format. */
_Static_assert(ROAST_COLUMNS == 14, "a row's mask has room for 14 columns");
_Static_assert((int)ROAST_SERIES_ROW_MAX <= (int)ROAST_BLOCK_BYTES,
               "a row lies in two blocks at most");

static const double steps_per_unit[ROAST_COLUMNS] = {
#define X(name, key, json, steps, unit) steps,
    ROAST_SERIES_COLUMNS(X)
#undef X
};

/* Halves go away from zero, as llround does, which is a call for each of 14 columns. `value` must
 * be in the range of int64_t. The difference is exact: beyond 2^52 there is no fraction. */
static inline int64_t round_to_step(double value) {
    int64_t whole = (int64_t)value;
    double rest = value - (double)whole;
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

static inline bool fits_steps(double value) {
    return value >= -0x1p63 && value < 0x1p63; /* false for NaN */
}

/* Memory moves by whole pages; counted in them, its differences take two bytes less. An even number
 * is twice the zig-zag number of pages; 1 says that the plain difference follows. */
enum { PAGE = 4096, NOT_IN_PAGES = 1 };

static inline uint8_t *put_difference(uint8_t *at, unsigned column, int64_t difference) {
    if (column == ROAST_COLUMN_memory) {
        if (difference % PAGE == 0)
            return roast_put_varint(at, roast_zigzag(difference / PAGE) * 2);
        *at++ = NOT_IN_PAGES;
    }
    return roast_put_zigzag(at, difference);
}

static inline bool get_difference(const uint8_t **at, const uint8_t *end, unsigned column,
                                  int64_t *difference) {
    if (column == ROAST_COLUMN_memory) {
        uint64_t pages;
        if (!roast_get_any_varint(at, end, &pages))
            return false;
        if (pages % 2 == 0) {
            *difference = (int64_t)((uint64_t)roast_unzigzag(pages / 2) * PAGE);
            return true;
        }
        if (pages != NOT_IN_PAGES)
            return false;
    }
    uint64_t raw;
    if (!roast_get_any_varint(at, end, &raw))
        return false;
    *difference = roast_unzigzag(raw);
    return true;
}

/* Writes the row whose values of the columns in `mask` differ from those before it, and moves the
 * state on; its steps are those of the row already. */
static inline size_t put_row(roast_series_state *state, uint64_t tick, uint32_t missing,
                             uint32_t mask, const uint64_t difference[ROAST_COLUMNS],
                             uint8_t out[ROAST_SERIES_ROW_MAX]) {
    uint8_t *at = out + 2;
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
        at = put_difference(at, column, (int64_t)difference[column]);
    }
    out[0] = (uint8_t)mask;
    out[1] = (uint8_t)(mask >> 8);
    state->tick = tick + 1;
    state->missing = missing;
    return (size_t)(at - out);
}

size_t roast_series_row_write(roast_series_state *state, uint64_t tick,
                              const double value[ROAST_COLUMNS],
                              uint8_t out[ROAST_SERIES_ROW_MAX]) {
    uint64_t difference[ROAST_COLUMNS];
    uint32_t mask = 0, missing = 0;
    for (unsigned column = 0; column < ROAST_COLUMNS; column++) {
        double scaled = value[column] * steps_per_unit[column];
        if (!fits_steps(scaled)) {
            missing |= 1u << column;
            continue;
        }
        int64_t steps = round_to_step(scaled);
        difference[column] = (uint64_t)steps - (uint64_t)state->steps[column];
        mask |= (uint32_t)(steps != state->steps[column]) << column;
        state->steps[column] = steps;
    }
    return put_row(state, tick, missing, mask, difference, out);
}

size_t roast_series_row_write_steps(roast_series_state *state, uint64_t tick, uint32_t columns,
                                    const int64_t steps[ROAST_COLUMNS], uint32_t missing,
                                    uint8_t out[ROAST_SERIES_ROW_MAX]) {
    uint64_t difference[ROAST_COLUMNS];
    uint32_t mask = 0;
    for (columns &= ~missing; columns != 0; columns &= columns - 1) {
        unsigned column = (unsigned)__builtin_ctz(columns);
        difference[column] = (uint64_t)steps[column] - (uint64_t)state->steps[column];
        mask |= (uint32_t)(steps[column] != state->steps[column]) << column;
        state->steps[column] = steps[column];
    }
    return put_row(state, tick, missing, mask, difference, out);
}

const char *roast_series_row_read(roast_series_state *state, uint64_t ticks, const uint8_t **at,
                                  const uint8_t *end) {
    if (end - *at < 2)
        return "a row is cut short";
    uint32_t mask = (uint32_t)(*at)[0] | (uint32_t)(*at)[1] << 8;
    *at += 2;
    if (state->tick >= ticks)
        return "a worker has more rows than there are ticks";
    if (mask & ROAST_SERIES_SKIPPED) {
        uint64_t skipped;
        if (!roast_get_varint(at, end, &skipped))
            return "the number of skipped ticks is malformed";
        if (skipped == 0 || skipped >= ticks - state->tick)
            return "a row skips to a tick that does not exist";
        state->tick += skipped;
    }
    state->tick++;
    if (mask & ROAST_SERIES_MISSING) {
        uint64_t missing;
        if (!roast_get_varint(at, end, &missing) || missing > ROAST_SERIES_ALL)
            return "the set of absent columns is malformed";
        state->missing = (uint32_t)missing;
    }
    if (mask & state->missing)
        return "an absent column has a value";
    for (mask &= ROAST_SERIES_ALL; mask != 0; mask &= mask - 1) {
        unsigned column = (unsigned)__builtin_ctz(mask);
        int64_t difference;
        if (!get_difference(at, end, column, &difference))
            return "a value is malformed";
        state->steps[column] = (int64_t)((uint64_t)state->steps[column] + (uint64_t)difference);
    }
    return NULL;
}
