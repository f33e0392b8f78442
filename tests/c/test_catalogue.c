/* The catalogue against the contract's keys, and its own good order. */
#include "support.h"

#include <ctype.h>

#include "roast/metrics.h"

#define KEYS_FILE "tests/data/contract_keys.txt"

enum { MAX_KEYS = 512, MAX_WORD = 96 };

/* "metrics wall_time", "table per_dataset num_chunks". */
typedef struct name {
    char text[3 * MAX_WORD];
} name;

typedef struct name_list {
    name names[MAX_KEYS];
    size_t count;
} name_list;

static name name_of(const char *scope, const char *table, const char *key) {
    name made;
    snprintf(made.text, sizeof made.text, "%s%s%s %s", scope, table[0] != '\0' ? " " : "", table,
             key);
    return made;
}

static void add_name(name_list *list, name added) {
    assert_true(list->count < MAX_KEYS);
    list->names[list->count++] = added;
}

static size_t count_of(const name_list *list, const char *wanted) {
    size_t found = 0;
    for (size_t i = 0; i < list->count; i++)
        found += strcmp(list->names[i].text, wanted) == 0;
    return found;
}

static void read_contract(name_list *list) {
    char line[256], first[MAX_WORD], second[MAX_WORD], third[MAX_WORD];
    FILE *file = fopen(KEYS_FILE, "r");
    if (file == NULL)
        fail_msg("%s: not found; the tests run from the repository's root", KEYS_FILE);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#')
            continue;
        int words = sscanf(line, "%95s %95s %95s", first, second, third);
        if (words == 2)
            add_name(list, name_of(first, "", second));
        else if (words == 3 && strcmp(first, "table") == 0)
            add_name(list, name_of(first, second, third));
        else
            fail_msg("%s: not understood: %s", KEYS_FILE, line);
    }
    fclose(file);
}

/* Key and aliases of every row. */
static void read_catalogue(name_list *list) {
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *row = roast_catalogue_at(i);
        const char *scope = roast_metric_scope_name(row->scope);
        const char *table = row->scope == ROAST_IN_TABLE ? row->group : "";
        char aliases[256], *rest = aliases;
        add_name(list, name_of(scope, table, row->key));
        snprintf(aliases, sizeof aliases, "%s", row->aliases);
        for (char *word; (word = strsep(&rest, " ")) != NULL;) {
            if (*word != '\0')
                add_name(list, name_of(scope, table, word));
        }
    }
}

static void expect_all_in(const name_list *names, const name_list *other, const char *what) {
    for (size_t i = 0; i < names->count; i++) {
        const char *text = names->names[i].text;
        if (count_of(other, text) == 0)
            fail_msg("%s: not in %s", text, what);
    }
}

static name_list contract, catalogue;

static void test_every_key_of_the_contract_has_a_row(void **state) {
    (void)state;
    assert_true(contract.count > 200);
    expect_all_in(&contract, &catalogue, "the catalogue");
}

static void test_every_name_is_in_the_contract(void **state) {
    (void)state;
    expect_all_in(&catalogue, &contract, KEYS_FILE);
}

static void test_names_are_unique_within_a_scope(void **state) {
    (void)state;
    const name_list *lists[] = {&contract, &catalogue};
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < lists[l]->count; i++) {
            const char *text = lists[l]->names[i].text;
            if (count_of(lists[l], text) != 1)
                fail_msg("%s: there twice", text);
        }
    }
}

/* Every series column of the model has a row with the same unit, and the other way round. */
static void test_series_agree_with_the_model(void **state) {
    (void)state;
    size_t series_rows = 0;
    for (uint32_t i = 0; i < roast_catalogue_count(); i++)
        series_rows += roast_catalogue_at(i)->scope == ROAST_IN_SERIES;
    assert_int_equal(ROAST_COLUMNS + 1, series_rows); /* and worker_counts */
    for (int column = 0; column < ROAST_COLUMNS; column++) {
        const roast_series_column_info *info = roast_series_column_at((roast_series_column)column);
        const roast_metric_info *row = roast_catalogue_find(info->key, NULL);
        assert_non_null(row);
        assert_int_equal(ROAST_IN_SERIES, row->scope);
        assert_string_equal(info->unit, row->unit);
    }
}

static bool is_unit(const char *unit) {
    static const char *const units[] = {
        "",     "1",   "s",  "µs",      "bytes",    "MB", "GB",    "bytes/s", "Gbit/s",
        "MB/s", "kHz", "Hz", "Hz/core", "kHz/core", "%",  "ratio", "×",
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(unit, units[i]) == 0)
            return true;
    }
    return false;
}

static void expect_sentence(const char *key, const char *text) {
    size_t len = strlen(text);
    if (isspace((unsigned char)text[0]) || text[len - 1] != '.' || strstr(text, "  ") != NULL ||
        strpbrk(text, "\n\t") != NULL)
        fail_msg("%s: not a tidy sentence: '%s'", key, text);
}

static void test_rows_are_complete(void **state) {
    (void)state;
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *row = roast_catalogue_at(i);
        assert_true(strlen(row->key) > 0 && strpbrk(row->key, " \t") == NULL);
        assert_true(strlen(row->label) > 0);
        assert_true(strlen(row->group) > 0);
        assert_true(strlen(row->formula) > 0);
        if (!is_unit(row->unit))
            fail_msg("%s: unit '%s' is not in the list", row->key, row->unit);
        bool number = row->type == ROAST_TYPE_INT || row->type == ROAST_TYPE_REAL;
        if (number && row->unit[0] == '\0')
            fail_msg("%s: a number without a unit", row->key);
        if (row->type == ROAST_TYPE_TEXT && row->unit[0] != '\0')
            fail_msg("%s: a text with a unit", row->key);
        expect_sentence(row->key, row->formula);
        if (row->caveat[0] != '\0')
            expect_sentence(row->key, row->caveat);
    }
}

/* A table's columns name a table that is there; numbers of the scope "metrics" all say what they
 * cannot tell. */
static void test_rows_fit_together(void **state) {
    (void)state;
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *row = roast_catalogue_at(i);
        if (row->scope == ROAST_IN_TABLE) {
            bool in_chunk = strncmp(row->group, "chunk.", 6) == 0;
            name table = in_chunk ? name_of("chunk", "", row->group + 6)
                                  : name_of("metrics", "", row->group);
            if (count_of(&catalogue, table.text) != 1)
                fail_msg("%s: there is no table %s", row->key, row->group);
        }
        bool number = row->type == ROAST_TYPE_INT || row->type == ROAST_TYPE_REAL;
        if (row->scope == ROAST_IN_METRICS && number && row->caveat[0] == '\0')
            fail_msg("%s: a metric without a caveat", row->key);
    }
}

static void test_find(void **state) {
    (void)state;
    uint32_t index = 999, alias_index = 999;
    const roast_metric_info *row = roast_catalogue_find("wall_time", &index);
    assert_non_null(row);
    assert_ptr_equal(row, roast_catalogue_at(index));
    assert_string_equal("s", row->unit);
    assert_ptr_equal(row, roast_catalogue_find("elapsed_time_seconds", &alias_index));
    assert_int_equal(index, alias_index);
    assert_null(roast_catalogue_find("wall", NULL));
    assert_null(roast_catalogue_find("wall_time ", NULL));
    assert_null(roast_catalogue_find("", NULL));
    assert_null(roast_catalogue_find(NULL, NULL));
    assert_null(roast_catalogue_at(roast_catalogue_count()));
    /* In several scopes: the run's own comes first. */
    assert_int_equal(ROAST_IN_METRICS, roast_catalogue_find("num_chunks", NULL)->scope);
    assert_int_equal(ROAST_IN_METRICS, roast_catalogue_find("sections", NULL)->scope);
    assert_int_equal(ROAST_IN_CHUNK, roast_catalogue_find("bytes_read", NULL)->scope);
}

static void test_nearest(void **state) {
    (void)state;
    assert_string_equal("wall_time", roast_catalogue_nearest("wall_tme"));
    assert_string_equal("wall_time", roast_catalogue_nearest("wall_time"));
    assert_string_equal("wall_time", roast_catalogue_nearest("wlal_tiem")); /* two swaps */
    assert_string_equal("elapsed_time_seconds", roast_catalogue_nearest("elapsd_time_second"));
    assert_string_equal("speedup", roast_catalogue_nearest("speedpu"));
    assert_string_equal("core_efficiency", roast_catalogue_nearest("core_eficency"));
    assert_string_equal("worker_cpu", roast_catalogue_nearest("workr_cpu"));
    assert_null(roast_catalogue_nearest("zzzzzzzzzzzz"));
    assert_null(roast_catalogue_nearest(""));
    assert_null(roast_catalogue_nearest(NULL));
    char longest[200];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(roast_catalogue_nearest(longest));
}

/* How far a slip may lead: at most two steps for short names, a third of the length for others. */
static void test_nearest_has_a_limit(void **state) {
    (void)state;
    assert_string_equal("thread", roast_catalogue_nearest("thre"));
    assert_null(
        roast_catalogue_nearest("thXYZ")); /* three steps from thread, and from all others */
    /* 21 letters, 7 of them wrong. */
    assert_string_equal("num_successful_chunks", roast_catalogue_nearest("num_XXXXXXXful_chunks"));
    assert_null(roast_catalogue_nearest("XXX_XXXXXful_chunks"));
    /* As near to chunk_events_min as to chunk_events_max: the row that comes first. */
    assert_string_equal("chunk_events_min", roast_catalogue_nearest("chunk_events_mix"));
    assert_string_equal("chunk_events_min", roast_catalogue_nearest("chunk_events_mXX"));
}

static void test_words(void **state) {
    (void)state;
    assert_string_equal("integer", roast_metric_type_name(ROAST_TYPE_INT));
    assert_string_equal("real", roast_metric_type_name(ROAST_TYPE_REAL));
    assert_string_equal("text", roast_metric_type_name(ROAST_TYPE_TEXT));
    assert_string_equal("list", roast_metric_type_name(ROAST_TYPE_LIST));
    assert_string_equal("table", roast_metric_type_name(ROAST_TYPE_TABLE));
    assert_string_equal("unknown", roast_metric_type_name((roast_metric_type)99));
    assert_string_equal("metrics", roast_metric_scope_name(ROAST_IN_METRICS));
    assert_string_equal("chunk", roast_metric_scope_name(ROAST_IN_CHUNK));
    assert_string_equal("series", roast_metric_scope_name(ROAST_IN_SERIES));
    assert_string_equal("table", roast_metric_scope_name(ROAST_IN_TABLE));
    assert_string_equal("live", roast_metric_scope_name(ROAST_IN_LIVE));
    assert_string_equal("unknown", roast_metric_scope_name((roast_metric_scope)99));
}

static int read_lists(void **state) {
    (void)state;
    read_contract(&contract);
    read_catalogue(&catalogue);
    return 0;
}

static void test_names_one_by_one(void **state) {
    (void)state;
    char text[ROAST_MAX_METRIC_NAME];
    const roast_metric_info *info = roast_catalogue_find("wall_time", NULL);
    assert_true(roast_metric_name(info, 0, text));
    assert_string_equal("wall_time", text);
    assert_true(roast_metric_name(info, 1, text));
    assert_string_equal("elapsed_time_seconds", text);
    assert_false(roast_metric_name(info, 2, text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_one_by_one),
        cmocka_unit_test(test_every_key_of_the_contract_has_a_row),
        cmocka_unit_test(test_every_name_is_in_the_contract),
        cmocka_unit_test(test_names_are_unique_within_a_scope),
        cmocka_unit_test(test_series_agree_with_the_model),
        cmocka_unit_test(test_rows_are_complete),
        cmocka_unit_test(test_rows_fit_together),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_nearest_has_a_limit),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, read_lists, NULL);
}
