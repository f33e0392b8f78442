/* Values of the user's own, between Python and the chunk log. */
#ifndef ROAST_EXT_VALUES_H
#define ROAST_EXT_VALUES_H

#include "events.h"

/* A list of custom values with the Python objects that their texts point into. */
typedef struct ext_customs {
    roast_custom *items;
    uint32_t count;
    size_t capacity;
    PyObject *keep; /* list */
} ext_customs;
void ext_customs_release(ext_customs *customs);
/* Adds key -> value. Numbers, texts and None as they are; lists and mappings of such as JSON; anything
 * else pickled. What cannot even be pickled is kept as its repr(). 0 or -1 with an exception set. */
int ext_customs_add(ext_state *state, ext_customs *customs, roast_custom_scope scope, PyObject *key,
                    PyObject *value);
/* A new reference; NULL with an exception set. */
PyObject *ext_custom_value(ext_state *state, const roast_custom *custom);

/* value * per as a whole number; false: out of range, or no number. */
bool ext_to_steps(double value, double per, int64_t *out);

PyObject *ext_text(roast_str text);         /* None for the absent string */
PyObject *ext_text_or_null(roast_str text); /* a str, broken UTF-8 replaced; NULL on failure only */

#endif
