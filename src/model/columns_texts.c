/* The texts of a column: each kept once, and UTF-8 that every reader may trust. */
#include "model/columns_internal.h"

#include "base/utf8.h"

/* ---- UTF-8 ---- */

/* How many bytes at the beginning are ASCII, counted in eights. */
static size_t ascii_run(const uint8_t *at, size_t left) {
    size_t done = 0;
    for (uint64_t word; left - done >= sizeof word; done += sizeof word) {
        memcpy(&word, at + done, sizeof word);
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    return done;
}

/* The length of a text with U+FFFD for invalid bytes; writes it unless out is NULL. */
static size_t clean(roast_str text, char *out, bool *broken) {
    static const char replacement[] = ROAST_UTF8_REPLACEMENT;
    const uint8_t *at = (const uint8_t *)text.data;
    size_t written = 0;
    for (size_t left = text.len, len; left > 0; at += len, left -= len) {
        const void *from = at;
        len = ascii_run(at, left);
        bool good = len > 0 || roast_utf8_character(at, left, &len);
        size_t size = good ? len : sizeof replacement - 1;
        if (!good) {
            *broken = true;
            from = replacement;
        }
        if (out != NULL)
            memcpy(out + written, from, size);
        written += size;
    }
    return written;
}

/* ---- the list ---- */

static roast_status measure(const roast_intern *texts, int32_t *offsets, bool *broken) {
    size_t total = 0;
    for (uint32_t id = 0; id < texts->count; id++) {
        offsets[id] = (int32_t)total;
        total += clean(roast_intern_get(texts, id), NULL, broken);
        if (total > INT32_MAX)
            return ROAST_ELIMIT;
    }
    offsets[texts->count] = (int32_t)total;
    return ROAST_OK;
}

static roast_status rewrite(const roast_intern *texts, const int32_t *offsets, roast_buffer *out) {
    bool broken;
    ROAST_TRY(roast_buffer_reserve(out, (size_t)offsets[texts->count]));
    for (uint32_t id = 0; id < texts->count; id++)
        clean(roast_intern_get(texts, id), (char *)out->data + offsets[id], &broken);
    out->len = (size_t)offsets[texts->count];
    return ROAST_OK;
}

roast_status roast_column_finish_texts(roast_column_store *store, roast_texts *out) {
    roast_intern *texts = &store->texts;
    bool broken = false;
    store->offsets = roast_alloc(((size_t)texts->count + 1) * sizeof *store->offsets);
    if (store->offsets == NULL)
        return ROAST_ENOMEM;
    ROAST_TRY(measure(texts, store->offsets, &broken));
    if (broken) {
        ROAST_TRY(rewrite(texts, store->offsets, &store->bytes));
    } else {
        /* They are already contiguous. */
        store->bytes = texts->bytes;
        texts->bytes = (roast_buffer){0};
        roast_buffer_shrink(&store->bytes);
    }
    *out = (roast_texts){
        .offsets = store->offsets,
        .bytes = store->bytes.data != NULL ? (const char *)store->bytes.data : "",
        .count = texts->count,
    };
    roast_intern_reset(texts);
    return ROAST_OK;
}
