#include "ls.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roast/text.h"

/* ---- keys ---- */

static const char *key_name(int key) {
    static const char *const others[] = {"name", "when", "outcome"};
    return key < FOUND_FIGURE_COUNT ? found_figures[key].name : others[key - LS_BY_NAME];
}

int ls_key(const char *name, size_t len) {
    int key = 0;
    while (key < LS_KEYS &&
           !(strlen(key_name(key)) == len && memcmp(key_name(key), name, len) == 0))
        key++;
    return key;
}

cli_exit ls_fail_key(const char *name, size_t len) {
    char next[160];
    roast_nearest nearest;
    roast_nearest_init(&nearest, (roast_str){name, len});
    size_t used = (size_t)snprintf(next, sizeof next, "there are");
    for (int key = 0; key < LS_KEYS; key++) {
        roast_nearest_offer(&nearest, roast_str_of(key_name(key)));
        used += (size_t)snprintf(next + used, sizeof next - used, " %s", key_name(key));
    }
    if (nearest.found.data != NULL)
        snprintf(next, sizeof next, "did you mean \"%.*s\"?", (int)nearest.found.len,
                 nearest.found.data);
    return cli_fail(CLI_USAGE, next, "no column has the name \"%.*s\"", (int)len, name);
}

/* ---- filters ---- */

/* The longer ones first. */
static const struct {
    const char *sign;
    unsigned test;
} signs[] = {
    {">=", LS_MORE | LS_EQUAL},
    {"<=", LS_LESS | LS_EQUAL},
    {"!=", LS_LESS | LS_MORE},
    {">", LS_MORE},
    {"<", LS_LESS},
    {"=", LS_EQUAL},
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

cli_exit ls_parse_filter(const char *text, ls_filter *out) {
    size_t key_len = strcspn(text, "<>=!"), sign_len;
    char *end;
    *out = (ls_filter){.key = LS_BY_NAME, .test = LS_CONTAINS, .text = text};
    unsigned test = find_sign(text + key_len, &sign_len);
    if (test == 0)
        return CLI_OK;
    out->test = test;
    out->key = ls_key(text, key_len);
    if (out->key == LS_KEYS)
        return ls_fail_key(text, key_len);
    out->text = text + key_len + sign_len;
    if (out->key >= FOUND_FIGURE_COUNT)
        return CLI_OK;
    out->number = strtod(out->text, &end);
    if (end != out->text && *end == '\0' && !isnan(out->number))
        return CLI_OK;
    return cli_fail(CLI_USAGE, "a filter is KEY>VALUE, such as \"wall>60\"", "\"%s\" is no number",
                    out->text);
}

static bool holds(unsigned test, int order) {
    return (test & (order < 0 ? LS_LESS : order > 0 ? LS_MORE : LS_EQUAL)) != 0;
}

static bool name_fits(const char *name, const char *pattern) {
    if (strpbrk(pattern, "*?[") != NULL)
        return fnmatch(pattern, name, 0) == 0;
    return strstr(name, pattern) != NULL;
}

/* Compares only as many characters as the filter has: "2026-11-15" means the whole day. */
static bool when_passes(const ls_filter *filter, const found_entry *entry) {
    char text[FOUND_TIME_SIZE], wanted[FOUND_TIME_SIZE];
    if (!entry->have_when || found_time(entry->when, text) == 0)
        return false;
    snprintf(wanted, sizeof wanted, "%s", filter->text);
    char *between = strchr(wanted, 'T');
    if (between != NULL)
        *between = ' ';
    return holds(filter->test, strncmp(text, wanted, strlen(wanted)));
}

bool ls_passes(const ls_filter *filter, const found_entry *entry) {
    if (filter->test == LS_CONTAINS)
        return name_fits(entry->name, filter->text);
    if (filter->key == LS_BY_NAME)
        return holds(filter->test, strcmp(entry->name, filter->text));
    if (filter->key == LS_BY_WHEN)
        return when_passes(filter, entry);
    if (filter->key == LS_BY_OUTCOME)
        return found_outcome(entry) != NULL &&
               holds(filter->test, strcmp(found_outcome(entry), filter->text));
    double value = roast_value_number(entry->figures[filter->key]);
    return !isnan(value) &&
           holds(filter->test, (value > filter->number) - (value < filter->number));
}

/* ---- order ---- */

typedef struct order {
    int key;
    bool reverse;
} order;

static bool has_value(const found_entry *entry, int key) {
    if (key == LS_BY_NAME)
        return true;
    if (key == LS_BY_OUTCOME)
        return found_outcome(entry) != NULL;
    return key == LS_BY_WHEN ? entry->have_when : entry->figures[key].kind != ROAST_VALUE_NONE;
}

/* Below 0: `a` comes first. */
static int compare_values(const found_entry *a, const found_entry *b, int key) {
    if (key == LS_BY_NAME)
        return strcmp(a->name, b->name);
    if (key == LS_BY_OUTCOME)
        return strcmp(found_outcome(a), found_outcome(b));
    if (key == LS_BY_WHEN)
        return (a->when.ns < b->when.ns) - (a->when.ns > b->when.ns);
    double first = roast_value_number(a->figures[key]);
    double second = roast_value_number(b->figures[key]);
    return (first < second) - (first > second);
}

static int compare(const void *first, const void *second, void *context) {
    const found_entry *a = first, *b = second;
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

void ls_sort(found_list *list, int key, bool reverse) {
    order by = {key, reverse};
    if (list->count > 1)
        qsort_r(list->entries, list->count, sizeof *list->entries, compare, &by);
}
