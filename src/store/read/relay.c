#include "store/read/relay.h"

#include "base/thread.h"

struct roast_relay {
    roast_part_adder add;
    void *context;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    roast_part waiting; /* the next one, if `full` */
    bool full, ended;
    roast_status status;
    roast_error err;
};

static void swap(roast_part *a, roast_part *b) {
    roast_part kept = *a;
    *a = *b;
    *b = kept;
}

/* Waits for a part. False: there are no more. */
static bool take(roast_relay *relay, roast_part *part) {
    pthread_mutex_lock(&relay->lock);
    while (!relay->full && !relay->ended)
        pthread_cond_wait(&relay->changed, &relay->lock);
    bool there = relay->full;
    if (there)
        swap(part, &relay->waiting);
    relay->full = false;
    pthread_cond_signal(&relay->changed);
    pthread_mutex_unlock(&relay->lock);
    return there;
}

static void fail(roast_relay *relay, roast_status status, const roast_error *err) {
    pthread_mutex_lock(&relay->lock);
    relay->status = status;
    relay->err = *err;
    relay->full = false; /* nobody takes it */
    pthread_cond_signal(&relay->changed);
    pthread_mutex_unlock(&relay->lock);
}

static void *add_all(void *context) {
    roast_relay *relay = context;
    roast_part part = {0};
    while (take(relay, &part)) {
        roast_error err;
        roast_error_reset(&err);
        roast_status status = relay->add(relay->context, &part, &err);
        if (status != ROAST_OK) {
            fail(relay, status, &err);
            break;
        }
    }
    roast_buffer_reset(&part.bytes);
    return NULL;
}

roast_relay *roast_relay_begin(roast_part_adder add, void *context) {
    roast_relay *relay = roast_alloc_zero(sizeof *relay);
    if (relay == NULL)
        return NULL;
    relay->add = add;
    relay->context = context;
    pthread_mutex_init(&relay->lock, NULL); /* on Linux these two cannot fail */
    pthread_cond_init(&relay->changed, NULL);
    if (roast_thread_start(&relay->thread, add_all, relay))
        return relay;
    roast_free(relay);
    return NULL;
}

void roast_relay_put(roast_relay *relay, roast_part *part) {
    pthread_mutex_lock(&relay->lock);
    while (relay->full)
        pthread_cond_wait(&relay->changed, &relay->lock);
    if (relay->status == ROAST_OK) {
        swap(part, &relay->waiting);
        relay->full = true;
        pthread_cond_signal(&relay->changed);
    }
    pthread_mutex_unlock(&relay->lock);
}

roast_status roast_relay_end(roast_relay *relay, roast_error *err) {
    if (relay == NULL)
        return ROAST_OK;
    pthread_mutex_lock(&relay->lock);
    relay->ended = true;
    pthread_cond_signal(&relay->changed);
    pthread_mutex_unlock(&relay->lock);
    pthread_join(relay->thread, NULL);
    roast_status status = relay->status;
    if (status != ROAST_OK && err != NULL)
        *err = relay->err;
    pthread_cond_destroy(&relay->changed);
    pthread_mutex_destroy(&relay->lock);
    roast_buffer_reset(&relay->waiting.bytes);
    roast_free(relay);
    return status;
}
