/* burn: a program with a known load.
 *
 *   burn cpu SECONDS          computes for so much CPU time
 *   burn sleep SECONDS        does nothing
 *   burn memory MB SECONDS    touches 10^6 bytes each, holds them, gives them back
 *   burn read FILE            reads it to its end
 *
 * A line on stdout says when the load stands; for `read` it tells calls and bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

enum { EXIT_USAGE = 2 };

static void say(const char *word) {
    puts(word);
    fflush(stdout);
}

static void hold(void *seconds) {
    say("holding");
    burn_sleep(*(double *)seconds);
}

static bool positive(const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= 0 && *out <= 1e6;
}

static int usage(void) {
    fputs("usage: burn cpu SECONDS | sleep SECONDS | memory MB SECONDS | read FILE\n", stderr);
    return EXIT_USAGE;
}

static int run_read(const char *path) {
    size_t calls, bytes;
    if (!burn_read(path, &calls, &bytes)) {
        perror(path);
        return EXIT_FAILURE;
    }
    printf("calls %zu bytes %zu\n", calls, bytes);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    double first, seconds;
    if (argc == 3 && strcmp(argv[1], "read") == 0)
        return run_read(argv[2]);
    if (argc < 3 || !positive(argv[2], &first))
        return usage();
    if (argc == 3 && strcmp(argv[1], "cpu") == 0) {
        burn_cpu(first);
        say("burnt");
        return EXIT_SUCCESS;
    }
    if (argc == 3 && strcmp(argv[1], "sleep") == 0) {
        burn_sleep(first);
        return EXIT_SUCCESS;
    }
    if (argc == 4 && strcmp(argv[1], "memory") == 0 && positive(argv[3], &seconds))
        return burn_memory((size_t)(first * 1e6), hold, &seconds) ? EXIT_SUCCESS : EXIT_FAILURE;
    return usage();
}
