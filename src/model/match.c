#include "model/match.h"

#include <stdlib.h>

#include "base/bisect.h"
#include "base/buffer.h"
#include "base/intern.h"

void roast_match_reset(roast_match *match) {
    roast_free(match->chunks);
    *match = (roast_match){0};
}

/* ---- keys and moments ---- */

static uint64_t hash_key(const char *key, size_t len) {
    uint64_t hash = roast_hash(key, len);
    return hash != 0 ? hash : 1;
}

static uint64_t key_of_chunk(const roast_chunk *chunk) {
    char key[ROAST_MAX_KEY + 64];
    size_t len = roast_chunk_task_key(chunk, key, sizeof key);
    return hash_key(key, len < sizeof key ? len : sizeof key - 1);
}

static uint64_t key_of_thread(uint64_t thread) {
    return hash_key((const char *)&thread, sizeof thread);
}

uint64_t roast_match_key(const roast_attempt *attempt) {
    return attempt->key.data != NULL ? hash_key(attempt->key.data, attempt->key.len) : 0;
}

/* process() is entered some time after its task began; a second try may have begun in that time. */
static int64_t task_start(const roast_chunk *chunk) {
    int64_t when;
    if ((chunk->have & ROAST_CHUNK_HAS(before_process_ns)) == 0 || chunk->before_process_ns < 0 ||
        __builtin_sub_overflow(chunk->start_us, chunk->before_process_ns / 1000, &when))
        return chunk->start_us;
    return when;
}

uint64_t roast_match_distance(int64_t a, int64_t b) {
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* ---- chunks ---- */

roast_status roast_match_add(roast_match *match, const roast_chunk *chunk, uint32_t worker,
                             uint32_t number) {
    void *chunks = match->chunks;
    bool has_key = chunk->task_key.data != NULL;
    if (!has_key && ((chunk->have & ROAST_CHUNK_HAS(thread)) == 0 || chunk->thread == 0))
        return ROAST_OK;
    if (match->count >= UINT32_MAX)
        return ROAST_ELIMIT;
    ROAST_TRY(
        roast_array_reserve(&chunks, &match->capacity, sizeof *match->chunks, match->count + 1));
    match->chunks = chunks;
    uint64_t key = has_key ? key_of_chunk(chunk) : key_of_thread((uint64_t)chunk->thread);
    match->without_key += !has_key;
    bool repeated =
        chunk->error_type.data != NULL && (chunk->have & ROAST_CHUNK_HAS(before_process_ns)) == 0;
    match->chunks[match->count++] =
        (roast_match_chunk){key, task_start(chunk), worker, number, repeated};
    return ROAST_OK;
}

static int compare(const void *a, const void *b) {
    const roast_match_chunk *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    if (x->when != y->when)
        return x->when < y->when ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

void roast_match_sort(roast_match *match) {
    if (match->count > 0)
        qsort(match->chunks, match->count, sizeof *match->chunks, compare);
}

/* The place of the first chunk that is not before the wanted one. */
static size_t place_of(const roast_match *match, const roast_match_chunk *wanted) {
    size_t at;
    ROAST_BISECT(at, match->count, compare(&match->chunks[at], wanted) < 0);
    return at;
}

uint32_t roast_match_find(const roast_match *match, uint64_t key, uint32_t worker, int64_t when) {
    const roast_match_chunk wanted = {.key = key, .when = when, .worker = worker};
    size_t low = place_of(match, &wanted);
    const roast_match_chunk *found = NULL;
    for (size_t i = low > 0 ? low - 1 : 0; i < match->count && i <= low; i++) {
        const roast_match_chunk *one = &match->chunks[i];
        if (one->key == key && one->worker == worker &&
            (found == NULL ||
             roast_match_distance(one->when, when) < roast_match_distance(found->when, when)))
            found = one;
    }
    const roast_match_chunk *end = match->chunks + match->count;
    while (found != NULL && found->repeated && found + 1 < end && found[1].key == key &&
           found[1].worker == worker)
        found++;
    return found != NULL ? found->number : ROAST_NO_MATCH;
}

uint32_t roast_match_find_within(const roast_match *match, uint64_t thread, uint32_t worker,
                                 int64_t from, int64_t to) {
    if (match->without_key == 0 || thread == 0)
        return ROAST_NO_MATCH;
    const roast_match_chunk behind = {
        .key = key_of_thread(thread), .when = to, .worker = worker, .number = UINT32_MAX};
    size_t place = place_of(match, &behind);
    const roast_match_chunk *last = place > 0 ? &match->chunks[place - 1] : NULL;
    bool found = last != NULL && last->key == behind.key && last->worker == worker &&
                 last->when >= from && last->when <= to;
    return found ? last->number : ROAST_NO_MATCH;
}

uint32_t roast_match_find_try(const roast_match *match, const roast_match_try *one) {
    uint32_t number = ROAST_NO_MATCH;
    if (one->key != 0)
        number = roast_match_find(match, one->key, one->worker, one->when);
    if (number == ROAST_NO_MATCH && one->key != 0)
        number = roast_match_find(match, one->key, ROAST_NO_WORKER, one->when);
    return number != ROAST_NO_MATCH
               ? number
               : roast_match_find_within(match, one->thread, one->worker, one->when, one->until);
}
