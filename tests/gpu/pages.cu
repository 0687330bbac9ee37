/* SPDX-License-Identifier: MIT
 * pages.cu - how many bytes of the device the driver takes for allocations of one size, by its own
 * count of free memory, against the rule the cache reckons with. For each size:
 *     count.SIZE   allocations made
 *     mapped.SIZE  free memory before, less free memory after
 *     rule.SIZE    what the cache believes that is
 *     kept.SIZE    what is missing still when all are freed again
 *     stride.SIZE  least distance between two of their addresses
 *     align.SIZE   largest power of two that divides all addresses
 * and granularity, the largest number that divides every step of cudaMemGetInfo. */
#include "rule.h"
#include "say.cuh"

#include <numeric>

static const size_t sizes[] = {1,           512,     513,         64 * KIB, 512 * KIB,   MIB - 1,
                               MIB,         MIB + 1, 2 * MIB - 1, 2 * MIB,  2 * MIB + 1, 3 * MIB,
                               4 * MIB - 1, 4 * MIB, 4 * MIB + 1, 8 * MIB};

enum { TOTAL_MIB = 32, MOST = 1 << 16, FEWEST = 8, WATCHED = 64 };

static size_t granularity;

static unsigned count_for(size_t bytes)
{
    const size_t count = TOTAL_MIB * MIB / std::max<size_t>(bytes, 512);

    return (unsigned)std::min<size_t>(std::max<size_t>(count, FEWEST), MOST);
}

static void watch(size_t *last)
{
    const size_t now = free_bytes();

    granularity = std::gcd(granularity, *last > now ? *last - now : now - *last);
    *last = now;
}

static void say_addresses(const std::string &name, std::vector<size_t> addresses)
{
    size_t stride = SIZE_MAX, bits = 0;

    std::sort(addresses.begin(), addresses.end());
    for (size_t i = 0; i < addresses.size(); i++) {
        bits |= addresses[i];
        if (i > 0)
            stride = std::min(stride, addresses[i] - addresses[i - 1]);
    }
    say("stride." + name, stride, "bytes");
    say("align." + name, bits & (~bits + 1), "bytes");
}

static void measure(size_t bytes)
{
    const unsigned count = count_for(bytes);
    const std::string name = size_name(bytes);
    const size_t before = free_bytes();
    std::vector<size_t> addresses;
    size_t last = before, after;

    for (unsigned i = 0; i < count; i++) {
        void *given = NULL;

        MUST(cudaMalloc(&given, bytes));
        addresses.push_back((size_t)given);
        if (count <= WATCHED)
            watch(&last);
    }
    after = free_bytes();
    say("count." + name, count, "calls");
    say("mapped." + name, before - after, "bytes");
    say("rule." + name, rule_mapped(bytes, count), "bytes");
    say_addresses(name, addresses);
    for (size_t address : addresses)
        MUST(cudaFree((void *)address));
    say("kept." + name, before - std::min(before, free_bytes()), "bytes");
}

int main(void)
{
    void *anchor = NULL; /* so that the driver's first page of small blocks is there already */

    MUST(cudaMalloc(&anchor, 1));
    for (size_t bytes : sizes)
        measure(bytes);
    say("granularity", granularity, "bytes");
    MUST(cudaFree(anchor));
    return 0;
}
