#include "roast/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "base/varint.h"
#include "model/chunklog_internal.h"
#include "base/names.h"

typedef struct meta_entry {
    roast_str key, value;
} meta_entry;

/* The large parts: name, type, whether every run has one. */
#define PARTS(X)                                                                                   \
    X(chunks, roast_chunklog, true)                                                                \
    X(series, roast_series, true)                                                                  \
    X(counts, roast_series, false)                                                                 \
    X(attempts, roast_attempts, false)                                                             \
    X(ending, roast_ending, false)                                                                 \
    X(sections, roast_chunklog, false)

struct roast_run {
    roast_run_clock clock;
    roast_report report;
    roast_str processor;
    /* Each part: the run's own, or NULL; and the caller's, which is seen instead of it, or NULL. */
#define X(name, type, needed)                                                                      \
    type *name;                                                                                    \
    const type *lent_##name;
    PARTS(X)
#undef X
    uint64_t replayed;
    roast_phase *phases;
    size_t phases_capacity;
    uint32_t phase_count;

    roast_arena texts; /* every string that goes out: none moves while the run lives */
    roast_str *columns;
    size_t columns_capacity;
    uint32_t column_count;
    roast_str *notes;
    size_t notes_capacity;
    uint32_t note_count;
    roast_intern note_keys; /* the same texts, to find one */
    roast_intern meta_keys; /* a key's number is that of its entry */
    meta_entry *meta;
    size_t meta_capacity;
    roast_intern span_keys; /* the four names as one string; its number is that of the figure */
    roast_span_value *spans;
    size_t spans_capacity;
    roast_buffer span_key; /* where such a string is put together */
    roast_buffer redacted; /* a text that is being added */
};

static roast_status no_memory(roast_status status, roast_error *err) {
    return roast_error_set(err, status, "run", -1, "no memory for the run");
}

/* ---- life ---- */
roast_status roast_run_new(roast_run **out, roast_error *err) {
    roast_run *run = roast_alloc_zero(sizeof *run);
    if (run == NULL)
        return no_memory(ROAST_ENOMEM, err);
    roast_status status = roast_chunklog_new(&run->chunks, err);
    if (status == ROAST_OK)
        status = roast_series_new(&run->series, err);
    if (status != ROAST_OK) {
        roast_run_free(run);
        return status;
    }
    *out = run;
    return ROAST_OK;
}

void roast_run_free(roast_run *run) {
    if (run == NULL)
        return;
#define X(name, type, needed) type##_free(run->name);
    PARTS(X)
#undef X
    roast_arena_reset(&run->texts);
    roast_free(run->phases);
    roast_free(run->columns);
    roast_free(run->notes);
    roast_intern_reset(&run->note_keys);
    roast_intern_reset(&run->meta_keys);
    roast_free(run->meta);
    roast_intern_reset(&run->span_keys);
    roast_free(run->spans);
    roast_buffer_reset(&run->span_key);
    roast_buffer_reset(&run->redacted);
    roast_free(run);
}

static roast_status copy_lists(const roast_run *from, roast_run *to, roast_error *err) {
    ROAST_TRY(roast_run_set_processor(to, from->processor, err));
    for (uint32_t i = 0; i < from->phase_count; i++)
        ROAST_TRY(roast_run_add_phase(to, &from->phases[i], err));
    for (uint32_t i = 0; i < from->column_count; i++)
        ROAST_TRY(roast_run_add_column(to, from->columns[i], err));
    for (uint32_t i = 0; i < from->note_count; i++)
        ROAST_TRY(roast_run_add_note(to, from->notes[i], err));
    for (uint32_t i = 0; i < from->meta_keys.count; i++)
        ROAST_TRY(roast_run_set_meta(to, from->meta[i].key, from->meta[i].value, err));
    for (uint32_t i = 0; i < from->span_keys.count; i++)
        ROAST_TRY(roast_run_add_span(to, &from->spans[i], err));
    return ROAST_OK;
}

roast_status roast_run_new_view(const roast_run *from, roast_run **out, roast_error *err) {
    roast_run *run = NULL;
    ROAST_TRY(roast_run_new(&run, err));
    run->clock = from->clock;
    run->report = from->report;
    run->replayed = from->replayed;
#define X(name, type, needed) run->lent_##name = roast_run_##name##_view(from);
    PARTS(X)
#undef X
    roast_status status = copy_lists(from, run, err);
    if (status != ROAST_OK) {
        roast_run_free(run);
        return status;
    }
    *out = run;
    return ROAST_OK;
}

/* ---- clock and report ---- */
void roast_run_set_clock(roast_run *run, double start, double end) {
    run->clock = (roast_run_clock){true, start, end};
}

roast_run_clock roast_run_get_clock(const roast_run *run) {
    return run->clock;
}

void roast_run_set_report(roast_run *run, const roast_report *report) {
    run->report = *report;
}

roast_report roast_run_get_report(const roast_run *run) {
    return run->report;
}

/* One text more at the end of a list. */
static roast_status add_text(roast_run *run, roast_str **list, size_t *capacity, uint32_t *count,
                             roast_str text) {
    void *memory = *list;
    roast_status status = roast_array_reserve(&memory, capacity, sizeof **list, (size_t)*count + 1);
    *list = memory;
    if (status == ROAST_OK)
        status = roast_arena_str(&run->texts, text, &(*list)[*count]);
    if (status == ROAST_OK)
        ++*count;
    return status;
}

roast_status roast_run_add_column(roast_run *run, roast_str column, roast_error *err) {
    if (column.data == NULL)
        return roast_error_set(err, ROAST_EINVAL, "run column", -1, "a column needs a name");
    if (run->column_count == UINT32_MAX)
        return roast_error_set(err, ROAST_ELIMIT, "run column", -1, "too many columns");
    roast_status status =
        add_text(run, &run->columns, &run->columns_capacity, &run->column_count, column);
    return status == ROAST_OK ? ROAST_OK : no_memory(status, err);
}

uint32_t roast_run_column_count(const roast_run *run) {
    return run->column_count;
}

roast_str roast_run_column(const roast_run *run, uint32_t index) {
    return index < run->column_count ? run->columns[index] : (roast_str){NULL, 0};
}

/* ---- free text ---- */
static roast_status fill_meta(roast_run *run, meta_entry *entry, bool fresh, roast_str key,
                              roast_str value) {
    meta_entry filled = *entry;
    if (roast_is_secret_name(key))
        value = roast_str_of("***");
    ROAST_TRY(roast_redact_in(&run->redacted, roast_redact_text, &value));
    if (fresh)
        ROAST_TRY(roast_arena_str(&run->texts, key, &filled.key));
    else if (roast_str_equal(filled.value, value))
        return ROAST_OK;
    ROAST_TRY(roast_arena_str(&run->texts, value, &filled.value));
    *entry = filled;
    return ROAST_OK;
}

roast_status roast_run_set_meta(roast_run *run, roast_str key, roast_str value, roast_error *err) {
    if (key.data == NULL || value.data == NULL)
        return roast_error_set(err, ROAST_EINVAL, "run meta", -1,
                               "a text about the run needs a key and a value");
    uint32_t before = run->meta_keys.count, index;
    void *meta = run->meta;
    roast_status status =
        roast_array_reserve(&meta, &run->meta_capacity, sizeof *run->meta, (size_t)before + 1);
    run->meta = meta;
    if (status == ROAST_OK)
        status = roast_intern_add(&run->meta_keys, key, &index);
    if (status == ROAST_OK) {
        bool fresh = index == before;
        if (fresh)
            run->meta[index] = (meta_entry){{NULL, 0}, {NULL, 0}};
        status = fill_meta(run, &run->meta[index], fresh, key, value);
    }
    if (status == ROAST_OK)
        return ROAST_OK;
    roast_intern_truncate(&run->meta_keys, before);
    return no_memory(status, err);
}

uint32_t roast_run_meta_count(const roast_run *run) {
    return run->meta_keys.count;
}

void roast_run_meta_at(const roast_run *run, uint32_t index, roast_str *key, roast_str *value) {
    bool there = index < run->meta_keys.count;
    *key = there ? run->meta[index].key : (roast_str){NULL, 0};
    *value = there ? run->meta[index].value : (roast_str){NULL, 0};
}

roast_str roast_run_meta(const roast_run *run, roast_str key) {
    uint32_t index;
    return roast_intern_find(&run->meta_keys, key, &index) ? run->meta[index].value
                                                           : (roast_str){NULL, 0};
}

/* ---- notes ---- */
roast_status roast_run_add_note(roast_run *run, roast_str note, roast_error *err) {
    if (note.data == NULL)
        return roast_error_set(err, ROAST_EINVAL, "run note", -1, "a note needs a text");
    uint32_t before = run->note_keys.count, index;
    roast_status status = roast_redact_in(&run->redacted, roast_redact_text, &note);
    if (status == ROAST_OK)
        status = roast_intern_add(&run->note_keys, note, &index);
    if (status == ROAST_OK && index == before) {
        status = add_text(run, &run->notes, &run->notes_capacity, &run->note_count, note);
        if (status != ROAST_OK)
            roast_intern_truncate(&run->note_keys, before);
    }
    return status == ROAST_OK ? ROAST_OK : no_memory(status, err);
}

uint32_t roast_run_note_count(const roast_run *run) {
    return run->note_count;
}

roast_str roast_run_note(const roast_run *run, uint32_t index) {
    return index < run->note_count ? run->notes[index] : (roast_str){NULL, 0};
}

/* How much of a text a note shows, in bytes: no part of a character. */
static int shown(roast_str text) {
    return (int)roast_utf8_cut(text, 200).len;
}

static roast_status note_left_out(roast_run *run, const roast_custom *custom, uint32_t first,
                                  int64_t *more, roast_error *err) {
    enum { NOTED = 20 };
    char text[512];
    uint32_t index;
    int len =
        snprintf(text, sizeof text, "the value '%.*s' of a chunk was left out: %.*s",
                 shown(custom->key), custom->key.data, shown(custom->text), custom->text.data);
    roast_str note = {text, (size_t)len};
    if (roast_intern_find(&run->note_keys, note, &index))
        return ROAST_OK;
    if (run->note_count - first < NOTED)
        return roast_run_add_note(run, note, err);
    ++*more;
    return ROAST_OK;
}

static roast_status note_count(roast_run *run, int64_t count, const char *what, roast_error *err) {
    char text[160];
    if (count <= 0)
        return ROAST_OK;
    int len = snprintf(text, sizeof text, "%lld %s", (long long)count, what);
    return roast_run_add_note(run, (roast_str){text, (size_t)len}, err);
}

roast_status roast_run_note_left_out(roast_run *run, roast_error *err) {
    const roast_chunklog *log = roast_run_chunks_view(run);
    uint32_t first = run->note_count;
    int64_t more = 0, dropped = 0;
    for (uint64_t i = 0; i < roast_chunklog_count(log); i++) {
        roast_chunk chunk;
        roast_tail_cursor tail;
        roast_custom custom;
        if (!roast_row_lacks_something(log, i))
            continue;
        ROAST_TRY(roast_chunklog_get(log, i, &chunk, err));
        dropped = roast_add_capped(dropped, chunk.dropped_sections);
        roast_chunk_customs(log, &chunk, &tail);
        while (roast_chunk_next_custom(&tail, &custom))
            if (custom.kind == ROAST_CUSTOM_LEFT_OUT)
                ROAST_TRY(note_left_out(run, &custom, first, &more, err));
    }
    ROAST_TRY(note_count(run, more, "more values of chunks were left out", err));
    return note_count(
        run, dropped,
        "uses of sections were not kept: in threads that process() started, or beyond "
        "65535 different ones in a chunk",
        err);
}

void roast_run_set_replayed(roast_run *run, uint64_t chunks) {
    run->replayed = chunks;
}

uint64_t roast_run_replayed(const roast_run *run) {
    return run->replayed;
}

/* ---- phases of the client ---- */
ROAST_NAMES(roast_phase_name, roast_phase_kind, ROAST_PHASES, ROAST_NAME_ITSELF)

roast_status roast_run_add_phase(roast_run *run, const roast_phase *phase, roast_error *err) {
    if ((unsigned)phase->kind >= ROAST_PHASE_COUNT || !isfinite(phase->start) ||
        !isfinite(phase->end) || phase->end < phase->start)
        return roast_error_set(err, ROAST_EINVAL, "run phase", -1,
                               "a phase needs a known kind, a start, and an end after it");
    void *phases = run->phases;
    roast_status status = roast_array_reserve(&phases, &run->phases_capacity, sizeof *run->phases,
                                              (size_t)run->phase_count + 1);
    run->phases = phases;
    if (status != ROAST_OK)
        return no_memory(status, err);
    run->phases[run->phase_count++] = *phase;
    return ROAST_OK;
}

uint32_t roast_run_phase_count(const roast_run *run) {
    return run->phase_count;
}

roast_phase roast_run_phase(const roast_run *run, uint32_t index) {
    return index < run->phase_count ? run->phases[index] : (roast_phase){ROAST_PHASE_COUNT, 0, 0};
}

roast_status roast_run_set_processor(roast_run *run, roast_str name, roast_error *err) {
    roast_status status = roast_arena_str(&run->texts, name, &run->processor);
    return status == ROAST_OK ? ROAST_OK : no_memory(status, err);
}

roast_str roast_run_processor(const roast_run *run) {
    return run->processor;
}

/* ---- parts ---- */
#define X(name, type, needed)                                                                      \
    const type *roast_run_##name##_view(const roast_run *run) {                                    \
        return run->lent_##name != NULL ? run->lent_##name : run->name;                            \
    }                                                                                              \
    void roast_run_take_##name(roast_run *run, type *part) {                                       \
        if (needed && part == NULL)                                                                \
            return;                                                                                \
        run->lent_##name = NULL;                                                                   \
        if (part != run->name)                                                                     \
            type##_free(run->name);                                                                \
        run->name = part;                                                                          \
    }
PARTS(X)
#undef X

#define X(name, type)                                                                              \
    void roast_run_lend_##name(roast_run *run, const type *part) {                                 \
        run->lent_##name = part;                                                                   \
    }
X(chunks, roast_chunklog)
X(series, roast_series)
X(attempts, roast_attempts)
#undef X

roast_chunklog *roast_run_chunks(roast_run *run) {
    return run->chunks;
}

roast_series *roast_run_series(roast_run *run) {
    return run->series;
}

roast_attempts *roast_run_attempts(roast_run *run) {
    return run->attempts;
}

#define X(name, type)                                                                              \
    type *roast_run_give_##name(roast_run *run) {                                                  \
        type *part = run->name;                                                                    \
        if (run->lent_##name == NULL)                                                              \
            run->lent_##name = part;                                                               \
        run->name = NULL;                                                                          \
        return part;                                                                               \
    }
X(chunks, roast_chunklog)
X(series, roast_series)
#undef X

/* ---- spans ---- */
enum { SPAN_NAMES = 4 };

/* Each name after its length + 1 (0: absent), so that different sets of names have different bytes. */
static roast_status join_names(roast_run *run, const roast_str names[SPAN_NAMES], roast_str *key) {
    run->span_key.len = 0;
    for (unsigned i = 0; i < SPAN_NAMES; i++) {
        uint8_t length[ROAST_VARINT_MAX];
        uint8_t *end = roast_put_varint(length, names[i].data == NULL ? 0 : names[i].len + 1);
        ROAST_TRY(roast_buffer_append(&run->span_key, length, (size_t)(end - length)));
        ROAST_TRY(roast_buffer_append(&run->span_key, names[i].data, names[i].len));
    }
    *key = (roast_str){(const char *)run->span_key.data, run->span_key.len};
    return ROAST_OK;
}

static roast_status new_span(roast_run *run, const roast_str names[SPAN_NAMES],
                             roast_span_value *out) {
    roast_span_value span = {.value = 0};
    roast_str *const kept[SPAN_NAMES] = {&span.context, &span.prefix, &span.activity, &span.unit};
    for (unsigned i = 0; i < SPAN_NAMES; i++)
        ROAST_TRY(roast_arena_str(&run->texts, names[i], kept[i]));
    *out = span;
    return ROAST_OK;
}

static roast_status add_span(roast_run *run, const roast_str names[SPAN_NAMES], double value) {
    uint32_t before = run->span_keys.count, index;
    roast_str key;
    void *spans = run->spans;
    ROAST_TRY(
        roast_array_reserve(&spans, &run->spans_capacity, sizeof *run->spans, (size_t)before + 1));
    run->spans = spans;
    ROAST_TRY(join_names(run, names, &key));
    ROAST_TRY(roast_intern_add(&run->span_keys, key, &index));
    if (index == before) {
        roast_status status = new_span(run, names, &run->spans[index]);
        if (status != ROAST_OK) {
            roast_intern_truncate(&run->span_keys, before);
            return status;
        }
    }
    run->spans[index].value += value;
    return ROAST_OK;
}

roast_status roast_run_add_span(roast_run *run, const roast_span_value *value, roast_error *err) {
    if (value->context.data == NULL || value->activity.data == NULL || value->unit.data == NULL)
        return roast_error_set(err, ROAST_EINVAL, "run span", -1,
                               "a span's figure needs a context, an activity and a unit");
    if (!isfinite(value->value))
        return roast_error_set(err, ROAST_EINVAL, "run span", -1, "a span's figure is no number");
    const roast_str names[SPAN_NAMES] = {value->context, value->prefix, value->activity,
                                         value->unit};
    roast_status status = add_span(run, names, value->value);
    return status == ROAST_OK ? ROAST_OK : no_memory(status, err);
}

uint32_t roast_run_span_count(const roast_run *run) {
    return run->span_keys.count;
}

roast_span_value roast_run_span(const roast_run *run, uint32_t index) {
    return index < run->span_keys.count ? run->spans[index] : (roast_span_value){.value = 0};
}
