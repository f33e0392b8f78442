#include "base/intern.h"

static uint64_t mix(uint64_t a, uint64_t b) {
    a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return a ^ (a >> 32);
}

uint64_t roast_hash(const void *data, size_t len) {
    const uint8_t *bytes = data;
    uint64_t hash = mix(UINT64_C(0x2545f4914f6cdd1d), len), word;
    for (; len >= sizeof word; bytes += sizeof word, len -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
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

static uint32_t hash_of(roast_str text) {
    return (uint32_t)roast_hash(text.data, text.len);
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

/* Puts in a string that is known to be new. */
static void fill_slot(roast_intern *intern, roast_intern_slot slot) {
    uint32_t mask = intern->slot_count - 1, at = slot.hash & mask;
    while (intern->slots[at].id_plus_1 != 0)
        at = (at + 1) & mask;
    intern->slots[at] = slot;
}

/* A table that is at most half full with so many strings more. */
static roast_status make_room(roast_intern *intern, uint32_t strings) {
    uint32_t old_count = intern->slot_count, wanted = old_count == 0 ? 16 : old_count;
    while (wanted / 2 < (uint64_t)intern->count + strings)
        wanted *= 2;
    if (wanted == old_count)
        return ROAST_OK;
    roast_intern_slot *slots = roast_alloc_zero(wanted * sizeof *slots), *old = intern->slots;
    if (slots == NULL)
        return ROAST_ENOMEM;
    intern->slots = slots;
    intern->slot_count = wanted;
    for (uint32_t i = 0; i < old_count; i++)
        if (old[i].id_plus_1 != 0)
            fill_slot(intern, old[i]);
    roast_free(old);
    return ROAST_OK;
}

roast_status roast_intern_reserve(roast_intern *intern, uint32_t strings, size_t bytes) {
    if (strings > ROAST_INTERN_MAX - intern->count)
        return ROAST_ELIMIT;
    ROAST_TRY(make_room(intern, strings));
    void *ends = intern->ends;
    ROAST_TRY(roast_array_reserve(&ends, &intern->ends_capacity, sizeof *intern->ends,
                                  (size_t)intern->count + strings));
    intern->ends = ends;
    /* A byte even for the empty string, so that there is a place to point at. */
    return roast_buffer_reserve(&intern->bytes, bytes > 0 ? bytes : 1);
}

bool roast_intern_find(const roast_intern *intern, roast_str text, uint32_t *id) {
    if (intern->count == 0)
        return false;
    const roast_intern_slot *slot = slot_of(intern, text, hash_of(text));
    if (slot->id_plus_1 == 0)
        return false;
    *id = slot->id_plus_1 - 1;
    return true;
}

roast_status roast_intern_add(roast_intern *intern, roast_str text, uint32_t *id) {
    if (intern->slot_count == 0)
        ROAST_TRY(make_room(intern, 1));
    uint32_t hash = hash_of(text);
    roast_intern_slot *slot = slot_of(intern, text, hash);
    if (slot->id_plus_1 == 0) {
        const roast_intern_slot *table = intern->slots;
        ROAST_TRY(roast_intern_reserve(intern, 1, text.len));
        if (intern->slots != table)
            slot = slot_of(intern, text, hash);
        roast_buffer_push(&intern->bytes, text.data, text.len);
        intern->ends[intern->count++] = intern->bytes.len;
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
    memset(intern->slots, 0, intern->slot_count * sizeof *intern->slots);
    for (uint32_t id = 0; id < count; id++)
        fill_slot(intern, (roast_intern_slot){id + 1, hash_of(roast_intern_get(intern, id))});
}

roast_status roast_intern_copy(const roast_intern *from, roast_intern *out) {
    roast_intern copy = {.count = from->count, .slot_count = from->slot_count};
    if (from->count == 0) {
        *out = (roast_intern){0};
        return ROAST_OK;
    }
    const size_t slots = from->slot_count * sizeof *copy.slots;
    const size_t ends = from->count * sizeof *copy.ends;
    copy.ends_capacity = from->count;
    copy.ends = roast_alloc(ends);
    copy.slots = roast_alloc(slots);
    if (copy.ends == NULL || copy.slots == NULL ||
        roast_buffer_reserve(&copy.bytes, from->bytes.len + 1) != ROAST_OK) {
        roast_intern_reset(&copy);
        return ROAST_ENOMEM;
    }
    roast_buffer_push(&copy.bytes, from->bytes.data, from->bytes.len);
    memcpy(copy.ends, from->ends, ends);
    memcpy(copy.slots, from->slots, slots);
    *out = copy;
    return ROAST_OK;
}

size_t roast_intern_memory(const roast_intern *intern) {
    return intern->bytes.capacity + intern->ends_capacity * sizeof *intern->ends +
           intern->slot_count * sizeof *intern->slots;
}
