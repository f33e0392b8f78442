/* What the C tests share: cmocka, and an allocator that fails on demand. */
#ifndef ROAST_TESTS_SUPPORT_H
#define ROAST_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "roast/base.h"

/* Asserts ROAST_OK and shows the error's message otherwise. */
#define assert_ok(expr, err)                                                                       \
    do {                                                                                           \
        roast_status status_ = (expr);                                                             \
        if (status_ != ROAST_OK)                                                                   \
            fail_msg("%s: %s (%s)", #expr, roast_status_name(status_), (err).message);             \
    } while (0)
#define assert_status(expected, expr)                                                              \
    assert_string_equal(roast_status_name(expected), roast_status_name(expr))
#define assert_str(text, str)                                                                      \
    do {                                                                                           \
        roast_str str_ = (str);                                                                    \
        assert_non_null(str_.data);                                                                \
        assert_int_equal(strlen(text), str_.len);                                                  \
        assert_memory_equal(text, str_.data, str_.len);                                            \
    } while (0)
/* Equal within a relative 1e-12. */
#define assert_near(expected, actual) assert_near_(expected, actual, #actual, __FILE__, __LINE__)
void assert_near_(double expected, double actual, const char *what, const char *file, int line);

/* Lets the n-th allocation from now on (0 is the next) and all later ones fail. */
void alloc_fail_from(long n);
/* Lets only the n-th one fail. */
void alloc_fail_once(long n);
/* Back to normal; the number of allocations that were asked to succeed or fail since the last call.
 */
long alloc_fail_stop(void);
/* Blocks that were allocated and not freed since the first use of the functions above. */
long alloc_live(void);

/* Runs `body(context)` again and again, the n-th time with the n-th allocation failing, until it
 * runs through without meeting a failure. body must return ROAST_ENOMEM when an allocation failed
 * and ROAST_OK otherwise, and must leave no block behind. Returns how many failing places there
 * were. */
long alloc_walk(roast_status (*body)(void *context), void *context);

#endif
