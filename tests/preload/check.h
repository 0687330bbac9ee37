/* SPDX-License-Identifier: MIT
 * check.h - for small programs that run under a preload: each check is a sentence that would be
 * false if it failed.
 *
 * No framework: these programs are the host, and must not bring threads, forks or signal
 * handlers of their own. */
#ifndef SC_TEST_CHECK_H
#define SC_TEST_CHECK_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int check_failures;

#define CHECK(claim, sentence)                                                                     \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            (void)fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, sentence);          \
            check_failures++;                                                                      \
        }                                                                                          \
    } while (0)

/* What the program cannot go on without. */
static inline void *must(void *pointer, const char *what)
{
    if (pointer == NULL) {
        const char *why = dlerror();

        (void)fprintf(stderr, "%s: %s\n", what, why != NULL ? why : "missing");
        exit(2);
    }
    return pointer;
}

/* A function of `type` by its name, through the dlsym that is under test. */
#define FIND(type, handle, name) ((type *)(uintptr_t)must(dlsym(handle, name), name))

#endif
