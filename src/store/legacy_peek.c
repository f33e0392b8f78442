/* The figures of a measurement without reading all of it: 0.1.x writes them in front of everything that grows. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/legacy_internal.h"

enum { FIRST_READ = 16 << 10, MAX_TOKEN = 64, MAX_SMALL_FILE = 16 << 20 };

/* One row a figure, in the order of the struct. */
static const struct {
    const char *keys;
    size_t offset;
} figures[] = {
#define X(name, keys) {keys, offsetof(roast_legacy_head, name)},
    ROAST_LEGACY_FIGURES(X)
#undef X
};
enum { FIGURES = sizeof figures / sizeof *figures };

static double *figure_at(roast_legacy_head *head, size_t index) {
    return (double *)((char *)head + figures[index].offset);
}

/* ---- scanning ---- */

typedef enum scan_result {
    SCAN_DONE,
    SCAN_MORE, /* the text ends too early */
    SCAN_DAMAGED
} scan_result;

typedef struct scan {
    const char *begin, *at, *end;
} scan;

static void skip_blanks(scan *in) {
    while (in->at < in->end &&
           (*in->at == ' ' || *in->at == '\n' || *in->at == '\r' || *in->at == '\t'))
        in->at++;
}

static scan_result expect(scan *in, char c) {
    skip_blanks(in);
    if (in->at == in->end)
        return SCAN_MORE;
    if (*in->at != c)
        return SCAN_DAMAGED;
    in->at++;
    return SCAN_DONE;
}

/* A text in quotes; *out is what stands between them, escapes as they are. */
static scan_result skip_text(scan *in, roast_str *out) {
    scan_result result = expect(in, '"');
    if (result != SCAN_DONE)
        return result;
    out->data = in->at;
    for (; in->at < in->end && *in->at != '"'; in->at++)
        if (*in->at == '\\' && ++in->at == in->end)
            return SCAN_MORE;
    if (in->at == in->end)
        return SCAN_MORE;
    out->len = (size_t)(in->at++ - out->data);
    return SCAN_DONE;
}

/* Goes behind the bracket that belongs to the one here. */
static scan_result skip_container(scan *in) {
    size_t depth = 0;
    roast_str text;
    do {
        if (in->at == in->end)
            return SCAN_MORE;
        if (*in->at == '"') {
            scan_result result = skip_text(in, &text);
            if (result != SCAN_DONE)
                return result;
            continue;
        }
        depth += *in->at == '{' || *in->at == '[';
        depth -= *in->at == '}' || *in->at == ']';
        in->at++;
    } while (depth > 0);
    return SCAN_DONE;
}

/* A number, or null, true, NaN, ... */
static scan_result skip_word(scan *in, roast_str *out) {
    out->data = in->at;
    while (in->at < in->end && strchr(",}] \n\r\t", *in->at) == NULL)
        in->at++;
    out->len = (size_t)(in->at - out->data);
    if (in->at == in->end)
        return SCAN_MORE;
    return out->len > 0 ? SCAN_DONE : SCAN_DAMAGED;
}

/* *number is NaN where the value is none. */
static scan_result skip_value(scan *in, double *number) {
    roast_str word = {NULL, 0};
    char copy[MAX_TOKEN + 1], *end;
    *number = NAN;
    skip_blanks(in);
    if (in->at == in->end)
        return SCAN_MORE;
    if (*in->at == '"')
        return skip_text(in, &word);
    if (*in->at == '{' || *in->at == '[')
        return skip_container(in);
    scan_result result = skip_word(in, &word);
    if (result != SCAN_DONE || word.len > MAX_TOKEN)
        return result;
    memcpy(copy, word.data, word.len);
    copy[word.len] = '\0';
    if (strchr("-0123456789", copy[0]) == NULL)
        return SCAN_DONE;
    double value = strtod(copy, &end);
    if (*end == '\0' && isfinite(value))
        *number = value;
    return SCAN_DONE;
}

/* ---- figures ---- */

static bool is_one_of(roast_str key, const char *keys) {
    while (*keys != '\0') {
        size_t len = strcspn(keys, " ");
        if (key.len == len && memcmp(key.data, keys, len) == 0)
            return true;
        keys += len + strspn(keys + len, " ");
    }
    return false;
}

/* Whether all are known now. */
static bool keep_figure(roast_legacy_head *head, roast_str key, double number) {
    size_t known = 0;
    for (size_t i = 0; i < FIGURES; i++) {
        double *figure = figure_at(head, i);
        if (isnan(*figure) && is_one_of(key, figures[i].keys))
            *figure = number;
        known += !isnan(*figure);
    }
    return known == FIGURES;
}

/* Behind these 0.1.x writes no figure. */
static bool ends_the_figures(roast_str key) {
    return is_one_of(key, "tracking_data raw_chunk_metrics raw_span_metrics");
}

static scan_result scan_figures(scan *in, roast_legacy_head *head) {
    scan_result result = expect(in, '{');
    if (result != SCAN_DONE)
        return result;
    if (expect(in, '}') == SCAN_DONE)
        return SCAN_DONE;
    for (;;) {
        roast_str key;
        double number;
        if ((result = skip_text(in, &key)) != SCAN_DONE)
            return result;
        if (ends_the_figures(key))
            return SCAN_DONE;
        if ((result = expect(in, ':')) != SCAN_DONE ||
            (result = skip_value(in, &number)) != SCAN_DONE)
            return result;
        if (keep_figure(head, key, number))
            return SCAN_DONE;
        result = expect(in, ',');
        if (result == SCAN_DAMAGED && *in->at == '}')
            return SCAN_DONE;
        if (result != SCAN_DONE)
            return result;
    }
}

static int line_of(const scan *in) {
    int line = 1;
    for (const char *at = in->begin; at < in->at; at++)
        line += *at == '\n';
    return line;
}

/* ---- reading ---- */

/* Up to `size` bytes from the beginning; less only where the file ends. */
static roast_status read_more(int fd, size_t size, roast_buffer *text, roast_error *err) {
    if (roast_buffer_reserve(text, size - text->len) != ROAST_OK)
        return roast_error_set(err, ROAST_ENOMEM, "0.1.x measurement", -1,
                               "no memory for metrics.json");
    while (text->len < size) {
        ssize_t got = pread(fd, text->data + text->len, size - text->len, (off_t)text->len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            roast_error_set(err, ROAST_EIO, "0.1.x measurement", -1, "metrics.json: %s",
                            strerror(errno));
            if (err != NULL)
                err->os_errno = errno;
            return ROAST_EIO;
        }
        if (got == 0)
            break;
        text->len += (size_t)got;
    }
    return ROAST_OK;
}

/* Cut off in the middle: the last character is not the last bracket. */
static bool ends_early(int fd, off_t size) {
    char last[16];
    off_t from = size > (off_t)sizeof last ? size - (off_t)sizeof last : 0;
    ssize_t got = pread(fd, last, sizeof last, from);
    while (got > 0 && strchr(" \n\r\t", last[got - 1]) != NULL)
        got--;
    return got <= 0 || last[got - 1] != '}';
}

static roast_status peek_metrics(int fd, size_t size, roast_buffer *text, roast_legacy_head *head,
                                 roast_error *err) {
    for (size_t wanted = FIRST_READ;; wanted *= 4) {
        scan in;
        if (wanted > size)
            wanted = size;
        ROAST_TRY(read_more(fd, wanted, text, err));
        in = (scan){(const char *)text->data, (const char *)text->data,
                    (const char *)text->data + text->len};
        scan_result result = scan_figures(&in, head);
        if (result == SCAN_DONE)
            return ROAST_OK;
        if (result == SCAN_DAMAGED || wanted == size)
            return roast_legacy_damaged(err, "metrics.json", "line %d: %s", line_of(&in),
                                        result == SCAN_MORE ? "it ends too early" : "no JSON");
    }
}

static roast_status peek_file(const char *path, roast_legacy_head *head, roast_error *err) {
    char name[4096];
    struct stat info;
    roast_buffer text = {0};
    if (snprintf(name, sizeof name, "%s/metrics.json", path) >= (int)sizeof name)
        return roast_error_set(err, ROAST_ELIMIT, "0.1.x measurement", -1,
                               "a path is longer than %zu bytes", sizeof name);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0) {
        int code = errno;
        roast_status status = code == ENOENT ? ROAST_ENOTFOUND : ROAST_EIO;
        if (fd >= 0)
            close(fd);
        roast_error_set(err, status, "0.1.x measurement", -1, "metrics.json: %s", strerror(code));
        if (err != NULL)
            err->os_errno = code;
        return status;
    }
    roast_status status;
    if (!S_ISREG(info.st_mode))
        status = roast_legacy_damaged(err, "metrics.json", "it is no file");
    else if (info.st_size > ROAST_LEGACY_MAX_FILE)
        status = roast_error_set(err, ROAST_ELIMIT, "0.1.x measurement", -1,
                                 "metrics.json: %lld bytes", (long long)info.st_size);
    else if (ends_early(fd, info.st_size))
        status = roast_legacy_damaged(err, "metrics.json", "it ends too early");
    else
        status = peek_metrics(fd, (size_t)info.st_size, &text, head, err);
    close(fd);
    roast_buffer_reset(&text);
    return status;
}

static roast_status peek_metadata(const char *path, roast_legacy_head *head, roast_error *err) {
    roast_buffer text = {0};
    json_t *metadata;
    bool local;
    roast_status status = roast_legacy_read(path, "metadata.json", MAX_SMALL_FILE, &text, err);
    if (status == ROAST_OK)
        status = roast_legacy_parse((roast_str){(const char *)text.data, text.len}, "metadata.json",
                                    &metadata, err);
    if (status == ROAST_OK) {
        head->have_saved = roast_legacy_time(
            roast_legacy_text(json_object_get(metadata, "timestamp")), &head->saved, &local);
        if (head->have_saved && local)
            head->saved = roast_legacy_from_local(head->saved);
        json_decref(metadata);
    }
    roast_buffer_reset(&text);
    return status == ROAST_ENOTFOUND ? ROAST_OK : status;
}

roast_status roast_legacy_peek(const char *path, roast_legacy_head *out, roast_error *err) {
    roast_legacy_head head = {.have_saved = false};
    for (size_t i = 0; i < FIGURES; i++)
        *figure_at(&head, i) = NAN;
    ROAST_TRY(roast_legacy_check_folder(path, err));
    ROAST_TRY(peek_file(path, &head, err));
    ROAST_TRY(peek_metadata(path, &head, err));
    *out = head;
    return ROAST_OK;
}
