/* Status codes, errors, memory and clocks: what every other header of libroast uses.
 *
 * Conventions of the whole library
 *   - A function that can fail returns a roast_status and takes an optional `roast_error *err` as
 *     its last parameter; NULL is allowed. Out parameters stand before it and are written on
 *     success only.
 *   - `_new/_free` own the heap (free(NULL) is fine), `_init/_reset` use the caller's storage.
 *   - Nothing aborts, prints or keeps a lock across a call into the caller's code.
 */
#ifndef ROAST_BASE_H
#define ROAST_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ROAST_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define ROAST_MUST_USE           __attribute__((warn_unused_result))
#else
#define ROAST_PRINTF(fmt, first)
#define ROAST_MUST_USE
#endif

/* One row per code: name, words. */
#define ROAST_STATUS_LIST(X)                                                                       \
    X(OK, "no error")                                                                              \
    X(ENOMEM, "out of memory")                                                                     \
    X(EINVAL, "invalid argument")                                                                  \
    X(EIO, "input/output error")                                                                   \
    X(ECORRUPT, "damaged data")                                                                    \
    X(EVERSION, "written by a newer version")                                                      \
    X(ELIMIT, "a limit was exceeded")                                                              \
    X(ENOTFOUND, "not found")                                                                      \
    X(EUNSUPPORTED, "not supported on this system")                                                \
    X(ESTATE, "called at the wrong moment")

typedef enum roast_status {
#define X(name, text) ROAST_##name,
    ROAST_STATUS_LIST(X)
#undef X
        ROAST_STATUS_COUNT
} roast_status;

/* "ENOMEM"; "unknown" for any other number. */
const char *roast_status_name(roast_status status);
/* "out of memory". */
const char *roast_status_text(roast_status status);

/* Filled by the function that found the fault; the caller owns the storage. */
typedef struct roast_error {
    roast_status status;
    int os_errno;     /* errno of the failed system call, 0 if there was none */
    int64_t position; /* byte offset in the input where the fault is, -1 if there is none */
    char where[48];   /* the function or the part of the input, "chunk log row" */
    char message[256];
} roast_error;

/* Records a fault and returns `status`, so that a function can end with it. err may be NULL. A long
 * message is cut. */
roast_status roast_error_set(roast_error *err, roast_status status, const char *where,
                             int64_t position, const char *format, ...) ROAST_PRINTF(5, 6);
/* Back to ROAST_OK with empty texts. */
void roast_error_reset(roast_error *err);

/* Passes a failure on to the caller. */
#define ROAST_TRY(expr)                                                                            \
    do {                                                                                           \
        roast_status roast_try_status_ = (expr);                                                   \
        if (roast_try_status_ != ROAST_OK)                                                         \
            return roast_try_status_;                                                              \
    } while (0)

/* A borrowed run of bytes, UTF-8 by convention, not terminated. data NULL means "not there". */
typedef struct roast_str {
    const char *data;
    size_t len;
} roast_str;

/* Borrows a C string; NULL gives the absent string. */
roast_str roast_str_of(const char *text);
bool roast_str_equal(roast_str a, roast_str b);

/* Sums and differences that stay at the end of the type instead of wrapping. */
int64_t roast_add_capped(int64_t a, int64_t b);
int64_t roast_sub_capped(int64_t a, int64_t b);

/* Memory: all of libroast allocates through this one hook. size 0 frees; ptr NULL allocates; the
 * result is NULL on failure. Set it before any other call; NULL puts the C library's back. */
typedef void *(*roast_alloc_hook)(void *context, void *ptr, size_t size);
void roast_alloc_set_hook(roast_alloc_hook hook, void *context);
void *roast_alloc(size_t size) ROAST_MUST_USE;
void *roast_alloc_zero(size_t size) ROAST_MUST_USE;
void *roast_realloc(void *ptr, size_t size) ROAST_MUST_USE;
void roast_free(void *ptr);

/* Clocks. Durations come from the monotonic clock, moments from UTC; the types prevent confusion.
 *
 * roast_utc_now is the clock of this process: one reading of the system's clock, plus the monotonic time since
 * then. Setting the system's clock during a run therefore does not disturb its moments. A forked child inherits
 * the clock of its parent. */
typedef struct roast_mono {
    int64_t ns;
} roast_mono;
typedef struct roast_utc {
    int64_t ns; /* since 1970-01-01T00:00:00Z */
} roast_utc;
roast_mono roast_mono_now(void);
roast_utc roast_utc_now(void);
/* Reads the system's clock anew; to be called while no run is measured. */
void roast_utc_sync(void);
/* The system's clock, for a comparison with readings of other programs. */
roast_utc roast_system_now(void);
/* Converts a moment of the system's clock to the clock of this process. The moment changes only if the system's
 * clock was set since roast_utc_sync, or since the first roast_utc_now. */
roast_utc roast_utc_of_system(roast_utc moment);
/* CPU time of the calling thread so far, in nanoseconds; -1: not known. */
int64_t roast_thread_cpu_now(void);
/* later - earlier, in nanoseconds. */
int64_t roast_mono_since(roast_mono earlier, roast_mono later);

/* "1.0.0" */
const char *roast_version(void);

#endif
