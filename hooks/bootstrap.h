/* SPDX-License-Identifier: MIT
 * bootstrap.h - the dlsym behind ours.
 *
 * bootstrap.S exports dlsym itself. The caller's own look-ups leave it by a jump, not a call,
 * because the C library finds "next" and the caller's scope from the return address. Only an
 * explicit handle with a name of the driver's kind (`cu` and a capital letter) goes to
 * sc_dlsym_named() in resolve.c.
 *
 * Two pointers are found at the first look-up of the process, which may come before any
 * constructor of ours has run (other preloads' constructors, sanitizers): the C library's dlsym,
 * and the one next in line, which is another preload's where there is one. Callers are chained
 * to the latter, so that a tool behind us still sees them. Both are constant once set; threads
 * that race find the same. Nothing here allocates, locks or is instrumented. */
#ifndef SC_HOOKS_BOOTSTRAP_H
#define SC_HOOKS_BOOTSTRAP_H

typedef void *(*sc_dlsym)(void *handle, const char *name);

sc_dlsym sc_dlsym_next(void); /* NULL when there is none, which no C library we know of allows */
sc_dlsym sc_dlsym_libc(void); /* for RTLD_NEXT as seen from this library */

#endif
