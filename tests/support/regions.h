/* SPDX-License-Identifier: MIT
 * regions.h - memory scopes that must begin and end. */
#ifndef SC_TESTS_REGIONS_H
#define SC_TESTS_REGIONS_H

#include "shapecache/shapecache.h"
#include "support/room.h"
#include <check.h>

static inline void begin(const char *name, unsigned flags)
{
    ck_assert_int_eq(shapecache_scope_begin(name, flags), SHAPECACHE_OK);
}

static inline shapecache_scope_info end(void)
{
    shapecache_scope_info info;

    ck_assert_int_eq(shapecache_scope_end(&info), SHAPECACHE_OK);
    return info;
}

#endif
