/* Findings as bytes: docs/format/findings.md. */
#include <math.h>
#include <string.h>

#include "analyse/diagnose_internal.h"
#include "base/crc32c.h"
#include "base/varint.h"

static const char magic[4] = {'R', 'C', 'F', 'X'};
enum { VERSION = 1, HEADER = sizeof magic + 1, CHECKSUM = 4 };

/* ---- out ---- */

typedef struct writer {
    roast_sink *sink;
    uint32_t crc;
} writer;

static void put(writer *w, const void *data, size_t len) {
    if (len == 0)
        return;
    w->crc = roast_crc32c(w->crc, data, len);
    roast_sink_write(w->sink, data, len);
}

static void put_number(writer *w, uint64_t value) {
    uint8_t bytes[ROAST_VARINT_MAX];
    put(w, bytes, (size_t)(roast_put_varint(bytes, value) - bytes));
}

static void put_fixed(writer *w, uint64_t value, unsigned bytes) {
    uint8_t out[8];
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> 8 * i);
    put(w, out, bytes);
}

static void put_real(writer *w, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_fixed(w, bits, 8);
}

static void put_text(writer *w, roast_str text) {
    put_number(w, text.len);
    put(w, text.data, text.len);
}

/* 0 parts: there is no budget. */
static void put_budget(writer *w, const roast_budget_row *budget) {
    put_number(w, budget != NULL ? ROAST_PART_COUNT : 0);
    if (budget == NULL)
        return;
    for (int part = 0; part < ROAST_PART_COUNT; part++) {
        put_text(w, roast_str_of(roast_budget_part_name((roast_budget_part)part)));
        put_real(w, budget->parts[part]);
    }
    put_real(w, budget->available);
    put_real(w, budget->offcpu_io);
    put_real(w, budget->offcpu_runqueue);
    put_real(w, budget->offcpu_rest);
}

roast_status roast_findings_encode(const roast_findings *findings, roast_sink *sink,
                                   roast_error *err) {
    writer w = {.sink = sink};
    const uint8_t version = VERSION;
    put(&w, magic, sizeof magic);
    put(&w, &version, 1);
    put_fixed(&w, roast_findings_is_current(findings) ? roast_rules_fingerprint() : 0, 4);
    put_number(&w, roast_findings_count(findings));
    for (uint32_t i = 0; i < roast_findings_count(findings); i++) {
        const roast_finding *finding = roast_findings_at(findings, i);
        put_text(&w, roast_str_of(roast_finding_kind_name(finding->kind)));
        put_number(&w, (uint64_t)finding->severity);
        put_text(&w, finding->title);
        put_text(&w, finding->evidence);
        put_text(&w, finding->advice);
        put_real(&w, finding->saving_core_seconds);
        put_real(&w, finding->confidence);
    }
    put_budget(&w, roast_findings_budget(findings));
    put_fixed(&w, w.crc, CHECKSUM);
    return roast_sink_finish(sink, err);
}

/* ---- in ---- */

typedef struct reader {
    const uint8_t *start, *at, *end; /* end: where the checksum begins */
    roast_error *err;
} reader;

static roast_status damaged(const reader *r, const char *what) {
    int64_t position = r->at - r->start;
    return roast_error_set(r->err, ROAST_ECORRUPT, "findings", position, "%s (byte %lld)", what,
                           (long long)position);
}

static roast_status get_number(reader *r, uint64_t *value) {
    const uint8_t *at = r->at;
    if (!roast_get_varint(&at, r->end, value))
        return damaged(r, "a number is malformed");
    r->at = at;
    return ROAST_OK;
}

static roast_status get_fixed(reader *r, unsigned bytes, uint64_t *value) {
    if ((size_t)(r->end - r->at) < bytes)
        return damaged(r, "a number is cut short");
    *value = 0;
    for (unsigned i = 0; i < bytes; i++)
        *value |= (uint64_t)*r->at++ << 8 * i;
    return ROAST_OK;
}

static roast_status get_real(reader *r, double *value) {
    uint64_t bits = 0;
    ROAST_TRY(get_fixed(r, 8, &bits));
    memcpy(value, &bits, sizeof bits);
    return ROAST_OK;
}

static roast_status get_text(reader *r, roast_str *text) {
    uint64_t len = 0;
    ROAST_TRY(get_number(r, &len));
    if (len > (uint64_t)(r->end - r->at) || len > ROAST_MAX_FINDING_TEXT)
        return damaged(r, "a text is too long");
    *text = (roast_str){(const char *)r->at, (size_t)len};
    r->at += len;
    return ROAST_OK;
}

/* ROAST_FINDING_KIND_COUNT: none that we know. */
static roast_finding_kind kind_named(roast_str name) {
    int kind = 0;
    while (kind < ROAST_FINDING_KIND_COUNT &&
           !roast_str_equal(name, roast_str_of(roast_finding_kind_name((roast_finding_kind)kind))))
        kind++;
    return (roast_finding_kind)kind;
}

static roast_status get_finding(reader *r, roast_findings *findings, bool *all_known) {
    roast_finding finding = {.confidence = 0};
    roast_str kind = {NULL, 0};
    uint64_t severity = 0;
    ROAST_TRY(get_text(r, &kind));
    ROAST_TRY(get_number(r, &severity));
    if (severity >= ROAST_SEVERITY_COUNT)
        return damaged(r, "there is no such severity");
    ROAST_TRY(get_text(r, &finding.title));
    ROAST_TRY(get_text(r, &finding.evidence));
    ROAST_TRY(get_text(r, &finding.advice));
    ROAST_TRY(get_real(r, &finding.saving_core_seconds));
    ROAST_TRY(get_real(r, &finding.confidence));
    finding.kind = kind_named(kind);
    finding.severity = (roast_severity)severity;
    if (finding.kind == ROAST_FINDING_KIND_COUNT) {
        *all_known = false;
        return ROAST_OK;
    }
    roast_status status = roast_findings_add(findings, &finding, r->err);
    return status == ROAST_EINVAL ? damaged(r, "a number of a finding cannot be") : status;
}

static roast_status get_part(reader *r, roast_budget_row *budget) {
    roast_str name = {NULL, 0};
    double value = 0;
    ROAST_TRY(get_text(r, &name));
    ROAST_TRY(get_real(r, &value));
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        if (roast_str_equal(name, roast_str_of(roast_budget_part_name((roast_budget_part)part))))
            budget->parts[part] = value;
    return ROAST_OK;
}

static roast_status get_budget(reader *r, roast_findings *findings) {
    roast_budget_row budget = {.available = 0};
    uint64_t parts = 0;
    ROAST_TRY(get_number(r, &parts));
    if (parts == 0)
        return ROAST_OK;
    if (parts > (uint64_t)(r->end - r->at))
        return damaged(r, "the budget is cut short");
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        budget.parts[part] = NAN;
    for (uint64_t i = 0; i < parts; i++)
        ROAST_TRY(get_part(r, &budget));
    ROAST_TRY(get_real(r, &budget.available));
    ROAST_TRY(get_real(r, &budget.offcpu_io));
    ROAST_TRY(get_real(r, &budget.offcpu_runqueue));
    ROAST_TRY(get_real(r, &budget.offcpu_rest));
    roast_findings_set_budget(findings, &budget);
    return ROAST_OK;
}

static roast_status get_all(reader *r, roast_findings *findings) {
    uint64_t made_by = 0, count = 0;
    bool all_known = true;
    ROAST_TRY(get_fixed(r, 4, &made_by));
    ROAST_TRY(get_number(r, &count));
    if (count > ROAST_MAX_FINDINGS)
        return damaged(r, "there are too many findings");
    for (uint64_t i = 0; i < count; i++)
        ROAST_TRY(get_finding(r, findings, &all_known));
    ROAST_TRY(get_budget(r, findings));
    roast_findings_set_current(findings, all_known && made_by == roast_rules_fingerprint());
    return r->at == r->end ? ROAST_OK : damaged(r, "there are bytes behind the findings");
}

static roast_status check_frame(const reader *r, size_t len) {
    const char *where = "findings";
    if (len < HEADER + CHECKSUM)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, (int64_t)len,
                               "%zu bytes are too few for packed findings", len);
    if (memcmp(r->start, magic, sizeof magic) != 0)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, 0, "these are no packed findings");
    unsigned version = r->start[sizeof magic];
    if (version > VERSION)
        return roast_error_set(r->err, ROAST_EVERSION, where, sizeof magic,
                               "packed findings of version %u; this roastcoffea (%s) reads up to "
                               "version %d: upgrade it",
                               version, roast_version(), VERSION);
    if (version == 0)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, sizeof magic,
                               "packed findings of version 0 do not exist");
    uint32_t stored = 0, found = roast_crc32c(0, r->start, (size_t)(r->end - r->start));
    for (unsigned i = 0; i < CHECKSUM; i++)
        stored |= (uint32_t)r->end[i] << 8 * i;
    if (stored != found)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, r->end - r->start,
                               "the checksum of packed findings is wrong");
    return ROAST_OK;
}

roast_status roast_findings_decode(const void *data, size_t len, roast_findings **out,
                                   roast_error *err) {
    const uint8_t *bytes = data;
    size_t body = len < HEADER + CHECKSUM ? 0 : len - CHECKSUM;
    reader r = {
        .start = bytes, .at = bytes, .end = bytes == NULL ? NULL : bytes + body, .err = err};
    ROAST_TRY(check_frame(&r, bytes == NULL ? 0 : len));
    r.at += HEADER;
    roast_findings *findings;
    ROAST_TRY(roast_findings_new(&findings, err));
    roast_status status = get_all(&r, findings);
    if (status != ROAST_OK) {
        roast_findings_free(findings);
        return status;
    }
    *out = findings;
    return ROAST_OK;
}
