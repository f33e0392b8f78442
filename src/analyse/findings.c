/* Findings: kinds, thresholds, and the ordered list. */
#include <math.h>
#include <string.h>

#include "analyse/diagnose_internal.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/crc32c.h"

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

const char *roast_severity_name(roast_severity severity) {
    static const char *const names[] = {
#define X(name) #name,
        ROAST_SEVERITIES(X)
#undef X
    };
    return (unsigned)severity < ROAST_SEVERITY_COUNT ? names[severity] : "unknown";
}

/* ---- thresholds ---- */

const roast_thresholds roast_limit = {
#define ROAST_THRESHOLD(name, value, reason) .name = value,
#include "analyse/thresholds.def"
#undef ROAST_THRESHOLD
};

static const roast_threshold thresholds[] = {
#define ROAST_THRESHOLD(name, value, reason) {#name, value, reason},
#include "analyse/thresholds.def"
#undef ROAST_THRESHOLD
};

uint32_t roast_threshold_count(void) {
    return sizeof thresholds / sizeof *thresholds;
}

const roast_threshold *roast_threshold_at(uint32_t index) {
    return index < roast_threshold_count() ? &thresholds[index] : NULL;
}

/* Raised by hand where a rule changes without its thresholds. */
enum { RULES_VERSION = 2 };

uint32_t roast_rules_fingerprint(void) {
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
static size_t cut(roast_str text, size_t most) {
    if (text.len <= most)
        return text.len;
    while (most > 0 && ((unsigned char)text.data[most] & 0xc0) == 0x80)
        most--;
    return most;
}

static roast_status keep_text(roast_findings *findings, roast_str *text) {
    if (text->data == NULL)
        *text = roast_str_of("");
    text->len = cut(*text, ROAST_MAX_FINDING_TEXT);
    return roast_arena_str(&findings->texts, *text, text);
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
