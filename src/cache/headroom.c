/* SPDX-License-Identifier: MIT */
#include "cache/headroom.h"
#include "cache/mapped.h"

/* What `shape` ceded in this step (0) or in the one before (1); -1: neither. */
static int age_of(const sc_shape *shape, uint64_t step)
{
    if (shape->ceded == 0 || shape->ceded_step + 1 < step)
        return -1;
    return shape->ceded_step == step ? 0 : 1;
}

void sc_headroom_cede(sc_headroom *headroom, sc_shape *shape, uint64_t step)
{
    if (age_of(shape, step) == 1)
        headroom->ceded[1] -= shape->ceded * shape->mapped;
    if (age_of(shape, step) != 0)
        shape->ceded = 0;
    shape->ceded_step = step;
    shape->ceded++;
    headroom->ceded[0] += shape->mapped;
}

void sc_headroom_miss(sc_headroom *headroom, sc_shape *shape, uint64_t step, uint64_t held,
                      uint64_t ceiling)
{
    uint64_t mapped = shape->is_packed ? SC_MAPPED_PAGE : shape->mapped;
    int age = age_of(shape, step);

    if (age >= 0) {
        shape->ceded--;
        headroom->ceded[age] -= shape->mapped;
    }
    if (held + headroom->ceded[0] + headroom->ceded[1] > ceiling && mapped > headroom->wanted[0])
        headroom->wanted[0] = mapped;
}

void sc_headroom_step_end(sc_headroom *headroom)
{
    headroom->wanted[1] = headroom->wanted[0];
    headroom->wanted[0] = 0;
    headroom->ceded[1] = headroom->ceded[0];
    headroom->ceded[0] = 0;
}
