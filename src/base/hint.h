/* SPDX-License-Identifier: MIT
 * hint.h - what a shape is, in the program's own words: a label and dimensions.
 *
 * They mean nothing to the cache; they go into the log and into saved sets. Of fixed size, so that
 * one can be copied under a lock. */
#ifndef SC_BASE_HINT_H
#define SC_BASE_HINT_H

#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SC_HINT_LABEL_BYTES = 64, SC_HINT_DIMS = 8 };

typedef struct sc_hint {
    char label[SC_HINT_LABEL_BYTES]; /* "": none */
    uint64_t dims[SC_HINT_DIMS];
    unsigned count; /* of dims */
} sc_hint;

/* Takes `length` bytes as the label; what does not fit is cut off, between two characters. */
void sc_hint_label(sc_hint *hint, const char *label, size_t length);
bool sc_hint_is_same(const sc_hint *a, const sc_hint *b);
/* 16x512x64 */
void sc_hint_dims(const sc_hint *hint, sc_text *text);

#endif
