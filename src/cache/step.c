/* SPDX-License-Identifier: MIT */
#include "cache/step.h"

enum {
    SHORTEST = 8,   /* requests of a step */
    SILENCE = 256,  /* requests: what says nothing for less is not silent */
    REGULAR = 4,    /* cycles in a row that bring live bytes back */
    FLAT = 64,      /* one block gained or lost in so many requests is as good as none */
    TOLERANCE = 16, /* parts of the usual fall: nearer levels are the same ... */
    DOUBT = 4,      /* ... and this far below the floor, that was none */
    MOST_PATIENCE = 1 << 20,
};

const char *sc_step_end_word(sc_step_end end)
{
    static const char *const words[] = {
        [SC_STEP_END_NONE] = "none",         [SC_STEP_END_LIVE] = "live",
        [SC_STEP_END_COVER] = "cover",       [SC_STEP_END_API] = "api",
        [SC_STEP_END_REQUESTS] = "requests",
    };

    return words[end];
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void sc_step_init(sc_step *step)
{
    *step = (sc_step){0};
    sc_swing_init(&step->swing);
    sc_cover_init(&step->cover);
}

void sc_step_free(sc_step *step, uint64_t live)
{
    sc_swing_free(&step->swing, live);
}

static void want_patience(sc_step *step, uint64_t cycles)
{
    uint64_t patience = least(2 * cycles, MOST_PATIENCE);

    if (step->patience < patience)
        step->patience = patience;
}

/* What was taken for the floor lies above it. */
static void lower_floor(sc_step *step, uint64_t level)
{
    want_patience(step, step->ends);
    step->has_fallen = step->has_fallen || step->floor - level > step->swing.fall / DOUBT;
    step->floor = level;
    step->ends = 0;
}

static void return_to_floor(sc_step *step)
{
    if (step->higher > 0)
        want_patience(step, step->higher);
    else if (step->patience > 0)
        step->patience--;
    step->higher = 0;
    step->ends++;
}

static void move_floor(sc_step *step, uint64_t level)
{
    step->floor = level;
    step->higher = 0;
    step->ends = 1;
}

/* A cycle has ended: a step too? */
static bool judge_cycle(sc_step *step)
{
    uint64_t level = step->swing.low.bytes, before = step->swing.low_before;
    uint64_t tolerance = step->swing.fall / TOLERANCE;

    if (!step->has_floor) {
        step->has_floor = true;
        move_floor(step, level);
        return true;
    }
    if (step->floor > tolerance && before < step->floor - tolerance)
        lower_floor(step, before);
    if (level <= step->floor || level - step->floor <= tolerance) {
        if (step->floor > tolerance && level < step->floor - tolerance)
            lower_floor(step, level);
        step->floor = level;
        return_to_floor(step);
        return true;
    }
    if (++step->higher <= step->patience)
        return false;
    move_floor(step, level);
    return true;
}

/* Cycles that ended higher are over once live bytes are back at the floor, however small the last
 * fall: it is the optimizer's, after the last micro-batch. */
static bool is_back(const sc_step *step, uint64_t live)
{
    return step->higher > 0 && step->requests >= SHORTEST &&
           (live <= step->floor || live - step->floor <= step->swing.fall / TOLERANCE);
}

static void hear_cycle(sc_step *step, uint64_t blocks)
{
    step->regular = step->silent <= 2 * step->interval ? step->regular + 1 : 0;
    if (step->regular >= REGULAR)
        step->is_covering = false;
    step->interval = step->silent;
    step->silent = 0;
    step->blocks = blocks;
}

static bool judge_round(sc_step *step, uint64_t blocks)
{
    uint64_t quiet = least(step->silent, sc_cover_quiet(&step->cover));
    uint64_t gained = blocks > step->blocks ? blocks - step->blocks : step->blocks - blocks;

    if (gained > quiet / FLAT)
        return false;
    if (quiet >= SILENCE && quiet >= step->total / 2) {
        step->is_covering = true;
        step->regular = 0;
    }
    return step->is_covering && step->requests >= SHORTEST;
}

sc_step_end sc_step_request(sc_step *step, uint64_t live, uint64_t bytes)
{
    uint64_t blocks = step->swing.blocks;
    bool is_cycle = sc_swing_request(&step->swing, live, bytes);
    bool is_round = sc_cover_next(&step->cover);
    sc_step_end end = SC_STEP_END_NONE;

    if (is_cycle) {
        hear_cycle(step, blocks);
        if (judge_cycle(step))
            end = SC_STEP_END_LIVE;
    } else if (is_back(step, live)) {
        return_to_floor(step);
        end = SC_STEP_END_LIVE;
    }
    if (is_round && judge_round(step, blocks) && end == SC_STEP_END_NONE)
        end = SC_STEP_END_COVER;
    if (end != SC_STEP_END_NONE) {
        step->is_doubtful = step->has_fallen;
        step->has_fallen = false;
        step->requests = 0;
    }
    step->requests++;
    step->total++;
    step->silent++;
    return end;
}
