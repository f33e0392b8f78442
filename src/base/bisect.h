/* Search in an ordered list. */
#ifndef ROAST_BASE_BISECT_H
#define ROAST_BASE_BISECT_H

#include <stddef.h>

/* Sets `at`, a size_t, to the index of the first of `count` items for which `before`, an expression of `at`, is false;
 * to `count` if it is true for all. Items for which it is true come first. */
#define ROAST_BISECT(at, count, before)                                                            \
    do {                                                                                           \
        size_t roast_low_ = 0, roast_high_ = (count);                                              \
        while (roast_low_ < roast_high_) {                                                         \
            (at) = roast_low_ + (roast_high_ - roast_low_) / 2;                                    \
            if (before)                                                                            \
                roast_low_ = (at) + 1;                                                             \
            else                                                                                   \
                roast_high_ = (at);                                                                \
        }                                                                                          \
        (at) = roast_low_;                                                                         \
    } while (0)

#endif
