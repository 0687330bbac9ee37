/* SPDX-License-Identifier: MIT */
#include "engine/passed.h"

void sc_passed_add(sc_passed *passed, sc_address address, uint64_t bytes)
{
    (void)sc_passed_remove(passed, address); /* freed by a door that nobody saw */
    /* a size, which nobody follows: NOLINTNEXTLINE(performance-no-int-to-ptr) */
    if (!sc_map_put(&passed->sizes, address, (void *)(uintptr_t)bytes))
        return;
    sc_mapped_add(&passed->sums, bytes);
    passed->blocks++;
}

uint64_t sc_passed_remove(sc_passed *passed, sc_address address)
{
    uint64_t bytes = (uint64_t)(uintptr_t)sc_map_remove(&passed->sizes, address);

    if (!bytes)
        return 0;
    sc_mapped_subtract(&passed->sums, bytes);
    passed->blocks--;
    return bytes;
}

void sc_passed_clear(sc_passed *passed)
{
    sc_map_release(&passed->sizes);
    *passed = (sc_passed){.blocks = 0};
}
