/* One chunk as a row: where it is, how it is read and checked. */
#include "model/chunklog_internal.h"

/* ---- places ---- */

bool roast_row_at(const roast_chunklog *log, size_t offset, const uint8_t **at,
                  const uint8_t **end) {
    if (offset >= log->rows.len) /* an empty log has no data to point into */
        return false;
    const uint8_t *p = log->rows.data + offset, *stop = log->rows.data + log->rows.len;
    uint64_t len;
    if (!roast_get_varint(&p, stop, &len) || len > (size_t)(stop - p))
        return false;
    *at = p;
    *end = p + len;
    return true;
}

size_t roast_row_offset(const roast_chunklog *log, uint64_t index) {
    uint64_t mark = index / ROAST_ROWS_PER_MARK;
    size_t offset = mark == 0 ? 0 : log->marks[mark - 1];
    const uint8_t *at, *end;
    for (uint64_t skip = index % ROAST_ROWS_PER_MARK; skip > 0; skip--) {
        if (!roast_row_at(log, offset, &at, &end))
            return log->rows.len;
        offset = (size_t)(end - log->rows.data);
    }
    return offset;
}

roast_status roast_row_reserve(roast_chunklog *log, size_t room) {
    size_t marks = roast_row_marks(log->count + 1);
    if (marks > log->marks_capacity) {
        void *moved = log->marks;
        ROAST_TRY(roast_array_reserve(&moved, &log->marks_capacity, sizeof *log->marks, marks));
        log->marks = moved;
    }
    return roast_buffer_reserve(&log->rows, room);
}

void roast_row_commit(roast_chunklog *log, size_t len) {
    if (log->count > 0 && log->count % ROAST_ROWS_PER_MARK == 0)
        log->marks[log->count / ROAST_ROWS_PER_MARK - 1] = log->rows.len;
    log->rows.len += len;
    log->count++;
}

/* ---- numbers ---- */

static const uint8_t *skip_one_by_one(const uint8_t *at, const uint8_t *end, uint64_t n,
                                      uint64_t limit) {
    uint64_t value;
    for (uint64_t i = 0; i < n; i++)
        if (!roast_get_varint(&at, end, &value) || value > limit)
            return NULL;
    return at;
}

static uint64_t load_word(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Eight bytes at a time: every row is checked at each level of a reduction, there may be thousands of reads
 * in it, and lengths that vary from number to number are what a branch predictor cannot learn. A number of nine bytes is below
 * 2^63; only a longer one needs a closer look, and there is hardly ever one. */
const uint8_t *roast_skip_numbers(const uint8_t *at, const uint8_t *end, uint64_t n,
                                  uint64_t limit) {
    enum { LONGEST_BEFORE_LAST = 8 };
    const uint8_t *p = at;
    uint64_t left = n;
    unsigned begun = 0; /* bytes before p of a number that goes on there */
    for (; left > 0 && end - p >= 8; p += 8) {
        /* The high bit of each byte that ends a number. */
        uint64_t ends = ~load_word(p) & UINT64_C(0x8080808080808080);
        begun += ends != 0 ? (unsigned)__builtin_ctzll(ends) / 8 : 8;
        if (begun > LONGEST_BEFORE_LAST)
            return skip_one_by_one(at, end, n, limit);
        if (ends == 0)
            continue;
        uint64_t ended = (ends >> 7) * UINT64_C(0x0101010101010101) >> 56;
        if (ended >= left) {
            for (; left > 1; left--)
                ends &= ends - 1;
            return p + __builtin_ctzll(ends) / 8 + 1;
        }
        left -= ended;
        begun = (unsigned)__builtin_clzll(ends) / 8;
    }
    return left > 0 ? skip_one_by_one(p - begun, end, left, limit) : p;
}

/* ---- reading ---- */

static void read_context(const roast_chunklog *log, const roast_context *context,
                         roast_chunk *out) {
    out->have = context->have;
    out->dataset = context->dataset;
    out->task_key = context->task;
    out->packed.branches = context->branches;
    out->packed.layout = context->layout;
    out->packed.reads = context->reads;
    if (context->branches != 0) {
        out->has_branches = true;
        out->n_branches = roast_entry_set_size(log, context->branches);
    }
    if (context->reads != 0) {
        out->has_reads = true;
        out->n_reads = roast_entry_set_size(log, context->reads);
    }
}

static bool get_refs(const roast_chunklog *log, const uint8_t **at, const uint8_t *end,
                     uint32_t refs[ROAST_ROW_REFS]) {
    static const roast_entry_kind kinds[ROAST_ROW_REFS] = {
        [ROAST_REF_CONTEXT] = ROAST_ENTRY_CONTEXT,
        [ROAST_REF_FILE] = ROAST_ENTRY_FILE,
        [ROAST_REF_ORIGIN] = ROAST_ENTRY_ORIGIN,
    };
    for (int i = 0; i < ROAST_ROW_REFS; i++) {
        uint64_t ref;
        if (!roast_get_varint(at, end, &ref) || ref > log->entries.count)
            return false;
        refs[i] = (uint32_t)ref;
        if (ref != 0 && roast_entry_kind_of(log, (uint32_t)ref) != kinds[i])
            return false;
    }
    return refs[ROAST_REF_CONTEXT] != 0;
}

/* The task hash is at the very end of a row. */
static bool cut_hash(const uint8_t *at, const uint8_t **end, uint64_t flags) {
    if ((flags & ROAST_ROW_TASK_HASH) == 0)
        return true;
    if (*end - at < ROAST_TASK_HASH_BYTES)
        return false;
    *end -= ROAST_TASK_HASH_BYTES;
    return true;
}

/* What stands behind the bits: reads, error, customs. */
static bool get_tails(const uint8_t *at, const uint8_t *end, uint64_t flags, roast_chunk *out) {
    if (out->has_reads) {
        out->packed.reads_at = at;
        at = roast_skip_numbers(at, end, out->n_reads * (uint64_t)ROAST_READ_NUMBERS,
                                ROAST_KNOWN_MAX);
        out->packed.reads_end = at;
    }
    if (at == NULL ||
        ((flags & ROAST_ROW_ERROR) && (!roast_get_text(&at, end, &out->error_type) ||
                                       !roast_get_text(&at, end, &out->error_message))))
        return false;
    uint64_t n_customs = 0;
    if ((flags & ROAST_ROW_CUSTOMS) &&
        (!roast_get_varint(&at, end, &n_customs) || n_customs > ROAST_MAX_CUSTOMS))
        return false;
    out->n_customs = (uint32_t)n_customs;
    out->packed.customs_at = at;
    out->packed.end = end;
    return true;
}

/* Moves *at to where the bits begin, and tells where the tail behind them does. */
static bool find_bits(const uint8_t **at, const uint8_t *end, bool has_tail, const uint8_t **tail) {
    uint64_t len;
    *tail = end;
    if (!has_tail)
        return true;
    if (!roast_get_varint(at, end, &len) || len > (size_t)(end - *at))
        return false;
    *tail = *at + len;
    return true;
}

static void get_numbers(const roast_chunklog *log, const uint8_t *at, const uint8_t *end,
                        const roast_context *context, roast_chunk *out) {
    roast_bit_reader bits = {.from = at, .end = end};
    roast_fields_get(&bits, context, out);
    if (context->layout == 0)
        return;
    out->n_sections = roast_entry_layout(log, context->layout).sections;
    out->packed.sections_at = at;
    out->packed.sections_end = end;
    out->packed.sections_bit = bits.at;
}

bool roast_row_parse(const roast_chunklog *log, const uint8_t *at, const uint8_t *end,
                     roast_chunk *out) {
    uint32_t refs[ROAST_ROW_REFS];
    const uint8_t *row_end = end;
    if (!get_refs(log, &at, end, refs))
        return false;
    roast_context context = roast_entry_context(log, refs[ROAST_REF_CONTEXT]);
    *out = (roast_chunk){0};
    read_context(log, &context, out);
    out->packed.context = refs[ROAST_REF_CONTEXT];
    out->packed.file = refs[ROAST_REF_FILE];
    out->packed.origin = refs[ROAST_REF_ORIGIN];
    if (refs[ROAST_REF_FILE] != 0)
        roast_entry_file_labels(log, refs[ROAST_REF_FILE], &out->file, &out->uuid, &out->treename);
    roast_origin origin = {0};
    if (refs[ROAST_REF_ORIGIN] != 0)
        origin = roast_entry_get_origin(log, refs[ROAST_REF_ORIGIN]);
    out->token = origin.token;
    out->run = origin.run;
    out->pid = origin.pid;
    out->host = origin.host;
    out->worker = origin.worker;
    if (!cut_hash(at, &end, context.flags))
        return false;
    if (context.flags & ROAST_ROW_TASK_HASH)
        out->task_hash = (roast_str){(const char *)end, ROAST_TASK_HASH_BYTES};
    const uint8_t *tail;
    if (!roast_get_varint(&at, end, &out->seq) ||
        !find_bits(&at, end, roast_row_has_tail(&context), &tail))
        return false;
    /* To the end of the row: reading eight bytes at a time is safe there. */
    get_numbers(log, at, row_end, &context, out);
    if (out->have & ROAST_CHUNK_HAS(start_us))
        out->start_us = roast_wrap_add(out->start_us, origin.behind_us);
    return get_tails(tail, end, context.flags, out);
}

/* ---- checking ---- */

static void learn_shape(const roast_chunklog *log, uint32_t ref, roast_row_check *check) {
    roast_context context = roast_entry_shape(log, ref);
    check->context = ref;
    check->has_tail = roast_row_has_tail(&context);
    check->flags = context.flags;
    check->least_bytes = 0;
    if (context.layout != 0)
        check->least_bytes =
            roast_entry_layout(log, context.layout).sections * (size_t)ROAST_SECTION_LEAST;
    check->read_numbers = 0;
    if (context.reads != 0)
        check->read_numbers =
            roast_entry_set_size(log, context.reads) * (uint64_t)ROAST_READ_NUMBERS;
}

/* What no other part of the log tells the length of. */
static bool extras_valid(const uint8_t **at, const uint8_t *end, uint64_t flags) {
    roast_str text;
    if ((flags & ROAST_ROW_ERROR) &&
        (!roast_get_text(at, end, &text) || !roast_get_text(at, end, &text)))
        return false;
    if ((flags & ROAST_ROW_CUSTOMS) == 0)
        return true;
    roast_tail_cursor tail = {.values_end = end};
    roast_custom custom;
    uint64_t n;
    if (!roast_get_varint(at, end, &n) || n > ROAST_MAX_CUSTOMS)
        return false;
    tail.values = *at;
    tail.count = (uint32_t)n;
    while (roast_chunk_next_custom(&tail, &custom))
        continue;
    *at = tail.values;
    return tail.index == tail.count;
}

bool roast_row_valid(const roast_chunklog *log, const uint8_t *at, const uint8_t *end,
                     roast_row_check *check) {
    uint32_t refs[ROAST_ROW_REFS];
    if (!get_refs(log, &at, end, refs))
        return false;
    if (check->context != refs[ROAST_REF_CONTEXT])
        learn_shape(log, refs[ROAST_REF_CONTEXT], check);
    uint64_t seq;
    const uint8_t *tail;
    if (!cut_hash(at, &end, check->flags) || !roast_get_varint(&at, end, &seq) ||
        !find_bits(&at, end, check->has_tail, &tail) || (size_t)(tail - at) < check->least_bytes)
        return false;
    if (!check->has_tail) /* any bits are numbers */
        return true;
    if (check->read_numbers > 0)
        tail = roast_skip_numbers(tail, end, check->read_numbers, ROAST_KNOWN_MAX);
    return tail != NULL && extras_valid(&tail, end, check->flags) && tail == end;
}
