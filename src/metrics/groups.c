#include "metrics/groups.h"

void roast_groups_reset(roast_groups *groups) {
    roast_intern_reset(&groups->names);
    roast_free(groups->items);
    roast_free(groups->by_ref);
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

roast_status roast_groups_find_ref(roast_groups *groups, uint32_t ref, roast_str name,
                                   uint32_t *id) {
    if (ref == 0)
        return roast_groups_find(groups, name, id);
    if (ref >= groups->refs || groups->by_ref[ref] == 0) {
        void *by_ref = groups->by_ref;
        ROAST_TRY(roast_array_reserve_zero(&by_ref, &groups->refs, sizeof *groups->by_ref,
                                           (size_t)ref + 1));
        groups->by_ref = by_ref;
        ROAST_TRY(roast_groups_find(groups, name, id));
        groups->by_ref[ref] = *id + 1;
    }
    *id = groups->by_ref[ref] - 1;
    return ROAST_OK;
}
