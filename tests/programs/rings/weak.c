/* SPDX-License-Identifier: MIT
 * ring_weak: a ring if the library is preloaded, and a word if not. */
#define SHAPECACHE_WEAK
#include "shapecache/shapecache.h"
#include <stdio.h>

int main(void)
{
    const size_t dims[1] = {2};
    const float in[2] = {1, 2};
    float out[2] = {0};
    shapecache_ring_item item = {in, SHAPECACHE_F32, dims, 1, 500, 0};
    shapecache_ring_config config;
    shapecache_ring *ring;

    if (!shapecache_ring_create) {
        puts("no library");
        return 0;
    }
    shapecache_ring_defaults(&config);
    config.dims[0] = 2;
    config.dim_count = 1;
    config.modulation = 0;
    if (shapecache_ring_create(&ring, &config) || shapecache_ring_add(ring, &item, NULL) ||
        shapecache_ring_sample(ring, 500, 0, out, sizeof out, NULL))
        return 1;
    printf("drawn %g %g\n", (double)out[0], (double)out[1]);
    shapecache_ring_destroy(ring);
    return 0;
}
