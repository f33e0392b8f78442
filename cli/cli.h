/* Shared by the verbs of the program: exit codes, the table of verbs, output and errors.
 *
 * A verb writes its answer to `out`, reports errors with cli_fail, and returns an exit code; main flushes `out`. Answers
 * go to standard output, everything else to standard error. */
#ifndef ROAST_CLI_H
#define ROAST_CLI_H

#include "roast/base.h"
#include "roast/sink.h"

enum { CLI_WIDTH = 80 };

/* One row per code: name, number, meaning. Scripts rely on the numbers. */
#define CLI_EXIT_LIST(X)                                                                           \
    X(OK, 0, "success; for a check: passed")                                                       \
    X(NO, 1, "the answer is no, or a check failed")                                                \
    X(USAGE, 2, "the command line was not understood")                                             \
    X(INPUT, 3, "an argument was not found or could not be read")                                  \
    X(DAMAGED, 4, "an input is damaged or written by a newer version")                             \
    X(INTERNAL, 5, "out of memory, or the output could not be written")

typedef enum cli_exit {
#define X(name, number, text) CLI_##name = number,
    CLI_EXIT_LIST(X)
#undef X
} cli_exit;

/* How an option is read, and what it sets in the request of its verb. */
typedef enum cli_option_kind {
    CLI_FLAG = 1, /* a bool */
    CLI_FORM,     /* an int: the option's `id`; of several such options only one may be given */
    CLI_TEXT,     /* a const char * */
    CLI_INTEGER,  /* an int64_t between `least` and `most` */
    CLI_NUMBER,   /* a double between them */
    CLI_CALL,     /* whatever `take` does with the value */
} cli_option_kind;

/* An option of a verb: its help, its line of the man page, and how it is read come from here. */
typedef struct cli_option {
    cli_option_kind kind; /* 0 ends the list */
    char letter;          /* 'o' for -o; '\0': it has none */
    const char *name;     /* "output" for --output */
    const char *value;    /* name of its value: "DIR"; NULL: it takes none */
    const char *text;     /* what it does */
    size_t at;            /* offset in the request */
    int id;
    double least, most;
    cli_exit (*take)(void *request, const char *value); /* CLI_OK, or the error was reported */
} cli_option;

typedef struct cli_verb {
    const char *name;
    const char *usage;         /* after the name: "[KEY]"; "" if it takes nothing */
    const char *summary;       /* one line for the list of verbs */
    const char *details;       /* paragraphs for "roast help VERB", each ended by a line feed */
    const cli_option *options; /* listed after the details; NULL: none, or the details name them */
    bool ends_with_command;    /* the first argument that is no option begins a command */
    /* args are the arguments after the verb. */
    cli_exit (*run)(roast_sink *out, int n_args, char **args);
} cli_verb;

/* One row per verb, in the order of the help page; cmd_<name>.c defines cli_verb_<name>. */
#define CLI_VERB_LIST(X)                                                                           \
    X(show)                                                                                        \
    X(diagnose)                                                                                    \
    X(advise)                                                                                      \
    X(compare)                                                                                     \
    X(scaling)                                                                                     \
    X(trend)                                                                                       \
    X(what_if)                                                                                     \
    X(report)                                                                                      \
    X(ls)                                                                                          \
    X(board)                                                                                       \
    X(top)                                                                                         \
    X(export)                                                                                      \
    X(sql)                                                                                         \
    X(import)                                                                                      \
    X(run)                                                                                         \
    X(explain)                                                                                     \
    X(completion)                                                                                  \
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
/* The failure of a verb that needs a measurement, and what to do about one that cannot be read. */
cli_exit cli_fail_no_path(void);
#define CLI_NEXT_LS "\"roast ls\" lists the measurements below a folder"
/* Says something on standard error that is no failure. */
void cli_note(const char *text);
/* The same as cli_fail for an error of the library. */
cli_exit cli_fail_error(const roast_error *error, const char *next);
/* An unknown verb, with the nearest known one. */
cli_exit cli_fail_verb(const char *name);
/* An argument that the verb does not take. */
cli_exit cli_fail_argument(const cli_verb *verb, const char *argument);

/* ---- arguments ---- */

/* Reads the options into the request of the verb; options may stand anywhere before "--". The other
 * arguments move to the front of args, and *n_args becomes their number. CLI_OK, or the error was reported. */
cli_exit cli_read_options(const cli_verb *verb, void *request, int *n_args, char **args);
/* The same for verbs whose one other argument is a measurement. */
cli_exit cli_read_path(const cli_verb *verb, void *request, int n_args, char **args,
                       const char **path);

/* Becomes `python3 -m roastcoffea ...`. The caller has filled words[CLI_PYTHON_WORDS] and those after it, ended by NULL.
 * Returns only if that fails. */
enum { CLI_PYTHON_WORDS = 3 };
cli_exit cli_become_python(const char **words);
/* Reads the options and changes nothing: for a verb whose arguments Python reads again. */
cli_exit cli_check_options(const cli_verb *verb, void *request, int n_args, char **args);
/* Becomes `python3 -m roastcoffea VERB ARGS ...`. */
cli_exit cli_run_in_python(const char *verb, int n_args, char **args);

/* The pages of help. */
void cli_put_help(roast_sink *out);
void cli_put_verb_help(roast_sink *out, const cli_verb *verb);

/* ---- the terminal ---- */
/* The help of the option --safe; and its failure without --csv. */
#define CLI_SAFE_TEXT                                                                              \
    "with --csv: for spreadsheets; a text that begins with =, +, - or @ gets a ' in front, and "   \
    "control characters are shown (\\x1b). On a terminal it is always on"
cli_exit cli_fail_safe(void);
/* Columns: COLUMNS, or those of the terminal, or CLI_WIDTH. */
unsigned cli_terminal_width(int fd);
/* Whether escape sequences work there: a terminal that is not "dumb". */
bool cli_terminal_moves(int fd);
/* Whether output there may be coloured: such a terminal, and no NO_COLOR. */
bool cli_terminal_color(int fd);

/* ---- text ---- */
/* Writes `text` and blanks up to `width` columns. */
void cli_put_padded(roast_sink *out, const char *text, size_t width);
/* Writes words in lines of at most CLI_WIDTH columns, and a line feed. The first line begins in column `column`,
 * where the caller has already written; the others are indented by `indent`. */
void cli_put_wrapped(roast_sink *out, const char *text, size_t column, size_t indent);

#endif
