/* bench_launch REPORT COMMAND [ARGUMENT ...]: runs a command to its end and writes one JSON object into the
 * file REPORT: seconds of wall and CPU time, and the most memory that it held.
 *
 * The kernel counts what a process held before it became the command as its own; so whoever starts it must
 * be small, which Python is not. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: bench_launch REPORT COMMAND [ARGUMENT ...]\n");
        return EXIT_FAILURE;
    }
    double start = seconds_now();
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        return EXIT_FAILURE;
    double wall = seconds_now() - start;
    FILE *report = fopen(argv[1], "w");
    if (report == NULL)
        return EXIT_FAILURE;
    fprintf(report, "{\"seconds\": %.9f, \"cpu_seconds\": %.6f, \"peak_bytes\": %ld}\n", wall,
            seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), usage.ru_maxrss * 1024L);
    if (fclose(report) != 0)
        return EXIT_FAILURE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
