/* What the verbs of the program share: exit codes, the table of verbs, output and errors.
 *
 * A verb writes its answer to `out` and says what went wrong with cli_fail; main flushes the one
 * and turns the other into the exit code. Answers go to standard output, everything else to
 * standard error. */
#ifndef ROAST_CLI_H
#define ROAST_CLI_H

#include "roast/base.h"
#include "roast/sink.h"

enum { CLI_WIDTH = 80 };

/* One row a code: name, number, what it means. Scripts rely on the numbers. */
#define CLI_EXIT_LIST(X)                                                                           \
    X(OK, 0, "done; where a question was asked, the answer is yes")                                \
    X(NO, 1, "the answer is no, or a check failed")                                                \
    X(USAGE, 2, "the command line was not understood")                                             \
    X(INPUT, 3, "something named was not found or could not be read")                              \
    X(DAMAGED, 4, "an input is damaged or written by a newer version")                             \
    X(INTERNAL, 5, "out of memory, or the output could not be written")

typedef enum cli_exit {
#define X(name, number, text) CLI_##name = number,
    CLI_EXIT_LIST(X)
#undef X
} cli_exit;

typedef struct cli_verb {
    const char *name;
    const char *usage;   /* behind the name: "[KEY]"; "" if it takes nothing */
    const char *summary; /* one line for the list of verbs */
    const char *details; /* paragraphs for "roast help VERB", each ended by a line feed */
    /* args are what stands behind the verb. */
    cli_exit (*run)(roast_sink *out, int n_args, char **args);
} cli_verb;

/* One row a verb, in the order of the help page; cmd_<name>.c defines cli_verb_<name>. */
#define CLI_VERB_LIST(X)                                                                           \
    X(explain)                                                                                     \
    X(help)

#define X(name) extern const cli_verb cli_verb_##name;
CLI_VERB_LIST(X)
#undef X

/* The verbs, ended by NULL. */
extern const cli_verb *const cli_verbs[];
/* NULL if there is none of that name. */
const cli_verb *cli_find_verb(const char *name);

/* Says on standard error what is wrong and what to do next (NULL: nothing can be advised), and
 * returns `code`. */
cli_exit cli_fail(cli_exit code, const char *next, const char *format, ...) ROAST_PRINTF(3, 4);
/* The same for an error of the library. */
cli_exit cli_fail_error(const roast_error *error, const char *next);
/* An unknown verb, with the nearest known one. */
cli_exit cli_fail_verb(const char *name);
/* An argument that the verb does not take. */
cli_exit cli_fail_argument(const cli_verb *verb, const char *argument);

/* The pages of help. */
void cli_put_help(roast_sink *out);
void cli_put_verb_help(roast_sink *out, const cli_verb *verb);

/* ---- text ---- */
/* Characters of a UTF-8 text. */
size_t cli_text_width(const char *text);
/* Writes `text` and blanks up to `width` characters. */
void cli_put_padded(roast_sink *out, const char *text, size_t width);
/* Writes words in lines of at most CLI_WIDTH characters. The first one begins in column `column`,
 * where the caller has already written; the others are indented by `indent`. Ends with a line feed.
 */
void cli_put_wrapped(roast_sink *out, const char *text, size_t column, size_t indent);

#endif
