/* The entries of a chunk log: texts, origins, files, sets of names, layouts of sections, sizes of files. */
#include "model/chunklog_internal.h"

#include "base/utf8.h"

/* ---- values ---- */

enum { FIXED = 8 };

uint64_t roast_bytes_fixed(roast_bytes *from) {
    const uint8_t *bytes = roast_bytes_take(from, FIXED);
    return bytes != NULL ? roast_little_endian(bytes) : 0;
}

roast_draft roast_draft_begin(roast_chunklog *log) {
    log->scratch.len = 0;
    return (roast_draft){&log->scratch, &log->redacted, ROAST_OK};
}

void roast_draft_bytes(roast_draft *draft, const void *data, size_t len) {
    if (draft->status == ROAST_OK)
        draft->status = roast_buffer_append(draft->to, data, len);
}

void roast_draft_number(roast_draft *draft, uint64_t value) {
    roast_buffer *to = draft->to;
    if (draft->status == ROAST_OK)
        draft->status = roast_buffer_reserve(to, ROAST_VARINT_MAX);
    if (draft->status == ROAST_OK)
        to->len = (size_t)(roast_put_varint(to->data + to->len, value) - to->data);
}

void roast_draft_signed(roast_draft *draft, int64_t value) {
    roast_draft_number(draft, roast_zigzag(value));
}

void roast_draft_known(roast_draft *draft, int64_t value) {
    roast_draft_number(draft, value < 0 ? 0 : (uint64_t)value + 1);
}

void roast_draft_fixed(roast_draft *draft, uint64_t value) {
    uint8_t bytes[FIXED];
    for (int i = 0; i < FIXED; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    roast_draft_bytes(draft, bytes, sizeof bytes);
}

void roast_draft_text(roast_draft *draft, roast_str text) {
    text = roast_utf8_cut(text, ROAST_MAX_TEXT);
    roast_draft_number(draft, text.len);
    roast_draft_bytes(draft, text.data, text.len);
}

void roast_draft_label(roast_draft *draft, roast_str text) {
    text = roast_utf8_cut(text, ROAST_MAX_TEXT);
    roast_draft_number(draft, text.data == NULL ? 0 : text.len + 1);
    roast_draft_bytes(draft, text.data, text.data == NULL ? 0 : text.len);
}

void roast_draft_redacted(roast_draft *draft, roast_str text) {
    if (draft->status == ROAST_OK)
        draft->status = roast_redact_in(draft->redacted, roast_redact_text, &text);
    roast_draft_text(draft, text);
}

/* ---- adding ---- */

roast_draft roast_entry_begin(roast_chunklog *log, roast_entry_kind kind) {
    roast_draft draft = roast_draft_begin(log);
    roast_draft_number(&draft, kind);
    return draft;
}

static roast_status add(roast_chunklog *log, roast_str entry, uint32_t *ref) {
    uint32_t id;
    ROAST_TRY(roast_intern_add(&log->entries, entry, &id));
    *ref = id + 1;
    return ROAST_OK;
}

roast_status roast_entry_end(roast_chunklog *log, const roast_draft *draft, uint32_t *ref) {
    ROAST_TRY(draft->status);
    return add(log, (roast_str){(const char *)draft->to->data, draft->to->len}, ref);
}

roast_status roast_entry_add_text(roast_chunklog *log, roast_str text, uint32_t *ref) {
    *ref = 0;
    if (text.data == NULL)
        return ROAST_OK;
    text = roast_utf8_cut(text, ROAST_MAX_TEXT);
    roast_draft draft = roast_entry_begin(log, ROAST_ENTRY_TEXT);
    roast_draft_bytes(&draft, text.data, text.len);
    return roast_entry_end(log, &draft, ref);
}

roast_status roast_entry_add_origin(roast_chunklog *log, const roast_origin *origin,
                                    uint32_t *ref) {
    *ref = 0;
    if (origin->token == 0 && origin->run == 0 && origin->pid == 0 && origin->host.data == NULL &&
        origin->worker.data == NULL && origin->batch_job.data == NULL)
        return ROAST_OK;
    roast_draft draft = roast_entry_begin(log, ROAST_ENTRY_ORIGIN);
    roast_draft_fixed(&draft, origin->token);
    roast_draft_fixed(&draft, origin->run);
    roast_draft_number(&draft, origin->pid > 0 ? (uint64_t)origin->pid : 0);
    roast_draft_signed(&draft, origin->behind_us);
    roast_draft_label(&draft, origin->host);
    roast_draft_label(&draft, origin->worker);
    roast_draft_label(&draft, origin->batch_job);
    return roast_entry_end(log, &draft, ref);
}

roast_status roast_entry_add_file(roast_chunklog *log, roast_str name, roast_str uuid,
                                  roast_str treename, uint32_t *ref) {
    *ref = 0;
    if (name.data == NULL && uuid.data == NULL && treename.data == NULL)
        return ROAST_OK;
    roast_draft draft = roast_entry_begin(log, ROAST_ENTRY_FILE);
    if (draft.status == ROAST_OK)
        draft.status = roast_redact_in(&log->redacted, roast_redact_name, &name);
    roast_draft_label(&draft, name);
    roast_draft_label(&draft, uuid);
    roast_draft_label(&draft, treename);
    return roast_entry_end(log, &draft, ref);
}

roast_status roast_entry_add_names(roast_chunklog *log, const void *items, size_t stride,
                                   uint32_t n, uint32_t *ref) {
    roast_draft draft = roast_entry_begin(log, ROAST_ENTRY_NAMES);
    roast_draft_number(&draft, n);
    for (uint32_t i = 0; i < n; i++)
        roast_draft_text(&draft,
                         *(const roast_str *)(const void *)((const char *)items + i * stride));
    return roast_entry_end(log, &draft, ref);
}

roast_status roast_entry_add_layout(roast_chunklog *log, const roast_chunk *chunk, uint32_t *ref) {
    *ref = 0;
    if (chunk->n_sections == 0)
        return ROAST_OK;
    roast_draft draft = roast_entry_begin(log, ROAST_ENTRY_LAYOUT);
    roast_draft_number(&draft, chunk->n_sections);
    for (uint32_t i = 0; i < chunk->n_sections; i++) {
        const roast_section *section = &chunk->sections[i];
        roast_draft_number(&draft, (unsigned)section->kind |
                                       (section->count > 1 ? ROAST_LAYOUT_FOLDED : 0u));
        roast_draft_number(&draft, (uint64_t)(section->parent + 1));
        roast_draft_redacted(&draft, section->name);
    }
    return roast_entry_end(log, &draft, ref);
}

/* ---- reading ---- */

roast_str roast_entry_text(const roast_chunklog *log, uint32_t ref) {
    roast_bytes payload = roast_entry_payload(log, ref);
    return (roast_str){(const char *)payload.at, (size_t)(payload.end - payload.at)};
}

static roast_origin read_origin(roast_bytes *from) {
    roast_origin origin;
    origin.token = roast_bytes_fixed(from);
    origin.run = roast_bytes_fixed(from);
    origin.pid = (int64_t)roast_bytes_number(from, INT64_MAX);
    origin.behind_us = roast_bytes_signed(from);
    origin.host = roast_bytes_label(from);
    origin.worker = roast_bytes_label(from);
    origin.batch_job = roast_bytes_label(from);
    return origin;
}

roast_origin roast_entry_origin(const roast_chunklog *log, uint32_t ref) {
    roast_bytes payload = roast_entry_payload(log, ref);
    return ref == 0 ? (roast_origin){0} : read_origin(&payload);
}

void roast_entry_file(const roast_chunklog *log, uint32_t ref, roast_str *name, roast_str *uuid,
                      roast_str *treename) {
    roast_bytes payload = roast_entry_payload(log, ref);
    *name = roast_bytes_label(&payload);
    *uuid = roast_bytes_label(&payload);
    *treename = roast_bytes_label(&payload);
}

uint32_t roast_entry_count(const roast_chunklog *log, uint32_t ref) {
    roast_bytes payload = roast_entry_payload(log, ref);
    return (uint32_t)roast_bytes_small(&payload, UINT32_MAX);
}

bool roast_layout_next(roast_bytes *layout, uint32_t index, roast_section *out) {
    uint64_t kind = roast_bytes_small(layout, ROAST_LAYOUT_FOLDED + ROAST_SECTION_KINDS - 1);
    out->kind = (roast_section_kind)(kind & (ROAST_LAYOUT_FOLDED - 1));
    layout->bad |= (unsigned)out->kind >= ROAST_SECTION_KINDS;
    out->parent = (int32_t)roast_bytes_small(layout, index) - 1; /* before the section itself */
    out->name = roast_bytes_text(layout, ROAST_MAX_TEXT);
    return (kind & ROAST_LAYOUT_FOLDED) != 0;
}

/* ---- checking ---- */

static uint32_t check_ref(const roast_chunklog *log, uint32_t id, roast_bytes *from,
                          roast_entry_kind kind) {
    /* Only entries before this one. */
    uint32_t ref = (uint32_t)roast_bytes_number(from, id);
    from->bad |= ref == 0 || roast_entry_kind_of(log, ref) != kind;
    return from->bad ? 0 : ref;
}

static void check_sizes(const roast_chunklog *log, uint32_t id, roast_bytes *from) {
    check_ref(log, id, from, ROAST_ENTRY_FILE);
    uint32_t names = check_ref(log, id, from, ROAST_ENTRY_NAMES);
    uint64_t n = 3 + 2 * (uint64_t)(names == 0 ? 0 : roast_entry_count(log, names));
    for (uint64_t i = 0; i < n && !from->bad; i++)
        roast_bytes_known(from);
}

static void check_names(roast_bytes *from) {
    uint64_t n = roast_bytes_number(from, ROAST_MAX_BRANCHES);
    for (uint64_t i = 0; i < n && !from->bad; i++)
        roast_bytes_text(from, ROAST_MAX_TEXT);
}

static void check_layout(roast_bytes *from) {
    uint32_t n = (uint32_t)roast_bytes_number(from, ROAST_MAX_SECTIONS);
    roast_section section;
    for (uint32_t i = 0; i < n && !from->bad; i++)
        roast_layout_next(from, i, &section);
}

static void check_labels(roast_bytes *from, int n) {
    for (int i = 0; i < n; i++)
        roast_bytes_label(from);
}

bool roast_entry_valid(const roast_chunklog *log, uint32_t id, roast_str entry) {
    const uint8_t *at = (const uint8_t *)entry.data;
    if (entry.len == 0)
        return false;
    roast_bytes from = {at + 1, at + entry.len, false};
    switch (*at) {
    case ROAST_ENTRY_TEXT:
        return entry.len - 1 <= ROAST_MAX_TEXT;
    case ROAST_ENTRY_ORIGIN:
        read_origin(&from);
        break;
    case ROAST_ENTRY_FILE:
        check_labels(&from, 3);
        break;
    case ROAST_ENTRY_NAMES:
        check_names(&from);
        break;
    case ROAST_ENTRY_LAYOUT:
        check_layout(&from);
        break;
    case ROAST_ENTRY_SIZES:
        check_sizes(log, id, &from);
        break;
    default:
        return false;
    }
    return !from.bad && from.at == from.end;
}

/* ---- translating ---- */

/* FILE and NAMES, which SIZES refers to, refer to nothing themselves. */
static roast_status translate_sizes(roast_chunklog *into, const roast_chunklog *from,
                                    roast_bytes payload, uint32_t *map, uint32_t *out) {
    uint32_t refs[2];
    for (int i = 0; i < 2; i++)
        ROAST_TRY(roast_entry_translate(
            into, from, (uint32_t)roast_bytes_number(&payload, UINT32_MAX), map, &refs[i]));
    roast_draft draft = roast_entry_begin(into, ROAST_ENTRY_SIZES);
    roast_draft_number(&draft, refs[0]);
    roast_draft_number(&draft, refs[1]);
    roast_draft_bytes(&draft, payload.at, (size_t)(payload.end - payload.at));
    ROAST_TRY(roast_entry_end(into, &draft, out));
    roast_sizes_added(into);
    return ROAST_OK;
}

roast_status roast_entry_translate(roast_chunklog *into, const roast_chunklog *from, uint32_t ref,
                                   uint32_t *map, uint32_t *out) {
    *out = ref == 0 || map == NULL ? 0 : map[ref - 1];
    if (ref == 0 || *out != 0)
        return ROAST_OK;
    if (roast_entry_kind_of(from, ref) == ROAST_ENTRY_SIZES)
        ROAST_TRY(translate_sizes(into, from, roast_entry_payload(from, ref), map, out));
    else
        ROAST_TRY(add(into, roast_intern_get(&from->entries, ref - 1), out));
    if (map != NULL)
        map[ref - 1] = *out;
    return ROAST_OK;
}
