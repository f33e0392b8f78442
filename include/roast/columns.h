/* The tables of a run as columns: chunks, sections, samples, reads.
 *
 * A column has the memory layout of Apache Arrow, so that readers of Arrow or of plain arrays share it without a
 * copy. It is made once, never changes, and borrows nothing from the run: the run may change or be freed. */
#ifndef ROAST_COLUMNS_H
#define ROAST_COLUMNS_H

#include "roast/run.h"

/* The keys of a chunk, in the order of a mapping. Keys with one number or one text are columns of the table of
 * chunks.
 *
 *   REAL(key, field, per)    a number of the record, so many to the unit of the key
 *   INT(key, field)          a whole number of the record
 *   TEXT(key, member)        a string of the record
 *   REAL_OF(key, function)   the same, but made of more than one thing ...
 *   INT_OF(key, function)
 *   TEXT_OF(key, function)
 *   OTHER(key, function)     no column: a list or a mapping */
#define ROAST_CHUNK_KEYS(REAL, INT, TEXT, REAL_OF, INT_OF, TEXT_OF, OTHER)                         \
    REAL(t_start, start_us, 1e6)                                                                   \
    REAL_OF(t_end, end_time)                                                                       \
    REAL(duration, duration_ns, 1e9)                                                               \
    REAL_OF(timestamp, end_time)                                                                   \
    INT(num_events, num_events)                                                                    \
    TEXT(dataset, dataset)                                                                         \
    TEXT(file, file)                                                                               \
    TEXT(uuid, uuid)                                                                               \
    INT(entry_start, entry_start)                                                                  \
    INT(entry_stop, entry_stop)                                                                    \
    REAL(mem_before_mb, rss_before, 1e6)                                                           \
    REAL(mem_after_mb, rss_after, 1e6)                                                             \
    REAL_OF(mem_delta_mb, memory_delta_mb)                                                         \
    INT(bytes_read, bytes_read)                                                                    \
    OTHER(accessed_branches, accessed_branches)                                                    \
    INT_OF(num_branches_accessed, branch_count)                                                    \
    INT(accessed_bytes, accessed_bytes)                                                            \
    INT(accessed_uncompressed_bytes, accessed_uncompressed_bytes)                                  \
    REAL_OF(branches_read_percent, branches_read_percent)                                          \
    REAL_OF(bytes_read_percent, bytes_read_percent)                                                \
    OTHER(timing, timing)                                                                          \
    OTHER(memory, memory)                                                                          \
    OTHER(bytes, bytes)                                                                            \
    OTHER(sections, sections)                                                                      \
    OTHER(memory_sections, memory_sections)                                                        \
    OTHER(custom_metrics, custom_metrics)                                                          \
    INT_OF(chunk_id, chunk_id)                                                                     \
    REAL(memory_start_gb, rss_before, 1e9)                                                         \
    REAL(memory_end_gb, rss_after, 1e9)                                                            \
    REAL_OF(memory_delta_gb, memory_delta_gb)                                                      \
    TEXT(filename, file)                                                                           \
    INT(event_count, num_events)                                                                   \
    REAL(processing_time, duration_ns, 1e9)                                                        \
    REAL(cpu_user_s, cpu_user_ns, 1e9)                                                             \
    REAL(cpu_system_s, cpu_system_ns, 1e9)                                                         \
    REAL(mem_peak_mb, rss_peak, 1e6)                                                               \
    REAL(runqueue_wait_s, runqueue_wait_ns, 1e9)                                                   \
    REAL(io_wait_s, io_wait_ns, 1e9)                                                               \
    INT(minor_faults, minor_faults)                                                                \
    INT(major_faults, major_faults)                                                                \
    TEXT(worker, worker)                                                                           \
    INT(thread, thread)                                                                            \
    TEXT_OF(task_key, task_key)                                                                    \
    REAL(before_process_s, before_process_ns, 1e9)                                                 \
    INT(read_requests, read_requests)                                                              \
    INT(metadata_bytes, metadata_bytes)                                                            \
    OTHER(reads, reads)                                                                            \
    OTHER(file_metadata, file_metadata)                                                            \
    TEXT_OF(error, error)                                                                          \
    TEXT(treename, treename)                                                                       \
    TEXT(host, host)                                                                               \
    INT_OF(pid, pid)                                                                               \
    INT(voluntary_switches, voluntary_switches)                                                    \
    INT(involuntary_switches, involuntary_switches)                                                \
    INT(os_read_bytes, os_read_bytes)                                                              \
    INT(os_read_calls, os_read_calls)                                                              \
    INT(os_write_bytes, os_write_bytes)                                                            \
    INT(os_write_calls, os_write_calls)                                                            \
    INT(storage_read_bytes, storage_read_bytes)                                                    \
    INT(storage_write_bytes, storage_write_bytes)                                                  \
    INT(dropped_sections, dropped_sections)                                                        \
    INT(faults, faults)                                                                            \
    REAL(measuring_s, measuring_ns, 1e9)                                                           \
    REAL(read_cpu_s, read_cpu_ns, 1e9)                                                             \
    REAL(cpu_process_s, cpu_process_ns, 1e9)                                                       \
    TEXT_OF(storage, storage)                                                                      \
    TEXT(batch_job, batch_job)

/* The type of the values of a column. */
typedef enum roast_cell {
    ROAST_CELL_INT,  /* int64_t */
    ROAST_CELL_REAL, /* double; NaN where it is absent */
    ROAST_CELL_TIME, /* int64_t: nanoseconds since 1970, UTC */
    ROAST_CELL_TEXT /* int32_t: the number of a text in the column's list of texts; -1 where absent */
} roast_cell;

/* The columns of the other tables: name, type. */

/* One row per section; `time_delta`, `memory_...` and `bytes` exist for sections of that kind. `chunk` is the row
 * in the table of chunks, absent for a section recorded outside of chunks; `parent` is the row of the enclosing
 * section in this table. */
#define ROAST_SECTION_COLUMNS(X)                                                                   \
    X(chunk, INT)                                                                                  \
    X(name, TEXT)                                                                                  \
    X(kind, TEXT)                                                                                  \
    X(time_delta, REAL) /* s */                                                                    \
    X(start, REAL)      /* s, since process() was entered */                                       \
    X(depth, INT)       /* 0: not inside another one */                                            \
    X(count, INT)       /* uses that were added up */                                              \
    X(parent, INT)                                                                                 \
    X(memory_start_gb, REAL)                                                                       \
    X(memory_end_gb, REAL)                                                                         \
    X(memory_delta_gb, REAL)                                                                       \
    X(bytes, INT)

/* One row per branch that a chunk read. */
#define ROAST_READ_COLUMNS(X)                                                                      \
    X(chunk, INT)                                                                                  \
    X(branch, TEXT)                                                                                \
    X(seconds, REAL)                                                                               \
    X(bytes, INT)                                                                                  \
    X(uncompressed_bytes, INT)                                                                     \
    X(count, INT)

/* One row per worker and tick, worker by worker, each in order of time. The ROAST_SERIES_COLUMNS follow under
 * their names; those in whole units are INT. */
#define ROAST_SAMPLE_COLUMNS(X)                                                                    \
    X(worker, TEXT)                                                                                \
    X(timestamp, TIME)

#define ROAST_TABLE_LIST(X)                                                                        \
    X(chunks)                                                                                      \
    X(sections)                                                                                    \
    X(samples)                                                                                     \
    X(reads)

typedef enum roast_table {
#define X(name) ROAST_TABLE_##name,
    ROAST_TABLE_LIST(X)
#undef X
        ROAST_TABLES
} roast_table;
/* "chunks"; "unknown" for any other number. */
const char *roast_table_name(roast_table table);

/* A list of texts: text i is bytes[offsets[i]] to bytes[offsets[i + 1]]; valid UTF-8, with U+FFFD for invalid
 * bytes. */
typedef struct roast_texts {
    const int32_t *offsets; /* count + 1 */
    const char *bytes;
    uint32_t count;
} roast_texts;

typedef struct roast_column {
    const char *name;
    roast_cell cell;
    const void *values;      /* one value per row; never NULL, not even without rows */
    const uint8_t *validity; /* one bit per row, low bits first, 1: present. NULL: all are */
    uint64_t absent;         /* rows without a value */
    roast_texts texts;       /* of a TEXT */
} roast_column;

typedef struct roast_columns roast_columns;

/* One table of a run; sections recorded outside of chunks come last. A whole number that does not fit in 64 bits
 * is absent. ROAST_ENOMEM; ROAST_ELIMIT if the texts of a column take more than 2 GB; ROAST_EINVAL for an unknown
 * table. */
roast_status roast_columns_new(const roast_run *run, roast_table table, roast_columns **out,
                               roast_error *err);
/* The table of chunks with these columns alone, in the order of the keys: much less work than all of them.
 * ROAST_EINVAL for an unknown name; else as roast_columns_new. */
roast_status roast_columns_new_some(const roast_run *run, const roast_str *names, uint32_t count,
                                    roast_columns **out, roast_error *err);
/* Adds an owner: each owner calls free. Both may be called by any thread at any time. */
roast_columns *roast_columns_share(roast_columns *columns);
void roast_columns_free(roast_columns *columns);

roast_table roast_columns_table(const roast_columns *columns);
uint64_t roast_columns_rows(const roast_columns *columns);
uint32_t roast_columns_count(const roast_columns *columns);
/* NULL beyond the end. Borrowed from the columns, as is all that it points to. */
const roast_column *roast_columns_at(const roast_columns *columns, uint32_t index);
/* NULL: there is none of that name. */
const roast_column *roast_columns_find(const roast_columns *columns, roast_str name);
/* Whether a row, which must be one of the column, has a value. */
bool roast_column_has(const roast_column *column, uint64_t row);
/* The absent string for -1 and for a number that the column does not have. */
roast_str roast_column_text(const roast_column *column, int64_t code);
/* A column of numbers as reals, NaN for absent ones: for readers without absent integers. Made at the first call
 * and kept; only one thread at a time. ROAST_EINVAL for texts. */
roast_status roast_columns_reals(roast_columns *columns, const roast_column *column,
                                 const double **out, roast_error *err);
/* Bytes of memory that the columns hold. */
size_t roast_columns_memory(const roast_columns *columns);

#endif
