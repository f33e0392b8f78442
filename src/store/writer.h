/* Puts the parts of runs into the tables of run.sqlite. */
#ifndef ROAST_STORE_WRITER_H
#define ROAST_STORE_WRITER_H

#include "base/intern.h"
#include "roast/run.h"
#include "store/db.h"
#include "store/series_pack.h"

/* Tables that rows are put into one by one, and how many columns they have. */
#define ROAST_STORE_INSERTS(X)                                                                     \
    X(run, 2)                                                                                      \
    X(meta, 3)                                                                                     \
    X(notes, 2)                                                                                    \
    X(report_columns, 2)                                                                           \
    X(spans, 6)                                                                                    \
    X(small_files, 3)                                                                              \
    X(blobs, 3)                                                                                    \
    X(texts, 2)                                                                                    \
    X(processes, 5)                                                                                \
    X(file_ids, 5)                                                                                 \
    X(file_rows, 8)                                                                                \
    X(branch_sets, 2)                                                                              \
    X(branch_set_items, 3)                                                                         \
    X(layouts, 2)                                                                                  \
    X(layout_items, 6)                                                                             \
    X(chunk_rows, ROAST_CHUNK_COLUMNS_STORED)                                                      \
    X(custom_rows, 6)                                                                              \
    X(workers, 3)                                                                                  \
    X(ticks, 3)                                                                                    \
    X(event_rows, 5)                                                                               \
    X(series, 5)                                                                                   \
    X(parts, 3)                                                                                    \
    X(attempt_workers, 2)                                                                          \
    X(attempt_prefixes, 3)                                                                         \
    X(attempt_rows, 20)                                                                            \
    X(departures, 6)

typedef enum roast_insert {
#define X(name, columns) ROAST_INSERT_##name,
    ROAST_STORE_INSERTS(X)
#undef X
        ROAST_INSERTS
} roast_insert;

/* Remembers the numbers of texts by where they lie, while the log they are in does not change. */
enum { ROAST_TEXT_SLOTS = 4096 };
typedef struct roast_text_slot {
    const char *data;
    size_t len;
    uint32_t id;
} roast_text_slot;

/* Zeroed storage with its `db` set has written nothing yet. What it counts goes on from call to
 * call, so that the parts of several runs stand one behind the other. */
typedef struct roast_writer {
    const roast_db *db;
    sqlite3_stmt *insert[ROAST_INSERTS];
    /* What has a number; the number is one more than that in here, 0 is "absent". */
    roast_intern texts, processes, files, sets, layouts, workers, attempt_workers, prefixes;
    uint8_t *prefix_kinds;
    size_t prefix_kinds_capacity;
    uint32_t *sizes_of; /* the newest row of file_rows about a file, by the text of its name */
    size_t sizes_capacity;
    /* How many rows there are. */
    int64_t chunks, beside, file_rows, ticks, events, pieces, attempts, departures;
    roast_pack pack;
    bool unsure; /* something was rolled back: sizes_of may be wrong */
    /* For the log that is being written: what was found for its texts and entries. */
    roast_text_slot *slots;
    uint32_t *set_of, *layout_of; /* by entry; 0: not looked for yet */
    size_t set_capacity, layout_capacity;
    roast_buffer key, bytes, more, reads; /* where things are put together */
} roast_writer;

/* Frees what it holds; the database stays open. */
void roast_writer_reset(roast_writer *writer);

/* The statement that puts a row into a table, made at the first call. */
roast_status roast_writer_insert(roast_writer *writer, roast_insert table, sqlite3_stmt **out,
                                 roast_error *err);
roast_status roast_writer_run(roast_writer *writer, sqlite3_stmt *statement, roast_error *err);
/* Numbers of interned things: 0 for the absent text. */
roast_status roast_writer_text(roast_writer *writer, roast_str text, uint32_t *id,
                               roast_error *err);
roast_status roast_writer_no_memory(roast_status status, roast_error *err);

/* Everything that is small, in place of what was there; where `part` is set, only what `run` has. */
roast_status roast_write_head(roast_writer *writer, const roast_run *run, bool part,
                              roast_error *err);
/* Chunks and files. */
roast_status roast_write_chunks(roast_writer *writer, const roast_chunklog *log, roast_error *err);
/* Sections that were recorded beside the chunks. */
roast_status roast_write_beside(roast_writer *writer, const roast_chunklog *log, roast_error *err);
roast_status roast_write_series(roast_writer *writer, const roast_series *series, roast_error *err);
roast_status roast_write_attempts(roast_writer *writer, const roast_attempts *attempts,
                                  roast_error *err);
/* All of the above. */
roast_status roast_write_run(roast_writer *writer, const roast_run *run, bool part,
                             roast_error *err);

roast_status roast_write_bytes(roast_writer *writer, roast_insert table, int64_t id,
                               const char *name, roast_str bytes, roast_error *err);

/* A number, or NULL for 0. */
static inline int roast_bind_id(sqlite3_stmt *statement, int parameter, uint32_t id) {
    return id == 0 ? sqlite3_bind_null(statement, parameter)
                   : sqlite3_bind_int64(statement, parameter, id);
}
/* A number, or NULL for a negative one: "not known". */
static inline int roast_bind_known(sqlite3_stmt *statement, int parameter, int64_t value) {
    return value < 0 ? sqlite3_bind_null(statement, parameter)
                     : sqlite3_bind_int64(statement, parameter, value);
}

#endif
