#include <string.h>

#include "fuzz.h"
#include "runs/found.h"

static size_t length_of(const char *text) {
    return text != NULL ? strlen(text) : 0;
}

/* Whatever the text is, all that was taken of it can be read. */
static bool decode(const uint8_t *data, size_t size) {
    const roast_found_wanted wanted = {.metric = "wall_time", .facts = true};
    roast_found *found;
    roast_found_entry entry = {.name = ""};
    bool whole = false;
    size_t sum = 0;
    if (roast_found_new(&found, NULL) != ROAST_OK)
        return false;
    roast_status status = roast_found_take(found, &entry, (roast_str){(const char *)data, size},
                                           &wanted, &whole, NULL);
    fuzz_require(status == ROAST_OK, "it is taken, or not whole");
    sum += length_of(entry.processor) + length_of(entry.datasets);
    for (int i = 0; i < ROAST_FACT_COUNT; i++)
        sum += length_of(entry.facts[i]);
    fuzz_require(sum <= size + 32,
                 "no text is longer than all of it"); /* and the digits of the workers */
    roast_found_free(found);
    return whole;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_run(data, size, decode);
}

/* ---- seeds ---- */

static bool save(const char *folder, const char *name, const char *text) {
    return fuzz_save(folder, name, text, strlen(text));
}

bool fuzz_make_corpus(const char *folder) {
    return save(folder, "empty", "{}") &&
           save(
               folder, "full",
               "{\n  \"timestamp\": \"2026-11-17T14:48:53+00:00\",\n  \"t_start\": 1763390887.25,\n"
               "  \"format\": \"roastcoffea_measurement_v2\",\n  \"outcome\": \"done\",\n"
               "  \"agc\": {\"walltime\": 45.5, \"x\": [1, {\"y\": null}]},\n  \"datasets\": "
               "\"data, ttbar\",\n"
               "  \"provenance\": {\n    \"git_revision\": \"8408b308\",\n    \"chunksize\": "
               "\"5000\",\n"
               "    \"host\": \"n\\u00f6de \\\"1\\\"\",\n    \"processor\": \"Dimuon\\n\"\n  },\n"
               "  \"metrics\": {\n    \"wall_time\": 45.92,\n    \"total_events\": 300000,\n"
               "    \"peak_workers\": 2,\n    \"core_efficiency\": 3.3e-1\n  },\n"
               "  \"checksum\": \"00000000\"\n}\n") &&
           save(folder, "bad-cut", "{\"metrics\": {\"wall_time\": 1") &&
           save(folder, "bad-escape", "{\"datasets\": \"\\ud800\"}") &&
           save(folder, "bad-type", "{\"provenance\": 3}");
}
