/* SPDX-License-Identifier: MIT
 * step.h - finds the end of a training step in what arrives.
 *
 * A step is one batch. Nothing at cudaMalloc says where it ends, but there are two kinds of
 * evidence: cycles of live bytes (swing.h), exact wherever live bytes have any, and shapes that
 * have all come back (cover.h), which need none. Live bytes come first; each kind is doubted before
 * it is believed.
 *
 * *Live bytes.* A cycle that ends at the floor ends a step, and so does one that ends higher, for a
 * floor may rise for good: optimizer state is created late. But under accumulation each micro-batch
 * ends above the floor, by the gradients, and the step only when those go:
 *
 *                  /\      /\      /\                /\      /\
 *                 /  \    /  \    /  \              /  \    /  \
 *                /    \__/    \__/    \__          /    \__/    \__
 *      floor ___/     higher, higher     \__ end _/     higher     \__ end
 *
 * So once ends at a higher level were followed by a return to the floor, twice as many in a row are
 * wanted before one of them is an end again. The patience goes as slowly as it came fast: by one
 * with each step that did not need it. And an end far below those before it says that those were
 * none: it is doubtful, and the gate must not count its step as a quiet one.
 *
 * *Cover.* Live bytes are silent in a program that frees a buffer to allocate its replacement. When
 * they have been so for half of the run, no new shape has come for half of it, and no more blocks
 * are live than when that began, each round of cover ends a step. Cycles that come regularly again
 * end that; until then they count as well.
 *
 * A wrong answer costs hits, never safety. Pure: no clock, no memory, no lock (the caller's). */
#ifndef SC_CACHE_STEP_H
#define SC_CACHE_STEP_H

#include "cache/cover.h"
#include "cache/swing.h"
#include <stdbool.h>
#include <stdint.h>

/* What ended a step. */
typedef enum sc_step_end {
    SC_STEP_END_NONE, /* it goes on */
    SC_STEP_END_LIVE,
    SC_STEP_END_COVER,
    SC_STEP_END_API,     /* the program itself said so */
    SC_STEP_END_REQUESTS /* there were as many as a setting says */
} sc_step_end;

const char *sc_step_end_word(sc_step_end end);

typedef struct sc_step {
    sc_swing swing;
    sc_cover cover;
    uint64_t requests; /* since the last end */
    uint64_t total;    /* in all */

    bool has_floor;
    bool has_fallen;   /* since the last end, far */
    uint64_t floor;    /* where steps end */
    uint64_t ends;     /* in a row there */
    uint64_t higher;   /* cycles since the last end that ended higher */
    uint64_t patience; /* most that `higher` may be without an end */
    bool is_doubtful;  /* the last end: those before it were none */

    bool is_covering;  /* rounds of cover end steps */
    uint64_t silent;   /* requests since the last cycle ended */
    uint64_t interval; /* the same, when the last cycle ended */
    uint32_t regular;  /* cycles in a row that took no longer than twice the one before */
    uint64_t blocks;   /* live when the last cycle ended or the last new shape came */
} sc_step;

void sc_step_init(sc_step *step);

/* A request of `bytes` arrives while `live` bytes are live. What ended a step just before it, if
 * one ended. The request is taken to succeed; one that fails is to be freed. */
sc_step_end sc_step_request(sc_step *step, uint64_t live, uint64_t bytes);

/* That request is for the shape of `mark`, zero for one never seen. A small one is never new. */
static inline void sc_step_ask(sc_step *step, sc_cover_mark *mark, bool is_small)
{
    sc_cover_ask(&step->cover, mark, !is_small);
    if (sc_cover_quiet(&step->cover) == 0)
        step->blocks = step->swing.blocks;
}

/* A free left `live` bytes live. */
void sc_step_free(sc_step *step, uint64_t live);

#endif
