/* Pieces of the input that were tried and never processed. */
#include <string.h>

#include "base/redact.h"
#include "base/varint.h"
#include "metrics/groups.h"
#include "roast/failures.h"

struct roast_failed_pieces {
    roast_arena texts;
    roast_groups pieces; /* by the piece as bytes; an item: roast_piece */
};

/* ---- Coffea's messages ---- */

/* Where the value of `name=` begins in the arguments of a WorkItem; NULL: nowhere. */
static const char *value_of(roast_str text, const char *name, const char *after) {
    size_t len = strlen(name);
    const char *end = text.data + text.len;
    for (const char *at = after; at + len < end; at++)
        if (memcmp(at, name, len) == 0 && at[len] == '=')
            return at + len + 1;
    return NULL;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

/* Behind `PosixPath(` or the like; the same place if there is no such. */
static const char *inside_call(const char *at, const char *end) {
    const char *open = at;
    while (open < end && is_letter(*open))
        open++;
    return open > at && open < end && *open == '(' ? open + 1 : at;
}

/* The text between quotes; false: there are none. */
static bool quoted(const char *at, const char *end, const char **after, roast_str *out) {
    /* Inside the repr() of an exception the quotes may have a backslash. */
    bool escaped = at < end && *at == '\\';
    at += escaped;
    if (at == end || (*at != '\'' && *at != '"'))
        return false;
    char quote = *at++;
    const char *close = at;
    while (close < end && *close != quote)
        close++;
    if (close == end || (escaped && (close == at || close[-1] != '\\')))
        return false;
    *out = (roast_str){at, (size_t)(close - at) - escaped};
    *after = close;
    return true;
}

/* The value of `name`, which stands before that of `next`: a text, or another value as it is written. */
static bool named(roast_str text, const char *name, const char *next, const char **after,
                  roast_str *out) {
    const char *end = text.data + text.len, *at = value_of(text, name, *after);
    if (at == NULL || at == end)
        return false;
    const char *inner = inside_call(at, end);
    if (quoted(inner, end, after, out))
        return true;
    const char *other = value_of(text, next, inner);
    if (other == NULL)
        return false;
    const char *close = other - strlen(next) - strlen(", =") - (inner > at);
    if (*at == '\\' || *at == '\'' || *at == '"' || close <= inner)
        return false;
    roast_str value = {inner, (size_t)(close - inner)};
    *out = roast_str_equal(value, roast_str_of("None")) ? (roast_str){NULL, 0} : value;
    *after = close;
    return true;
}

static bool whole_number(roast_str text, const char *name, const char **after, int64_t *out) {
    const char *end = text.data + text.len, *at = value_of(text, name, *after);
    int64_t value = 0;
    unsigned digits = 0;
    for (; at != NULL && at < end && *at >= '0' && *at <= '9' && digits < 18; at++, digits++)
        value = value * 10 + (*at - '0');
    /* One that the end of the text may have cut is none. */
    if (digits == 0 || at == end || (*at >= '0' && *at <= '9'))
        return false;
    *out = value;
    *after = at;
    return true;
}

bool roast_piece_parse(roast_str text, roast_piece *out) {
    static const char mark[] = "WorkItem(";
    roast_piece piece = {.start = -1, .stop = -1};
    const char *at = text.data;
    if (at == NULL)
        return false;
    for (;; at++) {
        if (text.len - (size_t)(at - text.data) < sizeof mark - 1)
            return false;
        if (memcmp(at, mark, sizeof mark - 1) == 0)
            break;
    }
    if (!named(text, "dataset", "filename", &at, &piece.dataset) ||
        !named(text, "filename", "treename", &at, &piece.file) ||
        !named(text, "treename", "entrystart", &at, &piece.treename) ||
        !whole_number(text, "entrystart", &at, &piece.start) ||
        !whole_number(text, "entrystop", &at, &piece.stop))
        return false;
    *out = piece;
    return true;
}

/* ---- sets of pieces ---- */

/* Each name after its length + 1 (0: absent), so that different pieces have different bytes. Records have the name of
 * the file without secrets. */
static roast_status as_bytes(const roast_piece *piece, roast_buffer *redacted, roast_buffer *text) {
    roast_str names[] = {piece->dataset, piece->file, piece->treename};
    uint8_t number[ROAST_VARINT_MAX], *end;
    ROAST_TRY(roast_redact_in(redacted, roast_redact_name, &names[1]));
    text->len = 0;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        end = roast_put_varint(number, names[i].data == NULL ? 0 : names[i].len + 1);
        ROAST_TRY(roast_buffer_append(text, number, (size_t)(end - number)));
        ROAST_TRY(roast_buffer_append(text, names[i].data, names[i].len));
    }
    const int64_t entries[] = {piece->start, piece->stop};
    for (unsigned i = 0; i < 2; i++) {
        end = roast_put_zigzag(number, entries[i]);
        ROAST_TRY(roast_buffer_append(text, number, (size_t)(end - number)));
    }
    return ROAST_OK;
}

static roast_piece piece_of(const roast_chunk *chunk) {
    bool entries = (chunk->have & ROAST_CHUNK_HAS(entry_start)) != 0 &&
                   (chunk->have & ROAST_CHUNK_HAS(entry_stop)) != 0;
    return (roast_piece){chunk->dataset, chunk->file, chunk->treename,
                         entries ? chunk->entry_start : -1, entries ? chunk->entry_stop : -1};
}

typedef struct finder {
    const roast_run *run;
    roast_failed_pieces *failed;
    roast_intern done;
    roast_buffer redacted, text;
} finder;

static roast_status find_done(finder *f) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    uint32_t id;
    roast_chunk_cursor_init(&cursor, roast_run_chunks_view(f->run));
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        roast_piece piece = piece_of(&chunk);
        if (chunk.error_type.data != NULL)
            continue;
        ROAST_TRY(as_bytes(&piece, &f->redacted, &f->text));
        ROAST_TRY(
            roast_intern_add(&f->done, (roast_str){(const char *)f->text.data, f->text.len}, &id));
    }
    return ROAST_OK;
}

static roast_status add_failed(finder *f, const roast_piece *piece) {
    roast_failed_pieces *failed = f->failed;
    uint32_t known = roast_groups_count(&failed->pieces), id;
    ROAST_TRY(as_bytes(piece, &f->redacted, &f->text));
    roast_str name = {(const char *)f->text.data, f->text.len};
    if (f->done.count > 0 && roast_intern_find(&f->done, name, &id))
        return ROAST_OK;
    ROAST_TRY(roast_groups_find(&failed->pieces, name, &id));
    if (id < known)
        return ROAST_OK;
    roast_piece *kept = roast_groups_item(&failed->pieces, id);
    *kept = *piece;
    ROAST_TRY(roast_arena_str(&failed->texts, piece->dataset, &kept->dataset));
    ROAST_TRY(roast_arena_redacted(&failed->texts, roast_redact_name, piece->file, &kept->file));
    return roast_arena_str(&failed->texts, piece->treename, &kept->treename);
}

static roast_status find_failed(finder *f) {
    roast_chunk_cursor chunks;
    roast_chunk chunk;
    roast_chunk_cursor_init(&chunks, roast_run_chunks_view(f->run));
    while (roast_chunk_cursor_next(&chunks, &chunk)) {
        roast_piece piece = piece_of(&chunk);
        if (chunk.error_type.data != NULL && piece.file.data != NULL)
            ROAST_TRY(add_failed(f, &piece));
    }
    const roast_attempts *attempts = roast_run_attempts_view(f->run);
    if (attempts == NULL)
        return ROAST_OK;
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt)) {
        roast_piece piece;
        if (attempt.outcome == ROAST_OUTCOME_raised &&
            roast_piece_parse(attempt.error_message, &piece))
            ROAST_TRY(add_failed(f, &piece));
    }
    return ROAST_OK;
}

roast_status roast_failed_pieces_find(const roast_run *run, const roast_piece *more,
                                      size_t more_count, roast_failed_pieces **out,
                                      roast_error *err) {
    finder f = {.run = run, .failed = roast_alloc_zero(sizeof *f.failed)};
    roast_status status = ROAST_ENOMEM;
    if (f.failed != NULL) {
        f.failed->pieces = ROAST_GROUPS(roast_piece);
        status = find_done(&f);
    }
    if (status == ROAST_OK)
        status = find_failed(&f);
    for (size_t i = 0; status == ROAST_OK && i < more_count; i++)
        status = add_failed(&f, &more[i]);
    roast_intern_reset(&f.done);
    roast_buffer_reset(&f.redacted);
    roast_buffer_reset(&f.text);
    if (status != ROAST_OK) {
        roast_failed_pieces_free(f.failed);
        return roast_error_set(err, status, "failed pieces", -1, "no memory for the pieces");
    }
    *out = f.failed;
    return ROAST_OK;
}

void roast_failed_pieces_free(roast_failed_pieces *pieces) {
    if (pieces == NULL)
        return;
    roast_arena_reset(&pieces->texts);
    roast_groups_reset(&pieces->pieces);
    roast_free(pieces);
}

uint32_t roast_failed_pieces_count(const roast_failed_pieces *pieces) {
    return roast_groups_count(&pieces->pieces);
}

roast_piece roast_failed_pieces_at(const roast_failed_pieces *pieces, uint32_t index) {
    return index < roast_failed_pieces_count(pieces)
               ? *(const roast_piece *)roast_groups_item(&pieces->pieces, index)
               : (roast_piece){.start = -1, .stop = -1};
}
