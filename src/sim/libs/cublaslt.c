/* SPDX-License-Identifier: MIT
 * cublaslt.c - what cuBLASLt answers about itself: its version, and one algorithm for every matrix
 * product. Types are declared as their bytes are laid out: the header comes with the library. */
#include "library.h"

#include <string.h>

typedef struct heuristic {
    uint64_t algorithm[8];
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
} heuristic;

SIMLIB_API size_t cublasLtGetVersion(void);
SIMLIB_API size_t cublasLtGetCudartVersion(void);
SIMLIB_API int cublasLtMatmulAlgoGetHeuristic(uintptr_t handle, uintptr_t operation, uintptr_t a,
                                              uintptr_t b, uintptr_t c, uintptr_t d,
                                              uintptr_t preference, int wanted, heuristic *results,
                                              int *found);

size_t cublasLtGetVersion(void)
{
    simlib_ok(SIMLIB_cublasLtGetVersion);
    return SIMLIB_VERSION;
}

size_t cublasLtGetCudartVersion(void)
{
    simlib_ok(SIMLIB_cublasLtGetCudartVersion);
    return (size_t)SIMLIB_MAJOR * 1000;
}

/* One that needs no workspace, and so fits any preference. */
int cublasLtMatmulAlgoGetHeuristic(uintptr_t handle, uintptr_t operation, uintptr_t a, uintptr_t b,
                                   uintptr_t c, uintptr_t d, uintptr_t preference, int wanted,
                                   heuristic *results, int *found)
{
    (void)handle;
    (void)operation;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    (void)preference;
    simlib_ok(SIMLIB_cublasLtMatmulAlgoGetHeuristic);
    if (wanted < 1 || !results || !found)
        return SIMLIB_INVALID;
    memset(results, 0, sizeof *results);
    results->waves = 1;
    *found = 1;
    return SIMLIB_SUCCESS;
}
