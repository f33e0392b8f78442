/* The open watches of a sampler: slots that threads claim and give back without a lock, while one
 * sampling thread raises their peaks. */
#ifndef ROAST_PROC_WATCH_H
#define ROAST_PROC_WATCH_H

#include <stdatomic.h>

#include "roast/sampler.h"

/* Few and close together: each tick walks over all of them with a cold cache, and a line fetched
 * from memory costs more than two threads that now and then meet in one. */
enum { ROAST_WATCH_BLOCK = 8 };

/* `word` holds everything that must change at once: bits 0 to 47 the peak, bit 48 whether it is
 * open, above them how often the slot was used. A reading that was taken before the slot changed
 * hands cannot be put into the account of the next one. */
struct roast_watch {
    _Atomic uint64_t word;
    _Atomic uint64_t owner; /* roast_thread_serial(), 0 while it is free */
    uint64_t seen;          /* the sampling thread's own: `word` before the reading */
};

struct roast_watch_block {
    struct roast_watch_block *older;
    roast_watch slots[ROAST_WATCH_BLOCK];
};

/* Zeroed storage is an empty set once `newest` points to `first`. */
typedef struct roast_watch_set {
    _Atomic(struct roast_watch_block *) newest;
    struct roast_watch_block first;
} roast_watch_set;

void roast_watch_set_init(roast_watch_set *set);
void roast_watch_set_reset(roast_watch_set *set);
/* NULL if memory is short. */
roast_watch *roast_watch_claim(roast_watch_set *set, uint64_t owner, uint64_t rss);
/* Gives the slot back; returns its peak. */
uint64_t roast_watch_release(roast_watch *watch);
bool roast_watch_any(roast_watch_set *set);
/* In a forked child: closes what other threads had open. */
void roast_watch_keep_only(roast_watch_set *set, uint64_t owner);

/* The sampling thread's: notes what is open (true if anything is), then, after it read the
 * memory, raises the peaks of what was open all the while. */
bool roast_watch_note(roast_watch_set *set);
void roast_watch_raise(roast_watch_set *set, uint64_t rss);

#endif
