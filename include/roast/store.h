/* A measurement on disk: a directory with run.sqlite (everything) and some small files.
 *
 *   run.sqlite           the run, in compressed parts
 *   metrics.json, ...    small files of the caller, see roast_store_file
 *   live                 only while it is being written, or where its writer was killed
 *
 * docs/format/measurement.md specifies it. A measurement is written to a temporary directory, which is then
 * renamed: a crash leaves the old measurement, the new one, or none, never half of one. Every part of run.sqlite
 * and every small file has a checksum; a damaged one is ROAST_ECORRUPT, never a wrong number. ROAST_EIO comes with
 * os_errno, ROAST_EVERSION is for files of a newer version. Paths are C strings, absolute or relative to the
 * working directory. */
#ifndef ROAST_STORE_H
#define ROAST_STORE_H

#include "roast/run.h"

/* ---- what a directory is ---- */

typedef enum roast_store_kind {
    ROAST_STORE_NONE,   /* no measurement: not there, no directory, or something else */
    ROAST_STORE_OURS,   /* has a run.sqlite of ours; it may be live, damaged, or too new */
    ROAST_STORE_LEGACY, /* written by roastcoffea 0.1.x: see roast/legacy.h */
    ROAST_STORE_KINDS
} roast_store_kind;
/* Looks at the directory and at the first bytes of one or two files. The temporary directory of a killed save is no
 * measurement. */
roast_store_kind roast_store_is_measurement(const char *path);

/* ---- saving ---- */

/* The small files that a measurement may have. All other files in its directory are the user's; they stay there when
 * the measurement is replaced. */
#define ROAST_STORE_FILES(X)                                                                       \
    X(METRICS, "metrics.json")                                                                     \
    X(METADATA, "metadata.json")                                                                   \
    X(TIMES, "start_end_time.txt")                                                                 \
    X(CONFIG, "config.json")

typedef struct roast_store_file {
    const char *name; /* one of the above, once each */
    const void *bytes;
    size_t len;
} roast_store_file;

#define ROAST_STORE_MAX_FILE                                                                       \
    (64u << 20) /* bytes of a small file, and of a blob; of all blobs four times as many */
#define ROAST_STORE_MAX_NAME 255u /* bytes of a blob's name */

/* Bytes of the caller that are kept inside run.sqlite: results computed from the run, to be read without it. */
typedef struct roast_store_blob_in {
    const char *name;
    const void *bytes;
    size_t len;
} roast_store_blob_in;

typedef struct roast_store_options {
    const char *path; /* of the measurement; folders above it are made where they are missing */
    bool overwrite;   /* a measurement of that name is replaced, ours or of 0.1.x */
    const roast_store_file *files;
    uint32_t n_files;
    const roast_store_blob_in *blobs;
    uint32_t n_blobs;
} roast_store_options;

/* Saves a run. ROAST_EIO with os_errno EEXIST: a measurement of that name exists and `overwrite` is off, or something
 * else of that name exists (an empty directory may be written to). A save that fails leaves everything as it was. */
roast_status roast_store_save(const roast_run *run, const roast_store_options *options,
                              roast_error *err);

/* A free name in `folder`: "2026-11-15_23-01-58"; if that is taken, "..._2" and so on. Written as snprintf would;
 * returns the length without the terminator. */
size_t roast_store_new_name(const char *folder, roast_utc when, char *out, size_t size);

/* ---- loading ---- */

/* The whole run, after all of it and every small file was checked. ROAST_ENOTFOUND names what is missing: the
 * directory, run.sqlite or a small file. */
roast_status roast_store_load(const char *path, roast_run **out, roast_error *err);

/* An open measurement of ours, finished or live. Opening reads and checks all small parts. One thread at a time may use
 * it. */
typedef struct roast_store roast_store;
roast_status roast_store_open(const char *path, roast_store **out, roast_error *err);
void roast_store_close(roast_store *store);

typedef enum roast_store_state {
    ROAST_STORE_FINISHED,
    ROAST_STORE_LIVE,      /* its writer is at work */
    ROAST_STORE_UNFINISHED /* its writer was killed, or works on another machine */
} roast_store_state;
roast_store_state roast_store_get_state(const roast_store *store);

/* The run without chunks, files, attempts and worker series. Borrowed; NULL after roast_store_take_run. */
const roast_run *roast_store_head(const roast_store *store);
/* The whole run, as roast_store_load gives it. It is the caller's; ROAST_ESTATE the second time. */
roast_status roast_store_take_run(roast_store *store, roast_run **out, roast_error *err);
/* The same for a reader that follows a live measurement: of the chunks, worker series and attempts only those that were
 * appended since the call before. `*after` is 0 for the first call, which gives all of them, and is kept for the next
 * one. A measurement that replaces another one begins at 0 again: compare the files. */
roast_status roast_store_take_news(roast_store *store, int64_t *after, roast_run **out,
                                   roast_error *err);
/* The bytes that were saved under that name, borrowed until the store is closed; or ROAST_ENOTFOUND. */
roast_status roast_store_blob(const roast_store *store, const char *name, roast_str *out,
                              roast_error *err);
/* One small file, checked. The caller frees `*bytes` with roast_free; a terminator follows the bytes.
 * ROAST_ENOTFOUND: the measurement has none of that name, or the file is gone. */
roast_status roast_store_read_file(const roast_store *store, const char *name, char **bytes,
                                   size_t *len, roast_error *err);

/* One small file of at most `limit` bytes without opening the measurement, for lists of many: not checked. The caller
 * frees `*bytes` with roast_free; a terminator follows the bytes. ROAST_ESTATE: by its header, run.sqlite is not
 * finished, of another version, or not as long as it was. */
roast_status roast_store_glance(const char *path, const char *name, size_t limit, char **bytes,
                                size_t *len, roast_error *err);

/* ---- writing while a run goes on ---- */

/* A measurement that can be read at any time while it grows. A killed writer leaves everything that it had appended. */
typedef struct roast_store_live roast_store_live;
/* Begins a live measurement at options->path, with the files and blobs of `options`. A measurement that is replaced is
 * gone from then on. */
roast_status roast_store_live_begin(const roast_store_options *options, roast_store_live **out,
                                    roast_error *err);
/* Appends the chunks, worker series and attempts of `delta`; equal names mean the same worker. The small parts of
 * `delta` (clock, report, columns, processor, replayed, meta, notes, spans, worker counts, sections outside of chunks)
 * replace earlier ones. Appends all of it or, on failure, nothing. */
roast_status roast_store_live_append(roast_store_live *live, const roast_run *delta,
                                     roast_error *err);
/* Replaces the live measurement by the finished one and frees `live`. `run` is the whole run; options->path is ignored.
 * After a failure `live` is as it was, and the caller closes it. */
roast_status roast_store_live_finish(roast_store_live *live, const roast_run *run,
                                     const roast_store_options *options, roast_error *err);
/* Frees `live` and leaves the directory as a killed writer would. */
void roast_store_live_close(roast_store_live *live);
/* Frees `live` and removes the measurement; files of the user stay, and what another process has put there. */
void roast_store_live_abandon(roast_store_live *live);

#endif
