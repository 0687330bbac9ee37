/* SPDX-License-Identifier: MIT */
#include "trainer.h"
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 32, TIMESTEPS = 1000, BUCKETS = 10, PATH_BYTES = 4096 };

static const size_t dims[2] = {4, 8};

/* What one rank offers the others in a step. */
typedef struct offer {
    long block;
    double timestep;
    int is_kept;
    float latent[ELEMENTS], noise[ELEMENTS];
} offer;

/* Random numbers that depend on seed, rank and step alone, so that a resumed run goes on as the
 * other would have. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double chance(uint64_t *state)
{
    return (double)(next(state) >> 11) * 0x1p-53;
}

static uint64_t begin(const trainer *t, int step)
{
    uint64_t state = (uint64_t)t->options->seed << 40 ^ (uint64_t)t->rank << 32 ^ (uint64_t)step;

    (void)next(&state);
    return state;
}

static void name_file(char path[PATH_BYTES], const char *folder, const char *ring, int rank)
{
    snprintf(path, PATH_BYTES, "%s/%s.rank%d", folder, ring, rank);
}

/* All that old ranks' files have of what is this rank's now. */
static bool load_overlap(const trainer *t, shapecache_ring *ring, const char *name)
{
    char path[PATH_BYTES];

    for (int rank = 0; rank < t->options->old_ranks; rank++) {
        name_file(path, t->options->from, name, rank);
        if (shapecache_ring_load(ring, path, SHAPECACHE_RING_OVERLAP | SHAPECACHE_RING_MERGE, NULL))
            return false;
    }
    return true;
}

static bool open_ring(const trainer *t, shapecache_ring **ring, const char *name)
{
    const options *o = t->options;
    shapecache_ring_config config;
    char path[PATH_BYTES];

    shapecache_ring_defaults(&config);
    config.name = name;
    config.buckets = BUCKETS;
    config.capacity = (uint32_t)o->capacity;
    config.timesteps = TIMESTEPS;
    config.blocks = (uint32_t)t->blocks;
    config.block_offset = (uint32_t)(t->sequence_rank * t->blocks);
    config.shard = (uint32_t)t->shard;
    config.shards = (uint32_t)t->shards;
    config.dtype = SHAPECACHE_F32;
    memcpy(config.dims, dims, sizeof dims);
    config.dim_count = 2;
    config.seed = (uint64_t)o->seed;
    if (shapecache_ring_create(ring, &config))
        return false;
    if (!o->is_resuming)
        return true;
    if (o->is_overlapping)
        return load_overlap(t, *ring, name);
    name_file(path, o->from, name, t->rank);
    return shapecache_ring_load(*ring, path, 0, NULL) == SHAPECACHE_OK;
}

bool trainer_open(trainer *t, const options *o, int rank, group peers)
{
    *t = (trainer){
        .options = o,
        .rank = rank,
        .sequence_rank = rank % o->sequence,
        .shard = peers.rank,
        .shards = peers.size,
        .blocks = o->blocks / o->sequence,
        .peers = peers,
    };
    return open_ring(t, &t->latent, "latent") && open_ring(t, &t->noise, "noise");
}

/* The model's errors at a timestep of a block: larger the more noise there is. */
static offer err(const trainer *t, uint64_t *state)
{
    offer mine = {.block = (long)(next(state) % (uint64_t)t->blocks),
                  .timestep = (double)(next(state) % TIMESTEPS)};

    for (int i = 0; i < ELEMENTS; i++) {
        mine.latent[i] = (float)(mine.timestep / TIMESTEPS * (chance(state) - 0.5));
        mine.noise[i] = (float)(0.1 * (chance(state) - 0.5));
    }
    return mine;
}

static shapecache_ring_item item(const offer *from, const float *data)
{
    return (shapecache_ring_item){data, SHAPECACHE_F32, dims, 2, from->timestep, from->block};
}

/* Phase A: on every rank, whatever its step is like. While the rings fill, each gets the errors of
 * all ranks with its blocks, and all keep the same choice; then each keeps its own. */
static void exchange(trainer *t, const offer *mine, int step)
{
    offer offers[GROUP_MOST];
    shapecache_ring_item latent[GROUP_MOST], noise[GROUP_MOST];
    size_t count = 0, size = 1;

    if (step <= t->options->warmup) {
        group_gather(&t->peers, mine, offers, sizeof *mine);
        size = (size_t)t->peers.size;
        t->gathered++;
    } else {
        offers[0] = *mine;
    }
    for (size_t i = 0; i < size; i++) {
        if (!offers[i].is_kept)
            continue;
        latent[count] = item(&offers[i], offers[i].latent);
        noise[count++] = item(&offers[i], offers[i].noise);
    }
    (void)shapecache_ring_add_gathered(t->latent, latent, count, (size_t)t->options->keep,
                                       (uint64_t)step, NULL);
    (void)shapecache_ring_add_gathered(t->noise, noise, count, (size_t)t->options->keep,
                                       (uint64_t)step, NULL);
}

static void inject(trainer *t, int point, shapecache_status status, const float *drawn)
{
    if (status) {
        t->missing[point]++;
        return;
    }
    t->injected[point]++;
    for (int i = 0; i < ELEMENTS; i++)
        t->sum += (double)drawn[i];
}

/* Phase B: local. */
static void train(trainer *t, const offer *mine, bool is_clean, uint64_t *state)
{
    const options *o = t->options;
    const double chances[TRAINER_POINTS] = {o->context, o->latent, o->noise};
    float drawn[ELEMENTS];

    for (int point = 0; point < TRAINER_POINTS; point++) {
        bool is_wanted = chance(state) < chances[point] && !is_clean;
        shapecache_status status = SHAPECACHE_OK;

        if (!is_wanted)
            continue;
        if (point == 0)
            status =
                shapecache_ring_sample_block(t->latent, mine->block, drawn, sizeof drawn, NULL);
        else
            status = shapecache_ring_sample(point == 1 ? t->latent : t->noise, mine->timestep,
                                            mine->block, drawn, sizeof drawn, NULL);
        inject(t, point, status, drawn);
    }
}

void trainer_run(trainer *t)
{
    const options *o = t->options;

    for (int step = o->first + 1; step <= o->first + o->steps; step++) {
        uint64_t state = begin(t, step);
        bool is_clean = chance(&state) < o->clean;
        offer mine = err(t, &state);

        mine.is_kept = !is_clean || chance(&state) < o->update;
        exchange(t, &mine, step);
        train(t, &mine, is_clean, &state);
        t->steps++;
        t->clean += is_clean;
        if (step % o->every == 0) {
            shapecache_ring_report(t->latent);
            shapecache_ring_report(t->noise);
        }
    }
}

bool trainer_save(trainer *t)
{
    char path[PATH_BYTES];

    if (!t->options->to)
        return true;
    name_file(path, t->options->to, "latent", t->rank);
    if (shapecache_ring_save(t->latent, path))
        return false;
    name_file(path, t->options->to, "noise", t->rank);
    return shapecache_ring_save(t->noise, path) == SHAPECACHE_OK;
}

static void print_ring(shapecache_ring *ring, const char *name, FILE *to)
{
    shapecache_ring_info info;

    shapecache_ring_stats(ring, &info);
    fprintf(to, "  %-6s %3llu entries in %2u/%u buckets, %llu added, %llu not owned\n", name,
            (unsigned long long)info.entries, info.filled, info.owned,
            (unsigned long long)info.added, (unsigned long long)info.not_owned);
}

void trainer_print(trainer *t, FILE *to)
{
    int first = t->sequence_rank * t->blocks;

    fprintf(to, "rank %d: blocks [%d, %d), shard %d of %d; %u steps, %u clean, %u gathered\n",
            t->rank, first, first + t->blocks, t->shard, t->shards, t->steps, t->clean,
            t->gathered);
    fprintf(to,
            "  injected %u into the context, %u into the latent, %u into the noise; %u times "
            "nothing there\n",
            t->injected[0], t->injected[1], t->injected[2],
            t->missing[0] + t->missing[1] + t->missing[2]);
    print_ring(t->latent, "latent", to);
    print_ring(t->noise, "noise", to);
}

void trainer_close(trainer *t)
{
    shapecache_ring_destroy(t->latent);
    shapecache_ring_destroy(t->noise);
}
