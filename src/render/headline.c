/* The first lines of everything that shows a run: how it ended, and which files are missing. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "metrics/format.h"
#include "render/summary.h"

static void say(char *out, const char *format, ...) {
    size_t used = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + used, ROAST_HEADLINE - used, format, args);
    va_end(args);
    /* A cut is made between characters, and marked. */
    static const char mark[] = "…";
    size_t len = strlen(out);
    if (len == ROAST_HEADLINE - 1) {
        len = roast_utf8_cut((roast_str){out, len}, len - sizeof mark).len;
        memcpy(out + len, mark, sizeof mark);
    }
}

/* The first line of a text, or as much of it as a headline can hold. */
static void say_text(char *out, roast_str text) {
    enum { LONGEST = 160 };
    roast_str first = roast_first_line(text), shown = roast_utf8_cut(first, LONGEST);
    say(out, "%.*s%s", (int)shown.len, shown.data, shown.len < first.len ? "…" : "");
}

/* The last part of a path. */
static void say_file(char *out, roast_str file) {
    size_t from = file.len;
    while (from > 0 && file.data[from - 1] != '/')
        from--;
    say_text(out, (roast_str){file.data + from, file.len - from});
}

/* "19 of 40 chunks", with what follows; nothing if it is not known. */
static void say_pieces(char *out, roast_ending_pieces pieces, const char *then) {
    char done[40], all[40];
    if (pieces.all < 0 || pieces.done < 0)
        return;
    roast_format_count((double)pieces.done, ',', done, sizeof done);
    roast_format_count((double)pieces.all, ',', all, sizeof all);
    say(out, "%s of %s chunk%s%s", done, all, pieces.all == 1 ? "" : "s", then);
}

static void say_error(char *out, const roast_run_error *error) {
    if (error->type.data != NULL)
        say_text(out, error->type);
    if (error->message.data != NULL && error->message.len > 0) {
        say(out, ": ");
        say_text(out, error->message);
    }
    if (error->file.data == NULL)
        return;
    say(out, " (");
    if (error->dataset.data != NULL) {
        say_text(out, error->dataset);
        say(out, ", ");
    }
    say_file(out, error->file);
    if (error->entry_start >= 0 && error->entry_stop >= 0)
        say(out, ", entries %lld to %lld", (long long)error->entry_start,
            (long long)error->entry_stop);
    say(out, ")");
}

static void say_outcome(char *out, const roast_ending *ending) {
    static const char *const words[ROAST_END_COUNT] = {
        [ROAST_END_done] = "Done",
        [ROAST_END_failed] = "Failed",
        [ROAST_END_interrupted] = "Interrupted",
    };
    const roast_run_error *error = roast_ending_error(ending);
    roast_end outcome = roast_ending_outcome(ending);
    roast_ending_pieces pieces = roast_ending_get_pieces(ending);
    bool counted = pieces.all >= 0 && pieces.done >= 0;
    if (words[outcome] == NULL) { /* it still goes on, or nobody saw its end */
        say_pieces(out, pieces, " done");
        return;
    }
    say(out, "%s%s", words[outcome], counted || error != NULL ? ": " : "");
    say_pieces(out, pieces, outcome == ROAST_END_done ? "" : error != NULL ? " done; " : " done");
    if (error != NULL)
        say_error(out, error);
}

/* Whether the run failed because of the first of the files that could not be read. */
static bool is_told_by_error(const roast_ending *ending) {
    const roast_run_error *error = roast_ending_error(ending);
    return error != NULL && error->file.data != NULL &&
           roast_str_equal(error->file, roast_ending_skipped(ending, 0).file);
}

static void say_warning(char *out, const roast_ending *ending) {
    uint32_t count = roast_ending_skipped_count(ending);
    const char *many = count == 1 ? "" : "s";
    char number[40];
    if (count == 0 || (count == 1 && is_told_by_error(ending)))
        return;
    roast_format_count(count, ',', number, sizeof number);
    if (roast_ending_outcome(ending) == ROAST_END_done)
        say(out, "Warning: events of %s file%s are missing in the result: ", number, many);
    else
        say(out, "Warning: %s file%s could not be read: ", number, many);
    roast_skipped_file skipped = roast_ending_skipped(ending, 0);
    say_file(out, skipped.file);
    if (skipped.reason.data != NULL) {
        say(out, " (");
        say_text(out, skipped.reason);
        say(out, ")");
    }
    if (count > 1)
        say(out, " and %lu more", (unsigned long)count - 1);
}

void roast_headline_short(const roast_run *run, char out[ROAST_HEADLINE]) {
    const roast_ending *ending = run != NULL ? roast_run_ending_view(run) : NULL;
    const char *name = roast_end_name(roast_ending_outcome(ending));
    roast_ending_pieces pieces = roast_ending_get_pieces(ending);
    out[0] = '\0';
    say(out, "%s%s", name != NULL ? name : "-",
        name != NULL && pieces.all >= 0 && pieces.done >= 0 ? ", " : "");
    if (name != NULL)
        say_pieces(out, pieces, "");
}

void roast_headline_init(roast_headline *headline, const roast_run *run) {
    const roast_ending *ending = run != NULL ? roast_run_ending_view(run) : NULL;
    headline->outcome[0] = headline->warning[0] = '\0';
    say_outcome(headline->outcome, ending);
    say_warning(headline->warning, ending);
}

void roast_headline_draw(const roast_headline *headline, unsigned width, roast_sink *sink) {
    enum { INDENT = 2 };
    const char *const lines[] = {headline->outcome, headline->warning};
    bool any = false;
    for (int i = 0; i < 2; i++) {
        if (lines[i][0] == '\0')
            continue;
        roast_text_put_wrapped(sink, roast_str_of(lines[i]), 0, INDENT, width);
        roast_sink_puts(sink, "\n");
        any = true;
    }
    if (any)
        roast_sink_puts(sink, "\n");
}
