#include "metrics/groups.h"

#include "model/storage.h"

void roast_groups_reset(roast_groups *groups) {
    roast_intern_reset(&groups->names);
    roast_free(groups->items);
    roast_free(groups->by_ref);
    roast_free(groups->listed);
    *groups = (roast_groups){.size = groups->size};
}

roast_status roast_groups_reserve(roast_groups *groups, size_t items) {
    void *memory = groups->items;
    ROAST_TRY(roast_array_reserve(&memory, &groups->capacity, groups->size, items));
    groups->items = memory;
    return ROAST_OK;
}

roast_status roast_groups_find(roast_groups *groups, roast_str name, uint32_t *id) {
    uint32_t known = groups->names.count;
    if (name.data == NULL)
        name = roast_str_of("");
    ROAST_TRY(roast_groups_reserve(groups, (size_t)known + 1));
    ROAST_TRY(roast_intern_add(&groups->names, name, id));
    if (*id == known)
        memset(roast_groups_item(groups, known), 0, groups->size);
    return ROAST_OK;
}

/* Room for what is known of a reference. */
static roast_status reserve_ref(roast_groups *groups, uint32_t ref) {
    void *by_ref = groups->by_ref;
    ROAST_TRY(
        roast_array_reserve_zero(&by_ref, &groups->refs, sizeof *groups->by_ref, (size_t)ref + 1));
    groups->by_ref = by_ref;
    return ROAST_OK;
}

roast_status roast_groups_find_ref(roast_groups *groups, uint32_t ref, roast_str name,
                                   uint32_t *id) {
    if (ref == 0)
        return roast_groups_find(groups, name, id);
    if (ref >= groups->refs || groups->by_ref[ref] == 0) {
        ROAST_TRY(reserve_ref(groups, ref));
        ROAST_TRY(roast_groups_find(groups, name, id));
        groups->by_ref[ref] = *id + 1;
    }
    *id = groups->by_ref[ref] - 1;
    return ROAST_OK;
}

roast_status roast_groups_find_storage(roast_groups *groups, uint32_t ref, roast_str file,
                                       uint32_t *id) {
    char name[ROAST_MAX_STORAGE];
    size_t len = 0;
    bool known = ref > 0 && ref < groups->refs && groups->by_ref[ref] != 0;
    if (!known) {
        len = roast_storage_of(file, name, sizeof name);
        len = len < sizeof name ? len : sizeof name - 1;
    }
    return roast_groups_find_ref(groups, ref, (roast_str){name, len}, id);
}

/* Room for the names of a list. */
static roast_status add_list(roast_groups *groups, uint32_t ref, uint32_t count) {
    void *listed = groups->listed;
    size_t wanted = groups->listed_count + count;
    if (wanted >= UINT32_MAX)
        return ROAST_ELIMIT;
    ROAST_TRY(reserve_ref(groups, ref));
    ROAST_TRY(roast_array_reserve_zero(&listed, &groups->listed_capacity, sizeof *groups->listed,
                                       wanted));
    groups->listed = listed;
    groups->by_ref[ref] = (uint32_t)groups->listed_count + 1;
    groups->listed_count = wanted;
    return ROAST_OK;
}

roast_status roast_groups_find_listed(roast_groups *groups, uint32_t ref, uint32_t count,
                                      uint32_t index, roast_str name, uint32_t *id) {
    if (ref >= groups->refs || groups->by_ref[ref] == 0)
        ROAST_TRY(add_list(groups, ref, count));
    uint32_t *listed = &groups->listed[groups->by_ref[ref] - 1 + index];
    if (*listed == 0) {
        ROAST_TRY(roast_groups_find(groups, name, id));
        *listed = *id + 1;
    }
    *id = *listed - 1;
    return ROAST_OK;
}

void roast_groups_forget_refs(roast_groups *groups) {
    if (groups->refs > 0)
        memset(groups->by_ref, 0, groups->refs * sizeof *groups->by_ref);
    if (groups->listed_count > 0)
        memset(groups->listed, 0, groups->listed_count * sizeof *groups->listed);
    groups->listed_count = 0;
}
