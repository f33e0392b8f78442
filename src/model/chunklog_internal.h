/* How a chunk log is laid out; shared by the files of this module. The bytes are specified in
 * docs/format/chunk-log.md. */
#ifndef ROAST_MODEL_CHUNKLOG_INTERNAL_H
#define ROAST_MODEL_CHUNKLOG_INTERNAL_H

#include "base/buffer.h"
#include "base/intern.h"
#include "roast/chunklog.h"

/* What is kept once a log. An entry is one byte of kind and a payload that may refer to entries
 * before it. A reference is the entry's number + 1; 0 means "none". */
typedef enum roast_entry_kind {
    ROAST_ENTRY_STRING = 1, /* the bytes */
    ROAST_ENTRY_ORIGIN,     /* token (8 bytes), pid, ref host, ref worker */
    ROAST_ENTRY_FILE,       /* ref name, ref uuid, ref treename */
    ROAST_ENTRY_BRANCHES,   /* n, n × ref name */
    ROAST_ENTRY_LAYOUT,     /* n, n × (ref name, kind + 4 if folded, parent + 1) */
    ROAST_ENTRY_CONTEXT,    /* flags, have, present, 5 × ref: see roast_context */
    ROAST_ENTRY_FILEMETA,   /* ref file, 3 × number, n, n × (ref name, 2 × number) */
    ROAST_ENTRY_KINDS
} roast_entry_kind;

/* What many rows have in common; a row refers to it as a whole. */
typedef struct roast_context {
    uint64_t flags;
    uint64_t have;    /* the fields that are known */
    uint64_t present; /* of these, the ones that stand in the row: the others are as their base */
    uint32_t dataset, task, branches, reads, layout;
} roast_context;

/* The references at the front of a row, in this order. */
typedef enum roast_row_ref {
    ROAST_REF_ORIGIN,
    ROAST_REF_FILE,
    ROAST_REF_CONTEXT,
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
    ROAST_TOKEN_BYTES = 8,
    ROAST_TASK_HASH_BYTES = 16,
    ROAST_REF_MAX = 5, /* bytes of the longest reference */
};
_Static_assert((int)ROAST_SECTION_KINDS <= (int)ROAST_LAYOUT_FOLDED, "a kind takes two bits");
_Static_assert(ROAST_CHUNK_FIELD_COUNT < 64, "the mask of fields is 64 bits wide");
#define ROAST_CHUNK_ALL_FIELDS ((UINT64_C(1) << ROAST_CHUNK_FIELD_COUNT) - 1)

/* The identity of a row, for merging without repeats. */
typedef struct roast_identity {
    uint64_t token, seq; /* token 0: an empty slot */
} roast_identity;

struct roast_chunklog {
    roast_intern entries;
    roast_buffer rows;
    uint64_t count;
    size_t *marks; /* offset of every ROAST_ROWS_PER_MARK-th row but the first */
    size_t marks_capacity;
    roast_buffer scratch; /* where an entry is put together */
    /* A hash set of the identities of the first `identified` rows, which end at identified_len;
     * made and brought up to date by the merges that ask for it. */
    roast_identity *identities;
    uint64_t identity_slots, identity_count, identified;
    size_t identified_len;
};

/* ---- fields (chunk_fields.c) ---- */
enum { ROAST_FIELD_MAX = 12 }; /* bytes of the longest one */
/* The known fields of a chunk that differ from their base. */
uint64_t roast_fields_present(const roast_chunk *chunk);
uint8_t *roast_fields_put(uint8_t *at, const roast_chunk *chunk, uint64_t present);
/* Fills the fields of out->have. */
bool roast_fields_get(const uint8_t **at, const uint8_t *end, uint64_t present, roast_chunk *out);

/* ---- entries (chunk_entries.c) ---- */
/* Begins an entry in the scratch buffer with room for `room` bytes; where to write its payload. */
roast_status roast_entry_begin(roast_chunklog *log, size_t room, uint8_t **at);
/* Adds what was begun, the payload ending at `end`, unless there is one like it. */
roast_status roast_entry_end(roast_chunklog *log, roast_entry_kind kind, const uint8_t *end,
                             uint32_t *ref);
/* The reference of a text, cut to ROAST_MAX_TEXT; 0 for the absent string. */
roast_status roast_entry_string(roast_chunklog *log, roast_str text, uint32_t *ref);
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
/* The text behind a valid reference; absent for 0. */
static inline roast_str roast_entry_text(const roast_chunklog *log, uint32_t ref) {
    return ref == 0 ? (roast_str){NULL, 0} : roast_entry_payload(log, ref);
}
/* Checks the payload of entry number `id`: kinds and ranges of all that it refers to. */
bool roast_entry_valid(const roast_chunklog *log, uint32_t id);
/* Adds entry `id` of `from`: map[id] is its reference in `into`, as map[0] to map[id - 1] are those
 * of the entries before it. */
roast_status roast_entry_translate(roast_chunklog *into, const roast_chunklog *from, uint32_t id,
                                   uint32_t *map);
roast_context roast_entry_context(const roast_chunklog *log, uint32_t ref);
/* At most ROAST_MAX_TEXT bytes, and no part of a character. */
roast_str roast_text_cut(roast_str text);
/* 0 for "not known" (any negative number), else the value + 1. */
uint8_t *roast_put_known(uint8_t *at, int64_t value);
bool roast_get_known(const uint8_t **at, const uint8_t *end, int64_t *value);
#define ROAST_KNOWN_MAX (UINT64_C(1) << 63) /* the largest one, packed */

/* ---- rows (chunk_rows.c) ---- */
/* Reads the row whose body is [at, end) into out; false if it is malformed. The tails are not
 * looked into. */
bool roast_row_parse(const roast_chunklog *log, const uint8_t *at, const uint8_t *end,
                     roast_chunk *out);
/* What goes from row to row while many are checked. */
typedef struct roast_row_check {
    uint32_t ref; /* of the context, which neighbours often share; 0 before the first row */
    roast_context context;
    roast_chunk chunk;
} roast_row_check;
/* Whether parse and the cursors over the tails will succeed and use up the row. The entries must be
 * valid. */
bool roast_row_valid(const roast_chunklog *log, const uint8_t *at, const uint8_t *end,
                     roast_row_check *check);
/* Where a section is expected to start: inside the one before, with it; else at its end. */
int64_t roast_section_expected(const roast_tail_cursor *before, int32_t parent);
/* Moves on behind a section. */
void roast_section_passed(roast_tail_cursor *cursor, const roast_section *section);
/* The body at `offset`; false at the end of the rows or where the length does not fit. */
bool roast_row_at(const roast_chunklog *log, size_t offset, const uint8_t **at,
                  const uint8_t **end);
/* Room for one more row of `room` bytes and its mark. */
roast_status roast_row_reserve(roast_chunklog *log, size_t room);
/* Takes the row that was written at rows.data + rows.len into the log. */
void roast_row_commit(roast_chunklog *log, size_t len);
/* How many marks so many rows have. */
size_t roast_row_marks(uint64_t count);
/* Where row `index` begins. */
size_t roast_row_offset(const roast_chunklog *log, uint64_t index);

/* ---- the log (chunklog.c) ---- */
/* A copy of `from` in a log without rows and entries, which stays so if it fails. */
roast_status roast_chunklog_fill(roast_chunklog *empty, const roast_chunklog *from);
/* Back to `count` rows that end at `len`, and `entries` entries. */
void roast_chunklog_rewind(roast_chunklog *log, uint64_t count, size_t len, uint32_t entries);

#endif
