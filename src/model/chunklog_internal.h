/* How a chunk log is laid out; shared by the files of this module. The bytes are specified in
 * docs/format/chunk-log.md. */
#ifndef ROAST_MODEL_CHUNKLOG_INTERNAL_H
#define ROAST_MODEL_CHUNKLOG_INTERNAL_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "base/intern.h"
#include "base/redact.h"
#include "base/varint.h"
#include "roast/chunklog.h"

/* Kept once per log. An entry is one byte of kind and a payload. A reference to an entry is its number + 1; 0
 * means "none". A text is its length and its bytes; a label is 0 for "absent", else a text with its length + 1. */
typedef enum roast_entry_kind {
    ROAST_ENTRY_TEXT = 1, /* the bytes of the text */
    ROAST_ENTRY_ORIGIN,   /* see roast_origin */
    ROAST_ENTRY_FILE,     /* label name, label uuid, label tree name */
    ROAST_ENTRY_NAMES,    /* n, n × text */
    ROAST_ENTRY_LAYOUT,   /* n, n × (kind + 4 if folded, parent + 1, text) */
    ROAST_ENTRY_SIZES,    /* ref FILE, ref NAMES, 3 × known, and 2 × known for each name */
    ROAST_ENTRY_KINDS
} roast_entry_kind;

/* Origin of a row: token and run (8 bytes each), pid, behind (signed), labels host, worker and batch job. */
typedef struct roast_origin {
    uint64_t token, run;
    int64_t pid;
    int64_t behind_us; /* of the clock there: added to the start of each chunk that is read */
    roast_str host, worker, batch_job;
} roast_origin;

/* The references at the front of a row, in this order: name and kind of the entry. */
#define ROAST_ROW_REF_LIST(X)                                                                      \
    X(origin, ORIGIN)                                                                              \
    X(file, FILE)                                                                                  \
    X(dataset, TEXT)                                                                               \
    X(task, TEXT)                                                                                  \
    X(branches, NAMES)                                                                             \
    X(reads, NAMES)                                                                                \
    X(layout, LAYOUT)
enum {
#define X(name, kind) ROAST_REF_##name,
    ROAST_ROW_REF_LIST(X)
#undef X
        ROAST_ROW_REFS
};

enum { /* what else a row holds: the low bits of its mask */
       ROAST_ROW_TASK_HASH = 1,
       ROAST_ROW_ERROR = 2,
       ROAST_ROW_CUSTOMS = 4,
       ROAST_ROW_FLAG_BITS = 3
};

enum {
    ROAST_LAYOUT_FOLDED = 4,
    ROAST_TASK_HASH_BYTES = 16,
    ROAST_REF_MAX = 5, /* bytes of the longest reference */
    ROAST_ROW_FRONT = ROAST_VARINT_MAX + ROAST_ROW_REFS * ROAST_REF_MAX, /* length, references */
    ROAST_READ_VALUES = 4, /* of each read, all of them known numbers */
};
_Static_assert((int)ROAST_SECTION_KINDS <= (int)ROAST_LAYOUT_FOLDED, "a kind takes two bits");
_Static_assert(ROAST_CHUNK_FIELD_COUNT + ROAST_ROW_FLAG_BITS <= 64, "fields and flags are a mask");
#define ROAST_CHUNK_ALL_FIELDS ((UINT64_C(1) << ROAST_CHUNK_FIELD_COUNT) - 1)

struct roast_chunklog {
    roast_intern entries;
    roast_buffer rows; /* all rows, each after its length, as on the wire */
    size_t *ends;      /* where each row ends */
    size_t ends_capacity;
    uint64_t count;
    roast_buffer scratch;  /* where an entry or a row is put together */
    roast_buffer redacted; /* a text on its way there */
    /* The identities (token, seq) of the first `identified` rows; brought up to date by the merges that ask. */
    roast_intern identities;
    uint64_t identified;
    /* Made when a file is first looked up, and then kept up to date by what changes the log. A log that several threads
     * read changes in nothing else. */
    _Atomic(struct roast_sizes_index *) sizes;
};

/* ---- reading values: after the first fault all further values are 0 or empty, and `bad` says so ---- */

static inline uint64_t roast_bytes_number(roast_bytes *from, uint64_t limit) {
    uint64_t value;
    if (roast_get_any_varint(&from->at, from->end, &value) && value <= limit)
        return value;
    from->at = from->end;
    from->bad = true;
    return 0;
}

/* The same for a number that is mostly below 128: a length, or the number of something. */
static inline uint64_t roast_bytes_small(roast_bytes *from, uint64_t limit) {
    if (from->at < from->end && *from->at < 0x80 && *from->at <= limit)
        return *from->at++;
    return roast_bytes_number(from, limit);
}

static inline void roast_bytes_skip(roast_bytes *from, uint64_t count, uint64_t limit) {
    if (roast_skip_varints(&from->at, from->end, count, limit))
        return;
    from->at = from->end;
    from->bad = true;
}

/* `len` bytes; NULL where there are not so many. */
static inline const uint8_t *roast_bytes_take(roast_bytes *from, uint64_t len) {
    const uint8_t *at = from->at;
    if (len > (size_t)(from->end - at)) {
        from->at = from->end;
        from->bad = true;
        return NULL;
    }
    from->at += len;
    return at;
}

static inline int64_t roast_bytes_signed(roast_bytes *from) {
    return roast_unzigzag(roast_bytes_number(from, UINT64_MAX));
}

/* A known number: 0 for "not known", which is -1, else the value + 1. */
#define ROAST_KNOWN_LIMIT (UINT64_C(1) << 63)
static inline int64_t roast_bytes_known(roast_bytes *from) {
    return (int64_t)(roast_bytes_number(from, ROAST_KNOWN_LIMIT) - 1);
}

static inline roast_str roast_bytes_text(roast_bytes *from, size_t limit) {
    uint64_t len = roast_bytes_small(from, limit);
    const uint8_t *text = roast_bytes_take(from, len);
    return (roast_str){(const char *)text, text != NULL ? (size_t)len : 0};
}

static inline roast_str roast_bytes_label(roast_bytes *from) {
    uint64_t len = roast_bytes_small(from, ROAST_MAX_TEXT + UINT64_C(1));
    const uint8_t *text = len == 0 ? NULL : roast_bytes_take(from, len - 1);
    return (roast_str){(const char *)text, text != NULL ? (size_t)len - 1 : 0};
}

uint64_t roast_bytes_fixed(roast_bytes *from);

/* ---- writing values to the scratch buffer: a failure sticks ---- */

typedef struct roast_draft {
    roast_buffer *to, *redacted;
    roast_status status;
} roast_draft;

/* Begins with an empty scratch buffer. */
roast_draft roast_draft_begin(roast_chunklog *log);
void roast_draft_bytes(roast_draft *draft, const void *data, size_t len);
void roast_draft_number(roast_draft *draft, uint64_t value);
void roast_draft_signed(roast_draft *draft, int64_t value);
void roast_draft_known(roast_draft *draft, int64_t value);  /* any negative number is "not known" */
void roast_draft_fixed(roast_draft *draft, uint64_t value); /* 8 bytes */
/* Cut to ROAST_MAX_TEXT, at the end of a character. */
void roast_draft_text(roast_draft *draft, roast_str text);
void roast_draft_label(roast_draft *draft, roast_str text);
void roast_draft_redacted(roast_draft *draft, roast_str text);

/* ---- entries (chunk_entries.c) ---- */
/* Begins an entry in the scratch buffer; adds it, unless there is one like it. */
roast_draft roast_entry_begin(roast_chunklog *log, roast_entry_kind kind);
roast_status roast_entry_end(roast_chunklog *log, const roast_draft *draft, uint32_t *ref);
/* 0 for the absent text. */
roast_status roast_entry_add_text(roast_chunklog *log, roast_str text, uint32_t *ref);
/* 0 where nothing is known of the origin, or of the file. */
roast_status roast_entry_add_origin(roast_chunklog *log, const roast_origin *origin, uint32_t *ref);
roast_status roast_entry_add_file(roast_chunklog *log, roast_str name, roast_str uuid,
                                  roast_str treename, uint32_t *ref);
/* The names stand at the front of items that are `stride` bytes apart. */
roast_status roast_entry_add_names(roast_chunklog *log, const void *items, size_t stride,
                                   uint32_t n, uint32_t *ref);
/* 0 for no sections. */
roast_status roast_entry_add_layout(roast_chunklog *log, const roast_chunk *chunk, uint32_t *ref);

static inline roast_entry_kind roast_entry_kind_of(const roast_chunklog *log, uint32_t ref) {
    return (roast_entry_kind)(uint8_t)roast_intern_get(&log->entries, ref - 1).data[0];
}
/* The payload of a reference; empty for 0. */
static inline roast_bytes roast_entry_payload(const roast_chunklog *log, uint32_t ref) {
    if (ref == 0)
        return (roast_bytes){NULL, NULL, false};
    roast_str entry = roast_intern_get(&log->entries, ref - 1);
    const uint8_t *at = (const uint8_t *)entry.data;
    return (roast_bytes){at + 1, at + entry.len, false};
}
/* The contents of a valid reference; empty for 0. */
roast_str roast_entry_text(const roast_chunklog *log, uint32_t ref);
roast_origin roast_entry_origin(const roast_chunklog *log, uint32_t ref);
void roast_entry_file(const roast_chunklog *log, uint32_t ref, roast_str *name, roast_str *uuid,
                      roast_str *treename);
/* The number at the front of NAMES or LAYOUT. */
uint32_t roast_entry_count(const roast_chunklog *log, uint32_t ref);
/* The next section of a layout; whether several uses are folded into it. */
bool roast_layout_next(roast_bytes *layout, uint32_t index, roast_section *out);

/* Whether the entry that is to be number `id` is well-formed, and refers to entries before it of the right kinds. */
bool roast_entry_valid(const roast_chunklog *log, uint32_t id, roast_str entry);
/* Adds the entry `ref` of `from`, and those that it refers to. `map` holds the references in `into` of entries
 * that were added before, by their numbers in `from`, or 0; it may be NULL. */
roast_status roast_entry_translate(roast_chunklog *into, const roast_chunklog *from, uint32_t ref,
                                   uint32_t *map, uint32_t *out);

/* ---- files (chunk_files.c) ---- */
/* The newest SIZES of the name; 0 where there is none. ROAST_ENOMEM. */
roast_status roast_sizes_find(const roast_chunklog *log, roast_str name, uint32_t *ref);
/* Called when SIZES were added to the log, and when it has become shorter. */
void roast_sizes_added(roast_chunklog *log);
void roast_sizes_removed(roast_chunklog *log);
void roast_sizes_free(roast_chunklog *log);
size_t roast_sizes_memory(const roast_chunklog *log);

/* ---- rows (chunk_rows.c) ---- */
static inline roast_bytes roast_row_at(const roast_chunklog *log, uint64_t index) {
    size_t start = index == 0 ? 0 : log->ends[index - 1];
    roast_bytes row = {log->rows.data + start, log->rows.data + log->ends[index], false};
    roast_bytes_number(&row, UINT64_MAX); /* its length */
    return row;
}
/* Takes the references off the front of a row. */
void roast_row_refs(const roast_chunklog *log, roast_bytes *row, uint32_t refs[ROAST_ROW_REFS]);
/* Reads these fields of a row; false if it is malformed. Sections and reads are not looked into. */
bool roast_row_read(const roast_chunklog *log, roast_bytes row, uint64_t fields, roast_chunk *out);
/* Whether a row has values of the user's own, or sections that were not kept; nothing else of it is read. */
bool roast_row_lacks_something(const roast_chunklog *log, uint64_t index);
/* What was found out for the row before, for rows of the same log; zeroed at first. */
typedef struct roast_row_check {
    uint32_t layout;
    uint64_t values; /* of its sections */
} roast_row_check;
/* Whether the row and everything in it can be read and nothing is left over. */
bool roast_row_valid(const roast_chunklog *log, roast_bytes row, roast_row_check *check);
/* Appends a row: references, then the bytes of the rest. */
roast_status roast_row_append(roast_chunklog *log, const uint32_t refs[ROAST_ROW_REFS],
                              const void *rest, size_t len);

/* Writes the rest of a row, behind its references, with one number more: a field that it lacks. ROAST_EINVAL if it has
 * the field. */
roast_status roast_row_put_number(roast_bytes rest, int field, int64_t value, roast_buffer *out);

/* ---- the log (chunklog.c) ---- */
/* Back to `count` rows and `entries` entries. */
void roast_chunklog_rewind(roast_chunklog *log, uint64_t count, uint32_t entries);

/* A copy of a log in which origins have the names of workers, by the place of their entry; absent: as it is. */
roast_status roast_chunklog_with_workers(const roast_chunklog *log, const roast_str *workers,
                                         roast_chunklog **out);

#endif
