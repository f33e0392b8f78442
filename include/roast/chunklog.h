/* The chunk log: one record for each chunk that was processed.
 *
 * A log stays packed, in memory as on the wire (docs/format/chunk-log.md). Texts, files, sets of branches and layouts
 * of sections are kept once per log. A chunk is one row: references to them, then numbers in as few bytes as
 * possible. Merging two logs translates the references at the front of each row and copies the rest.
 *
 * A record has an identity (process token, sequence number), so that a record that arrives twice counts once.
 */
#ifndef ROAST_CHUNKLOG_H
#define ROAST_CHUNKLOG_H

#include "roast/base.h"
#include "roast/sink.h"

typedef struct roast_chunklog roast_chunklog;

/* Limits for input: beyond them append returns ROAST_ELIMIT (a text is cut), and a packed log counts as damaged. */
#define ROAST_MAX_TEXT     65535u      /* bytes of one name or message */
#define ROAST_MAX_SECTIONS 65535u      /* sections of one chunk */
#define ROAST_MAX_BRANCHES 1000000u    /* branches of one file or one chunk */
#define ROAST_MAX_CUSTOMS  4096u       /* custom values of one chunk */
#define ROAST_MAX_VALUE    (1u << 20)  /* bytes of one custom value: a longer one is never cut */
#define ROAST_MAX_VALUES   (16u << 20) /* bytes of all custom values of one chunk */

/* The numbers of a chunk. The order is the wire order: append only. */
#define ROAST_CHUNK_FIELDS(X)                                                                      \
    X(start_us)    /* UTC, microseconds since 1970 */                                              \
    X(duration_ns) /* process() entry to return, monotonic clock */                                \
    X(num_events)                                                                                  \
    X(entry_start)                                                                                 \
    X(entry_stop)                                                                                  \
    X(rss_before) /* bytes */                                                                      \
    X(rss_after)                                                                                   \
    X(rss_peak)                                                                                    \
    X(cpu_user_ns) /* of the thread */                                                             \
    X(cpu_system_ns)                                                                               \
    X(runqueue_wait_ns)                                                                            \
    X(io_wait_ns)                                                                                  \
    X(minor_faults)                                                                                \
    X(major_faults)                                                                                \
    X(voluntary_switches)                                                                          \
    X(involuntary_switches)                                                                        \
    X(before_process_ns) /* task start to process() entry */                                       \
    X(bytes_read)        /* requested from the file, opening included */                           \
    X(read_requests)                                                                               \
    X(metadata_bytes) /* of bytes_read, before process() was entered */                            \
    X(accessed_bytes) /* compressed size of the branches accessed */                               \
    X(accessed_uncompressed_bytes)                                                                 \
    X(os_read_bytes) /* read system calls of the thread */                                         \
    X(os_read_calls)                                                                               \
    X(os_write_bytes)                                                                              \
    X(os_write_calls)                                                                              \
    X(storage_read_bytes) /* of these, what came from a disk */                                    \
    X(storage_write_bytes)                                                                         \
    X(thread)           /* the kernel's id of the thread */                                        \
    X(dropped_sections) /* sections not kept: too many */                                          \
    X(faults)           /* our own failed measurements since the last chunk */                     \
    X(measuring_ns)     /* time of the thread that measuring took, in microseconds */              \
    X(read_cpu_ns)      /* of the thread's CPU time in process(), in reads; same */                \
    X(branch_count)     /* branches accessed, where their names are not known */                   \
    X(cpu_process_ns)   /* of the thread, and a share of that of threads without a chunk */        \
    X(loaded_ns)        /* process() was loaded to its entry; of the first chunk of a process */   \
    X(packed_ns)        /* return of process() to the packing of its record; of the same chunk */

enum {
#define X(name) ROAST_CHUNK_INDEX_##name,
    ROAST_CHUNK_FIELDS(X)
#undef X
        ROAST_CHUNK_FIELD_COUNT
};
#define ROAST_CHUNK_HAS(name) (UINT64_C(1) << ROAST_CHUNK_INDEX_##name)

typedef enum roast_section_kind {
    ROAST_SECTION_TIME,   /* value: nanoseconds */
    ROAST_SECTION_MEMORY, /* value: change of RSS in bytes; before: RSS at entry */
    ROAST_SECTION_BYTES,  /* value: bytes read */
    ROAST_SECTION_KINDS
} roast_section_kind;

typedef struct roast_section {
    roast_str name;
    roast_section_kind kind;
    int32_t parent;   /* index of the enclosing section, less than its own; -1: none */
    uint64_t count;   /* uses combined in this entry, at least 1 */
    int64_t start_ns; /* of the first use, since process() was entered */
    int64_t value;
    int64_t before;
} roast_section;

/* The reads of one branch inside process(). -1: not known. */
typedef struct roast_read {
    roast_str branch;
    int64_t time_ns;
    int64_t bytes;
    int64_t uncompressed_bytes;
    int64_t count;
} roast_read;

typedef enum roast_custom_scope { /* where the user stored it */
                                  ROAST_SCOPE_CHUNK,
                                  ROAST_SCOPE_TIMING,
                                  ROAST_SCOPE_MEMORY,
                                  ROAST_SCOPE_BYTES,
                                  ROAST_SCOPES
} roast_custom_scope;

typedef enum roast_custom_kind {
    ROAST_CUSTOM_NULL,
    ROAST_CUSTOM_BOOL,     /* integer 0 or 1 */
    ROAST_CUSTOM_INT,      /* integer */
    ROAST_CUSTOM_REAL,     /* real */
    ROAST_CUSTOM_TEXT,     /* text */
    ROAST_CUSTOM_JSON,     /* text: any other value as JSON, with tags for types unknown to JSON */
    ROAST_CUSTOM_LEFT_OUT, /* no value: it could not be kept; text: why */
    ROAST_CUSTOM_KINDS
} roast_custom_kind;

typedef struct roast_custom {
    roast_str key;
    roast_custom_scope scope;
    roast_custom_kind kind;
    int64_t integer;
    double real;
    roast_str text;
} roast_custom;

/* Bytes that are being read. */
typedef struct roast_bytes {
    const uint8_t *at, *end;
    bool bad; /* a value was malformed */
} roast_bytes;

/* A chunk, for append and for reading. Every string is borrowed; data NULL means not known. */
typedef struct roast_chunk {
    uint64_t have; /* ROAST_CHUNK_HAS(name) of each number that is there */
#define X(name) int64_t name;
    ROAST_CHUNK_FIELDS(X)
#undef X
    uint64_t token; /* identity: the process ... */
    uint64_t seq;   /* ... and the number of the chunk in it */
    uint64_t run;   /* roast_run_token of the run that the record was made for; 0: not known. A
                     * measurement does not keep it, as it is of one run */
    int64_t pid;    /* 0: not known */
    roast_str host;
    roast_str worker;
    roast_str batch_job; /* of the process, with the batch system: "Slurm 17" */
    roast_str dataset;
    roast_str file;
    roast_str uuid;
    roast_str treename;
    /* The key as given; if it ended in '-' and 32 hex digits, the part before them. */
    roast_str task_key;
    roast_str task_hash;  /* these digits as 16 bytes; roast_chunk_task_key puts the two together */
    roast_str error_type; /* data not NULL: process() raised */
    roast_str error_message;
    bool has_branches; /* the set of accessed branches is known (it may be empty) */
    bool has_reads;
    uint32_t n_branches;
    uint32_t n_sections;
    uint32_t n_reads;
    uint32_t n_customs;
    /* On append: arrays of the counts above. On reading NULL: use the cursors below. */
    const roast_str *branches;
    const roast_section *sections;
    const roast_read *reads;
    const roast_custom *customs;
    /* Entries of the log, for reading: two chunks with the same number have the same origin, file, dataset, set of
     * branches, ... 0: none. */
    struct {
        uint32_t origin, file, dataset, branches, reads, layout;
        roast_bytes customs, tails; /* for the cursors */
    } packed;
} roast_chunk;

/* ---- life ---- */
roast_status roast_chunklog_new(roast_chunklog **out, roast_error *err);
void roast_chunklog_free(roast_chunklog *log);
roast_status roast_chunklog_copy(const roast_chunklog *log, roast_chunklog **out, roast_error *err);
uint64_t roast_chunklog_count(const roast_chunklog *log);
/* Bytes of memory that the log holds. */
size_t roast_chunklog_memory(const roast_chunklog *log);

/* ---- in ---- */
/* Appends one chunk. On failure the log is as it was before. A text beyond its limit is cut at a character's end;
 * too many sections, branches or customs, and a longer custom value, are ROAST_ELIMIT. On input task_key may be
 * the whole key (task_hash absent). No string may be borrowed from this very log. Ignored otherwise: `before`
 * except for a memory section, error_message without its type (an absent message is read as empty), branches and
 * reads without has_branches and has_reads. */
roast_status roast_chunklog_append(roast_chunklog *log, const roast_chunk *chunk, roast_error *err);

typedef struct roast_merge_result {
    uint64_t added;
    uint64_t duplicates; /* left out: the log already has a record of that identity */
} roast_merge_result;
/* Adds all of `from` (which may be `into` itself). With `unique`, a record whose identity is
 * already there is left out. On failure `into` is as it was before. result may be NULL. */
roast_status roast_chunklog_merge(roast_chunklog *into, const roast_chunklog *from, bool unique,
                                  roast_merge_result *result, roast_error *err);
/* Adds `count` rows of `from`, from `start` on, and the sizes of the files that the rows name; with all rows, the
 * sizes of all files. ROAST_EINVAL for a row beyond the end. One thread at a time for one `from`. */
roast_status roast_chunklog_merge_rows(roast_chunklog *into, const roast_chunklog *from,
                                       uint64_t start, uint64_t count, roast_error *err);

/* A new log with the rows of `log`. The chunks of each named worker start later by the offset of its clock
 * (earlier if it is negative). ROAST_EINVAL if a worker is named twice. */
typedef struct roast_clock_shift {
    roast_str worker;
    int64_t behind_us;
} roast_clock_shift;
roast_status roast_chunklog_shift(const roast_chunklog *log, const roast_clock_shift *shifts,
                                  size_t count, roast_chunklog **out, roast_error *err);

/* A new log with the rows of `log`, each with one number more: `field` (ROAST_CHUNK_INDEX_name) is values[row];
 * ROAST_NO_NUMBER leaves a row as it is. ROAST_EINVAL if a row has the field already. */
#define ROAST_NO_NUMBER INT64_MIN
roast_status roast_chunklog_with_numbers(const roast_chunklog *log, int field,
                                         const int64_t *values, roast_chunklog **out,
                                         roast_error *err);

/* The number of a run in the records that are made for it, from its name; never 0. */
uint64_t roast_run_token(roast_str name);

/* ---- packed ---- */
roast_status roast_chunklog_encode(const roast_chunklog *log, roast_sink *sink, roast_error *err);
/* Checks everything first: ROAST_ECORRUPT with the byte position, ROAST_EVERSION for a buffer of a newer version.
 * The buffer is copied. */
roast_status roast_chunklog_decode(const void *data, size_t len, roast_chunklog **out,
                                   roast_error *err);
/* roast_chunklog_decode and then roast_chunklog_merge with all of its records, without a copy of the buffer. */
roast_status roast_chunklog_merge_packed(roast_chunklog *into, const void *data, size_t len,
                                         roast_error *err);

/* ---- out ---- */
typedef struct roast_chunk_cursor {
    const roast_chunklog *log;
    uint64_t index;  /* of the next chunk */
    uint64_t fields; /* the numbers that are read */
} roast_chunk_cursor;
/* Borrows the log, which must not change while the cursor is used. */
void roast_chunk_cursor_init(roast_chunk_cursor *cursor, const roast_chunklog *log);
/* The same for a reader that needs only some of the numbers, ROAST_CHUNK_HAS(name) of each: the others are absent. */
void roast_chunk_cursor_init_some(roast_chunk_cursor *cursor, const roast_chunklog *log,
                                  uint64_t fields);
/* false at the end. */
bool roast_chunk_cursor_next(roast_chunk_cursor *cursor, roast_chunk *out);
/* ROAST_ENOTFOUND beyond the end. */
roast_status roast_chunklog_get(const roast_chunklog *log, uint64_t index, roast_chunk *out,
                                roast_error *err);

/* The whole key, as snprintf would write it; the length without the terminator. Empty if there is
 * none. */
size_t roast_chunk_task_key(const roast_chunk *chunk, char *out, size_t size);
/* "ValueError: message", or the type alone; likewise. */
size_t roast_chunk_error(const roast_chunk *chunk, char *out, size_t size);

/* Walks the branches, sections, reads or custom values of a chunk that came out of `log`. */
typedef struct roast_tail_cursor {
    const roast_chunklog *log;
    roast_bytes names, values;
    uint32_t index, count;
} roast_tail_cursor;
void roast_chunk_branches(const roast_chunklog *log, const roast_chunk *chunk,
                          roast_tail_cursor *cursor);
bool roast_chunk_next_branch(roast_tail_cursor *cursor, roast_str *out);
void roast_chunk_sections(const roast_chunklog *log, const roast_chunk *chunk,
                          roast_tail_cursor *cursor);
bool roast_chunk_next_section(roast_tail_cursor *cursor, roast_section *out);
void roast_chunk_reads(const roast_chunklog *log, const roast_chunk *chunk,
                       roast_tail_cursor *cursor);
bool roast_chunk_next_read(roast_tail_cursor *cursor, roast_read *out);
void roast_chunk_customs(const roast_chunklog *log, const roast_chunk *chunk,
                         roast_tail_cursor *cursor);
bool roast_chunk_next_custom(roast_tail_cursor *cursor, roast_custom *out);

/* ---- files ---- */
typedef struct roast_branch_size {
    roast_str name;
    int64_t bytes;              /* compressed; -1: not known */
    int64_t uncompressed_bytes; /* -1: not known */
} roast_branch_size;

/* The sizes of a file; sent once per file and process, kept once per log. -1: not known. */
typedef struct roast_file {
    roast_str name;
    roast_str uuid;
    roast_str treename;
    int64_t total_branches;
    int64_t tree_bytes; /* compressed */
    int64_t tree_uncompressed_bytes;
    uint32_t n_branches;
    const roast_branch_size *branches; /* on append; NULL on reading */
    struct {
        uint32_t names; /* entry of the log */
        roast_bytes sizes;
    } packed;
} roast_file;
/* Compressed size over uncompressed size of the tree; false: not known. */
bool roast_file_ratio(const roast_file *file, double *out);
roast_status roast_chunklog_add_file(roast_chunklog *log, const roast_file *file, roast_error *err);
typedef struct roast_file_cursor {
    const roast_chunklog *log;
    uint32_t entry;
} roast_file_cursor;
void roast_file_cursor_init(roast_file_cursor *cursor, const roast_chunklog *log);
bool roast_file_cursor_next(roast_file_cursor *cursor, roast_file *out);
/* The last sizes added for a file of this name. ROAST_ENOTFOUND, ROAST_ENOMEM. Takes the same time in a log of any
 * size. One thread at a time. */
roast_status roast_chunklog_find_file(const roast_chunklog *log, roast_str name, roast_file *out);
void roast_file_branches(const roast_chunklog *log, const roast_file *file,
                         roast_tail_cursor *cursor);
bool roast_file_next_branch(roast_tail_cursor *cursor, roast_branch_size *out);

#endif
