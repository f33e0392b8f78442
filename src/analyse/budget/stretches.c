/* Sets of stretches of time: how much of the time between two moments is in a set. */
#include <stdlib.h>

#include "analyse/budget/internal.h"
#include "base/bisect.h"

roast_status roast_stretches_add(roast_stretches *set, int64_t from, int64_t to) {
    if (from >= to)
        return ROAST_OK;
    /* Most touch the one before, and never need to be sorted. */
    roast_stretch *last = set->count > 0 ? &set->list[set->count - 1] : NULL;
    if (last != NULL && from <= last->to && to >= last->from) {
        last->from = from < last->from ? from : last->from;
        last->to = to > last->to ? to : last->to;
        return ROAST_OK;
    }
    void *list = set->list;
    ROAST_TRY(roast_array_reserve(&list, &set->capacity, sizeof *set->list, set->count + 1));
    set->list = list;
    set->list[set->count++] = (roast_stretch){from, to, 0};
    return ROAST_OK;
}

static int by_begin(const void *a, const void *b) {
    const roast_stretch *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

void roast_stretches_join(roast_stretches *set) {
    size_t kept = 0;
    int64_t before = 0;
    if (set->count == 0)
        return;
    qsort(set->list, set->count, sizeof *set->list, by_begin);
    for (size_t i = 1; i < set->count; i++) {
        if (set->list[i].from > set->list[kept].to)
            set->list[++kept] = set->list[i];
        else if (set->list[i].to > set->list[kept].to)
            set->list[kept].to = set->list[i].to;
    }
    set->count = kept + 1;
    for (size_t i = 0; i < set->count; i++) {
        set->list[i].before = before;
        before += set->list[i].to - set->list[i].from;
    }
}

const roast_stretch *roast_stretches_last(const roast_stretches *set, int64_t when) {
    size_t at;
    ROAST_BISECT(at, set->count, set->list[at].from <= when);
    return at > 0 ? &set->list[at - 1] : NULL;
}

static int64_t before(const roast_stretches *set, int64_t when) {
    const roast_stretch *last = roast_stretches_last(set, when);
    return last == NULL ? 0 : last->before + ((when < last->to ? when : last->to) - last->from);
}

double roast_stretches_within(const roast_stretches *set, int64_t from, int64_t to) {
    return set->count > 0 && from < to ? (double)(before(set, to) - before(set, from)) / 1e6 : 0;
}

roast_status roast_stretches_rest(const roast_stretches *set, int64_t from, int64_t to,
                                  roast_stretches *out) {
    for (size_t i = 0; i < set->count && from < to; i++) {
        const roast_stretch *stretch = &set->list[i];
        ROAST_TRY(roast_stretches_add(out, from, stretch->from < to ? stretch->from : to));
        from = stretch->to > from ? stretch->to : from;
    }
    return roast_stretches_add(out, from, to);
}

void roast_stretches_reset(roast_stretches *set) {
    roast_free(set->list);
    *set = (roast_stretches){0};
}
