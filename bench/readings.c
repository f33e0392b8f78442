/* bench_readings: what each reading of the kernel costs, beside the floor of the same machine.
 *
 * Prints one JSON object: nanoseconds a call, the least and the median of several rounds, and
 * the share of a core that the sampling thread takes. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "roast/proc.h"
#include "roast/sampler.h"

enum { ROUNDS = 15, ROUND_NS = 5000000, SHARE_SECONDS = 2 };

typedef void (*call)(void *context);

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double ns_a_call(call body, void *context, long calls) {
    roast_mono start = roast_mono_now();
    for (long i = 0; i < calls; i++)
        body(context);
    return (double)roast_mono_since(start, roast_mono_now()) / (double)calls;
}

static void measure(const char *name, call body, void *context) {
    double rounds[ROUNDS];
    long calls = (long)(ROUND_NS / (ns_a_call(body, context, 1000) + 1)) + 1;
    for (int i = 0; i < ROUNDS; i++)
        rounds[i] = ns_a_call(body, context, calls);
    qsort(rounds, ROUNDS, sizeof *rounds, compare);
    printf("  \"%s\": {\"min_ns\": %.1f, \"median_ns\": %.1f},\n", name, rounds[0],
           rounds[ROUNDS / 2]);
}

static void bare_clock(void *unused) {
    (void)unused;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
}

static void bare_pread(void *file) {
    char buffer[160];
    if (pread(*(int *)file, buffer, sizeof buffer, 0) < 0)
        abort(); /* the floor would be that of a failure */
}

static void measure_floor(void) {
    measure("floor_clock_gettime", bare_clock, NULL);
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    measure("floor_pread_statm", bare_pread, &file);
    close(file);
}

static void read_groups(void *groups) {
    roast_reading reading;
    roast_probe_read(roast_probe_this_thread(), *(unsigned *)groups, &reading);
}

static void measure_groups(void) {
    static const struct {
        const char *name;
        unsigned groups;
    } rows[] = {
        {"read_statm", ROAST_READ_STATM}, {"read_peak", ROAST_READ_PEAK},
        {"read_usage", ROAST_READ_USAGE}, {"read_sched", ROAST_READ_SCHED},
        {"read_delay", ROAST_READ_DELAY}, {"read_io", ROAST_READ_IO},
        {"read_all", ROAST_READ_ALL},
    };
    unsigned available = roast_probe_groups(roast_probe_this_thread());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned groups = rows[i].groups;
        if (groups & available)
            measure(rows[i].name, read_groups, &groups);
        else
            printf("  \"%s\": null,\n", rows[i].name);
    }
}

/* The floor of any sampler: a thread that sleeps for the interval and does one pread, nothing
 * else. */
static void *bare_sampler(void *share) {
    struct timespec next, used;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int64_t slept = 0; slept < SHARE_SECONDS * INT64_C(1000000000);
         slept += ROAST_SAMPLER_DEFAULT_NS) {
        next.tv_nsec += ROAST_SAMPLER_DEFAULT_NS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        if (file >= 0)
            bare_pread(&file);
    }
    if (file >= 0)
        close(file);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    *(double *)share = ((double)used.tv_sec + 1e-9 * (double)used.tv_nsec) / SHARE_SECONDS;
    return NULL;
}

static void measure_bare_sampler(void) {
    pthread_t thread;
    double share = 0;
    if (pthread_create(&thread, NULL, bare_sampler, &share) != 0)
        return;
    pthread_join(thread, NULL);
    printf("  \"floor_sampler_share_of_a_core\": %.6f,\n", share);
}

static void open_and_close(void *sampler) {
    roast_sampler_close(sampler, roast_sampler_open(sampler, 1), 1);
}

/* Of one watch that stays open. */
static void measure_share(roast_sampler *sampler) {
    roast_sampler_stats before, after;
    roast_watch *watch = roast_sampler_open(sampler, 1);
    roast_sampler_get_stats(sampler, &before);
    roast_mono start = roast_mono_now();
    sleep(SHARE_SECONDS);
    roast_sampler_get_stats(sampler, &after);
    double wall = (double)roast_mono_since(start, roast_mono_now());
    roast_sampler_close(sampler, watch, 1);
    printf("  \"sampler_interval_ns\": %lld,\n", (long long)roast_sampler_interval(sampler));
    printf("  \"sampler_samples\": %llu,\n", (unsigned long long)(after.samples - before.samples));
    printf("  \"sampler_share_of_a_core\": %.6f\n", (double)(after.cpu_ns - before.cpu_ns) / wall);
}

int main(void) {
    roast_error err;
    roast_sampler *sampler;
    if (roast_probe_this_thread() == NULL)
        return EXIT_FAILURE;
    if (roast_sampler_new(NULL, ROAST_SAMPLER_DEFAULT_NS, &sampler, &err) != ROAST_OK) {
        fprintf(stderr, "bench_readings: %s\n", err.message);
        return EXIT_FAILURE;
    }
    printf("{\n  \"backend\": \"%s\",\n", roast_probe_backend());
    measure_floor();
    measure_groups();
    measure("sampler_open_close", open_and_close, sampler);
    measure_bare_sampler();
    measure_share(sampler);
    puts("}");
    roast_sampler_free(sampler);
    return EXIT_SUCCESS;
}
