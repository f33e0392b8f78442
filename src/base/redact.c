#include "base/redact.h"

#include <string.h>

/* ---- letters ---- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c) {
    return lower(c) >= 'a' && lower(c) <= 'z';
}

static bool is_word(char c) {
    return is_letter(c) || is_digit(c) || c == '_';
}

/* Of a name that stands before its value: X-Amz-Signature, --password, xrdcl.unzip. */
static bool is_name(char c) {
    return is_word(c) || c == '-' || c == '.';
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static bool is_quote(char c) {
    return c == '"' || c == '\'' || c == '`';
}

static bool is_any_of(char c, const char *set) {
    return c != '\0' && strchr(set, c) != NULL;
}

/* Whether `text` begins with `front`, which is in small letters; their case does not count. */
static bool begins(roast_str text, const char *front) {
    size_t i = 0;
    for (; front[i] != '\0'; i++)
        if (i == text.len || lower(text.data[i]) != front[i])
            return false;
    return true;
}

static bool is_same(roast_str text, const char *other) {
    return text.len == strlen(other) && begins(text, other);
}

static roast_str after(roast_str text, size_t count) {
    return (roast_str){text.data + count, text.len - count};
}

/* ---- names of secrets ---- */

/* Words that are also used in prose: "signature: f(x)". */
static bool is_doubtful(roast_str name) {
    static const char *const names[] = {"pwd", "pw", "auth", "jwt", "signature"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_same(name, names[i]))
            return true;
    return false;
}

/* "access_token", but neither "max_tokens" nor "tokenizer" */
static bool has_token(roast_str name) {
    for (; name.len > 0; name = after(name, 1))
        if (begins(name, "token") && !begins(after(name, 5), "s") && !begins(after(name, 5), "iz"))
            return true;
    return false;
}

bool roast_is_secret_name(roast_str name) {
    static const char *const parts[] = {
        "password",      "passwd",     "passphrase", "passcode",    "secret",
        "credential",    "authz",      "apikey",     "accesskey",   "authorization",
        "privatekey",    "accountkey", "signingkey", "sharedkey",   "bearer",
        "encryptionkey", "cookie",     "sessionid",  "amzsignature"};
    char plain[64]; /* its letters and digits */
    size_t len = 0;
    for (size_t i = 0; i < name.len && len < sizeof plain; i++)
        if (is_letter(name.data[i]) || is_digit(name.data[i]))
            plain[len++] = lower(name.data[i]);
    if (is_doubtful((roast_str){plain, len}))
        return true;
    for (size_t at = 0; at < len; at++)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            if (begins((roast_str){plain + at, len - at}, parts[i]))
                return true;
    return has_token((roast_str){plain, len});
}

/* ---- one text ---- */

typedef struct redactor {
    roast_str in;
    size_t at; /* of the byte to be read next */
    char *out;
    size_t written; /* never more than `at`, so that `out` may be the text itself */
    char before;    /* the byte that was read last */
    bool is_name;   /* the whole text is the name of a file */
    /* The address that is being read; its end is 0 where there is none. */
    size_t end;
    size_t last_user; /* behind its last '@' */
} redactor;

static roast_str rest_of(const redactor *r) {
    return after(r->in, r->at);
}

static void copy_to(redactor *r, size_t end) {
    size_t count = end - r->at;
    if (count == 0)
        return;
    r->before = r->in.data[end - 1];
    memmove(r->out + r->written, r->in.data + r->at, count);
    r->written += count;
    r->at = end;
}

static void drop_to(redactor *r, size_t end) {
    r->at = end;
}

/* In place of what is left out. */
static const char hidden[] = "***";

static void hide_to(redactor *r, size_t end) {
    for (size_t i = 0; i < end - r->at && hidden[i] != '\0'; i++)
        r->out[r->written++] = hidden[i];
    r->before = '*';
    r->at = end;
}

/* Whether a quoted text ends here: a quote, or one with a backslash. */
static bool closes(const redactor *r, size_t at) {
    const char *c = r->in.data + at;
    return is_quote(*c) || (*c == '\\' && at + 1 < r->in.len && is_quote(c[1]));
}

/* The next byte; a backslash and the quote or backslash behind it are one. */
static size_t next(const redactor *r, size_t at) {
    const char *c = r->in.data + at;
    return at + 1 + (*c == '\\' && at + 1 < r->in.len && (is_quote(c[1]) || c[1] == '\\'));
}

/* ---- addresses ---- */

static bool is_of_scheme(char c) {
    return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
}

/* "root://" */
static bool begins_address(roast_str text) {
    size_t len = 0;
    while (len < text.len && is_of_scheme(text.data[len]))
        len++;
    return len > 0 && begins(after(text, len), "://");
}

static bool ends_address(const redactor *r, size_t at) {
    char c = r->in.data[at];
    if (c == ':' && begins(after(r->in, at), "::") && begins_address(after(r->in, at + 2)))
        return true; /* of a chain: zip://events.root::https://host/all.zip */
    return !r->is_name && ((unsigned char)c <= ' ' || c == '<' || c == '>' || closes(r, at));
}

/* Finds the end of the address from here on. */
static void enter_address(redactor *r) {
    size_t at = r->at;
    r->last_user = 0;
    while (at < r->in.len && !ends_address(r, at)) {
        if (r->in.data[at] == '@')
            r->last_user = at + 1;
        at = next(r, at);
    }
    r->end = at < r->in.len ? at : r->in.len;
}

/* Whether a host has a "port" that is none: then it is the beginning of a user and a password with a slash in it. */
static bool is_cut_login(roast_str host) {
    const char *colon =
        host.len > 0 && host.data[0] != '[' ? memchr(host.data, ':', host.len) : NULL;
    for (size_t i = colon != NULL ? (size_t)(colon - host.data) + 1 : host.len; i < host.len; i++)
        if (!is_digit(host.data[i]))
            return true;
    return false;
}

static size_t host_end(const redactor *r, size_t at) {
    while (at < r->end && !is_any_of(r->in.data[at], "/?#"))
        at++;
    return at;
}

/* Behind "://" */
static void read_host(redactor *r) {
    size_t end = host_end(r, r->at), user = end;
    while (user > r->at && r->in.data[user - 1] != '@')
        user--;
    if (r->last_user > user && is_cut_login((roast_str){r->in.data + user, end - user}))
        user = r->last_user;
    drop_to(r, user);
    copy_to(r, host_end(r, user));
}

static bool address(redactor *r) {
    if (!is_of_scheme(r->before) || !begins(rest_of(r), "://"))
        return false;
    copy_to(r, r->at + 3);
    if (r->at > r->end)
        enter_address(r);
    read_host(r);
    return true;
}

/* Names of parameters that say which file is meant, or how to read it, and never hold a secret. */
static bool is_harmless(roast_str parameter) {
    static const char *const names[] = {"path",      "file",       "files",    "filename", "lfn",
                                        "versionid", "generation", "svcclass", "filetype"};
    const char *equals = memchr(parameter.data, '=', parameter.len);
    roast_str name = {parameter.data,
                      equals != NULL ? (size_t)(equals - parameter.data) : parameter.len};
    bool listed = begins(name, "xrdcl.");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        listed = listed || is_same(name, names[i]);
    for (size_t i = name.len + 1; listed && i < parameter.len; i++)
        listed = is_word(parameter.data[i]) || is_any_of(parameter.data[i], "-./~+,%");
    return listed && equals != NULL;
}

/* From '?' or '#' to the end of the address: the harmless parameters stay. A text tells that there were others; a name
 * does not, as they change from day to day. */
static bool query(redactor *r) {
    char c = r->in.data[r->at], joint = '?';
    size_t dropped = 0;
    if (r->at >= r->end ||
        !(c == '?' || (c == '#' && memchr(r->in.data + r->at, '=', r->end - r->at))))
        return false;
    while (r->at < r->end) {
        size_t end = r->at + 1;
        while (end < r->end && !is_any_of(r->in.data[end], "?&;#"))
            end++;
        roast_str parameter = {r->in.data + r->at + 1, end - r->at - 1};
        if (is_harmless(parameter)) {
            memmove(r->out + r->written + 1, parameter.data, parameter.len);
            r->out[r->written] = joint;
            r->written += parameter.len + 1;
            joint = '&';
        } else {
            dropped += end - r->at;
        }
        r->at = end;
    }
    r->before = '&';
    if (!r->is_name && dropped > 0) {
        r->out[r->written++] = joint;
        r->at -= dropped - 1;
        hide_to(r, r->end);
    }
    return true;
}

/* ---- tokens ---- */

static bool is_of_token(char c) {
    return is_word(c) || is_any_of(c, "-.~+/=");
}

static size_t token_end(const redactor *r, size_t at) {
    while (at < r->in.len && is_of_token(r->in.data[at]))
        at++;
    return at;
}

/* Words have capitals at most at their beginning, and no digits. */
static bool is_a_word(roast_str token) {
    for (size_t i = 0; i < token.len; i++)
        if (is_digit(token.data[i]) || token.data[i] == '=' ||
            (i > 0 && token.data[i] >= 'A' && token.data[i] <= 'Z'))
            return false;
    return true;
}

/* "Bearer abc123" */
static size_t scheme_of_login(roast_str text) {
    static const char *const schemes[] = {"bearer", "basic", "negotiate"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t len = strlen(schemes[i]);
        if (begins(text, schemes[i]) && len < text.len && is_blank(text.data[len]))
            return len + 1;
        if (begins(text, schemes[i]) && begins(after(text, len), "%20"))
            return len + 3;
    }
    return 0;
}

static bool login(redactor *r) {
    size_t front = scheme_of_login(rest_of(r)), end = token_end(r, r->at + front);
    roast_str token = {r->in.data + r->at + front, end - r->at - front};
    if (r->is_name || front == 0 || token.len < 8 || is_a_word(token))
        return false;
    copy_to(r, r->at + front);
    hide_to(r, end);
    return true;
}

/* Tokens that are known by their beginning. */
static const struct {
    const char *front;
    const char *others; /* what they have besides digits and capitals; 'a' for small letters */
    size_t least;       /* bytes in all */
} tokens[] = {
    {"eyJ", "a-_.", 20}, {"ghp_", "a", 20},   {"gho_", "a", 20},         {"ghu_", "a", 20},
    {"ghs_", "a", 20},   {"ghr_", "a", 20},   {"github_pat_", "a_", 30}, {"glpat-", "a-_", 20},
    {"AKIA", "", 20},    {"ASIA", "", 20},    {"AIza", "a-_", 35},       {"pypi-", "a-_", 40},
    {"xoxb-", "a-", 20}, {"xoxp-", "a-", 20}, {"MDAx", "a-_=", 40},      {"ya29.", "a-_", 20},
};

static size_t body_end(roast_str text, size_t at, const char *others) {
    bool small = others[0] == 'a';
    while (at < text.len) {
        char c = text.data[at];
        bool letter = small ? is_letter(c) : c >= 'A' && c <= 'Z';
        if (!letter && !is_digit(c) && !is_any_of(c, others))
            break;
        at++;
    }
    return at;
}

static bool known_token(redactor *r) {
    roast_str text = rest_of(r);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        if (text.len < tokens[i].least || text.data[0] != tokens[i].front[0])
            continue;
        size_t len = strlen(tokens[i].front);
        if (memcmp(text.data, tokens[i].front, len) != 0)
            continue;
        len = body_end(text, len, tokens[i].others);
        if (len < tokens[i].least || begins(after(text, len), "://"))
            continue;
        hide_to(r, r->at + len);
        return true;
    }
    return false;
}

/* "-----BEGIN RSA PRIVATE KEY-----" and what follows, to "-----END" or the end of the text, also of a quoted one. */
static bool private_key(redactor *r) {
    enum { LONGEST = 64 };
    static const char words[] = "private key-----", mark[] = "-----end";
    if (!begins(rest_of(r), "-----begin "))
        return false;
    size_t at = r->at + 11, limit = at + LONGEST < r->in.len ? at + LONGEST : r->in.len;
    while (at < limit && !begins(after(r->in, at), words))
        at++;
    if (at == limit)
        return false;
    copy_to(r, at + sizeof words - 1);
    for (at = r->at; at < r->in.len && !begins(after(r->in, at), mark) && !closes(r, at);)
        at = next(r, at);
    hide_to(r, at);
    if (begins(rest_of(r), mark))
        copy_to(r, r->at + 5); /* or else it would begin a name */
    return true;
}

/* ---- values of names ---- */

typedef struct assignment {
    roast_str name;
    char quote; /* in front of the name and, if it is `closed`, behind it; 0: none */
    bool closed;
    bool after_colon;
    size_t value, end; /* without quotes */
} assignment;

static size_t skip_blanks(const redactor *r, size_t at) {
    while (at < r->in.len && is_blank(r->in.data[at]))
        at++;
    return at;
}

static bool is_option(roast_str name) {
    return name.len > 2 && name.data[0] == '-';
}

/* Name and sign, up to the value; false: it is no assignment. */
static bool read_name(const redactor *r, assignment *a) {
    size_t end = r->at;
    while (end < r->in.len && is_name(r->in.data[end]))
        end++;
    *a = (assignment){.name = {r->in.data + r->at, end - r->at},
                      .quote = is_quote(r->before) ? r->before : '\0'};
    size_t at = end, mark = at + (at < r->in.len && r->in.data[at] == '\\');
    if (a->quote != '\0' && mark < r->in.len && r->in.data[mark] == a->quote) {
        a->closed = true;
        at = mark + 1;
    }
    size_t sign = skip_blanks(r, at);
    roast_str rest = after(r->in, sign);
    a->value = sign;
    if (rest.len < 2 || begins(rest, "::") || begins(rest, "://"))
        return false;
    if (is_option(a->name) && rest.data[0] != '=' && !a->closed)
        return sign > at && rest.data[0] != '-';
    if (rest.data[0] != '=' && rest.data[0] != ':' &&
        !(rest.data[0] == ',' && a->closed && is_option(a->name))) /* ["--password", "..."] */
        return false;
    a->after_colon = rest.data[0] == ':';
    while (a->value < r->in.len && is_any_of(r->in.data[a->value], "=:,"))
        a->value++;
    a->value = skip_blanks(r, a->value);
    return a->value < r->in.len;
}

/* From a value in quotes to its end. */
static void read_quoted(const redactor *r, assignment *a, size_t quote) {
    bool escaped = r->in.data[quote] == '\\';
    char mark = r->in.data[quote + escaped];
    size_t at = a->value = quote + escaped + 1;
    while (at < r->in.len) {
        bool there =
            escaped ? at + 1 < r->in.len && r->in.data[at] == '\\' && r->in.data[at + 1] == mark
                    : r->in.data[at] == mark;
        if (there)
            break;
        at = next(r, at);
    }
    a->end = at < r->in.len ? at : r->in.len;
}

static bool is_of_value(const redactor *r, const assignment *a, size_t at) {
    char c = r->in.data[at];
    if (closes(r, at))
        return false;
    if (a->quote != '\0' && !a->closed) /* 'password=all of this' */
        return true;
    return (unsigned char)c > ' ' && !is_any_of(c, r->is_name ? "&;#?" : ",;&<>)]}");
}

static void read_plain(const redactor *r, assignment *a) {
    bool line = begins(a->name, "authorization") || begins(a->name, "cookie") ||
                begins(a->name, "set-cookie");
    size_t front = scheme_of_login(after(r->in, a->value));
    size_t at = skip_blanks(r, a->value + front);
    while (at < r->in.len &&
           (is_of_value(r, a, at) || (line && !closes(r, at) && r->in.data[at] != '\n')))
        at = next(r, at);
    a->end = at < r->in.len ? at : r->in.len;
}

/* Where the value of a name begins: "b'...'" is a quoted one. */
static void read_value(const redactor *r, assignment *a) {
    bool within = a->quote != '\0' && !a->closed; /* then a quote is the end */
    size_t quote = a->value + (begins(after(r->in, a->value), "b") && a->value + 1 < r->in.len);
    if (!within && closes(r, quote))
        read_quoted(r, a, quote);
    else
        read_plain(r, a);
}

/* Words that are no secret; and in JSON, what is no text. */
static bool tells_nothing(const redactor *r, const assignment *a) {
    static const char *const words[] = {"none", "true", "false", "null", "..."};
    roast_str value = {r->in.data + a->value, a->end - a->value};
    bool bare = !is_quote(r->in.data[a->value - 1]);
    if (value.len == 0 ||
        (a->closed && bare && (a->quote == '"' || is_any_of(value.data[0], "{["))))
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_same(value, words[i]))
            return true;
    return false;
}

static bool value_of_secret(redactor *r) {
    assignment a;
    if (r->is_name && !is_any_of(r->before, "?&;#"))
        return false;
    if (!read_name(r, &a))
        return false;
    bool secret = roast_is_secret_name(a.name) ||
                  (is_any_of(r->before, "?&") && is_same(a.name, "sig")) ||
                  (r->before == '\\' && roast_is_secret_name(after(a.name, 1))); /* "\npassword" */
    if (!secret || (a.after_colon && !a.closed && is_doubtful(a.name)))
        return false;
    read_value(r, &a);
    if (tells_nothing(r, &a))
        return false;
    copy_to(r, a.value);
    if (begins(rest_of(r), hidden)) /* by an earlier call */
        copy_to(r, r->at + strlen(hidden));
    else
        hide_to(r, a.end);
    return true;
}

/* ---- all of it ---- */

static bool step(redactor *r) {
    char c = r->in.data[r->at];
    if (c == ':')
        return address(r);
    if (c == '?' || c == '#')
        return query(r);
    if (c == '-' && r->before != '-' && private_key(r))
        return true;
    if (!is_name(c) || is_word(r->before))
        return false; /* in the middle of a word */
    if (is_letter(c) && (known_token(r) || login(r)))
        return true;
    return !is_name(r->before) && value_of_secret(r);
}

static size_t redact(roast_str text, char *out, bool is_name) {
    redactor r = {.in = text, .out = out, .is_name = is_name};
    while (r.at < text.len) {
        char c = text.data[r.at];
        if (!(is_word(c) && is_word(r.before)) && step(&r))
            continue;
        r.out[r.written++] = r.before = c;
        r.at++;
    }
    return r.written;
}

size_t roast_redact_name(roast_str name, char *out) {
    return redact(name, out, true);
}

size_t roast_redact_text(roast_str text, char *out) {
    return redact(text, out, false);
}

/* ---- in memory of the library ---- */

roast_status roast_redact_in(roast_buffer *room, roast_redactor *redact_it, roast_str *text) {
    if (text->data == NULL)
        return ROAST_OK;
    room->len = 0;
    ROAST_TRY(roast_buffer_reserve(room, text->len + 1)); /* an empty text is not the absent one */
    room->len = redact_it(*text, (char *)room->data);
    *text = (roast_str){(const char *)room->data, room->len};
    return ROAST_OK;
}

roast_status roast_arena_redacted(roast_arena *arena, roast_redactor *redact_it, roast_str text,
                                  roast_str *out) {
    ROAST_TRY(roast_arena_str(arena, text, out));
    if (out->data == NULL)
        return ROAST_OK;
    char *copy = (char *)out->data;
    out->len = redact_it(*out, copy);
    copy[out->len] = '\0';
    return ROAST_OK;
}
