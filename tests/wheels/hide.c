/* For LD_AUDIT: a loader that does not find the system's SQLite, jansson and zstd. A copy inside a wheel has another name. */
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <string.h>

unsigned int la_version(unsigned int version) {
    return version;
}

char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag) {
    (void)cookie, (void)flag;
    static const char *const hidden[] = {"libsqlite3.so", "libjansson.so", "libzstd.so"};
    const char *slash = strrchr(name, '/'), *base = slash != NULL ? slash + 1 : name;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (strncmp(base, hidden[i], strlen(hidden[i])) == 0)
            return NULL;
    return (char *)name;
}
