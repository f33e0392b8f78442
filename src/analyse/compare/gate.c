/* Conditions under which a comparison fails: "wall_time>5%". */
#include <stdio.h>
#include <stdlib.h>

#include "analyse/compare/internal.h"
#include "base/number.h"

static const char where[] = "condition";

/* ---- the text ---- */

typedef struct condition {
    roast_str name;
    bool above;     /* '>' */
    double percent; /* the change beyond which it fails */
} condition;

static roast_status misread(roast_str text, roast_error *err) {
    return roast_error_set(
        err, ROAST_EINVAL, where, -1,
        "\"%.*s\" is no condition: write \"wall_time>5%%\", "
        "\"event_rate_core_khz<-3%%\", \"section:NAME>10%%\" or \"finding:KIND\"",
        (int)text.len, text.data);
}

static roast_status read_condition(roast_str text, condition *out, roast_error *err) {
    char number[64];
    size_t sign = 0;
    for (size_t i = 0; i < text.len; i++) /* the last one: a name may hold such a sign */
        if (text.data[i] == '<' || text.data[i] == '>')
            sign = i;
    if (sign == 0 || text.len < sign + 3 || text.len - sign > sizeof number ||
        text.data[text.len - 1] != '%')
        return misread(text, err);
    *out = (condition){{text.data, sign}, text.data[sign] == '>', 0};
    snprintf(number, sizeof number, "%.*s", (int)(text.len - sign - 2), text.data + sign + 1);
    char *end;
    out->percent = roast_number_read(number, &end);
    if (*end != '\0' || end == number || !isfinite(out->percent))
        return misread(text, err);
    return ROAST_OK;
}

static bool take_prefix(roast_str *name, const char *prefix) {
    size_t len = strlen(prefix);
    if (name->len < len || memcmp(name->data, prefix, len) != 0)
        return false;
    *name = (roast_str){name->data + len, name->len - len};
    return true;
}

/* ---- findings ---- */

static roast_status gate_finding(const roast_comparison *comparison, roast_str kind, bool *failed,
                                 char *why, roast_error *err) {
    int wanted = 0;
    while (
        wanted < ROAST_FINDING_KIND_COUNT &&
        !roast_str_equal(kind, roast_str_of(roast_finding_kind_name((roast_finding_kind)wanted))))
        wanted++;
    if (wanted == ROAST_FINDING_KIND_COUNT)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "there is no finding \"%.*s\"",
                               (int)kind.len, kind.data);
    *failed = false;
    snprintf(why, ROAST_GATE_TEXT, "no new finding %.*s", (int)kind.len, kind.data);
    for (size_t i = 0; i < comparison->n_findings; i++) {
        const roast_changed_finding *one = &comparison->findings[i];
        if ((int)one->kind != wanted || one->change == ROAST_FINDING_gone)
            continue;
        *failed = true;
        snprintf(why, ROAST_GATE_TEXT, "%s finding %.*s: %.*s",
                 roast_finding_change_name(one->change), (int)kind.len, kind.data,
                 (int)one->title.len, one->title.data);
    }
    return ROAST_OK;
}

/* ---- changes ---- */

static const roast_change *find_change(const roast_comparison *comparison, roast_str name) {
    const roast_changes *const lists[] = {&comparison->figures, &comparison->budget};
    const roast_metric_info *info = NULL;
    char key[ROAST_MAX_METRIC_NAME];
    if (name.len < sizeof key) {
        snprintf(key, sizeof key, "%.*s", (int)name.len, name.data);
        info = roast_catalogue_find(key, NULL);
    }
    for (int list = 0; list < 2; list++)
        for (size_t i = 0; i < lists[list]->count; i++) {
            const roast_change *one = &lists[list]->items[i];
            if (roast_str_equal(one->name, name) ||
                (info != NULL && one->kind == ROAST_CHANGE_metric &&
                 roast_str_equal(one->name, roast_str_of(info->key))))
                return one;
        }
    return NULL;
}

static roast_status find_section(const roast_comparison *comparison, roast_str name,
                                 roast_change *out, roast_error *err) {
    uint32_t id;
    *out = (roast_change){.kind = ROAST_CHANGE_section, .name = name, .a = NAN, .b = NAN};
    if (!roast_intern_find(&comparison->sections.names, name, &id))
        return roast_error_set(err, ROAST_EINVAL, where, -1, "no run has a section \"%.*s\"",
                               (int)name.len, name.data);
    const roast_cost_column columns[ROAST_SIDES] = {
        roast_column_of_section(comparison, ROAST_SIDE_A, id),
        roast_column_of_section(comparison, ROAST_SIDE_B, id)};
    return roast_comparison_ratio(comparison, columns, ROAST_NO_GROUP, ROAST_ALPHA, out) == ROAST_OK
               ? ROAST_OK
               : roast_error_set(err, ROAST_ENOMEM, where, -1, "no memory for a condition");
}

/* Without `strict` the whole interval must be on the wrong side of no change. */
static bool fails(const condition *wanted, const roast_change *change, bool strict) {
    double percent = (change->ratio - 1) * 100;
    bool beyond = wanted->above ? percent > wanted->percent : percent < wanted->percent;
    bool sure = change->verdict == (wanted->above ? ROAST_LIKELIHOOD_more : ROAST_LIKELIHOOD_less);
    return beyond && (strict || sure);
}

static void say_why(const condition *wanted, const roast_change *change, char *why) {
    char interval[96];
    if (change->verdict == ROAST_LIKELIHOOD_unknown)
        snprintf(interval, sizeof interval, "no interval: too few chunks or runs");
    else
        roast_number_print(interval, sizeof interval, "%+.1f%% to %+.1f%%%s",
                           (change->low - 1) * 100, (change->high - 1) * 100,
                           change->verdict == ROAST_LIKELIHOOD_chance ? ", which may be chance"
                                                                      : "");
    roast_number_print(why, ROAST_GATE_TEXT, "%.*s changed by %+.1f%% (%s); the limit is %+.1f%%",
                       (int)wanted->name.len, wanted->name.data, (change->ratio - 1) * 100,
                       interval, wanted->percent);
}

roast_status roast_comparison_gate(const roast_comparison *comparison, roast_str text, bool strict,
                                   bool *failed, char why[ROAST_GATE_TEXT], roast_error *err) {
    condition wanted = {0};
    roast_change section;
    roast_str name = text;
    if (take_prefix(&name, "finding:"))
        return gate_finding(comparison, name, failed, why, err);
    ROAST_TRY(read_condition(text, &wanted, err));
    name = wanted.name;
    const roast_change *change = &section;
    if (take_prefix(&name, "section:"))
        ROAST_TRY(find_section(comparison, name, &section, err));
    else
        change = find_change(comparison, name);
    if (change == NULL || isnan(change->ratio))
        return roast_error_set(
            err, ROAST_EINVAL, where, -1,
            "\"%.*s\" is not compared: no such figure was measured on both sides",
            (int)wanted.name.len, wanted.name.data);
    *failed = fails(&wanted, change, strict);
    say_why(&wanted, change, why);
    return ROAST_OK;
}
