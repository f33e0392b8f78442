#include "metrics/names.h"

void roast_names_reset(roast_names *names) {
    roast_intern_reset(&names->texts);
    roast_free(names->slots);
    roast_free(names->by_entry);
    *names = (roast_names){0};
}

static size_t place_of(const roast_names *names, roast_str name) {
    uint64_t hash = ((uint64_t)(uintptr_t)name.data + name.len) * UINT64_C(0x9e3779b97f4a7c15);
    size_t mask = names->slot_count - 1, at = (size_t)(hash >> 32) & mask;
    while (names->slots[at].data != NULL &&
           (names->slots[at].data != name.data || names->slots[at].len != name.len))
        at = (at + 1) & mask;
    return at;
}

/* A table that stays at most half full with one address more. */
static roast_status make_room(roast_names *names) {
    if ((names->used + 1) * 2 <= names->slot_count)
        return ROAST_OK;
    size_t wanted = names->slot_count == 0 ? 16 : names->slot_count * 2;
    if (wanted > SIZE_MAX / 4 / sizeof *names->slots)
        return ROAST_ENOMEM;
    roast_name_slot *slots = roast_alloc_zero(wanted * sizeof *slots), *old = names->slots;
    if (slots == NULL)
        return ROAST_ENOMEM;
    size_t old_count = names->slot_count;
    names->slots = slots;
    names->slot_count = wanted;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i].data != NULL)
            slots[place_of(names, (roast_str){old[i].data, old[i].len})] = old[i];
    }
    roast_free(old);
    return ROAST_OK;
}

roast_status roast_names_slow_id(roast_names *names, roast_str name, uint32_t *id) {
    ROAST_TRY(make_room(names));
    roast_name_slot *slot = &names->slots[place_of(names, name)];
    if (slot->data == NULL) {
        uint32_t found;
        ROAST_TRY(roast_intern_add(&names->texts, name, &found));
        *slot = (roast_name_slot){name.data, name.len, found};
        names->used++;
    }
    names->last = *slot;
    *id = slot->id;
    return ROAST_OK;
}

roast_status roast_names_slow_id_in(roast_names *names, uint32_t entry, roast_str name,
                                    uint32_t *id) {
    if (entry == 0)
        return roast_names_id(names, name, id);
    void *by_entry = names->by_entry;
    ROAST_TRY(roast_array_reserve_zero(&by_entry, &names->entries, sizeof *names->by_entry,
                                       (size_t)entry + 1));
    names->by_entry = by_entry;
    ROAST_TRY(roast_intern_add(&names->texts, name, id));
    names->by_entry[entry] = *id + 1;
    return ROAST_OK;
}
