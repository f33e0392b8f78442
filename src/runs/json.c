/* The list for programs. */
#include "roast/found.h"
#include "roast/json.h"

static void put_json_entry(roast_json *json, const roast_found_entry *entry) {
    roast_json_begin_object(json);
    roast_json_put_text(json, "path", entry->path);
    roast_json_put_text(json, "name", entry->name);
    roast_json_put_text(json, "state", roast_found_text(entry, ROAST_FOUND_BY_state));
    if (entry->have_when) {
        roast_json_key(json, "when");
        roast_json_time(json, entry->when);
    }
    roast_json_put_text(json, "outcome", roast_found_outcome(entry));
    for (int i = 0; i < ROAST_FOUND_FIGURE_COUNT; i++)
        roast_json_put_value(json, roast_found_figures[i].key, entry->figures[i]);
    roast_json_put_text(json, "executor", entry->facts[ROAST_FACT_executor]);
    roast_json_put_text(json, "processor", entry->processor);
    roast_json_put_text(json, "config", entry->config);
    roast_json_put_text(json, "error", entry->fault);
    roast_json_end_object(json);
}

void roast_found_json(roast_found *found, roast_sink *out) {
    const roast_found_list list = roast_found_all(found);
    roast_json json;
    roast_json_init(&json, out, 2);
    roast_json_begin_array(&json);
    for (size_t i = 0; i < list.count; i++)
        put_json_entry(&json, &list.entries[i]);
    roast_json_end_array(&json);
    roast_json_end(&json);
}
