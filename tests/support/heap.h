/* SPDX-License-Identifier: MIT
 * heap.h - counts a test program's calls of malloc, calloc and realloc, in the place of which its
 * linker puts what stands here (-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc). One file of a
 * program includes it. Thread-safe; check's own calls count, too. */
#ifndef SC_TESTS_HEAP_H
#define SC_TESTS_HEAP_H

#include <stdatomic.h>
#include <stddef.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static atomic_uint allocations;

void *__wrap_malloc(size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __real_realloc(old, bytes);
}

#endif
