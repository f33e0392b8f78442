/* bench_readings: what each reading of the kernel costs, beside the floor of the same machine.
 *
 * Prints one JSON object: nanoseconds a call, the least and the median of several rounds, and
 * the share of a core that the sampling thread takes in each of its rounds, while every core
 * computes and while none does. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "roast/proc.h"
#include "roast/sampler.h"

enum { ROUNDS = 15, ROUND_NS = 5000000, SHARE_ROUNDS = 7, SHARE_SECONDS = 1, MAX_CORES = 256 };

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
    roast_reading reading = {0};
    roast_probe_read(*(unsigned *)groups, &reading);
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
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned groups = rows[i].groups;
        roast_reading reading = {0};
        roast_probe_read(groups, &reading);
        if (reading.have != 0)
            measure(rows[i].name, read_groups, &groups);
        else
            printf("  \"%s\": null,\n", rows[i].name);
    }
}

static void open_and_close(void *unused) {
    (void)unused;
    roast_sampler_close(roast_sampler_open(1), 1);
}

/* ---- the share of a core that sampling takes ---- */

static double thread_cpu_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return 1e9 * (double)used.tv_sec + (double)used.tv_nsec;
}

/* The floor of any sampler: a thread that sleeps for the interval and does one pread, nothing
 * else. Starting it does not count. */
static void *bare_sampler(void *share) {
    enum { TICKS = SHARE_SECONDS * INT64_C(1000000000) / ROAST_SAMPLER_DEFAULT_NS };
    struct timespec next;
    double before = 0;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int tick = 0; tick <= TICKS; tick++) {
        next.tv_nsec += ROAST_SAMPLER_DEFAULT_NS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        if (file >= 0)
            bare_pread(&file);
        if (tick == 0)
            before = thread_cpu_ns();
    }
    *(double *)share = (thread_cpu_ns() - before) / (SHARE_SECONDS * 1e9);
    if (file >= 0)
        close(file);
    return NULL;
}

static double bare_share(void) {
    pthread_t thread;
    double share = 0;
    if (pthread_create(&thread, NULL, bare_sampler, &share) != 0)
        abort();
    pthread_join(thread, NULL);
    return share;
}

/* What was taken of a core, had no tick been missed: on a machine with too much to do a tick may come so
 * late that the next one is left out. */
static double share_of_core(uint64_t cpu_ns, uint64_t samples, double wall_ns) {
    if ((double)samples < 0.5 * wall_ns / (double)ROAST_SAMPLER_DEFAULT_NS) {
        fprintf(stderr, "bench_readings: %llu samples in %.1f s\n", (unsigned long long)samples,
                1e-9 * wall_ns);
        exit(EXIT_FAILURE);
    }
    return (double)cpu_ns / (double)samples / (double)ROAST_SAMPLER_DEFAULT_NS;
}

/* Of one watch that stays open. Stopped afterwards: in the rounds of the floor no sampler is awake. */
static double sampler_share(void) {
    roast_sampler_stats before, after;
    roast_watch *watch = roast_sampler_open(1);
    usleep(3 * ROAST_SAMPLER_DEFAULT_NS / 2000); /* it has started and taken a sample */
    roast_sampler_get_stats(&before);
    roast_mono start = roast_mono_now();
    sleep(SHARE_SECONDS);
    roast_sampler_get_stats(&after);
    double wall = (double)roast_mono_since(start, roast_mono_now());
    roast_sampler_close(watch, 1);
    roast_sampler_stop();
    return share_of_core(after.cpu_ns - before.cpu_ns, after.samples - before.samples, wall);
}

static atomic_bool computing;

static void *compute(void *unused) {
    volatile double sum = 0;
    while (atomic_load_explicit(&computing, memory_order_relaxed))
        for (int i = 0; i < 1000; i++)
            sum = sum + i;
    return unused;
}

/* How many threads it started: one for each core that this process may use. */
static int start_computing(pthread_t threads[MAX_CORES]) {
    cpu_set_t cores;
    int count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1,
        started = 0;
    atomic_store(&computing, true);
    while (started < count && started < MAX_CORES &&
           pthread_create(&threads[started], NULL, compute, NULL) == 0)
        started++;
    return started;
}

static void stop_computing(const pthread_t *threads, int count) {
    atomic_store(&computing, false);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void print_shares(const char *name, const double *shares, const char *behind) {
    printf("  \"%s\": [", name);
    for (int i = 0; i < SHARE_ROUNDS; i++)
        printf("%s%.6f", i > 0 ? ", " : "", shares[i]);
    printf("]%s\n", behind);
}

/* Floor and sampler take turns. */
static void measure_shares(void) {
    enum { BUSY, IDLE, STATES };
    double floor[STATES][SHARE_ROUNDS], ours[STATES][SHARE_ROUNDS];
    pthread_t threads[MAX_CORES];
    for (int round = 0; round < SHARE_ROUNDS; round++) {
        for (int state = 0; state < STATES; state++) {
            int count = state == BUSY ? start_computing(threads) : 0;
            floor[state][round] = bare_share();
            ours[state][round] = sampler_share();
            stop_computing(threads, count);
        }
    }
    printf("  \"sampler_interval_ns\": %lld,\n", (long long)ROAST_SAMPLER_DEFAULT_NS);
    print_shares("sampler_share_busy", ours[BUSY], ",");
    print_shares("sampler_share_idle", ours[IDLE], ",");
    print_shares("floor_sampler_share_busy", floor[BUSY], ",");
    print_shares("floor_sampler_share_idle", floor[IDLE], "");
}

static void measure_open_close(void) {
    measure("sampler_open_close", open_and_close, NULL);
    roast_sampler_stop();
}

int main(void) {
    printf("{\n  \"backend\": \"%s\",\n", roast_probe_backend());
    measure_floor();
    measure_groups();
    measure_open_close();
    measure_shares();
    puts("}");
    return EXIT_SUCCESS;
}
