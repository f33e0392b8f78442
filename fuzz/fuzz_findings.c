#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "analyse/diagnose/internal.h"

/* A number that depends on all that can be read of the findings; NaN counts as 1. */
static uint64_t add_bits(uint64_t sum, double value) {
    uint64_t bits = 1;
    if (!isnan(value))
        memcpy(&bits, &value, sizeof bits);
    return sum * 31 + bits;
}

static uint64_t add_text(uint64_t sum, roast_str text) {
    sum = sum * 31 + text.len;
    for (size_t i = 0; i < text.len; i++)
        sum = sum * 31 + (uint8_t)text.data[i];
    return sum;
}

static uint64_t walk(const roast_findings *findings) {
    uint64_t sum = roast_findings_count(findings);
    for (uint32_t i = 0; i < roast_findings_count(findings); i++) {
        const roast_finding *finding = roast_findings_at(findings, i);
        sum = sum * 31 + (uint64_t)finding->kind * 3 + (uint64_t)finding->severity;
        sum = add_text(add_text(add_text(sum, finding->title), finding->evidence), finding->advice);
        sum = add_bits(add_bits(sum, finding->saving_core_seconds), finding->confidence);
    }
    const roast_budget_row *budget = roast_findings_budget(findings);
    if (budget == NULL)
        return sum;
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        sum = add_bits(sum, budget->parts[part]);
    sum = add_bits(add_bits(sum, budget->available), budget->offcpu_io);
    return add_bits(add_bits(sum, budget->offcpu_runqueue), budget->offcpu_rest);
}

static bool decode(const uint8_t *data, size_t size) {
    roast_findings *findings, *again;
    roast_sink *sink;
    roast_error err;
    roast_error_reset(&err);
    roast_status status = roast_findings_decode(data, size, &findings, &err);
    if (status != ROAST_OK) {
        fuzz_require(err.status == status && err.message[0] != '\0', "a failure says why");
        return false;
    }
    if (roast_sink_new_memory(&sink, NULL) == ROAST_OK) {
        fuzz_require(roast_findings_encode(findings, sink, NULL) == ROAST_OK, "they encode");
        roast_str bytes = roast_sink_memory(sink);
        fuzz_require(roast_findings_decode(bytes.data, bytes.len, &again, NULL) == ROAST_OK,
                     "what was encoded decodes");
        fuzz_require(walk(findings) == walk(again), "same contents");
        roast_findings_free(again);
        roast_sink_free(sink);
    }
    roast_findings_free(findings);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_run(data, size, decode);
}

/* ---- seeds ---- */

static roast_status fill(roast_findings *findings) {
    const roast_finding list[] = {
        {ROAST_FINDING_chunks_too_small,
         ROAST_SEVERITY_critical,
         {"Chunks are too small", 20},
         {"400 chunks have 10 events on average.", 37},
         {"chunksize=1_000", 15},
         24.5,
         0.8},
        {ROAST_FINDING_measurement, ROAST_SEVERITY_note, {"t", 1}, {"", 0}, {"a", 1}, 0, 1},
    };
    roast_budget_row budget = {
        .available = 40, .offcpu_io = NAN, .offcpu_runqueue = 0.5, .offcpu_rest = 0.25};
    budget.parts[ROAST_PART_before_process] = 30;
    budget.parts[ROAST_PART_after_process] = NAN;
    budget.parts[ROAST_PART_unaccounted] = 10;
    roast_findings_set_budget(findings, &budget);
    ROAST_TRY(roast_findings_add(findings, &list[0], NULL));
    return roast_findings_add(findings, &list[1], NULL);
}

static bool make_seed(const char *folder, const char *name, bool full) {
    roast_findings *findings = NULL;
    roast_sink *sink = NULL;
    bool made = roast_findings_new(&findings, NULL) == ROAST_OK &&
                roast_sink_new_memory(&sink, NULL) == ROAST_OK &&
                (!full || fill(findings) == ROAST_OK) &&
                roast_findings_encode(findings, sink, NULL) == ROAST_OK;
    if (made) {
        roast_str bytes = roast_sink_memory(sink);
        made = fuzz_save(folder, name, bytes.data, bytes.len);
    }
    roast_sink_free(sink);
    roast_findings_free(findings);
    return made;
}

bool fuzz_make_corpus(const char *folder) {
    static const char future[] = "RCFX\x02 of another time";
    return make_seed(folder, "v1-empty", false) && make_seed(folder, "v1-full", true) &&
           fuzz_save(folder, "bad-newer-version", future, sizeof future - 1);
}
