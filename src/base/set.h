/* SPDX-License-Identifier: MIT
 * set.h - a declared set of shapes: a text file that `shapecache shapes --save` writes or a person
 * does, read by SHAPECACHE_SHAPES. docs/shapes.md describes it.
 *
 *     shapecache shapes 1                 the first line: what it is, and the version of the format
 *     world 8                             each of these at most once, and only where it matters
 *     shape 48MiB label "attention scores" dims 16x512x1536 site train+0x668c
 *
 * A set is read whole or not at all: anything that is not understood is an error with its line and
 * what was expected. It owns the text it was read from, into which its sites point; nothing changes
 * after reading, so any thread may look things up. No symbol of a C library newer than 2.17. */
#ifndef SC_BASE_SET_H
#define SC_BASE_SET_H

#include "base/hint.h"
#include "base/map.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SC_SET_VERSION = 1, SC_SET_BUILD_BYTES = 32 };

typedef struct sc_set_shape {
    uint64_t bytes;
    const char *site; /* NULL: not told */
    sc_hint hint;
    uint32_t same_bytes; /* 1 + index of another one; 0: none */
} sc_set_shape;

typedef struct sc_set {
    bool has_world, has_rank, has_memory;
    uint64_t world, rank;
    uint64_t memory;                /* of the device, bytes */
    bool is_by_site;                /* the call site is part of the key: every shape has one */
    char build[SC_SET_BUILD_BYTES]; /* of shapecache that saved it; "": not told */
    sc_set_shape *shapes;
    uint32_t count, size;
    sc_map by_bytes; /* to the first of each size */
    char *text;
} sc_set;

/* From a file. False: `error` has a sentence without a full stop that names file and line, and
 * there is nothing to release. */
bool sc_set_read(sc_set *set, const char *path, char *error, size_t bytes);
void sc_set_release(sc_set *set);

/* The shape of `bytes`: with `site`, or of any where that is NULL. NULL: there is none. */
const sc_set_shape *sc_set_find(const sc_set *set, uint64_t bytes, const char *site);

/* Any shape of `site`; NULL: there is none. Looks at all. */
const sc_set_shape *sc_set_find_site(const sc_set *set, const char *site);

/* A word as the file wants it, quoted where it must be. */
void sc_set_word(sc_text *text, const char *word);

#endif
