/* SPDX-License-Identifier: MIT
 * What the cache and the reference say of themselves must be the same. */
#include "model/world.h"

#define SAME(field) MUST_EQUAL(cache.field, ref.field)

static void compare_totals(world *w)
{
    sc_cache_totals cache, ref;

    sc_cache_read_totals(w->cache, &cache);
    ref_totals(w->ref, &ref);
    SAME(phase);
    SAME(step);
    SAME(live);
    SAME(idle);
    SAME(live_bytes);
    SAME(shapes);
    SAME(shapes_forgotten);
    SAME(scopes.all);
    SAME(scopes.fixed);
    SAME(fallbacks);
    SAME(ooms);
    SAME(all.requests);
    SAME(all.hits);
    SAME(all.misses);
    SAME(all.bypassed);
    SAME(all.driver_allocs);
    SAME(all.driver_frees);
    SAME(all.evicted);
    SAME(all.expired);
    SAME(all.live_peak);
    SAME(all.held_peak);
    for (int i = 0; i < SC_PHASE_COUNT; i++)
        SAME(steps_in[i]);
    MUST_EQUAL(sc_cache_tally(w->cache)->live_peak, w->ref->tally.live_peak);
    MUST_EQUAL(sc_cache_tally(w->cache)->evicted, w->ref->tally.evicted);
    MUST_EQUAL(w->rows, ref.step);
    MUST_EQUAL(w->changes, w->ref->changes);
    if (w->changes > 1)
        MUST_EQUAL(w->last_reason, w->ref->reason);
}

static void compare_wants(world *w)
{
    for (sc_take why = SC_TAKE_ROOM; why <= SC_TAKE_ALL; why++)
        MUST_EQUAL(sc_cache_wants(w->cache, why), ref_wants(w->ref, why));
}

static void compare_shape(void *self, const sc_shape_row *row)
{
    const world *w = self;
    const ref_shape *shape = w->ref->shapes;
    uint64_t live = 0, idle = 0;

    while (!shape->is_known || shape->id != row->id)
        shape++;
    for (unsigned i = 0; i < w->ref->block_top; i++) {
        const ref_block *block = &w->ref->blocks[i];

        if (&w->ref->shapes[block->shape] == shape) {
            live += block->state == REF_LIVE || block->state == REF_PARKING;
            idle += ref_is_idle(block);
        }
    }
    MUST_EQUAL(row->bytes, shape->bytes);
    MUST_EQUAL(row->site, shape->site);
    MUST_EQUAL(row->requests, shape->requests);
    MUST_EQUAL(row->hits, shape->hits);
    MUST_EQUAL(row->misses, shape->misses);
    MUST_EQUAL(row->evicted, shape->evicted);
    MUST_EQUAL(row->high, shape->high);
    MUST_EQUAL(row->last_step, shape->last_step);
    MUST_EQUAL(row->live, live);
    MUST_EQUAL(row->idle, idle);
}

void world_compare(world *w)
{
    compare_totals(w);
    compare_wants(w);
}

void world_compare_shapes(world *w)
{
    sc_cache_each_shape(w->cache, false, compare_shape, w);
}
