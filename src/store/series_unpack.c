#include "store/series_pack_internal.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/varint.h"
#include "model/series_internal.h"

/* ---- lists of numbers ---- */

static bool get_list(roast_bits_reader *r, uint32_t count, uint64_t *numbers) {
    unsigned k = (unsigned)roast_bits_get(r, ROAST_RICE_WIDTH_BITS);
    for (uint32_t i = 0; i < count && !r->failed; i++)
        numbers[i] = roast_bits_get_rice(r, k);
    return !r->failed;
}

/* The differences become the values. */
static bool get_values(roast_bits_reader *r, roast_pack_rows *rows, unsigned column,
                       int64_t before) {
    bool second = roast_bits_get(r, 1) != 0;
    uint64_t unit = roast_bits_get_gamma(r), last = (uint64_t)before, difference = 0;
    uint32_t count = rows->changes[column];
    if (!get_list(r, count, rows->numbers))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number = (uint64_t)roast_unzigzag(rows->numbers[i]) * unit;
        difference = second ? difference + number : number;
        last += difference;
        rows->value[column][i] = (int64_t)last;
    }
    return true;
}

/* ---- a worker ---- */

static bool get_presence(roast_bits_reader *r, roast_pack_rows *rows, uint32_t ticks) {
    unsigned kind = (unsigned)roast_bits_get(r, ROAST_PRESENT_BITS);
    rows->count = 0;
    if (kind == ROAST_PRESENT_ALWAYS)
        for (; rows->count < ticks; rows->count++)
            rows->tick[rows->count] = (uint16_t)rows->count;
    if (kind != ROAST_PRESENT_RUNS)
        return !r->failed && kind < ROAST_PRESENT_KINDS;
    for (uint32_t tick = 0; tick < ticks;) {
        uint64_t absent = roast_bits_get_gamma(r) - 1;
        if (r->failed || absent > ticks - tick)
            return false;
        tick += (uint32_t)absent;
        if (tick == ticks)
            break;
        uint64_t run = roast_bits_get_gamma(r);
        if (r->failed || run > ticks - tick)
            return false;
        for (uint64_t i = 0; i < run; i++)
            rows->tick[rows->count++] = (uint16_t)tick++;
    }
    return true;
}

static bool get_missing(roast_bits_reader *r, roast_pack_rows *rows, uint32_t before) {
    uint64_t changes = roast_bits_get_gamma(r) - 1;
    uint32_t row = 0;
    for (uint64_t i = 0; i < changes; i++) {
        uint64_t since = roast_bits_get_gamma(r) - 1;
        if (r->failed || since > rows->count - row || rows->count - row - since == 0)
            return false;
        for (; since > 0; since--)
            rows->missing[row++] = (uint16_t)before;
        before = (uint32_t)roast_bits_get(r, ROAST_COLUMNS);
    }
    while (row < rows->count)
        rows->missing[row++] = (uint16_t)before;
    return !r->failed;
}

/* Gives `bit` to `*count` of `all` rows: of those that `among` names, or (NULL) of the first ones. */
static bool get_places(roast_bits_reader *r, roast_pack_rows *rows, const uint16_t *among,
                       uint32_t all, uint16_t bit, uint32_t *count) {
    bool every = roast_bits_get(r, 1) != 0;
    uint64_t wanted = every ? all : roast_bits_get_gamma(r);
    if (r->failed || wanted > all)
        return false;
    *count = (uint32_t)wanted;
    if (every)
        memset(rows->numbers, 0, (size_t)wanted * sizeof *rows->numbers);
    else if (!get_list(r, *count, rows->numbers))
        return false;
    uint32_t place = 0;
    for (uint32_t i = 0; i < *count; i++, place++) {
        if (rows->numbers[i] >= all - place)
            return false;
        place += (uint32_t)rows->numbers[i];
        rows->changed[among != NULL ? among[place] : place] |= bit;
    }
    return true;
}

/* In rows->changed, the bit behind the columns says that any of them changed. */
enum { ANY = 1 << ROAST_COLUMNS };

static void list_events(roast_pack_rows *rows) {
    uint32_t events = 0;
    for (uint32_t row = 0; row < rows->count; row++) {
        rows->event[events] = (uint16_t)row;
        events += (rows->changed[row] & ANY) != 0;
    }
}

static bool get_changes(roast_bits_reader *r, roast_pack_rows *rows,
                        const roast_pack_state *before) {
    unsigned all = (unsigned)roast_bits_get(r, ROAST_COLUMNS);
    uint32_t events = 0;
    memset(rows->changed, 0, rows->count * sizeof *rows->changed);
    if (all == 0)
        return !r->failed;
    if (!get_places(r, rows, NULL, rows->count, ANY, &events))
        return false;
    list_events(rows);
    for (unsigned column = 0; column < ROAST_COLUMNS; column++)
        if (all >> column & 1)
            if (!get_places(r, rows, rows->event, events, (uint16_t)(1u << column),
                            &rows->changes[column]) ||
                !get_values(r, rows, column, before->steps[column]))
                return false;
    return true;
}

/* How many rows from this one on repeat the row before it, tick by tick. */
static uint32_t count_repeats(const roast_pack_rows *rows, uint32_t row) {
    uint32_t first = row;
    if (row == 0) /* the row before it may be one of another piece, or none */
        return 0;
    while (row < rows->count && (rows->changed[row] & (ANY - 1u)) == 0 &&
           rows->missing[row] == rows->missing[row - 1] &&
           rows->tick[row] == rows->tick[row - 1] + 1)
        row++;
    return row - first;
}

static roast_status take_rows(const roast_pack_rows *rows, roast_pack_state *state,
                              roast_series *series, uint32_t worker, uint64_t first_tick) {
    uint32_t next[ROAST_COLUMNS] = {0};
    for (uint32_t row = 0; row < rows->count; row++) {
        uint32_t repeats = count_repeats(rows, row);
        if (repeats > 0) {
            ROAST_TRY(roast_series_repeat(series, worker, repeats));
            row += repeats - 1;
            continue;
        }
        const unsigned columns = rows->changed[row] & (ANY - 1u);
        for (unsigned changed = columns; changed != 0; changed &= changed - 1) {
            unsigned column = (unsigned)__builtin_ctz(changed);
            state->steps[column] = rows->value[column][next[column]++];
        }
        state->missing = rows->missing[row];
        ROAST_TRY(roast_series_append_steps(series, worker, first_tick + rows->tick[row], columns,
                                            state->steps, state->missing, NULL));
    }
    return ROAST_OK;
}

static const char *get_worker(roast_pack *pack, roast_bits_reader *r, roast_series *series,
                              uint32_t worker, uint64_t first_tick, uint32_t ticks,
                              roast_status *status) {
    roast_pack_rows *rows = pack->rows;
    roast_pack_state *state = &pack->states[worker];
    if (!get_presence(r, rows, ticks))
        return "the ticks of a worker are malformed";
    if (rows->count == 0)
        return NULL;
    if (!get_missing(r, rows, state->missing))
        return "the absent columns of a worker are malformed";
    if (!get_changes(r, rows, state))
        return "the values of a worker are malformed";
    roast_status taken = take_rows(rows, state, series, worker, first_tick);
    if (taken == ROAST_OK)
        return NULL;
    *status = taken == ROAST_EINVAL ? ROAST_ECORRUPT : taken;
    return taken == ROAST_EINVAL ? "its ticks were there before" : "no memory for its samples";
}

/* ---- a piece ---- */

static const char *check_frame(const uint8_t *bytes, size_t len, roast_status *status) {
    if (len < ROAST_PIECE_HEADER + ROAST_PIECE_CHECKSUM ||
        memcmp(bytes, ROAST_PIECE_MAGIC, sizeof ROAST_PIECE_MAGIC - 1) != 0)
        return "it is no piece of a series";
    unsigned version = bytes[ROAST_PIECE_HEADER - 1];
    if (version > ROAST_PIECE_VERSION) {
        *status = ROAST_EVERSION;
        return "a newer version wrote it";
    }
    if (version == 0)
        return "its version does not exist";
    uint32_t stored = 0;
    for (unsigned i = 0; i < ROAST_PIECE_CHECKSUM; i++)
        stored |= (uint32_t)bytes[len - ROAST_PIECE_CHECKSUM + i] << 8 * i;
    return stored == roast_crc32c(0, bytes, len - ROAST_PIECE_CHECKSUM) ? NULL
                                                                        : "its checksum is wrong";
}

const char *roast_unpack_piece(roast_pack *pack, const void *bytes, size_t len,
                               roast_series *series, uint64_t first_tick, uint32_t ticks,
                               uint64_t *samples, roast_status *status) {
    *status = ROAST_ECORRUPT;
    const char *fault = check_frame(bytes, len, status);
    if (fault != NULL)
        return fault;
    const uint8_t *at = (const uint8_t *)bytes + ROAST_PIECE_HEADER;
    const uint8_t *end = (const uint8_t *)bytes + len - ROAST_PIECE_CHECKSUM;
    uint64_t told_ticks, workers, before = roast_series_sample_count(series);
    if (!roast_get_varint(&at, end, &told_ticks) || told_ticks != ticks ||
        ticks > ROAST_PIECE_TICKS)
        return "its number of ticks is wrong";
    if (!roast_get_varint(&at, end, &workers) || workers > roast_series_worker_count(series))
        return "its number of workers is wrong";
    if (roast_pack_reserve(pack, (uint32_t)workers) != ROAST_OK) {
        *status = ROAST_ENOMEM;
        return "no memory for its workers";
    }
    roast_bits_reader r = {.at = at, .end = end};
    for (uint32_t worker = 0; worker < workers && fault == NULL; worker++)
        fault = get_worker(pack, &r, series, worker, first_tick, ticks, status);
    if (fault == NULL && (r.failed || r.at != end || r.count >= 8 || r.waiting != 0))
        fault = "something stands behind its end";
    *samples = roast_series_sample_count(series) - before;
    return fault;
}
