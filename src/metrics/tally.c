#include "roast/tally.h"

#include "base/utf8.h"
#include "metrics/formulas.h"
#include "metrics/groups.h"

struct roast_tally {
    roast_groups datasets; /* of roast_tally_row */
};

roast_status roast_tally_new(roast_tally **out, roast_error *err) {
    *out = roast_alloc_zero(sizeof **out);
    if (*out == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "tally", -1, "no memory to count chunks");
    (*out)->datasets = ROAST_GROUPS(roast_tally_row);
    return ROAST_OK;
}

void roast_tally_free(roast_tally *tally) {
    if (tally == NULL)
        return;
    roast_groups_reset(&tally->datasets);
    roast_free(tally);
}

static roast_status find_row(roast_tally *tally, roast_str dataset, roast_tally_row **row) {
    roast_str name =
        dataset.data != NULL ? roast_utf8_cut(dataset, ROAST_TALLY_NAME) : roast_str_of("");
    uint32_t known = roast_groups_count(&tally->datasets), id;
    if (known >= ROAST_TALLY_DATASETS && !roast_intern_find(&tally->datasets.names, name, &id))
        name = roast_str_of(ROAST_TALLY_OTHERS);
    ROAST_TRY(roast_groups_find(&tally->datasets, name, &id));
    *row = roast_groups_item(&tally->datasets, id);
    if (id == known)
        **row = (roast_tally_row){.events = -1, .bytes = -1, .seconds = -1};
    return ROAST_OK;
}

/* What came from outside may be anything; a sum never goes down. */
static void add_count(int64_t *sum, int64_t value) {
    if (value >= 0)
        *sum = roast_add_capped(*sum < 0 ? 0 : *sum, value);
}

static void add_chunk(roast_tally_row *row, const roast_chunk *chunk) {
    if (chunk->error_type.data != NULL) {
        row->failed++;
        return;
    }
    row->done++;
    if (roast_chunk_has(chunk, ROAST_CHUNK_HAS(num_events)))
        add_count(&row->events, chunk->num_events);
    if (roast_chunk_has(chunk, ROAST_CHUNK_HAS(bytes_read)))
        add_count(&row->bytes, chunk->bytes_read);
    if (roast_chunk_has(chunk, ROAST_CHUNK_HAS(duration_ns)) && chunk->duration_ns >= 0)
        row->seconds = (row->seconds < 0 ? 0 : row->seconds) + (double)chunk->duration_ns / 1e9;
}

roast_status roast_tally_add(roast_tally *tally, const roast_chunklog *log, roast_error *err) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        roast_tally_row *row;
        if (find_row(tally, chunk.dataset, &row) != ROAST_OK)
            return roast_error_set(err, ROAST_ENOMEM, "tally", -1, "no memory to count chunks");
        add_chunk(row, &chunk);
    }
    return ROAST_OK;
}

uint32_t roast_tally_count(const roast_tally *tally) {
    return roast_groups_count(&tally->datasets);
}

const roast_tally_row *roast_tally_at(const roast_tally *tally, uint32_t index, roast_str *name) {
    *name = roast_groups_name(&tally->datasets, index);
    return roast_groups_item(&tally->datasets, index);
}
