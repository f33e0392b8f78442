/* A measurement on disk: a directory with run.sqlite (everything) and some small files.
 *
 *   run.sqlite           the run: rows that any SQLite reads, the worker series packed
 *   metrics.json, ...    small files that the caller made, see roast_store_file
 *   live                 only while it is being written, or where its writer was killed
 *
 * docs/format/measurement.md specifies it. A measurement is written under a temporary name beside
 * its own and renamed: whatever happens there is the old one, the new one, or none, never half of
 * one. Every page of run.sqlite and every small file has a checksum; a damaged one is
 * ROAST_ECORRUPT, never a wrong number. ROAST_EIO comes with os_errno, ROAST_EVERSION is for what a
 * newer version wrote. Paths are C strings, absolute or relative to the working directory. */
#ifndef ROAST_STORE_H
#define ROAST_STORE_H

#include "roast/attempts.h"
#include "roast/base.h"
#include "roast/run.h"

/* ---- what a directory is ---- */

typedef enum roast_store_kind {
    ROAST_STORE_NONE,   /* no measurement: not there, no directory, or something else */
    ROAST_STORE_OURS,   /* has a run.sqlite of ours; it may be live, damaged, or too new */
    ROAST_STORE_LEGACY, /* written by roastcoffea 0.1.x: see roast/legacy.h */
    ROAST_STORE_KINDS
} roast_store_kind;
/* Looks at the directory and the first bytes of one file. A temporary directory of a save that was
 * killed is none. */
roast_store_kind roast_store_is_measurement(const char *path);

/* ---- saving ---- */

/* The small files that a measurement may have; what else lies in its directory is the user's, and
 * stays there when the measurement is replaced. */
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

#define ROAST_STORE_MAX_FILE (64u << 20) /* bytes of a small file, and of a blob */
#define ROAST_STORE_MAX_NAME 255u        /* bytes of a blob's name */

/* Bytes of the caller's that are kept inside run.sqlite: what was computed from the run and is
 * wanted without reading all of it. */
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

/* ROAST_EIO with os_errno EEXIST: there is something of that name, and `overwrite` is off or it is
 * no measurement (an empty directory may be written to). Nothing is left of a save that failed;
 * what was there is as it was. The run is not changed; its views are read, so that lent parts are
 * saved, too. */
roast_status roast_store_save(const roast_run *run, const roast_store_options *options,
                              roast_error *err);

/* A name that is free in `folder`, "2026-11-15_23-01-58" and, where that is taken, "..._2" and so
 * on. Written as snprintf would; the length without the terminator. */
size_t roast_store_new_name(const char *folder, roast_utc when, char *out, size_t size);

/* ---- loading ---- */

/* The whole run, after every page and every small file was checked. ROAST_ENOTFOUND names what is
 * missing: the directory, run.sqlite or a small file. */
roast_status roast_store_load(const char *path, roast_run **out, roast_error *err);

/* One small file, checked. `*bytes` is the caller's, to be given back with roast_free; a terminator
 * stands behind it. ROAST_ENOTFOUND: the measurement has none of that name, or it is gone. */
typedef struct roast_store roast_store;
roast_status roast_store_read_file(roast_store *store, const char *name, char **bytes, size_t *len,
                                   roast_error *err);

/* ---- reading a measurement of any size, bit by bit ---- */

/* Opens ours, live ones too, and reads all that is small. What is read later is checked when it is
 * read. One thread at a time may use it. */
roast_status roast_store_open(const char *path, roast_store **out, roast_error *err);
void roast_store_close(roast_store *store);
/* Reads every page and every small file, whatever is in them, and compares their checksums. Of a
 * live one only the pages that it has by now. */
roast_status roast_store_verify(roast_store *store, roast_error *err);

typedef enum roast_store_state {
    ROAST_STORE_FINISHED,
    ROAST_STORE_LIVE,      /* its writer is at work */
    ROAST_STORE_UNFINISHED /* its writer is gone (or works on another machine): what it had written */
} roast_store_state;
roast_store_state roast_store_get_state(const roast_store *store);
/* Not finished: live, or its writer was killed. */
bool roast_store_is_live(const roast_store *store);

/* The run without what grows: chunks, files, attempts and the samples of the series are not in it
 * (its chunk log and series are empty, but for the workers and the joins and leaves in the latter).
 * Borrowed. */
const roast_run *roast_store_head(const roast_store *store);
uint64_t roast_store_chunk_count(const roast_store *store);
uint64_t roast_store_attempt_count(const roast_store *store);
uint64_t roast_store_sample_count(const roast_store *store);

/* What was saved under that name, or ROAST_ENOTFOUND. The bytes are borrowed until the next call
 * for a blob. */
roast_status roast_store_blob(roast_store *store, const char *name, roast_str *out,
                              roast_error *err);

/* The chunks in their order, one at a time: *there is false behind the last one. Unlike a chunk of a
 * log it has its branches, sections, reads and customs as arrays; all is borrowed until the next
 * call. */
roast_status roast_store_next_chunk(roast_store *store, roast_chunk *out, bool *there,
                                    roast_error *err);
/* The sections that were recorded beside the chunks come from roast_run_sections_view(head). */
/* The next chunk is the first one again. */
void roast_store_rewind_chunks(roast_store *store);

/* What is known of the files, one at a time, `branches` as an array; borrowed until the next call. */
roast_status roast_store_next_file(roast_store *store, roast_file *out, bool *there,
                                   roast_error *err);
void roast_store_rewind_files(roast_store *store);

/* The attempts in their order; `worker` is a number of roast_store_attempts_head, where the workers
 * and the departures are. Borrowed until the next call. */
roast_status roast_store_next_attempt(roast_store *store, roast_attempt *out, bool *there,
                                      roast_error *err);
void roast_store_rewind_attempts(roast_store *store);
/* Attempts without a try; NULL: the run has none. */
const roast_attempts *roast_store_attempts_head(const roast_store *store);

/* The series in pieces, each some 100,000 samples of one stretch of time: *piece holds the ticks and
 * samples of the stretch, and all workers under the numbers that they have in the head. It is the
 * caller's, to be freed; NULL behind the last one. */
roast_status roast_store_next_series(roast_store *store, roast_series **piece, roast_error *err);
void roast_store_rewind_series(roast_store *store);
/* All of the series at once; the caller's. */
roast_status roast_store_series(roast_store *store, roast_series **out, roast_error *err);

/* The connection to run.sqlite, read-only and defensive, its schema checked to be ours; for queries,
 * and for modules and functions that a query needs. It is the store's: not to be closed. Statements must be
 * finalized before roast_store_close. */
struct sqlite3;
struct sqlite3 *roast_store_sqlite(roast_store *store);
/* "DIR/run.sqlite", as it was opened. */
const char *roast_store_path(const roast_store *store);

/* ---- writing while a run goes on ---- */

/* A directory that can be read at any time while it grows; a writer that is killed leaves all that
 * it had appended. */
typedef struct roast_store_live roast_store_live;
/* Begins one at options->path, as save would (what is replaced is gone from now on). Its blobs and
 * files are as well. */
roast_status roast_store_live_begin(const roast_store_options *options, roast_store_live **out,
                                    roast_error *err);
/* Adds the chunks, files, ticks, samples, events and attempts of `delta` behind those that are
 * there; workers are told by their names. The small parts (clock, report, columns, processor,
 * replayed, meta, notes, spans, sections beside the chunks) replace those that were there, where
 * `delta` has any. All of it or, on failure, nothing. */
roast_status roast_store_live_append(roast_store_live *live, const roast_run *delta,
                                     roast_error *err);
/* Puts the finished measurement in its place and frees `live`, also on failure: then the directory
 * stays as a killed writer leaves it. `run` is the whole run; NULL: what was appended. The path of
 * `options` is that of `live`, whatever it says. */
roast_status roast_store_live_finish(roast_store_live *live, const roast_run *run,
                                     const roast_store_options *options, roast_error *err);
/* Frees `live` and leaves the directory as a killed writer would. */
void roast_store_live_close(roast_store_live *live);
/* Frees `live` and removes the directory, but for what the user put into it. */
void roast_store_live_abandon(roast_store_live *live);

#endif
