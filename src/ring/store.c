/* SPDX-License-Identifier: MIT */
#include "ring/store.h"
#include <stdlib.h>

static const size_t SLAB_BYTES = 16 << 20;

bool sc_store_init(sc_store *store, const sc_ring_plan *plan)
{
    uint64_t per_slab = SLAB_BYTES / plan->entry_bytes;

    *store = (sc_store){
        .entry_bytes = plan->entry_bytes,
        .capacity = plan->capacity,
        .entries_most = plan->entries_most,
        .place_count = plan->places,
        .per_slab = per_slab ? (uint32_t)per_slab : 1,
        .places = calloc(plan->places ? plan->places : 1, sizeof *store->places),
    };
    return store->places != NULL;
}

void sc_store_release(sc_store *store, void (*take)(const sc_slab *slab))
{
    for (uint32_t i = 0; i < store->slab_count; i++)
        take(&store->slabs[i]);
    for (uint32_t i = 0; store->places && i < store->place_count; i++)
        free(store->places[i].slots);
    free(store->places);
    free(store->slabs);
    *store = (sc_store){0};
}

static uint32_t slots_of_next(const sc_store *store)
{
    uint32_t left = store->entries_most - store->room;

    return left < store->per_slab ? left : store->per_slab;
}

size_t sc_store_wants(const sc_store *store, uint32_t more)
{
    if (more > store->entries_most - store->used)
        more = store->entries_most - store->used;
    return more > store->room - store->used ? slots_of_next(store) * store->entry_bytes : 0;
}

bool sc_store_give(sc_store *store, sc_slab slab)
{
    uint32_t slots = slots_of_next(store);
    sc_slab *slabs = realloc(store->slabs, (store->slab_count + 1) * sizeof *slabs);

    if (!slabs)
        return false;
    store->slabs = slabs;
    slabs[store->slab_count++] = slab;
    store->room += slots;
    return true;
}

unsigned char *sc_store_entry(const sc_store *store, uint32_t slot)
{
    return store->slabs[slot / store->per_slab].at + slot % store->per_slab * store->entry_bytes;
}

/* Where in the circle the i-th oldest stands. */
static uint32_t *stand(const sc_store *store, const sc_place *place, uint32_t i)
{
    uint64_t at = (uint64_t)place->first + i;

    return &place->slots[at < store->capacity ? at : at - store->capacity];
}

uint32_t sc_store_slot(const sc_store *store, uint32_t place, uint32_t i)
{
    return *stand(store, &store->places[place], i);
}

bool sc_store_prepare(sc_store *store, uint32_t place)
{
    sc_place *it = &store->places[place];

    if (!it->slots)
        it->slots = calloc(store->capacity, sizeof *it->slots);
    return it->slots != NULL;
}

bool sc_store_has_slot(const sc_store *store)
{
    return store->used < store->entries_most;
}

static void append(const sc_store *store, uint32_t place, uint32_t slot)
{
    sc_place *it = &store->places[place];

    *stand(store, it, it->count++) = slot;
}

uint32_t sc_store_push(sc_store *store, uint32_t place)
{
    append(store, place, store->used);
    return store->used++;
}

static uint32_t take_out(const sc_store *store, uint32_t place, uint32_t i)
{
    sc_place *it = &store->places[place];
    uint32_t slot = *stand(store, it, i);

    it->count--;
    if (i == 0)
        it->first = it->first + 1 < store->capacity ? it->first + 1 : 0;
    else
        *stand(store, it, i) = *stand(store, it, it->count);
    return slot;
}

uint32_t sc_store_move(sc_store *store, uint32_t from, uint32_t i, uint32_t to)
{
    uint32_t slot = take_out(store, from, i);

    append(store, to, slot);
    return slot;
}

uint32_t sc_store_fullest(const sc_store *store)
{
    uint32_t fullest = 0;

    for (uint32_t i = 1; i < store->place_count; i++)
        if (store->places[i].count > store->places[fullest].count)
            fullest = i;
    return fullest;
}

uint64_t sc_store_count(const sc_store *store, uint32_t first, uint32_t places)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < places; i++)
        count += store->places[first + i].count;
    return count;
}

size_t sc_store_mapped(const sc_store *store)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < store->slab_count; i++)
        bytes += store->slabs[i].bytes;
    return bytes;
}

bool sc_store_is_pinned(const sc_store *store)
{
    for (uint32_t i = 0; i < store->slab_count; i++)
        if (!store->slabs[i].context)
            return false;
    return store->slab_count > 0;
}

bool sc_store_check(const sc_store *store)
{
    unsigned char *seen = calloc(store->used ? store->used : 1, 1);
    uint64_t count = 0;
    bool is_sound = seen && store->used <= store->room && store->room <= store->entries_most;

    for (uint32_t at = 0; is_sound && at < store->place_count; at++) {
        const sc_place *place = &store->places[at];

        is_sound = place->count <= store->capacity && (place->slots || !place->count);
        for (uint32_t i = 0; is_sound && i < place->count; i++) {
            uint32_t slot = *stand(store, place, i);

            is_sound = slot < store->used && !seen[slot];
            if (is_sound)
                seen[slot] = 1;
        }
        count += place->count;
    }
    free(seen);
    return is_sound && count == store->used;
}
