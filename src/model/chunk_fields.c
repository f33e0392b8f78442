/* How the numbers of a chunk are packed; the list with the letters is ROAST_CHUNK_FIELDS. */
#include "model/chunklog_internal.h"

/* Every number goes in as the difference to its base, in two's complement: no value overflows. */
#define YEAR_2020_US        UINT64_C(1577836800000000)
#define KNOWN(chunk, name)  ((chunk)->have & ROAST_CHUNK_HAS(name) ? (uint64_t)(chunk)->name : 0)
#define BASE_U(chunk, near) 0
#define BASE_E(chunk, near) YEAR_2020_US
#define BASE_T(chunk, near) 0
#define BASE_P(chunk, near) 0
#define BASE_M(chunk, near) 0
#define BASE_S(chunk, near) (KNOWN(chunk, near) + KNOWN(chunk, num_events))
#define BASE_Q(chunk, near) KNOWN(chunk, near)
#define BASE_D(chunk, near) ((chunk)->pid > 0 ? (uint64_t)(chunk)->pid : 0)

/* The difference is a number of units and a rest, which has a number of its own where it is not 0:
 * the context says where. A letter with a sign has a power of two as its unit. */
enum { PLAIN = 1, MICROSECOND = 1000, PAGE = 4096 };
#define UNIT_U(chunk) PLAIN
#define UNIT_E(chunk) PLAIN
#define UNIT_T(chunk) MICROSECOND
#define UNIT_P(chunk) PAGE
#define UNIT_M(chunk) events_of(chunk)
#define UNIT_S(chunk) PLAIN
#define UNIT_Q(chunk) PAGE
#define UNIT_D(chunk) PLAIN

#define REST_U 0 /* whether there may be one */
#define REST_E 0
#define REST_T 1
#define REST_P 1
#define REST_M 1
#define REST_S 0
#define REST_Q 1
#define REST_D 0

#define SIGNED_U 0
#define SIGNED_E 0
#define SIGNED_T 0
#define SIGNED_P 0
#define SIGNED_M 0
#define SIGNED_S 1
#define SIGNED_Q 1
#define SIGNED_D 1

/* How many bits a number usually has: see base/bits.h. For seconds of work on a hundred thousand events in
 * a gigabyte of memory. */
enum {
    USUAL_start_us = 48, /* until the end of 2028 */
    USUAL_duration_ns = 31,
    USUAL_num_events = 17,
    USUAL_entry_start = 3,
    USUAL_entry_stop = 1,
    USUAL_rss_before = 18,
    USUAL_rss_after = 14,
    USUAL_rss_peak = 15,
    USUAL_cpu_user_ns = 21,
    USUAL_cpu_system_ns = 16,
    USUAL_runqueue_wait_ns = 11,
    USUAL_io_wait_ns = 11,
    USUAL_minor_faults = 14,
    USUAL_major_faults = 2,
    USUAL_voluntary_switches = 8,
    USUAL_involuntary_switches = 7,
    USUAL_before_process_ns = 19,
    USUAL_bytes_read = 24,
    USUAL_read_requests = 5,
    USUAL_metadata_bytes = 19,
    USUAL_accessed_bytes = 24,
    USUAL_accessed_uncompressed_bytes = 25,
    USUAL_os_read_bytes = 24,
    USUAL_os_read_calls = 8,
    USUAL_os_write_bytes = 10,
    USUAL_os_write_calls = 4,
    USUAL_storage_read_bytes = 12,
    USUAL_storage_write_bytes = 6,
    USUAL_thread = 12,
    USUAL_dropped_sections = 8,
    USUAL_faults = 1,
    USUAL_measuring_ns = 7,
    USUAL_read_cpu_ns = 18,
    /* and of a rest */
    USUAL_REST_U = 0,
    USUAL_REST_E = 0,
    USUAL_REST_T = 10,
    USUAL_REST_P = 12,
    USUAL_REST_M = 16,
    USUAL_REST_S = 0,
    USUAL_REST_Q = 12,
    USUAL_REST_D = 0
};

static inline uint64_t events_of(const roast_chunk *chunk) {
    uint64_t events = KNOWN(chunk, num_events);
    return events > 0 ? events : PLAIN;
}

/* Whole units as a number without a sign, and back. */
static inline uint64_t to_units(uint64_t difference, uint64_t unit, bool is_signed) {
    if (!is_signed)
        return difference / unit;
    return roast_zigzag((int64_t)(difference - difference % unit) / (int64_t)unit);
}

static inline uint64_t from_units(uint64_t units, uint64_t unit, bool is_signed) {
    return (is_signed ? (uint64_t)roast_unzigzag(units) : units) * unit;
}

const uint8_t roast_fields_usual[ROAST_CHUNK_FIELD_COUNT] = {
#define X(name, packing, near) USUAL_##name,
    ROAST_CHUNK_FIELDS(X)
#undef X
};

const uint64_t roast_fields_in_units = 0
#define X(name, packing, near) | (REST_##packing ? ROAST_CHUNK_HAS(name) : 0)
    ROAST_CHUNK_FIELDS(X)
#undef X
    ;

void roast_fields_masks(const roast_chunk *chunk, uint64_t *present, uint64_t *rests) {
    uint64_t differ = 0, broken = 0, difference;
#define X(name, packing, near)                                                                     \
    difference = KNOWN(chunk, name) - BASE_##packing(chunk, near);                                 \
    if ((chunk->have & ROAST_CHUNK_HAS(name)) && difference != 0) {                                \
        differ |= ROAST_CHUNK_HAS(name);                                                           \
        if (difference % UNIT_##packing(chunk) != 0)                                               \
            broken |= ROAST_CHUNK_HAS(name);                                                       \
    }
    ROAST_CHUNK_FIELDS(X)
#undef X
    *present = differ;
    *rests = broken;
}

void roast_fields_put(roast_bit_writer *bits, const roast_chunk *chunk,
                      const roast_context *context) {
    uint64_t difference, unit;
#define X(name, packing, near)                                                                     \
    if (context->present & ROAST_CHUNK_HAS(name)) {                                                \
        difference = (uint64_t)chunk->name - BASE_##packing(chunk, near);                          \
        unit = UNIT_##packing(chunk);                                                              \
        roast_put_bit_number(bits, to_units(difference, unit, SIGNED_##packing), USUAL_##name);    \
        if (REST_##packing && (context->rests & ROAST_CHUNK_HAS(name)))                            \
            roast_put_bit_number(bits, difference % unit, USUAL_REST_##packing);                   \
    }
    ROAST_CHUNK_FIELDS(X)
#undef X
}

void roast_fields_get(roast_bit_reader *bits, const roast_context *context, roast_chunk *out) {
    /* Where they are known to be nobody else's: a field that is written could be one of them. */
    const uint64_t have = context->have, present = context->present, rests = context->rests;
    roast_bit_reader own = *bits;
    uint64_t units, rest;
#define X(name, packing, near)                                                                     \
    if (have & ROAST_CHUNK_HAS(name)) {                                                            \
        units = rest = 0;                                                                          \
        if (present & ROAST_CHUNK_HAS(name))                                                       \
            units = roast_get_bit_number(&own, USUAL_##name);                                      \
        if (REST_##packing && (rests & ROAST_CHUNK_HAS(name)))                                     \
            rest = roast_get_bit_number(&own, USUAL_REST_##packing);                               \
        out->name = (int64_t)(from_units(units, UNIT_##packing(out), SIGNED_##packing) + rest +    \
                              BASE_##packing(out, near));                                          \
    }
    ROAST_CHUNK_FIELDS(X)
#undef X
    *bits = own;
}
