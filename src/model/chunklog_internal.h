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
    ROAST_ENTRY_LAYOUT,     /* have mask, n, n × (ref name, kind + 4 if folded, parent + 1) */
    ROAST_ENTRY_FILEMETA,   /* ref file, 3 × number, n, n × (ref name, 2 × number) */
    ROAST_ENTRY_KINDS
} roast_entry_kind;

/* The references at the front of a row, in this order. */
typedef enum roast_row_ref {
    ROAST_REF_ORIGIN,
    ROAST_REF_FILE,
    ROAST_REF_DATASET,
    ROAST_REF_TASK,
    ROAST_REF_BRANCHES,
    ROAST_REF_READS,
    ROAST_REF_LAYOUT,
    ROAST_ROW_REFS
} roast_row_ref;
extern const roast_entry_kind roast_row_ref_kind[ROAST_ROW_REFS];

enum { /* the flag byte of a row */
       ROAST_ROW_TASK_HASH = 1,
       ROAST_ROW_ERROR = 2,
       ROAST_ROW_CUSTOMS = 4,
       ROAST_ROW_FLAGS = 7
};

enum { ROAST_ROWS_PER_MARK = 32, ROAST_LAYOUT_FOLDED = 4 };

/* The identities of the rows, for merging without repeats. */
typedef struct roast_identity {
    uint64_t token, seq; /* token 0: an empty slot */
} roast_identity;

struct roast_chunklog {
    roast_intern entries;
    roast_buffer rows;
    uint64_t count;
    size_t *marks; /* offset of every ROAST_ROWS_PER_MARK-th row */
    size_t marks_capacity;
    roast_buffer scratch; /* where an entry or a row is put together */
    roast_identity *identities;
    uint64_t identity_slots, identity_count;
    bool identities_valid;
};

/* ---- entries (chunk_entries.c) ---- */
/* Adds kind + the scratch buffer's payload (which starts at byte 1). */
roast_status roast_entry_add_scratch(roast_chunklog *log, roast_entry_kind kind, uint32_t *ref);
/* Begins a payload in the scratch buffer with room for `room` bytes; where to write it. */
roast_status roast_entry_begin(roast_chunklog *log, size_t room, uint8_t **at);
/* Ends it at `at`. */
void roast_entry_end(roast_chunklog *log, const uint8_t *at);
/* The reference of a text, cut to ROAST_MAX_TEXT; 0 for the absent string. */
roast_status roast_entry_string(roast_chunklog *log, roast_str text, uint32_t *ref);
roast_status roast_entry_file(roast_chunklog *log, roast_str name, roast_str uuid,
                              roast_str treename, uint32_t *ref);
/* The text behind a reference; absent for 0. The reference must be valid. */
roast_str roast_entry_text(const roast_chunklog *log, uint32_t ref);
/* The payload behind a valid, non-zero reference. */
roast_str roast_entry_payload(const roast_chunklog *log, uint32_t ref);
roast_entry_kind roast_entry_kind_of(const roast_chunklog *log, uint32_t ref);
/* Checks the payload of entry number `id`: kinds and ranges of all that it refers to. */
bool roast_entry_valid(const roast_chunklog *log, uint32_t id);
/* Adds entry `id` of `from`, whose references translate by `map` (id -> reference in `into`). */
roast_status roast_entry_translate(roast_chunklog *into, const roast_chunklog *from, uint32_t id,
                                   const uint32_t *map, uint32_t *ref);
roast_str roast_text_cut(roast_str text);

/* ---- rows (chunk_rows.c) ---- */
/* Reads the row whose body is [at, end) into out; false if it is malformed. */
bool roast_row_parse(const roast_chunklog *log, const uint8_t *at, const uint8_t *end,
                     roast_chunk *out);
/* Like parse, but trusts nothing: every reference and every tail is looked at. */
bool roast_row_valid(const roast_chunklog *log, const uint8_t *at, const uint8_t *end);
/* The body at `offset`; false at the end of the rows or where the length does not fit. */
bool roast_row_at(const roast_chunklog *log, size_t offset, const uint8_t **at,
                  const uint8_t **end);
/* Room for one more row of `room` bytes and its mark. */
roast_status roast_row_reserve(roast_chunklog *log, size_t room);
/* Takes the row that was written at rows.data + rows.len into the log. */
void roast_row_commit(roast_chunklog *log, size_t len);
/* Where row `index` begins. */
size_t roast_row_offset(const roast_chunklog *log, uint64_t index);
/* Back to `count` rows that end at `len`, and `entries` entries. */
void roast_chunklog_rewind(roast_chunklog *log, uint64_t count, size_t len, uint32_t entries);

#endif
