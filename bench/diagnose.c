/* bench_diagnose: the diagnosis of a run of a million chunks on 2,000 workers.
 *
 * Prints one JSON object: seconds of each round for everything from scratch, as `roast diagnose` does it, and
 * for the findings, the budget and the metrics one after the other, each with a walk over the chunks. */
#include <stdio.h>
#include <stdlib.h>

#include "sample_run.h"

#include "roast/diagnose.h"

enum { ROUNDS = 3, ROUNDS_MAX = 100 };

static roast_error error;

static void must(roast_status status) {
    if (status == ROAST_OK)
        return;
    fprintf(stderr, "bench_diagnose: %s\n", error.message);
    exit(EXIT_FAILURE);
}

static double seconds_since(roast_mono start) {
    return 1e-9 * (double)roast_mono_since(start, roast_mono_now());
}

static void print_list(const char *name, const double *values, int count) {
    printf("  \"%s\": [", name);
    for (int i = 0; i < count; i++)
        printf("%s%.6f", i > 0 ? ", " : "", values[i]);
    puts("],");
}

int main(int argc, char **argv) {
    static double metrics_took[ROUNDS_MAX], budget_took[ROUNDS_MAX], took[ROUNDS_MAX];
    static double all_took[ROUNDS_MAX];
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_diagnose [rounds from 1 to %d]\n", ROUNDS_MAX);
        return EXIT_FAILURE;
    }
    roast_run *run = sample_cluster_make();
    uint32_t count = 0;
    for (int i = 0; i < rounds; i++) {
        roast_metrics *metrics;
        roast_budget *budget;
        roast_findings *findings;
        roast_mono start = roast_mono_now();
        must(roast_metrics_compute(run, &metrics, &error));
        metrics_took[i] = seconds_since(start);
        start = roast_mono_now();
        must(roast_budget_compute(run, &budget, &error));
        budget_took[i] = seconds_since(start);
        start = roast_mono_now();
        must(roast_diagnose_run(run, metrics, &findings, &error));
        took[i] = seconds_since(start);
        all_took[i] = metrics_took[i] + took[i];
        count = roast_findings_count(findings);
        roast_findings_free(findings);
        roast_budget_free(budget);
        roast_metrics_free(metrics);
    }
    printf("{\n  \"chunks\": %d,\n  \"workers\": %d,\n", SAMPLE_RUN_CHUNKS, SAMPLE_RUN_WORKERS);
    print_list("from_scratch_seconds", all_took, rounds);
    print_list("diagnose_seconds", took, rounds);
    print_list("budget_seconds", budget_took, rounds);
    print_list("metrics_seconds", metrics_took, rounds);
    printf("  \"findings\": %u\n}\n", (unsigned)count);
    roast_run_free(run);
    return EXIT_SUCCESS;
}
