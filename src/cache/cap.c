/* SPDX-License-Identifier: MIT */
#include "cache/cap.h"
#include "cache/check.h"
#include <stdlib.h>

/* What a step adds to a slot's rate, the rest being what it was: about the last eight steps count.
 */
static const double NEWS = 0.125;

void sc_cap_release(sc_cap *cap)
{
    free(cap->order);
    cap->order = NULL;
}

bool sc_cap_reserve(sc_cap *cap, uint32_t slots)
{
    uint32_t size = cap->size ? cap->size : 64;
    sc_buffer **order;

    if (slots <= cap->size)
        return true;
    while (size < slots)
        size *= 2;
    order = realloc(cap->order, size * sizeof(sc_buffer *));
    if (!order)
        return false;
    cap->order = order;
    cap->size = size;
    return true;
}

static void place(sc_cap *cap, uint32_t rank, sc_buffer *buffer)
{
    cap->order[rank] = buffer;
    buffer->rank = rank;
}

/* Close the gaps that forgotten slots left. */
static void close_gaps(sc_cap *cap)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < cap->count; i++)
        if (cap->order[i])
            place(cap, count++, cap->order[i]);
    cap->count = count;
    cap->cursor = 0;
    cap->spoilt = 0;
}

void sc_cap_enter(sc_cap *cap, sc_buffer *buffer)
{
    if (buffer->rank != SC_RANK_NONE)
        return;
    if (cap->count == cap->size)
        close_gaps(cap);
    place(cap, cap->count++, buffer);
}

void sc_cap_leave(sc_cap *cap, sc_buffer *buffer)
{
    if (buffer->rank != SC_RANK_NONE) {
        cap->order[buffer->rank] = NULL;
        buffer->rank = SC_RANK_NONE;
    }
}

/* NEWS of what came in the last `steps` steps, the rest of what was known before. */
static double weight_of_old(uint64_t steps)
{
    double weight = 1;

    for (uint64_t i = 0; i < steps && i < 64; i++)
        weight *= 1 - NEWS;
    return weight;
}

/* Orders as sqrt(rate) / bytes does. A rate counts by its root because losing a slot that is asked
 * for nine times a step does not cost nine misses: the first brings it back, and it goes at the
 * next peak at most. On recorded graphs and PyTorch traces under a cap of 1.25 x the peak this
 * takes a third of the misses off those of rate / bytes. */
static double value_of(double rate, double bytes)
{
    return rate / (bytes * bytes);
}

static int by_value(const void *a, const void *b)
{
    const sc_buffer *left = *(sc_buffer *const *)a, *right = *(sc_buffer *const *)b;

    if (left->value != right->value)
        return left->value < right->value ? -1 : 1;
    if (left->shape->mapped != right->shape->mapped)
        return left->shape->mapped > right->shape->mapped ? -1 : 1;
    if (left->slot != right->slot)
        return left->slot > right->slot ? -1 : 1;
    return left->shape->id < right->shape->id ? -1 : left->shape->id > right->shape->id;
}

/* Rates up to now, and the order by them. Empty slots of shapes that have not been used for long
 * drop out. */
static void make_order(sc_cap *cap, uint64_t step)
{
    uint64_t steps = step + 1 - cap->made;
    double old = cap->made ? weight_of_old(steps) : 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < cap->count; i++) {
        sc_buffer *buffer = cap->order[i];

        if (!buffer)
            continue;
        if (buffer->state == SC_STATE_EMPTY && !buffer->shape->is_recent) {
            buffer->rank = SC_RANK_NONE;
            buffer->rate = 0;
            buffer->uses = 0;
            continue;
        }
        buffer->rate = buffer->rate * old + (double)buffer->uses / (double)steps * (1 - old);
        buffer->value = value_of(buffer->rate, (double)buffer->shape->mapped);
        buffer->uses = 0;
        cap->order[count++] = buffer;
    }
    qsort(cap->order, count, sizeof(sc_buffer *), by_value);
    for (uint32_t i = 0; i < count; i++)
        cap->order[i]->rank = i;
    cap->count = count;
    cap->cursor = 0;
    cap->spoilt = 0;
    cap->made = step + 1;
}

sc_buffer *sc_cap_least(sc_cap *cap, uint64_t step)
{
    if (cap->made != step + 1)
        make_order(cap, step);
    while (!cap->order[cap->cursor] || !sc_state_is_idle((sc_state)cap->order[cap->cursor]->state))
        cap->cursor++;
    return cap->order[cap->cursor];
}

sc_buffer *sc_cap_spoilt(sc_cap *cap)
{
    while (!cap->order[cap->spoilt] || cap->order[cap->spoilt]->state != SC_STATE_SPOILT)
        cap->spoilt++;
    return cap->order[cap->spoilt];
}

static void check_slot(const sc_cap *cap, const sc_buffer *buffer)
{
    if (buffer->rank == SC_RANK_NONE) {
        SC_CHECK(buffer->state == SC_STATE_EMPTY);
        return;
    }
    SC_CHECK(buffer->rank < cap->count && cap->order[buffer->rank] == buffer);
    if (sc_state_is_idle((sc_state)buffer->state))
        SC_CHECK(buffer->rank >= cap->cursor);
    if (buffer->state == SC_STATE_SPOILT)
        SC_CHECK(buffer->rank >= cap->spoilt);
}

void sc_cap_check(const sc_cap *cap, const sc_shapes *shapes)
{
    uint32_t placed = 0, filled = 0;

    SC_CHECK(cap->count <= cap->size && shapes->slots <= cap->size);
    for (const sc_shape *shape = shapes->newest; shape; shape = shape->older) {
        for (uint32_t i = 0; i < shape->count; i++) {
            check_slot(cap, shape->slots[i]);
            placed += shape->slots[i]->rank != SC_RANK_NONE;
        }
    }
    for (uint32_t i = 0; i < cap->count; i++)
        filled += cap->order[i] != NULL;
    SC_CHECK(placed == filled);
}
