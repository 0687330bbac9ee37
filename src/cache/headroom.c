/* SPDX-License-Identifier: MIT */
#include "cache/headroom.h"
#include "base/map.h"

enum {
    DOUBT = 64, /* surprises that make room everywhere ... */
    MOST_DOUBT = 2 * DOUBT,
};

uint64_t sc_headroom_key(uint64_t live, uint32_t shape, uint32_t before)
{
    uint64_t key = sc_hash(sc_hash(live) ^ ((uint64_t)shape << 32 | before));

    return key ? key : 1;
}

static bool is_none(sc_mapped sums)
{
    return sums.own == 0 && sums.packed == 0;
}

static uint64_t beyond(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* The stretch is over. */
static void learn(sc_headroom *headroom)
{
    sc_headroom_place *place = &headroom->places[headroom->key % SC_HEADROOM_PLACES];

    if (!is_none(headroom->missed))
        *place = (sc_headroom_place){headroom->key, headroom->missed};
    else if (place->key == headroom->key)
        *place = (sc_headroom_place){0};
}

void sc_headroom_park(sc_headroom *headroom, const sc_shape *shape, uint64_t live)
{
    const sc_headroom_place *place;

    learn(headroom);
    headroom->stretch++;
    headroom->key = sc_headroom_key(live, shape->id, headroom->before);
    headroom->before = shape->id;
    headroom->missed = (sc_mapped){0};
    place = &headroom->places[headroom->key % SC_HEADROOM_PLACES];
    headroom->foreseen = place->key == headroom->key ? place->missed : (sc_mapped){0};
}

/* What `shape` ceded in this step (0) or in the one before (1); -1: neither. */
static int age_of(const sc_shape *shape, uint64_t step)
{
    if (shape->ceded == 0 || shape->ceded_step + 1 < step)
        return -1;
    return shape->ceded_step == step ? 0 : 1;
}

static uint64_t *sum_of(sc_mapped *sums, const sc_shape *shape)
{
    return shape->is_packed ? &sums->packed : &sums->own;
}

/* Of that, in the running stretch. */
static uint64_t ceded_now(const sc_headroom *headroom, const sc_shape *shape)
{
    return shape->ceded_stretch == headroom->stretch ? shape->ceded_now : 0;
}

void sc_headroom_cede(sc_headroom *headroom, sc_shape *shape, uint64_t step)
{
    if (age_of(shape, step) == 1)
        *sum_of(&headroom->ceded[1], shape) -= shape->ceded * shape->mapped;
    if (age_of(shape, step) != 0)
        shape->ceded = 0;
    shape->ceded_step = step;
    shape->ceded++;
    shape->ceded_now = ceded_now(headroom, shape) + 1;
    shape->ceded_stretch = headroom->stretch;
    *sum_of(&headroom->ceded[0], shape) += shape->mapped;
}

/* One that asks for headroom. */
static void want(sc_headroom *headroom, const sc_shape *shape)
{
    uint64_t *missed = sum_of(&headroom->missed, shape);

    *missed += shape->mapped;
    if (*missed <= *sum_of(&headroom->foreseen, shape)) {
        headroom->surprises -= headroom->surprises > 0;
        return;
    }
    headroom->surprises += headroom->surprises < MOST_DOUBT;
    if (shape->mapped > headroom->surprise[0])
        headroom->surprise[0] = shape->mapped;
}

void sc_headroom_miss(sc_headroom *headroom, sc_shape *shape, uint64_t step, sc_mapped held,
                      uint64_t ceiling)
{
    int age = age_of(shape, step);

    if (age >= 0) {
        shape->ceded--;
        *sum_of(&headroom->ceded[age], shape) -= shape->mapped;
    }
    if (ceded_now(headroom, shape) > 0) {
        shape->ceded_now--;
        return;
    }
    held = sc_mapped_plus(held, sc_mapped_plus(headroom->ceded[0], headroom->ceded[1]));
    if (sc_mapped_total(held) > ceiling)
        want(headroom, shape);
}

void sc_headroom_step_end(sc_headroom *headroom)
{
    headroom->surprise[1] = headroom->surprise[0];
    headroom->surprise[0] = 0;
    headroom->ceded[1] = headroom->ceded[0];
    headroom->ceded[0] = (sc_mapped){0};
}

static void raise_to(uint64_t *most, uint64_t bytes)
{
    *most = *most < bytes ? bytes : *most;
}

sc_mapped sc_headroom_wanted(const sc_headroom *headroom)
{
    uint64_t largest = headroom->surprise[0];
    sc_mapped wanted = {
        .packed = beyond(headroom->foreseen.packed, headroom->missed.packed),
        .own = beyond(headroom->foreseen.own, headroom->missed.own),
    };

    raise_to(&largest, headroom->surprise[1]);
    if (headroom->surprises >= DOUBT)
        raise_to(largest < SC_MAPPED_PAGE ? &wanted.packed : &wanted.own, largest);
    return wanted;
}
