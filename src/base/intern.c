#include "base/intern.h"

static uint64_t mix(uint64_t a, uint64_t b) {
    a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return a ^ (a >> 32);
}

uint64_t roast_hash(const void *data, size_t len) {
    const uint8_t *bytes = data;
    /* Two at a time: one multiplication need not wait for the other. */
    uint64_t hash = mix(UINT64_C(0x2545f4914f6cdd1d), len), second = ~hash, words[2];
    for (; len >= 16; bytes += 16, len -= 16) {
        memcpy(words, bytes, 16);
        hash = mix(hash, words[0]);
        second = mix(second, words[1]);
    }
    words[0] = words[1] = 0;
    if (len > 0)
        memcpy(words, bytes, len);
    hash = mix(mix(hash, words[0]), mix(second, words[1]));
    return mix(hash, UINT64_C(0xd6e8feb86659fd93));
}

void roast_intern_reset(roast_intern *intern) {
    roast_buffer_reset(&intern->bytes);
    roast_free(intern->ends);
    roast_free(intern->slots);
    *intern = (roast_intern){0};
}

/* The slot that holds `text`, or the empty one where it belongs. */
static roast_intern_slot *slot_of(const roast_intern *intern, roast_str text, uint32_t hash) {
    uint32_t mask = intern->slot_count - 1, at = hash & mask;
    for (; intern->slots[at].id_plus_1 != 0; at = (at + 1) & mask) {
        if (intern->slots[at].hash != hash)
            continue;
        roast_str there = roast_intern_get(intern, intern->slots[at].id_plus_1 - 1);
        if (there.len == text.len && memcmp(there.data, text.data, text.len) == 0)
            break;
    }
    return &intern->slots[at];
}

static uint32_t hash_of(roast_str text) {
    return (uint32_t)roast_hash(text.data, text.len);
}

/* Fills a new table from the old one, or from the strings if there is none. */
static void fill_table(roast_intern *intern, const roast_intern_slot *old, uint32_t old_count) {
    uint32_t mask = intern->slot_count - 1;
    for (uint32_t i = 0; i < old_count; i++) {
        uint32_t at = old[i].hash & mask;
        if (old[i].id_plus_1 == 0)
            continue;
        while (intern->slots[at].id_plus_1 != 0)
            at = (at + 1) & mask;
        intern->slots[at] = old[i];
    }
    for (uint32_t id = 0; old == NULL && id < intern->count; id++) {
        roast_str text = roast_intern_get(intern, id);
        uint32_t hash = hash_of(text);
        *slot_of(intern, text, hash) = (roast_intern_slot){id + 1, hash};
    }
}

/* A table that is at most half full with one string more. */
static roast_status make_room(roast_intern *intern) {
    if (intern->slots != NULL && (uint64_t)(intern->count + 1) * 2 <= intern->slot_count)
        return ROAST_OK;
    uint32_t wanted = 64;
    while (wanted / 2 < (uint64_t)intern->count + 1)
        wanted *= 2;
    roast_intern_slot *slots = roast_alloc_zero(wanted * sizeof *slots), *old = intern->slots;
    if (slots == NULL)
        return ROAST_ENOMEM;
    uint32_t old_count = intern->slot_count;
    intern->slots = slots;
    intern->slot_count = wanted;
    fill_table(intern, old, old_count);
    roast_free(old);
    return ROAST_OK;
}

roast_status roast_intern_reserve(roast_intern *intern, uint32_t strings, size_t bytes) {
    void *ends = intern->ends;
    ROAST_TRY(roast_array_reserve(&ends, &intern->ends_capacity, sizeof *intern->ends,
                                  (size_t)intern->count + strings));
    intern->ends = ends;
    return roast_buffer_reserve(&intern->bytes, bytes);
}

roast_status roast_intern_append(roast_intern *intern, roast_str text) {
    if (intern->count >= ROAST_INTERN_MAX)
        return ROAST_ELIMIT;
    void *ends = intern->ends;
    ROAST_TRY(roast_array_reserve(&ends, &intern->ends_capacity, sizeof *intern->ends,
                                  (size_t)intern->count + 1));
    intern->ends = ends;
    /* Even for the empty string, so that there is a place to point at. */
    ROAST_TRY(roast_buffer_reserve(&intern->bytes, text.len > 0 ? text.len : 1));
    roast_buffer_push(&intern->bytes, text.data, text.len);
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
    const roast_intern_slot *slot = slot_of(intern, text, hash_of(text));
    if (slot->id_plus_1 == 0)
        return false;
    *id = slot->id_plus_1 - 1;
    return true;
}

roast_status roast_intern_add(roast_intern *intern, roast_str text, uint32_t *id) {
    if (intern->count >= ROAST_INTERN_MAX)
        return ROAST_ELIMIT;
    ROAST_TRY(make_room(intern));
    uint32_t hash = hash_of(text);
    roast_intern_slot *slot = slot_of(intern, text, hash);
    if (slot->id_plus_1 == 0) {
        roast_intern_slot *slots = intern->slots;
        intern->slots = NULL; /* append must not drop the table: it is kept right here */
        roast_status status = roast_intern_append(intern, text);
        intern->slots = slots;
        ROAST_TRY(status);
        *slot = (roast_intern_slot){intern->count, hash};
    }
    *id = slot->id_plus_1 - 1;
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
    size_t len = from->bytes.len;
    roast_status status = ROAST_OK;
    if (from->count > 0)
        status = roast_buffer_reserve(&copy.bytes, len > 0 ? len : 1);
    if (status == ROAST_OK)
        roast_buffer_push(&copy.bytes, from->bytes.data, len);
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
