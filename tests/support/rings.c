/* SPDX-License-Identifier: MIT */
#include "support/rings.h"
#include "ring/element.h"
#include "ring/save.h"
#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY_BYTES = 1 << 17, WHY_BYTES = 1000 };

static unsigned slabs, fail_in;
static char folder[] = "/tmp/shapecache-rings-XXXXXX";

shapecache_ring_config rings_config(void)
{
    shapecache_ring_config config;

    sc_ring_plan_defaults(&config);
    config.dims[0] = RINGS_ELEMENTS;
    config.dim_count = 1;
    return config;
}

static bool map(void *self, size_t bytes, sc_slab *slab)
{
    (void)self;
    if (fail_in && --fail_in == 0)
        return false;
    *slab = (sc_slab){.at = malloc(bytes), .bytes = bytes};
    slabs += slab->at != NULL;
    return slab->at != NULL;
}

static void unmap(const sc_slab *slab)
{
    free(slab->at);
    slabs--;
}

const sc_ring_memory rings_memory = {.map = map, .unmap = unmap};

unsigned rings_slabs(void)
{
    return slabs;
}

void rings_fail_slab(unsigned nth)
{
    fail_in = nth;
}

void rings_open(sc_ring *ring, const shapecache_ring_config *config)
{
    sc_ring_plan plan;
    const char *wrong;

    ck_assert_msg(sc_ring_plan_make(&plan, config, &wrong), "%s", wrong);
    ck_assert(sc_ring_init(ring, &plan));
}

void rings_close(sc_ring *ring)
{
    ck_assert(sc_store_check(&ring->store));
    sc_ring_release(ring, unmap);
}

static void fill(const sc_ring_plan *plan, void *entry, float value)
{
    float *floats = entry;
    uint16_t *halves = entry;

    for (size_t i = 0; i < plan->elements; i++) {
        if (plan->dtype == SHAPECACHE_F32)
            floats[i] = value;
        else
            halves[i] = plan->dtype == SHAPECACHE_F16 ? sc_element_to_f16(value)
                                                      : sc_element_to_bf16(value);
    }
}

static float first(const sc_ring_plan *plan, const void *entry)
{
    uint16_t half;
    float value;

    if (plan->dtype == SHAPECACHE_F32) {
        memcpy(&value, entry, sizeof value);
        return value;
    }
    memcpy(&half, entry, sizeof half);
    return plan->dtype == SHAPECACHE_F16 ? sc_element_from_f16(half) : sc_element_from_bf16(half);
}

shapecache_status rings_add(sc_ring *ring, double timestep, long block, float value)
{
    static _Alignas(8) unsigned char entry[ENTRY_BYTES];
    const sc_ring_plan *plan = &ring->plan;
    shapecache_ring_item item = {
        entry, (shapecache_dtype)plan->dtype, plan->dims, plan->dim_count, timestep, block};
    sc_ring_key key;
    unsigned added;
    size_t bytes;

    if (plan->entry_bytes > sizeof entry)
        ck_abort_msg("entries of %zu bytes", plan->entry_bytes);
    fill(plan, entry, value);
    shapecache_status status = sc_ring_look(ring, &item, &key);

    if (status)
        return status;
    while ((bytes = sc_ring_wants(ring, key)) > 0) {
        sc_slab slab;

        if (!map(NULL, bytes, &slab))
            return SHAPECACHE_EMEMORY;
        if (!sc_store_give(&ring->store, slab)) {
            unmap(&slab);
            return SHAPECACHE_EMEMORY;
        }
    }
    return sc_ring_put(ring, key, entry, &added);
}

void rings_put(sc_ring *ring, double timestep, long block, float value)
{
    uint64_t before = ring->counters.added;

    /* not by an assertion: each of those writes a line to check's file */
    if (rings_add(ring, timestep, block, value) || ring->counters.added != before + 1)
        ck_abort_msg("%g at %g in block %ld was not taken in", (double)value, timestep, block);
}

float rings_draw(sc_ring *ring, sc_ring_reach reach, double timestep, long block,
                 shapecache_ring_drawn *drawn)
{
    static _Alignas(8) unsigned char entry[ENTRY_BYTES];
    shapecache_ring_drawn here;

    if (sc_ring_sample(ring, reach, timestep, block, entry, &here))
        ck_abort_msg("there is nothing at %g in block %ld", timestep, block);
    if (drawn)
        *drawn = here;
    return (float)((double)first(&ring->plan, entry) / here.factor);
}

float rings_value(const sc_ring *ring, uint32_t place, uint32_t i)
{
    return first(&ring->plan, sc_store_entry(&ring->store, sc_store_slot(&ring->store, place, i)));
}

bool rings_are_same(const sc_ring *a, const sc_ring *b)
{
    bool is_same = a->plan.places == b->plan.places && a->store.used == b->store.used &&
                   a->random.state == b->random.state &&
                   memcmp(&a->counters, &b->counters, sizeof a->counters) == 0;

    for (uint32_t place = 0; is_same && place < a->plan.places; place++) {
        is_same = a->store.places[place].count == b->store.places[place].count;
        for (uint32_t i = 0; is_same && i < a->store.places[place].count; i++)
            is_same = memcmp(sc_store_entry(&a->store, sc_store_slot(&a->store, place, i)),
                             sc_store_entry(&b->store, sc_store_slot(&b->store, place, i)),
                             a->plan.entry_bytes) == 0;
    }
    return is_same;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static pid_t owner; /* tests are forked children, and the folder is theirs alone */

static void remove_folder(void)
{
    if (owner == getpid())
        (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *rings_path(const char *name)
{
    static char path[4096];

    if (owner != getpid()) {
        owner = getpid();
        strcpy(folder + sizeof folder - 7, "XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(folder));
        (void)atexit(remove_folder);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

shapecache_status rings_save(const sc_ring *ring, const char *path)
{
    char bytes[WHY_BYTES];
    sc_text why = sc_text_over(bytes, sizeof bytes);

    return sc_ring_save(ring, path, &why);
}

shapecache_status rings_load(sc_ring *ring, const shapecache_ring_config *config, const char *path,
                             unsigned flags, shapecache_ring_loaded *loaded, char *why)
{
    char bytes[WHY_BYTES];
    sc_text text = sc_text_over(why ? why : bytes, sizeof bytes);
    shapecache_ring_loaded unwanted;
    const char *wrong;
    sc_ring_plan plan;

    if (!sc_ring_plan_make(&plan, config, &wrong))
        ck_abort_msg("%s", wrong);
    shapecache_status status =
        sc_ring_load(ring, &plan, path, flags, &rings_memory, loaded ? loaded : &unwanted, &text);

    (void)sc_text_terminate(&text);
    return status;
}
