/* Removes secrets from texts. Everything that is kept or sent goes through here.
 *
 * From an address: user and password in front of the host, and every query parameter but those on a list of harmless
 * ones (xrdcl.unzip). Anywhere in a text: the value of a name that looks like a secret (password=..., 'token': '...',
 * --api-key ...), what follows "Bearer", private keys, and tokens with a known beginning (eyJ..., ghp_..., AKIA...).
 * Such a value becomes at most three asterisks. All other bytes stay. A second time changes nothing. */
#ifndef ROAST_REDACT_H
#define ROAST_REDACT_H

#include "roast/base.h"

/* The name of a file: one address or path as a whole. What stands in a path like an assignment ("/token=1/") stays.
 * `out` has room for name.len bytes, and may be name.data. Returns the length. The time is linear in it. */
size_t roast_redact_name(roast_str name, char *out);
/* The same for a text that may cite addresses. Of JSON, the texts in it are redacted one by one. */
size_t roast_redact_text(roast_str text, char *out);
/* Whether a value under this name is a secret: "db_password", "X-Auth-Token". */
bool roast_is_secret_name(roast_str name);

#endif
