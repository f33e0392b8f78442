#include "base/intern.h"

static uint64_t mix(uint64_t a, uint64_t b) {
    a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return a ^ (a >> 32);
}

uint64_t roast_hash(const void *data, size_t len) {
    const uint8_t *bytes = data;
    uint64_t hash = mix(UINT64_C(0x2545f4914f6cdd1d), len), word;
    for (; len >= 8; bytes += 8, len -= 8) {
        memcpy(&word, bytes, 8);
        hash = mix(hash, word);
    }
    word = 0;
    if (len > 0)
        memcpy(&word, bytes, len);
    return mix(mix(hash, word), UINT64_C(0xd6e8feb86659fd93));
}

void roast_intern_reset(roast_intern *intern) {
    roast_buffer_reset(&intern->bytes);
    roast_free(intern->ends);
    roast_free(intern->slots);
    *intern = (roast_intern){0};
}

/* The slot that holds `text`, or the empty one where it belongs. */
static uint32_t slot_of(const roast_intern *intern, roast_str text) {
    uint32_t mask = intern->slot_count - 1;
    uint32_t slot = (uint32_t)roast_hash(text.data, text.len) & mask;
    while (intern->slots[slot] != 0) {
        roast_str there = roast_intern_get(intern, intern->slots[slot] - 1);
        if (there.len == text.len && memcmp(there.data, text.data, text.len) == 0)
            break;
        slot = (slot + 1) & mask;
    }
    return slot;
}

/* A table that is at most half full with one string more. */
static roast_status make_room(roast_intern *intern) {
    if (intern->slots != NULL && (uint64_t)(intern->count + 1) * 2 <= intern->slot_count)
        return ROAST_OK;
    uint32_t wanted = 16;
    while (wanted / 2 < (uint64_t)intern->count + 1)
        wanted *= 2;
    uint32_t *slots = roast_alloc_zero(wanted * sizeof *slots);
    if (slots == NULL)
        return ROAST_ENOMEM;
    roast_free(intern->slots);
    intern->slots = slots;
    intern->slot_count = wanted;
    for (uint32_t id = 0; id < intern->count; id++)
        slots[slot_of(intern, roast_intern_get(intern, id))] = id + 1;
    return ROAST_OK;
}

roast_status roast_intern_append(roast_intern *intern, roast_str text) {
    if (intern->count >= ROAST_INTERN_MAX)
        return ROAST_ELIMIT;
    void *ends = intern->ends;
    ROAST_TRY(roast_array_reserve(&ends, &intern->ends_capacity, sizeof *intern->ends,
                                  (size_t)intern->count + 1));
    intern->ends = ends;
    ROAST_TRY(roast_buffer_append(&intern->bytes, text.data, text.len));
    intern->ends[intern->count++] = intern->bytes.len;
    if (intern->slots != NULL) {
        /* The table no longer matches; the next look-up builds it anew. */
        roast_free(intern->slots);
        intern->slots = NULL;
        intern->slot_count = 0;
    }
    return ROAST_OK;
}

bool roast_intern_find(roast_intern *intern, roast_str text, uint32_t *id) {
    if (intern->count == 0 || make_room(intern) != ROAST_OK)
        return false;
    uint32_t slot = slot_of(intern, text);
    if (intern->slots[slot] == 0)
        return false;
    *id = intern->slots[slot] - 1;
    return true;
}

roast_status roast_intern_add(roast_intern *intern, roast_str text, uint32_t *id) {
    if (intern->count >= ROAST_INTERN_MAX)
        return ROAST_ELIMIT;
    ROAST_TRY(make_room(intern));
    uint32_t slot = slot_of(intern, text);
    if (intern->slots[slot] == 0) {
        uint32_t *slots = intern->slots;
        intern->slots = NULL; /* append must not drop the table: it is kept right here */
        roast_status status = roast_intern_append(intern, text);
        intern->slots = slots;
        ROAST_TRY(status);
        slots[slot] = intern->count;
    }
    *id = intern->slots[slot] - 1;
    return ROAST_OK;
}

void roast_intern_truncate(roast_intern *intern, uint32_t count) {
    if (count >= intern->count)
        return;
    intern->count = count;
    intern->bytes.len = count == 0 ? 0 : intern->ends[count - 1];
    roast_free(intern->slots);
    intern->slots = NULL;
    intern->slot_count = 0;
}

roast_status roast_intern_copy(const roast_intern *from, roast_intern *out) {
    roast_intern copy = {0};
    void *ends = NULL;
    roast_status status = roast_buffer_append(&copy.bytes, from->bytes.data, from->bytes.len);
    if (status == ROAST_OK && from->count > 0)
        status = roast_array_reserve(&ends, &copy.ends_capacity, sizeof *copy.ends, from->count);
    if (status != ROAST_OK) {
        roast_buffer_reset(&copy.bytes);
        return status;
    }
    copy.ends = ends;
    copy.count = from->count;
    if (from->count > 0)
        memcpy(copy.ends, from->ends, from->count * sizeof *copy.ends);
    *out = copy;
    return ROAST_OK;
}

size_t roast_intern_memory(const roast_intern *intern) {
    return intern->bytes.capacity + intern->ends_capacity * sizeof *intern->ends +
           intern->slot_count * sizeof *intern->slots;
}
