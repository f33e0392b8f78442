/* The rows of a chunk log: appending, reading and checking one. */
#include "model/chunklog_internal.h"

/* The numbers of a chunk are one array. */
#define FIRST_FIELD offsetof(roast_chunk, start_us)
_Static_assert(offsetof(roast_chunk, token) ==
                   FIRST_FIELD + ROAST_CHUNK_FIELD_COUNT * sizeof(int64_t),
               "the fields stand one behind the other");

static int64_t *field_at(roast_chunk *chunk, int index) {
    return (int64_t *)(void *)((char *)chunk + FIRST_FIELD) + index;
}

/* ---- the task key ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Dask's keys end in '-' and 32 hexadecimal digits, different for each task; the part before them is shared by
 * many. */
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

/* ---- writing ---- */

/* The text of a value; one under the name of a secret is not kept. JSON was redacted when it was made. */
static void put_custom_text(roast_draft *row, const roast_custom *custom) {
    roast_str text = custom->text;
    if (custom->kind == ROAST_CUSTOM_TEXT && roast_is_secret_name(custom->key))
        text = roast_str_of("***");
    if (row->status == ROAST_OK && custom->kind != ROAST_CUSTOM_JSON)
        row->status = roast_redact_in(row->redacted, roast_redact_text, &text);
    roast_draft_number(row, text.len);
    roast_draft_bytes(row, text.data, text.len);
}

static void put_customs(roast_draft *row, const roast_chunk *chunk) {
    roast_draft_number(row, chunk->n_customs);
    for (uint32_t i = 0; i < chunk->n_customs; i++) {
        const roast_custom *custom = &chunk->customs[i];
        uint64_t bits;
        roast_draft_number(row, (uint64_t)custom->scope);
        roast_draft_number(row, (uint64_t)custom->kind);
        roast_draft_text(row, custom->key);
        if (custom->kind == ROAST_CUSTOM_REAL) {
            memcpy(&bits, &custom->real, sizeof bits);
            roast_draft_fixed(row, bits);
        } else if (custom->kind == ROAST_CUSTOM_BOOL || custom->kind == ROAST_CUSTOM_INT) {
            roast_draft_signed(row, custom->integer);
        } else if (custom->kind != ROAST_CUSTOM_NULL) {
            put_custom_text(row, custom);
        }
    }
}

static void put_sections(roast_draft *row, const roast_chunk *chunk) {
    for (uint32_t i = 0; i < chunk->n_sections; i++) {
        const roast_section *section = &chunk->sections[i];
        roast_draft_signed(row, section->start_ns);
        roast_draft_signed(row, section->value);
        if (section->kind == ROAST_SECTION_MEMORY)
            roast_draft_signed(row, section->before);
        if (section->count > 1)
            roast_draft_number(row, section->count);
    }
}

static void put_reads(roast_draft *row, const roast_chunk *chunk) {
    for (uint32_t i = 0; chunk->has_reads && i < chunk->n_reads; i++) {
        const roast_read *read = &chunk->reads[i];
        roast_draft_known(row, read->time_ns);
        roast_draft_known(row, read->bytes);
        roast_draft_known(row, read->uncompressed_bytes);
        roast_draft_known(row, read->count);
    }
}

static void put_row(roast_draft *row, const roast_chunk *chunk, const uint8_t *hash) {
    bool failed = chunk->error_type.data != NULL;
    uint64_t flags = (hash != NULL ? ROAST_ROW_TASK_HASH : 0) | (failed ? ROAST_ROW_ERROR : 0) |
                     (chunk->n_customs > 0 ? ROAST_ROW_CUSTOMS : 0);
    roast_draft_number(row, chunk->seq);
    roast_draft_number(row, chunk->have << ROAST_ROW_FLAG_BITS | flags);
    for (uint64_t left = chunk->have; left != 0; left &= left - 1)
        roast_draft_signed(row, *field_at((roast_chunk *)chunk, __builtin_ctzll(left)));
    if (hash != NULL)
        roast_draft_bytes(row, hash, ROAST_TASK_HASH_BYTES);
    if (failed) {
        roast_draft_text(row, chunk->error_type);
        roast_draft_redacted(row, chunk->error_message);
    }
    if (chunk->n_customs > 0)
        put_customs(row, chunk);
    put_sections(row, chunk);
    put_reads(row, chunk);
}

roast_status roast_row_append(roast_chunklog *log, const uint32_t refs[ROAST_ROW_REFS],
                              const void *rest, size_t len) {
    void *ends = log->ends;
    ROAST_TRY(
        roast_array_reserve(&ends, &log->ends_capacity, sizeof *log->ends, (size_t)log->count + 1));
    log->ends = ends;
    ROAST_TRY(roast_buffer_reserve(&log->rows, ROAST_ROW_FRONT + len));
    uint8_t front[ROAST_ROW_REFS * ROAST_REF_MAX], *to = front;
    for (int i = 0; i < ROAST_ROW_REFS; i++)
        to = roast_put_varint(to, refs[i]);
    uint8_t *at = log->rows.data + log->rows.len;
    log->rows.len += (size_t)(roast_put_varint(at, (size_t)(to - front) + len) - at);
    roast_buffer_push(&log->rows, front, (size_t)(to - front));
    roast_buffer_push(&log->rows, rest, len);
    log->ends[log->count++] = log->rows.len;
    return ROAST_OK;
}

static roast_status add_entries(roast_chunklog *log, const roast_chunk *chunk, roast_str task,
                                uint32_t refs[ROAST_ROW_REFS]) {
    const roast_origin origin = {.token = chunk->token,
                                 .run = chunk->run,
                                 .pid = chunk->pid,
                                 .host = chunk->host,
                                 .worker = chunk->worker,
                                 .batch_job = chunk->batch_job};
    ROAST_TRY(roast_entry_add_origin(log, &origin, &refs[ROAST_REF_origin]));
    ROAST_TRY(roast_entry_add_file(log, chunk->file, chunk->uuid, chunk->treename,
                                   &refs[ROAST_REF_file]));
    ROAST_TRY(roast_entry_add_text(log, chunk->dataset, &refs[ROAST_REF_dataset]));
    ROAST_TRY(roast_entry_add_text(log, task, &refs[ROAST_REF_task]));
    if (chunk->has_branches)
        ROAST_TRY(roast_entry_add_names(log, chunk->branches, sizeof *chunk->branches,
                                        chunk->n_branches, &refs[ROAST_REF_branches]));
    if (chunk->has_reads)
        ROAST_TRY(roast_entry_add_names(log, chunk->reads, sizeof *chunk->reads, chunk->n_reads,
                                        &refs[ROAST_REF_reads]));
    return roast_entry_add_layout(log, chunk, &refs[ROAST_REF_layout]);
}
_Static_assert(offsetof(roast_read, branch) == 0, "the name stands at the front of an item");

static roast_status add_row(roast_chunklog *log, const roast_chunk *chunk) {
    uint32_t refs[ROAST_ROW_REFS] = {0};
    uint8_t split[ROAST_TASK_HASH_BYTES];
    const uint8_t *hash = NULL;
    roast_str task = chunk->task_key;
    if (chunk->task_hash.data != NULL && chunk->task_hash.len == ROAST_TASK_HASH_BYTES)
        hash = (const uint8_t *)chunk->task_hash.data;
    else if (split_task_key(chunk->task_key, &task, split))
        hash = split;
    ROAST_TRY(add_entries(log, chunk, task, refs));
    roast_draft row = roast_draft_begin(log);
    put_row(&row, chunk, hash);
    ROAST_TRY(row.status);
    return roast_row_append(log, refs, log->scratch.data, log->scratch.len);
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

static roast_status check_chunk(const roast_chunk *chunk, const char *where, roast_error *err) {
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
    const char *where = "roast_chunklog_append";
    ROAST_TRY(check_chunk(chunk, where, err));
    uint32_t entries = log->entries.count;
    roast_status status = add_row(log, chunk);
    if (status == ROAST_OK)
        return ROAST_OK;
    roast_chunklog_rewind(log, log->count, entries);
    return roast_error_set(err, status, where, -1, "no room for chunk %llu",
                           (unsigned long long)log->count);
}

/* ---- another number ---- */

roast_status roast_row_put_number(roast_bytes rest, int field, int64_t value, roast_buffer *out) {
    uint8_t front[2 * ROAST_VARINT_MAX], number[ROAST_VARINT_MAX];
    uint8_t *to = roast_put_varint(front, roast_bytes_number(&rest, UINT64_MAX)); /* sequence */
    uint64_t mask = roast_bytes_number(&rest, UINT64_MAX), have = mask >> ROAST_ROW_FLAG_BITS;
    const uint8_t *fields = rest.at;
    uint64_t below = have & ((UINT64_C(1) << field) - 1);
    roast_bytes_skip(&rest, (uint64_t)__builtin_popcountll(below), UINT64_MAX);
    if (rest.bad || (have >> field & 1) != 0)
        return ROAST_EINVAL;
    to = roast_put_varint(to, mask | UINT64_C(1) << (field + ROAST_ROW_FLAG_BITS));
    out->len = 0;
    ROAST_TRY(roast_buffer_append(out, front, (size_t)(to - front)));
    ROAST_TRY(roast_buffer_append(out, fields, (size_t)(rest.at - fields)));
    to = roast_put_zigzag(number, value);
    ROAST_TRY(roast_buffer_append(out, number, (size_t)(to - number)));
    return roast_buffer_append(out, rest.at, (size_t)(rest.end - rest.at));
}

/* ---- reading ---- */

void roast_row_refs(const roast_chunklog *log, roast_bytes *row, uint32_t refs[ROAST_ROW_REFS]) {
    for (int i = 0; i < ROAST_ROW_REFS; i++)
        refs[i] = (uint32_t)roast_bytes_small(row, log->entries.count);
}

static void read_refs(const roast_chunklog *log, const uint32_t refs[ROAST_ROW_REFS],
                      roast_chunk *out) {
    roast_entry_file(log, refs[ROAST_REF_file], &out->file, &out->uuid, &out->treename);
    out->dataset = roast_entry_text(log, refs[ROAST_REF_dataset]);
    out->task_key = roast_entry_text(log, refs[ROAST_REF_task]);
    out->has_branches = refs[ROAST_REF_branches] != 0;
    out->n_branches = roast_entry_count(log, refs[ROAST_REF_branches]);
    out->has_reads = refs[ROAST_REF_reads] != 0;
    out->n_reads = roast_entry_count(log, refs[ROAST_REF_reads]);
    out->n_sections = roast_entry_count(log, refs[ROAST_REF_layout]);
    out->packed.origin = refs[ROAST_REF_origin];
    out->packed.file = refs[ROAST_REF_file];
    out->packed.dataset = refs[ROAST_REF_dataset];
    out->packed.branches = refs[ROAST_REF_branches];
    out->packed.reads = refs[ROAST_REF_reads];
    out->packed.layout = refs[ROAST_REF_layout];
}

/* Goes over the customs, which are few, to find out where they end. */
static void read_customs(const roast_chunklog *log, roast_bytes *row, roast_chunk *out) {
    roast_tail_cursor cursor;
    roast_custom custom;
    out->n_customs = (uint32_t)roast_bytes_number(row, ROAST_MAX_CUSTOMS);
    out->packed.customs = *row;
    roast_chunk_customs(log, out, &cursor);
    while (roast_chunk_next_custom(&cursor, &custom))
        continue;
    *row = cursor.values;
}

/* Sequence and mask. */
static uint64_t read_mask(roast_bytes *row, roast_chunk *out) {
    out->seq = roast_bytes_number(row, UINT64_MAX);
    uint64_t mask = roast_bytes_number(row, ROAST_CHUNK_ALL_FIELDS << ROAST_ROW_FLAG_BITS |
                                                ((1u << ROAST_ROW_FLAG_BITS) - 1));
    out->have = mask >> ROAST_ROW_FLAG_BITS;
    return mask;
}

/* What follows the fields, up to the sections. */
static void read_texts(const roast_chunklog *log, roast_bytes *row, uint64_t mask,
                       roast_chunk *out) {
    if (mask & ROAST_ROW_TASK_HASH) {
        const uint8_t *hash = roast_bytes_take(row, ROAST_TASK_HASH_BYTES);
        out->task_hash = (roast_str){(const char *)hash, ROAST_TASK_HASH_BYTES};
    }
    if (mask & ROAST_ROW_ERROR) {
        out->error_type = roast_bytes_text(row, ROAST_MAX_TEXT);
        out->error_message = roast_bytes_text(row, ROAST_MAX_TEXT);
    }
    if (mask & ROAST_ROW_CUSTOMS)
        read_customs(log, row, out);
    out->packed.tails = *row;
}

static void read_fields(roast_bytes *row, uint64_t fields, roast_chunk *out) {
    uint64_t passed = 0; /* numbers since the last one that was read */
    for (uint64_t left = out->have; left != 0; left &= left - 1) {
        int index = __builtin_ctzll(left);
        if ((fields >> index & 1) == 0) {
            passed++;
            continue;
        }
        if (passed > 0)
            roast_bytes_skip(row, passed, UINT64_MAX);
        passed = 0;
        *field_at(out, index) = roast_bytes_signed(row);
    }
    roast_bytes_skip(row, passed, UINT64_MAX);
    out->have &= fields;
}

bool roast_row_read(const roast_chunklog *log, roast_bytes row, uint64_t fields, roast_chunk *out) {
    uint32_t refs[ROAST_ROW_REFS];
    *out = (roast_chunk){0};
    roast_row_refs(log, &row, refs);
    if (row.bad)
        return false;
    read_refs(log, refs, out);
    uint64_t mask = read_mask(&row, out);
    read_fields(&row, fields, out);
    read_texts(log, &row, mask, out);
    roast_origin origin = roast_entry_origin(log, refs[ROAST_REF_origin]);
    out->token = origin.token;
    out->run = origin.run;
    out->pid = origin.pid;
    out->host = origin.host;
    out->worker = origin.worker;
    out->batch_job = origin.batch_job;
    if (out->have & ROAST_CHUNK_HAS(start_us))
        out->start_us = roast_wrap_add(out->start_us, origin.behind_us);
    return !out->packed.tails.bad;
}

bool roast_row_lacks_something(const roast_chunklog *log, uint64_t index) {
    roast_bytes row = roast_row_at(log, index);
    roast_bytes_skip(&row, ROAST_ROW_REFS + 1, UINT64_MAX); /* the sequence is before the mask */
    const uint64_t either = ROAST_ROW_CUSTOMS | ROAST_CHUNK_HAS(dropped_sections)
                                                    << ROAST_ROW_FLAG_BITS;
    return (roast_bytes_number(&row, UINT64_MAX) & either) != 0;
}

/* How many numbers a row has for the sections of a layout. */
static uint64_t count_values(const roast_chunklog *log, uint32_t layout) {
    roast_bytes payload = roast_entry_payload(log, layout);
    uint32_t sections = layout == 0 ? 0 : (uint32_t)roast_bytes_small(&payload, UINT32_MAX);
    uint64_t values = 0;
    for (uint32_t i = 0; i < sections; i++) {
        roast_section section;
        values += 2 + (uint64_t)roast_layout_next(&payload, i, &section);
        values += section.kind == ROAST_SECTION_MEMORY;
    }
    return values;
}

bool roast_row_valid(const roast_chunklog *log, roast_bytes row, roast_row_check *check) {
    static const roast_entry_kind kinds[ROAST_ROW_REFS] = {
#define X(name, kind) ROAST_ENTRY_##kind,
        ROAST_ROW_REF_LIST(X)
#undef X
    };
    uint32_t refs[ROAST_ROW_REFS];
    roast_row_refs(log, &row, refs);
    for (int i = 0; i < ROAST_ROW_REFS; i++)
        if (refs[i] != 0 && roast_entry_kind_of(log, refs[i]) != kinds[i])
            return false;
    roast_chunk chunk; /* only what follows the fields; the entries have been checked */
    uint64_t mask = read_mask(&row, &chunk);
    roast_bytes_skip(&row, (uint64_t)__builtin_popcountll(chunk.have), UINT64_MAX);
    read_texts(log, &row, mask, &chunk);
    if (check->layout != refs[ROAST_REF_layout])
        *check =
            (roast_row_check){refs[ROAST_REF_layout], count_values(log, refs[ROAST_REF_layout])};
    roast_bytes_skip(&row, check->values, UINT64_MAX);
    uint64_t reads = roast_entry_count(log, refs[ROAST_REF_reads]);
    roast_bytes_skip(&row, ROAST_READ_VALUES * reads, ROAST_KNOWN_LIMIT);
    return !row.bad && row.at == row.end;
}
