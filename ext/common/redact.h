/* Texts of Python without secrets. */
#ifndef ROAST_EXT_REDACT_H
#define ROAST_EXT_REDACT_H

#include "common/compat.h"

/* redact_name(name, /), redact_text(text, /) and is_secret_name(name, /): roast/redact.h on a str. The same object if
 * there was nothing to remove. */
PyObject *ext_redact_name(PyObject *module, PyObject *name);
PyObject *ext_redact_text(PyObject *module, PyObject *text);
PyObject *ext_is_secret_name(PyObject *module, PyObject *name);

#endif
