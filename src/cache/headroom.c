/* SPDX-License-Identifier: MIT */
#include "cache/headroom.h"

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

void sc_headroom_cede(sc_headroom *headroom, sc_shape *shape, uint64_t step)
{
    if (age_of(shape, step) == 1)
        *sum_of(&headroom->ceded[1], shape) -= shape->ceded * shape->mapped;
    if (age_of(shape, step) != 0)
        shape->ceded = 0;
    shape->ceded_step = step;
    shape->ceded++;
    *sum_of(&headroom->ceded[0], shape) += shape->mapped;
}

void sc_headroom_miss(sc_headroom *headroom, sc_shape *shape, uint64_t step, sc_mapped held,
                      uint64_t ceiling)
{
    int age = age_of(shape, step);

    if (age >= 0) {
        shape->ceded--;
        *sum_of(&headroom->ceded[age], shape) -= shape->mapped;
    }
    held = sc_mapped_plus(held, sc_mapped_plus(headroom->ceded[0], headroom->ceded[1]));
    if (sc_mapped_total(held) > ceiling && shape->mapped > headroom->wanted[0])
        headroom->wanted[0] = shape->mapped;
}

void sc_headroom_step_end(sc_headroom *headroom)
{
    headroom->wanted[1] = headroom->wanted[0];
    headroom->wanted[0] = 0;
    headroom->ceded[1] = headroom->ceded[0];
    headroom->ceded[0] = (sc_mapped){0};
}
