/* What a chunk log keeps once: origins, files, branch sets, layouts, contexts, file sizes. */
#include "model/chunklog_internal.h"

/* ---- texts ---- */

roast_str roast_text_cut(roast_str text) {
    if (text.len <= ROAST_MAX_TEXT)
        return text;
    size_t len = ROAST_MAX_TEXT;
    /* Not in the middle of a UTF-8 character: its later bytes, at most three, are 10xxxxxx. */
    while (len > ROAST_MAX_TEXT - 3 && ((uint8_t)text.data[len] & 0xc0) == 0x80)
        len--;
    return (roast_str){text.data, len};
}

uint8_t *roast_put_text(uint8_t *at, roast_str text) {
    at = roast_put_varint(at, text.len);
    if (text.len > 0)
        memcpy(at, text.data, text.len);
    return at + text.len;
}

uint8_t *roast_put_label(uint8_t *at, roast_str text) {
    if (text.data == NULL) {
        *at++ = 0;
        return at;
    }
    at = roast_put_varint(at, text.len + 1);
    memcpy(at, text.data, text.len);
    return at + text.len;
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

/* Entries that came together into one log mostly stand together in another one too: a look at the
 * neighbour of the last one found spares most of the hashes. */
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

/* What was put together in the scratch buffer, up to `end`. */
static roast_str scratch_entry(roast_chunklog *log, roast_entry_kind kind, const uint8_t *end) {
    log->scratch.data[0] = (uint8_t)kind;
    return (roast_str){(const char *)log->scratch.data, (size_t)(end - log->scratch.data)};
}

roast_status roast_entry_end(roast_chunklog *log, roast_entry_kind kind, const uint8_t *end,
                             uint32_t *ref) {
    uint32_t id;
    ROAST_TRY(roast_intern_add(&log->entries, scratch_entry(log, kind, end), &id));
    *ref = id + 1;
    return ROAST_OK;
}

roast_status roast_entry_string(roast_chunklog *log, roast_str text, uint32_t *ref) {
    text = roast_text_cut(text);
    uint8_t *at;
    ROAST_TRY(roast_entry_begin(log, ROAST_TEXT_LENGTH_MAX + text.len, &at));
    return roast_entry_end(log, ROAST_ENTRY_STRING, roast_put_text(at, text), ref);
}

static uint8_t *put_token(uint8_t *at, uint64_t token) {
    for (int byte = 0; byte < ROAST_TOKEN_BYTES; byte++)
        *at++ = (uint8_t)(token >> (8 * byte));
    return at;
}

roast_status roast_entry_origin(roast_chunklog *log, const roast_origin *origin, uint32_t *ref) {
    *ref = 0;
    if (origin->token == 0 && origin->run == 0 && origin->pid == 0 && origin->host.data == NULL &&
        origin->worker.data == NULL)
        return ROAST_OK;
    roast_str host = roast_text_cut(origin->host), worker = roast_text_cut(origin->worker);
    uint8_t *at;
    ROAST_TRY(roast_entry_begin(log,
                                2 * (ROAST_TOKEN_BYTES + ROAST_VARINT_MAX + ROAST_TEXT_LENGTH_MAX) +
                                    host.len + worker.len,
                                &at));
    at = put_token(at, origin->token);
    at = put_token(at, origin->run);
    at = roast_put_varint(at, origin->pid > 0 ? (uint64_t)origin->pid : 0);
    at = roast_put_zigzag(at, origin->behind_us);
    at = roast_put_label(at, host);
    at = roast_put_label(at, worker);
    return roast_entry_end(log, ROAST_ENTRY_ORIGIN, at, ref);
}

roast_status roast_entry_file(roast_chunklog *log, roast_str name, roast_str uuid,
                              roast_str treename, uint32_t *ref) {
    *ref = 0;
    if (name.data == NULL && uuid.data == NULL && treename.data == NULL)
        return ROAST_OK;
    name = roast_text_cut(name);
    uuid = roast_text_cut(uuid);
    treename = roast_text_cut(treename);
    uint8_t *at;
    size_t texts = name.len + uuid.len + treename.len;
    ROAST_TRY(roast_entry_begin(log, 3 * ROAST_TEXT_LENGTH_MAX + texts, &at));
    at = roast_put_label(at, name);
    at = roast_put_label(at, uuid);
    at = roast_put_label(at, treename);
    return roast_entry_end(log, ROAST_ENTRY_FILE, at, ref);
}

/* ---- reading: of entries that are valid, so that nothing can fail ---- */

static uint64_t next_number(const uint8_t **at, const uint8_t *end) {
    uint64_t value = 0;
    roast_get_varint(at, end, &value);
    return value;
}

static uint64_t get_mask(const uint8_t **at) {
    const uint8_t *p = *at;
    *at += ROAST_MASK_BYTES;
    _Static_assert(ROAST_MASK_BYTES == 5, "the bytes below");
    return p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32;
}

static void get_shape(const uint8_t **at, const uint8_t *end, roast_context *out) {
    out->branches = (uint32_t)next_number(at, end);
    out->reads = (uint32_t)next_number(at, end);
    out->layout = (uint32_t)next_number(at, end);
    out->flags = next_number(at, end);
}

roast_context roast_entry_shape(const roast_chunklog *log, uint32_t ref) {
    roast_context context = {0};
    roast_str payload = roast_entry_payload(log, ref);
    const uint8_t *at = (const uint8_t *)payload.data;
    get_shape(&at, at + payload.len, &context);
    return context;
}

roast_context roast_entry_context(const roast_chunklog *log, uint32_t ref) {
    roast_context context;
    roast_str payload = roast_entry_payload(log, ref);
    const uint8_t *at = (const uint8_t *)payload.data, *end = at + payload.len;
    get_shape(&at, end, &context);
    context.have = get_mask(&at);
    context.present = get_mask(&at);
    context.rests = get_mask(&at);
    roast_get_label(&at, end, &context.dataset);
    roast_get_label(&at, end, &context.task);
    return context;
}

uint32_t roast_entry_set_size(const roast_chunklog *log, uint32_t ref) {
    roast_str payload = roast_entry_payload(log, ref);
    const uint8_t *at = (const uint8_t *)payload.data;
    return (uint32_t)next_number(&at, at + payload.len);
}

roast_layout roast_entry_layout(const roast_chunklog *log, uint32_t ref) {
    roast_str payload = roast_entry_payload(log, ref);
    roast_layout layout;
    layout.items = (const uint8_t *)payload.data;
    layout.end = layout.items + payload.len;
    layout.sections = (uint32_t)next_number(&layout.items, layout.end);
    return layout;
}

static uint64_t get_token(const uint8_t **at) {
    uint64_t token = 0;
    for (int byte = ROAST_TOKEN_BYTES - 1; byte >= 0; byte--)
        token = token << 8 | (*at)[byte];
    *at += ROAST_TOKEN_BYTES;
    return token;
}

roast_origin roast_entry_get_origin(const roast_chunklog *log, uint32_t ref) {
    roast_str payload = roast_entry_payload(log, ref);
    const uint8_t *at = (const uint8_t *)payload.data, *end = at + payload.len;
    roast_origin origin;
    origin.token = get_token(&at);
    origin.run = get_token(&at);
    origin.pid = (int64_t)next_number(&at, end);
    origin.behind_us = roast_unzigzag(next_number(&at, end));
    roast_get_label(&at, end, &origin.host);
    roast_get_label(&at, end, &origin.worker);
    return origin;
}

roast_str roast_entry_text(const roast_chunklog *log, uint32_t ref) {
    roast_str payload = roast_entry_payload(log, ref), text = {NULL, 0};
    const uint8_t *at = (const uint8_t *)payload.data;
    roast_get_text(&at, at + payload.len, &text);
    return text;
}

void roast_entry_file_labels(const roast_chunklog *log, uint32_t ref, roast_str *name,
                             roast_str *uuid, roast_str *treename) {
    roast_str payload = roast_entry_payload(log, ref);
    const uint8_t *at = (const uint8_t *)payload.data, *end = at + payload.len;
    roast_get_label(&at, end, name);
    roast_get_label(&at, end, uuid);
    roast_get_label(&at, end, treename);
}

/* ---- checking ---- */

/* An entry that is looked through, and the log whose entries before it may be referred to. */
typedef struct checker {
    const roast_chunklog *log;
    uint32_t id;
    const uint8_t *at, *end;
} checker;

static bool check_number(checker *c, uint64_t limit, uint64_t *value) {
    return roast_get_varint(&c->at, c->end, value) && *value <= limit;
}

static bool check_ref(checker *c, roast_entry_kind kind, bool may_be_none) {
    uint64_t ref;
    /* Only entries before this one: so no entry can lead back to itself. */
    if (!check_number(c, c->id, &ref))
        return false;
    return ref == 0 ? may_be_none : roast_entry_kind_of(c->log, (uint32_t)ref) == kind;
}

static bool check_labels(checker *c, int n) {
    roast_str text;
    for (int i = 0; i < n; i++)
        if (!roast_get_label(&c->at, c->end, &text))
            return false;
    return true;
}

static bool check_origin(checker *c) {
    uint64_t pid, behind;
    if (c->end - c->at < 2 * ROAST_TOKEN_BYTES)
        return false;
    c->at += 2 * ROAST_TOKEN_BYTES;
    return check_number(c, INT64_MAX, &pid) && check_number(c, UINT64_MAX, &behind) &&
           check_labels(c, 2);
}

static bool check_branches(checker *c) {
    uint64_t n;
    roast_str name;
    if (!check_number(c, ROAST_MAX_BRANCHES, &n))
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (!roast_get_text(&c->at, c->end, &name))
            return false;
    return true;
}

static bool check_layout(checker *c) {
    uint64_t n, kind, parent;
    roast_str name;
    if (!check_number(c, ROAST_MAX_SECTIONS, &n))
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (!check_number(c, ROAST_LAYOUT_FOLDED + ROAST_SECTION_KINDS - 1, &kind) ||
            (kind & (ROAST_LAYOUT_FOLDED - 1)) >= ROAST_SECTION_KINDS ||
            !check_number(c, i, &parent) || /* parent + 1 <= i */
            !roast_get_text(&c->at, c->end, &name))
            return false;
    return true;
}

static bool check_context(checker *c) {
    uint64_t flags;
    if (!check_ref(c, ROAST_ENTRY_BRANCHES, true) || !check_ref(c, ROAST_ENTRY_BRANCHES, true) ||
        !check_ref(c, ROAST_ENTRY_LAYOUT, true) || !check_number(c, ROAST_ROW_FLAGS, &flags) ||
        c->end - c->at < ROAST_CONTEXT_MASKS * ROAST_MASK_BYTES)
        return false;
    uint64_t have = get_mask(&c->at), present = get_mask(&c->at), rests = get_mask(&c->at);
    return (have & ~ROAST_CHUNK_ALL_FIELDS) == 0 && (present & ~have) == 0 &&
           (rests & ~(present & roast_fields_in_units)) == 0 && check_labels(c, 2);
}

static bool check_filemeta(checker *c) {
    uint64_t n, value;
    if (!check_ref(c, ROAST_ENTRY_FILE, false))
        return false;
    for (int i = 0; i < 3; i++)
        if (!check_number(c, ROAST_KNOWN_MAX, &value))
            return false;
    if (!check_number(c, ROAST_MAX_BRANCHES, &n))
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (!check_ref(c, ROAST_ENTRY_STRING, false) || !check_number(c, ROAST_KNOWN_MAX, &value) ||
            !check_number(c, ROAST_KNOWN_MAX, &value))
            return false;
    return true;
}

static bool check_payload(checker *c, roast_entry_kind kind) {
    roast_str text;
    switch (kind) {
    case ROAST_ENTRY_STRING:
        return roast_get_text(&c->at, c->end, &text);
    case ROAST_ENTRY_ORIGIN:
        return check_origin(c);
    case ROAST_ENTRY_FILE:
        return check_labels(c, 3);
    case ROAST_ENTRY_BRANCHES:
        return check_branches(c);
    case ROAST_ENTRY_LAYOUT:
        return check_layout(c);
    case ROAST_ENTRY_CONTEXT:
        return check_context(c);
    case ROAST_ENTRY_FILEMETA:
        return check_filemeta(c);
    default:
        return false;
    }
}

const uint8_t *roast_entry_check(const roast_chunklog *log, uint32_t id, const uint8_t *at,
                                 const uint8_t *end) {
    if (at == end)
        return NULL;
    checker c = {log, id, at + 1, end};
    return check_payload(&c, (roast_entry_kind)*at) ? c.at : NULL;
}

/* ---- translating ---- */

/* An entry on its way from one log to another, put together in the scratch buffer of the other. */
typedef struct translation {
    roast_chunklog *into;
    const roast_chunklog *from;
    uint32_t *map; /* as of roast_entry_translate */
    uint32_t last; /* the reference in `into` of the last entry that was found there */
    const uint8_t *at, *end;
    uint8_t *to;
} translation;

/* What an entry refers to refers to nothing itself: it is added as it is. */
static roast_status move_ref(translation *t) {
    uint64_t ref = next_number(&t->at, t->end);
    uint32_t moved = ref == 0 || t->map == NULL ? 0 : t->map[ref - 1];
    if (ref != 0 && moved == 0) {
        roast_str entry = roast_intern_get(&t->from->entries, (uint32_t)ref - 1);
        ROAST_TRY(add_near(t->into, entry, t->last, &moved));
        if (t->map != NULL)
            t->map[ref - 1] = moved;
        t->last = moved;
    }
    t->to = roast_put_varint(t->to, moved);
    return ROAST_OK;
}

static void move_numbers(translation *t, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        t->to = roast_put_varint(t->to, next_number(&t->at, t->end));
}

/* Its references stand in front. */
static roast_status move_context(translation *t) {
    for (int i = 0; i < ROAST_CONTEXT_REFS; i++)
        ROAST_TRY(move_ref(t));
    size_t rest = (size_t)(t->end - t->at);
    memcpy(t->to, t->at, rest);
    t->to += rest;
    return ROAST_OK;
}

static roast_status move_filemeta(translation *t) {
    ROAST_TRY(move_ref(t));
    move_numbers(t, 3);
    uint64_t n = next_number(&t->at, t->end);
    t->to = roast_put_varint(t->to, n);
    for (uint64_t i = 0; i < n; i++) {
        ROAST_TRY(move_ref(t));
        move_numbers(t, 2);
    }
    return ROAST_OK;
}

roast_status roast_entry_translate(roast_chunklog *into, const roast_chunklog *from, uint32_t id,
                                   uint32_t *map, uint32_t *ref) {
    roast_str entry = roast_intern_get(&from->entries, id);
    roast_entry_kind kind = (roast_entry_kind)(uint8_t)entry.data[0];
    uint32_t last = id > 0 && map != NULL ? map[id - 1] : 0;
    bool is_context = kind == ROAST_ENTRY_CONTEXT;
    if (!is_context && kind != ROAST_ENTRY_FILEMETA)
        return add_near(into, entry, last, ref);
    /* A reference can grow from one byte to five. */
    if (entry.len > SIZE_MAX / 8)
        return ROAST_ENOMEM;
    const uint8_t *at = (const uint8_t *)entry.data + 1;
    translation t = {into, from, map, last, at, at + entry.len - 1, NULL};
    size_t room =
        is_context ? entry.len + ROAST_CONTEXT_REFS * ROAST_REF_MAX : entry.len * ROAST_REF_MAX;
    ROAST_TRY(roast_entry_begin(into, room, &t.to));
    ROAST_TRY(is_context ? move_context(&t) : move_filemeta(&t));
    return add_near(into, scratch_entry(into, kind, t.to), last, ref);
}
