/* SPDX-License-Identifier: MIT
 * loop.c - steps of allocations of fixed shapes, freed in the opposite order: loop STEPS BYTES...
 *
 * What loop.py does by ctypes. Linked with each libcudart there is. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64 };

static void must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "loop: %s: %s\n", what, cudaGetErrorName(error));
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv)
{
    int shapes = argc - 2;
    int version = 0;
    void *held[MOST];

    if (shapes < 1 || shapes > MOST)
        return EXIT_FAILURE;
    for (int step = atoi(argv[1]); step > 0; step--) {
        for (int i = 0; i < shapes; i++) {
            size_t bytes = strtoul(argv[2 + i], NULL, 10);

            must(cudaMalloc(&held[i], bytes), "cudaMalloc");
            must(cudaMemset(held[i], step, bytes), "cudaMemset");
        }
        for (int i = shapes; i-- > 0;)
            must(cudaFree(held[i]), "cudaFree");
    }
    must(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
    printf("version %d\n", version);
    return EXIT_SUCCESS;
}
