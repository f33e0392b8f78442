/* A second thread for the parts of a large run: it adds one to the run while the caller reads, checks and uncompresses
 * the next one. */
#ifndef ROAST_STORE_RELAY_H
#define ROAST_STORE_RELAY_H

#include "base/buffer.h"

typedef struct roast_part { /* a large part, uncompressed */
    int64_t id;
    size_t kind; /* of the caller */
    roast_buffer bytes;
} roast_part;

typedef roast_status (*roast_part_adder)(void *context, const roast_part *part, roast_error *err);

typedef struct roast_relay roast_relay;

/* `context` is the thread's until the relay is ended. NULL where no thread can be had. */
roast_relay *roast_relay_begin(roast_part_adder add, void *context);
/* Hands a part over, and takes back a buffer whose contents do not matter. Waits while the part before it is not yet
 * begun. After a failure it does nothing. */
void roast_relay_put(roast_relay *relay, roast_part *part);
/* Waits for the last part and frees the relay. The first failure, if there was one. NULL is fine. */
roast_status roast_relay_end(roast_relay *relay, roast_error *err);

#endif
