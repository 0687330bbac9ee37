/* SPDX-License-Identifier: MIT */
#include "space.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "pointer.h"
#include "range.h"

#define SLOT       ((size_t)2 << 20)
#define UNIT       ((size_t)512)
#define SLAB_UNITS (SLOT / UNIT)
#define LARGE      ((size_t)1 << 20)
#define PAGE       ((size_t)4096)

/* The most and the least we reserve. Sanitizers leave little more than 1 TiB where the kernel puts
 * it. */
#define RANGE_MOST  ((size_t)1 << 40)
#define RANGE_LEAST ((size_t)1 << 34)

enum slot_use { SLOT_NEVER, SLOT_FREED, SLOT_BLOCK, SLOT_SLAB, SLOT_RANGE };

struct slab {
    struct sim_block *units[SLAB_UNITS]; /* NULL: never used; &freed: was */
    size_t used;                         /* units handed out; those before it may be freed again */
    size_t live;
};

struct slot {
    enum slot_use use;
    union {
        struct sim_block *block;
        struct slab *slab;
        struct sim_range *range;
    };
};

static uintptr_t base;
static size_t slot_count;
static struct slot *slots;
static size_t next;               /* the slot to look at first */
static size_t current = SIZE_MAX; /* the slab that small blocks go to */

static char freed_unit;
#define FREED_UNIT ((struct sim_block *)(void *)&freed_unit)

static void *map(void *at, size_t bytes, int more)
{
    return mmap(at, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more, -1, 0);
}

static bool reserve(void)
{
    for (size_t bytes = RANGE_MOST; bytes >= RANGE_LEAST; bytes /= 2) {
        void *at = map(NULL, bytes + SLOT, 0);
        void *table;

        if (at == MAP_FAILED)
            continue;
        table = map(NULL, bytes / SLOT * sizeof *slots, 0);
        if (table == MAP_FAILED) {
            munmap(at, bytes + SLOT);
            continue;
        }
        madvise(at, bytes + SLOT, MADV_DONTDUMP);
        base = ((uintptr_t)at + SLOT - 1) & ~(SLOT - 1);
        slot_count = bytes / SLOT;
        slots = table;
        return true;
    }
    return false;
}

static bool slot_free(size_t index)
{
    return slots[index].use == SLOT_NEVER || slots[index].use == SLOT_FREED;
}

/* The first run of `count` free slots at or behind `next`, once round the range; SIZE_MAX: none. */
static size_t find_run(size_t count)
{
    size_t start = next;
    size_t run = 0;

    if (count > slot_count)
        return SIZE_MAX;
    for (size_t step = 0; step < slot_count + count; step++) {
        if (start + run == slot_count)
            start = run = 0;
        if (slot_free(start + run)) {
            if (++run == count)
                return start;
        } else {
            start += run + 1;
            run = 0;
            if (start >= slot_count)
                start = 0;
        }
    }
    return SIZE_MAX;
}

static uintptr_t place_large(struct sim_block *block, size_t bytes)
{
    size_t count = (bytes + SLOT - 1) / SLOT;
    size_t start = find_run(count);

    if (start == SIZE_MAX)
        return 0;
    for (size_t i = start; i < start + count; i++)
        slots[i] = (struct slot){SLOT_BLOCK, {.block = block}};
    next = start + count < slot_count ? start + count : 0;
    return base + start * SLOT;
}

/* Where `count` slots begin at a multiple of `align`, at `wanted` if they can. */
static size_t find_aligned(size_t count, size_t align, uintptr_t wanted)
{
    size_t step = align > SLOT ? align / SLOT : 1;
    size_t first = (wanted - base) / SLOT;
    size_t start, run = 0;

    if (wanted >= base && wanted % SLOT == 0 && wanted % align == 0 && first < slot_count) {
        while (run < count && first + run < slot_count && slot_free(first + run))
            run++;
        if (run == count)
            return first;
    }
    if (step > slot_count || count > slot_count - step)
        return SIZE_MAX;
    start = find_run(count + step - 1);
    while (start != SIZE_MAX && (base + start * SLOT) % align != 0)
        start++;
    return start;
}

uintptr_t sim_space_reserve_locked(struct sim_range *range, size_t bytes, size_t align,
                                   uintptr_t wanted)
{
    size_t count = bytes / SLOT + (bytes % SLOT > 0);
    size_t start;

    if (!slots && !reserve())
        return 0;
    start = find_aligned(count, align, wanted);
    if (start == SIZE_MAX)
        return 0;
    for (size_t i = start; i < start + count; i++)
        slots[i] = (struct slot){SLOT_RANGE, {.range = range}};
    next = start + count < slot_count ? start + count : 0;
    return base + start * SLOT;
}

void sim_space_release_locked(uintptr_t address, size_t bytes)
{
    size_t index = (address - base) / SLOT;

    for (size_t i = 0; i < (bytes + SLOT - 1) / SLOT; i++)
        slots[index + i] = (struct slot){SLOT_FREED, {NULL}};
}

struct sim_range *sim_space_range_locked(uintptr_t address)
{
    size_t index = (address - base) / SLOT;

    return slots && address >= base && index < slot_count && slots[index].use == SLOT_RANGE
               ? slots[index].range
               : NULL;
}

/* Its pages go while the lock is held: once it is dropped, its addresses may be placed again. */
static void drop_slab(size_t index)
{
    sim_space_discard(base + index * SLOT, SLOT);
    free(slots[index].slab);
    slots[index] = (struct slot){SLOT_FREED, {NULL}};
}

static bool new_slab(void)
{
    struct slab *slab = calloc(1, sizeof *slab);
    size_t start = slab ? find_run(1) : SIZE_MAX;

    if (start == SIZE_MAX) {
        free(slab);
        return false;
    }
    if (current != SIZE_MAX && slots[current].slab->live == 0)
        drop_slab(current);
    slots[start] = (struct slot){SLOT_SLAB, {.slab = slab}};
    next = start + 1 < slot_count ? start + 1 : 0;
    current = start;
    return true;
}

static uintptr_t place_small(struct sim_block *block, size_t bytes, size_t align)
{
    size_t count = (bytes + UNIT - 1) / UNIT;
    size_t step = align / UNIT;
    size_t first = SLAB_UNITS;
    struct slab *slab;

    if (current != SIZE_MAX)
        first = (slots[current].slab->used + step - 1) / step * step;
    if (first + count > SLAB_UNITS) {
        if (!new_slab())
            return 0;
        first = 0;
    }
    slab = slots[current].slab;
    for (size_t i = first; i < first + count; i++)
        slab->units[i] = block;
    slab->used = first + count;
    slab->live += count;
    return base + current * SLOT + first * UNIT;
}

uintptr_t sim_space_place_locked(struct sim_block *block, size_t bytes, size_t align)
{
    if (!slots && !reserve())
        return 0;
    return bytes >= LARGE ? place_large(block, bytes) : place_small(block, bytes, align);
}

void sim_space_clear_locked(uintptr_t address, size_t bytes)
{
    size_t index = (address - base) / SLOT;

    if (bytes >= LARGE) {
        for (size_t i = 0; i < (bytes + SLOT - 1) / SLOT; i++)
            slots[index + i] = (struct slot){SLOT_FREED, {NULL}};
    } else {
        struct slab *slab = slots[index].slab;
        size_t first = (address - base) % SLOT / UNIT;
        size_t count = (bytes + UNIT - 1) / UNIT;

        for (size_t i = first; i < first + count; i++)
            slab->units[i] = FREED_UNIT;
        slab->live -= count;
        if (slab->live == 0 && index != current)
            drop_slab(index);
    }
}

enum sim_place sim_space_look_locked(uintptr_t address, struct sim_block **block)
{
    size_t index = (address - base) / SLOT;
    struct sim_block *found;

    if (!slots || address < base || index >= slot_count)
        return SIM_PLACE_OUTSIDE;
    switch (slots[index].use) {
    case SLOT_RANGE:
        return sim_range_look_locked(slots[index].range, address, block);
    case SLOT_BLOCK:
        found = slots[index].block;
        break;
    case SLOT_SLAB:
        found = slots[index].slab->units[(address - base) % SLOT / UNIT];
        break;
    default:
        return slots[index].use == SLOT_FREED ? SIM_PLACE_FREED : SIM_PLACE_NEVER;
    }
    if (!found)
        return SIM_PLACE_NEVER;
    if (found == FREED_UNIT)
        return SIM_PLACE_FREED;
    *block = found;
    return SIM_PLACE_BLOCK;
}

/* Mapping anew, unlike MADV_DONTNEED, also frees the page tables of a large block, which would add
 * up over a range this size. A small block gives back the pages that are its alone. */
void sim_space_discard(uintptr_t address, size_t bytes)
{
    if (bytes >= LARGE) {
        size_t span = (bytes + SLOT - 1) & ~(SLOT - 1);

        if (map(sim_pointer(address), span, MAP_FIXED) == MAP_FAILED)
            madvise(sim_pointer(address), span, MADV_DONTNEED);
    } else {
        uintptr_t first = (address + PAGE - 1) & ~(PAGE - 1);
        uintptr_t end = (address + bytes) & ~(PAGE - 1);

        if (first < end)
            madvise(sim_pointer(first), end - first, MADV_DONTNEED);
    }
}
