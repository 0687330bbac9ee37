/* SPDX-License-Identifier: MIT
 * Random operations on a ring and on a model that keeps plain lists and looks at all of them: after
 * each, both hold the same, entry by entry, and count the same. What chance decides the model
 * cannot foresee; it checks that what happened was allowed. Saving and loading are operations like
 * any other. SC_SEED repeats a run. */
#include "support/rings.h"
#include "support/seed.h"
#include "support/suite.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SCENES = 400, OPERATIONS = 500, PLACES_MOST = 32, CAPACITY_MOST = 5 };

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("scene %u operation %u: %s does not hold", scene, operation, #condition); \
    } while (0)

static unsigned scene, operation;

/* One (block, bucket); its values, the oldest first. */
typedef struct list {
    uint32_t block, bucket;
    float values[CAPACITY_MOST + 1];
    unsigned count;
} list;

typedef struct model {
    shapecache_ring_config config;
    list lists[PLACES_MOST]; /* of owned buckets, by block and bucket */
    unsigned count;
    unsigned entries, most;
    uint64_t added, evicted, not_owned, sampled, remapped;
} model;

static sc_random random_numbers;
static model m;
static sc_ring ring;
static float next_value;

static unsigned below(unsigned count)
{
    return (unsigned)sc_random_below(&random_numbers, count);
}

static list *find(uint32_t block, uint32_t bucket)
{
    for (unsigned i = 0; i < m.count; i++)
        if (m.lists[i].block == block && m.lists[i].bucket == bucket)
            return &m.lists[i];
    return NULL;
}

static void check_same(void)
{
    shapecache_ring_info info;

    MUST(sc_store_check(&ring.store));
    MUST(ring.plan.places == m.count && ring.store.used == m.entries);
    for (uint32_t place = 0; place < m.count; place++) {
        MUST(ring.store.places[place].count == m.lists[place].count);
        for (uint32_t i = 0; i < m.lists[place].count; i++)
            MUST(rings_value(&ring, place, i) == m.lists[place].values[i]);
    }
    sc_ring_inform(&ring, &info);
    MUST(info.added == m.added && info.evicted == m.evicted && info.not_owned == m.not_owned);
    MUST(info.sampled == m.sampled && info.remapped == m.remapped);
    MUST(info.entries == m.entries && info.bytes == m.entries * info.entry_bytes);
}

/* Which of the model's values of a list the ring no longer has; the list's count: none. */
static unsigned missing(const list *from)
{
    const sc_place *place = &ring.store.places[from - m.lists];

    for (unsigned i = 0; i < from->count; i++) {
        bool is_there = false;

        for (uint32_t k = 0; k < place->count; k++)
            is_there |= rings_value(&ring, (uint32_t)(from - m.lists), k) == from->values[i];
        if (!is_there)
            return i;
    }
    return from->count;
}

static bool may_go(const list *from, const list *to, unsigned victim, float value)
{
    if (m.config.replacement == SHAPECACHE_REPLACE_FIFO)
        return victim == 0;
    if (m.config.replacement == SHAPECACHE_REPLACE_RANDOM || from != to)
        return true;
    for (unsigned i = 0; i < from->count; i++)
        if (fabsf(from->values[i] - value) < fabsf(from->values[victim] - value))
            return false;
    return true;
}

/* The list that gives up an entry for one of `to`; NULL: none has to. */
static list *giver(list *to)
{
    list *fullest = &m.lists[0];

    for (unsigned i = 1; i < m.count; i++)
        if (m.lists[i].count > fullest->count)
            fullest = &m.lists[i];
    if (to->count == m.config.capacity)
        return to;
    if (m.entries < m.most)
        return NULL;
    return to->count && to->count + 1 >= fullest->count ? to : fullest;
}

/* The order within a list is the ring's but for fifo's, which is foreseen whole. */
static void take_over_order(list *of)
{
    if (m.config.replacement == SHAPECACHE_REPLACE_FIFO)
        return;
    for (unsigned i = 0; i < of->count; i++)
        of->values[i] = rings_value(&ring, (uint32_t)(of - m.lists), i);
}

static void foresee(list *to, float value)
{
    list *from = giver(to);

    m.added++;
    if (from) {
        unsigned victim = missing(from);

        MUST(victim < from->count);
        MUST(may_go(from, to, victim, value));
        m.evicted++;
        m.entries--;
        from->count--;
        memmove(&from->values[victim], &from->values[victim + 1],
                (from->count - victim) * sizeof *from->values);
    }
    to->values[to->count++] = value;
    m.entries++;
    MUST(missing(to) == to->count);
    if (from)
        take_over_order(from);
    take_over_order(to);
}

static void add(void)
{
    uint32_t block = m.config.blocks ? below(m.config.blocks) : 0;
    uint32_t bucket = below(m.config.buckets);
    float value = next_value++ * (float)(below(2) ? 1 : -1);
    list *to = find(block, bucket);

    MUST(rings_add(&ring, bucket + 0.5, (long)block, value) == SHAPECACHE_OK);
    if (to)
        foresee(to, value);
    else
        m.not_owned++;
}

static list *nearest(uint32_t block, uint32_t bucket)
{
    for (uint32_t distance = 0; distance <= m.config.buckets; distance++) {
        list *above = find(block, bucket + distance);
        list *below_it = distance <= bucket ? find(block, bucket - distance) : NULL;

        if (above || below_it)
            return above ? above : below_it;
    }
    return NULL;
}

static void sample(void)
{
    sc_ring_reach reach = (sc_ring_reach)below(3);
    uint32_t block = m.config.blocks ? below(m.config.blocks) : 0, bucket = below(m.config.buckets);
    const list *wanted = nearest(block, bucket), *from;
    shapecache_ring_drawn drawn;
    float out[RINGS_ELEMENTS];
    bool is_there = false;
    unsigned candidates = 0;

    for (unsigned i = 0; i < m.count; i++)
        if (reach == SC_REACH_ALL || (reach == SC_REACH_BLOCK && m.lists[i].block == block) ||
            (reach == SC_REACH_BUCKET && &m.lists[i] == wanted))
            candidates += m.lists[i].count;
    shapecache_status status = sc_ring_sample(&ring, reach, bucket + 0.5, (long)block, out, &drawn);

    MUST(status == (candidates ? SHAPECACHE_OK : SHAPECACHE_EEMPTY));
    if (status)
        return;
    from = find(m.config.blocks ? (uint32_t)drawn.block : 0, drawn.bucket);
    MUST(from != NULL);
    MUST(reach != SC_REACH_BUCKET || from == wanted);
    MUST(reach == SC_REACH_ALL || from->block == block);
    for (unsigned i = 0; i < from->count; i++)
        is_there |= out[0] == from->values[i] * (float)drawn.factor;
    MUST(is_there && out[0] == out[RINGS_ELEMENTS - 1]);
    m.sampled++;
    m.remapped += reach == SC_REACH_BUCKET && drawn.bucket != bucket;
}

static void save_and_load(void)
{
    char path[4096];
    sc_ring other;

    strcpy(path, rings_path("ring"));
    MUST(rings_save(&ring, path) == SHAPECACHE_OK);
    MUST(rings_load(&other, &m.config, path, 0, NULL, NULL) == SHAPECACHE_OK);
    MUST(rings_are_same(&ring, &other));
    rings_close(&ring);
    ring = other;
}

static void begin_scene(void)
{
    static const unsigned blocks[] = {0, 0, 1, 2, 4};

    m = (model){.config = rings_config()};
    m.config.buckets = 1 + below(6);
    m.config.timesteps = m.config.buckets;
    m.config.capacity = 1 + below(CAPACITY_MOST);
    m.config.blocks = blocks[below(5)];
    m.config.shards = 1 + below(4);
    m.config.shard = below(m.config.shards);
    m.config.replacement = (shapecache_replacement)below(3);
    m.config.seed = sc_random_next(&random_numbers);
    for (uint32_t block = 0; block < (m.config.blocks ? m.config.blocks : 1); block++)
        for (uint32_t bucket = 0; bucket < m.config.buckets; bucket++)
            if (bucket % m.config.shards == m.config.shard)
                m.lists[m.count++] = (list){.block = block, .bucket = bucket};
    m.most = m.count * m.config.capacity;
    if (below(2)) {
        unsigned cap = 1 + below(12);

        m.config.bytes_most = cap * RINGS_ELEMENTS * sizeof(float);
        m.most = m.most < cap ? m.most : cap;
    }
    rings_open(&ring, &m.config);
}

START_TEST(a_ring_does_what_plain_lists_would_do)
{
    random_numbers = sc_random_new("ring model");
    next_value = 1;
    for (scene = 0; scene < SCENES; scene++) {
        begin_scene();
        for (operation = 0; operation < OPERATIONS; operation++) {
            unsigned what = below(1000);

            if (what < 2)
                save_and_load();
            else if (what < 600)
                add();
            else
                sample();
            check_same();
        }
        rings_close(&ring);
    }
    ck_assert_uint_eq(rings_slabs(), 0);
}
END_TEST

SC_SUITE("ring model", a_ring_does_what_plain_lists_would_do)
