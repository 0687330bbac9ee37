/* SPDX-License-Identifier: MIT */
#include "alias.h"

#include "context.h"
#include "lock.h"
#include "physical.h"
#include "range.h"
#include "stream.h"

/* A stretch of physical memory. */
struct stretch {
    const struct sim_physical *physical; /* NULL: none */
    size_t offset, bytes;
};

/* What is mapped at the beginning of these addresses, and how far that goes. */
static struct stretch first_of(uintptr_t address, size_t bytes)
{
    const struct sim_mapping *mapping = sim_range_find_locked(address);
    struct stretch found = {.bytes = bytes};

    if (!mapping)
        return found;
    found.physical = mapping->physical;
    found.offset = address - mapping->block.address;
    if (found.bytes > mapping->block.bytes - found.offset)
        found.bytes = mapping->block.bytes - found.offset;
    return found;
}

static bool is_same(struct stretch one, struct stretch other)
{
    return one.physical == other.physical && one.offset < other.offset + other.bytes &&
           other.offset < one.offset + one.bytes;
}

static bool meets(struct stretch one, const struct sim_touch *touch)
{
    struct stretch other;

    for (size_t done = 0; done < touch->bytes; done += other.bytes) {
        other = first_of(touch->address + done, touch->bytes - done);
        if (!other.physical)
            break;
        if (is_same(one, other))
            return true;
    }
    return false;
}

/* Do two operations touch the same memory? */
static bool meet(const struct sim_touch *one, const struct sim_touch *other)
{
    struct stretch stretch;

    for (size_t done = 0; done < one->bytes; done += stretch.bytes) {
        stretch = first_of(one->address + done, one->bytes - done);
        if (!stretch.physical)
            break;
        if (meets(stretch, other))
            return true;
    }
    return false;
}

static uint64_t ask_op(const struct sim_op *op, const struct sim_record *record,
                       const struct sim_touch *touch)
{
    for (size_t i = 0; op->claims && i < op->touch_count; i++) {
        const struct sim_record *other = op->claims[i].record;

        if (other && other != record && atomic_load(&other->state) != SIM_LIVE &&
            meet(touch, &op->touches[i]))
            return other->number;
    }
    return 0;
}

uint64_t sim_alias_unfinished(const struct sim_record *record, const struct sim_touch *touch)
{
    uint64_t number = 0;

    sim_lock();
    if (sim_range_find_locked(touch->address))
        for (const struct sim_context *context = sim_contexts_locked(); context && number == 0;
             context = context->next)
            for (const struct sim_stream *stream = context->streams; stream && number == 0;
                 stream = stream->next)
                for (const struct sim_op *op = stream->head;
                     op && op->ticket < sim_ticket_running() && number == 0; op = op->next)
                    number = ask_op(op, record, touch);
    sim_unlock();
    return number;
}
