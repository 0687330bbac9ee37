/* SPDX-License-Identifier: MIT
 * api.h - how a function of libcudart is defined: visible from outside a shared library, and hidden
 * in the archive, as in the real one. What a program links in statically is its own: a plugin that
 * carries a libcudart neither offers its calls to others nor has them taken over by a preload. */
#ifndef SIMRT_API_H
#define SIMRT_API_H

#ifdef SIMRT_STATIC
#define SIMRT_VISIBILITY "hidden"
#else
#define SIMRT_VISIBILITY "default"
#endif

#define SIMRT_API __attribute__((visibility(SIMRT_VISIBILITY)))

#endif
