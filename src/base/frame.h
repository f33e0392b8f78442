/* The frame of every packed format: four bytes of magic, one byte of version, the body, a checksum of all before it.
 *
 * Numbers in the body are varints (base/varint.h); fixed-size values are written low byte first. */
#ifndef ROAST_BASE_FRAME_H
#define ROAST_BASE_FRAME_H

#include "base/varint.h"
#include "roast/sink.h"

typedef struct roast_frame {
    const char *name; /* "chunk log": for errors */
    char magic[4];
    uint8_t version; /* the only one that is read */
} roast_frame;

enum { ROAST_FRAME_HEADER = 5, ROAST_FRAME_CHECKSUM = 4 };

/* ---- writing. The first failure sticks to the sink; roast_frame_finish returns it. ---- */

typedef struct roast_frame_writer {
    roast_sink *sink;
    uint32_t crc; /* of what was given to the sink */
    size_t held;  /* bytes that were not yet */
    uint8_t block[1024];
} roast_frame_writer;

/* Writes magic and version. */
void roast_frame_begin(roast_frame_writer *writer, const roast_frame *frame, roast_sink *sink);
/* Writes the checksum and finishes the sink. */
roast_status roast_frame_finish(roast_frame_writer *writer, roast_error *err);

void roast_frame_put_bytes(roast_frame_writer *writer, const void *data, size_t len);
void roast_frame_put_number(roast_frame_writer *writer, uint64_t value);
void roast_frame_put_signed(roast_frame_writer *writer, int64_t value);
/* The low `bytes` bytes (8 at most) of the value. */
void roast_frame_put_fixed(roast_frame_writer *writer, uint64_t value, unsigned bytes);
void roast_frame_put_real(roast_frame_writer *writer, double value);
/* A text is its length and its bytes. */
void roast_frame_put_text(roast_frame_writer *writer, roast_str text);
/* A label may be absent (data NULL): it is 0 then, else its length + 1 and its bytes. */
void roast_frame_put_label(roast_frame_writer *writer, roast_str text);

/* ---- reading. Nothing is read beyond `end`. A value that cannot be read does not move `at`. ---- */

typedef struct roast_frame_reader {
    const uint8_t *start, *at, *end; /* end: where the checksum begins */
    const char *name;
    roast_error *err;
} roast_frame_reader;

/* Checks magic, version and checksum, and goes to the body. ROAST_ECORRUPT, or ROAST_EVERSION for a newer version.
 * data NULL counts as no bytes. */
roast_status roast_frame_open(roast_frame_reader *reader, const roast_frame *frame,
                              const void *data, size_t len, roast_error *err);
/* Fails unless all of the body has been read. */
roast_status roast_frame_close(const roast_frame_reader *reader);

/* Sets the error, with the position of `at`: "damaged chunk log: WHAT (byte 17)". Returns ROAST_ECORRUPT. */
roast_status roast_frame_damaged(const roast_frame_reader *reader, const char *what);
/* The same with another status, for a limit or for memory that is short: "chunk log: WHAT (byte 17)". */
roast_status roast_frame_fail(const roast_frame_reader *reader, roast_status status,
                              const char *what);

roast_status roast_frame_get_number(roast_frame_reader *reader, uint64_t *value);
roast_status roast_frame_get_signed(roast_frame_reader *reader, int64_t *value);
roast_status roast_frame_get_fixed(roast_frame_reader *reader, unsigned bytes, uint64_t *value);
roast_status roast_frame_get_real(roast_frame_reader *reader, double *value);
/* Borrowed bytes. */
roast_status roast_frame_get_bytes(roast_frame_reader *reader, size_t len, const uint8_t **data);
/* Borrowed texts of at most `most` bytes. */
roast_status roast_frame_get_text(roast_frame_reader *reader, size_t most, roast_str *text);
roast_status roast_frame_get_label(roast_frame_reader *reader, size_t most, roast_str *text);
/* The number of entries that follow, each of which takes at least `least` bytes. A count that the remaining bytes
 * cannot hold is damage: `what` names it. */
roast_status roast_frame_get_count(roast_frame_reader *reader, size_t least, const char *what,
                                   uint64_t *count);

#endif
