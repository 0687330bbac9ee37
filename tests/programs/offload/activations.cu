/* SPDX-License-Identifier: MIT */
#include "activations.h"
#include "check.h"

/* Of a simulated GPU, whose judge watches what the program owns; NULL elsewhere. */
extern "C" {
__attribute__((weak)) void *simcuda_freeing(const void *pointer);
__attribute__((weak)) void simcuda_freed(void *allocation, int succeeded);
}

static void must(struct activations *all, shapecache_status status)
{
    char sentence[640];

    if (status == SHAPECACHE_OK)
        return;
    shapecache_arena_error(all->arena, sentence, sizeof sentence);
    fail(*sentence ? sentence : shapecache_status_text(status));
}

void activations_open(struct activations *all, cudaStream_t stream, size_t bytes, int ahead)
{
    *all = {};
    all->stream = stream;
    all->bytes = bytes;
    all->ahead = ahead;
}

void activations_through(struct activations *all, size_t capacity, shapecache_arena_full full,
                         unsigned flags, size_t given_most)
{
    shapecache_arena_config config;

    if (!shapecache_arena_create)
        fail("--offload needs libshapecache.so: preload it, or link with -lshapecache");
    shapecache_arena_defaults(&config);
    config.name = "activations";
    config.capacity = capacity;
    config.full = full;
    config.flags = flags;
    config.chunk = 1 << 20;
    config.given_most = given_most;
    must(all, shapecache_arena_create(&all->arena, &config));
}

void activations_close(struct activations *all)
{
    if (all->arena)
        must(all, shapecache_arena_destroy(all->arena));
}

void activations_save(struct activations *all, int layer, float *data)
{
    struct saved *saved = &all->saved[layer];

    *saved = {};
    saved->data = data;
    if (!all->arena)
        return;
    must(all, shapecache_arena_offload_free(all->arena, data, all->bytes, (uint64_t)layer,
                                            all->stream, &saved->ticket));
    saved->is_away = true;
    if (saved->ticket.place == SHAPECACHE_ARENA_DEVICE)
        return;
    saved->data = NULL;
    if (simcuda_freeing)
        simcuda_freed(simcuda_freeing(data), 1);
}

static void prefetch(struct activations *all, int layer)
{
    struct saved *saved = &all->saved[layer];
    unsigned started;

    if (saved->data || !saved->is_away)
        return;
    CHECK(cudaMalloc((void **)&saved->data, all->bytes));
    must(all, shapecache_arena_prefetch(all->arena, saved->ticket, saved->data, all->bytes,
                                        all->stream, &started));
}

float *activations_load(struct activations *all, int layer)
{
    struct saved *saved = &all->saved[layer];

    if (saved->is_away) {
        if (!saved->data)
            CHECK(cudaMalloc((void **)&saved->data, all->bytes));
        must(all, shapecache_arena_onload(all->arena, saved->ticket, saved->data, all->bytes,
                                          (uint64_t)layer, all->stream));
        saved->is_away = false;
        for (int below = layer - 1; below >= 0 && below >= layer - all->ahead; below--)
            prefetch(all, below);
    }
    return saved->data;
}

shapecache_arena_moment activations_mark(struct activations *all)
{
    shapecache_arena_moment moment = {};

    if (all->arena)
        must(all, shapecache_arena_mark(all->arena, &moment));
    return moment;
}

void activations_rewind(struct activations *all, shapecache_arena_moment moment, int layers)
{
    if (all->arena)
        must(all, shapecache_arena_rewind(all->arena, moment, all->stream));
    for (int i = 0; i < layers; i++) {
        if (all->saved[i].data)
            CHECK(cudaFree(all->saved[i].data));
        all->saved[i] = {};
    }
}
