/* SPDX-License-Identifier: MIT */
#include "handle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Open addressing, a power of two, never more than half full; removal shifts the run back, so there
 * are no tombstones. */
static struct sim_object **table;
static size_t capacity;
static size_t used;

static size_t slot_of(const void *handle)
{
    uint64_t key = (uint64_t)(uintptr_t)handle;

    return (size_t)((key >> 4) * 0x9E3779B97F4A7C15ull >> 20) & (capacity - 1);
}

static void insert(struct sim_object *object)
{
    size_t slot = slot_of(object);

    while (table[slot])
        slot = (slot + 1) & (capacity - 1);
    table[slot] = object;
    used++;
}

static bool grow(void)
{
    struct sim_object **old = table;
    size_t old_capacity = capacity;
    size_t new_capacity = capacity > 0 ? 2 * capacity : 256;
    struct sim_object **fresh = calloc(new_capacity, sizeof(struct sim_object *));

    if (!fresh)
        return false;
    table = fresh;
    capacity = new_capacity;
    used = 0;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i])
            insert(old[i]);
    free(old);
    return true;
}

bool sim_handle_add_locked(struct sim_object *object)
{
    if (2 * (used + 1) > capacity && !grow())
        return false;
    insert(object);
    return true;
}

void sim_handle_remove_locked(const struct sim_object *object)
{
    size_t hole, slot;

    if (capacity == 0)
        return;
    hole = slot_of(object);
    while (table[hole] != object) {
        if (!table[hole])
            return;
        hole = (hole + 1) & (capacity - 1);
    }
    for (slot = (hole + 1) & (capacity - 1); table[slot]; slot = (slot + 1) & (capacity - 1)) {
        size_t home = slot_of(table[slot]);

        /* It may move into the hole unless its home lies cyclically in (hole, slot]. */
        if (((slot - home) & (capacity - 1)) >= ((slot - hole) & (capacity - 1))) {
            table[hole] = table[slot];
            hole = slot;
        }
    }
    table[hole] = NULL;
    used--;
}

void *sim_handle_find_locked(const void *handle, enum sim_kind kind)
{
    if (capacity == 0 || !handle)
        return NULL;
    for (size_t slot = slot_of(handle); table[slot]; slot = (slot + 1) & (capacity - 1))
        if (table[slot] == handle)
            return table[slot]->kind == kind ? table[slot] : NULL;
    return NULL;
}

/* Removal moves entries, so the walk starts again at the same slot until nothing there is ours; an
 * entry that wraps round to the front is met by the outer loop. */
void sim_handle_close_all_locked(const struct sim_context *context)
{
    bool again = true;

    while (again) {
        again = false;
        for (size_t slot = 0; slot < capacity; slot++) {
            struct sim_object *object = table[slot];

            if (!object || object->kind == SIM_CONTEXT || object->context != context)
                continue;
            sim_handle_remove_locked(object);
            object->close_locked(object);
            again = true;
        }
    }
}
