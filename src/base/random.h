/* Random numbers by splitmix64: the same ones from the same state, on every machine. */
#ifndef ROAST_BASE_RANDOM_H
#define ROAST_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t roast_random_next(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Even over 0 to below - 1. */
static inline uint64_t roast_random_below(uint64_t *state, uint64_t below) {
    return (uint64_t)(((unsigned __int128)roast_random_next(state) * below) >> 64);
}

#endif
