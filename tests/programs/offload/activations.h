/* SPDX-License-Identifier: MIT
 * activations.h - where a layer's input is between its forward and its backward pass.
 *
 * Without an arena: on the device. With one, each input is given away as soon as the layer has read
 * it (shapecache_arena_offload_free), and comes back in the opposite order, the next ones down the
 * stack ahead of time. What the arena keeps on the device stays in its place. One thread. */
#ifndef OFFLOAD_ACTIVATIONS_H
#define OFFLOAD_ACTIVATIONS_H

#define SHAPECACHE_WEAK
#include <cuda_runtime.h>
#include <shapecache/shapecache.h>

enum { LAYERS_MOST = 256 };

struct saved {
    float *data; /* NULL: it is in the arena, and on its way nowhere yet */
    shapecache_ticket ticket;
    bool is_away; /* an onload is still to come */
};

struct activations {
    shapecache_arena *arena; /* NULL: none */
    cudaStream_t stream;
    size_t bytes; /* of each */
    int ahead;    /* inputs to be prefetched */
    struct saved saved[LAYERS_MOST];
};

void activations_open(struct activations *all, cudaStream_t stream, size_t bytes, int ahead);
/* From now on through an arena of `capacity` bytes (0: a dry run). */
void activations_through(struct activations *all, size_t capacity, shapecache_arena_full full,
                         unsigned flags, size_t given_most);
void activations_close(struct activations *all);

/* The layer has read its input, which is not the caller's any more. */
void activations_save(struct activations *all, int layer, float *data);
/* The input again, for work on the stream; to be freed by the caller. */
float *activations_load(struct activations *all, int layer);

/* A forward pass that no backward pass follows. */
shapecache_arena_moment activations_mark(struct activations *all);
void activations_rewind(struct activations *all, shapecache_arena_moment moment, int layers);

#endif
