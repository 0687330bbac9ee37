/* SPDX-License-Identifier: MIT
 * glibc.h - the loader's functions under the versions that every C library since 2.17 has.
 *
 * Built on a newer system, a plain reference to dlopen asks for GLIBC_2.34, and a preload whose
 * version is missing kills every process it is loaded into. Include this wherever one of these
 * is called. */
#ifndef SC_HOOKS_GLIBC_H
#define SC_HOOKS_GLIBC_H

#include <dlfcn.h>

__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlclose,dlclose@GLIBC_2.2.5");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
__asm__(".symver dlvsym,dlvsym@GLIBC_2.2.5");

#endif
