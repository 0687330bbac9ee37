/* SPDX-License-Identifier: MIT
 * step_verdict.h - plays the script of step_programs.h to step inference and a gate behind it, as
 * the cache does, and says what they made of it. */
#ifndef UNIT_STEP_VERDICT_H
#define UNIT_STEP_VERDICT_H

#include "cache/gate.h"
#include "cache/step.h"
#include "unit/step_programs.h"
#include <limits.h>
#include <string.h>

enum { MOST_STEPS = 5000, MOST_SIZES = 1 << 16, SMALL = 64 * 1024 };

/* What the detector and a gate behind it made of a script. */
typedef struct verdict {
    size_t batches;
    unsigned ends;                    /* in all */
    unsigned covers;                  /* of them, by cover */
    unsigned doubtful;                /* of them */
    unsigned first_cover;             /* requests before the first of those */
    unsigned ends_in[MOST_STEPS];     /* by batch */
    unsigned requests_in[MOST_STEPS]; /* of a batch before its first end */
    unsigned fallbacks;
    unsigned fixed_by; /* batch; UINT_MAX: never */
} verdict;

static verdict result;

/* What the cache knows of a size. */
static struct known {
    uint64_t bytes;
    sc_cover_mark mark;
} sizes[MOST_SIZES];

static struct known *size_of(uint64_t bytes)
{
    size_t i = (size_t)((bytes * 0x9e3779b97f4a7c15u) >> 48);

    while (sizes[i].bytes != 0 && sizes[i].bytes != bytes)
        i = (i + 1) % MOST_SIZES;
    return &sizes[i];
}

/* As the cache does it: the end of a step, then the shape. */
static void play_request(sc_step *step, sc_gate *gate, uint64_t live, uint64_t bytes)
{
    struct known *size = size_of(bytes);
    sc_step_end end = sc_step_request(step, live, bytes);

    if (end != SC_STEP_END_NONE) {
        result.ends++;
        if (end == SC_STEP_END_COVER && result.covers++ == 0)
            result.first_cover = (unsigned)step->total - 1;
        result.doubtful += step->is_doubtful;
        (void)sc_gate_step_end(gate,
                               (sc_gate_step){.requests = 1, .is_doubtful = step->is_doubtful});
    }
    if (size->bytes == 0 && bytes >= SMALL)
        result.fallbacks += sc_gate_new_shape(gate);
    size->bytes = bytes;
    sc_step_ask(step, &size->mark, bytes < SMALL);
}

static void play(uint64_t scale)
{
    uint64_t live = 0;
    unsigned requests = 0;
    size_t batch = 0;
    sc_gate gate;
    sc_step step;

    sc_step_init(&step);
    sc_gate_init(&gate,
                 (sc_gate_rules){.warmup = 3, .rearm = 6, .max_shapes = 4096, .is_gated = true});
    memset(&result, 0, sizeof result);
    memset(sizes, 0, sizeof sizes);
    result.fixed_by = UINT_MAX;
    for (size_t i = 0; i < program.count; i++) {
        int64_t delta = program.deltas[i];
        unsigned ends = result.ends;

        if (delta == BATCH) {
            batch = result.batches++;
            ck_assert_uint_lt(batch, MOST_STEPS);
            requests = 0;
        } else if (delta < 0) {
            live -= (uint64_t)-delta * scale;
            sc_step_free(&step, live);
        } else {
            play_request(&step, &gate, live, (uint64_t)delta * scale);
            if (result.ends > ends && result.ends_in[batch]++ == 0)
                result.requests_in[batch] = requests;
            live += (uint64_t)delta * scale;
            requests++;
        }
        if (gate.phase == SC_PHASE_FIXED && result.fixed_by == UINT_MAX)
            result.fixed_by = (unsigned)batch;
    }
}

#endif
