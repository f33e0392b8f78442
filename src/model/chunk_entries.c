/* What a chunk log keeps once: strings, origins, files, branch sets, layouts, file sizes. */
#include "model/chunklog_internal.h"

#include "base/varint.h"

roast_str roast_text_cut(roast_str text) {
    if (text.len <= ROAST_MAX_TEXT)
        return text;
    size_t len = ROAST_MAX_TEXT;
    /* Not in the middle of a UTF-8 character: its later bytes, at most three, are 10xxxxxx. */
    while (len > ROAST_MAX_TEXT - 3 && ((uint8_t)text.data[len] & 0xc0) == 0x80)
        len--;
    return (roast_str){text.data, len};
}

uint8_t *roast_put_known(uint8_t *at, int64_t value) {
    return roast_put_varint(at, value < 0 ? 0 : (uint64_t)value + 1);
}

bool roast_get_known(const uint8_t **at, const uint8_t *end, int64_t *value) {
    uint64_t raw;
    if (!roast_get_varint(at, end, &raw) || raw > ROAST_KNOWN_MAX)
        return false;
    *value = raw == 0 ? -1 : (int64_t)(raw - 1);
    return true;
}

/* ---- adding ---- */

roast_status roast_entry_begin(roast_chunklog *log, size_t room, uint8_t **at) {
    log->scratch.len = 0;
    ROAST_TRY(roast_buffer_reserve(&log->scratch, room + 1));
    *at = log->scratch.data + 1;
    return ROAST_OK;
}

roast_status roast_entry_end(roast_chunklog *log, roast_entry_kind kind, const uint8_t *end,
                             uint32_t *ref) {
    const uint8_t *start = log->scratch.data;
    log->scratch.data[0] = (uint8_t)kind;
    uint32_t id;
    ROAST_TRY(roast_intern_add(&log->entries,
                               (roast_str){(const char *)start, (size_t)(end - start)}, &id));
    *ref = id + 1;
    return ROAST_OK;
}

roast_status roast_entry_string(roast_chunklog *log, roast_str text, uint32_t *ref) {
    *ref = 0;
    if (text.data == NULL)
        return ROAST_OK;
    text = roast_text_cut(text);
    uint8_t *at;
    ROAST_TRY(roast_entry_begin(log, text.len, &at));
    memcpy(at, text.data, text.len);
    return roast_entry_end(log, ROAST_ENTRY_STRING, at + text.len, ref);
}

roast_status roast_entry_file(roast_chunklog *log, roast_str name, roast_str uuid,
                              roast_str treename, uint32_t *ref) {
    *ref = 0;
    if (name.data == NULL && uuid.data == NULL && treename.data == NULL)
        return ROAST_OK;
    uint32_t name_ref, uuid_ref, treename_ref;
    ROAST_TRY(roast_entry_string(log, name, &name_ref));
    ROAST_TRY(roast_entry_string(log, uuid, &uuid_ref));
    ROAST_TRY(roast_entry_string(log, treename, &treename_ref));
    uint8_t *at;
    ROAST_TRY(roast_entry_begin(log, 3 * ROAST_REF_MAX, &at));
    at = roast_put_varint(at, name_ref);
    at = roast_put_varint(at, uuid_ref);
    at = roast_put_varint(at, treename_ref);
    return roast_entry_end(log, ROAST_ENTRY_FILE, at, ref);
}

/* ---- reading ---- */

roast_context roast_entry_context(const roast_chunklog *log, uint32_t ref) {
    roast_context context = {0};
    roast_str payload = roast_entry_payload(log, ref);
    const uint8_t *at = (const uint8_t *)payload.data, *end = at + payload.len;
    uint32_t *const refs[] = {&context.dataset, &context.task, &context.branches, &context.reads,
                              &context.layout};
    roast_get_varint(&at, end, &context.flags);
    roast_get_varint(&at, end, &context.have);
    roast_get_varint(&at, end, &context.present);
    for (size_t i = 0; i < sizeof refs / sizeof *refs; i++) {
        uint64_t raw = 0;
        roast_get_varint(&at, end, &raw);
        *refs[i] = (uint32_t)raw;
    }
    return context;
}

/* ---- walking a payload, reference by reference ---- */

/* Called for each reference of a payload; what it returns takes the reference's place in a
 * translation. UINT32_MAX: refused. */
typedef uint32_t (*visit_ref)(void *context, uint32_t ref, roast_entry_kind kind);

typedef struct walker {
    const uint8_t *at, *end;
    uint8_t *out; /* NULL: only look */
    visit_ref visit;
    void *context;
} walker;

static bool walk_number(walker *w, uint64_t limit, uint64_t *value) {
    if (!roast_get_varint(&w->at, w->end, value) || *value > limit)
        return false;
    if (w->out != NULL)
        w->out = roast_put_varint(w->out, *value);
    return true;
}

static bool walk_ref(walker *w, roast_entry_kind kind, bool may_be_none) {
    uint64_t ref;
    if (!roast_get_varint(&w->at, w->end, &ref) || ref > UINT32_MAX - 1)
        return false;
    if (ref == 0 ? !may_be_none : (ref = w->visit(w->context, (uint32_t)ref, kind)) == UINT32_MAX)
        return false;
    if (w->out != NULL)
        w->out = roast_put_varint(w->out, ref);
    return true;
}

static bool walk_origin(walker *w) {
    uint64_t pid;
    if (w->end - w->at < ROAST_TOKEN_BYTES)
        return false;
    if (w->out != NULL) {
        memcpy(w->out, w->at, ROAST_TOKEN_BYTES);
        w->out += ROAST_TOKEN_BYTES;
    }
    w->at += ROAST_TOKEN_BYTES;
    return walk_number(w, INT64_MAX, &pid) && walk_ref(w, ROAST_ENTRY_STRING, true) &&
           walk_ref(w, ROAST_ENTRY_STRING, true);
}

static bool walk_file(walker *w) {
    return walk_ref(w, ROAST_ENTRY_STRING, true) && walk_ref(w, ROAST_ENTRY_STRING, true) &&
           walk_ref(w, ROAST_ENTRY_STRING, true);
}

static bool walk_branches(walker *w) {
    uint64_t n;
    if (!walk_number(w, ROAST_MAX_BRANCHES, &n))
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (!walk_ref(w, ROAST_ENTRY_STRING, false))
            return false;
    return true;
}

static bool walk_layout(walker *w) {
    uint64_t n, kind, parent;
    if (!walk_number(w, ROAST_MAX_SECTIONS, &n))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        if (!walk_ref(w, ROAST_ENTRY_STRING, false) ||
            !walk_number(w, ROAST_LAYOUT_FOLDED + ROAST_SECTION_KINDS - 1, &kind) ||
            (kind & (ROAST_LAYOUT_FOLDED - 1)) >= ROAST_SECTION_KINDS ||
            !walk_number(w, i, &parent)) /* parent + 1 <= i */
            return false;
    }
    return true;
}

static bool walk_context(walker *w) {
    uint64_t flags, have, present;
    return walk_number(w, ROAST_ROW_FLAGS, &flags) &&
           walk_number(w, ROAST_CHUNK_ALL_FIELDS, &have) &&
           walk_number(w, ROAST_CHUNK_ALL_FIELDS, &present) && (present & ~have) == 0 &&
           walk_ref(w, ROAST_ENTRY_STRING, true) && walk_ref(w, ROAST_ENTRY_STRING, true) &&
           walk_ref(w, ROAST_ENTRY_BRANCHES, true) && walk_ref(w, ROAST_ENTRY_BRANCHES, true) &&
           walk_ref(w, ROAST_ENTRY_LAYOUT, true);
}

static bool walk_filemeta(walker *w) {
    uint64_t n, value;
    if (!walk_ref(w, ROAST_ENTRY_FILE, false))
        return false;
    for (int i = 0; i < 3; i++)
        if (!walk_number(w, ROAST_KNOWN_MAX, &value))
            return false;
    if (!walk_number(w, ROAST_MAX_BRANCHES, &n))
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (!walk_ref(w, ROAST_ENTRY_STRING, false) || !walk_number(w, ROAST_KNOWN_MAX, &value) ||
            !walk_number(w, ROAST_KNOWN_MAX, &value))
            return false;
    return true;
}

static bool walk_payload(walker *w, roast_entry_kind kind) {
    switch (kind) {
    case ROAST_ENTRY_ORIGIN:
        return walk_origin(w);
    case ROAST_ENTRY_FILE:
        return walk_file(w);
    case ROAST_ENTRY_BRANCHES:
        return walk_branches(w);
    case ROAST_ENTRY_LAYOUT:
        return walk_layout(w);
    case ROAST_ENTRY_CONTEXT:
        return walk_context(w);
    case ROAST_ENTRY_FILEMETA:
        return walk_filemeta(w);
    default:
        return false;
    }
}

struct check {
    const roast_chunklog *log;
    uint32_t id;
};

static uint32_t check_ref(void *context, uint32_t ref, roast_entry_kind kind) {
    const struct check *check = context;
    /* Only entries before this one: so no entry can lead back to itself. */
    if (ref > check->id || roast_entry_kind_of(check->log, ref) != kind)
        return UINT32_MAX;
    return ref;
}

bool roast_entry_valid(const roast_chunklog *log, uint32_t id) {
    roast_str entry = roast_intern_get(&log->entries, id);
    roast_entry_kind kind = (roast_entry_kind)(uint8_t)entry.data[0];
    if (kind == ROAST_ENTRY_STRING)
        return entry.len - 1 <= ROAST_MAX_TEXT;
    struct check check = {log, id};
    walker w = {(const uint8_t *)entry.data + 1, (const uint8_t *)entry.data + entry.len, NULL,
                check_ref, &check};
    return walk_payload(&w, kind) && w.at == w.end;
}

static uint32_t translate_ref(void *context, uint32_t ref, roast_entry_kind kind) {
    (void)kind;
    const uint32_t *map = context;
    return map[ref - 1];
}

/* Entries that came together into one log mostly stand together in another one too: a look at the
 * neighbour of the last one found spares two hashes of three. */
static roast_status add_near(roast_chunklog *log, roast_str entry, uint32_t last, uint32_t *ref) {
    if (last < log->entries.count &&
        roast_str_equal(roast_intern_get(&log->entries, last), entry)) {
        *ref = last + 1;
        return ROAST_OK;
    }
    uint32_t id;
    ROAST_TRY(roast_intern_add(&log->entries, entry, &id));
    *ref = id + 1;
    return ROAST_OK;
}

roast_status roast_entry_translate(roast_chunklog *into, const roast_chunklog *from, uint32_t id,
                                   uint32_t *map) {
    roast_str entry = roast_intern_get(&from->entries, id);
    roast_entry_kind kind = (roast_entry_kind)(uint8_t)entry.data[0];
    uint32_t last = id > 0 ? map[id - 1] : 0;
    if (kind == ROAST_ENTRY_STRING)
        return add_near(into, entry, last, &map[id]);
    /* A reference can grow from one byte to five. */
    if (entry.len > SIZE_MAX / 8)
        return ROAST_ENOMEM;
    uint8_t *at;
    ROAST_TRY(roast_entry_begin(into, entry.len * ROAST_REF_MAX, &at));
    walker w = {(const uint8_t *)entry.data + 1, (const uint8_t *)entry.data + entry.len, at,
                translate_ref, map};
    if (!walk_payload(&w, kind))
        return ROAST_ECORRUPT;
    into->scratch.data[0] = (uint8_t)kind;
    size_t len = (size_t)(w.out - into->scratch.data);
    return add_near(into, (roast_str){(const char *)into->scratch.data, len}, last, &map[id]);
}
