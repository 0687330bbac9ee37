/* SPDX-License-Identifier: MIT */
#include "ring/ring.h"
#include "ring/element.h"
#include <math.h>
#include <string.h>

bool sc_ring_init(sc_ring *ring, const sc_ring_plan *plan)
{
    *ring = (sc_ring){.plan = *plan, .random = {plan->seed}};
    return sc_store_init(&ring->store, plan);
}

void sc_ring_release(sc_ring *ring, void (*take)(const sc_slab *slab))
{
    sc_store_release(&ring->store, take);
}

/* False: the ring has blocks, and not this one. */
static bool find_block(const sc_ring_plan *plan, long block, uint32_t *found)
{
    *found = 0;
    if (!plan->blocks)
        return true;
    if (block < 0 || (unsigned long)block >= plan->blocks)
        return false;
    *found = (uint32_t)block;
    return true;
}

shapecache_status sc_ring_look(const sc_ring *ring, const shapecache_ring_item *item,
                               sc_ring_key *key)
{
    const sc_ring_plan *plan = &ring->plan;
    uint32_t block;

    if ((uint32_t)item->dtype != plan->dtype || item->dim_count != plan->dim_count || !item->dims ||
        memcmp(item->dims, plan->dims, plan->dim_count * sizeof *plan->dims) != 0)
        return SHAPECACHE_EMISMATCH;
    if (!item->data || isnan(item->timestep) || !find_block(plan, item->block, &block))
        return SHAPECACHE_EVALUE;
    *key = (sc_ring_key){block, sc_ring_bucket_of(plan, item->timestep)};
    return SHAPECACHE_OK;
}

size_t sc_ring_wants(const sc_ring *ring, sc_ring_key key)
{
    const sc_store *store = &ring->store;

    if (!sc_ring_owns(&ring->plan, key.bucket) ||
        store->places[sc_ring_place_of(&ring->plan, key)].count == store->capacity)
        return 0;
    return sc_store_wants(store, 1);
}

static uint32_t nearest(const sc_ring *ring, uint32_t place, const void *data)
{
    const sc_store *store = &ring->store;
    double least = (double)INFINITY;
    uint32_t found = 0;

    for (uint32_t i = 0; i < store->places[place].count; i++) {
        const void *entry = sc_store_entry(store, sc_store_slot(store, place, i));
        double distance = sc_element_distance(ring->plan.dtype, entry, data, ring->plan.elements);

        if (distance < least) {
            least = distance;
            found = i;
        }
    }
    return found;
}

/* The slot of the one that goes for another of its own place. */
static uint32_t replace(sc_ring *ring, uint32_t place, const void *data)
{
    sc_store *store = &ring->store;
    uint32_t count = store->places[place].count;

    switch (ring->plan.replacement) {
    case SHAPECACHE_REPLACE_FIFO:
        return sc_store_move(store, place, 0, place);
    case SHAPECACHE_REPLACE_NEAREST:
        return sc_store_slot(store, place, nearest(ring, place, data));
    default:
        return sc_store_slot(store, place, (uint32_t)sc_ring_random_below(&ring->random, count));
    }
}

static uint32_t slot_for(sc_ring *ring, uint32_t place, const void *data)
{
    sc_store *store = &ring->store;
    uint32_t count = store->places[place].count;

    if (count < store->capacity && sc_store_has_slot(store))
        return sc_store_push(store, place);
    ring->counters.evicted++;
    if (count == store->capacity)
        return replace(ring, place, data);

    uint32_t fullest = sc_store_fullest(store), most = store->places[fullest].count;

    if (count && count + 1 >= most)
        return replace(ring, place, data);
    return sc_store_move(store, fullest,
                         ring->plan.replacement == SHAPECACHE_REPLACE_FIFO
                             ? 0
                             : (uint32_t)sc_ring_random_below(&ring->random, most),
                         place);
}

static void put(sc_ring *ring, uint32_t place, const void *data)
{
    memcpy(sc_store_entry(&ring->store, slot_for(ring, place, data)), data, ring->plan.entry_bytes);
    ring->counters.added++;
}

shapecache_status sc_ring_put(sc_ring *ring, sc_ring_key key, const void *data, unsigned *added)
{
    *added = 0;
    if (!sc_ring_owns(&ring->plan, key.bucket)) {
        ring->counters.not_owned++;
        return SHAPECACHE_OK;
    }
    uint32_t place = sc_ring_place_of(&ring->plan, key);

    if (!sc_store_prepare(&ring->store, place))
        return SHAPECACHE_EMEMORY;
    put(ring, place, data);
    *added = 1;
    return SHAPECACHE_OK;
}

/* The places that a sample may come from. */
static shapecache_status find_places(const sc_ring_plan *plan, sc_ring_reach reach, double timestep,
                                     long block, uint32_t *first, uint32_t *count)
{
    uint32_t row, bucket;

    *first = 0;
    *count = plan->places;
    if (reach == SC_REACH_ALL)
        return SHAPECACHE_OK;
    if (!find_block(plan, block, &row) || (reach == SC_REACH_BUCKET && isnan(timestep)))
        return SHAPECACHE_EVALUE;
    *first = row * plan->owned;
    *count = plan->owned;
    if (reach == SC_REACH_BLOCK)
        return SHAPECACHE_OK;
    if (!sc_ring_nearest_owned(plan, sc_ring_bucket_of(plan, timestep), &bucket))
        return SHAPECACHE_EEMPTY;
    *first = sc_ring_place_of(plan, (sc_ring_key){row, bucket});
    *count = 1;
    return SHAPECACHE_OK;
}

static uint32_t slot_at(const sc_store *store, uint32_t *place, uint64_t entry)
{
    while (entry >= store->places[*place].count)
        entry -= store->places[(*place)++].count;
    return sc_store_slot(store, *place, (uint32_t)entry);
}

shapecache_status sc_ring_sample(sc_ring *ring, sc_ring_reach reach, double timestep, long block,
                                 void *out, shapecache_ring_drawn *drawn)
{
    const sc_ring_plan *plan = &ring->plan;
    uint32_t place, places;
    shapecache_status status = find_places(plan, reach, timestep, block, &place, &places);
    uint64_t count = status ? 0 : sc_store_count(&ring->store, place, places);

    if (status || !count)
        return status ? status : SHAPECACHE_EEMPTY;
    uint32_t slot = slot_at(&ring->store, &place, sc_ring_random_below(&ring->random, count));
    double factor =
        1 - plan->modulation + 2 * plan->modulation * sc_ring_random_unit(&ring->random);
    sc_ring_key key = sc_ring_key_of(plan, place);

    sc_element_scale(plan->dtype, out, sc_store_entry(&ring->store, slot), plan->elements, factor);
    ring->counters.sampled++;
    if (reach == SC_REACH_BUCKET && sc_ring_bucket_of(plan, timestep) != key.bucket)
        ring->counters.remapped++;
    *drawn = (shapecache_ring_drawn){
        key.bucket, plan->blocks ? (long)key.block : (long)SHAPECACHE_NO_BLOCK, factor};
    return SHAPECACHE_OK;
}

uint64_t sc_ring_entries(const sc_ring *ring, long block)
{
    uint32_t row;

    if (block == SHAPECACHE_NO_BLOCK || !ring->plan.blocks)
        return ring->store.used;
    if (!find_block(&ring->plan, block, &row))
        return 0;
    return sc_store_count(&ring->store, row * ring->plan.owned, ring->plan.owned);
}

void sc_ring_inform(const sc_ring *ring, shapecache_ring_info *info)
{
    const sc_ring_plan *plan = &ring->plan;
    const sc_ring_counters *counters = &ring->counters;

    *info = (shapecache_ring_info){
        .entries = ring->store.used,
        .bytes = (uint64_t)ring->store.used * plan->entry_bytes,
        .bytes_mapped = sc_store_mapped(&ring->store),
        .bytes_worst = (uint64_t)plan->entries_most * plan->entry_bytes,
        .owned = plan->places,
        .added = counters->added,
        .evicted = counters->evicted,
        .refused = counters->refused,
        .not_owned = counters->not_owned,
        .sampled = counters->sampled,
        .remapped = counters->remapped,
        .entry_bytes = plan->entry_bytes,
        .is_pinned = sc_store_is_pinned(&ring->store),
    };
    for (uint32_t i = 0; i < plan->places; i++)
        info->filled += ring->store.places[i].count > 0;
}

bool sc_ring_merge(sc_ring *into, const sc_ring *from)
{
    for (uint32_t place = 0; place < from->plan.places; place++)
        if (from->store.places[place].count && !sc_store_prepare(&into->store, place))
            return false;
    for (uint32_t place = 0; place < from->plan.places; place++)
        for (uint32_t i = 0; i < from->store.places[place].count; i++)
            put(into, place, sc_store_entry(&from->store, sc_store_slot(&from->store, place, i)));
    return true;
}

sc_ring_choice sc_ring_choose(uint64_t seed, uint64_t count, uint64_t keep)
{
    return (sc_ring_choice){{seed}, keep < count ? keep : count, count};
}

/* Each of those left has the chance that as many of them are still wanted. */
bool sc_ring_chooses_next(sc_ring_choice *choice)
{
    bool is_chosen = sc_ring_random_below(&choice->random, choice->left--) < choice->keep;

    choice->keep -= is_chosen;
    return is_chosen;
}
