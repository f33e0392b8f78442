#include "support.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static long countdown = -1, seen, live;
static bool only_once, installed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the numbers: threads allocate, too */

static void *count_and_allocate(void *ptr, size_t size) {
    if (size == 0) {
        live -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    seen++;
    if (countdown >= 0 && (only_once ? countdown == 0 : countdown <= 0)) {
        if (only_once)
            countdown = -1;
        return NULL;
    }
    if (countdown > 0)
        countdown--;
    void *memory = realloc(ptr, size);
    live += ptr == NULL && memory != NULL;
    return memory;
}

static void *failing_hook(void *context, void *ptr, size_t size) {
    (void)context;
    pthread_mutex_lock(&lock);
    void *memory = count_and_allocate(ptr, size);
    pthread_mutex_unlock(&lock);
    return memory;
}

/* ROAST_TEST_FILTER: a pattern; only tests with such a name run. */
__attribute__((constructor)) static void set_filter(void) {
    const char *pattern = getenv("ROAST_TEST_FILTER");
    if (pattern != NULL)
        cmocka_set_test_filter(pattern);
}

static void install(void) {
    if (!installed)
        roast_alloc_set_hook(failing_hook, NULL);
    installed = true;
}

void alloc_fail_from(long n) {
    install();
    countdown = n;
    only_once = false;
    seen = 0;
}

void alloc_fail_once(long n) {
    install();
    countdown = n;
    only_once = true;
    seen = 0;
}

long alloc_fail_stop(void) {
    install();
    countdown = -1;
    long result = seen;
    seen = 0;
    return result;
}

long alloc_live(void) {
    install();
    return live;
}

long alloc_walk(roast_status (*body)(void *context), void *context) {
    for (int once = 0; once < 2; once++) {
        for (long n = 0;; n++) {
            long before = alloc_live();
            if (once)
                alloc_fail_once(n);
            else
                alloc_fail_from(n);
            roast_status status = body(context);
            long allocations = alloc_fail_stop();
            if (alloc_live() != before)
                fail_msg("%ld blocks leaked when allocation %ld failed", alloc_live() - before, n);
            if (status == ROAST_OK) {
                if (allocations > n)
                    fail_msg("allocation %ld failed and nobody noticed", n);
                if (once)
                    return n;
                break;
            }
            if (status != ROAST_ENOMEM)
                fail_msg("allocation %ld failed: %s", n, roast_status_name(status));
        }
    }
    return 0;
}

void assert_near_(double expected, double actual, const char *what, const char *file, int line) {
    double scale = fmax(fabs(expected), 1e-300);
    if (!(fabs(expected - actual) <= 1e-12 * scale) && !(expected == actual)) {
        print_error("%s: expected %.17g, got %.17g\n", what, expected, actual);
        _fail(file, line);
    }
}
