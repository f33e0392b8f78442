/* How a chunk log is laid out; shared by the files of this module. The bytes are specified in
 * docs/format/chunk-log.md. */
#ifndef ROAST_MODEL_CHUNKLOG_INTERNAL_H
#define ROAST_MODEL_CHUNKLOG_INTERNAL_H

#include "base/bits.h"
#include "base/buffer.h"
#include "base/intern.h"
#include "base/varint.h"
#include "roast/chunklog.h"

/* What is kept once a log. An entry is one byte of kind and a payload. Most hold all their strings
 * themselves: the log of one chunk then has five entries, four of which are known again in another
 * log by their bytes. The others refer to entries before them: a reference is the entry's number +
 * 1; 0 means "none". A text is its length and its bytes; a label is a text or nothing. */
typedef enum roast_entry_kind {
    ROAST_ENTRY_STRING = 1, /* text */
    ROAST_ENTRY_ORIGIN,     /* see roast_origin */
    ROAST_ENTRY_FILE,       /* label name, label uuid, label treename */
    ROAST_ENTRY_BRANCHES,   /* n, n × text */
    ROAST_ENTRY_LAYOUT,     /* n, n × (kind + 4 if folded, parent + 1, text) */
    ROAST_ENTRY_CONTEXT, /* 3 × ref, flags, 3 × mask, label dataset, label task: see roast_context */
    ROAST_ENTRY_FILEMETA, /* ref file, 3 × number, n, n × (ref name, 2 × number) */
    ROAST_ENTRY_KINDS
} roast_entry_kind;

/* What many rows have in common; a row refers to it as a whole. It tells the shape of the row. */
typedef struct roast_context {
    uint32_t branches, reads, layout;
    uint64_t flags;
    uint64_t have;    /* the fields that are known */
    uint64_t present; /* of these, the ones that stand in the row: the others are as their base */
    uint64_t rests;   /* of these, the ones that are no whole number of their unit */
    roast_str dataset, task;
} roast_context;

/* Where a row comes from: token and run (8 bytes each), pid, behind (signed), label host, label worker. */
typedef struct roast_origin {
    uint64_t token, run;
    int64_t pid;
    int64_t
        behind_us; /* what the clock there is behind: added to the start of each chunk that is read */
    roast_str host, worker;
} roast_origin;

/* The references at the front of a row, in this order. */
typedef enum roast_row_ref {
    ROAST_REF_CONTEXT,
    ROAST_REF_FILE,
    ROAST_REF_ORIGIN,
    ROAST_ROW_REFS
} roast_row_ref;

enum { /* what else a row holds */
       ROAST_ROW_TASK_HASH = 1,
       ROAST_ROW_ERROR = 2,
       ROAST_ROW_CUSTOMS = 4,
       ROAST_ROW_FLAGS = 7
};

enum {
    ROAST_ROWS_PER_MARK = 32,
    ROAST_LAYOUT_FOLDED = 4,
    ROAST_CONTEXT_REFS = 3,
    ROAST_READ_NUMBERS = 4, /* of one branch in a row */
    ROAST_TOKEN_BYTES = 8,
    ROAST_TASK_HASH_BYTES = 16,
    ROAST_MASK_BYTES = 5,
    ROAST_CONTEXT_MASKS = 3,
    ROAST_REF_MAX = 5, /* bytes of the longest reference */
};
_Static_assert((int)ROAST_SECTION_KINDS <= (int)ROAST_LAYOUT_FOLDED, "a kind takes two bits");
_Static_assert(ROAST_CHUNK_FIELD_COUNT <= 8 * ROAST_MASK_BYTES, "a mask has a bit a field");
#define ROAST_CHUNK_ALL_FIELDS ((UINT64_C(1) << ROAST_CHUNK_FIELD_COUNT) - 1)

/* The identity of a row, for merging without repeats. */
typedef struct roast_identity {
    uint64_t token, seq; /* token 0: an empty slot */
} roast_identity;

/* The newest FILEMETA of each name, of the first `seen` entries: a hash table, made and brought up to date when a
 * file is asked for. */
typedef struct roast_file_index {
    uint32_t *slots; /* references; 0: an empty one */
    uint32_t slot_count, count, seen;
} roast_file_index;

struct roast_chunklog {
    roast_intern entries;
    roast_buffer rows;
    uint64_t count;
    /* Of a log that was decoded and not changed since: entries, rows and marks lie in this one
     * block, which cannot grow (roast_chunklog_loosen). A small one is right behind this struct.
     * Else NULL. */
    void *block;
    size_t block_size;
    size_t own_size; /* of this struct and what is right behind it */
    size_t *marks;   /* offset of every ROAST_ROWS_PER_MARK-th row but the first */
    size_t marks_capacity;
    roast_buffer scratch; /* where an entry is put together */
    /* A hash set of the identities of the first `identified` rows, which end at identified_len;
     * made and brought up to date by the merges that ask for it. */
    roast_identity *identities;
    uint64_t identity_slots, identity_count, identified;
    size_t identified_len;
    roast_file_index files;
};

/* ---- texts ---- */
enum { ROAST_TEXT_LENGTH_MAX = 3 }; /* bytes of the length in front of a text or a label */
/* At most ROAST_MAX_TEXT bytes, and no part of a character. */
roast_str roast_text_cut(roast_str text);
/* Both want a text that was cut. */
uint8_t *roast_put_text(uint8_t *at, roast_str text);
uint8_t *roast_put_label(uint8_t *at, roast_str text); /* absent where data is NULL */
static inline bool roast_get_long_text(const uint8_t **at, const uint8_t *end, size_t limit,
                                       roast_str *out) {
    uint64_t len;
    if (!roast_get_varint(at, end, &len) || len > limit || len > (size_t)(end - *at))
        return false;
    *out = (roast_str){(const char *)*at, (size_t)len};
    *at += len;
    return true;
}
static inline bool roast_get_text(const uint8_t **at, const uint8_t *end, roast_str *out) {
    return roast_get_long_text(at, end, ROAST_MAX_TEXT, out);
}
static inline bool roast_get_label(const uint8_t **at, const uint8_t *end, roast_str *out) {
    uint64_t raw;
    *out = (roast_str){NULL, 0};
    if (!roast_get_varint(at, end, &raw) || raw > ROAST_MAX_TEXT + 1u)
        return false;
    if (raw == 0)
        return true;
    if (raw - 1 > (size_t)(end - *at))
        return false;
    *out = (roast_str){(const char *)*at, (size_t)raw - 1};
    *at += raw - 1;
    return true;
}
/* 0 for "not known" (any negative number), else the value + 1. */
uint8_t *roast_put_known(uint8_t *at, int64_t value);
bool roast_get_known(const uint8_t **at, const uint8_t *end, int64_t *value);
#define ROAST_KNOWN_MAX (UINT64_C(1) << 63) /* the largest one, packed */

/* ---- fields (chunk_fields.c) ---- */
enum { ROAST_FIELD_MAX = 2 * ROAST_BIT_NUMBER_MAX }; /* bytes of the longest one */
/* The usual bits of each field. */
extern const uint8_t roast_fields_usual[ROAST_CHUNK_FIELD_COUNT];
/* The fields that are no plain number, but may leave a rest. */
extern const uint64_t roast_fields_in_units;
/* The known fields of a chunk that differ from their base, and those of them with a rest. */
void roast_fields_masks(const roast_chunk *chunk, uint64_t *present, uint64_t *rests);
void roast_fields_put(roast_bit_writer *bits, const roast_chunk *chunk,
                      const roast_context *context);
/* Fills the fields of context->have. */
void roast_fields_get(roast_bit_reader *bits, const roast_context *context, roast_chunk *out);

/* ---- entries (chunk_entries.c) ---- */
/* Begins an entry in the scratch buffer with room for `room` bytes; where to write its payload. */
roast_status roast_entry_begin(roast_chunklog *log, size_t room, uint8_t **at);
/* Adds what was begun, the payload ending at `end`, unless there is one like it. */
roast_status roast_entry_end(roast_chunklog *log, roast_entry_kind kind, const uint8_t *end,
                             uint32_t *ref);
/* The reference of a text, cut to ROAST_MAX_TEXT. */
roast_status roast_entry_string(roast_chunklog *log, roast_str text, uint32_t *ref);
/* 0 where nothing is known of the origin. */
roast_status roast_entry_origin(roast_chunklog *log, const roast_origin *origin, uint32_t *ref);
/* 0 where nothing is known of the file. */
roast_status roast_entry_file(roast_chunklog *log, roast_str name, roast_str uuid,
                              roast_str treename, uint32_t *ref);
static inline roast_entry_kind roast_entry_kind_of(const roast_chunklog *log, uint32_t ref) {
    return (roast_entry_kind)(uint8_t)roast_intern_get(&log->entries, ref - 1).data[0];
}
/* The payload behind a valid, non-zero reference. */
static inline roast_str roast_entry_payload(const roast_chunklog *log, uint32_t ref) {
    roast_str entry = roast_intern_get(&log->entries, ref - 1);
    return (roast_str){entry.data + 1, entry.len - 1};
}
/* Checks the entry that begins at `at` and is to be number `id`: kinds and ranges of all that it refers to.
 * The place behind it, or NULL. */
const uint8_t *roast_entry_check(const roast_chunklog *log, uint32_t id, const uint8_t *at,
                                 const uint8_t *end);
/* The text behind a valid reference to a string. */
roast_str roast_entry_text(const roast_chunklog *log, uint32_t ref);
/* Adds entry `id` of `from`, with the entries that it refers to; its reference in `into`. `map` holds the
 * references in `into` of entries that were added before, by their numbers in `from`, and 0 for the others: those
 * that the entry refers to are put there. It may be NULL. */
roast_status roast_entry_translate(roast_chunklog *into, const roast_chunklog *from, uint32_t id,
                                   uint32_t *map, uint32_t *ref);
/* The context, branches and layout behind valid, non-zero references. */
roast_context roast_entry_context(const roast_chunklog *log, uint32_t ref);
/* The same with its references and flags alone. */
roast_context roast_entry_shape(const roast_chunklog *log, uint32_t ref);
uint32_t roast_entry_set_size(const roast_chunklog *log, uint32_t ref);
typedef struct roast_layout {
    uint32_t sections;
    const uint8_t *items, *end;
} roast_layout;
roast_layout roast_entry_layout(const roast_chunklog *log, uint32_t ref);
roast_origin roast_entry_get_origin(const roast_chunklog *log, uint32_t ref);
void roast_entry_file_labels(const roast_chunklog *log, uint32_t ref, roast_str *name,
                             roast_str *uuid, roast_str *treename);

/* ---- files (chunk_files.c) ---- */
/* The newest FILEMETA of the name; 0 where there is none. ROAST_ENOMEM. */
roast_status roast_filemeta_find(const roast_chunklog *log, roast_str name, uint32_t *ref);
void roast_file_index_reset(roast_file_index *index);

/* ---- rows (chunk_rows.c) ---- */
/* Reads the row whose body is [at, end) into out; false if it is malformed. The tails are not
 * looked into. */
bool roast_row_parse(const roast_chunklog *log, const uint8_t *at, const uint8_t *end,
                     roast_chunk *out);
/* What goes from row to row while many are checked: the shape that neighbours often share. */
typedef struct roast_row_check {
    uint32_t context; /* its reference; 0 before the first row */
    bool has_tail;
    uint64_t flags;
    uint64_t read_numbers;
    size_t least_bytes; /* that the bits take */
} roast_row_check;
/* Whether something stands behind the bits of its rows, other than the hash. */
static inline bool roast_row_has_tail(const roast_context *context) {
    return context->reads != 0 || (context->flags & (ROAST_ROW_ERROR | ROAST_ROW_CUSTOMS)) != 0;
}
/* Whether parse and the cursors over the tails will succeed and use up the row. The entries must be
 * valid. */
bool roast_row_valid(const roast_chunklog *log, const uint8_t *at, const uint8_t *end,
                     roast_row_check *check);
/* The place behind the next n numbers; NULL if they are malformed or one is beyond the limit, which
 * is 2^63 - 1 at least. */
const uint8_t *roast_skip_numbers(const uint8_t *at, const uint8_t *end, uint64_t n,
                                  uint64_t limit);

/* The body at `offset`; false at the end of the rows or where the length does not fit. */
bool roast_row_at(const roast_chunklog *log, size_t offset, const uint8_t **at,
                  const uint8_t **end);
/* Room for one more row of `room` bytes and its mark. */
roast_status roast_row_reserve(roast_chunklog *log, size_t room);
/* Takes the row that was written at rows.data + rows.len into the log. */
void roast_row_commit(roast_chunklog *log, size_t len);
/* How many marks so many rows have: the first begins at 0, without one. */
static inline size_t roast_row_marks(uint64_t count) {
    return count == 0 ? 0 : (size_t)((count - 1) / ROAST_ROWS_PER_MARK);
}
/* Where row `index` begins. */
size_t roast_row_offset(const roast_chunklog *log, uint64_t index);

/* ---- tails (chunk_tails.c) ---- */
/* Usual bits of the numbers of a section: see base/bits.h. */
enum {
    ROAST_SECTION_START_USUAL = 16,
    ROAST_SECTION_BEFORE_USUAL = 30,
    ROAST_SECTION_COUNT_USUAL = 6,
};
static inline unsigned roast_section_value_usual(roast_section_kind kind) {
    return kind == ROAST_SECTION_TIME ? 27 : 22;
}
/* Bytes that a section takes at least: so no row can claim to have more of them than it has room for. */
enum { ROAST_SECTION_LEAST = (ROAST_SECTION_START_USUAL + 1 + 22 + 1) / 8 };
/* Where a section is expected to start: inside the one before, with it; else at its end. */
int64_t roast_section_expected(const roast_tail_cursor *before, int32_t parent);
/* Moves on behind a section. */
void roast_section_passed(roast_tail_cursor *cursor, const roast_section *section);

/* ---- appending (chunk_append.c) ---- */
/* For those who know by other means that chunks have the same set of branches, file or origin: where the
 * reference to it in this log is remembered. 0 there: not known yet; NULL: not remembered. */
typedef struct roast_append_refs {
    uint32_t *branches, *file, *origin;
} roast_append_refs;
/* roast_chunklog_append that neither packs nor looks up what it has a reference to. After a failure all that
 * is remembered is void. */
roast_status roast_chunklog_append_by(roast_chunklog *log, const roast_chunk *chunk,
                                      const roast_append_refs *refs, roast_error *err);

/* ---- the log (chunklog.c) ---- */
/* Makes a decoded log one that can grow. To be called before anything is added to it. */
roast_status roast_chunklog_loosen(roast_chunklog *log);
/* Room for another log's entries and rows, and for more like it while the log is small: merges come
 * by the dozen. */
roast_status roast_chunklog_reserve(roast_chunklog *log, const roast_chunklog *from);
/* A copy of `from` in a log without rows and entries, which stays so if it fails. */
roast_status roast_chunklog_fill(roast_chunklog *empty, const roast_chunklog *from);
/* Back to `count` rows that end at `len`, and `entries` entries. */
void roast_chunklog_rewind(roast_chunklog *log, uint64_t count, size_t len, uint32_t entries);

#endif
