/* Bars in lanes. */
#include "roast/lanes.h"

#include <stdlib.h>

#include "base/buffer.h"

/* ---- a heap: the least key first ---- */

typedef struct heap_item {
    int64_t key;
    uint32_t lane;
} heap_item;

typedef struct heap {
    heap_item *items;
    size_t capacity, count;
} heap;

static roast_status heap_push(heap *h, int64_t key, uint32_t lane) {
    void *items = h->items;
    ROAST_TRY(roast_array_reserve(&items, &h->capacity, sizeof *h->items, h->count + 1));
    h->items = items;
    size_t at = h->count++;
    for (; at > 0 && h->items[(at - 1) / 2].key > key; at = (at - 1) / 2)
        h->items[at] = h->items[(at - 1) / 2];
    h->items[at] = (heap_item){key, lane};
    return ROAST_OK;
}

/* There must be one. */
static uint32_t heap_pop(heap *h) {
    uint32_t lane = h->items[0].lane;
    heap_item last = h->items[--h->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && h->items[child + 1].key < h->items[child].key)
            child++;
        if (h->items[child].key >= last.key)
            break;
        h->items[at] = h->items[child];
    }
    h->items[at] = last;
    return lane;
}

/* ---- packing ---- */

typedef struct packer {
    heap busy; /* lanes by the end of their last bar */
    heap idle; /* lanes by their number */
    uint32_t lanes;
    int64_t *ends; /* of each lane */
    size_t capacity;
} packer;

/* By latest: a lane that is free for one bar is free for all that come later. */
static int compare(const void *a, const void *b) {
    const roast_bar *x = *(roast_bar *const *)a, *y = *(roast_bar *const *)b;
    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->latest != y->latest)
        return x->latest < y->latest ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->stop != y->stop)
        return x->stop > y->stop ? -1 : 1;
    return (x > y) - (x < y);
}

static roast_status place(packer *p, roast_bar *bar) {
    while (p->busy.count > 0 && p->busy.items[0].key <= bar->latest) {
        uint32_t lane = heap_pop(&p->busy);
        ROAST_TRY(heap_push(&p->idle, lane, lane));
    }
    if (p->idle.count > 0) {
        bar->lane = heap_pop(&p->idle);
        if (bar->start < p->ends[bar->lane])
            bar->start = p->ends[bar->lane];
    } else {
        void *ends = p->ends;
        ROAST_TRY(roast_array_reserve(&ends, &p->capacity, sizeof *p->ends, (size_t)p->lanes + 1));
        p->ends = ends;
        bar->lane = p->lanes++;
    }
    if (bar->stop < bar->start)
        bar->stop = bar->start;
    p->ends[bar->lane] = bar->stop;
    return heap_push(&p->busy, bar->stop, bar->lane);
}

roast_status roast_bars_pack(roast_bar **bars, size_t n, roast_error *err) {
    packer p = {0};
    roast_status status = ROAST_OK;
    if (n > 0)
        qsort(bars, n, sizeof *bars, compare);
    for (size_t i = 0; status == ROAST_OK && i < n; i++) {
        if (i > 0 &&
            (bars[i]->owner != bars[i - 1]->owner || bars[i]->thread != bars[i - 1]->thread))
            p.busy.count = p.idle.count = p.lanes = 0;
        status = place(&p, bars[i]);
    }
    roast_free(p.busy.items);
    roast_free(p.idle.items);
    roast_free(p.ends);
    if (status != ROAST_OK)
        return roast_error_set(err, status, "lanes", -1, "no memory for the lanes of the workers");
    return ROAST_OK;
}
