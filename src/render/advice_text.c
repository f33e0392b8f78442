#include "roast/advice_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/diagnose/internal.h"
#include "render/json_writer.h"
#include "roast/grid.h"

/* ---- headline ---- */

/* "predicted wall time 41 s, between 38 s and 45 s (now 2.1 min)" */
static void say_prediction(roast_words *words, const roast_advice_prediction *prediction) {
    const char *least = roast_say_time(prediction->low), *most = roast_say_time(prediction->high);
    roast_say(words, "predicted wall time %s", roast_say_time(prediction->wall));
    if (!isnan(prediction->low) && !isnan(prediction->high) && strcmp(least, most) != 0)
        roast_say(words, ", between %s and %s", least, most);
    roast_say(words, " (now %s)", roast_say_time(prediction->recorded));
}

/* Without those that are about the measurement. */
static uint32_t count_findings(const roast_findings *findings) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < roast_findings_count(findings); i++)
        count += roast_findings_at(findings, i)->kind != ROAST_FINDING_measurement;
    return count;
}

void roast_advice_headline(const roast_advice *advice, char *out, size_t size) {
    uint32_t count, findings = count_findings(roast_advice_findings(advice));
    const roast_advice_prediction *together = roast_advice_together(advice);
    roast_words words = {.len = 0};
    roast_advice_items(advice, &count);
    if (count == 0 && findings == 0)
        roast_say(&words, "No advice: nothing stands out.");
    else if (count == 0)
        roast_say(&words, "No advice: no setting helps against the %s (\"roast diagnose\").",
                  roast_say_many(findings, "finding"));
    else
        roast_say(&words, "%s for the next run", roast_say_many(count, "change"));
    if (count > 0 && together->known) {
        roast_say(&words, ": ");
        say_prediction(&words, together);
    }
    roast_say(&words, count > 0 ? "." : "");
    snprintf(out, size, "%s", words.text);
}

/* ---- text ---- */

enum { INDENT = 2, LABEL = 11, MOST_NAMES = 12, MOST_DATASETS = 6 };

static void put_line(roast_sink *out, const char *label, const roast_words *words, unsigned width) {
    const roast_str text = {words->text, words->len};
    roast_sink_printf(out, "%*s%-*s", INDENT, "", LABEL, label);
    roast_text_put_wrapped(out, text, INDENT + LABEL, INDENT + LABEL, width);
    roast_sink_puts(out, "\n");
}

static bool is_same(roast_str a, roast_str b) {
    return a.data != NULL && b.data != NULL && roast_str_equal(a, b);
}

static uint32_t count_datasets(const roast_advice_item *item) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < item->n_names; i++)
        count += i == 0 || !is_same(item->names[i].dataset, item->names[i - 1].dataset);
    return count;
}

/* Where the names of the dataset at `from` end. */
static uint32_t end_of_dataset(const roast_advice_item *item, uint32_t from) {
    uint32_t end = from + 1;
    while (end < item->n_names && is_same(item->names[end].dataset, item->names[from].dataset))
        end++;
    return end;
}

static void put_workers(roast_sink *out, roast_advice_executor executor,
                        const roast_advice_item *item) {
    if (executor == ROAST_ADVISED_FUTURES)
        roast_sink_printf(
            out, "FuturesExecutor(workers=%u)%s", (unsigned)(item->workers * item->threads),
            item->kind == ROAST_FINDING_gil_contention ? " with a pool of processes" : "");
    else if (executor == ROAST_ADVISED_DASK)
        roast_sink_printf(out, "Cluster(n_workers=%u, threads_per_worker=%u)",
                          (unsigned)item->workers, (unsigned)item->threads);
    else
        roast_sink_printf(out, "%s with %s each", roast_say_many(item->workers, "worker"),
                          roast_say_many(item->threads, "thread"));
}

static void put_change(roast_sink *out, const roast_advice *advice, const roast_advice_item *item) {
    switch (item->setting) {
    case ROAST_ADVICE_chunksize:
        roast_sink_printf(out, "Runner(chunksize=%s)", roast_say_code((double)item->chunksize));
        break;
    case ROAST_ADVICE_preload:
        roast_sink_printf(out, "\"preload\" in the fileset, %s",
                          roast_say_many(count_datasets(item), "dataset"));
        break;
    case ROAST_ADVICE_workers:
        put_workers(out, roast_advice_get_executor(advice), item);
        break;
    case ROAST_ADVICE_exclude_files:
        roast_sink_printf(out, "Leave %s out of the fileset",
                          roast_say_many(item->n_names, "file"));
        break;
    default:
        roast_sink_printf(out, "List %s first in the fileset",
                          roast_say_many(item->n_names, "file"));
        break;
    }
    roast_sink_puts(out, "\n");
}

static void put_names(roast_sink *out, const roast_advice_item *item, unsigned width) {
    uint32_t shown = 0, datasets = count_datasets(item);
    for (uint32_t from = 0; from < item->n_names && shown < MOST_DATASETS; shown++) {
        uint32_t end = end_of_dataset(item, from), most = from + MOST_NAMES;
        roast_words words = {.len = 0};
        roast_say(&words, "%s: ", roast_say_name(item->names[from].dataset));
        for (uint32_t i = from; i < end && i < most; i++)
            roast_say(&words, "%s%s", i > from ? ", " : "",
                      item->setting == ROAST_ADVICE_preload ? roast_say_name(item->names[i].name)
                                                            : roast_say_file(item->names[i].name));
        if (end > most)
            roast_say(&words, " and %s more", roast_say_count(end - most));
        put_line(out, shown == 0 ? "which" : "", &words, width);
        from = end;
    }
    if (shown < datasets) {
        roast_words words = {.len = 0};
        roast_say(&words, "and of %s more", roast_say_many(datasets - shown, "dataset"));
        put_line(out, "", &words, width);
    }
}

static void put_item(roast_sink *out, const roast_advice *advice, const roast_advice_item *item,
                     unsigned width) {
    roast_words why = {.len = 0}, then = {.len = 0};
    put_change(out, advice, item);
    put_names(out, item, width);
    roast_say(&why, "%s: %s", roast_finding_kind_name(item->kind), roast_say_name(item->title));
    put_line(out, "because", &why, width);
    if (item->prediction.known)
        say_prediction(&then, &item->prediction);
    else
        roast_say(&then, "no prediction: %s", roast_say_name(item->prediction.reason));
    if (!item->prediction.known && item->saving_core_seconds > 0)
        roast_say(&then, ". At most %s of core time would be saved",
                  roast_say_time(item->saving_core_seconds));
    put_line(out, "then", &then, width);
    if (item->setting == ROAST_ADVICE_exclude_files) {
        roast_words note = {.len = 0};
        roast_say(&note, item->kind == ROAST_FINDING_lost_work
                             ? "their events will be missing in the result"
                             : "their events stay missing in the result");
        put_line(out, "note", &note, width);
    }
}

void roast_advice_draw(const roast_advice *advice, unsigned width, roast_sink *sink) {
    char headline[ROAST_ADVICE_HEADLINE];
    uint32_t count;
    const roast_advice_item *items = roast_advice_items(advice, &count);
    if (width < ROAST_GRID_MIN_WIDTH)
        width = ROAST_GRID_MIN_WIDTH;
    roast_advice_headline(advice, headline, sizeof headline);
    roast_text_put_wrapped(sink, roast_str_of(headline), 0, 0, width);
    roast_sink_puts(sink, "\n");
    for (uint32_t i = 0; i < count; i++) {
        roast_sink_puts(sink, "\n");
        put_item(sink, advice, &items[i], width);
    }
    if (count > 0) {
        static const char use[] = "In Python: advice = open_run(RUN).advice(), then "
                                  "Runner(**advice.runner_arguments, ...) and "
                                  "advice.fileset(fileset).";
        roast_sink_puts(sink, "\n");
        roast_text_put_wrapped(sink, roast_str_of(use), 0, 0, width);
        roast_sink_puts(sink, "\n");
    }
}

/* ---- JSON ---- */

static void put_prediction(roast_json *json, const char *key,
                           const roast_advice_prediction *prediction) {
    roast_json_put_object(json, key);
    if (prediction->known) {
        roast_json_put_real(json, "wall_time", prediction->wall);
        roast_json_put_real(json, "low", prediction->low);
        roast_json_put_real(json, "high", prediction->high);
    }
    roast_json_put_real(json, "recorded", prediction->recorded);
    if (!prediction->known)
        roast_json_put_str(json, "reason", prediction->reason);
    roast_json_end_object(json);
}

static void put_by_dataset(roast_json *json, const char *key, const roast_advice_item *item) {
    roast_json_put_object(json, key);
    for (uint32_t from = 0; item != NULL && from < item->n_names;) {
        uint32_t end = end_of_dataset(item, from);
        roast_json_key_str(json, item->names[from].dataset);
        roast_json_begin_array(json);
        for (uint32_t i = from; i < end; i++)
            roast_json_str(json, item->names[i].name);
        roast_json_end_array(json);
        from = end;
    }
    roast_json_end_object(json);
}

static void put_arguments(roast_json *json, const roast_advice *advice) {
    const roast_advice_item *size = roast_advice_find(advice, ROAST_ADVICE_chunksize);
    const roast_advice_item *workers = roast_advice_find(advice, ROAST_ADVICE_workers);
    roast_advice_executor executor = roast_advice_get_executor(advice);
    roast_json_put_object(json, "runner_arguments");
    if (size != NULL)
        roast_json_put_int(json, "chunksize", (int64_t)size->chunksize);
    roast_json_end_object(json);
    roast_json_put_object(json, "executor_arguments");
    if (workers != NULL && executor == ROAST_ADVISED_FUTURES)
        roast_json_put_int(json, "workers", (int64_t)workers->workers * workers->threads);
    roast_json_end_object(json);
    roast_json_put_object(json, "cluster_arguments");
    if (workers != NULL && executor == ROAST_ADVISED_DASK) {
        roast_json_put_int(json, "n_workers", workers->workers);
        roast_json_put_int(json, "threads_per_worker", workers->threads);
    }
    roast_json_end_object(json);
    put_by_dataset(json, "preload", roast_advice_find(advice, ROAST_ADVICE_preload));
    put_by_dataset(json, "exclude_files", roast_advice_find(advice, ROAST_ADVICE_exclude_files));
    put_by_dataset(json, "first_files", roast_advice_find(advice, ROAST_ADVICE_first_files));
}

static void put_item_json(roast_json *json, const roast_advice_item *item) {
    roast_json_begin_object(json);
    roast_json_put_text(json, "setting", roast_advice_setting_name(item->setting));
    roast_json_put_text(json, "finding", roast_finding_kind_name(item->kind));
    roast_json_put_str(json, "title", item->title);
    roast_json_put_real(json, "saving_core_seconds", item->saving_core_seconds);
    if (item->setting == ROAST_ADVICE_chunksize) {
        roast_json_put_int(json, "value", (int64_t)item->chunksize);
    } else if (item->setting == ROAST_ADVICE_workers) {
        roast_json_put_object(json, "value");
        roast_json_put_int(json, "workers", item->workers);
        roast_json_put_int(json, "threads", item->threads);
        roast_json_end_object(json);
    } else {
        put_by_dataset(json, "value", item);
    }
    put_prediction(json, "prediction", &item->prediction);
    roast_json_end_object(json);
}

void roast_advice_json(const roast_advice *advice, roast_sink *sink) {
    roast_json json;
    char headline[ROAST_ADVICE_HEADLINE];
    uint32_t count;
    const roast_advice_item *items = roast_advice_items(advice, &count);
    roast_advice_headline(advice, headline, sizeof headline);
    roast_json_init(&json, sink, 3);
    roast_json_begin_object(&json);
    roast_json_put_text(&json, "headline", headline);
    put_arguments(&json, advice);
    roast_json_put_array(&json, "items");
    for (uint32_t i = 0; i < count; i++)
        put_item_json(&json, &items[i]);
    roast_json_end_array(&json);
    put_prediction(&json, "prediction", roast_advice_together(advice));
    roast_json_end_object(&json);
    roast_json_end(&json);
}
