/* Reads the tables of run.sqlite; nothing in them is trusted. */
#ifndef ROAST_STORE_READER_H
#define ROAST_STORE_READER_H

#include "base/arena.h"
#include "model/chunklog_internal.h"
#include "roast/store.h"
#include "store/db.h"
#include "store/series_pack.h"

/* What rows refer to by its number, which is one more than the place here. */
typedef struct roast_dictionary {
    bool loaded;
    roast_arena arena; /* of the texts */
    roast_str *texts;
    size_t texts_capacity;
    uint32_t n_texts;
    struct roast_process {
        uint64_t token;
        int64_t pid;
        roast_str host, worker;
        uint32_t ref; /* in the log that is filled: see roast_append_refs */
    } * processes;
    size_t processes_capacity;
    uint32_t n_processes;
    struct roast_file_id {
        roast_str name, uuid, treename;
        uint32_t ref; /* as above */
    } * files;
    size_t files_capacity;
    uint32_t n_files;
    /* Sets and layouts: where their items begin, and behind the last one, where all end. */
    size_t *set_at;
    size_t set_capacity;
    uint32_t *set_refs; /* as above */
    size_t set_refs_capacity;
    uint32_t n_sets;
    roast_str *set_items;
    size_t set_items_capacity;
    size_t *layout_at;
    size_t layout_capacity;
    uint32_t n_layouts;
    struct roast_layout_item {
        roast_section_kind kind;
        int32_t parent;
        roast_str name;
    } * layout_items;
    size_t layout_items_capacity;
} roast_dictionary;

void roast_dictionary_reset(roast_dictionary *dictionary);
roast_status roast_dictionary_load(roast_dictionary *dictionary, const roast_db *db,
                                   roast_error *err);
/* The text of a column that holds its number or NULL; false: there is none of that number. */
bool roast_dictionary_text(const roast_dictionary *dictionary, sqlite3_stmt *row, int column,
                           roast_str *out);
/* The names of a set; false as above. *there: the column is not NULL. */
bool roast_dictionary_set(const roast_dictionary *dictionary, sqlite3_stmt *row, int column,
                          bool *there, const roast_str **names, uint32_t *count);

/* The tails of one chunk. */
typedef struct roast_tails {
    roast_section *sections;
    roast_read *reads;
    roast_custom *customs;
    roast_branch_size *sizes;
    size_t sections_capacity, reads_capacity, customs_capacity, sizes_capacity;
    roast_arena texts; /* of the customs */
    roast_append_refs refs;
} roast_tails;

typedef struct roast_attempt_prefix {
    roast_str prefix;
    roast_attempt_kind kind;
} roast_attempt_prefix;

struct roast_store {
    roast_db db;
    char *directory;
    roast_store_state state;
    roast_run *head;
    roast_attempts *attempts; /* workers and departures; NULL: nobody watched */
    roast_attempt_prefix *prefixes;
    size_t prefixes_capacity;
    uint32_t n_prefixes;
    roast_arena names; /* of the prefixes */
    int64_t chunk_count, attempt_count, sample_count, tick_count;
    roast_dictionary dictionary;
    roast_tails tails;
    /* The walks, NULL while none goes on, and the number of the next row. */
    sqlite3_stmt *chunks, *customs, *files, *attempt_rows, *pieces, *ticks, *blob;
    int64_t next_chunk, next_file, next_attempt, next_piece, next_tick;
    roast_pack pack;
};

/* The row of chunk_rows that `row` stands at, which must have the number `wanted`. */
roast_status roast_read_chunk(roast_store *store, sqlite3_stmt *row, int64_t wanted,
                              roast_chunk *out, roast_error *err);
/* Ends a walk over custom_rows. */
void roast_read_customs_end(roast_store *store);
/* All that is small: see roast_store_head. */
roast_status roast_read_head(roast_store *store, roast_error *err);
/* The records beside the chunks. */
roast_status roast_read_beside(roast_store *store, roast_chunklog *out, roast_error *err);
roast_status roast_read_workers(roast_store *store, roast_series *out, roast_error *err);
roast_status roast_read_events(roast_store *store, roast_series *out, roast_error *err);
roast_status roast_read_attempts_head(roast_store *store, roast_attempts *out, roast_error *err);

#endif
