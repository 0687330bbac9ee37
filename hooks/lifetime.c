/* SPDX-License-Identifier: MIT
 * lifetime.c - what happens when this library is loaded and when the process ends: nearly
 * nothing. */
#include "bypass.h"
#include "engine/engine.h"
#include "real.h"
#include <limits.h>
#include <unistd.h>

static pid_t loaded_in;

static void look(void)
{
    (void)sc_real_find();
}

/* A libcuda that the program itself needs is there before main: its functions are looked up now,
 * while no thread can be waiting for one that holds the loader's lock. In any other process this
 * is one walk over a handful of names. */
__attribute__((constructor)) static void look_early(void)
{
    loaded_in = getpid();
    sc_engine_load();
    sc_engine_find_by(look);
    look();
}

/* Not in a forked child, which is silent, and where the loader's lock may be held for good. */
static void look_for_a_bypass(void)
{
    static char name[NAME_MAX + 1];

    if (getpid() == loaded_in && sc_bypass_find(name, sizeof(name)))
        sc_engine_out_of_reach(name);
}

/* Not atexit(): its handlers run before the program's static destructors, which still free
 * memory. */
__attribute__((destructor)) static void finish(void)
{
    look_for_a_bypass();
    sc_engine_finish();
}
