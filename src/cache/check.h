/* SPDX-License-Identifier: MIT
 * check.h - assertions of the _check() functions, which only tests call: they hold whatever NDEBUG
 * says. */
#ifndef SC_CACHE_CHECK_H
#define SC_CACHE_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define SC_CHECK(condition)                                                                        \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
