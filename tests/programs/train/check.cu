/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <atomic>
#include <string.h>

static const uint64_t fnv_start = 0xcbf29ce484222325u;

static std::atomic<uint64_t> requests;
static thread_local uint64_t pointers = fnv_start;

void tally_restart(void)
{
    pointers = fnv_start;
}

void tally_add(const void *pointer)
{
    uint64_t address = (uint64_t)(uintptr_t)pointer;

    requests++;
    for (int byte = 0; byte < 8; byte++)
        pointers = (pointers ^ (address >> 8 * byte & 0xff)) * 0x100000001b3u;
}

struct tally tally_read(void)
{
    return {requests, pointers};
}

void check_failed(cudaError_t error, const char *call, const char *file, int line)
{
    const char *slash = strrchr(file, '/');

    fflush(stdout);
    fprintf(stderr, "train: %s:%d: %s: %s\n", slash != NULL ? slash + 1 : file, line, call,
            cudaGetErrorString(error));
    exit(1);
}
