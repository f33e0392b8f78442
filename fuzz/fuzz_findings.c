#include <math.h>

#include "fuzz.h"
#include "analyse/diagnose/internal.h"

static uint64_t walk(const roast_findings *findings) {
    uint64_t sum = roast_findings_count(findings);
    for (uint32_t i = 0; i < roast_findings_count(findings); i++) {
        const roast_finding *finding = roast_findings_at(findings, i);
        sum = sum * 31 + (uint64_t)finding->kind * 3 + (uint64_t)finding->severity;
        sum = fuzz_add_text(fuzz_add_text(fuzz_add_text(sum, finding->title), finding->evidence),
                            finding->advice);
        sum = fuzz_add_real(fuzz_add_real(sum, finding->saving_core_seconds), finding->confidence);
    }
    const roast_budget_row *budget = roast_findings_budget(findings);
    if (budget == NULL)
        return sum;
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        sum = fuzz_add_real(sum, budget->parts[part]);
    sum = fuzz_add_real(fuzz_add_real(sum, budget->available), budget->offcpu_io);
    return fuzz_add_real(fuzz_add_real(sum, budget->offcpu_runqueue), budget->offcpu_rest);
}

FUZZ_PACKED(roast_findings, walk, (void))

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
