#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned cli_terminal_width(int fd) {
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long wanted = columns != NULL ? strtol(columns, NULL, 10) : 0;
    if (wanted > 0 && wanted <= 10000)
        return (unsigned)wanted;
    return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                              : CLI_WIDTH;
}

bool cli_terminal_moves(int fd) {
    const char *kind = getenv("TERM");
    return isatty(fd) && (kind == NULL || strcmp(kind, "dumb") != 0);
}

bool cli_terminal_color(int fd) {
    const char *no_color = getenv("NO_COLOR");
    return (no_color == NULL || no_color[0] == '\0') && cli_terminal_moves(fd);
}
