/* Findings: kinds, thresholds, and the ordered list. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "analyse/diagnose/internal.h"
#include "base/names.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/crc32c.h"
#include "base/frame.h"
#include "base/utf8.h"

struct roast_findings {
    roast_arena texts;
    roast_finding *list;
    size_t capacity;
    uint32_t count;
    bool is_current;
    bool has_budget;
    roast_budget_row budget;
};

/* ---- names ---- */

static const char *const kinds[][2] = {
#define X(name, why) {#name, why},
    ROAST_FINDING_KINDS(X)
#undef X
};

const char *roast_finding_kind_name(roast_finding_kind kind) {
    return (unsigned)kind < ROAST_FINDING_KIND_COUNT ? kinds[kind][0] : "unknown";
}

const char *roast_finding_kind_why(roast_finding_kind kind) {
    return (unsigned)kind < ROAST_FINDING_KIND_COUNT ? kinds[kind][1] : "";
}

ROAST_NAMES(roast_severity_name, roast_severity, ROAST_SEVERITIES, ROAST_NAME_ITSELF)

/* ---- thresholds ---- */

const roast_thresholds roast_limit = {
#define ROAST_THRESHOLD(name, value, reason) .name = value,
#include "analyse/diagnose/thresholds.def"
#undef ROAST_THRESHOLD
};

static const roast_threshold thresholds[] = {
#define ROAST_THRESHOLD(name, value, reason) {#name, value, reason},
#include "analyse/diagnose/thresholds.def"
#undef ROAST_THRESHOLD
};

uint32_t roast_threshold_count(void) {
    return sizeof thresholds / sizeof *thresholds;
}

const roast_threshold *roast_threshold_at(uint32_t index) {
    return index < roast_threshold_count() ? &thresholds[index] : NULL;
}

/* Raised by hand where a rule changes without its thresholds. */
enum { RULES_VERSION = 5 };

/* The version of these rules and thresholds: findings of other versions are computed again. */
static uint32_t fingerprint(void) {
    const uint8_t version = RULES_VERSION;
    uint32_t crc = roast_crc32c(0, &version, 1);
    for (uint32_t i = 0; i < roast_threshold_count(); i++) {
        crc = roast_crc32c(crc, thresholds[i].name, strlen(thresholds[i].name) + 1);
        crc = roast_crc32c(crc, &thresholds[i].value, sizeof thresholds[i].value);
    }
    for (int i = 0; i < ROAST_FINDING_KIND_COUNT; i++)
        crc = roast_crc32c(crc, kinds[i][0], strlen(kinds[i][0]) + 1);
    return crc;
}

/* ---- life ---- */

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "findings", -1, "no memory for the findings");
}

roast_status roast_findings_new(roast_findings **out, roast_error *err) {
    roast_findings *findings = roast_alloc_zero(sizeof *findings);
    if (findings == NULL)
        return no_memory(err);
    *out = findings;
    return ROAST_OK;
}

void roast_findings_free(roast_findings *findings) {
    if (findings == NULL)
        return;
    roast_arena_reset(&findings->texts);
    roast_free(findings->list);
    roast_free(findings);
}

bool roast_findings_is_current(const roast_findings *findings) {
    return findings->is_current;
}

void roast_findings_set_current(roast_findings *findings, bool current) {
    findings->is_current = current;
}

const roast_budget_row *roast_findings_budget(const roast_findings *findings) {
    return findings->has_budget ? &findings->budget : NULL;
}

void roast_findings_set_budget(roast_findings *findings, const roast_budget_row *total) {
    findings->has_budget = total != NULL;
    if (total == NULL)
        return;
    findings->budget = *total;
    findings->budget.name = (roast_str){NULL, 0};
}

uint32_t roast_findings_count(const roast_findings *findings) {
    return findings->count;
}

const roast_finding *roast_findings_at(const roast_findings *findings, uint32_t index) {
    return index < findings->count ? &findings->list[index] : NULL;
}

/* ---- one more ---- */

static bool is_worse(const roast_finding *a, const roast_finding *b) {
    if (a->severity != b->severity)
        return a->severity > b->severity;
    if (a->saving_core_seconds != b->saving_core_seconds)
        return a->saving_core_seconds > b->saving_core_seconds;
    return a->kind < b->kind;
}

static bool is_possible(const roast_finding *finding) {
    return (unsigned)finding->kind < ROAST_FINDING_KIND_COUNT &&
           (unsigned)finding->severity < ROAST_SEVERITY_COUNT &&
           finding->saving_core_seconds >= 0 && isfinite(finding->saving_core_seconds) &&
           finding->confidence >= 0 && finding->confidence <= 1;
}

/* Cuts a text at the end of a character. */
static roast_status keep_text(roast_findings *findings, roast_str *text) {
    if (text->data == NULL)
        *text = roast_str_of("");
    return roast_arena_str(&findings->texts, roast_utf8_cut(*text, ROAST_MAX_FINDING_TEXT), text);
}

roast_status roast_findings_add(roast_findings *findings, const roast_finding *finding,
                                roast_error *err) {
    roast_finding kept = *finding;
    void *list = findings->list;
    if (!is_possible(finding))
        return roast_error_set(err, ROAST_EINVAL, "findings", -1, "this is no finding");
    if (findings->count >= ROAST_MAX_FINDINGS)
        return roast_error_set(err, ROAST_ELIMIT, "findings", -1, "more than %u findings",
                               ROAST_MAX_FINDINGS);
    if (roast_array_reserve(&list, &findings->capacity, sizeof *findings->list,
                            (size_t)findings->count + 1) != ROAST_OK)
        return no_memory(err);
    findings->list = list;
    if (keep_text(findings, &kept.title) != ROAST_OK ||
        keep_text(findings, &kept.evidence) != ROAST_OK ||
        keep_text(findings, &kept.advice) != ROAST_OK)
        return no_memory(err);
    uint32_t place = findings->count++;
    for (; place > 0 && is_worse(&kept, &findings->list[place - 1]); place--)
        findings->list[place] = findings->list[place - 1];
    findings->list[place] = kept;
    return ROAST_OK;
}

static const roast_frame frame = {"findings", {'R', 'C', 'F', 'X'}, 1};

/* ---- packed: docs/format/findings.md ---- */

/* The parts of read. They are written like parts of the budget: a reader passes over names that it does not know. */
static const struct {
    const char *name;
    size_t offset;
} read_parts[] = {{"read.cpu", offsetof(roast_budget_row, read_cpu)},
                  {"read.other_threads", offsetof(roast_budget_row, read_others)},
                  {"read.waiting", offsetof(roast_budget_row, read_wait)}};
enum { READ_PARTS = sizeof read_parts / sizeof *read_parts };

static double *read_part(roast_budget_row *budget, int part) {
    return (double *)(void *)((char *)budget + read_parts[part].offset);
}

/* 0 parts: there is no budget. */
static void put_budget(roast_frame_writer *w, const roast_budget_row *budget) {
    roast_frame_put_number(w, budget != NULL ? ROAST_PART_COUNT + READ_PARTS : 0);
    if (budget == NULL)
        return;
    for (int part = 0; part < ROAST_PART_COUNT; part++) {
        roast_frame_put_text(w, roast_str_of(roast_budget_part_name((roast_budget_part)part)));
        roast_frame_put_real(w, budget->parts[part]);
    }
    for (int part = 0; part < READ_PARTS; part++) {
        roast_frame_put_text(w, roast_str_of(read_parts[part].name));
        roast_frame_put_real(w, *read_part((roast_budget_row *)budget, part));
    }
    roast_frame_put_real(w, budget->available);
    roast_frame_put_real(w, budget->offcpu_io);
    roast_frame_put_real(w, budget->offcpu_runqueue);
    roast_frame_put_real(w, budget->offcpu_rest);
}

roast_status roast_findings_encode(const roast_findings *findings, roast_sink *sink,
                                   roast_error *err) {
    roast_frame_writer w;
    roast_frame_begin(&w, &frame, sink);
    roast_frame_put_fixed(&w, findings->is_current ? fingerprint() : 0, 4);
    roast_frame_put_number(&w, roast_findings_count(findings));
    for (uint32_t i = 0; i < roast_findings_count(findings); i++) {
        const roast_finding *finding = roast_findings_at(findings, i);
        roast_frame_put_text(&w, roast_str_of(roast_finding_kind_name(finding->kind)));
        roast_frame_put_number(&w, (uint64_t)finding->severity);
        roast_frame_put_text(&w, finding->title);
        roast_frame_put_text(&w, finding->evidence);
        roast_frame_put_text(&w, finding->advice);
        roast_frame_put_real(&w, finding->saving_core_seconds);
        roast_frame_put_real(&w, finding->confidence);
    }
    put_budget(&w, roast_findings_budget(findings));
    return roast_frame_finish(&w, err);
}

/* ROAST_FINDING_KIND_COUNT: none that we know. */
static roast_finding_kind kind_named(roast_str name) {
    int kind = 0;
    while (kind < ROAST_FINDING_KIND_COUNT &&
           !roast_str_equal(name, roast_str_of(roast_finding_kind_name((roast_finding_kind)kind))))
        kind++;
    return (roast_finding_kind)kind;
}

static roast_status get_finding(roast_frame_reader *r, roast_findings *findings, bool *all_known) {
    roast_finding finding = {.confidence = 0};
    roast_str kind = {NULL, 0};
    uint64_t severity = 0;
    ROAST_TRY(roast_frame_get_text(r, ROAST_MAX_FINDING_TEXT, &kind));
    ROAST_TRY(roast_frame_get_number(r, &severity));
    if (severity >= ROAST_SEVERITY_COUNT)
        return roast_frame_damaged(r, "there is no such severity");
    ROAST_TRY(roast_frame_get_text(r, ROAST_MAX_FINDING_TEXT, &finding.title));
    ROAST_TRY(roast_frame_get_text(r, ROAST_MAX_FINDING_TEXT, &finding.evidence));
    ROAST_TRY(roast_frame_get_text(r, ROAST_MAX_FINDING_TEXT, &finding.advice));
    ROAST_TRY(roast_frame_get_real(r, &finding.saving_core_seconds));
    ROAST_TRY(roast_frame_get_real(r, &finding.confidence));
    finding.kind = kind_named(kind);
    finding.severity = (roast_severity)severity;
    if (finding.kind == ROAST_FINDING_KIND_COUNT) {
        *all_known = false;
        return ROAST_OK;
    }
    roast_status status = roast_findings_add(findings, &finding, r->err);
    return status == ROAST_EINVAL ? roast_frame_damaged(r, "a number of a finding cannot be")
                                  : status;
}

static roast_status get_part(roast_frame_reader *r, roast_budget_row *budget) {
    roast_str name = {NULL, 0};
    double value = 0;
    ROAST_TRY(roast_frame_get_text(r, ROAST_MAX_FINDING_TEXT, &name));
    ROAST_TRY(roast_frame_get_real(r, &value));
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        if (roast_str_equal(name, roast_str_of(roast_budget_part_name((roast_budget_part)part))))
            budget->parts[part] = value;
    for (int part = 0; part < READ_PARTS; part++)
        if (roast_str_equal(name, roast_str_of(read_parts[part].name)))
            *read_part(budget, part) = value;
    return ROAST_OK;
}

static roast_status get_budget(roast_frame_reader *r, roast_findings *findings) {
    roast_budget_row budget = {.available = 0};
    uint64_t parts = 0;
    ROAST_TRY(roast_frame_get_count(r, 9, "the budget is cut short", &parts));
    if (parts == 0)
        return ROAST_OK;
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        budget.parts[part] = NAN;
    budget.read_cpu = budget.read_others = budget.read_wait = NAN;
    for (uint64_t i = 0; i < parts; i++)
        ROAST_TRY(get_part(r, &budget));
    ROAST_TRY(roast_frame_get_real(r, &budget.available));
    ROAST_TRY(roast_frame_get_real(r, &budget.offcpu_io));
    ROAST_TRY(roast_frame_get_real(r, &budget.offcpu_runqueue));
    ROAST_TRY(roast_frame_get_real(r, &budget.offcpu_rest));
    roast_findings_set_budget(findings, &budget);
    return ROAST_OK;
}

static roast_status get_all(roast_frame_reader *r, roast_findings *findings) {
    uint64_t made_by = 0, count = 0;
    bool all_known = true;
    ROAST_TRY(roast_frame_get_fixed(r, 4, &made_by));
    ROAST_TRY(roast_frame_get_number(r, &count));
    if (count > ROAST_MAX_FINDINGS)
        return roast_frame_damaged(r, "there are too many findings");
    for (uint64_t i = 0; i < count; i++)
        ROAST_TRY(get_finding(r, findings, &all_known));
    ROAST_TRY(get_budget(r, findings));
    findings->is_current = all_known && made_by == fingerprint();
    return roast_frame_close(r);
}

roast_status roast_findings_decode(const void *data, size_t len, roast_findings **out,
                                   roast_error *err) {
    roast_frame_reader r;
    roast_findings *findings = NULL;
    ROAST_TRY(roast_frame_open(&r, &frame, data, len, err));
    ROAST_TRY(roast_findings_new(&findings, err));
    roast_status status = get_all(&r, findings);
    if (status != ROAST_OK) {
        roast_findings_free(findings);
        return status;
    }
    *out = findings;
    return ROAST_OK;
}
