#include "proc/watch.h"

#include <string.h>

#define PEAK_MASK ((UINT64_C(1) << 48) - 1)
#define OPEN      (UINT64_C(1) << 48)
#define TAG_ONE   (UINT64_C(1) << 49)
#define TAG_MASK  (~(TAG_ONE - 1))

static inline uint64_t peak_of(uint64_t rss) {
    return rss < PEAK_MASK ? rss : PEAK_MASK;
}

/* The word of a slot that `old` was free in, opened. The tag may wrap. */
static inline uint64_t opened(uint64_t old, uint64_t rss) {
    return ((old + TAG_ONE) & TAG_MASK) | OPEN | peak_of(rss);
}

#define FOR_EACH_SLOT(set, block, slot)                                                            \
    for (struct roast_watch_block *block = atomic_load(&(set)->newest); block != NULL;             \
         block = block->older)                                                                     \
        for (roast_watch *slot = block->slots; slot < block->slots + ROAST_WATCH_BLOCK; slot++)

void roast_watch_set_init(roast_watch_set *set) {
    memset(set, 0, sizeof *set);
    atomic_store(&set->newest, &set->first);
}

void roast_watch_set_reset(roast_watch_set *set) {
    struct roast_watch_block *block = atomic_load(&set->newest);
    while (block != &set->first) {
        struct roast_watch_block *older = block->older;
        roast_free(block);
        block = older;
    }
    roast_watch_set_init(set);
}

static roast_watch *claim_in(struct roast_watch_block *block, uint64_t owner, uint64_t rss) {
    for (uint64_t i = 0; i < ROAST_WATCH_BLOCK; i++) {
        /* Each thread begins at another slot, so that they seldom meet. */
        roast_watch *slot = &block->slots[(owner + i) % ROAST_WATCH_BLOCK];
        uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
        /* Sequentially consistent: the sampler's thread must see this, or we that it sleeps. */
        if (!(word & OPEN) &&
            atomic_compare_exchange_strong(&slot->word, &word, opened(word, rss))) {
            atomic_store_explicit(&slot->owner, owner, memory_order_relaxed);
            return slot;
        }
    }
    return NULL;
}

static roast_watch *claim_in_new(roast_watch_set *set, uint64_t owner, uint64_t rss) {
    struct roast_watch_block *block = roast_alloc_zero(sizeof *block);
    if (block == NULL)
        return NULL;
    atomic_init(&block->slots[0].word, opened(0, rss));
    atomic_init(&block->slots[0].owner, owner);
    block->older = atomic_load(&set->newest);
    while (!atomic_compare_exchange_weak(&set->newest, &block->older, block))
        ;
    return &block->slots[0];
}

roast_watch *roast_watch_claim(roast_watch_set *set, uint64_t owner, uint64_t rss) {
    struct roast_watch_block *block = atomic_load(&set->newest);
    for (; block != NULL; block = block->older) {
        roast_watch *slot = claim_in(block, owner, rss);
        if (slot != NULL)
            return slot;
    }
    return claim_in_new(set, owner, rss);
}

uint64_t roast_watch_release(roast_watch *watch) {
    /* The owner first: a slot that is being claimed must not look like ours in a forked child. */
    atomic_store_explicit(&watch->owner, 0, memory_order_relaxed);
    uint64_t tag = atomic_load_explicit(&watch->word, memory_order_relaxed) & TAG_MASK;
    return atomic_exchange(&watch->word, tag) & PEAK_MASK;
}

bool roast_watch_any(roast_watch_set *set) {
    FOR_EACH_SLOT(set, block, slot)
    if (atomic_load(&slot->word) & OPEN)
        return true;
    return false;
}

void roast_watch_keep_only(roast_watch_set *set, uint64_t owner) {
    FOR_EACH_SLOT(set, block, slot)
    if ((atomic_load(&slot->word) & OPEN) && atomic_load(&slot->owner) != owner)
        (void)roast_watch_release(slot);
}

bool roast_watch_note(roast_watch_set *set) {
    bool any = false;
    FOR_EACH_SLOT(set, block, slot) {
        slot->seen = atomic_load(&slot->word);
        any = any || (slot->seen & OPEN);
    }
    return any;
}

void roast_watch_raise(roast_watch_set *set, uint64_t rss) {
    const uint64_t peak = peak_of(rss);
    FOR_EACH_SLOT(set, block, slot) {
        uint64_t same = slot->seen & ~PEAK_MASK; /* the tag, and open */
        if (!(same & OPEN))
            continue;
        uint64_t word = atomic_load(&slot->word);
        while ((word & ~PEAK_MASK) == same && peak > (word & PEAK_MASK))
            if (atomic_compare_exchange_weak(&slot->word, &word, same | peak))
                break;
    }
}
