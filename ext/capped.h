/* Sums of numbers that others gave us: one that does not fit stays at the end of the range. */
#ifndef ROAST_EXT_CAPPED_H
#define ROAST_EXT_CAPPED_H

#include <stdint.h>

static inline int64_t ext_capped_add(int64_t a, int64_t b) {
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : b > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t ext_capped_sub(int64_t a, int64_t b) {
    int64_t difference;
    return !__builtin_sub_overflow(a, b, &difference) ? difference : b < 0 ? INT64_MAX : INT64_MIN;
}

#endif
