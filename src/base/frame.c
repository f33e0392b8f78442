#include "base/frame.h"

#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"

/* ---- writing ---- */

static void pass_on(roast_frame_writer *writer, const void *data, size_t len) {
    writer->crc = roast_crc32c(writer->crc, data, len);
    roast_sink_write(writer->sink, data, len);
}

static void flush(roast_frame_writer *writer) {
    pass_on(writer, writer->block, writer->held);
    writer->held = 0;
}

void roast_frame_begin(roast_frame_writer *writer, const roast_frame *frame, roast_sink *sink) {
    writer->sink = sink;
    writer->crc = 0;
    writer->held = 0;
    roast_frame_put_bytes(writer, frame->magic, sizeof frame->magic);
    roast_frame_put_bytes(writer, &frame->version, 1);
}

roast_status roast_frame_finish(roast_frame_writer *writer, roast_error *err) {
    flush(writer);
    roast_frame_put_fixed(writer, writer->crc, ROAST_FRAME_CHECKSUM);
    flush(writer);
    return roast_sink_finish(writer->sink, err);
}

void roast_frame_put_bytes(roast_frame_writer *writer, const void *data, size_t len) {
    if (len > sizeof writer->block - writer->held)
        flush(writer);
    if (len > sizeof writer->block) {
        pass_on(writer, data, len);
    } else if (len > 0) {
        memcpy(writer->block + writer->held, data, len);
        writer->held += len;
    }
}

void roast_frame_put_number(roast_frame_writer *writer, uint64_t value) {
    uint8_t bytes[ROAST_VARINT_MAX];
    roast_frame_put_bytes(writer, bytes, (size_t)(roast_put_varint(bytes, value) - bytes));
}

void roast_frame_put_signed(roast_frame_writer *writer, int64_t value) {
    roast_frame_put_number(writer, roast_zigzag(value));
}

void roast_frame_put_fixed(roast_frame_writer *writer, uint64_t value, unsigned bytes) {
    uint8_t out[sizeof value];
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> 8 * i);
    roast_frame_put_bytes(writer, out, bytes);
}

void roast_frame_put_real(roast_frame_writer *writer, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    roast_frame_put_fixed(writer, bits, sizeof bits);
}

void roast_frame_put_text(roast_frame_writer *writer, roast_str text) {
    roast_frame_put_number(writer, text.len);
    roast_frame_put_bytes(writer, text.data, text.len);
}

void roast_frame_put_label(roast_frame_writer *writer, roast_str text) {
    roast_frame_put_number(writer, text.data == NULL ? 0 : (uint64_t)text.len + 1);
    roast_frame_put_bytes(writer, text.data, text.data == NULL ? 0 : text.len);
}

/* ---- reading ---- */

roast_status roast_frame_fail(const roast_frame_reader *reader, roast_status status,
                              const char *what) {
    int64_t position = reader->at - reader->start;
    return roast_error_set(reader->err, status, reader->name, position, "%s%s: %s (byte %lld)",
                           status == ROAST_ECORRUPT ? "damaged " : "", reader->name, what,
                           (long long)position);
}

roast_status roast_frame_damaged(const roast_frame_reader *reader, const char *what) {
    return roast_frame_fail(reader, ROAST_ECORRUPT, what);
}

static roast_status check_version(roast_frame_reader *reader, const roast_frame *frame) {
    uint8_t version = *reader->at;
    if (version > frame->version)
        return roast_error_set(reader->err, ROAST_EVERSION, frame->name, reader->at - reader->start,
                               "%s of version %u; this roastcoffea (%s) reads version %u: upgrade "
                               "it",
                               frame->name, version, roast_version(), frame->version);
    if (version == frame->version)
        return ROAST_OK;
    char what[48];
    snprintf(what, sizeof what, "version %u of it was never released", version);
    return roast_frame_damaged(reader, what);
}

roast_status roast_frame_open(roast_frame_reader *reader, const roast_frame *frame,
                              const void *data, size_t len, roast_error *err) {
    const uint8_t *bytes = data;
    if (bytes == NULL || len < ROAST_FRAME_HEADER + ROAST_FRAME_CHECKSUM)
        return roast_error_set(err, ROAST_ECORRUPT, frame->name, (int64_t)len,
                               "damaged %s: %zu bytes are too few", frame->name, len);
    if (memcmp(bytes, frame->magic, sizeof frame->magic) != 0)
        return roast_error_set(err, ROAST_ECORRUPT, frame->name, 0,
                               "these bytes are no %s: they do not begin with %.4s", frame->name,
                               frame->magic);
    *reader = (roast_frame_reader){bytes, bytes + sizeof frame->magic,
                                   bytes + len - ROAST_FRAME_CHECKSUM, frame->name, err};
    ROAST_TRY(check_version(reader, frame));

    roast_frame_reader checksum = *reader;
    uint64_t stored = 0;
    checksum.at = reader->end;
    checksum.end = bytes + len;
    ROAST_TRY(roast_frame_get_fixed(&checksum, ROAST_FRAME_CHECKSUM, &stored));
    checksum.at = reader->end;
    if (stored != roast_crc32c(0, bytes, len - ROAST_FRAME_CHECKSUM))
        return roast_frame_damaged(&checksum, "the checksum is wrong");
    reader->at = bytes + ROAST_FRAME_HEADER;
    return ROAST_OK;
}

roast_status roast_frame_close(const roast_frame_reader *reader) {
    return reader->at == reader->end
               ? ROAST_OK
               : roast_frame_damaged(reader, "there are bytes behind the last value");
}

roast_status roast_frame_get_number(roast_frame_reader *reader, uint64_t *value) {
    const uint8_t *at = reader->at;
    *value = 0;
    if (!roast_get_varint(&at, reader->end, value))
        return roast_frame_damaged(reader, "a number is malformed");
    reader->at = at;
    return ROAST_OK;
}

roast_status roast_frame_get_signed(roast_frame_reader *reader, int64_t *value) {
    uint64_t raw = 0;
    *value = 0;
    ROAST_TRY(roast_frame_get_number(reader, &raw));
    *value = roast_unzigzag(raw);
    return ROAST_OK;
}

roast_status roast_frame_get_bytes(roast_frame_reader *reader, size_t len, const uint8_t **data) {
    if (len > (size_t)(reader->end - reader->at))
        return roast_frame_damaged(reader, "it is cut short");
    *data = reader->at;
    reader->at += len;
    return ROAST_OK;
}

roast_status roast_frame_get_fixed(roast_frame_reader *reader, unsigned bytes, uint64_t *value) {
    const uint8_t *data = NULL;
    *value = 0;
    ROAST_TRY(roast_frame_get_bytes(reader, bytes, &data));
    for (unsigned i = 0; i < bytes; i++)
        *value |= (uint64_t)data[i] << 8 * i;
    return ROAST_OK;
}

roast_status roast_frame_get_real(roast_frame_reader *reader, double *value) {
    uint64_t bits = 0;
    ROAST_TRY(roast_frame_get_fixed(reader, sizeof bits, &bits));
    memcpy(value, &bits, sizeof bits);
    return ROAST_OK;
}

/* `absent`: 0 says that there is none, and other lengths are one larger. */
static roast_status get_string(roast_frame_reader *reader, size_t most, bool absent,
                               roast_str *text) {
    const uint8_t *before = reader->at;
    uint64_t len = 0;
    ROAST_TRY(roast_frame_get_number(reader, &len));
    *text = (roast_str){NULL, 0};
    if (absent && len-- == 0)
        return ROAST_OK;
    if (len > most || len > (size_t)(reader->end - reader->at)) {
        reader->at = before;
        return roast_frame_damaged(reader, "a text is too long");
    }
    *text = (roast_str){(const char *)reader->at, (size_t)len};
    reader->at += len;
    return ROAST_OK;
}

roast_status roast_frame_get_text(roast_frame_reader *reader, size_t most, roast_str *text) {
    return get_string(reader, most, false, text);
}

roast_status roast_frame_get_label(roast_frame_reader *reader, size_t most, roast_str *text) {
    return get_string(reader, most, true, text);
}

roast_status roast_frame_get_count(roast_frame_reader *reader, size_t least, const char *what,
                                   uint64_t *count) {
    const uint8_t *before = reader->at;
    ROAST_TRY(roast_frame_get_number(reader, count));
    if (*count <= (size_t)(reader->end - reader->at) / least)
        return ROAST_OK;
    reader->at = before;
    return roast_frame_damaged(reader, what);
}
