/* SPDX-License-Identifier: MIT
 * shape.h - the shapes of one device: (context, bytes), and the call site where that is part of the
 * key -> numbered slots, counters, and who was used when.
 *
 * A slot is a number and, while it is not empty, a buffer. The record of a slot stays with the
 * shape when its buffer has gone: how often slot 7 is asked for is a property of the program, not
 * of the memory that happened to serve it. Two bitmaps give the lowest-numbered idle and the
 * lowest-numbered empty slot.
 *
 * Shapes hang in one list, the most recently used first, moved at most once a step. Those used in
 * the last `max_age` steps are its front part, up to `oldest_recent`. When more than `max_known`
 * are known, the longest unused one without buffers is forgotten and counted.
 *
 * A slot's state changes only through the two functions for it, which keep bitmaps and counts true;
 * sums of bytes, the table of addresses and the order of eviction are the cache's business. The
 * caller locks. */
#ifndef SC_CACHE_SHAPE_H
#define SC_CACHE_SHAPE_H

#include "base/driver.h"
#include "base/hint.h"
#include "base/map.h"
#include "cache/bits.h"
#include "cache/cover.h"
#include "cache/pool.h"
#include "cache/scope.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct sc_shape sc_shape;

typedef enum sc_state {
    SC_STATE_EMPTY,    /* no buffer */
    SC_STATE_RESERVED, /* the driver is being asked; no address yet */
    SC_STATE_LIVE,     /* the program has it */
    SC_STATE_PARKING,  /* freed by the program; the wait for the device goes on */
    SC_STATE_IDLE,     /* ours, may be handed out */
    SC_STATE_SPOILT, /* ours, but may only be given back: exported when idle, unused for too long */
    SC_STATE_GONE,   /* forgotten while a call of the engine's still refers to it */
    SC_STATE_COUNT
} sc_state;

/* Ours, whether it may be handed out or not. */
static inline bool sc_state_is_idle(sc_state state)
{
    return state == SC_STATE_IDLE || state == SC_STATE_SPOILT;
}

#define SC_RANK_NONE UINT32_MAX /* in no order */

typedef struct sc_buffer {
    sc_address address; /* 0 unless live, parking, idle or spoilt */
    sc_shape *shape;
    uint32_t slot;
    uint32_t rank;       /* its place in the order of eviction, see cap.h */
    uint32_t uses;       /* requests since that order was last made */
    uint8_t state;       /* sc_state */
    bool is_exported;    /* must not be handed out again */
    bool is_miss;        /* its driver allocation is a miss, not bypassed */
    uint8_t lapse;       /* sc_lapse of that allocation */
    double rate;         /* requests a step, decaying */
    double value;        /* as of the last order */
    uint64_t idle_since; /* when it was parked, ns */
} sc_buffer;

struct sc_shape {
    /* what a served request reads and writes comes first */
    sc_context context;
    uint64_t bytes;
    sc_scope *scope; /* whose gate decides for it */
    uint64_t mapped; /* what one buffer adds to its sum */
    sc_bits idle, empty;
    sc_buffer **slots;
    uint32_t size;               /* slots there is room for */
    uint32_t count;              /* slots numbered so far */
    uint32_t of[SC_STATE_COUNT]; /* slots in each state */
    uint64_t requests, hits;
    uint64_t last_step;
    sc_cover_mark cover;
    uint32_t high;                  /* most buffers live at once */
    uint32_t high_now, high_before; /* the same of step last_step, and of the step before that */
    bool is_packed;
    bool is_small;   /* below SMALL: never changes the phase */
    bool is_granted; /* the driver has granted one: until then it is none, see cache.h */
    bool is_novel;   /* being granted, it changes the phase */
    bool is_recent;  /* used in the last max_age steps */
    bool is_changed; /* since the last walk for the log */
    sc_shape *newer, *older;
    /* the rest is for misses and the log */
    sc_shape *same_hash;
    uint32_t id;
    uint32_t site; /* of its first request; of all, where it is part of the key */
    uint64_t misses, evicted;
    uint64_t ceded, ceded_step;        /* see headroom.h */
    uint64_t ceded_now, ceded_stretch; /* the same */
    uint64_t first_step;
    uint64_t miss_ns, allocations;
    sc_hint *hint; /* NULL: none; malloc'd */
};

typedef struct sc_shapes {
    sc_map by_hash;
    sc_shape *newest, *oldest;
    sc_shape *oldest_recent; /* NULL: none was used in the last max_age steps */
    uint64_t max_known, max_age;
    uint64_t small;
    uint32_t site_mask;     /* all ones: the site is part of the key; 0, as at first: it is not */
    uint64_t known, vacant; /* all; without any buffer */
    uint64_t recent;        /* used in the last max_age steps, those below SMALL left out */
    uint64_t forgotten;
    uint32_t next_id;
    uint32_t slots; /* records in use */
    sc_pool shape_pool, buffer_pool;
} sc_shapes;

void sc_shapes_init(sc_shapes *shapes, uint64_t max_known, uint64_t max_age, uint64_t small);
void sc_shapes_release(sc_shapes *shapes);

sc_shape *sc_shapes_find(const sc_shapes *shapes, sc_context context, uint64_t bytes,
                         uint32_t site);

/* A shape of `scope` not known so far, used for the first time in `step`. NULL: out of memory. */
sc_shape *sc_shapes_add(sc_shapes *shapes, sc_scope *scope, sc_context context, uint64_t bytes,
                        uint32_t site, uint64_t step);

/* What must be forgotten to keep to max_known: has no buffer, is not `keep`. NULL: nothing. */
sc_shape *sc_shapes_surplus(const sc_shapes *shapes, const sc_shape *keep);
void sc_shapes_forget(sc_shapes *shapes, sc_shape *shape);
/* The same for one that was never granted: it has not been. */
void sc_shapes_dismiss(sc_shapes *shapes, sc_shape *shape);

/* `shape` is used in `step`, for the first time in it: to the front. */
void sc_shapes_refresh(sc_shapes *shapes, sc_shape *shape, uint64_t step);
/* `step` begins: who was not used in the max_age steps up to and with it is recent no more. */
void sc_shapes_age(sc_shapes *shapes, uint64_t step);

static inline void sc_shapes_use(sc_shapes *shapes, sc_shape *shape, uint64_t step)
{
    if (shape->last_step != step)
        sc_shapes_refresh(shapes, shape, step);
}

/* Keeps a copy, unless it is what is known. False: out of memory. */
bool sc_shape_hint(sc_shape *shape, const sc_hint *hint);

/* The lowest-numbered empty slot, numbering a new one if there is none. NULL: out of memory. */
sc_buffer *sc_shape_empty_slot(sc_shapes *shapes, sc_shape *shape);

/* From a state that the caller names, for then the path of a served request needs no test. */
static inline __attribute__((always_inline)) void
sc_shape_change_state(sc_shapes *shapes, sc_buffer *buffer, sc_state from, sc_state to)
{
    sc_shape *shape = buffer->shape;

    if (from == SC_STATE_IDLE) {
        sc_bits_remove(&shape->idle, buffer->slot);
    } else if (from == SC_STATE_EMPTY) {
        sc_bits_remove(&shape->empty, buffer->slot);
        shapes->vacant -= shape->of[SC_STATE_EMPTY] == shape->count;
    }
    shape->of[from]--;
    shape->of[to]++;
    buffer->state = (uint8_t)to;
    shape->is_changed = true;
    if (to == SC_STATE_IDLE) {
        sc_bits_add(&shape->idle, buffer->slot);
    } else if (to == SC_STATE_EMPTY) {
        sc_bits_add(&shape->empty, buffer->slot);
        shapes->vacant += shape->of[SC_STATE_EMPTY] == shape->count;
    }
}

void sc_shape_set_state(sc_shapes *shapes, sc_buffer *buffer, sc_state state);

/* The lowest-numbered idle buffer of a shape that has one. */
static inline sc_buffer *sc_shape_lowest_idle(const sc_shape *shape)
{
    return shape->slots[sc_bits_lowest(&shape->idle)];
}

/* Asserts what this header promises, counting again. */
void sc_shapes_check(const sc_shapes *shapes, uint64_t step);

#endif
