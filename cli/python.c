#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* The Python that this program was installed with, or the first one of the path. */
static const char *find_python(char place[PATH_MAX]) {
    static const char name[] = "python3";
    ssize_t len = readlink("/proc/self/exe", place, PATH_MAX - 1);
    if (len <= 0)
        return name;
    place[len] = '\0';
    char *folder_end = strrchr(place, '/');
    if (folder_end == NULL || (size_t)(folder_end + 1 - place) + sizeof name > PATH_MAX)
        return name;
    memcpy(folder_end + 1, name, sizeof name);
    return access(place, X_OK) == 0 ? place : name;
}

cli_exit cli_become_python(const char **words) {
    char place[PATH_MAX];
    words[0] = find_python(place);
    words[1] = "-m";
    words[2] = "roastcoffea";
    execvp(words[0], (char *const *)words);
    return cli_fail(CLI_INPUT, "install roastcoffea for Python", "cannot start %s: %s", words[0],
                    strerror(errno));
}

cli_exit cli_check_options(const cli_verb *verb, void *request, int n_args, char **args) {
    char **copy = roast_alloc(((size_t)n_args + 1) * sizeof *copy);
    if (copy == NULL)
        return cli_fail(CLI_INTERNAL, NULL, "out of memory");
    for (int i = 0; i < n_args; i++)
        copy[i] = args[i];
    cli_exit code = cli_read_options(verb, request, &n_args, copy);
    roast_free(copy);
    return code;
}

cli_exit cli_run_in_python(const char *verb, int n_args, char **args) {
    const char **words = roast_alloc(((size_t)n_args + CLI_PYTHON_WORDS + 2) * sizeof *words);
    if (words == NULL)
        return cli_fail(CLI_INTERNAL, NULL, "out of memory");
    words[CLI_PYTHON_WORDS] = verb;
    for (int i = 0; i < n_args; i++)
        words[CLI_PYTHON_WORDS + 1 + i] = args[i];
    words[CLI_PYTHON_WORDS + 1 + n_args] = NULL;
    cli_exit code = cli_become_python(words);
    roast_free(words);
    return code;
}
