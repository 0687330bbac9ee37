/* SPDX-License-Identifier: MIT */
#include "copy.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "pointer.h"
#include "stream.h"

struct copy_op {
    struct sim_op op;
    struct sim_copy copy; /* its source is the staged bytes, where there are some */
    struct sim_touch touches[2];
    unsigned char staged[];
};

size_t sim_box_extent(const struct sim_end *end, size_t width, size_t height, size_t depth)
{
    return (depth - 1) * end->slice + (height - 1) * end->pitch + width;
}

static struct sim_touch touch(const struct sim_copy *copy, const struct sim_end *end, bool writes)
{
    return (struct sim_touch){end->address,
                              sim_box_extent(end, copy->width, copy->height, copy->depth), writes};
}

static void move(const struct sim_copy *copy)
{
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            memmove(sim_pointer(copy->to.address + z * copy->to.slice + y * copy->to.pitch),
                    sim_pointer(copy->from.address + z * copy->from.slice + y * copy->from.pitch),
                    copy->width);
}

static void run_copy(struct sim_op *op, const struct sim_claim *claims)
{
    (void)claims;
    move(&((struct copy_op *)op)->copy);
}

static void release_copy(struct sim_op *op)
{
    free(op);
}

static struct sim_op *new_copy(const struct sim_copy *what, bool stage)
{
    size_t row = what->width;
    size_t slice = row * what->height;
    struct copy_op *made = malloc(sizeof *made + (stage ? slice * what->depth : 0));

    if (!made)
        return NULL;
    made->op = (struct sim_op){.run = run_copy,
                               .release = release_copy,
                               .node = CU_GRAPH_NODE_TYPE_MEMCPY,
                               .immediate = !what->async,
                               .what = sim_calls_name(what->call),
                               .touches = made->touches,
                               .touch_count = 2};
    made->copy = *what;
    if (stage) {
        struct sim_copy in = *what;

        in.to = (struct sim_end){(uintptr_t)made->staged, row, slice};
        move(&in);
        made->copy.from = in.to;
    }
    made->touches[0] = touch(what, &made->copy.from, false);
    made->touches[1] = touch(what, &what->to, true);
    return &made->op;
}

bool sim_copy_end_valid(uintptr_t address, bool device)
{
    return address != 0 && (!device || sim_memory_plausible(address));
}

static bool must_wait(const struct sim_copy *copy, bool to_device, bool from_device)
{
    if (copy->finish)
        return true;
    if (copy->async)
        return !to_device && (!from_device || sim_memory_pageable(copy->to.address));
    return !to_device || !from_device || sim_memory_synchronises(copy->to.address) ||
           sim_memory_synchronises(copy->from.address);
}

CUresult sim_copy(struct sim_context *context, const struct sim_copy *copy)
{
    bool to_device, from_device, stage;

    if (copy->width == 0 || copy->height == 0 || copy->depth == 0)
        return CUDA_SUCCESS;
    to_device = sim_memory_on_device(copy->to.address);
    from_device = sim_memory_on_device(copy->from.address);
    stage = copy->async && to_device && sim_memory_pageable(copy->from.address) &&
            !sim_stream_captures(context, copy->stream, copy->per_thread);
    return sim_enqueue(context, copy->stream, copy->per_thread, new_copy(copy, stage),
                       must_wait(copy, to_device, from_device));
}
