/* SPDX-License-Identifier: MIT
 * step.h - finds the end of a training step in what arrives.
 *
 * A step is one batch. Nothing at cudaMalloc says where it ends, but live bytes do: within a batch
 * they rise as activations pile up and fall back to the floor (weights, gradients, optimizer state)
 * as the backward pass lets go:
 *
 *      top          ________                _______
 *                  /        \              /       \
 *                 /          \            /         \   ripple
 *                /            \_/\       /           \_/\
 *      floor ___/                 \_____/ end             \____/ end
 *
 * A step ended when live bytes fell by at least half of their usual swing, to the floor where the
 * step began; its end is put just before the next request, so that the last frees of a batch belong
 * to it. Where the fall ends at another level (optimizer state created late, gradients kept from
 * micro-batch to micro-batch) the end is only seen once live bytes have risen again by half of the
 * fall. Under accumulation a step is a micro-batch or a few of them.
 *
 * Until the floor has stayed in one place for a while, a fall must also be half of the whole range
 * of live bytes in the past: the ripples of a deep network's first pass would count else. From then
 * on it is the usual swing that counts, so that one long batch or a new floor delays the next end
 * by few steps only.
 *
 * A wrong answer costs hits, never safety. Pure: no clock, no memory, no lock (the caller's). Bytes
 * are the exact live bytes of one device, not rounded to the driver's pages. */
#ifndef SC_CACHE_STEP_H
#define SC_CACHE_STEP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sc_step sc_step; /* defined in the second half of this header */

void sc_step_init(sc_step *step);

/* A request of `bytes` arrives while `live` bytes are live. True: a step ended just before it. The
 * request is taken to succeed; one that fails leaves a top that was never reached, until it is
 * forgotten. */
bool sc_step_request(sc_step *step, uint64_t live, uint64_t bytes);

/* A free left `live` bytes live. */
void sc_step_free(sc_step *step, uint64_t live);

/* Live bytes during a stretch of requests. */
typedef struct sc_step_span {
    uint64_t top;       /* most */
    uint64_t after_top; /* least since then */
    uint64_t floor;     /* least */
} sc_step_span;

struct sc_step {
    sc_step_span before,
        now; /* this cycle, that is since the last end; its oldest part may be forgotten */
    sc_step_span past, recent; /* whatever ends there were */
    uint64_t now_end;          /* `requests` at which `now` becomes `before` */
    uint64_t recent_end;       /* `total` at which `recent` becomes `past` */
    uint64_t requests;         /* in this cycle */
    uint64_t total;            /* requests in all */
    uint64_t usual;            /* requests of a cycle; 0: none has ended yet */
    uint64_t swing;            /* usual fall at the end of a cycle */
    uint64_t floor;            /* where the last ends were found, ... */
    uint64_t floor_since;      /* ... from this `total` on */
    uint64_t hill;             /* most live bytes since the last return to the floor */
    uint64_t highest_hill;     /* in this cycle, above the floor */
    uint32_t ends_here;        /* in a row at `floor` */
    uint32_t returns;          /* to the floor in this cycle, from a hill too low for an end */
    bool is_settled;           /* the floor has stayed in one place for long enough, once */
};

#endif
