#include "model/storage.h"

#include <stdio.h>
#include <string.h>

static char small(char letter) {
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static bool is_scheme_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '+' ||
           letter == '-' || letter == '.';
}

/* The length of the scheme in front of "://"; 0: there is none. */
static size_t scheme_of(roast_str text) {
    size_t len = 0;
    while (len < text.len && is_scheme_letter(small(text.data[len])))
        len++;
    return text.len - len >= 3 && memcmp(text.data + len, "://", 3) == 0 ? len : 0;
}

/* What follows the last "::" in front of a scheme. */
static roast_str last_of_chain(roast_str file) {
    roast_str last = file;
    for (size_t i = 0; i + 2 < file.len; i++) {
        roast_str rest = {file.data + i + 2, file.len - i - 2};
        if (file.data[i] == ':' && file.data[i + 1] == ':' && scheme_of(rest) > 0)
            last = rest;
    }
    return last;
}

static bool is_text(roast_str text, const char *other) {
    return roast_str_equal(text, roast_str_of(other));
}

/* Protocols and their usual ports; several names of one protocol have one here. */
static const struct {
    const char *scheme, *name, *port;
} protocols[] = {
    {"root", "root", "1094"},    {"xroot", "root", "1094"}, {"roots", "roots", "1094"},
    {"xroots", "roots", "1094"}, {"http", "http", "80"},    {"https", "https", "443"},
    {"dav", "http", "80"},       {"davs", "https", "443"},
};

/* The host of "user@host:port/path", which ends with the first slash. */
static roast_str authority_of(roast_str rest) {
    size_t end = 0, begin = 0;
    while (end < rest.len && strchr("/?#", rest.data[end]) == NULL)
        end++;
    for (size_t i = 0; i < end; i++)
        if (rest.data[i] == '@')
            begin = i + 1;
    return (roast_str){rest.data + begin, end - begin};
}

static void drop_port(roast_str *host, const char *port) {
    size_t len = strlen(port);
    if (len > 0 && host->len > len && host->data[host->len - len - 1] == ':' &&
        memcmp(host->data + host->len - len, port, len) == 0)
        host->len -= len + 1;
}

size_t roast_storage_of(roast_str file, char *out, size_t size) {
    char scheme[16], host[ROAST_MAX_STORAGE];
    const char *name = scheme, *port = "";
    if (file.data == NULL)
        return (size_t)snprintf(out, size, "%s", "");
    file = last_of_chain(file);
    size_t len = scheme_of(file);
    if (len == 0 || len >= sizeof scheme)
        return (size_t)snprintf(out, size, "file");
    for (size_t i = 0; i < len; i++)
        scheme[i] = small(file.data[i]);
    scheme[len] = '\0';
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (is_text((roast_str){scheme, len}, protocols[i].scheme)) {
            name = protocols[i].name;
            port = protocols[i].port;
        }
    roast_str door = authority_of((roast_str){file.data + len + 3, file.len - len - 3});
    drop_port(&door, port);
    if (is_text((roast_str){scheme, len}, "file"))
        return (size_t)snprintf(out, size, "file");
    size_t kept = door.len < sizeof host - 20 ? door.len : sizeof host - 20;
    for (size_t i = 0; i < kept; i++)
        host[i] = small(door.data[i]);
    host[kept] = '\0';
    return (size_t)snprintf(out, size, "%s://%s", name, host);
}
