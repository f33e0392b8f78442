#include <math.h>

#include "render/json_writer.h"
#include "roast/trend_tables.h"

static void put_runs(roast_json *json, const roast_trend_group *group) {
    roast_json_put_array(json, "runs");
    for (uint32_t i = 0; i < group->n_runs; i++) {
        roast_json_begin_object(json);
        roast_json_put_str(json, "name", group->runs[i]->name);
        roast_json_key(json, "when");
        roast_json_time(json, group->runs[i]->when);
        roast_json_put_real(json, "value", group->runs[i]->value);
        roast_json_end_object(json);
    }
    roast_json_end_array(json);
}

static void put_causes(roast_json *json, const roast_trend_level *level) {
    roast_json_put_array(json, "changed");
    for (uint32_t i = 0; i < level->n_causes; i++) {
        const roast_trend_cause *cause = &level->causes[i];
        roast_json_begin_object(json);
        roast_json_put_text(json, "what", roast_trend_fact_name(cause->fact));
        roast_json_put_str(json, "before", cause->before);
        roast_json_put_str(json, "after", cause->after);
        roast_json_put_int(json, "runs_away", cause->away);
        roast_json_end_object(json);
    }
    roast_json_end_array(json);
}

static void put_changes(roast_json *json, const roast_trend_group *group) {
    roast_json_put_array(json, "changes");
    for (uint32_t i = 1; i < group->n_levels; i++) {
        const roast_trend_level *before = &group->levels[i - 1], *after = &group->levels[i];
        roast_json_begin_object(json);
        roast_json_put_int(json, "run", after->first);
        roast_json_put_str(json, "name", group->runs[after->first]->name);
        roast_json_key(json, "when");
        roast_json_time(json, group->runs[after->first]->when);
        roast_json_put_real(json, "before", before->median);
        roast_json_put_real(json, "after", after->median);
        if (before->median != 0)
            roast_json_put_real(json, "change",
                                (after->median - before->median) / fabs(before->median));
        roast_json_put_real(json, "p", after->p);
        put_causes(json, after);
        roast_json_end_object(json);
    }
    roast_json_end_array(json);
}

static void put_levels(roast_json *json, const roast_trend_group *group) {
    roast_json_put_array(json, "levels");
    for (uint32_t i = 0; i < group->n_levels; i++) {
        roast_json_begin_object(json);
        roast_json_put_int(json, "first", group->levels[i].first);
        roast_json_put_int(json, "runs", group->levels[i].count);
        roast_json_put_real(json, "median", group->levels[i].median);
        roast_json_end_object(json);
    }
    roast_json_end_array(json);
}

static void put_group(roast_json *json, const roast_trend_group *group) {
    roast_json_begin_object(json);
    roast_json_put_str(json, "processor", group->processor);
    roast_json_put_str(json, "datasets", group->datasets);
    if (!isnan(group->least_events)) {
        roast_json_put_int(json, "least_events", (int64_t)group->least_events);
        roast_json_put_int(json, "most_events", (int64_t)group->most_events);
    }
    put_changes(json, group);
    put_levels(json, group);
    put_runs(json, group);
    roast_json_end_object(json);
}

void roast_trend_json(const roast_trend *trend, roast_sink *sink) {
    char headline[ROAST_TREND_HEADLINE];
    roast_json json;
    roast_trend_headline(trend, headline, sizeof headline);
    roast_json_init(&json, sink, 4);
    roast_json_begin_object(&json);
    roast_json_put_text(&json, "headline", headline);
    roast_json_put_text(&json, "metric", roast_trend_metric(trend)->key);
    roast_json_put_text(&json, "unit", roast_trend_metric(trend)->unit);
    roast_json_put_real(&json, "error_rate", roast_trend_error_rate(trend));
    roast_json_put_int(&json, "least_runs", roast_trend_least_runs(trend));
    roast_json_put_array(&json, "groups");
    for (uint32_t i = 0; i < roast_trend_group_count(trend); i++)
        put_group(&json, roast_trend_group_at(trend, i));
    roast_json_end_array(&json);
    roast_json_put_object(&json, "left_out");
    for (int i = 0; i < ROAST_LEFT_COUNT; i++)
        roast_json_put_int(&json, roast_trend_left_name((roast_trend_left)i),
                           roast_trend_left_out(trend, (roast_trend_left)i));
    roast_json_end_object(&json);
    roast_json_end_object(&json);
    roast_json_end(&json);
}
