#include "roast/ending.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "base/redact.h"

struct roast_ending {
    roast_end outcome;
    bool raised;
    roast_run_error error;
    roast_ending_pieces pieces;
    roast_skipped_file *skipped;
    size_t capacity;
    uint32_t count;
    roast_arena texts;
};

static const char *const names[ROAST_END_COUNT] = {
#define X(name) #name,
    ROAST_ENDS(X)
#undef X
};

const char *roast_end_name(roast_end end) {
    return end > ROAST_END_unknown && end < ROAST_END_COUNT ? names[end] : NULL;
}

roast_end roast_end_find(roast_str name) {
    for (int end = ROAST_END_unknown + 1; end < ROAST_END_COUNT; end++)
        if (name.data != NULL && roast_str_equal(name, roast_str_of(names[end])))
            return (roast_end)end;
    return ROAST_END_unknown;
}

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "ending", -1, "no memory for the end of a run");
}

roast_status roast_ending_new(roast_end outcome, roast_ending **out, roast_error *err) {
    roast_ending *ending = roast_alloc_zero(sizeof *ending);
    if (ending == NULL)
        return no_memory(err);
    ending->outcome = outcome;
    ending->pieces = roast_ending_get_pieces(NULL);
    *out = ending;
    return ROAST_OK;
}

void roast_ending_free(roast_ending *ending) {
    if (ending == NULL)
        return;
    roast_arena_reset(&ending->texts);
    roast_free(ending->skipped);
    roast_free(ending);
}

roast_end roast_ending_outcome(const roast_ending *ending) {
    return ending != NULL ? ending->outcome : ROAST_END_unknown;
}

/* Of a text of an error, by its name. */
static roast_redactor *redactor_of(const char *name) {
    return strcmp(name, "file") == 0 ? roast_redact_name : roast_redact_text;
}

roast_status roast_ending_set_error(roast_ending *ending, const roast_run_error *error,
                                    roast_error *err) {
    roast_run_error copy = *error;
#define X(name)                                                                                    \
    if (roast_arena_redacted(&ending->texts, redactor_of(#name), error->name, &copy.name) !=       \
        ROAST_OK)                                                                                  \
        return no_memory(err);
    ROAST_RUN_ERROR_TEXTS(X)
#undef X
    ending->error = copy;
    ending->raised = true;
    return ROAST_OK;
}

const roast_run_error *roast_ending_error(const roast_ending *ending) {
    return ending != NULL && ending->raised ? &ending->error : NULL;
}

void roast_ending_set_pieces(roast_ending *ending, roast_ending_pieces pieces) {
    ending->pieces = pieces;
}

roast_ending_pieces roast_ending_get_pieces(const roast_ending *ending) {
    return ending != NULL ? ending->pieces : (roast_ending_pieces){-1, -1, -1};
}

roast_status roast_ending_add_skipped(roast_ending *ending, const roast_skipped_file *skipped,
                                      roast_error *err) {
    if (skipped->dataset.data == NULL || skipped->file.data == NULL)
        return roast_error_set(err, ROAST_EINVAL, "ending", -1,
                               "a skipped file needs a dataset and a name");
    if (ending->count == UINT32_MAX)
        return roast_error_set(err, ROAST_ELIMIT, "ending", -1, "too many skipped files");
    void *list = ending->skipped;
    roast_status status = roast_array_reserve(&list, &ending->capacity, sizeof *ending->skipped,
                                              (size_t)ending->count + 1);
    ending->skipped = list;
    if (status != ROAST_OK)
        return no_memory(err);
    roast_skipped_file *copy = &ending->skipped[ending->count];
    if (roast_arena_str(&ending->texts, skipped->dataset, &copy->dataset) != ROAST_OK ||
        roast_arena_redacted(&ending->texts, roast_redact_name, skipped->file, &copy->file) !=
            ROAST_OK ||
        roast_arena_redacted(&ending->texts, roast_redact_text, skipped->reason, &copy->reason) !=
            ROAST_OK)
        return no_memory(err);
    ending->count++;
    return ROAST_OK;
}

uint32_t roast_ending_skipped_count(const roast_ending *ending) {
    return ending != NULL ? ending->count : 0;
}

roast_skipped_file roast_ending_skipped(const roast_ending *ending, uint32_t index) {
    return index < roast_ending_skipped_count(ending) ? ending->skipped[index]
                                                      : (roast_skipped_file){.file = {NULL, 0}};
}
