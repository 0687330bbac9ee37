/* SPDX-License-Identifier: MIT
 * lifetime.c - what happens when this library is loaded and when the process ends: nearly
 * nothing. */
#include "engine/engine.h"
#include "real.h"

static void look(void)
{
    (void)sc_real_find();
}

/* A libcuda that the program itself needs is there before main: its functions are looked up now,
 * while no thread can be waiting for one that holds the loader's lock. In any other process this
 * is one walk over a handful of names. */
__attribute__((constructor)) static void look_early(void)
{
    sc_engine_load();
    sc_engine_find_by(look);
    look();
}

/* Not atexit(): its handlers run before the program's static destructors, which still free
 * memory. */
__attribute__((destructor)) static void finish(void)
{
    sc_engine_finish();
}
