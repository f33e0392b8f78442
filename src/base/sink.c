#include "roast/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"

typedef enum sink_kind { SINK_MEMORY, SINK_FD, SINK_COUNT } sink_kind;

enum { FD_BUFFER = 1 << 16 };

struct roast_sink {
    sink_kind kind;
    int fd;
    uint64_t count;
    roast_buffer buffer; /* memory: everything; fd: the unwritten bytes */
    roast_error error;   /* the first failure; status ROAST_OK while there is none */
};

static roast_status new_sink(sink_kind kind, int fd, roast_sink **out, roast_error *err) {
    roast_sink *sink = roast_alloc_zero(sizeof *sink);
    if (sink == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "sink", -1, "no memory for a sink");
    sink->kind = kind;
    sink->fd = fd;
    roast_error_reset(&sink->error);
    *out = sink;
    return ROAST_OK;
}

roast_status roast_sink_new_memory(roast_sink **out, roast_error *err) {
    return new_sink(SINK_MEMORY, -1, out, err);
}

roast_status roast_sink_new_fd(int fd, roast_sink **out, roast_error *err) {
    return new_sink(SINK_FD, fd, out, err);
}

roast_status roast_sink_new_count(roast_sink **out, roast_error *err) {
    return new_sink(SINK_COUNT, -1, out, err);
}

void roast_sink_free(roast_sink *sink) {
    if (sink == NULL)
        return;
    roast_buffer_reset(&sink->buffer);
    roast_free(sink);
}

void roast_sink_fail(roast_sink *sink, roast_status status, const char *message) {
    if (sink->error.status == ROAST_OK)
        roast_error_set(&sink->error, status, "sink", (int64_t)sink->count, "%s", message);
}

static void write_fd(roast_sink *sink, const uint8_t *data, size_t len) {
    while (len > 0) {
        ssize_t written = write(sink->fd, data, len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            roast_sink_fail(sink, ROAST_EIO, strerror(errno));
            return;
        }
        data += written;
        len -= (size_t)written;
    }
}

static void flush(roast_sink *sink) {
    if (sink->kind != SINK_FD || sink->error.status != ROAST_OK)
        return;
    write_fd(sink, sink->buffer.data, sink->buffer.len);
    sink->buffer.len = 0;
}

void roast_sink_write(roast_sink *sink, const void *data, size_t len) {
    if (sink->error.status != ROAST_OK || len == 0)
        return;
    if (sink->kind == SINK_FD && sink->buffer.len + len > FD_BUFFER) {
        flush(sink);
        if (len >= FD_BUFFER)
            write_fd(sink, data, len);
    }
    if (sink->kind == SINK_MEMORY || (sink->kind == SINK_FD && len < FD_BUFFER)) {
        if (sink->error.status == ROAST_OK &&
            roast_buffer_append(&sink->buffer, data, len) != ROAST_OK)
            roast_sink_fail(sink, ROAST_ENOMEM, "no memory for the output");
    }
    if (sink->error.status == ROAST_OK)
        sink->count += len;
}

void roast_sink_puts(roast_sink *sink, const char *text) {
    roast_sink_write(sink, text, strlen(text));
}

void roast_sink_str(roast_sink *sink, roast_str text) {
    roast_sink_write(sink, text.data, text.len);
}

void roast_sink_printf(roast_sink *sink, const char *format, ...) {
    char small[512];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (len < 0) {
        roast_sink_fail(sink, ROAST_EINVAL, "a text could not be formatted");
        return;
    }
    if ((size_t)len < sizeof small) {
        roast_sink_write(sink, small, (size_t)len);
        return;
    }
    char *large = roast_alloc((size_t)len + 1);
    if (large == NULL) {
        roast_sink_fail(sink, ROAST_ENOMEM, "no memory for the output");
        return;
    }
    va_start(args, format);
    vsnprintf(large, (size_t)len + 1, format, args);
    va_end(args);
    roast_sink_write(sink, large, (size_t)len);
    roast_free(large);
}

roast_status roast_sink_finish(roast_sink *sink, roast_error *err) {
    flush(sink);
    if (err != NULL && sink->error.status != ROAST_OK)
        *err = sink->error;
    return sink->error.status;
}

uint64_t roast_sink_count(const roast_sink *sink) {
    return sink->count;
}

roast_str roast_sink_memory(const roast_sink *sink) {
    if (sink->kind != SINK_MEMORY || sink->buffer.data == NULL)
        return (roast_str){"", 0};
    return (roast_str){(const char *)sink->buffer.data, sink->buffer.len};
}
