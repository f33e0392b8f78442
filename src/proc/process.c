/* The token of this process. */
#include "roast/proc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/random.h>
#endif

static _Atomic uint64_t token; /* 0: not made yet */
static pthread_once_t watched = PTHREAD_ONCE_INIT;

static void forget_in_child(void) {
    atomic_store(&token, 0);
}

static void register_handler(void) {
    /* Fails only without memory; then a later fork is not noticed, and nothing else is lost. */
    (void)pthread_atfork(NULL, NULL, forget_in_child);
}

static bool kernel_random(uint64_t *out) {
#ifdef __linux__
    return getrandom(out, sizeof *out, GRND_NONBLOCK) == (ssize_t)sizeof *out;
#else
    return getentropy(out, sizeof *out) == 0;
#endif
}

static uint64_t stir(uint64_t state, uint64_t value) {
    state = (state ^ value) + UINT64_C(0x9e3779b97f4a7c15);
    state = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    state = (state ^ (state >> 27)) * UINT64_C(0x94d049bb133111eb);
    return state ^ (state >> 31);
}

/* Clocks distinguish boots and moments, the number processes, the address (randomised) hosts that booted together. */
static uint64_t mixed_random(void) {
    uint64_t state = stir(0, (uint64_t)roast_utc_now().ns);
    state = stir(state, (uint64_t)roast_mono_now().ns);
    state = stir(state, (uint64_t)getpid());
    return stir(state, (uint64_t)(uintptr_t)&state);
}

uint64_t roast_process_token(void) {
    uint64_t known = atomic_load_explicit(&token, memory_order_acquire);
    if (known != 0)
        return known;
    pthread_once(&watched, register_handler);
    uint64_t fresh = 0;
    if (!kernel_random(&fresh))
        fresh = mixed_random();
    if (fresh == 0)
        fresh = 1;
    /* Of two threads that come here together one wins, and both return its token. */
    return atomic_compare_exchange_strong(&token, &known, fresh) ? fresh : known;
}
