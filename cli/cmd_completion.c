#include "cli.h"

#include <string.h>

/* A text between single quotes. Inside them bash and zsh know no escape, fish does. In a specification of zsh's
 * _arguments some letters have a meaning, and are escaped as well. */
static void put_quoted(roast_sink *out, const char *text, const char *escaped, const char *quote) {
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            roast_sink_puts(out, quote);
            continue;
        }
        if (strchr(escaped, *text) != NULL)
            roast_sink_puts(out, "\\");
        roast_sink_printf(out, "%c", *text);
    }
}

/* ---- bash ---- */

static void put_verb_names(roast_sink *out) {
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++)
        roast_sink_printf(out, "%s%s", verb == cli_verbs ? "" : " ", (*verb)->name);
}

static void put_bash(roast_sink *out) {
    roast_sink_puts(
        out,
        "# Completion of roast for bash: source <(roast completion bash)\n"
        "_roast() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} options=\n"
        "    if [[ $COMP_CWORD -eq 1 || ($COMP_CWORD -eq 2 && ${COMP_WORDS[1]} == help) ]]; then\n"
        "        COMPREPLY=($(compgen -W '");
    put_verb_names(out);
    roast_sink_puts(out, "' -- \"$word\"))\n"
                         "        return\n"
                         "    fi\n"
                         "    case ${COMP_WORDS[1]} in\n");
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
        if ((*verb)->options == NULL)
            continue;
        roast_sink_printf(out, "    %s) options='", (*verb)->name);
        for (const cli_option *option = (*verb)->options; option->kind != 0; option++)
            roast_sink_printf(out, "--%s ", option->name);
        roast_sink_puts(out, "--help' ;;\n");
    }
    roast_sink_puts(out,
                    "    esac\n"
                    "    [[ $word != -* ]] || COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                    "}\n"
                    "complete -o default -F _roast roast\n");
}

/* ---- zsh ---- */

static void put_zsh_option(roast_sink *out, const cli_option *option) {
    roast_sink_puts(out, " \\\n            ");
    if (option->letter != '\0')
        roast_sink_printf(out, "'(-%c --%s)'{-%c,--%s}'", option->letter, option->name,
                          option->letter, option->name);
    else
        roast_sink_printf(out, "'--%s", option->name);
    roast_sink_puts(out, "[");
    put_quoted(out, option->text, "[]:\\", "'\\''");
    roast_sink_puts(out, "]");
    if (option->value != NULL)
        roast_sink_printf(out, ":%s:_files", option->value);
    roast_sink_puts(out, "'");
}

static void put_zsh(roast_sink *out) {
    roast_sink_puts(out, "#compdef roast\n"
                         "# Completion of roast for zsh: source <(roast completion zsh), or a file "
                         "_roast in $fpath\n"
                         "_roast() {\n"
                         "    local -a verbs=(\n");
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
        roast_sink_printf(out, "        '%s:", (*verb)->name);
        put_quoted(out, (*verb)->summary, ":\\", "'\\''");
        roast_sink_puts(out, "'\n");
    }
    roast_sink_puts(out,
                    "    )\n"
                    "    if (( CURRENT == 2 )) || [[ $CURRENT -eq 3 && $words[2] == help ]]; then\n"
                    "        _describe verb verbs\n"
                    "        return\n"
                    "    fi\n"
                    "    local verb=$words[2]\n"
                    "    shift words\n"
                    "    (( CURRENT-- ))\n"
                    "    case $verb in\n");
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
        roast_sink_printf(out, "        %s) _arguments", (*verb)->name);
        for (const cli_option *option = (*verb)->options; option != NULL && option->kind != 0;
             option++)
            put_zsh_option(out, option);
        roast_sink_puts(out, " '*:argument:_files' ;;\n");
    }
    roast_sink_puts(
        out,
        "    esac\n"
        "}\n"
        "if [[ $funcstack[1] == _roast ]]; then _roast \"$@\"; else compdef _roast roast; fi\n");
}

/* ---- fish ---- */

static void put_fish(roast_sink *out) {
    roast_sink_puts(out, "# Completion of roast for fish: roast completion fish | source\n");
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
        roast_sink_printf(out, "complete -c roast -f -n __fish_use_subcommand -a %s -d '",
                          (*verb)->name);
        put_quoted(out, (*verb)->summary, "\\", "\\'");
        roast_sink_puts(out, "'\n");
        for (const cli_option *option = (*verb)->options; option != NULL && option->kind != 0;
             option++) {
            roast_sink_printf(out, "complete -c roast -n '__fish_seen_subcommand_from %s' -l %s",
                              (*verb)->name, option->name);
            if (option->letter != '\0')
                roast_sink_printf(out, " -s %c", option->letter);
            roast_sink_printf(out, "%s -d '", option->value != NULL ? " -r" : "");
            put_quoted(out, option->text, "\\", "\\'");
            roast_sink_puts(out, "'\n");
        }
    }
}

static const struct {
    const char *name;
    void (*put)(roast_sink *out);
} shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};

static cli_exit run(roast_sink *out, int n_args, char **args) {
    if (n_args > 1)
        return cli_fail_argument(&cli_verb_completion, args[1]);
    for (size_t i = 0; n_args == 1 && i < sizeof shells / sizeof *shells; i++)
        if (strcmp(args[0], shells[i].name) == 0) {
            shells[i].put(out);
            return CLI_OK;
        }
    return cli_fail(CLI_USAGE, "give it bash, zsh or fish", "%s%s%s",
                    n_args == 0 ? "no shell was given" : "\"", n_args == 0 ? "" : args[0],
                    n_args == 0 ? "" : "\" is no shell that it knows");
}

const cli_verb cli_verb_completion = {
    .name = "completion",
    .usage = "SHELL",
    .summary = "a script with which a shell completes verbs and options",
    .details = "Prints a script for SHELL: bash, zsh or fish. With it the shell completes verbs,\n"
               "options and files after \"roast\". In the start-up file of the shell:\n"
               "\n"
               "  ~/.bashrc                   source <(roast completion bash)\n"
               "  ~/.zshrc, after compinit    source <(roast completion zsh)\n"
               "  ~/.config/fish/config.fish  roast completion fish | source\n",
    .run = run,
};
