/* Growing columns; shared by the files of this module.
 *
 * begin, define each column, then reserve rows and put a value of every column into each row, then finish. After a
 * failure only roast_columns_free is allowed. */
#ifndef ROAST_MODEL_COLUMNS_INTERNAL_H
#define ROAST_MODEL_COLUMNS_INTERNAL_H

#include <math.h>
#include <stdatomic.h>

#include "base/intern.h"
#include "roast/columns.h"

/* The memory that a column owns. */
typedef struct roast_column_store {
    void *values;
    uint8_t *validity;
    double *reals;      /* see roast_columns_reals; or NULL */
    roast_intern texts; /* while it grows: as they came, each under its number */
    int32_t *offsets;   /* once it is finished */
    roast_buffer bytes; /* likewise */
    uint32_t same_as;   /* the column whose memory this one shows; or its own number */
} roast_column_store;

struct roast_columns {
    atomic_uint_fast32_t owners;
    roast_table table;
    uint64_t rows, capacity;
    uint32_t count;
    roast_column *items;
    roast_column_store *stores;
};

/* ---- growing (columns.c) ---- */
roast_status roast_columns_begin(roast_table table, uint32_t count, roast_columns **out);
void roast_columns_define(roast_columns *columns, uint32_t index, const char *name,
                          roast_cell cell);
/* Lets a column show the memory of an earlier one; nothing is put into it. */
void roast_columns_alias(roast_columns *columns, uint32_t index, uint32_t earlier);
/* Room for so many more rows, in all columns. */
roast_status roast_columns_room(roast_columns *columns, uint64_t rows);
/* The last step of a builder, which was successful or not: hands the columns over, or frees them. */
roast_status roast_columns_end(roast_columns *columns, roast_status status, roast_columns **out);

/* The error for a table that could not be made. */
roast_status roast_columns_failed(roast_table table, roast_status status, roast_error *err);

/* ---- one table each; NULL columns on failure ---- */
roast_status roast_columns_of_chunks(const roast_chunklog *log, roast_columns **out);
roast_status roast_columns_of_sections(const roast_chunklog *log, const roast_chunklog *outside,
                                       roast_columns **out);
roast_status roast_columns_of_reads(const roast_chunklog *log, roast_columns **out);
roast_status roast_columns_of_samples(const roast_series *series, roast_columns **out);

/* ---- texts (columns_texts.c) ---- */
/* From the texts as they came to the list of a column. */
roast_status roast_column_finish_texts(roast_column_store *store, roast_texts *out);

/* ---- putting a value into a reserved row ---- */
static inline void roast_put_there(roast_columns *columns, uint32_t index, uint64_t row,
                                   bool there) {
    uint8_t *validity = columns->stores[index].validity;
    validity[row / 8] |= (uint8_t)(there << (row % 8));
    columns->items[index].absent += !there;
}

static inline void roast_put_int(roast_columns *columns, uint32_t index, uint64_t row, bool there,
                                 int64_t value) {
    ((int64_t *)columns->stores[index].values)[row] = there ? value : 0;
    roast_put_there(columns, index, row, there);
}

static inline void roast_put_real(roast_columns *columns, uint32_t index, uint64_t row, bool there,
                                  double value) {
    ((double *)columns->stores[index].values)[row] = there ? value : NAN;
    roast_put_there(columns, index, row, there);
}

/* The absent string is an absent value. */
static inline roast_status roast_put_text(roast_columns *columns, uint32_t index, uint64_t row,
                                          roast_str text) {
    roast_column_store *store = &columns->stores[index];
    uint32_t id = UINT32_MAX; /* as an int32_t: -1 */
    if (text.data != NULL)
        ROAST_TRY(roast_intern_add(&store->texts, text, &id));
    ((int32_t *)store->values)[row] = (int32_t)id;
    roast_put_there(columns, index, row, text.data != NULL);
    return ROAST_OK;
}

#endif
