#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "roast/text.h"
#include "runs/found.h"

/* ---- keys ---- */

const char *roast_found_key_name(int key) {
    static const char *const texts[] = {
#define X(name) #name,
        ROAST_FOUND_TEXTS(X)
#undef X
    };
    return key < ROAST_FOUND_FIGURE_COUNT ? roast_found_figures[key].name
                                          : texts[key - ROAST_FOUND_FIGURE_COUNT];
}

int roast_found_key(roast_str name) {
    int key = 0;
    while (key < ROAST_FOUND_KEYS &&
           !roast_str_equal(name, roast_str_of(roast_found_key_name(key))))
        key++;
    return key;
}

void roast_found_key_hint(roast_str name, char out[ROAST_FOUND_HINT]) {
    roast_nearest nearest;
    roast_nearest_init(&nearest, name);
    size_t used = (size_t)snprintf(out, ROAST_FOUND_HINT, "there are");
    for (int key = 0; key < ROAST_FOUND_KEYS; key++) {
        const char *known = roast_found_key_name(key);
        roast_nearest_offer(&nearest, roast_str_of(known));
        if (used < ROAST_FOUND_HINT)
            used += (size_t)snprintf(out + used, ROAST_FOUND_HINT - used, " %s", known);
    }
    if (nearest.found.data != NULL)
        snprintf(out, ROAST_FOUND_HINT, "did you mean \"%.*s\"?", (int)nearest.found.len,
                 nearest.found.data);
}

const char *roast_found_text(const roast_found_entry *entry, int key) {
    switch (key) {
    case ROAST_FOUND_BY_name:
        return entry->name;
    case ROAST_FOUND_BY_outcome:
        return roast_found_outcome(entry);
    case ROAST_FOUND_BY_executor:
        return entry->facts[ROAST_FACT_executor];
    case ROAST_FOUND_BY_config:
        return entry->config;
    case ROAST_FOUND_BY_state:
        return roast_found_state(entry)[0] != '\0' ? roast_found_state(entry) : "finished";
    case ROAST_FOUND_BY_processor:
        return entry->processor;
    default:
        return NULL;
    }
}

/* ---- filters ---- */

/* The longer ones first. */
static const struct {
    const char *sign;
    unsigned test;
} signs[] = {
    {">=", ROAST_TEST_MORE | ROAST_TEST_EQUAL},
    {"<=", ROAST_TEST_LESS | ROAST_TEST_EQUAL},
    {"!=", ROAST_TEST_LESS | ROAST_TEST_MORE},
    {">", ROAST_TEST_MORE},
    {"<", ROAST_TEST_LESS},
    {"=", ROAST_TEST_EQUAL},
};

/* The test of a sign, and the length of the sign; 0: there is none. */
static unsigned find_sign(const char *at, size_t *len) {
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        *len = strlen(signs[i].sign);
        if (strncmp(at, signs[i].sign, *len) == 0)
            return signs[i].test;
    }
    return 0;
}

roast_status roast_found_filter_parse(const char *text, roast_found_filter *out,
                                      char hint[ROAST_FOUND_HINT], roast_error *err) {
    size_t key_len = strcspn(text, "<>=!"), sign_len;
    char *end;
    *out =
        (roast_found_filter){.key = ROAST_FOUND_BY_name, .test = ROAST_TEST_CONTAINS, .text = text};
    hint[0] = '\0';
    unsigned test = find_sign(text + key_len, &sign_len);
    if (test == 0)
        return ROAST_OK;
    out->test = test;
    out->key = roast_found_key((roast_str){text, key_len});
    if (out->key == ROAST_FOUND_KEYS) {
        roast_found_key_hint((roast_str){text, key_len}, hint);
        return roast_error_set(err, ROAST_EINVAL, "filter", -1, "no column has the name \"%.*s\"",
                               (int)key_len, text);
    }
    out->text = text + key_len + sign_len;
    if (out->key >= ROAST_FOUND_FIGURE_COUNT)
        return ROAST_OK;
    out->number = roast_number_read(out->text, &end);
    if (end != out->text && *end == '\0' && !isnan(out->number))
        return ROAST_OK;
    snprintf(hint, ROAST_FOUND_HINT, "a filter is KEY>VALUE, such as \"wall>60\"");
    return roast_error_set(err, ROAST_EINVAL, "filter", -1, "\"%s\" is no number", out->text);
}

static bool holds(unsigned test, int order) {
    return (test & (order < 0   ? ROAST_TEST_LESS
                    : order > 0 ? ROAST_TEST_MORE
                                : ROAST_TEST_EQUAL)) != 0;
}

static bool name_fits(const char *name, const char *pattern) {
    if (strpbrk(pattern, "*?[") != NULL)
        return fnmatch(pattern, name, 0) == 0;
    return strstr(name, pattern) != NULL;
}

/* Compares only as many characters as the filter has: "2026-11-15" means the whole day. */
static bool when_passes(const roast_found_filter *filter, const roast_found_entry *entry) {
    char text[ROAST_FOUND_TIME], wanted[ROAST_FOUND_TIME];
    if (!entry->have_when || roast_found_time(entry->when, text) == 0)
        return false;
    snprintf(wanted, sizeof wanted, "%s", filter->text);
    char *between = strchr(wanted, 'T');
    if (between != NULL)
        *between = ' ';
    return holds(filter->test, strncmp(text, wanted, strlen(wanted)));
}

static bool passes(const roast_found_filter *filter, const roast_found_entry *entry) {
    if (filter->test == ROAST_TEST_CONTAINS)
        return name_fits(entry->name, filter->text);
    if (filter->key == ROAST_FOUND_BY_when)
        return when_passes(filter, entry);
    if (filter->key >= ROAST_FOUND_FIGURE_COUNT) {
        const char *text = roast_found_text(entry, filter->key);
        return text != NULL && holds(filter->test, strcmp(text, filter->text));
    }
    double value = roast_value_number(entry->figures[filter->key]);
    return !isnan(value) &&
           holds(filter->test, (value > filter->number) - (value < filter->number));
}

/* ---- order ---- */

typedef struct order {
    int key;
    bool reverse;
} order;

static bool has_value(const roast_found_entry *entry, int key) {
    if (key == ROAST_FOUND_BY_when)
        return entry->have_when;
    return key >= ROAST_FOUND_FIGURE_COUNT ? roast_found_text(entry, key) != NULL
                                           : entry->figures[key].kind != ROAST_VALUE_NONE;
}

/* Below 0: `a` comes first. */
static int compare_values(const roast_found_entry *a, const roast_found_entry *b, int key) {
    if (key == ROAST_FOUND_BY_when)
        return (a->when.ns < b->when.ns) - (a->when.ns > b->when.ns);
    if (key >= ROAST_FOUND_FIGURE_COUNT)
        return strcmp(roast_found_text(a, key), roast_found_text(b, key));
    double first = roast_value_number(a->figures[key]);
    double second = roast_value_number(b->figures[key]);
    return (first < second) - (first > second);
}

static int compare(const void *first, const void *second, void *context) {
    const roast_found_entry *a = first, *b = second;
    const order *by = context;
    bool has_a = has_value(a, by->key), has_b = has_value(b, by->key);
    if (!has_a || !has_b) {
        if (has_a != has_b)
            return has_a ? -1 : 1;
        return strcmp(a->path, b->path);
    }
    int result = compare_values(a, b, by->key);
    if (result == 0)
        return strcmp(a->path, b->path);
    return by->reverse ? -result : result;
}

static void drop(roast_found *found, size_t index) {
    found->entries[index] = found->entries[--found->count];
}

void roast_found_keep(roast_found *found, const roast_found_filter *filters, size_t n_filters) {
    for (size_t i = found->count; i-- > 0;)
        for (size_t f = 0; f < n_filters; f++)
            if (!passes(&filters[f], &found->entries[i])) {
                drop(found, i);
                break;
            }
}

void roast_found_sort(roast_found *found, int key, bool reverse, size_t limit) {
    order by = {key, reverse};
    if (found->count > 1)
        qsort_r(found->entries, found->count, sizeof *found->entries, compare, &by);
    if (found->count > limit)
        found->count = limit;
}
