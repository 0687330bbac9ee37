/* SPDX-License-Identifier: MIT
 * swing.c - see swing.h. All comparisons are of byte counts with each other and of request counts
 * with each other, so neither the size of a program's memory nor the length of its steps is written
 * here; the figures below only bound noise. They were chosen on recordings of real training
 * programs. */
#include "cache/swing.h"

enum {
    SHORTEST = 8,      /* requests: shorter cycles are joined; a pair per kernel is no batch */
    FIRST_WINDOW = 16, /* requests until anything is forgotten for the first time */
    PAST_WINDOW =
        8192,         /* requests: the range of live bytes is remembered for one to two of these */
    SETTLED_ENDS = 8, /* ends that must find the floor where it is, ... */
    SETTLING_LEAST = 128, /* ... during half of all requests so far, but no less ... */
    SETTLING_MOST = 2048, /* ... and no more than these */
    RETURNS = 4,          /* returns to the floor that show a usual fall to be too large */
    KEPT_PART = 4,        /* a cycle that keeps more than this part of its requests climbs */
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

static void open_span(sc_swing_span *span, sc_swing_level level)
{
    span->top = level.bytes;
    span->after_top = span->floor = level;
}

static void see_span(sc_swing_span *span, sc_swing_level level)
{
    if (level.bytes >= span->top) {
        span->top = level.bytes;
        span->after_top = level;
    }
    if (level.bytes <= span->after_top.bytes)
        span->after_top = level;
    if (level.bytes <= span->floor.bytes)
        span->floor = level;
}

static sc_swing_level level_at(const sc_swing *swing, uint64_t live)
{
    return (sc_swing_level){live, swing->blocks};
}

static void see(sc_swing *swing, uint64_t live)
{
    see_span(&swing->now, level_at(swing, live));
    see_span(&swing->recent, level_at(swing, live));
    swing->hill = most(swing->hill, live);
}

static sc_swing_level lower(sc_swing_level first, sc_swing_level second)
{
    return first.bytes < second.bytes ? first : second;
}

/* Two neighbouring spans as one. */
static sc_swing_span join(const sc_swing_span *first, const sc_swing_span *second)
{
    sc_swing_span both = *second;

    if (first->top > second->top) {
        both.top = first->top;
        both.after_top = lower(first->after_top, second->floor);
    }
    both.floor = lower(first->floor, second->floor);
    return both;
}

void sc_swing_init(sc_swing *swing)
{
    *swing = (sc_swing){.now_end = FIRST_WINDOW, .recent_end = FIRST_WINDOW};
}

void sc_swing_free(sc_swing *swing, uint64_t live)
{
    swing->blocks--;
    see(swing, live);
}

/* Is live memory back where it was when this cycle began, or at a new level after all? The known
 * floor is trusted at once. A new one, as optimizer state or gradients kept between micro-batches
 * make it, must lie low and show itself as one: live bytes rise from it by half of what they fell.
 */
static bool has_ended(const sc_swing *swing, const sc_swing_span *cycle, uint64_t after)
{
    uint64_t low = cycle->after_top.bytes, floor = cycle->floor.bytes;
    uint64_t fall = cycle->top - low;
    uint64_t above = low - floor;
    uint64_t range = most(cycle->top - floor, swing->fall);

    if (!swing->is_settled) {
        sc_swing_span past = join(&swing->past, &swing->recent);

        range = most(range, past.top - past.floor.bytes);
    }
    if (swing->requests < SHORTEST || fall == 0 || !is_half(fall, range))
        return false;
    if (swing->usual && above <= swing->fall / 16)
        return true;
    return is_half(after - low, fall) && above <= (cycle->top - floor) / 3;
}

/* Once settled, one batch of unusual length moves the usual fall by half at most. */
static void learn_fall(sc_swing *swing, uint64_t fall)
{
    if (fall <= swing->fall)
        swing->fall -= (swing->fall - fall) / 4;
    else if (swing->is_settled)
        swing->fall += least(fall - swing->fall, swing->fall) / 2;
    else
        swing->fall = fall;
}

/* Ripples on the way up of one long first step look like steps, but their floor climbs with them.
 */
static void learn_floor(sc_swing *swing, uint64_t low, uint64_t fall)
{
    uint64_t drift = most(low, swing->floor) - least(low, swing->floor);
    uint64_t settling = least(most(swing->total / 2, SETTLING_LEAST), SETTLING_MOST);

    if (swing->climb == 0 && drift <= least(fall, swing->fall) / 8) {
        swing->ends_here++;
    } else {
        swing->floor = low;
        swing->floor_since = swing->total;
        swing->ends_here = 0;
    }
    if (swing->ends_here >= SETTLED_ENDS && swing->total - swing->floor_since >= settling)
        swing->is_settled = true;
}

/* The first cycle begins with nothing: it says nothing. */
static int climb_of(const sc_swing *swing, uint64_t blocks)
{
    uint64_t former = swing->low.blocks;

    if (!swing->usual ||
        most(blocks, former) - least(blocks, former) <= swing->requests / KEPT_PART)
        return 0;
    return blocks > former ? 1 : -1;
}

/* A cycle has ended, a new one begins. False: it climbs as the one before did. */
static bool begin(sc_swing *swing, const sc_swing_span *cycle, uint64_t live)
{
    uint64_t fall = cycle->top - cycle->after_top.bytes;
    int former_climb = swing->climb;

    swing->climb = climb_of(swing, cycle->after_top.blocks);
    learn_fall(swing, fall);
    learn_floor(swing, cycle->after_top.bytes, fall);
    if (swing->requests > swing->usual)
        swing->usual += (swing->requests - swing->usual + 1) / 2;
    else
        swing->usual -= (swing->usual - swing->requests) / 8;
    swing->requests = 0;
    swing->now_end = most(FIRST_WINDOW, 2 * swing->usual);
    swing->low = cycle->after_top;
    swing->low_before = cycle->floor.bytes;
    open_span(&swing->now, level_at(swing, live));
    swing->now.floor = cycle->after_top;
    swing->before = swing->now;
    swing->hill = live;
    swing->highest_hill = 0;
    swing->returns = 0;
    return swing->climb == 0 || swing->climb != former_climb;
}

/* Only cycles of at least half the usual fall have ends, so only those are ever learnt: were the
 * fall of a few long batches taken for the usual one, nothing would correct it but this. */
static void count_return(sc_swing *swing, uint64_t live, uint64_t floor)
{
    if (!swing->is_settled || live - floor > swing->fall / 16 ||
        swing->hill - live < swing->fall / 4)
        return;
    swing->highest_hill = most(swing->highest_hill, swing->hill - live);
    swing->hill = live;
    if (++swing->returns < RETURNS)
        return;
    swing->fall = swing->highest_hill;
    swing->highest_hill = 0;
    swing->returns = 0;
}

/* Where no end comes for twice the usual time, what a cycle looks like has changed: forget the
 * older half of this one, again after each doubling. The past is forgotten in the same way, but
 * whatever ends come. */
static void forget(sc_swing *swing, uint64_t live)
{
    if (swing->requests >= swing->now_end) {
        swing->before = swing->now;
        open_span(&swing->now, level_at(swing, live));
        swing->now_end *= 2;
        if (swing->is_settled)
            swing->fall /= 2;
    }
    if (swing->total >= swing->recent_end) {
        swing->past = swing->recent;
        open_span(&swing->recent, level_at(swing, live));
        swing->recent_end += least(swing->recent_end, most(PAST_WINDOW, 8 * swing->usual));
    }
}

bool sc_swing_request(sc_swing *swing, uint64_t live, uint64_t bytes)
{
    uint64_t after = bytes > UINT64_MAX - live ? UINT64_MAX : live + bytes;
    sc_swing_span cycle;
    bool is_end = false;

    see(swing, live);
    cycle = join(&swing->before, &swing->now);
    if (has_ended(swing, &cycle, after))
        is_end = begin(swing, &cycle, live);
    else
        count_return(swing, live, cycle.floor.bytes);
    swing->requests++;
    swing->total++;
    forget(swing, live);
    swing->blocks++;
    see(swing, after);
    return is_end;
}
