/* What a chunk log keeps once: strings, origins, files, branch sets, layouts, file sizes. */
#include "model/chunklog_internal.h"

#include "base/varint.h"

roast_str roast_text_cut(roast_str text) {
    if (text.len <= ROAST_MAX_TEXT)
        return text;
    size_t len = ROAST_MAX_TEXT;
    /* Not in the middle of a UTF-8 character: its later bytes are 10xxxxxx. */
    while (len > 0 && ((uint8_t)text.data[len] & 0xc0) == 0x80)
        len--;
    return (roast_str){text.data, len};
}

roast_status roast_entry_begin(roast_chunklog *log, size_t room, uint8_t **at) {
    log->scratch.len = 0;
    ROAST_TRY(roast_buffer_reserve(&log->scratch, room + 1));
    *at = log->scratch.data + 1;
    return ROAST_OK;
}

void roast_entry_end(roast_chunklog *log, const uint8_t *at) {
    log->scratch.len = (size_t)(at - log->scratch.data);
}

roast_status roast_entry_add_scratch(roast_chunklog *log, roast_entry_kind kind, uint32_t *ref) {
    log->scratch.data[0] = (uint8_t)kind;
    uint32_t id;
    ROAST_TRY(roast_intern_add(
        &log->entries, (roast_str){(const char *)log->scratch.data, log->scratch.len}, &id));
    *ref = id + 1;
    return ROAST_OK;
}

roast_status roast_entry_string(roast_chunklog *log, roast_str text, uint32_t *ref) {
    if (text.data == NULL) {
        *ref = 0;
        return ROAST_OK;
    }
    text = roast_text_cut(text);
    uint8_t *at;
    ROAST_TRY(roast_entry_begin(log, text.len, &at));
    memcpy(at, text.data, text.len);
    roast_entry_end(log, at + text.len);
    return roast_entry_add_scratch(log, ROAST_ENTRY_STRING, ref);
}

roast_status roast_entry_file(roast_chunklog *log, roast_str name, roast_str uuid,
                              roast_str treename, uint32_t *ref) {
    *ref = 0;
    if (name.data == NULL && uuid.data == NULL && treename.data == NULL)
        return ROAST_OK;
    const roast_str part[3] = {name, uuid, treename};
    uint32_t refs[3];
    for (int i = 0; i < 3; i++)
        ROAST_TRY(roast_entry_string(log, part[i], &refs[i]));
    uint8_t *at;
    ROAST_TRY(roast_entry_begin(log, sizeof part / sizeof *part * ROAST_VARINT_MAX, &at));
    for (int i = 0; i < 3; i++)
        at = roast_put_varint(at, refs[i]);
    roast_entry_end(log, at);
    return roast_entry_add_scratch(log, ROAST_ENTRY_FILE, ref);
}

roast_entry_kind roast_entry_kind_of(const roast_chunklog *log, uint32_t ref) {
    return (roast_entry_kind)(uint8_t)roast_intern_get(&log->entries, ref - 1).data[0];
}

roast_str roast_entry_payload(const roast_chunklog *log, uint32_t ref) {
    roast_str entry = roast_intern_get(&log->entries, ref - 1);
    return (roast_str){entry.data + 1, entry.len - 1};
}

roast_str roast_entry_text(const roast_chunklog *log, uint32_t ref) {
    return ref == 0 ? (roast_str){NULL, 0} : roast_entry_payload(log, ref);
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
    if (w->end - w->at < 8)
        return false;
    if (w->out != NULL) {
        memcpy(w->out, w->at, 8);
        w->out += 8;
    }
    w->at += 8;
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
    uint64_t have, n, kind, parent;
    if (!walk_number(w, (UINT64_C(1) << ROAST_CHUNK_FIELD_COUNT) - 1, &have) ||
        !walk_number(w, ROAST_MAX_SECTIONS, &n))
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

static bool walk_filemeta(walker *w) {
    uint64_t n, value;
    if (!walk_ref(w, ROAST_ENTRY_FILE, false))
        return false;
    for (int i = 0; i < 3; i++)
        if (!walk_number(w, INT64_MAX, &value))
            return false;
    if (!walk_number(w, ROAST_MAX_BRANCHES, &n))
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (!walk_ref(w, ROAST_ENTRY_STRING, false) || !walk_number(w, INT64_MAX, &value) ||
            !walk_number(w, INT64_MAX, &value))
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
    if (entry.len == 0)
        return false;
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

roast_status roast_entry_translate(roast_chunklog *into, const roast_chunklog *from, uint32_t id,
                                   const uint32_t *map, uint32_t *ref) {
    roast_str entry = roast_intern_get(&from->entries, id);
    roast_entry_kind kind = (roast_entry_kind)(uint8_t)entry.data[0];
    if (kind == ROAST_ENTRY_STRING) {
        uint32_t added;
        ROAST_TRY(roast_intern_add(&into->entries, entry, &added));
        *ref = added + 1;
        return ROAST_OK;
    }
    /* A reference can grow from one byte to five. */
    if (entry.len > SIZE_MAX / 8)
        return ROAST_ENOMEM;
    uint8_t *at;
    ROAST_TRY(roast_entry_begin(into, entry.len * 5, &at));
    walker w = {(const uint8_t *)entry.data + 1, (const uint8_t *)entry.data + entry.len, at,
                translate_ref, (void *)(uintptr_t)map};
    if (!walk_payload(&w, kind))
        return ROAST_ECORRUPT;
    roast_entry_end(into, w.out);
    return roast_entry_add_scratch(into, kind, ref);
}
