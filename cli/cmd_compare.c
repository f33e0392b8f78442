#include "cli.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measured.h"
#include "roast/compare_tables.h"

enum { MOST_GATES = 64 };

typedef struct request {
    bool json, strict;
    const char *gates[MOST_GATES];
    int n_gates;
} request;

static cli_exit take_gate(void *wanted, const char *text) {
    request *into = wanted;
    if (into->n_gates == MOST_GATES)
        return cli_fail(CLI_USAGE, NULL, "--fail-on may be given %d times at most", MOST_GATES);
    into->gates[into->n_gates++] = text;
    return CLI_OK;
}

static const cli_option options[] = {
    {CLI_CALL, 'f', "fail-on", "CONDITION",
     "exit with 1 if a change is beyond a limit and more than chance: \"wall_time>5%\", "
     "\"event_rate_core_khz<-3%\", \"section:selection>10%\", or if B has a new or worse finding: "
     "\"finding:spilling\"; may be given several times",
     .take = take_gate},
    {CLI_FLAG, '\0', "strict", NULL,
     "changes that may be chance, and figures without an interval, fail as well",
     offsetof(request, strict)},
    {CLI_FLAG, '\0', "json", NULL, "all of it as JSON", offsetof(request, json)},
    {0},
};

/* ---- reading ---- */

/* A part of the chunks is compared while the next one is read. */
typedef struct taker {
    roast_comparison *comparison;
    unsigned side;
    roast_chunklog *log; /* the part; NULL: there is none */
    pthread_t thread;
    roast_status status;
    roast_error err;
} taker;

static void *take(void *context) {
    taker *to = context;
    to->status = roast_comparison_add_chunks(to->comparison, to->side, to->log, &to->err);
    return NULL;
}

static roast_status end_taking(taker *to, roast_error *err) {
    if (to->log == NULL)
        return ROAST_OK;
    pthread_join(to->thread, NULL);
    roast_chunklog_free(to->log);
    to->log = NULL;
    if (to->status != ROAST_OK)
        *err = to->err;
    return to->status;
}

static roast_status take_chunks(void *context, roast_chunklog *log, roast_error *err) {
    taker *to = context;
    roast_status status = end_taking(to, err);
    to->log = log;
    if (status == ROAST_OK && pthread_create(&to->thread, NULL, take, to) == 0)
        return ROAST_OK;
    if (status == ROAST_OK) /* no more threads: then in this one */
        status = roast_comparison_add_chunks(to->comparison, to->side, log, err);
    roast_chunklog_free(log);
    to->log = NULL;
    return status;
}

static roast_status take_all_chunks(taker *to, const roast_store *store, roast_error *err) {
    roast_status status = roast_store_each_chunks(store, take_chunks, to, err);
    roast_status last = end_taking(to, status == ROAST_OK ? err : &(roast_error){0});
    return status == ROAST_OK ? last : status;
}

/* The comparison keeps a few numbers of each chunk: a run whose metrics and findings were saved is not in memory as a
 * whole. */
static roast_status add_run(roast_comparison *comparison, unsigned side, const char *path,
                            roast_error *err) {
    measured it;
    taker to = {.comparison = comparison, .side = side};
    ROAST_TRY(measured_open(&it, path, NEED_METRICS | NEED_FINDINGS, err));
    roast_status status = roast_comparison_add(comparison, side, roast_str_of(path), it.about,
                                               it.metrics, it.findings, err);
    if (status == ROAST_OK && it.run == NULL)
        status = take_all_chunks(&to, it.store, err);
    measured_close(&it);
    return status;
}

static roast_status compare(char **a, int n_a, char **b, int n_b, roast_comparison **out,
                            roast_error *err) {
    roast_comparison *comparison;
    ROAST_TRY(roast_comparison_new(&comparison, err));
    roast_status status = ROAST_OK;
    for (int i = 0; i < n_a && status == ROAST_OK; i++)
        status = add_run(comparison, ROAST_SIDE_A, a[i], err);
    for (int i = 0; i < n_b && status == ROAST_OK; i++)
        status = add_run(comparison, ROAST_SIDE_B, b[i], err);
    if (status == ROAST_OK)
        status = roast_comparison_finish(comparison, err);
    if (status != ROAST_OK) {
        roast_comparison_free(comparison);
        return status;
    }
    *out = comparison;
    return ROAST_OK;
}

/* ---- the answer ---- */

static cli_exit check_gates(const request *wanted, const roast_comparison *comparison) {
    cli_exit code = CLI_OK;
    for (int i = 0; i < wanted->n_gates; i++) {
        char why[ROAST_GATE_TEXT];
        bool failed;
        roast_error err;
        if (roast_comparison_gate(comparison, roast_str_of(wanted->gates[i]), wanted->strict,
                                  &failed, why, &err) != ROAST_OK)
            return cli_fail(CLI_USAGE, "\"roast help compare\" shows conditions", "%s",
                            err.message);
        if (failed) {
            cli_fail(CLI_NO, NULL, "%s: %s", wanted->gates[i], why);
            code = CLI_NO;
        }
    }
    return code;
}

static cli_exit show(roast_sink *out, const request *wanted, char **a, int n_a, char **b, int n_b) {
    roast_comparison *comparison;
    roast_error err;
    if (compare(a, n_a, b, n_b, &comparison, &err) != ROAST_OK)
        return cli_fail_error(&err, CLI_NEXT_LS);
    roast_status status = ROAST_OK;
    cli_exit code = check_gates(wanted, comparison);
    if (wanted->json && code != CLI_USAGE)
        roast_comparison_json(comparison, out);
    else if (code != CLI_USAGE)
        status = roast_comparison_draw(comparison, cli_terminal_width(STDOUT_FILENO),
                                       cli_terminal_color(STDOUT_FILENO), out, &err);
    if (status != ROAST_OK)
        code = cli_fail_error(&err, NULL);
    roast_comparison_free(comparison);
    return code;
}

/* Where the side B begins, behind "--"; n_args if there is no "--". */
static int find_divider(int n_args, char **args) {
    for (int i = 0; i < n_args; i++)
        if (strcmp(args[i], "--") == 0)
            return i;
    return n_args;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {0};
    int n_a = find_divider(n_args, args), n_b = n_a < n_args ? n_args - n_a - 1 : 0;
    bool divided = n_a < n_args;
    char **b = args + n_a + 1;
    cli_exit code = cli_read_options(&cli_verb_compare, &wanted, &n_a, args);
    if (code == CLI_OK && divided)
        code = cli_read_options(&cli_verb_compare, &wanted, &n_b, b);
    if (code != CLI_OK)
        return code;
    if (divided ? n_a == 0 || n_b == 0 : n_a < 2)
        return cli_fail(CLI_USAGE, "give at least two measurements: roast compare A B",
                        "there is nothing to compare with");
    if (divided)
        return show(out, &wanted, args, n_a, b, n_b);
    for (int i = 1; i < n_a; i++) {
        if (i > 1)
            roast_sink_puts(out, "\n");
        cli_exit one = show(out, &wanted, args, 1, args + i, 1);
        if (one != CLI_OK && one != CLI_NO)
            return one;
        code = one > code ? one : code;
    }
    return code;
}

const cli_verb cli_verb_compare = {
    .name = "compare",
    .usage = "A B ... [OPTION ...] | A ... -- B ... [OPTION ...]",
    .summary = "what differs between runs, and whether it is more than chance",
    .details = "A and B are directories of measurements; A is the one to compare with. With\n"
               "more, each is compared with the first. Several runs of each side stand on both\n"
               "sides of \"--\": figures of whole runs then have an interval, too.\n"
               "Chunks are compared in pairs if both runs have the same pieces of work, and by\n"
               "dataset and event otherwise. An interval holds the true change with 95 %. \"~\"\n"
               "stands for a change that may be chance. A machine that was slower during one\n"
               "of the runs looks like a slower program: only several runs tell them apart.\n",
    .options = options,
    .run = run,
};
