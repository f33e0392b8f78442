/* The tables and views of run.sqlite. docs/format/measurement.md tells what is in them. */
#ifndef ROAST_STORE_SCHEMA_H
#define ROAST_STORE_SCHEMA_H

#include "roast/chunklog.h"

enum {
    /* "roas": the application id in the header of the file. */
    ROAST_STORE_APPLICATION = 0x726f6173,
    /* Raised with every change of a table or a view; what older versions wrote stays readable. */
    ROAST_STORE_VERSION = 1,
};

/* Columns of chunk_rows behind id and the numbers of ROAST_CHUNK_FIELDS, in this order. */
#define ROAST_STORE_CHUNK_COLUMNS(X)                                                               \
    X(seq)       /* which chunk of its process */                                                  \
    X(process)   /* of processes */                                                                \
    X(file)      /* of file_ids */                                                                 \
    X(dataset)   /* of texts */                                                                    \
    X(task)      /* of texts: the key of the task in front of its hash */                          \
    X(task_hash) /* 16 bytes */                                                                    \
    X(error_type)                                                                                  \
    X(error_message)                                                                               \
    X(branches)      /* of branch_sets */                                                          \
    X(layout)        /* of layouts */                                                              \
    X(sections)      /* [start, value, ...] in nanoseconds or bytes */                             \
    X(sections_more) /* [before, count, ...] where one is not 0 and 1 */                           \
    X(read_branches) /* of branch_sets */                                                          \
    X(reads)         /* [nanoseconds, bytes, uncompressed bytes, count, ...] */                    \
    X(customs)       /* how many rows of custom_rows */

typedef enum roast_store_chunk_column {
    ROAST_CHUNK_COLUMN_id,
    ROAST_CHUNK_COLUMN_fields,
    ROAST_CHUNK_COLUMN_before_rest = ROAST_CHUNK_COLUMN_fields + ROAST_CHUNK_FIELD_COUNT - 1,
#define X(name) ROAST_CHUNK_COLUMN_##name,
    ROAST_STORE_CHUNK_COLUMNS(X)
#undef X
        ROAST_CHUNK_COLUMNS_STORED
} roast_store_chunk_column;

typedef struct roast_schema_entry {
    const char *type; /* "table" or "view" */
    const char *name;
    const char *sql; /* that makes it, letter by letter as SQLite keeps it */
} roast_schema_entry;

/* In the order in which they are made. NULL beyond the end. */
const roast_schema_entry *roast_schema_at(unsigned index);

#endif
