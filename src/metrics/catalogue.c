#include "metrics/catalogue.h"

#include <pthread.h>
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

/* All aliases with a terminator behind each, so that one can be handed out: the blanks between
 * those of one row are replaced once. */
static char alias_names[] =
#define ROAST_METRIC(id, key, aliases, type, scope, unit, group, label, formula, caveat)           \
    aliases "\0"
#include "metrics/catalogue.def"
#undef ROAST_METRIC
    ;
static pthread_once_t aliases_split = PTHREAD_ONCE_INIT;

static void split_aliases(void) {
    for (size_t i = 0; i < sizeof alias_names; i++) {
        if (alias_names[i] == ' ')
            alias_names[i] = '\0';
    }
}

const char *roast_catalogue_nearest(const char *key) {
    pthread_once(&aliases_split, split_aliases);
    roast_nearest nearest;
    roast_nearest_init(&nearest, roast_str_of(key));
    const char *alias = alias_names;
    for (uint32_t i = 0; i < ROAST_M_COUNT; i++) {
        roast_nearest_offer(&nearest, roast_str_of(rows[i].key));
        const char *row_end = alias + strlen(rows[i].aliases) + 1;
        for (; alias < row_end; alias += strlen(alias) + 1)
            roast_nearest_offer(&nearest, roast_str_of(alias));
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
        [ROAST_IN_METRICS] = "metrics",
        [ROAST_IN_CHUNK] = "chunk",
        [ROAST_IN_SERIES] = "series",
        [ROAST_IN_TABLE] = "table",
    };
    return (size_t)scope < sizeof names / sizeof *names ? names[scope] : "unknown";
}
