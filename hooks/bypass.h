/* SPDX-License-Identifier: MIT
 * bypass.h - an object of this process whose calls of the driver no preload can see.
 *
 * An object opened with RTLD_DEEPBIND looks its functions up in its own libraries before those that
 * are preloaded: its dlsym is the C library's, and the driver's functions that it gets by that are
 * not ours. Nothing that we export is ever called then, the opening itself aside, so the only place
 * left to notice is the end of the process, by what the loader has written: where the object's
 * dlsym, or its driver functions, lead to (docs/decisions/0011).
 *
 * Nothing here allocates, or calls the driver. The loader's list lock is held for the walk, so that
 * a forked child, in which another thread may have held it, must not come here. */
#ifndef SC_HOOKS_BYPASS_H
#define SC_HOOKS_BYPASS_H

#include <stdbool.h>
#include <stddef.h>

/* The file name of the first such object, cut to `bytes`, as `name`; false: none is seen, no driver
 * is loaded, or we are not what is looked up first. In one thread at a time. */
bool sc_bypass_find(char *name, size_t bytes);

#endif
