/* Values of the user's own, between Python and the chunk log. */
#ifndef ROAST_EXT_VALUES_H
#define ROAST_EXT_VALUES_H

#include "events.h"

/* A list of custom values with the Python objects that their texts point into. */
typedef struct ext_customs {
    roast_custom *items;
    uint32_t count;
    size_t capacity;
    size_t bytes;   /* of all texts */
    PyObject *keep; /* list */
} ext_customs;
void ext_customs_release(ext_customs *customs);
/* Adds key -> value. Numbers, texts and None as they are, anything else as the JSON of export/extras.py, whole.
 * What cannot be kept so is left out, and the list says why. Methods of the value may be called. 0, or -1 with an
 * exception set: no memory, or one that is no failure of the value (KeyboardInterrupt). */
int ext_customs_add(ext_state *state, ext_customs *customs, roast_custom_scope scope, PyObject *key,
                    PyObject *value);
/* A new reference; NULL with an exception set. None for one that was left out. */
PyObject *ext_custom_value(ext_state *state, const roast_custom *custom);

/* value * per as a whole number; false: out of range, or no number. */
bool ext_to_steps(double value, double per, int64_t *out);

/* A str as UTF-8; a lone surrogate, which has none, as "\\udc80". A new reference to what holds the bytes; NULL with
 * an exception set. */
PyObject *ext_utf8(PyObject *text, roast_str *out);
/* The same for any object: a TypeError that names `what` if it is no str. */
PyObject *ext_text_of(PyObject *object, const char *what, roast_str *out);
PyObject *ext_text(roast_str text);         /* None for the absent string */
PyObject *ext_text_or_null(roast_str text); /* a str, broken UTF-8 replaced; NULL on failure only */

#endif
