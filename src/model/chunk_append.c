/* Putting a chunk into a log. */
#include "model/chunklog_internal.h"

/* What the row will need once its entries are there. */
typedef struct new_row {
    uint32_t ref[ROAST_ROW_REFS];
    roast_context context;
    const uint8_t *hash; /* of the task; NULL: none */
} new_row;

/* ---- the task key ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Dask's keys end in '-' and 32 hexadecimal digits, other for each task: as 16 bytes they take a
 * quarter of a string entry. */
static bool split_task_key(roast_str key, roast_str *front, uint8_t hash[ROAST_TASK_HASH_BYTES]) {
    if (key.data == NULL || key.len < 33 || key.data[key.len - 33] != '-')
        return false;
    const char *digits = key.data + key.len - 32;
    for (int i = 0; i < ROAST_TASK_HASH_BYTES; i++) {
        int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        hash[i] = (uint8_t)(high * 16 + low);
    }
    *front = (roast_str){key.data, key.len - 33};
    return true;
}

/* ---- entries ---- */

_Static_assert(offsetof(roast_section, name) == 0 && offsetof(roast_read, branch) == 0,
               "names are taken from the front of an item");

static roast_str name_of(const void *items, size_t stride, uint32_t i) {
    return roast_text_cut(*(const roast_str *)(const void *)((const char *)items + i * stride));
}

/* How many bytes all names take at most, with `extra` for each. */
static roast_status names_room(const void *items, size_t stride, uint32_t n, size_t extra,
                               size_t *room) {
    *room = 2 * ROAST_VARINT_MAX;
    for (uint32_t i = 0; i < n; i++) {
        *room += name_of(items, stride, i).len + ROAST_TEXT_LENGTH_MAX + extra;
        if (*room > SIZE_MAX / 8)
            return ROAST_ENOMEM;
    }
    return ROAST_OK;
}

static roast_status add_set(roast_chunklog *log, const void *items, size_t stride, uint32_t n,
                            uint32_t *ref) {
    size_t room;
    uint8_t *at;
    ROAST_TRY(names_room(items, stride, n, 0, &room));
    ROAST_TRY(roast_entry_begin(log, room, &at));
    at = roast_put_varint(at, n);
    for (uint32_t i = 0; i < n; i++)
        at = roast_put_text(at, name_of(items, stride, i));
    return roast_entry_end(log, ROAST_ENTRY_BRANCHES, at, ref);
}

static unsigned layout_kind(const roast_section *section) {
    return (unsigned)section->kind | (section->count > 1 ? ROAST_LAYOUT_FOLDED : 0);
}

static roast_status add_layout(roast_chunklog *log, const roast_chunk *chunk, uint32_t *ref) {
    uint32_t n = chunk->n_sections;
    size_t room;
    uint8_t *at;
    *ref = 0;
    if (n == 0)
        return ROAST_OK;
    ROAST_TRY(names_room(chunk->sections, sizeof *chunk->sections, n, 1 + ROAST_REF_MAX, &room));
    ROAST_TRY(roast_entry_begin(log, room, &at));
    at = roast_put_varint(at, n);
    for (uint32_t i = 0; i < n; i++) {
        const roast_section *section = &chunk->sections[i];
        at = roast_put_varint(at, layout_kind(section));
        at = roast_put_varint(at, (uint64_t)(section->parent + 1));
        at = roast_put_text(at, roast_text_cut(section->name));
    }
    return roast_entry_end(log, ROAST_ENTRY_LAYOUT, at, ref);
}

static uint8_t *put_mask(uint8_t *at, uint64_t mask) {
    for (int byte = 0; byte < ROAST_MASK_BYTES; byte++)
        *at++ = (uint8_t)(mask >> (8 * byte));
    return at;
}

static roast_status add_context(roast_chunklog *log, const roast_context *context, uint32_t *ref) {
    roast_str dataset = roast_text_cut(context->dataset), task = roast_text_cut(context->task);
    uint8_t *at;
    ROAST_TRY(roast_entry_begin(log,
                                ROAST_CONTEXT_REFS * ROAST_REF_MAX + ROAST_VARINT_MAX +
                                    ROAST_CONTEXT_MASKS * ROAST_MASK_BYTES +
                                    2 * ROAST_TEXT_LENGTH_MAX + dataset.len + task.len,
                                &at));
    at = roast_put_varint(at, context->branches);
    at = roast_put_varint(at, context->reads);
    at = roast_put_varint(at, context->layout);
    at = roast_put_varint(at, context->flags);
    at = put_mask(at, context->have);
    at = put_mask(at, context->present);
    at = put_mask(at, context->rests);
    at = roast_put_label(at, dataset);
    at = roast_put_label(at, task);
    return roast_entry_end(log, ROAST_ENTRY_CONTEXT, at, ref);
}

/* Whether a reference is remembered, which is then *ref. */
static bool recall(const uint32_t *remembered, uint32_t *ref) {
    if (remembered == NULL || *remembered == 0)
        return false;
    *ref = *remembered;
    return true;
}

static void remember(uint32_t *remembered, uint32_t ref) {
    if (remembered != NULL)
        *remembered = ref;
}

/* What chunks share most comes first: so a merge finds it where it looks first. */
static roast_status add_entries(roast_chunklog *log, const roast_chunk *chunk,
                                const roast_append_refs *refs, new_row *row) {
    roast_context *context = &row->context;
    uint32_t *file = &row->ref[ROAST_REF_FILE], *origin = &row->ref[ROAST_REF_ORIGIN];
    context->flags = (row->hash != NULL ? ROAST_ROW_TASK_HASH : 0) |
                     (chunk->error_type.data != NULL ? ROAST_ROW_ERROR : 0) |
                     (chunk->n_customs > 0 ? ROAST_ROW_CUSTOMS : 0);
    if (chunk->has_branches && !recall(refs->branches, &context->branches)) {
        ROAST_TRY(add_set(log, chunk->branches, sizeof *chunk->branches, chunk->n_branches,
                          &context->branches));
        remember(refs->branches, context->branches);
    }
    if (chunk->has_reads)
        ROAST_TRY(
            add_set(log, chunk->reads, sizeof *chunk->reads, chunk->n_reads, &context->reads));
    ROAST_TRY(add_layout(log, chunk, &context->layout));
    ROAST_TRY(add_context(log, context, &row->ref[ROAST_REF_CONTEXT]));
    if (!recall(refs->file, file)) {
        ROAST_TRY(roast_entry_file(log, chunk->file, chunk->uuid, chunk->treename, file));
        remember(refs->file, *file);
    }
    if (!recall(refs->origin, origin)) {
        const roast_origin from = {.token = chunk->token,
                                   .run = chunk->run,
                                   .pid = chunk->pid,
                                   .host = chunk->host,
                                   .worker = chunk->worker};
        ROAST_TRY(roast_entry_origin(log, &from, origin));
        remember(refs->origin, *origin);
    }
    return ROAST_OK;
}

/* ---- the row ---- */

static uint8_t *put_text(uint8_t *at, roast_str text) {
    return roast_put_text(at, roast_text_cut(text));
}

static void put_sections(roast_bit_writer *bits, const roast_chunk *chunk) {
    roast_tail_cursor before = {0};
    for (uint32_t i = 0; i < chunk->n_sections; i++) {
        const roast_section *section = &chunk->sections[i];
        int64_t expected = roast_section_expected(&before, section->parent);
        int64_t gap = (int64_t)((uint64_t)section->start_ns - (uint64_t)expected);
        roast_put_bit_number(bits, roast_zigzag(gap), ROAST_SECTION_START_USUAL);
        roast_put_bit_number(bits, roast_zigzag(section->value),
                             roast_section_value_usual(section->kind));
        if (section->kind == ROAST_SECTION_MEMORY)
            roast_put_bit_number(bits, (uint64_t)section->before, ROAST_SECTION_BEFORE_USUAL);
        if (section->count > 1)
            roast_put_bit_number(bits, section->count, ROAST_SECTION_COUNT_USUAL);
        roast_section_passed(&before, section);
    }
}

static uint8_t *put_reads(uint8_t *at, const roast_chunk *chunk) {
    for (uint32_t i = 0; i < chunk->n_reads; i++) {
        const roast_read *read = &chunk->reads[i];
        at = roast_put_known(at, read->time_ns);
        at = roast_put_known(at, read->bytes);
        at = roast_put_known(at, read->uncompressed_bytes);
        at = roast_put_known(at, read->count);
    }
    return at;
}

static uint8_t *put_customs(uint8_t *at, const roast_chunk *chunk) {
    at = roast_put_varint(at, chunk->n_customs);
    for (uint32_t i = 0; i < chunk->n_customs; i++) {
        const roast_custom *custom = &chunk->customs[i];
        *at++ = (uint8_t)custom->scope;
        *at++ = (uint8_t)custom->kind;
        at = put_text(at, custom->key);
        if (custom->kind == ROAST_CUSTOM_REAL) {
            uint64_t bits;
            memcpy(&bits, &custom->real, sizeof bits);
            for (int byte = 0; byte < 8; byte++)
                *at++ = (uint8_t)(bits >> (8 * byte));
        } else if (custom->kind == ROAST_CUSTOM_BOOL || custom->kind == ROAST_CUSTOM_INT) {
            at = roast_put_zigzag(at, custom->integer);
        } else if (custom->kind != ROAST_CUSTOM_NULL) {
            at = roast_put_text(at, custom->text);
        }
    }
    return at;
}

/* How long a row can get. */
static size_t row_bound(const roast_chunk *chunk) {
    /* Lengths of the row, its bits and two texts, seq, number of customs; the hash. */
    size_t bound =
        (ROAST_ROW_REFS + 6) * (size_t)ROAST_VARINT_MAX + ROAST_TASK_HASH_BYTES + ROAST_BIT_SLACK;
    bound += ROAST_CHUNK_FIELD_COUNT * (size_t)ROAST_FIELD_MAX;
    bound += (size_t)chunk->n_sections * 4 * ROAST_BIT_NUMBER_MAX;
    if (chunk->has_reads)
        bound += (size_t)chunk->n_reads * 4 * ROAST_VARINT_MAX;
    bound += roast_text_cut(chunk->error_type).len + roast_text_cut(chunk->error_message).len;
    for (uint32_t i = 0; i < chunk->n_customs; i++)
        bound += 2 + 3 * ROAST_VARINT_MAX + roast_text_cut(chunk->customs[i].key).len +
                 chunk->customs[i].text.len;
    return bound;
}

/* Writes the length of what a function has written behind room for the longest length, and moves that up
 * to it: the length stands in front, but is known last. */
static uint8_t *put_length(uint8_t *start, const uint8_t *end) {
    const uint8_t *body = start + ROAST_VARINT_MAX;
    size_t len = (size_t)(end - body);
    uint8_t *at = roast_put_varint(start, len);
    memmove(at, body, len);
    return at + len;
}

static uint8_t *put_numbers(uint8_t *at, const roast_chunk *chunk, const roast_context *context) {
    roast_bit_writer bits = {.at = at};
    roast_fields_put(&bits, chunk, context);
    put_sections(&bits, chunk);
    return roast_bits_end(&bits);
}

static uint8_t *put_body(uint8_t *at, const roast_chunk *chunk, const new_row *row) {
    for (int i = 0; i < ROAST_ROW_REFS; i++)
        at = roast_put_varint(at, row->ref[i]);
    at = roast_put_varint(at, chunk->seq);
    if (roast_row_has_tail(&row->context))
        at = put_length(at, put_numbers(at + ROAST_VARINT_MAX, chunk, &row->context));
    else
        at = put_numbers(at, chunk, &row->context);
    if (chunk->has_reads)
        at = put_reads(at, chunk);
    if (chunk->error_type.data != NULL)
        at = put_text(put_text(at, chunk->error_type), chunk->error_message);
    if (chunk->n_customs > 0)
        at = put_customs(at, chunk);
    if (row->hash != NULL) {
        memcpy(at, row->hash, ROAST_TASK_HASH_BYTES);
        at += ROAST_TASK_HASH_BYTES;
    }
    return at;
}

static void put_row(roast_chunklog *log, const roast_chunk *chunk, const new_row *row) {
    uint8_t *start = log->rows.data + log->rows.len;
    const uint8_t *end = put_length(start, put_body(start + ROAST_VARINT_MAX, chunk, row));
    roast_row_commit(log, (size_t)(end - start));
}

static roast_status check_tails(const roast_chunk *chunk, const char *where, roast_error *err) {
    if ((chunk->n_sections > 0 && chunk->sections == NULL) ||
        (chunk->has_branches && chunk->n_branches > 0 && chunk->branches == NULL) ||
        (chunk->has_reads && chunk->n_reads > 0 && chunk->reads == NULL) ||
        (chunk->n_customs > 0 && chunk->customs == NULL))
        return roast_error_set(err, ROAST_EINVAL, where, -1,
                               "a chunk with a number of items but without the items");
    for (uint32_t i = 0; i < chunk->n_sections; i++) {
        const roast_section *section = &chunk->sections[i];
        if ((unsigned)section->kind >= ROAST_SECTION_KINDS || section->parent < -1 ||
            section->parent >= (int64_t)i)
            return roast_error_set(err, ROAST_EINVAL, where, -1, "section %u is malformed", i);
    }
    for (uint32_t i = 0; i < chunk->n_customs; i++)
        if ((unsigned)chunk->customs[i].scope >= ROAST_SCOPES ||
            (unsigned)chunk->customs[i].kind >= ROAST_CUSTOM_KINDS)
            return roast_error_set(err, ROAST_EINVAL, where, -1, "value %u is malformed", i);
        else if (chunk->customs[i].text.len > ROAST_MAX_VALUE)
            return roast_error_set(err, ROAST_ELIMIT, where, -1, "value %u has %zu bytes", i,
                                   chunk->customs[i].text.len);
    return ROAST_OK;
}

static roast_status check_chunk(const roast_chunk *chunk, roast_error *err) {
    const char *where = "roast_chunklog_append";
    if ((chunk->have & ~ROAST_CHUNK_ALL_FIELDS) != 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "a field that does not exist");
    if (chunk->n_sections > ROAST_MAX_SECTIONS || chunk->n_branches > ROAST_MAX_BRANCHES ||
        chunk->n_reads > ROAST_MAX_BRANCHES || chunk->n_customs > ROAST_MAX_CUSTOMS)
        return roast_error_set(err, ROAST_ELIMIT, where, -1,
                               "a chunk with %u sections, %u branches, %u reads and %u values",
                               chunk->n_sections, chunk->n_branches, chunk->n_reads,
                               chunk->n_customs);
    return check_tails(chunk, where, err);
}

roast_status roast_chunklog_append(roast_chunklog *log, const roast_chunk *chunk,
                                   roast_error *err) {
    return roast_chunklog_append_by(log, chunk, &(roast_append_refs){NULL, NULL, NULL}, err);
}

roast_status roast_chunklog_append_by(roast_chunklog *log, const roast_chunk *chunk,
                                      const roast_append_refs *refs, roast_error *err) {
    ROAST_TRY(check_chunk(chunk, err));
    uint32_t entries = log->entries.count;
    new_row row = {
        .context = {.have = chunk->have, .dataset = chunk->dataset, .task = chunk->task_key}};
    roast_fields_masks(chunk, &row.context.present, &row.context.rests);
    uint8_t split[ROAST_TASK_HASH_BYTES];
    if (chunk->task_hash.data != NULL && chunk->task_hash.len == ROAST_TASK_HASH_BYTES)
        row.hash = (const uint8_t *)chunk->task_hash.data;
    else if (split_task_key(chunk->task_key, &row.context.task, split))
        row.hash = split;
    roast_status status = roast_chunklog_loosen(log);
    if (status == ROAST_OK)
        status = add_entries(log, chunk, refs, &row);
    if (status == ROAST_OK)
        status = roast_row_reserve(log, row_bound(chunk));
    if (status != ROAST_OK) {
        roast_chunklog_rewind(log, log->count, log->rows.len, entries);
        return roast_error_set(err, status, "roast_chunklog_append", -1, "no room for a chunk");
    }
    put_row(log, chunk, &row);
    return ROAST_OK;
}
