/* Texts, processes, files, sets of branches and layouts of sections: what rows refer to. */
#include "store/reader.h"

void roast_dictionary_reset(roast_dictionary *dictionary) {
    roast_arena_reset(&dictionary->arena);
    roast_free(dictionary->texts);
    roast_free(dictionary->processes);
    roast_free(dictionary->files);
    roast_free(dictionary->set_at);
    roast_free(dictionary->set_refs);
    roast_free(dictionary->set_items);
    roast_free(dictionary->layout_at);
    roast_free(dictionary->layout_items);
    *dictionary = (roast_dictionary){0};
}

/* ---- looking up ---- */

/* The place of a number in a column, 0 to count - 1, or -1 for NULL; false for any other. */
static bool place_of(sqlite3_stmt *row, int column, uint32_t count, int64_t *out) {
    if (!roast_db_int_or(row, column, 0, out))
        return false;
    bool absent = sqlite3_column_type(row, column) == SQLITE_NULL;
    *out -= 1;
    return absent || (*out >= 0 && *out < (int64_t)count);
}

bool roast_dictionary_text(const roast_dictionary *dictionary, sqlite3_stmt *row, int column,
                           roast_str *out) {
    int64_t place;
    *out = (roast_str){NULL, 0};
    if (!place_of(row, column, dictionary->n_texts, &place))
        return false;
    if (place >= 0)
        *out = dictionary->texts[place];
    return true;
}

bool roast_dictionary_set(const roast_dictionary *dictionary, sqlite3_stmt *row, int column,
                          bool *there, const roast_str **names, uint32_t *count) {
    int64_t place;
    *there = false;
    *names = NULL;
    *count = 0;
    if (!place_of(row, column, dictionary->n_sets, &place))
        return false;
    if (place < 0)
        return true;
    size_t first = dictionary->set_at[place];
    *there = true;
    *names = dictionary->set_items + first;
    *count = (uint32_t)(dictionary->set_at[place + 1] - first);
    return true;
}

/* ---- loading ---- */

typedef struct loader {
    roast_dictionary *to;
    const roast_db *db;
    roast_error *err;
} loader;

static roast_status no_memory(roast_status status, roast_error *err) {
    return roast_error_set(err, status, "run.sqlite", -1, "no memory for what is in run.sqlite");
}

typedef roast_status (*take_row)(loader *l, sqlite3_stmt *row, uint32_t index);

/* Rows whose first column counts from 1 on. */
static roast_status each_row(loader *l, const char *table, const char *sql, take_row take) {
    sqlite3_stmt *row;
    bool more;
    int64_t id;
    ROAST_TRY(roast_db_prepare(l->db, sql, &row, l->err));
    roast_status status;
    for (uint32_t index = 0;; index++) {
        status = roast_db_step(l->db, row, &more, l->err);
        if (status != ROAST_OK || !more)
            break;
        if (!roast_db_int(row, 0, &id) || id != (int64_t)index + 1)
            status = ROAST_ECORRUPT;
        if (status == ROAST_OK)
            status = take(l, row, index);
        if (status == ROAST_ECORRUPT)
            status = roast_db_damaged(l->db, table, (int64_t)index + 1, l->err);
        else if (status != ROAST_OK)
            status = no_memory(status, l->err);
        if (status != ROAST_OK)
            break;
    }
    sqlite3_finalize(row);
    return status;
}

#define GROW(items, capacity, wanted)                                                              \
    do {                                                                                           \
        void *grown_ = (items);                                                                    \
        roast_status grow_ = roast_array_reserve(&grown_, &(capacity), sizeof *(items), (wanted)); \
        (items) = grown_;                                                                          \
        ROAST_TRY(grow_);                                                                          \
    } while (0)

static roast_status take_text(loader *l, sqlite3_stmt *row, uint32_t index) {
    roast_str text;
    if (!roast_db_text(row, 1, &text) || text.len > ROAST_MAX_TEXT)
        return ROAST_ECORRUPT;
    GROW(l->to->texts, l->to->texts_capacity, (size_t)index + 1);
    ROAST_TRY(roast_arena_str(&l->to->arena, text, &l->to->texts[index]));
    l->to->n_texts = index + 1;
    return ROAST_OK;
}

static roast_status take_process(loader *l, sqlite3_stmt *row, uint32_t index) {
    struct roast_process process = {.ref = 0};
    int64_t token;
    if (!roast_db_int(row, 1, &token) || !roast_db_int(row, 2, &process.pid) || process.pid < 0 ||
        !roast_dictionary_text(l->to, row, 3, &process.host) ||
        !roast_dictionary_text(l->to, row, 4, &process.worker))
        return ROAST_ECORRUPT;
    process.token = (uint64_t)token;
    GROW(l->to->processes, l->to->processes_capacity, (size_t)index + 1);
    l->to->processes[index] = process;
    l->to->n_processes = index + 1;
    return ROAST_OK;
}

static roast_status take_file(loader *l, sqlite3_stmt *row, uint32_t index) {
    struct roast_file_id file = {.ref = 0};
    if (!roast_dictionary_text(l->to, row, 1, &file.name) ||
        !roast_dictionary_text(l->to, row, 2, &file.uuid) ||
        !roast_dictionary_text(l->to, row, 3, &file.treename))
        return ROAST_ECORRUPT;
    GROW(l->to->files, l->to->files_capacity, (size_t)index + 1);
    l->to->files[index] = file;
    l->to->n_files = index + 1;
    return ROAST_OK;
}

/* Of a set or a layout the row says how many items there are; they come with the walk over these. */
static roast_status take_count(sqlite3_stmt *row, uint32_t index, int64_t limit, size_t **at,
                               size_t *capacity) {
    int64_t count;
    if (!roast_db_int(row, 1, &count) || count < 0 || count > limit)
        return ROAST_ECORRUPT;
    void *grown = *at;
    roast_status status = roast_array_reserve(&grown, capacity, sizeof **at, (size_t)index + 2);
    *at = grown;
    ROAST_TRY(status);
    (*at)[0] = 0;
    (*at)[index + 1] = (*at)[index] + (size_t)count;
    return ROAST_OK;
}

static roast_status take_set(loader *l, sqlite3_stmt *row, uint32_t index) {
    ROAST_TRY(take_count(row, index, ROAST_MAX_BRANCHES, &l->to->set_at, &l->to->set_capacity));
    GROW(l->to->set_refs, l->to->set_refs_capacity, (size_t)index + 1);
    l->to->set_refs[index] = 0;
    l->to->n_sets = index + 1;
    return ROAST_OK;
}

static roast_status take_layout(loader *l, sqlite3_stmt *row, uint32_t index) {
    ROAST_TRY(
        take_count(row, index, ROAST_MAX_SECTIONS, &l->to->layout_at, &l->to->layout_capacity));
    l->to->n_layouts = index + 1;
    return ROAST_OK;
}

static roast_status take_set_item(loader *l, sqlite3_stmt *row, size_t index, uint32_t position) {
    (void)position;
    GROW(l->to->set_items, l->to->set_items_capacity, index + 1);
    roast_str *name = &l->to->set_items[index];
    return roast_dictionary_text(l->to, row, 2, name) && name->data != NULL ? ROAST_OK
                                                                            : ROAST_ECORRUPT;
}

static roast_status take_layout_item(loader *l, sqlite3_stmt *row, size_t index,
                                     uint32_t position) {
    struct roast_layout_item item;
    int64_t kind, parent;
    if (!roast_db_int(row, 2, &kind) || kind < 0 || kind >= ROAST_SECTION_KINDS ||
        !roast_db_int_or(row, 3, -1, &parent) || parent < -1 || parent >= (int64_t)position ||
        !roast_dictionary_text(l->to, row, 5, &item.name) || item.name.data == NULL)
        return ROAST_ECORRUPT;
    item.kind = (roast_section_kind)kind;
    item.parent = (int32_t)parent;
    GROW(l->to->layout_items, l->to->layout_items_capacity, index + 1);
    l->to->layout_items[index] = item;
    return ROAST_OK;
}

typedef roast_status (*take_item)(loader *l, sqlite3_stmt *row, size_t index, uint32_t position);

/* The items of all sets (or layouts), each of which has as many as it said. */
static roast_status each_item(loader *l, const char *table, const char *sql, const size_t *at,
                              uint32_t count, take_item take) {
    sqlite3_stmt *row;
    bool more = true;
    int64_t owner, position;
    size_t index = 0;
    ROAST_TRY(roast_db_prepare(l->db, sql, &row, l->err));
    roast_status status = ROAST_OK;
    for (uint32_t i = 0; status == ROAST_OK && i < count; i++)
        for (uint32_t p = 0; status == ROAST_OK && index < at[i + 1]; p++, index++) {
            status = roast_db_step(l->db, row, &more, l->err);
            if (status != ROAST_OK)
                break;
            bool right = more && roast_db_int(row, 0, &owner) && roast_db_int(row, 1, &position) &&
                         owner == (int64_t)i + 1 && position == p;
            status = right ? take(l, row, index, p) : ROAST_ECORRUPT;
            if (status == ROAST_ECORRUPT)
                status = roast_db_damaged(l->db, table, (int64_t)index, l->err);
            else if (status != ROAST_OK)
                status = no_memory(status, l->err);
        }
    if (status == ROAST_OK)
        status = roast_db_step(l->db, row, &more, l->err);
    if (status == ROAST_OK && more)
        status = roast_db_damaged(l->db, table, (int64_t)index, l->err);
    sqlite3_finalize(row);
    return status;
}

roast_status roast_dictionary_load(roast_dictionary *dictionary, const roast_db *db,
                                   roast_error *err) {
    if (dictionary->loaded)
        return ROAST_OK;
    roast_dictionary_reset(dictionary);
    loader l = {dictionary, db, err};
    ROAST_TRY(each_row(&l, "texts", "SELECT * FROM texts ORDER BY id", take_text));
    ROAST_TRY(each_row(&l, "processes", "SELECT * FROM processes ORDER BY id", take_process));
    ROAST_TRY(each_row(&l, "file_ids", "SELECT * FROM file_ids ORDER BY id", take_file));
    ROAST_TRY(each_row(&l, "branch_sets", "SELECT * FROM branch_sets ORDER BY id", take_set));
    ROAST_TRY(each_item(&l, "branch_set_items",
                        "SELECT * FROM branch_set_items ORDER BY branch_set, position",
                        dictionary->set_at, dictionary->n_sets, take_set_item));
    ROAST_TRY(each_row(&l, "layouts", "SELECT * FROM layouts ORDER BY id", take_layout));
    ROAST_TRY(each_item(&l, "layout_items", "SELECT * FROM layout_items ORDER BY layout, position",
                        dictionary->layout_at, dictionary->n_layouts, take_layout_item));
    dictionary->loaded = true;
    return ROAST_OK;
}
