/* SPDX-License-Identifier: MIT
 * step.c - see step.h. All comparisons are of byte counts with each other and of request counts
 * with each other, so neither the size of a program's memory nor the length of its steps is written
 * here; the figures below only bound noise. They were chosen on recordings of real training
 * programs. */
#include "cache/step.h"

enum {
    SHORTEST = 8,      /* requests: shorter cycles are joined; a pair per kernel is no batch */
    FIRST_WINDOW = 16, /* requests until anything is forgotten for the first time */
    PAST_WINDOW =
        8192,         /* requests: the range of live bytes is remembered for one to two of these */
    SETTLING = 2048,  /* requests during which the floor must stay where it is ... */
    SETTLED_ENDS = 4, /* ... and ends that must find it there */
    RETURNS = 4,      /* returns to the floor that show a usual swing to be too large */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool is_half(uint64_t part, uint64_t whole)
{
    return part >= whole || part >= whole - part;
}

static void open_span(sc_step_span *span, uint64_t live)
{
    span->top = span->after_top = span->floor = live;
}

static void see_span(sc_step_span *span, uint64_t live)
{
    if (live >= span->top)
        span->top = span->after_top = live;
    span->after_top = least(span->after_top, live);
    span->floor = least(span->floor, live);
}

static void see(sc_step *step, uint64_t live)
{
    see_span(&step->now, live);
    see_span(&step->recent, live);
    step->hill = most(step->hill, live);
}

/* Two neighbouring spans as one. */
static sc_step_span join(const sc_step_span *first, const sc_step_span *second)
{
    sc_step_span both = *second;

    if (first->top > second->top) {
        both.top = first->top;
        both.after_top = least(first->after_top, second->floor);
    }
    both.floor = least(first->floor, second->floor);
    return both;
}

void sc_step_init(sc_step *step)
{
    *step = (sc_step){.now_end = FIRST_WINDOW, .recent_end = FIRST_WINDOW};
}

void sc_step_free(sc_step *step, uint64_t live)
{
    see(step, live);
}

/* Is live memory back where it was when this cycle began, or at a new level after all? The known
 * floor is trusted at once. A new one, as optimizer state or gradients kept between micro-batches
 * make it, must lie low and show itself as one: live bytes rise from it by half of what they fell.
 */
static bool has_ended(const sc_step *step, const sc_step_span *cycle, uint64_t after)
{
    uint64_t fall = cycle->top - cycle->after_top;
    uint64_t above = cycle->after_top - cycle->floor;
    uint64_t range = most(cycle->top - cycle->floor, step->swing);

    if (!step->is_settled) {
        sc_step_span past = join(&step->past, &step->recent);

        range = most(range, past.top - past.floor);
    }
    if (step->requests < SHORTEST || fall == 0 || !is_half(fall, range))
        return false;
    if (step->usual && above <= step->swing / 16)
        return true;
    return is_half(after - cycle->after_top, fall) && above <= (cycle->top - cycle->floor) / 3;
}

/* Once settled, one batch of unusual length moves the swing by half at most. */
static void learn_swing(sc_step *step, uint64_t fall)
{
    if (fall <= step->swing)
        step->swing -= (step->swing - fall) / 4;
    else if (step->is_settled)
        step->swing += least(fall - step->swing, step->swing) / 2;
    else
        step->swing = fall;
}

/* Ripples on the way up of one long first step look like steps, but their floor climbs with them.
 */
static void learn_floor(sc_step *step, uint64_t low, uint64_t fall)
{
    uint64_t drift = most(low, step->floor) - least(low, step->floor);

    if (drift <= least(fall, step->swing) / 8) {
        step->ends_here++;
    } else {
        step->floor = low;
        step->floor_since = step->total;
        step->ends_here = 0;
    }
    if (step->ends_here >= SETTLED_ENDS && step->total - step->floor_since >= SETTLING)
        step->is_settled = true;
}

static void begin(sc_step *step, const sc_step_span *cycle, uint64_t live)
{
    uint64_t fall = cycle->top - cycle->after_top;

    learn_swing(step, fall);
    learn_floor(step, cycle->after_top, fall);
    if (step->requests > step->usual)
        step->usual += (step->requests - step->usual + 1) / 2;
    else
        step->usual -= (step->usual - step->requests) / 8;
    step->requests = 0;
    step->now_end = most(FIRST_WINDOW, 2 * step->usual);
    open_span(&step->now, live);
    step->now.floor = cycle->after_top;
    step->before = step->now;
    step->hill = live;
    step->highest_hill = 0;
    step->returns = 0;
}

/* Only cycles of at least half the usual swing end steps, so only those are ever learnt: were the
 * swing of a few long batches taken for the usual one, nothing would correct it but this. */
static void count_return(sc_step *step, uint64_t live, uint64_t floor)
{
    if (!step->is_settled || live - floor > step->swing / 16 || step->hill - live < step->swing / 4)
        return;
    step->highest_hill = most(step->highest_hill, step->hill - live);
    step->hill = live;
    if (++step->returns < RETURNS)
        return;
    step->swing = step->highest_hill;
    step->highest_hill = 0;
    step->returns = 0;
}

/* Where no end comes for twice the usual time, what a step looks like has changed: forget the older
 * half of this cycle, again after each doubling. The past is forgotten in the same way, but
 * whatever ends come. */
static void forget(sc_step *step, uint64_t live)
{
    if (step->requests >= step->now_end) {
        step->before = step->now;
        open_span(&step->now, live);
        step->now_end *= 2;
        if (step->is_settled)
            step->swing /= 2;
    }
    if (step->total >= step->recent_end) {
        step->past = step->recent;
        open_span(&step->recent, live);
        step->recent_end += least(step->recent_end, most(PAST_WINDOW, 8 * step->usual));
    }
}

bool sc_step_request(sc_step *step, uint64_t live, uint64_t bytes)
{
    uint64_t after = bytes > UINT64_MAX - live ? UINT64_MAX : live + bytes;
    sc_step_span cycle;
    bool ended;

    see(step, live);
    cycle = join(&step->before, &step->now);
    ended = has_ended(step, &cycle, after);
    if (ended)
        begin(step, &cycle, live);
    else
        count_return(step, live, cycle.floor);
    step->requests++;
    step->total++;
    forget(step, live);
    see(step, after);
    return ended;
}
