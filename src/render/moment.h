/* Points in time as text. */
#ifndef ROAST_RENDER_MOMENT_H
#define ROAST_RENDER_MOMENT_H

#include "roast/base.h"

enum { ROAST_MOMENT_TEXT = 48 };

/* "2026-01-31T12:00:00.123456" and the zone behind it ("Z", "+00:00"): no decimals, six, or nine where six are not
 * enough. */
void roast_moment_text(roast_utc when, const char *zone, char out[ROAST_MOMENT_TEXT]);

#endif
