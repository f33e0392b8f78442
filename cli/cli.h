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

/* An option of a verb: its help, its line of the man page, and how it is read come from here. */
typedef struct cli_option {
    int id;            /* of the verb's own, above 0; 0 ends the list */
    char letter;       /* 'o' for -o; '\0': it has none */
    const char *name;  /* "output" for --output */
    const char *value; /* what stands behind it: "DIR"; NULL: nothing */
    const char *text;  /* what it does */
} cli_option;

typedef struct cli_verb {
    const char *name;
    const char *usage;         /* behind the name: "[KEY]"; "" if it takes nothing */
    const char *summary;       /* one line for the list of verbs */
    const char *details;       /* paragraphs for "roast help VERB", each ended by a line feed */
    const cli_option *options; /* listed behind the details; NULL: none, or the details name them */
    /* args are what stands behind the verb. */
    cli_exit (*run)(roast_sink *out, int n_args, char **args);
} cli_verb;

/* One row a verb, in the order of the help page; cmd_<name>.c defines cli_verb_<name>. */
#define CLI_VERB_LIST(X)                                                                           \
    X(show)                                                                                        \
    X(diagnose)                                                                                    \
    X(ls)                                                                                          \
    X(export)                                                                                      \
    X(sql)                                                                                         \
    X(import)                                                                                      \
    X(run)                                                                                         \
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
/* Says something on standard error that is no failure. */
void cli_note(const char *text);
/* The same as cli_fail for an error of the library. */
cli_exit cli_fail_error(const roast_error *error, const char *next);
/* An unknown verb, with the nearest known one. */
cli_exit cli_fail_verb(const char *name);
/* An argument that the verb does not take. */
cli_exit cli_fail_argument(const cli_verb *verb, const char *argument);

/* ---- arguments ---- */

/* Reads what stands behind a verb, one at a time: options may stand anywhere; what is behind "--" is none. Zeroed but
 * for the first three it is at the beginning. */
typedef struct cli_parser {
    const cli_verb *verb;
    int n_args;
    char **args;
    int at;            /* of the next one */
    bool plain;        /* "--" was there */
    const char *value; /* of the option, or the argument that is none */
} cli_parser;
enum { CLI_ARGS_END = 0, CLI_ARGS_PLAIN = -1, CLI_ARGS_WRONG = -2 };
/* The id of the next option, or one of the above; what is wrong was told then, and is CLI_USAGE. */
int cli_next_argument(cli_parser *parser);
/* The value of the option that was just read as a number in a range; false: what is wrong was told. */
bool cli_number(const cli_parser *parser, double least, double most, double *out);
/* The same for a whole number. */
bool cli_integer(const cli_parser *parser, int64_t least, int64_t most, int64_t *out);

/* The pages of help. */
void cli_put_help(roast_sink *out);
void cli_put_verb_help(roast_sink *out, const cli_verb *verb);
/* All of them as a manual page, in roff. */
void cli_put_man(roast_sink *out);

/* ---- the terminal ---- */
/* What the option --safe does, where there is one; and the failure of one that is given without --csv. */
#define CLI_SAFE_TEXT                                                                              \
    "with --csv: for spreadsheets; a text that begins with =, +, - or @ gets a ' in front, and "   \
    "control characters are shown (\\x1b). On a terminal it is always so"
cli_exit cli_fail_safe(void);
/* Columns: COLUMNS, or what the terminal says, or CLI_WIDTH. */
unsigned cli_terminal_width(int fd);
/* Whether what is written there may be coloured: a terminal, and no NO_COLOR. */
bool cli_terminal_color(int fd);

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
