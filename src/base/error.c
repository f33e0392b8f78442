#include "roast/base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"

static const struct {
    const char *name, *text;
} statuses[ROAST_STATUS_COUNT] = {
#define X(name, text) {#name, text},
    ROAST_STATUS_LIST(X)
#undef X
};

static bool is_status(roast_status status) {
    return (unsigned)status < ROAST_STATUS_COUNT;
}

const char *roast_status_name(roast_status status) {
    return is_status(status) ? statuses[status].name : "unknown";
}

const char *roast_status_text(roast_status status) {
    return is_status(status) ? statuses[status].text : "unknown status";
}

roast_status roast_error_set(roast_error *err, roast_status status, const char *where,
                             int64_t position, const char *format, ...) {
    if (err == NULL)
        return status;
    err->status = status;
    err->os_errno = status == ROAST_EIO ? errno : 0;
    err->position = position;
    snprintf(err->where, sizeof err->where, "%s", where);
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return status;
}

void roast_error_reset(roast_error *err) {
    memset(err, 0, sizeof *err);
    err->position = -1;
}

roast_str roast_str_of(const char *text) {
    return (roast_str){text, text == NULL ? 0 : strlen(text)};
}

bool roast_str_equal(roast_str a, roast_str b) {
    if (a.data == NULL || b.data == NULL)
        return a.data == b.data;
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

const char *roast_version(void) {
    return ROAST_VERSION;
}
