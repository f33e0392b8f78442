/* The figures of a measurement without reading all of it: 0.1.x writes them in front of everything that grows. */
#include <math.h>
#include <unistd.h>

#include "store/legacy/internal.h"
#include "store/place/place.h"

enum { FIRST_READ = 64 << 10 };

/* One row a figure, in the order of the struct. */
static const struct {
    const char *keys;
    size_t offset;
} figures[] = {
#define X(name, keys) {keys, offsetof(roast_legacy_head, name)},
    ROAST_LEGACY_FIGURES(X)
#undef X
};

/* ---- the front of metrics.json ---- */

/* The position of the first key after which 0.1.x writes no figure; the length of the text if there is none. */
static size_t end_of_figures(roast_str text) {
    static const char *const keys[] = {"\"tracking_data\"", "\"raw_chunk_metrics\"",
                                       "\"raw_span_metrics\""};
    size_t end = text.len;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *found = memmem(text.data, end, keys[i], strlen(keys[i]));
        if (found != NULL && found > text.data && found[-1] != '\\') /* not inside a text */
            end = (size_t)(found - text.data);
    }
    return end;
}

/* Makes an object of the text before that key. */
static void close_object(roast_buffer *text, size_t end) {
    while (end > 1 && strchr(", \n\r\t", (char)text->data[end - 1]) != NULL)
        end--;
    text->data[end] = '}';
    text->len = end + 1;
}

static roast_status read_figures(int fd, size_t size, roast_buffer *text, roast_error *err) {
    for (size_t wanted = FIRST_READ;; wanted *= 4) {
        ROAST_TRY(
            roast_path_read_front(fd, "metrics.json", wanted < size ? wanted : size, text, err));
        size_t end = end_of_figures((roast_str){(const char *)text->data, text->len});
        if (end < text->len)
            close_object(text, end);
        if (end < text->len || wanted >= size)
            return ROAST_OK;
    }
}

/* Cut off in the middle: the last character is not the last bracket. */
static bool ends_early(int fd, size_t size) {
    char last[16];
    size_t from = size > sizeof last ? size - sizeof last : 0;
    ssize_t got = pread(fd, last, sizeof last, (off_t)from);
    while (got > 0 && strchr(" \n\r\t", last[got - 1]) != NULL)
        got--;
    return got <= 0 || last[got - 1] != '}';
}

/* ---- figures ---- */

/* The first of the keys, which are separated by one blank, that has a number. */
static double number_of(const json_t *metrics, const char *keys) {
    double number = NAN;
    while (isnan(number) && *keys != '\0') {
        size_t len = strcspn(keys, " ");
        number = roast_legacy_number(json_object_getn(metrics, keys, len));
        keys += len + strspn(keys + len, " ");
    }
    return number;
}

static roast_status take_figures(int fd, size_t size, roast_buffer *text, roast_legacy_head *head,
                                 roast_error *err) {
    json_t *metrics;
    if (ends_early(fd, size))
        return roast_legacy_damaged(err, "metrics.json", "it ends too early");
    ROAST_TRY(read_figures(fd, size, text, err));
    ROAST_TRY(roast_legacy_parse((roast_str){(const char *)text->data, text->len}, "metrics.json",
                                 &metrics, err));
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        *(double *)((char *)head + figures[i].offset) = number_of(metrics, figures[i].keys);
    json_decref(metrics);
    return ROAST_OK;
}

static roast_status peek_metrics(const char *path, roast_legacy_head *head, roast_error *err) {
    roast_buffer text = {0};
    int fd = -1;
    size_t size = 0;
    ROAST_TRY(roast_path_open(path, "metrics.json", ROAST_LEGACY_MAX_FILE, &fd, &size, err));
    roast_status status = take_figures(fd, size, &text, head, err);
    close(fd);
    roast_buffer_reset(&text);
    return status;
}

static roast_status peek_metadata(const char *path, roast_legacy_head *head, roast_error *err) {
    roast_buffer text = {0};
    json_t *metadata;
    bool local;
    roast_status status =
        roast_path_read(path, "metadata.json", ROAST_LEGACY_MAX_SMALL_FILE, &text, err);
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
    ROAST_TRY(peek_metrics(path, &head, err));
    ROAST_TRY(peek_metadata(path, &head, err));
    *out = head;
    return ROAST_OK;
}

/* "chunk=500, site=desy"; what is no object, and values other than texts, as JSON. */
static roast_status put_config(const json_t *config, roast_sink *out, roast_error *err) {
    const char *key;
    json_t *value;
    size_t key_len, len;
    char *text;
    bool first = true;
    json_object_keylen_foreach((json_t *)config, key, key_len, value) {
        roast_sink_puts(out, first ? "" : ", ");
        first = false;
        roast_sink_str(out, (roast_str){key, key_len});
        roast_sink_puts(out, "=");
        if (json_is_string(value)) {
            roast_sink_str(out, roast_legacy_text(value));
            continue;
        }
        ROAST_TRY(roast_legacy_dump(value, &text, &len, err));
        roast_sink_str(out, (roast_str){text, len});
        roast_free(text);
    }
    return ROAST_OK;
}

roast_status roast_legacy_config(const char *path, roast_sink *out, roast_error *err) {
    static const char name[] = "config.json";
    roast_buffer text = {0};
    json_t *config;
    roast_status status = roast_path_read(path, name, ROAST_LEGACY_MAX_SMALL_FILE, &text, err);
    if (status == ROAST_OK)
        status =
            roast_legacy_parse((roast_str){(const char *)text.data, text.len}, name, &config, err);
    if (status == ROAST_OK) {
        status = put_config(config, out, err);
        json_decref(config);
    }
    roast_buffer_reset(&text);
    return status == ROAST_ENOTFOUND ? ROAST_OK : status;
}
