/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <string.h>

static const uint64_t fnv_start = 0xcbf29ce484222325u;

struct tally tally = {0, fnv_start};

void tally_restart(void)
{
    tally.pointers = fnv_start;
}

void tally_add(const void *pointer)
{
    uint64_t address = (uint64_t)(uintptr_t)pointer;

    tally.requests++;
    for (int byte = 0; byte < 8; byte++)
        tally.pointers = (tally.pointers ^ (address >> 8 * byte & 0xff)) * 0x100000001b3u;
}

void check_failed(cudaError_t error, const char *call, const char *file, int line)
{
    const char *slash = strrchr(file, '/');

    fflush(stdout);
    fprintf(stderr, "train: %s:%d: %s: %s\n", slash != NULL ? slash + 1 : file, line, call,
            cudaGetErrorString(error));
    exit(1);
}
