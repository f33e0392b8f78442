#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static roast_status fail(const char *path, roast_error *err) {
    return roast_error_set(err, ROAST_EIO, "output", -1, "%s: %s", path, strerror(errno));
}

static char *join(const char *path, const char *end) {
    size_t size = strlen(path) + strlen(end) + 1;
    char *joined = roast_alloc(size);
    if (joined != NULL)
        snprintf(joined, size, "%s%s", path, end);
    return joined;
}

static void reset(output *to) {
    roast_sink_free(to->sink);
    if (to->fd >= 0)
        close(to->fd);
    roast_free(to->path);
    roast_free(to->temporary);
    *to = (output){.fd = -1};
}

static roast_status open_file(output *to, const char *path, roast_error *err) {
    struct stat there;
    char end[40];
    bool in_place = stat(path, &there) == 0 && !S_ISREG(there.st_mode);
    snprintf(end, sizeof end, ".%ld.part", (long)getpid());
    to->path = join(path, "");
    to->temporary = in_place ? NULL : join(path, end);
    if (to->path == NULL || (to->temporary == NULL && !in_place))
        return roast_error_set(err, ROAST_ENOMEM, "output", -1, "no memory for a file's name");
    to->fd = in_place ? open(path, O_WRONLY | O_CLOEXEC)
                      : open(to->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (to->fd < 0) {
        roast_free(to->temporary);
        to->temporary = NULL;
        return fail(path, err);
    }
    return roast_sink_new_fd(to->fd, &to->sink, err);
}

roast_status output_open(output *to, const char *path, roast_error *err) {
    *to = (output){.fd = -1};
    roast_status status = open_file(to, path, err);
    if (status != ROAST_OK)
        output_close(to, false, NULL);
    return status;
}

roast_status output_close(output *to, bool whole, roast_error *err) {
    roast_status status = ROAST_OK;
    if (whole)
        status = roast_sink_finish(to->sink, err);
    if (status == ROAST_OK && whole && to->temporary != NULL &&
        rename(to->temporary, to->path) != 0)
        status = fail(to->path, err);
    if (to->temporary != NULL && (!whole || status != ROAST_OK))
        unlink(to->temporary);
    reset(to);
    return status;
}
