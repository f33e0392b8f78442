/* Names of the values of an enumeration that has an X-macro list. */
#ifndef ROAST_BASE_NAMES_H
#define ROAST_BASE_NAMES_H

#include <stddef.h>

/* What a row gives: its name itself, or the words that follow it. */
#define ROAST_NAME_ITSELF(name, ...)     #name,
#define ROAST_NAME_IN_WORDS(name, words) words,

/* Defines the function that gives the name of a value; "unknown" for any other number. */
#define ROAST_NAMES(function, type, list, of_row)                                                  \
    const char *function(type value) {                                                             \
        static const char *const names[] = {list(of_row)};                                         \
        return (size_t)value < sizeof names / sizeof *names ? names[value] : "unknown";            \
    }

#endif
