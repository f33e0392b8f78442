#include "metrics/catalogue.h"

#include <string.h>

#include "roast/text.h"

static const roast_metric_info rows[] = {
#define ROAST_METRIC(id, key, aliases, type, scope, unit, group, label, formula, caveat)           \
    [ROAST_M_##id] = {key,     aliases, ROAST_TYPE_##type, ROAST_IN_##scope, unit, group, label,   \
                      formula, caveat},
#include "metrics/catalogue.def"
#undef ROAST_METRIC
};

uint32_t roast_catalogue_count(void) {
    return ROAST_M_COUNT;
}

const roast_metric_info *roast_catalogue_at(uint32_t index) {
    return index < ROAST_M_COUNT ? &rows[index] : NULL;
}

bool roast_catalogue_is_scalar(uint32_t index) {
    return index < ROAST_M_COUNT && rows[index].scope == ROAST_IN_METRICS &&
           (rows[index].type == ROAST_TYPE_INT || rows[index].type == ROAST_TYPE_REAL);
}

bool roast_metric_name(const roast_metric_info *info, uint32_t index,
                       char out[ROAST_MAX_METRIC_NAME]) {
    const char *word = index == 0 ? info->key : info->aliases;
    for (uint32_t skipped = 1; skipped < index && *word != '\0'; skipped++) {
        word += strcspn(word, " ");
        word += *word == ' ';
    }
    size_t len = strcspn(word, " ");
    if (len == 0 || len >= ROAST_MAX_METRIC_NAME)
        return false;
    memcpy(out, word, len);
    out[len] = '\0';
    return true;
}

/* Whether `name` is one of the words of `list`. */
static bool has_word(const char *list, const char *name) {
    size_t len = strlen(name);
    for (const char *word = list; *word != '\0';) {
        size_t word_len = strcspn(word, " ");
        if (word_len == len && memcmp(word, name, len) == 0)
            return true;
        word += word_len;
        word += *word == ' ';
    }
    return false;
}

const roast_metric_info *roast_catalogue_find(const char *key, uint32_t *index) {
    if (key == NULL)
        return NULL;
    for (uint32_t i = 0; i < ROAST_M_COUNT; i++) {
        if (strcmp(rows[i].key, key) == 0 || has_word(rows[i].aliases, key)) {
            if (index != NULL)
                *index = i;
            return &rows[i];
        }
    }
    return NULL;
}

/* ---- the nearest name ---- */

const char *roast_catalogue_nearest(const char *key) {
    static _Thread_local char best[ROAST_MAX_METRIC_NAME];
    char name[ROAST_MAX_METRIC_NAME];
    roast_nearest nearest;
    roast_nearest_init(&nearest, roast_str_of(key));
    for (uint32_t i = 0; i < ROAST_M_COUNT; i++) {
        for (uint32_t n = 0; roast_metric_name(&rows[i], n, name); n++) {
            roast_nearest_offer(&nearest, roast_str_of(name));
            if (nearest.found.data == name)
                nearest.found.data = memcpy(best, name, sizeof best);
        }
    }
    return nearest.found.data;
}

/* ---- words ---- */

const char *roast_metric_type_name(roast_metric_type type) {
    static const char *const names[] = {
        [ROAST_TYPE_INT] = "integer", [ROAST_TYPE_REAL] = "real",   [ROAST_TYPE_TEXT] = "text",
        [ROAST_TYPE_LIST] = "list",   [ROAST_TYPE_TABLE] = "table",
    };
    return (size_t)type < sizeof names / sizeof *names ? names[type] : "unknown";
}

const char *roast_metric_scope_name(roast_metric_scope scope) {
    static const char *const names[] = {
        [ROAST_IN_METRICS] = "metrics", [ROAST_IN_CHUNK] = "chunk", [ROAST_IN_SERIES] = "series",
        [ROAST_IN_TABLE] = "table",     [ROAST_IN_LIVE] = "live",
    };
    return (size_t)scope < sizeof names / sizeof *names ? names[scope] : "unknown";
}
