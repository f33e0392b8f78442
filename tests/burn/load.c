#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* A load must not carry the shadow memory of a sanitizer with it. */
#if defined(__clang__)
#define UNWATCHED __attribute__((no_sanitize("address", "thread"), noinline))
#elif defined(__GNUC__)
#define UNWATCHED __attribute__((no_sanitize_address, no_sanitize_thread, noinline))
#else
#define UNWATCHED
#endif

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void burn_cpu(double seconds) {
    double end = seconds_of(CLOCK_THREAD_CPUTIME_ID) + seconds;
    volatile uint32_t value = 1;
    /* Some milliseconds of work for each look at the clock, which is a system call. */
    while (seconds_of(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 500000; i++)
            value = value * 1664525u + 1013904223u;
}

void burn_sleep(double seconds) {
    struct timespec left = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

UNWATCHED static void touch(volatile char *memory, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes; at += page)
        memory[at] = 1;
}

bool burn_memory(size_t bytes, void (*hold)(void *context), void *context) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    touch(memory, bytes);
    hold(context);
    munmap(memory, bytes);
    return true;
}

bool burn_read(const char *path, size_t *calls, size_t *bytes) {
    char buffer[BURN_READ_BYTES];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    *calls = *bytes = 0;
    ssize_t got;
    do {
        got = pread(file, buffer, sizeof buffer, (off_t)*bytes);
        *calls += 1;
        *bytes += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    close(file);
    return got == 0;
}
