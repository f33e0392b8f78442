#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "roast/run.h"
#include "roast/taskvine.h"

static roast_taskvine *read_in_pieces(const uint8_t *data, size_t size, size_t piece) {
    roast_taskvine *log;
    if (roast_taskvine_new(&log, NULL) != ROAST_OK)
        return NULL;
    for (size_t at = 0; at < size; at += piece)
        fuzz_require(roast_taskvine_feed(log, data + at, size - at < piece ? size - at : piece,
                                         NULL) == ROAST_OK,
                     "any bytes are taken");
    fuzz_require(roast_taskvine_finish(log, NULL) == ROAST_OK, "it ends");
    return log;
}

static void walk(const roast_taskvine *log) {
    const roast_taskvine_facts *facts = roast_taskvine_get_facts(log);
    const roast_attempts *attempts = roast_taskvine_attempts(log);
    const roast_series *series = roast_taskvine_series(log);
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt)) {
        fuzz_require(attempt.worker < roast_attempts_worker_count(attempts),
                     "every try has a worker");
        fuzz_require(attempt.sent_us <= attempt.ended_us, "no try ends before it was sent");
        fuzz_require(attempt.departure == ROAST_NO_DEPARTURE ||
                         attempt.departure < roast_attempts_departure_count(attempts),
                     "a try is lost with a worker that left");
        fuzz_require(!(roast_attempt_wasted_seconds(&attempt) < 0), "nobody wastes less than 0");
    }
    for (uint64_t i = 0; i < roast_series_change_count(series); i++)
        fuzz_require(roast_series_change_at(series, i).when.ns > 0, "joins have a moment");
    fuzz_require(facts->unreadable <= facts->lines, "no more lines than there are");
    for (int i = 0; i < ROAST_WAY_COUNT; i++)
        fuzz_require(facts->transfers[i].bytes >= 0 && facts->transfers[i].us >= 0,
                     "sums are not below 0");
    for (int i = 0; i < ROAST_KIND_COUNT; i++)
        fuzz_require(!(facts->measured[i].cpu_s < 0), "nobody computes less than 0");
}

static bool decode(const uint8_t *data, size_t size) {
    roast_taskvine *log = read_in_pieces(data, size, size + 1),
                   *again = read_in_pieces(data, size, size % 61 + 1);
    roast_run *run;
    bool good = false;
    if (log != NULL && again != NULL) {
        const roast_taskvine_facts *facts = roast_taskvine_get_facts(log);
        walk(log);
        fuzz_require(memcmp(facts, roast_taskvine_get_facts(again), sizeof *facts) == 0,
                     "pieces make no difference");
        good = facts->lines > facts->unreadable;
        if (roast_run_new(&run, NULL) == ROAST_OK) {
            fuzz_require((roast_taskvine_fill(log, run, NULL) == ROAST_OK) == good,
                         "a log with a line makes a run");
            roast_run_free(run);
        }
    }
    roast_taskvine_free(log);
    roast_taskvine_free(again);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_run(data, size, decode);
}

/* ---- seeds ---- */

static bool save(const char *folder, const char *name, const char *text) {
    return fuzz_save(folder, name, text, strlen(text));
}

#define W     "worker-0123456789abcdef0123456789abcdef"
#define V     "worker-fedcba9876543210fedcba9876543210"
#define AT(s) "17948428" s "000000 9 "
#define BEGIN "# time manager_pid TASK task_id WAITING\n" AT("01") "MANAGER 9 START 0\n"
#define JOIN(s, w)                                                                                 \
    AT(s)                                                                                          \
    "WORKER " w " CONNECTION 10.0.0.1:7\n" AT(                                                     \
        s) "WORKER " w " RESOURCES {\"memory\":[2000,\"MB\"],\"cores\":[2,\"cores\"]}\n"
#define READY(s, t, n)                                                                             \
    AT(s) "TASK " t " READY processing FIRST_RESOURCES " n " {\"disk\":[0,\"MB\"]}\n"
#define RUNNING(s, t, w)                                                                           \
    AT(s)                                                                                          \
    "TASK " t " RUNNING " w "  FIRST_RESOURCES {\"time_commit_start\":[17948428" s ",\"s\"]}\n"
#define CACHED(s, w, f, from)                                                                      \
    AT(s) "WORKER " w " CACHE_UPDATE " f " 300 1000000 17948428" from "000000\n"
#define DONE(s, t, from)                                                                           \
    AT(s)                                                                                          \
    "TASK " t " RETRIEVED SUCCESS  0  {} {\"time_worker_start\":[17948428" from                    \
    ",\"s\"],\"time_worker_end\":[17948428" from                                                   \
    ".5,\"s\"],\"memory\":[163,\"MB\"],\"cpu_time\":[1.4,\"s\"],\"wall_time\":[2,\"s\"]}\n"

bool fuzz_make_corpus(const char *folder) {
    return save(folder, "one",
                BEGIN JOIN("02", W) READY("03", "1", "1") RUNNING("04", "1", W)
                    CACHED("07", W, "temp-a", "05") DONE("08", "1", "05")
                        AT("09") "MANAGER 9 END 8000000\n") &&
           save(folder, "recovered",
                BEGIN JOIN("02", W) JOIN("02", V) READY("03", "1", "1") RUNNING("04", "1", W)
                    CACHED("07", W, "temp-a", "05") DONE("08", "1", "05")
                        AT("09") "WORKER " W " DISCONNECTION FAILURE\n" READY("10", "2", "1")
                            RUNNING("11", "2", V) CACHED("14", V, "temp-a", "12")
                                DONE("15", "2", "12")) &&
           save(folder, "lost",
                BEGIN JOIN("02", W) READY("03", "1", "1") RUNNING("04", "1", W)
                    AT("05") "WORKER " W " DISCONNECTION FAILURE\n" READY("05", "1", "2")
                        JOIN("06", V) RUNNING("07", "1", V)) &&
           save(folder, "transfers",
                BEGIN JOIN("02", W) AT(
                    "03") "WORKER " W " TRANSFER INPUT f 549 56 1794842803000000\n" CACHED("04", W,
                                                                                           "f",
                                                                                           "03")
                    CACHED("05", W, "g", "04") AT(
                        "06") "WORKER " W
                              " TRANSFER OUTPUT h 1335 18444949230518910000 1794842803000000\n") &&
           save(folder, "exhausted",
                BEGIN JOIN("02", W) READY("03", "1", "1") RUNNING("04", "1", W)
                    AT("08") "TASK 1 RETRIEVED RESOURCE_EXHAUSTION  143 {\"memory\":[2000,\"MB\"]} "
                             "{\"time_worker_start\":[1794842805,\"s\"],\"time_output_mgr\":["
                             "18444949230518.91,\"s\"],\"memory\":[2474,\"MB\"]}\n" AT(
                                 "09") "TASK 1 DONE RESOURCE_EXHAUSTION  143 \n") &&
           save(folder, "library",
                BEGIN JOIN("02", W) RUNNING("03", "5", W)
                    AT("03") "LIBRARY 5 SENT " W
                             "\n" AT("04") "TASK 5 RETRIEVED FORSAKEN  -1  {} "
                                           "{\"time_worker_start\":[0,\"s\"]}\n" AT(
                                               "05") "TASK 7 RETRIEVED UNKNOWN  -1  {} "
                                                     "{}\n" AT("06") "TASK 5 DONE "
                                                                     "LIBRARY_EXIT  -1 \n") &&
           save(folder, "two-managers",
                BEGIN JOIN("02", W) READY("03", "1", "1") RUNNING("04", "1", W)
                    AT("05") "MANAGER 9 START 0\n" READY("06", "1", "1") RUNNING("07", "1", W)
                        DONE("09", "1", "08")) &&
           save(folder, "two-at-once",
                BEGIN JOIN("02", W) READY("03", "1", "1") READY("03", "2", "1")
                    READY("03", "3", "1") RUNNING("04", "1", W) RUNNING("04", "2", W)
                        RUNNING("04", "3", W) DONE("06", "2", "05") DONE("07", "1", "05")
                            AT("08") "TASK 3 READY\n") &&
           save(folder, "no-object", BEGIN JOIN("02", W) AT("03") "TASK 1 RUNNING " W "\n") &&
           save(folder, "cut", BEGIN JOIN("02", W) AT("03") "TASK 1 REA") &&
           save(folder, "bad-other-text", "hello\n1 2 3\n");
}
