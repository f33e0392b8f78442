/* Values of the user's own, between Python and the engine. */
#ifndef ROAST_EXT_VALUES_H
#define ROAST_EXT_VALUES_H

#include "state.h"
#include "roast/chunklog.h"

/* A list of custom values with the Python objects that their texts point into. */
typedef struct ext_customs {
    roast_custom *items;
    uint32_t count;
    size_t capacity;
    size_t bytes;   /* of all texts */
    PyObject *keep; /* list */
} ext_customs;
void ext_customs_release(ext_customs *customs);
/* Adds key -> value. Numbers, texts and None as they are, anything else as the JSON of export/extras.py, uncut. A
 * value that cannot be kept is left out, and the list says why. Methods of the value may be called. 0, or -1 with
 * an exception set: no memory, or one that is no failure of the value (KeyboardInterrupt). */
int ext_customs_add(ext_state *state, ext_customs *customs, roast_custom_scope scope, PyObject *key,
                    PyObject *value);
/* A new reference; NULL with an exception set. None for one that was left out. */
PyObject *ext_custom_value(ext_state *state, const roast_custom *custom);

/* value * per as a whole number; false: out of range, or no number. */
bool ext_to_steps(double value, double per, int64_t *out);

/* A str as UTF-8; a lone surrogate, which has none, as "\\udc80". A new reference to the owner of the bytes; NULL
 * with an exception set. */
PyObject *ext_utf8(PyObject *text, roast_str *out);
/* The same for any object: a TypeError that names `what` if it is no str. */
PyObject *ext_text_of(PyObject *object, const char *what, roast_str *out);
/* The contents of a memory sink, as bytes; frees the sink. NULL with an exception set, also if writing failed. */
PyObject *ext_sink_bytes(roast_sink *sink);
/* The same as text. */
PyObject *ext_sink_text(roast_sink *sink);
/* The text that `write` writes. NULL with an exception set. */
PyObject *ext_written(const void *of, void (*write)(const void *of, roast_sink *sink));
PyObject *ext_text(roast_str text);         /* None for the absent string */
PyObject *ext_text_or_null(roast_str text); /* a str, broken UTF-8 replaced; NULL on failure only */

/* A list of `count` objects, each made by `make` from the source and its index; NULL with an exception set. */
PyObject *ext_list(const void *source, uint64_t count,
                   PyObject *(*make)(const void *source, uint32_t index));

/* Adds key -> value to a dict, taking the reference to the value; ext_put_pair also that to the key. 0; or -1 where one
 * is NULL or cannot be added, with an exception set. */
int ext_put(PyObject *dict, const char *key, PyObject *value);
int ext_put_pair(PyObject *dict, PyObject *key, PyObject *value);

/* Whether the object is None or NULL. */
bool ext_is_none(PyObject *object);
/* An entry of a mapping, None counted as missing: *out is a new reference or NULL. */
int ext_entry(PyObject *mapping, const char *key, PyObject **out);
/* TypeError that names `what` unless it is a mapping. */
int ext_check_mapping(PyObject *object, const char *what);
/* A number; TypeError names `what`. */
int ext_real(PyObject *value, const char *what, double *out);
/* None for NaN. */
PyObject *ext_real_or_none(double value);

#endif
